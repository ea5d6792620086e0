# SPDX-License-Identifier: MIT
"""Debian's libzmq on the other side of the interoperation tests: one process with any
number of sockets, driven over stdin with the requests of node/peer.js."""

import errno
import sys

try:
    import zmq
except ImportError:
    sys.exit("interop: python3-zmq is missing, and without it nothing is tested: "
             "apt-get install python3-zmq (for /usr/bin/python3)")

context = zmq.Context()
socks = {}


def set_option(sock, option):
    number, value = option.split("=", 1)
    kind, value = value.split(":", 1)
    sock.setsockopt(int(number), bytes.fromhex(value) if kind == "hex" else int(value))


def handle(verb, name, words):
    """Gives the answer's words, and bodies to follow them."""
    sock = socks.get(name)
    if verb == "version":
        return [zmq.zmq_version()], []
    if verb == "open":
        sock = socks[name] = context.socket(getattr(zmq, words[0]))
        for option in words[1:]:
            set_option(sock, option)
    elif verb == "set":
        set_option(sock, words[0])
    elif verb == "bind":
        sock.bind(words[0])
        return [sock.last_endpoint.rstrip(b"\0").decode()], []
    elif verb in ("connect", "disconnect", "unbind"):
        getattr(sock, verb)(words[0])
    elif verb == "send":
        parts = [sys.stdin.buffer.read(int(size)) for size in words[1:]]
        sock.sndtimeo = int(words[0])
        sock.send_multipart(parts)
    elif verb == "recv":
        sock.rcvtimeo = int(words[0])
        parts = sock.recv_multipart()
        return [str(len(part)) for part in parts], parts
    elif verb == "close":
        socks.pop(name).close()
    else:
        raise ValueError(f"unknown request {verb}")
    return [], []


for line in sys.stdin.buffer:
    request, name, *words = line.decode().rstrip("\n").split(" ")
    bodies = []
    try:
        answer, bodies = handle(request, name, words)
        answer = ["ok", *answer]
    except zmq.ZMQError as error:
        answer = ["err", errno.errorcode.get(error.errno, str(error.errno)), str(error)]
    sys.stdout.buffer.write(b"".join((" ".join(answer).encode(), b"\n", *bodies)))
    sys.stdout.buffer.flush()
context.destroy(linger=0)
