# SPDX-License-Identifier: MIT
"""Our STREAM, which speaks no ZMTP: with plain TCP, with libzmq's STREAM, and under a
ZMTP peer, whose greeting it shows as it is."""

from peer import Refused
from raw import SIGNATURE, RawListener, Wire
from suite import equal, main, until

SIDES = ("it connects", "we connect")


def meet(bench, side, **options):
    """Our STREAM, a bare TCP peer, and that one's identity."""
    ours = bench.ours("STREAM", **options)
    if side == "it connects":
        wire = bench.keep(Wire.connect(ours.bind(bench.endpoint("tcp"))))
    else:
        listener = bench.keep(RawListener())
        ours.connect(listener.endpoint)
        wire = bench.keep(listener.accept())
    identity, empty = ours.recv()
    equal((len(identity), identity[:1], empty), (5, b"\0", b""), "notice of the connection")
    return ours, wire, identity


def hears(ours, identity, size):
    """So many octets of one peer, in whatever pieces."""
    octets = b""
    while len(octets) < size:
        sender, piece = ours.recv()
        equal(sender, identity, "identity")
        assert piece, "the peer is gone"
        octets += piece
    return octets


def both_ways(side):
    def run(bench):
        ours, wire, identity = meet(bench, side)
        for octets in (b"x", b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)) * 4096):
            wire.say(octets)
            equal(hears(ours, identity, len(octets)), octets, "what it said")
            ours.post([identity, octets])
            equal(wire.take(len(octets)), octets, "what we said")

    return f"octets pass both ways as they are, {side}", run


def it_leaves(side):
    def run(bench):
        ours, wire, identity = meet(bench, side)
        wire.say(b"last words")
        wire.close()
        equal(hears(ours, identity, 10), b"last words", "what it said")
        equal(ours.recv(), [identity, b""], "notice of its leaving")
        if side == "it connects":
            refused(ours, [identity, b"too late"], "EHOSTUNREACH")

    return f"who leaves is told of by an empty message, {side}", run


def we_close(side):
    def run(bench):
        ours, wire, identity = meet(bench, side)
        ours.send([identity, b"goodbye"])
        ours.send([identity, b""])
        equal(wire.take(7), b"goodbye", "what we said before")
        wire.hears_the_end()

    return f"an empty message closes, after what was said before, {side}", run


def refused(ours, parts, error):
    try:
        ours.send(parts, secs=0)
        raise AssertionError(f"{parts} was taken")
    except Refused as answer:
        equal(answer.args[0], error, "refusal")


def strangers(bench):
    ours = bench.ours("STREAM")
    ours.bind(bench.endpoint("tcp"))
    refused(ours, [b"nobody", b"x"], "EHOSTUNREACH")


def without_notices(bench):
    ours = bench.ours("STREAM", stream_notify=False)
    first = bench.keep(Wire.connect(ours.bind(bench.endpoint("tcp"))))
    first.say(b"hi")
    identity, octets = ours.recv()
    equal(octets, b"hi", "the first message")
    first.close()
    second = bench.keep(Wire.connect(ours.bind(bench.endpoint("tcp"))))
    second.say(b"ho")
    other, octets = ours.recv()
    equal(octets, b"ho", "what follows")
    assert other != identity, "two connections have one identity"


def named(bench):
    ours, listener = bench.ours("STREAM", stream_notify=False), bench.keep(RawListener())
    ours.connect_as(listener.endpoint, b"web-server")
    ours.event("READY")
    wire = bench.keep(listener.accept())
    ours.send([b"web-server", b"GET /"])
    equal(wire.take(5), b"GET /", "what we said")
    wire.say(b"200")
    equal(hears(ours, b"web-server", 3), b"200", "what it said")


def many(bench):
    ours = bench.ours("STREAM", stream_notify=False)
    endpoint = ours.bind(bench.endpoint("tcp"))
    wires = [bench.keep(Wire.connect(endpoint)) for _ in range(100)]
    for number, wire in enumerate(wires):
        wire.say(b"%03d" % number)
    for _ in wires:
        identity, number = ours.recv()
        ours.post([identity, b"re " + number])
    for number, wire in enumerate(wires):
        equal(wire.take(6), b"re %03d" % number, f"reply to {number}")


def streams(transport, we_bind):
    def run(bench):
        ours, theirs = bench.ours("STREAM"), bench.theirs("STREAM", ipv6=1)
        bench.join(transport, *((ours, theirs) if we_bind else (theirs, ours)))
        here, empty = ours.recv()
        equal(empty, b"", "our notice of the connection")
        there, empty = theirs.recv()
        equal(empty, b"", "their notice of the connection")
        octets = bytes(range(256)) * 100
        theirs.post([there, octets])
        equal(hears(ours, here, len(octets)), octets, "what they said")
        ours.post([here, octets])
        equal(hears(theirs, there, len(octets)), octets, "what we said")
        theirs.send([there, b""])
        # libzmq closes only while its socket is used.
        left = until("they leave", lambda: (theirs.try_recv(0.001), ours.try_recv(0.02))[1])
        equal(left, [here, b""], "notice of their leaving")

    binder = "we bind" if we_bind else "libzmq binds"
    return f"our STREAM and libzmq's, {transport}, {binder}", run


def shows_zmtp(bench):
    """What libzmq says to who says nothing."""
    ours, theirs = bench.ours("STREAM"), bench.theirs("DEALER")
    bench.join("tcp", ours, theirs)
    identity, _ = ours.recv()
    equal(hears(ours, identity, 10), SIGNATURE, "the beginning of a greeting")


if __name__ == "__main__":
    main([
        *(case(side) for case in (both_ways, it_leaves, we_close) for side in SIDES),
        ("who is not there is not sent to", strangers),
        ("notices can be had or not", without_notices),
        ("a peer can be named where we connect", named),
        ("100 TCP peers are told apart", many),
        *(streams(transport, we_bind) for transport in ("tcp", "tcp on IPv6", "ipc")
          for we_bind in (True, False)),
        ("under a ZMTP peer it shows the greeting", shows_zmtp),
    ])
