# SPDX-License-Identifier: MIT
"""A ZMTP 3.x peer made of a bare TCP socket, for what no libzmq peer does: speaking
3.0, and showing the frames as they are on the wire."""

import socket

from peer import DEADLINE


class Raw:
    """One connection. Frames are (flags, body); commands have flag 4."""

    def __init__(self, connection, minor):
        self.connection = connection
        self.connection.settimeout(DEADLINE)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03" + bytes([minor]) +
                                b"NULL".ljust(20, b"\0") + bytes(32))
        greeting = self._read(64)
        assert greeting[0] == 0xFF and greeting[9] == 0x7F and greeting[10] == 3, greeting
        assert greeting[12:32] == b"NULL".ljust(20, b"\0"), greeting
        self.peer_minor = greeting[11]

    @classmethod
    def connect(cls, endpoint, minor):
        host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
        return cls(socket.create_connection((host, int(port)), DEADLINE), minor)

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            assert more, "the peer closed"
            data += more
        return data

    def send(self, flags, body):
        if len(body) > 255:
            head = bytes([flags | 2]) + len(body).to_bytes(8, "big")
        else:
            head = bytes([flags, len(body)])
        self.connection.sendall(head + body)

    def recv(self):
        flags = self._read(1)[0]
        size = int.from_bytes(self._read(8 if flags & 2 else 1), "big")
        return flags & ~2, self._read(size)

    def command(self, name, data):
        self.send(4, bytes([len(name)]) + name + data)

    def handshake(self, kind):
        """Exchanges READY. Gives the peer's properties."""
        self.command(b"READY", b"\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind)
        flags, body = self.recv()
        assert flags == 4 and body.startswith(b"\x05READY"), (flags, body)
        properties, rest = {}, body[6:]
        while rest:
            name, rest = rest[1:1 + rest[0]], rest[1 + rest[0]:]
            size, rest = int.from_bytes(rest[:4], "big"), rest[4:]
            properties[name], rest = rest[:size], rest[size:]
        return properties

    def close(self):
        self.connection.close()


class RawListener:
    """Accepts raw connections on a port the system chooses."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(DEADLINE)
        self.endpoint = "tcp://127.0.0.1:%d" % self.socket.getsockname()[1]

    def accept(self, minor):
        return Raw(self.socket.accept()[0], minor)

    def close(self):
        self.socket.close()
