#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A guest: hears pkglog's events and calls its service with pyzmq and msgpack alone."""
import sys
import msgpack
import zmq

EVENTS, SERVICE, NAME = sys.argv[1:]  # two endpoints, and what to call ourselves
REQ, RES, SEND = 2, 3, 5  # record types
context = zmq.Context.instance()
events, service = context.socket(zmq.SUB), context.socket(zmq.DEALER)
for socket, endpoint in ((events, EVENTS), (service, SERVICE)):
    socket.rcvtimeo = 60000
    socket.connect(endpoint)
for topic in (b"pkg.", b"feed."):
    events.subscribe(topic)

def tell(kind, method, *arguments):
    header = [kind, 1, "pkglog.Stats/1." + method]
    body = msgpack.packb(dict(enumerate(arguments, 1)))
    service.send(msgpack.packb(header) + msgpack.packb(body))

def read(frame):  # the first record: its header, and its body as {field: value}
    unpacker = msgpack.Unpacker()
    unpacker.feed(frame)
    header, body = [value for value in unpacker if not isinstance(value, int)][:2]
    return header, msgpack.unpackb(body, strict_map_key=False)

changes, topic = 0, b""
while topic != b"feed.complete\0":
    topic, frame = events.recv_multipart()
    changes += topic.startswith(b"pkg.")
    if topic.startswith(b"feed.") or changes % 256 == 0:  # the feeder waits for this
        tell(SEND, "heard", NAME, changes)
published = read(frame)[1].get(1, 0)
tell(REQ, "totals")
header, totals = read(service.recv())
print("guest", changes)
sys.exit(0 if header[0] == RES and changes == published == totals.get(1, 0) else 1)
