# SPDX-License-Identifier: MIT
"""PING and PONG, which came with ZMTP 3.1, with raw peers and with libzmq: who is asked
and how, what counts as life, and what happens to who shows none."""

import signal

from peer import Refused
from raw import COMMAND, LAST, VERSIONS, Raw, RawListener, frame
from suite import equal, main
from versions import SIDES, meet, spoken

PAIRS = (("ROUTER", "DEALER"), ("PUB", "SUB"), ("SUB", "PUB"), ("PULL", "PUSH"),
         ("REP", "REQ"))


def hears_ping(raw):
    flags, body = raw.recv()
    assert flags == COMMAND and body.startswith(b"\x04PING"), (flags, body)
    return body[5:]


def is_asked(version, side):
    def run(bench):
        ours, raw = meet(bench, "PULL", version, side, heartbeat_interval_ms=10,
                         heartbeat_timeout_ms=2000, heartbeat_ttl_ms=60000)
        raw.handshake(b"PUSH")
        for _ in range(3):
            ping = hears_ping(raw)
            equal(ping[:2], (600).to_bytes(2, "big"), "time to live")
            assert len(ping) <= 18, f"a context of {len(ping) - 2} octets"
            raw.command(b"PONG", ping[2:])
        raw.send(LAST, b"fine")
        equal(ours.recv(), [b"fine"], "message")

    return f"a peer of {version} is asked and may answer, {side}", run


def is_not_asked(version, side):
    def run(bench):
        ours, raw = meet(bench, "PULL", version, side, heartbeat_interval_ms=10,
                         heartbeat_timeout_ms=100)
        raw.handshake(b"PUSH")
        ours.event("READY")
        other = bench.keep(Raw.connect(ours.bind(bench.endpoint("tcp"))))
        other.handshake(b"PUSH")
        for _ in range(15):  # longer than it would have had to answer
            hears_ping(other)
            other.command(b"PONG", b"")
        assert raw.is_open() and not raw.heard, f"closed, or heard {raw.heard}"
        raw.send(LAST, b"fine")
        equal(ours.recv(), [b"fine"], "message")

    return f"a peer of {version} is not asked, {side}", run


def silence_ends_it(side):
    def run(bench):
        ours, raw = meet(bench, "PULL", "3.1", side, heartbeat_interval_ms=20,
                         heartbeat_timeout_ms=50)
        raw.handshake(b"PUSH")
        peer = ours.event("READY")[1]
        error, number, _, reason = ours.event("DISCONNECTED")
        equal((error, number), ("ETIMEDOUT", peer), "how it ends")
        assert "PING" in reason, reason
        raw.hears_the_end()

    return f"a peer that does not answer is left, {side}", run


def is_tried_again(bench):
    ours, listener = bench.ours("PUSH", heartbeat_interval_ms=20), bench.keep(RawListener())
    ours.connect(listener.endpoint)
    for _ in range(3):
        raw = bench.keep(listener.accept(Raw))
        raw.handshake(b"PULL")
        ours.event("READY")
        equal(ours.event("DISCONNECTED")[0], "ETIMEDOUT", "how it ends")
    raw = bench.keep(listener.accept(Raw))
    raw.handshake(b"PULL")
    ours.send([b"at last"])
    got = raw.recv()
    while got[0] == COMMAND:
        raw.command(b"PONG", b"")
        got = raw.recv()
    equal(got, (LAST, b"at last"), "message")


def a_byte_is_life(bench):
    """A frame that comes octet by octet, for longer than the timeout."""
    ours, raw = meet(bench, "PULL", "3.1", "it connects", heartbeat_interval_ms=40,
                     heartbeat_timeout_ms=200)
    raw.handshake(b"PUSH")
    octets = frame(LAST, b"a slow one")
    for octet in octets:
        hears_ping(raw)
        raw.say(bytes([octet]))
    equal(ours.recv(), [b"a slow one"], "message")
    equal(ours.stats()["connections"], 1, "connections")


TIMEOUT_MS = 300


def they_ask(bench):
    stay(bench, {}, {"heartbeat_ivl": 20, "heartbeat_timeout": TIMEOUT_MS})


def we_ask(bench):
    stay(bench, {"heartbeat_interval_ms": 20, "heartbeat_timeout_ms": TIMEOUT_MS,
                 "heartbeat_ttl_ms": 1000}, {})


def stay(bench, our_options, their_options):
    """All pairs at once. Who asks hangs up when a PING gets no PONG in time."""
    ours = []
    for kind, their_kind in PAIRS:
        for transport in ("tcp", "ipc"):
            ours.append(bench.ours(kind, **our_options))
            bench.join(transport, ours[-1], bench.theirs(their_kind, **their_options))
            ours[-1].event("READY")
    for sock, secs in zip(ours, [2 * TIMEOUT_MS / 1000] + [0] * len(ours)):
        try:
            event = sock.event("DISCONNECTED", secs)
            raise AssertionError(f"the connection of our {sock.kind} ended: {event}")
        except Refused as refused:
            equal(refused.args[0], "EAGAIN", "events")


def they_stop(side):
    """A process that stands still answers nothing, and the kernel says nothing of it."""
    def run(bench):
        process = bench.their_process()
        ours = bench.ours("DEALER", heartbeat_interval_ms=20, heartbeat_timeout_ms=200,
                          handshake_timeout_ms=10000)
        theirs = bench.theirs("DEALER", process)
        bench.join("tcp", *((theirs, ours) if side == "we connect" else (ours, theirs)))
        theirs.send([b"before"])
        equal(ours.recv(), [b"before"], "message")
        process.process.send_signal(signal.SIGSTOP)
        equal(ours.event("DISCONNECTED")[0], "ETIMEDOUT", "how it ends")
        process.process.send_signal(signal.SIGCONT)
        ours.event("READY")
        ours.send([b"after"])
        equal(theirs.recv(), [b"after"], "message")

    return f"a libzmq process that stands still is left, and taken back, {side}", run


def cases():
    for version in VERSIONS:
        for side in SIDES:
            yield (is_asked if spoken(version) == "3.1" else is_not_asked)(version, side)
    for side in SIDES:
        yield silence_ends_it(side)
        yield they_stop(side)
    yield "a peer that never answers is tried again and again", is_tried_again
    yield "any octet is a sign of life", a_byte_is_life
    yield "libzmq asks our sockets of every type, and they answer", they_ask
    yield "our sockets of every type ask libzmq's, and they answer", we_ask


if __name__ == "__main__":
    main([*cases()])
