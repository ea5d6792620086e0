# SPDX-License-Identifier: MIT
"""Raw peers of every version of ZMTP, from 1.0 without a signature to revisions that do
not exist yet: they connect to us and we to them, messages and subscriptions go both ways
in the form of that version, and a greeting may come in pieces cut anywhere."""

from pairs import back, pattern
from peer import DEADLINE
from raw import COMMAND, LAST, VERSIONS, Raw, RawListener, Wire, frame, handshake
from suite import equal, main, until

# Around the sizes at which a frame gets another head, in whatever version.
FORMS = {
    **{f"{size} octets": [pattern(size)] for size in (0, 1, 253, 254, 255, 256, 257, 65537)},
    "all of them": [pattern(size) for size in (0, 257, 1, 256, 253, 255, 254, 4096, 0)],
}

# What we say that we speak with them.
SPOKEN = {"1.0": "1.0", "1.0, long identity": "1.0", "revision 0": "1.0", "2.0": "2.0",
          "3.0": "3.0"}
SIDES = ("it connects", "we connect")


def spoken(version):
    return SPOKEN.get(version, "3.1")


def is_unversioned(version):
    return VERSIONS[version][0] is None


def has_commands(version):
    return spoken(version) >= "3"


def meet(bench, kind, version, side, **options):
    """Our socket, and a raw peer that has not said anything yet."""
    ours = bench.ours(kind, zmtp_unversioned=is_unversioned(version), **options)
    if side == "it connects":
        return ours, bench.keep(Raw.connect(ours.bind(bench.endpoint("tcp")), version))
    listener = bench.keep(RawListener())
    ours.connect(listener.endpoint)
    return ours, bench.keep(listener.accept(Raw, version))


# ---- Messages both ways -------------------------------------------------------------


def pull(ours, raw, body):
    raw.send_message(body)
    equal(ours.recv(), body, "message to us")


def push(ours, raw, body):
    ours.post(body)
    equal(raw.recv_message(), body, "message from us")


def pair(ours, raw, body):
    pull(ours, raw, body)
    push(ours, raw, back(body))


def req(ours, raw, body):
    ours.post(body)
    equal(raw.recv_message(), [b"", *body], "request")
    raw.send_message([b"", *back(body)])
    equal(ours.recv(), back(body), "reply")


def rep(ours, raw, body):
    raw.send_message([b"hop", b"", *body])
    equal(ours.recv(), body, "request")
    ours.post(back(body))
    equal(raw.recv_message(), [b"hop", b"", *back(body)], "reply")


def router(ours, raw, body):
    raw.send_message(body)
    equal(ours.recv(), [b"raw", *body], "message to us")
    ours.post([b"raw", *back(body)])
    equal(raw.recv_message(), back(body), "message from us")


# (our type, the peer's, what they do); with an identity where a version carries it
TALKS = (
    ("PULL", b"PUSH", pull),
    ("PUSH", b"PULL", push),
    ("PAIR", b"PAIR", pair),
    ("DEALER", b"ROUTER", pair),
    ("DEALER", b"DEALER", pair),
    ("DEALER", b"REP", pair),
    ("ROUTER", b"DEALER", router),
    ("ROUTER", b"REQ", router),
    ("ROUTER", b"ROUTER", router),
    ("REQ", b"REP", req),
    ("REQ", b"ROUTER", req),
    ("REP", b"REQ", rep),
    ("REP", b"DEALER", rep),
)


def talks(kind, their_kind, talk, version, side):
    def run(bench):
        ours, raw = meet(bench, kind, version, side, identity=b"ours")
        told = raw.handshake(their_kind, b"raw")
        if not is_unversioned(version):
            equal(told[b"Socket-Type"], kind.encode(), "our type")
        if not has_commands(version) or kind in ("REQ", "DEALER", "ROUTER"):
            equal(told[b"Identity"], b"ours", "our identity")
        equal(ours.event("READY")[2], b"raw", "its identity")
        equal(ours.versions(), [spoken(version)], "version spoken")
        for shape, body in FORMS.items():
            try:
                talk(ours, raw, body)
            except AssertionError as error:
                raise AssertionError(f"a message of {shape}: {error}") from error

    return f"our {kind} talks to a {their_kind.decode()} of {version}, {side}", run


def anonymous(version, side):
    def run(bench):
        ours, raw = meet(bench, "ROUTER", version, side)
        equal(raw.handshake(b"DEALER").get(b"Identity"), b"", "our identity")
        raw.send_message([b"who am I"])
        identity, word = ours.recv()
        equal((len(identity), identity[:1], word), (5, b"\0", b"who am I"), "message")
        ours.send([identity, b"that"])
        equal(raw.recv_message(), [b"that"], "reply")

    return f"a peer of {version} may have no identity, {side}", run


def wrong_type(version, side):
    def run(bench):
        ours, raw = meet(bench, "PULL", version, side)
        raw.say(handshake(version, b"PUB"))
        equal(ours.event("HANDSHAKE_FAILED")[3], "socket types do not go together", "reason")
        raw.hears_the_end()

    return f"a peer of {version} whose type does not fit is refused, {side}", run


def unversioned_by_default(version, side):
    def run(bench):
        ours = bench.ours("PULL")
        if side == "it connects":
            raw = bench.keep(Raw.connect(ours.bind(bench.endpoint("tcp")), version))
        else:
            listener = bench.keep(RawListener())
            ours.connect(listener.endpoint)
            raw = bench.keep(listener.accept(Raw, version))
        raw.say(handshake(version, b"PUSH"))
        error, _, _, reason = ours.event("HANDSHAKE_FAILED")
        equal(error, "EPROTO", "error")
        assert "ZMTP 1.0" in reason, reason
        raw.hears_the_end()

    return f"a peer of {version} is refused where that is not allowed, {side}", run


def outlives_the_handshake_deadline(version):
    def run(bench):
        ours, raw = meet(bench, "PULL", version, "it connects", handshake_timeout_ms=50)
        raw.handshake(b"PUSH")
        ours.event("READY")
        late = bench.keep(Wire.connect(ours.bind(bench.endpoint("tcp"))))
        equal(ours.event("HANDSHAKE_FAILED")[0], "ETIMEDOUT", "who says nothing")
        late.hears_the_end()
        raw.send(LAST, b"still here")
        equal(ours.recv(), [b"still here"], "message after the deadline")

    return f"an idle peer of {version} outlives the handshake's deadline", run


def is_upgraded(bench):
    """What was queued for a peer is sent in the form of the one that comes instead."""
    versions = ("3.1", "1.0", "2.0", "revision 0", "3.0", "1.0, long identity", "3.1")
    listener = bench.keep(RawListener())
    ours = bench.ours("PUSH", zmtp_unversioned=True, linger_ms=0)
    ours.connect(listener.endpoint)
    for number, version in enumerate(versions):
        raw = listener.accept(Raw, version)
        raw.handshake(b"PULL")
        ours.event("READY")
        if number > 0:
            for shape, body in FORMS.items():
                equal(raw.recv_message(), body, f"queued message of {shape} for {version}")
        ours.send([b"now"])
        equal(raw.recv_message(), [b"now"], "message")
        raw.close()
        ours.event("DISCONNECTED")
        for body in FORMS.values():
            ours.post(body)


# ---- Subscriptions ------------------------------------------------------------------


def publishes(raw, pub, topic):
    """Whether a publication reaches it at once or soon; for until()."""
    pub.send([topic])
    raw.connection.settimeout(0.02)
    try:
        return raw.recv() == (LAST, topic)
    except TimeoutError:
        return False
    finally:
        raw.connection.settimeout(DEADLINE)


def is_heard(pub, raw, ask, topic):
    """Whether our PUB sends `topic` to it: yes or no, both for certain, by one more
    subscription."""
    is_heard.fences += 1
    fence = b"fence %d" % is_heard.fences
    ask(True, fence)
    until("the fence", lambda: publishes(raw, pub, fence))
    pub.send([topic])
    pub.send([fence, b"end"])
    heard = False
    while (got := raw.recv_message()) != [fence, b"end"]:
        heard = heard or got == [topic]
    return heard


is_heard.fences = 0


def subscribes(kind, version, form, side):
    def run(bench):
        pub, raw = meet(bench, kind, version, side)
        raw.handshake(b"SUB")
        pub.event("READY")

        def ask(wanted, topic):
            if form == "command":
                raw.command(b"SUBSCRIBE" if wanted else b"CANCEL", topic)
            else:
                raw.send(LAST, bytes([wanted]) + topic)

        if is_unversioned(version):
            pub.send([b"whatever"])
            equal(raw.recv_message(), [b"whatever"], "what nobody asked for")
            ask(False, b"")
            until("it hears only what it wants", lambda: not is_heard(pub, raw, ask, b"more"))
        assert not is_heard(pub, raw, ask, b"news.1"), "heard without asking"
        ask(True, b"news")
        assert is_heard(pub, raw, ask, b"news.1"), "not heard"
        ask(True, b"news")
        ask(False, b"news")
        assert not is_heard(pub, raw, ask, b"news.1"), "two subscriptions outlive a CANCEL"
        long = b"t" * 300
        ask(True, long)
        assert is_heard(pub, raw, ask, long), "a topic of 300 octets is not heard"
        if kind == "XPUB":
            notices = []
            while notices[-1:] != [[b"\x01" + long]]:
                notices.append(pub.recv())
            equal([part for part, in notices if part[1:] == b"news"],
                  [b"\x01news", b"\x00news"], "what XPUB is told of it")

    return f"a SUB of {version} subscribes to our {kind} by {form}, {side}", run


# Where libzmq's own frames went wrong: 246 to 255.
LENGTHS = (0, 1, 244, 245, 246, 247, 248, 249, 254, 255, 256, 257, 70000)


def is_told(kind, version, side):
    def asked(wanted, topic):
        if spoken(version) == "3.1":
            return COMMAND, (b"\x09SUBSCRIBE" if wanted else b"\x06CANCEL") + topic
        return LAST, bytes([wanted]) + topic

    def run(bench):
        sub, raw = meet(bench, kind, version, side)
        sub.subscribe(b"early")
        raw.handshake(b"PUB")
        equal(raw.recv(), asked(True, b"early"), "subscription made before")
        for size in LENGTHS:
            sub.subscribe(b"t" * size)
            equal(raw.recv(), asked(True, b"t" * size), f"a topic of {size} octets")
            sub.unsubscribe(b"t" * size)
            equal(raw.recv(), asked(False, b"t" * size), f"the end of {size} octets")
        raw.send_message([b"early", b"body"])
        equal(sub.recv(), [b"early", b"body"], "message")
        raw.send_message([b"unasked"])
        raw.send_message([b"early bird"])
        if kind == "XSUB":
            equal(sub.recv(), [b"unasked"], "what is sent unasked")
        equal(sub.recv(), [b"early bird"], "what was asked for")
        equal(sub.stats()["dropped_filtered_msgs"], int(kind == "SUB"), "filtered")

    return f"our {kind} tells a PUB of {version} what it wants, {side}", run


# ---- Greetings in pieces ------------------------------------------------------------


def said_by_then(version, cut):
    """How much a peer must have heard from us when it has said `cut` octets; None: that
    depends."""
    if cut < 10 or is_unversioned(version):
        return 10
    if cut == 10:
        return 11
    if cut == 11:
        return 64 if has_commands(version) else 12
    return None


def in_pieces(version, side):
    octets = handshake(version, b"PUSH", b"raw")

    def run(bench):
        ours = bench.ours("PULL", zmtp_unversioned=is_unversioned(version),
                          reconnect_min_ms=1, reconnect_max_ms=1)
        if side == "it connects":
            endpoint = ours.bind(bench.endpoint("tcp"))
        else:
            listener = bench.keep(RawListener())
            ours.connect(listener.endpoint)
        for cut in range(1, len(octets)):
            wire = Wire.connect(endpoint) if side == "it connects" else listener.accept()
            wire.say(octets[:cut])
            expected = said_by_then(version, cut)
            wire.hears(expected or 10)
            ours.stats(), ours.stats()  # our loop has turned: it has all that came
            assert wire.is_open(), f"closed after {cut} octets"
            if expected:
                equal(len(wire.heard), expected, f"octets heard after saying {cut}")
            wire.say(octets[cut:] + frame(LAST, b"%d" % cut, VERSIONS[version][1]))
            equal(ours.recv(), [b"%d" % cut], f"message after a cut at {cut}")
            wire.close()

    return f"the greeting of {version} may be cut anywhere, {side}", run


def cases():
    versions = [(version, side) for version in VERSIONS for side in SIDES]
    for version, side in versions:
        for talk in TALKS:
            yield talks(*talk, version, side)
        yield anonymous(version, side)
        yield is_told("SUB", version, side)
        yield is_told("XSUB", version, side)
        for form in ("message", "command")[:1 + has_commands(version)]:
            for kind in ("PUB", "XPUB"):
                yield subscribes(kind, version, form, side)
        yield in_pieces(version, side)
        if is_unversioned(version):
            yield unversioned_by_default(version, side)
        else:
            yield wrong_type(version, side)
    for version in VERSIONS:
        yield outlives_the_handshake_deadline(version)
    yield "what is queued for a peer suits the version it comes back with", is_upgraded


if __name__ == "__main__":
    main([*cases()])
