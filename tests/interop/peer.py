# SPDX-License-Identifier: MIT
"""Both sides of an interoperation test behind one interface.

Ours drives sockets of Sennit in a process of its own (interop_peer.c); Theirs drives
sockets of libzmq in one of two others: zmq_peer.py is Debian's, node/peer.js the newer
one that the npm package `zeromq` ships. All have send, recv, bind, connect, subscribe,
unsubscribe and close; recv fails when nothing came within DEADLINE.
"""

import fcntl
import os
import select
import subprocess
import time

DEADLINE = 10.0
HERE = os.path.dirname(os.path.abspath(__file__))

# Numbers of zmq.h, and those of options with 64 bits.
OPTIONS = {
    "affinity": 4, "routing_id": 5, "subscribe": 6, "unsubscribe": 7, "sndbuf": 11,
    "rcvbuf": 12, "linger": 17, "reconnect_ivl": 18, "maxmsgsize": 22, "sndhwm": 23,
    "rcvhwm": 24, "router_mandatory": 33, "immediate": 39, "xpub_verbose": 40,
    "ipv6": 42, "probe_router": 51, "req_correlate": 52, "req_relaxed": 53,
    "conflate": 54, "router_handover": 56, "connect_routing_id": 61,
    "handshake_ivl": 66, "xpub_manual": 71, "xpub_welcome_msg": 72, "stream_notify": 73,
    "invert_matching": 74, "heartbeat_ivl": 75, "heartbeat_ttl": 76,
    "heartbeat_timeout": 77, "xpub_verboser": 78, "metadata": 95, "router_notify": 97,
    "only_first_subscribe": 108, "hello_msg": 110, "disconnect_msg": 111,
    "hiccup_msg": 114,
}
WIDE = {"affinity", "maxmsgsize"}


class Refused(Exception):
    """A call was answered with an error; args[0] is its name ("EAGAIN")."""


class Process:
    """One process that holds sockets and is driven over its stdin."""

    def __init__(self, argv, **environment):
        self.name = os.path.basename(argv[-1])
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0,
                                        env={**os.environ, **environment})
        for pipe in (self.process.stdin, self.process.stdout):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.buffer = bytearray()
        self.told = []
        self.sockets = 0

    def tell(self, line, bodies=()):
        """A request whose answer nobody waits for: it is looked at before the next one."""
        self.process.stdin.write(b"".join((line.encode(), b"\n", *bodies)))
        self.told.append(line)

    def request(self, line, bodies=(), ms=0):
        """The words after "ok". Raises Refused after "err"."""
        self.tell(line, bodies)
        self.until = time.monotonic() + ms / 1000 + DEADLINE
        while len(self.told) > 1:
            self._answer(self.told.pop(0))
        return self._answer(self.told.pop())

    def _answer(self, line):
        while b"\n" not in self.buffer:
            self._read()
        end = self.buffer.index(b"\n")
        words = self.buffer[:end].decode().split(" ")
        del self.buffer[:end + 1]
        if words[0] == "err":
            raise Refused(*words[1:2], f"'{line[:80]}': {' '.join(words[1:])}")
        return words[1:]

    def bodies(self, sizes):
        parts = []
        for size in sizes:
            while len(self.buffer) < size:
                self._read(size - len(self.buffer))
            parts.append(bytes(self.buffer[:size]))
            del self.buffer[:size]
        return parts

    def _read(self, size=4096):
        left = self.until - time.monotonic()
        if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
            raise AssertionError(f"{self.name} gave no answer in time")
        data = os.read(self.process.stdout.fileno(), size)
        if not data:
            raise AssertionError(f"{self.name} ended with code {self.process.wait()}")
        self.buffer += data

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._close_pipes()

    def end(self):
        """Ends it the clean way; under a leak checker the code tells."""
        self.process.stdin.close()
        code = self.process.wait(timeout=DEADLINE)
        self._close_pipes()
        assert code == 0, f"{self.name} ended with code {code}"

    def _close_pipes(self):
        self.process.stdin.close()
        self.process.stdout.close()


class Driven:
    """A socket in such a process."""

    def __init__(self, process, kind, words):
        self.process, self.kind, self.number = process, kind, process.sockets
        self.is_open = True
        process.sockets += 1
        self._tell("open", kind, *words)

    def _line(self, verb, words):
        return " ".join([verb, str(self.number), *map(str, words)])

    def _do(self, verb, *words, bodies=(), ms=0):
        return self.process.request(self._line(verb, words), bodies, ms)

    def _tell(self, verb, *words, bodies=()):
        self.process.tell(self._line(verb, words), bodies)

    def bind(self, endpoint):
        return self._do("bind", endpoint)[0]

    def try_bind(self, endpoint):
        """For until(): whether an address that was just given up could be bound."""
        try:
            return self.bind(endpoint)
        except Refused as refused:
            assert refused.args[0] == "EADDRINUSE", refused
            select.select([self.process.process.stdout], [], [], 0.005)
            return None

    def connect(self, endpoint):
        self._do("connect", endpoint)

    def disconnect(self, endpoint):
        self._do("disconnect", endpoint)

    def unbind(self, endpoint):
        self._do("unbind", endpoint)

    def send(self, parts, secs=DEADLINE):
        ms = int(secs * 1000)
        self._do("send", ms, *map(len, parts), bodies=parts, ms=ms)

    def post(self, parts):
        """Sends without waiting; an error shows at the next call."""
        self._tell("send", int(DEADLINE * 1000), *map(len, parts), bodies=parts)

    def try_send(self, parts, secs):
        """Whether there was room within `secs`."""
        try:
            self.send(parts, secs)
            return True
        except Refused as refused:
            assert refused.args[0] == "EAGAIN", refused
            return False

    def recv(self, secs=DEADLINE):
        ms = int(secs * 1000)
        return self.process.bodies([int(size) for size in self._do("recv", ms, ms=ms)])

    def try_recv(self, secs):
        try:
            return self.recv(secs)
        except Refused as refused:
            assert refused.args[0] == "EAGAIN", refused
            return None

    def close(self):
        self.is_open = False
        self._do("close")

    def release(self):
        """Closes without waiting, if nobody has yet."""
        if self.is_open:
            self._tell("close")


class Ours(Driven):
    """A socket of Sennit."""

    def __init__(self, process, kind, options):
        self.identity = options.get("identity", b"")
        super().__init__(process, kind, [option_of_ours(*option)
                                         for option in options.items()])

    def subscribe(self, topic):
        self._do("subscribe", len(topic), bodies=[topic])

    def unsubscribe(self, topic):
        self._do("unsubscribe", len(topic), bodies=[topic])

    def event(self, name, secs=DEADLINE):
        """The next event of this name as (error name, peer, identity, reason)."""
        ms = int(secs * 1000)
        error, peer, identity, _endpoint, *reason = self._do("event", name, ms, ms=ms)
        return (error, int(peer), b"" if identity == "-" else bytes.fromhex(identity),
                " ".join(reason))

    def set(self, name, value):
        self._do("set", option_of_ours(name, value))

    def connect_as(self, endpoint, identity):
        self._do("connect", endpoint, identity.decode())

    def versions(self):
        """Of the protocol, on each connection."""
        return self._do("peers")

    def stats(self):
        return {name: int(value) for name, value in
                (word.split("=") for word in self._do("stats"))}


def option_of_ours(name, value):
    if isinstance(value, bytes):
        value = value.decode()
    return f"{name}={value if isinstance(value, str) else int(value)}"


class Theirs(Driven):
    """A socket of libzmq. Options have zmq.h's names in small letters."""

    def __init__(self, process, kind, identity, options):
        self.identity = identity
        if identity:
            options["routing_id"] = identity
        options = {"linger": 0, "reconnect_ivl": 10, **options}
        super().__init__(process, kind, [option_word(*option) for option in options.items()])

    def set(self, name, value):
        self._tell("set", option_word(name, value))

    def subscribe(self, topic):
        if self.kind == "XSUB":
            self.send([b"\x01" + topic])
        else:
            self.set("subscribe", topic)

    def unsubscribe(self, topic):
        if self.kind == "XSUB":
            self.send([b"\x00" + topic])
        else:
            self.set("unsubscribe", topic)


def option_word(name, value):
    if isinstance(value, bytes):
        return f"{OPTIONS[name]}=hex:{value.hex()}"
    return f"{OPTIONS[name]}={'i64' if name in WIDE else 'i32'}:{int(value)}"
