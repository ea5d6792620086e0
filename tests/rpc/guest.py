#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A guest: plain pyzmq and msgpack against a node, without a line of ours (T4).

The first function is all a client needs; the rest checks what it hears.
"""
import subprocess
import sys

import msgpack
import zmq

REQ, RES, ERR, SEND, PUB, CANCEL, PING, PONG = 2, 3, 4, 5, 6, 7, 11, 12
NEVER, YES = 0, 2


def call(sock, number, address, body, budget_us=None, headers=None):
    """One request; its answer as (header, body)."""
    sock.send(msgpack.packb([REQ, number, address, budget_us, headers]) + msgpack.packb(body))
    return records(sock.recv())[0]


def records(frame):
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(frame)
    parts = list(unpacker)
    return list(zip(parts[0::2], parts[1::2]))


def check(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: got {got!r}, wanted {wanted!r}")


def check_calls(sock):
    check("echo", call(sock, 1, "echo", b"hello"), ([RES, 1], b"hello"))
    check("a large body", call(sock, 2, "echo", b"x" * 100000), ([RES, 2], b"x" * 100000))
    header, body = call(sock, 3, "shop.Desk/1.get", b"\x80")
    check("a method", (header, msgpack.unpackb(body, strict_map_key=False)), ([RES, 3], {1: 12}))
    header, _ = call(sock, 4, "shop.Desk/1.put", b"\x80")
    check("an unknown method", header[:4], [ERR, 4, 9, NEVER])
    header, _ = call(sock, 5, "nobody", b"")
    check("an address nobody consumes", header[:4], [ERR, 5, 1, NEVER])
    header, body = call(sock, 6, "refuse", b"")
    check("a declared error", header, [ERR, 6, 3, YES, -3, "no luck", 77])
    check("its detail", msgpack.unpackb(body), "why")
    header, _ = call(sock, 7, "forget", b"")
    check("a handler that does not answer", header[:4], [ERR, 7, 12, YES])
    header, _ = call(sock, 8, "echo", b"", budget_us=0)
    check("no budget", header, [RES, 8])


def check_batch(sock):
    """Many records in one frame, and answers that need not come in one."""
    wanted = {n: str(n).encode() for n in range(100, 300)}
    sock.send(b"".join(msgpack.packb([REQ, n, "echo"]) + msgpack.packb(body)
                       for n, body in wanted.items()))
    got = {}
    while len(got) < len(wanted):
        for header, body in records(sock.recv()):
            check("an answer of the batch", header, [RES, header[1]])
            got[header[1]] = body
    check("the batch", got, wanted)


def check_broken(sock):
    sock.send(b"\xdd\xff\xff\xff\xff")
    header, _ = records(sock.recv())[0]
    check("a broken frame", header[:4], [ERR, 0, 14, 1])
    check("its reason", header[5], "a count is larger than the bytes that are left")
    check("the next call", call(sock, 9, "echo", b"still"), ([RES, 9], b"still"))


def check_oneway(sock):
    sock.send(msgpack.packb([SEND, 0, "echo"]) + msgpack.packb(b"no answer"))
    sock.send(msgpack.packb([PUB, 0, "news.today"]) + msgpack.packb(b"heard"))
    sock.send(msgpack.packb([PING, 5]) + msgpack.packb(b""))
    check("a ping behind them", records(sock.recv()), [([PONG, 5], b"")])


def check_events(sock, endpoint, context):
    sub = context.socket(zmq.SUB)
    sub.connect(endpoint)
    sub.subscribe(b"price.a\0")
    sub.setsockopt(zmq.RCVTIMEO, 50)
    for number in range(1000, 1200):  # a PUB drops until it knows the subscription
        for address in ("price.ab", "price.a"):
            check("publish", call(sock, number, "publish", b"12.50", headers={"to": address}),
                  ([RES, number], b"OK"))
        try:
            topic, frame = sub.recv_multipart()
            break
        except zmq.Again:
            continue
    else:
        sys.exit("no event came")
    check("the topic", topic, b"price.a\0")
    check("the event", records(frame), [([PUB, 0, "price.a"], b"12.50")])
    sub.close(0)


def main():
    server = subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, text=True)
    context = zmq.Context()
    try:
        endpoint = server.stdout.readline().strip()
        events = server.stdout.readline().strip()
        sock = context.socket(zmq.DEALER)
        sock.setsockopt(zmq.RCVTIMEO, 10000)
        sock.setsockopt(zmq.LINGER, 0)
        sock.connect(endpoint)
        check_calls(sock)
        check_batch(sock)
        check_broken(sock)
        check_oneway(sock)
        check_events(sock, events, context)
        sock.send(msgpack.packb([SEND, 0, "stop"]) + msgpack.packb(b""))
        counted = server.stdout.read().strip()
        check("the server's exit", server.wait(10), 0)
        check("its count", counted, "echoes 205 events 1 protocol 1 pending 0")
    finally:
        server.kill()
        context.destroy(0)
    print("ok")


if __name__ == "__main__":
    main()
