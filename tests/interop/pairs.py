# SPDX-License-Identifier: MIT
"""Every pair of socket types that may talk (RFC 23-31's compatibility table),
over tcp and ipc, each side binding once, with messages of every shape both ways;
and every pair that may not."""

from peer import Refused
from suite import equal, main, until

MIB = bytes(range(256)) * 4096

SHAPES = {
    "one part": [b"hello"],
    "an empty message": [b""],
    "five parts": [b"one", b"two", b"three", b"four", b"five"],
    "empty parts": [b"", b"a", b"", b"", b"b", b""],
    "inline and stored bodies": [b"i" * 55, b"s" * 56],
    "short and long frames": [b"x" * 255, b"y" * 256],
    "1 MiB": [MIB],
    "1 MiB between small parts": [b"head", MIB, b""],
}


def back(body):
    """A different message of the same shape, to go the other way."""
    return [bytes(reversed(part)) for part in body]


def one_way(sender, receiver, body):
    sender.send(body)
    equal(receiver.recv(), body, f"{sender.kind} to {receiver.kind}")


# ---- One function per pair of types; each works with either side as ours -------


def pair_pair(a, b, body):
    one_way(a, b, body)
    one_way(b, a, back(body))


def push_pull(push, pull, body):
    one_way(push, pull, body)


def dealer_dealer(a, b, body):
    pair_pair(a, b, body)


def req_rep(req, rep, body):
    for _ in range(2):
        one_way(req, rep, body)
        one_way(rep, req, back(body))


def check_identity(got, peer):
    if peer.identity:
        equal(got, peer.identity, f"identity of {peer.kind}")
    else:
        equal((len(got), got[:1]), (5, b"\0"), f"made-up identity of {peer.kind}")


def req_router(req, router, body):
    req.send(body)
    identity, *rest = router.recv()
    check_identity(identity, req)
    equal(rest, [b"", *body], "REQ's envelope at ROUTER")
    router.send([identity, b"", *back(body)])
    equal(req.recv(), back(body), "ROUTER to REQ")


def dealer_rep(dealer, rep, body):
    for envelope in ([b""], [b"hop 1", b"\0hop 2", b""]):
        dealer.send([*envelope, *body])
        equal(rep.recv(), body, "DEALER to REP")
        rep.send(back(body))
        equal(dealer.recv(), [*envelope, *back(body)], "REP's envelope at DEALER")


def dealer_router(dealer, router, body):
    dealer.send(body)
    identity, *rest = router.recv()
    check_identity(identity, dealer)
    equal(rest, body, "DEALER to ROUTER")
    router.send([identity, *back(body)])
    equal(dealer.recv(), back(body), "ROUTER to DEALER")


def router_router(a, b, body):
    # A ROUTER drops what it has no peer for, so the first message is tried again.
    # It is marked, and the copies that also arrive are skipped.
    def hello():
        try:
            a.send([b.identity, b"there?"])
        except Refused:
            pass
        return b.try_recv(0.02)

    equal(until("ROUTER reaches ROUTER", hello), [a.identity, b"there?"], "first message")
    a.send([b.identity, *body])
    got = b.recv()
    while got == [a.identity, b"there?"]:
        got = b.recv()
    equal(got, [a.identity, *body], "ROUTER to ROUTER")
    b.send([a.identity, *back(body)])
    equal(a.recv(), [b.identity, *back(body)], "ROUTER back to ROUTER")


def pub_sub(pub, sub, body):
    sub.subscribe(b"")
    if pub.kind == "XPUB":
        equal(pub.recv(), [b"\x01"], "the subscription at XPUB")
    else:
        def probe():
            pub.send([b"probe"])
            return sub.try_recv(0.02)
        until("the subscription reaches PUB", probe)
    pub.send(body)
    got = sub.recv()
    while got == [b"probe"]:
        got = sub.recv()
    equal(got, body, f"{pub.kind} to {sub.kind}")


# (one, the other, what they do); each row is run with either of them as ours, as
# far as we have the type
TABLE = (
    ("PAIR", "PAIR", pair_pair),
    ("PUSH", "PULL", push_pull),
    ("PUB", "SUB", pub_sub),
    ("PUB", "XSUB", pub_sub),
    ("XPUB", "SUB", pub_sub),
    ("REQ", "REP", req_rep),
    ("REQ", "ROUTER", req_router),
    ("DEALER", "REP", dealer_rep),
    ("DEALER", "DEALER", dealer_dealer),
    ("DEALER", "ROUTER", dealer_router),
    ("ROUTER", "ROUTER", router_router),
)
BUILT = ("PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH")


def directions():
    """Each row as (ours, theirs, function of (ours, theirs, body))."""
    for one, other, talk in TABLE:
        if one in BUILT:
            yield one, other, talk
        if other in BUILT and other != one:
            yield other, one, lambda a, b, body, talk=talk: talk(b, a, body)


def good_case(ours, theirs, talk, transport, we_bind, named, body):
    def run(bench):
        a = bench.ours(ours, **({"identity": b"ours"} if named else {}))
        b = bench.theirs(theirs, **({"identity": b"theirs"} if named else {}))
        bench.join(transport, *((a, b) if we_bind else (b, a)))
        talk(a, b, body)

    binder = "we bind" if we_bind else "libzmq binds"
    identity = "" if named else ", no identity"
    return lambda shape: (f"our {ours} talks to libzmq's {theirs} over {transport}, {binder}"
                          f"{identity}: {shape}", run)


def good_cases():
    for ours, theirs, talk in directions():
        for transport in ("tcp", "ipc"):
            for we_bind in (True, False):
                for shape, body in SHAPES.items():
                    yield good_case(ours, theirs, talk, transport, we_bind, True,
                                    body)(shape)
        if (ours, theirs) != ("ROUTER", "ROUTER"):  # needs a name to begin with
            yield good_case(ours, theirs, talk, "tcp", True, False, [b"hello"])("one part")


def bad_cases():
    good = {(ours, theirs) for ours, theirs, _ in directions()}
    for ours in BUILT:
        for theirs in BUILT:
            if (ours, theirs) in good:
                continue

            def run(bench, ours=ours, theirs=theirs):
                a, b = bench.ours(ours), bench.theirs(theirs)
                bench.join("tcp", a, b)
                error, _, _, reason = a.event("HANDSHAKE_FAILED")
                assert error != "OK" and reason, f"no reason: {error} '{reason}'"
                equal(a.stats()["connections"], 0, "connections")

            yield f"our {ours} refuses libzmq's {theirs} and says why", run


if __name__ == "__main__":
    main([*good_cases(), *bad_cases()])
