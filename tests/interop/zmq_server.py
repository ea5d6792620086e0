# SPDX-License-Identifier: MIT
"""A libzmq peer in a process of its own, to be killed: binds TYPE at ENDPOINT, says
where on stdout, and sends every message back; a PULL says on stdout what it got."""

import sys

import zmq


def serve(kind, endpoint):
    socket = zmq.Context().socket(getattr(zmq, kind))
    if kind == "SUB":
        socket.subscribe(b"")
    socket.bind(endpoint)
    print(socket.last_endpoint.rstrip(b"\0").decode(), flush=True)
    while True:
        parts = socket.recv_multipart()
        if kind in ("PULL", "SUB"):
            print(parts[-1].decode(), flush=True)
        else:
            socket.send_multipart(parts)


serve(sys.argv[1], sys.argv[2])
