# SPDX-License-Identifier: MIT
"""Peers made of a bare TCP socket, for what no libzmq peer does: Wire says and hears
octets, Raw speaks ZMTP 3.x and shows the frames as they are on the wire."""

import select
import socket

from peer import DEADLINE

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)


def address(endpoint):
    host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
    return host.strip("[]"), int(port)


class Wire:
    """A connection that says what it says, whatever it hears."""

    def __init__(self, connection):
        self.connection = connection
        self.connection.settimeout(DEADLINE)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.heard = b""  # and not yet taken

    @classmethod
    def connect(cls, endpoint, *rest):
        return cls(socket.create_connection(address(endpoint), DEADLINE), *rest)

    def say(self, octets):
        try:
            self.connection.sendall(octets)
        except (BrokenPipeError, ConnectionResetError):
            pass  # closed before it was through

    def hears(self, size):
        """Waits until `size` octets are heard and not taken."""
        while len(self.heard) < size:
            more = self.connection.recv(65536)
            assert more, f"the peer closed, after {self.heard!r}"
            self.heard += more

    def take(self, size):
        self.hears(size)
        taken, self.heard = self.heard[:size], self.heard[size:]
        return taken

    def hears_the_end(self):
        """Passes over what comes before it."""
        try:
            while self.connection.recv(65536):
                pass
        except ConnectionResetError:
            pass

    def is_open(self):
        while select.select([self.connection], [], [], 0)[0]:
            if not self.connection.recv(65536):
                return False
        return True

    def close(self):
        self.connection.close()


class Raw(Wire):
    """A ZMTP 3.x peer. Frames are (flags, body); commands have flag 4."""

    def __init__(self, connection, minor):
        super().__init__(connection)
        self.say(GREETING[:11] + bytes([minor]) + GREETING[12:])
        greeting = self.take(64)
        assert greeting[0] == 0xFF and greeting[9] == 0x7F and greeting[10] == 3, greeting
        assert greeting[12:32] == b"NULL".ljust(20, b"\0"), greeting
        self.peer_minor = greeting[11]

    def send(self, flags, body):
        if len(body) > 255:
            head = bytes([flags | 2]) + len(body).to_bytes(8, "big")
        else:
            head = bytes([flags, len(body)])
        self.say(head + body)

    def recv(self):
        """Takes a whole frame, or nothing when it does not come in time."""
        self.hears(2)
        flags, head = self.heard[0], 9 if self.heard[0] & 2 else 2
        self.hears(head)
        size = int.from_bytes(self.heard[1:head], "big")
        self.hears(head + size)
        return flags & ~2, self.take(head + size)[head:]

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


class RawListener:
    """Accepts raw connections on a port the system chooses."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(DEADLINE)
        self.endpoint = "tcp://127.0.0.1:%d" % self.socket.getsockname()[1]

    def accept(self, kind=Wire, *rest):
        return kind(self.socket.accept()[0], *rest)

    def close(self):
        self.socket.close()
