# SPDX-License-Identifier: MIT
"""Peers that break the protocol lose their own connection, with a reason that can
be read, and nothing else."""

from raw import COMMAND, GREETING, LAST, MORE, Raw, Wire, command, frame, ready
from suite import equal, main


# What the vectors of malformed.py do not have. From the first octet on, by what is wrong:
BEFORE_READY = {
    "a command name longer than the command": GREETING + b"\x04\x03\xffRE",
    "reserved flag bits in the handshake": GREETING + b"\x84\x06\x05READY",
    "a READY of 2 GiB": GREETING + b"\x06" + (1 << 31).to_bytes(8, "big"),
}

# What follows a good handshake.
AFTER_READY = {
    "a frame just above the limit": b"\x02" + (1 << 30 | 1).to_bytes(8, "big"),
    "a message of endless frames": b"\x01\x00" * ((1 << 16) + 1),
    "a message of frames that are too much together":
        (b"\x03" + (1 << 20).to_bytes(8, "big") + bytes(1 << 20)) * 5,
}


def refused(name, octets, after_ready):
    def run(bench):
        pull = bench.ours("PULL", recv_message_max_bytes=4 << 20)
        push = bench.theirs("PUSH")
        endpoint = bench.join("tcp", pull, push)
        good = pull.event("READY")[1]
        if after_ready:
            wire = Raw.connect(endpoint)
            wire.handshake(b"PUSH")
            peer = pull.event("READY")[1]
        else:
            wire = Wire.connect(endpoint)
        wire.say(octets)
        error, number, _, reason = pull.event(
            "DISCONNECTED" if after_ready else "HANDSHAKE_FAILED")
        if after_ready:
            equal(number, peer, "connection that ended")
        assert number != good, "the wrong connection ended"
        assert error not in ("OK", "EIO") and len(reason) > 5, f"{error} '{reason}'"
        wire.hears_the_end()
        push.send([b"the other connection", b"works"])
        equal(pull.recv(), [b"the other connection", b"works"], "message of the good peer")
        equal(pull.stats()["connections"], 1, "connections")
        wire.close()
    return f"{name}: that connection ends with a reason, the other works", run


def resident_kib(process):
    with open(f"/proc/{process.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def a_promise_costs_nothing(bench):
    """Frames of 8 GiB, without a limit, of which nothing comes but the beginning."""
    pull = bench.ours("PULL", recv_frame_max_bytes=0, recv_message_max_bytes=0)
    push = bench.theirs("PUSH")
    endpoint = bench.join("tcp", pull, push)
    pull.event("READY")
    before = resident_kib(bench.process)
    wires = [Raw.connect(endpoint) for _ in range(16)]
    for wire in wires:
        wire.handshake(b"PUSH")
        wire.say(b"\x02" + (8 << 30).to_bytes(8, "big") + bytes(1000))
        pull.event("READY")
    push.send([b"still here"])
    equal(pull.recv(), [b"still here"], "message of the good peer")
    grown = resident_kib(bench.process) - before
    assert grown < 32 << 10, f"{grown} KiB for 16 promises"
    for wire in wires:
        wire.close()
        pull.event("DISCONNECTED")


def half_a_message_is_no_message(bench):
    pull, push = bench.ours("PULL"), bench.theirs("PUSH")
    endpoint = bench.join("tcp", pull, push)
    pull.event("READY")
    raw = Raw.connect(endpoint)
    raw.handshake(b"PUSH")
    pull.event("READY")
    raw.send(LAST, b"whole")
    raw.send(MORE, b"begun")
    raw.send(MORE, b"and never")
    equal(pull.recv(), [b"whole"], "whole message")
    raw.close()
    pull.event("DISCONNECTED")
    push.send([b"next"])
    equal(pull.recv(), [b"next"], "message after half a one")


def half_a_frame_is_no_message(bench):
    pull = bench.ours("PULL")
    raw = Raw.connect(pull.bind("tcp://127.0.0.1:*"))
    raw.handshake(b"PUSH")
    raw.send(LAST, b"whole")
    raw.say(b"\x02" + (1 << 20).to_bytes(8, "big") + bytes(1000))
    equal(pull.recv(), [b"whole"], "whole message")
    raw.close()
    pull.event("DISCONNECTED")
    equal(pull.try_recv(0), None, "what is left")


def bytes_one_by_one(bench):
    pull = bench.ours("PULL")
    endpoint = pull.bind("tcp://127.0.0.1:*")
    wire = Wire.connect(endpoint)
    octets = (GREETING + ready(b"PUSH") + frame(MORE, b"a") +
              frame(LAST, b"xyz", large=True))
    for octet in octets:
        wire.say(bytes([octet]))
    equal(pull.recv(), [b"a", b"xyz"], "message")
    wire.close()


def no_socket_type(bench):
    # The RFC asks for the property; libzmq takes peers without it, and so do we.
    pull = bench.ours("PULL")
    raw = Wire.connect(pull.bind("tcp://127.0.0.1:*"))
    raw.say(GREETING + command(b"READY", b"") + b"\x00\x09anonymous")
    equal(pull.recv(), [b"anonymous"], "message")
    raw.close()


def ping_is_answered(bench):
    raw = Raw.connect(bench.ours("PULL").bind("tcp://127.0.0.1:*"))
    raw.handshake(b"PUSH")
    raw.command(b"PING", b"\x00\x0a" + b"context")
    equal(raw.recv(), (COMMAND, b"\x04PONGcontext"), "answer to PING")
    raw.close()


def unknown_command_is_ignored(bench):
    pull = bench.ours("PULL")
    raw = Raw.connect(pull.bind("tcp://127.0.0.1:*"))
    raw.handshake(b"PUSH")
    raw.command(b"FUTURE", b"whatever")
    raw.send(LAST, b"still here")
    equal(pull.recv(), [b"still here"], "message after an unknown command")
    raw.close()


BAD_REPLIES = {
    "one frame": [b"no envelope"],
    "no empty frame": [b"no", b"envelope"],
    "nothing after the empty frame": [b""],
    "a number where none was sent": [b"1234", b"", b"numbered"],
}


def bad_reply(name, parts):
    def run(bench):
        req = bench.ours("REQ")
        raw = bench.keep(Raw.connect(req.bind(bench.endpoint("tcp"))))
        raw.handshake(b"REP")
        raw.send_message([b"", b"nobody asked"])
        raw.command(b"PING", b"\0\0")
        equal(raw.recv(), (COMMAND, b"\x04PONG"), "sign that it was received")
        req.send([b"question"])
        equal(raw.recv_message(), [b"", b"question"], "request")
        raw.send_message(parts)
        raw.send_message([b"", b"answer"])
        equal(req.recv(), [b"answer"], "reply")
        stats = req.stats()
        equal((stats["dropped_malformed_msgs"], stats["dropped_filtered_msgs"]), (1, 1),
              "dropped: malformed, not asked for")

    return f"a reply that is not one ({name}) is dropped and counted", run


if __name__ == "__main__":
    main([
        *(refused(name, octets, False) for name, octets in BEFORE_READY.items()),
        *(refused(name, octets, True) for name, octets in AFTER_READY.items()),
        ("frames of 8 GiB that do not come take no memory", a_promise_costs_nothing),
        ("half a message of a peer that vanished is dropped", half_a_message_is_no_message),
        ("half a frame of a peer that vanished is dropped", half_a_frame_is_no_message),
        ("a peer may send octet by octet", bytes_one_by_one),
        ("a READY without Socket-Type is taken, as libzmq does", no_socket_type),
        ("PING is answered with its context", ping_is_answered),
        *(bad_reply(*row) for row in BAD_REPLIES.items()),
        ("an unknown command is ignored", unknown_command_is_ignored),
    ])
