# SPDX-License-Identifier: MIT
"""Peers that break the protocol lose their own connection, with a reason that can
be read, and nothing else."""

import socket

from raw import Raw
from suite import equal, main

LAST, MORE, LARGE, COMMAND = 0, 1, 2, 4

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)


def ready(kind=b"PUSH", extra=b""):
    body = b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind + extra
    return bytes([COMMAND | LARGE]) + len(body).to_bytes(8, "big") + body


# What is sent from the first octet on, by what is wrong with it.
BEFORE_READY = {
    "text instead of a greeting": b"GET / HTTP/1.1\r\n\r\n",
    "zeros instead of a greeting": bytes(64),
    "an unknown mechanism": GREETING[:12] + b"MAGIC".ljust(20, b"\0") + bytes(32),
    "a mechanism we do not use": GREETING[:12] + b"PLAIN".ljust(20, b"\0") + bytes(32),
    "a message instead of READY": GREETING + b"\x00\x05hello",
    "an unknown command instead of READY": GREETING + b"\x04\x05\x04NOPE",
    "a command name longer than the command": GREETING + b"\x04\x03\xffRE",
    "an empty command": GREETING + b"\x04\x00",
    "a property without its value": GREETING + ready(extra=b"\x08Identity\x00\x00"),
    "a property value beyond the end": GREETING + ready(extra=b"\x08Identity\x00\x00\x01\x00x"),
    "an unknown Socket-Type": GREETING + ready(b"BANANA"),
    "an Identity of 256 octets":
        GREETING + ready(extra=b"\x08Identity\x00\x00\x01\x00" + b"i" * 256),
    "an Identity that begins with zero":
        GREETING + ready(extra=b"\x08Identity\x00\x00\x00\x02\x00i"),
    "reserved flag bits in the handshake": GREETING + b"\x84\x06\x05READY",
    "a READY of 2 GiB": GREETING + b"\x06" + (1 << 31).to_bytes(8, "big"),
    "an ERROR": GREETING + b"\x04\x0a\x05ERROR\x03bad",
}

# What follows a good handshake.
AFTER_READY = {
    "reserved flag bits": b"\x80\x01x",
    "a command with the MORE flag": b"\x05\x05\x04PING",
    "a frame of 2^63 octets": b"\x02" + (1 << 63).to_bytes(8, "big"),
    "a frame above the limit": b"\x02" + (1 << 30 | 1).to_bytes(8, "big"),
    "a command name longer than the command": b"\x04\x03\xffPI",
    "a PING without its TTL": b"\x04\x06\x04PING\x00",
}


def refused(name, octets, after_ready):
    def run(bench):
        pull, push = bench.ours("PULL"), bench.theirs("PUSH")
        endpoint = bench.join("tcp", pull, push)
        good = pull.event("READY")[1]
        if after_ready:
            raw = Raw.connect(endpoint, minor=1)
            raw.handshake(b"PUSH")
            peer = pull.event("READY")[1]
            connection = raw.connection
            event = "DISCONNECTED"
        else:
            host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
            connection = socket.create_connection((host, int(port)), 5)
            event = "HANDSHAKE_FAILED"
        connection.settimeout(5)
        connection.sendall(octets)
        error, number, _, reason = pull.event(event)
        if after_ready:
            equal(number, peer, "connection that ended")
        assert number != good, "the wrong connection ended"
        assert error not in ("OK", "EIO") and len(reason) > 5, f"{error} '{reason}'"
        closed_by_us(connection)
        push.send([b"the other connection", b"works"])
        equal(pull.recv(), [b"the other connection", b"works"], "message of the good peer")
        equal(pull.stats()["connections"], 1, "connections")
        connection.close()
    return f"{name}: that connection ends with a reason, the other works", run


def closed_by_us(connection):
    """Reads what we still sent up to the end of the stream."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass


def half_a_message_is_no_message(bench):
    pull, push = bench.ours("PULL"), bench.theirs("PUSH")
    endpoint = bench.join("tcp", pull, push)
    pull.event("READY")
    raw = Raw.connect(endpoint, minor=1)
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
    raw = Raw.connect(pull.bind("tcp://127.0.0.1:*"), minor=1)
    raw.handshake(b"PUSH")
    raw.send(LAST, b"whole")
    raw.connection.sendall(b"\x02" + (1 << 20).to_bytes(8, "big") + bytes(1000))
    equal(pull.recv(), [b"whole"], "whole message")
    raw.close()
    pull.event("DISCONNECTED")
    equal(pull.try_recv(0), None, "what is left")


def bytes_one_by_one(bench):
    pull = bench.ours("PULL")
    endpoint = pull.bind("tcp://127.0.0.1:*")
    host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for octet in GREETING + ready() + b"\x01\x01a" + b"\x02" + (3).to_bytes(8, "big") + b"xyz":
        connection.sendall(bytes([octet]))
    equal(pull.recv(), [b"a", b"xyz"], "message")
    connection.close()


def no_socket_type(bench):
    # The RFC asks for the property; libzmq takes peers without it, and so do we.
    pull = bench.ours("PULL")
    raw = Raw.connect(pull.bind("tcp://127.0.0.1:*"), minor=1)
    raw.command(b"READY", b"")
    raw.recv()
    raw.send(LAST, b"anonymous")
    equal(pull.recv(), [b"anonymous"], "message")
    raw.close()


def ping_is_answered(bench):
    raw = Raw.connect(bench.ours("PULL").bind("tcp://127.0.0.1:*"), minor=1)
    raw.handshake(b"PUSH")
    raw.command(b"PING", b"\x00\x0a" + b"context")
    equal(raw.recv(), (COMMAND, b"\x04PONGcontext"), "answer to PING")
    raw.close()


def unknown_command_is_ignored(bench):
    pull = bench.ours("PULL")
    raw = Raw.connect(pull.bind("tcp://127.0.0.1:*"), minor=1)
    raw.handshake(b"PUSH")
    raw.command(b"FUTURE", b"whatever")
    raw.send(LAST, b"still here")
    equal(pull.recv(), [b"still here"], "message after an unknown command")
    raw.close()


if __name__ == "__main__":
    main([
        *(refused(name, octets, False) for name, octets in BEFORE_READY.items()),
        *(refused(name, octets, True) for name, octets in AFTER_READY.items()),
        ("half a message of a peer that vanished is dropped", half_a_message_is_no_message),
        ("half a frame of a peer that vanished is dropped", half_a_frame_is_no_message),
        ("a peer may send octet by octet", bytes_one_by_one),
        ("a READY without Socket-Type is taken, as libzmq does", no_socket_type),
        ("PING is answered with its context", ping_is_answered),
        ("an unknown command is ignored", unknown_command_is_ignored),
    ])
