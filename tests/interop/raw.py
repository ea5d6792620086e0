# SPDX-License-Identifier: MIT
"""Peers made of a bare TCP socket, for what no libzmq peer does: Wire says and hears
octets, Raw speaks any version of ZMTP and shows the frames as they are on the wire."""

import select
import socket

from peer import DEADLINE

SIGNATURE = b"\xff" + bytes(7) + b"\x01\x7f"
NULL = b"NULL".ljust(20, b"\0") + bytes(32)
GREETING = SIGNATURE + b"\x03\x01" + NULL

LAST, MORE, LARGE, COMMAND = 0, 1, 2, 4

# The octet of a socket type in the greeting of 2.0.
TYPES = (b"PAIR", b"PUB", b"SUB", b"REQ", b"REP", b"DEALER", b"ROUTER", b"PULL", b"PUSH",
         b"XPUB", b"XSUB")

# What a peer may say it is: (octets after its signature up to its socket type or READY,
# frames of 1.0). None: it has no signature. Revision 3 minor 0 is 3.0; all others from
# revision 2 on are 3.1.
VERSIONS = {
    "1.0": (None, True),
    "1.0, long identity": (None, True),
    "revision 0": (b"\x00", True),
    "2.0": (b"\x01", False),
    "3.0": (b"\x03\x00" + NULL, False),
    "3.1": (b"\x03\x01" + NULL, False),
    "3.2": (b"\x03\x02" + NULL, False),
    "revision 2": (b"\x02\x00" + NULL, False),
    "revision 4": (b"\x04\x00" + NULL, False),
    "revision 5": (b"\x05\x07" + NULL, False),
    "revision 255": (b"\xff\xff" + NULL, False),
}


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
            more = self.connection.recv(65536)
            if not more:
                return False
            self.heard += more
        return True

    def close(self):
        self.connection.close()

    release = close  # as the driven sockets


def frame(flags, body, old=False, large=False):
    """One frame; those of 1.0 count their flags, which come second."""
    if old:
        large = large or len(body) > 253
        size = len(body) + 1
        return (b"\xff" + size.to_bytes(8, "big") if large else bytes([size])) + \
            bytes([flags]) + body
    if large or len(body) > 255:
        return bytes([flags | LARGE]) + len(body).to_bytes(8, "big") + body
    return bytes([flags, len(body)]) + body


def command(name, data):
    return frame(COMMAND, bytes([len(name)]) + name + data)


def ready(kind, identity=b""):
    return command(b"READY", b"\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind +
                   b"\x08Identity" + len(identity).to_bytes(4, "big") + identity)


def handshake(version, kind, identity=b""):
    """All that a peer of this version says before its first message."""
    rest, old = VERSIONS[version]
    if rest is None:
        return frame(LAST, identity, True, large="long" in version)
    if len(rest) == 1:
        return SIGNATURE + rest + bytes([TYPES.index(kind)]) + frame(LAST, identity, old)
    return SIGNATURE + rest + ready(kind, identity)


class Raw(Wire):
    """A peer of some version. Frames are (flags, body); commands have flag 4."""

    def __init__(self, connection, version="3.1"):
        super().__init__(connection)
        self.version = version
        self.rest, self.old = VERSIONS[version]

    def handshake(self, kind, identity=b""):
        """Both ways. Gives what the peer told of itself, as the properties of READY."""
        self.say(handshake(self.version, kind, identity))
        return self.hears_handshake()

    def hears_handshake(self):
        signature = self.take(10)
        assert signature[0] == 0xFF and signature[9] == 0x7F, signature
        size = int.from_bytes(signature[1:9], "big") - 1
        if self.rest is None:  # to whom all of that was the head of an identity
            return {b"Identity": self.take(size)}
        major = self.take(1)
        assert major == b"\x03", major
        if len(self.rest) == 1:
            kind = TYPES[self.take(1)[0]]
            flags, identity = self.recv()
            assert flags == LAST, flags
            return {b"Socket-Type": kind, b"Identity": identity}
        rest = self.take(53)
        assert rest == b"\x01" + NULL, rest
        flags, body = self.recv()
        assert flags == COMMAND and body.startswith(b"\x05READY"), (flags, body)
        properties, rest = {}, body[6:]
        while rest:
            name, rest = rest[1:1 + rest[0]], rest[1 + rest[0]:]
            size, rest = int.from_bytes(rest[:4], "big"), rest[4:]
            properties[name], rest = rest[:size], rest[size:]
        return properties

    def send(self, flags, body):
        self.say(frame(flags, body, self.old))

    def send_message(self, parts):
        self.say(b"".join(frame(MORE, part, self.old) for part in parts[:-1]) +
                 frame(LAST, parts[-1], self.old))

    def command(self, name, data):
        self.say(command(name, data))

    def recv(self):
        """Takes a whole frame, or nothing when it does not come in time."""
        self.hears(2)
        if self.old:
            head = 10 if self.heard[0] == 0xFF else 2
            self.hears(head)
            size = int.from_bytes(self.heard[1:9], "big") if head == 10 else self.heard[0]
            flags, size = self.heard[head - 1], size - 1
        else:
            flags, head = self.heard[0], 9 if self.heard[0] & LARGE else 2
            self.hears(head)
            size = int.from_bytes(self.heard[1:head], "big")
        self.hears(head + size)
        return flags & ~LARGE, self.take(head + size)[head:]

    def recv_message(self):
        parts = []
        while True:
            flags, body = self.recv()
            assert flags in (LAST, MORE), (flags, body)
            parts.append(body)
            if flags == LAST:
                return parts


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

    release = close
