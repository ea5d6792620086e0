# SPDX-License-Identifier: MIT
"""Both sides of an interoperation test behind one interface.

Ours drives sockets of Sennit in a process of its own (interop_peer.c). Debian is a
socket of Debian's libzmq through pyzmq, in this process; Npm one of the newer libzmq
that the npm package `zeromq` ships, in a Node process (node/peer.js). All have send,
recv, bind, connect, subscribe, unsubscribe and close; recv fails when nothing came
within DEADLINE.
"""

import fcntl
import os
import select
import subprocess
import sys
import time

try:
    import zmq
except ImportError:
    sys.exit("interop: python3-zmq is missing, and without it nothing is tested: "
             "apt-get install python3-zmq (for /usr/bin/python3)")

DEADLINE = 10.0
HERE = os.path.dirname(os.path.abspath(__file__))

# Options by name, where pyzmq has no name for them; and those of 64 bits.
OPTIONS = {"hiccup_msg": 114}
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
        self.sockets = 0

    def request(self, line, bodies=(), ms=0):
        """The words after "ok". Raises Refused after "err"."""
        self.process.stdin.write(b"".join((line.encode(), b"\n", *bodies)))
        self.until = time.monotonic() + ms / 1000 + DEADLINE
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
                self._read()
            parts.append(bytes(self.buffer[:size]))
            del self.buffer[:size]
        return parts

    def _read(self):
        left = self.until - time.monotonic()
        if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
            raise AssertionError(f"{self.name} gave no answer in time")
        data = os.read(self.process.stdout.fileno(), 1 << 20)
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
        process.sockets += 1
        self._do("open", kind, *words)

    def _do(self, verb, *words, bodies=(), ms=0):
        return self.process.request(" ".join([verb, str(self.number), *map(str, words)]),
                                    bodies, ms)

    def bind(self, endpoint):
        return self._do("bind", endpoint)[0]

    def connect(self, endpoint):
        self._do("connect", endpoint)

    def disconnect(self, endpoint):
        self._do("disconnect", endpoint)

    def unbind(self, endpoint):
        self._do("unbind", endpoint)

    def send(self, parts, secs=DEADLINE):
        ms = int(secs * 1000)
        self._do("send", ms, *map(len, parts), bodies=parts, ms=ms)

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
        self._do("close")


class Ours(Driven):
    """A socket of Sennit."""

    def __init__(self, process, kind, options):
        self.identity = options.get("identity", b"")
        super().__init__(process, kind, [
            f"{name}={value.decode() if isinstance(value, bytes) else int(value)}"
            for name, value in options.items()])

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

    def stats(self):
        return {name: int(value) for name, value in
                (word.split("=") for word in self._do("stats"))}


class Libzmq:
    """What both libzmqs have in common. Options have zmq.h's names in small letters."""

    def prepare(self, identity, options):
        self.identity, self.open = identity, True
        if identity:
            options["routing_id"] = identity
        return {"linger": 0, "reconnect_ivl": 10, **options}

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

    def try_bind(self, endpoint):
        """For until(): whether an address that was just given up could be bound."""
        try:
            return self.bind(endpoint)
        except (Refused, zmq.ZMQError) as error:
            assert "EADDRINUSE" in error.args or error.args[0] == zmq.EADDRINUSE, error
            self.pause(0.005)
            return None

    def recv(self, secs=DEADLINE):
        parts = self.try_recv(secs)
        assert parts is not None, f"nothing arrived at libzmq's {self.kind}"
        return parts


def option_number(name):
    return OPTIONS[name] if name in OPTIONS else int(getattr(zmq, name.upper()))


class Debian(Libzmq):
    """A socket of Debian's libzmq, in this process."""

    VERSION = "4.3.4"

    def __init__(self, context, kind, identity, options):
        self.kind, self.socket = kind, context.socket(getattr(zmq, kind))
        self.socket.sndtimeo = int(DEADLINE * 1000)
        for name, value in self.prepare(identity, options).items():
            self.set(name, value)

    def set(self, name, value):
        self.socket.setsockopt(option_number(name), value)

    def bind(self, endpoint):
        self.socket.bind(endpoint)
        return self.socket.last_endpoint.rstrip(b"\0").decode()

    def pause(self, secs):
        self.socket.poll(secs * 1000)

    def connect(self, endpoint):
        self.socket.connect(endpoint)

    def disconnect(self, endpoint):
        self.socket.disconnect(endpoint)

    def send(self, parts):
        self.socket.send_multipart(parts)

    def try_send(self, parts, secs):
        self.socket.sndtimeo = int(secs * 1000)
        try:
            self.send(parts)
            return True
        except zmq.Again:
            return False
        finally:
            self.socket.sndtimeo = int(DEADLINE * 1000)

    def try_recv(self, secs):
        return self.socket.recv_multipart() if self.socket.poll(secs * 1000) else None

    def close(self):
        self.socket.close()


class Npm(Driven, Libzmq):
    """A socket of the libzmq that comes with the npm package, in a Node process."""

    VERSION = "4.3.5"

    def __init__(self, process, kind, identity, options):
        super().__init__(process, kind, [
            option_words(*option) for option in self.prepare(identity, options).items()])

    def set(self, name, value):
        self._do("set", option_words(name, value))

    def pause(self, secs):
        select.select([self.process.process.stdout], [], [], secs)

    def close(self):
        if self.open:
            self.open = False
            super().close()


def option_words(name, value):
    if isinstance(value, bytes):
        return f"{option_number(name)}=hex:{value.hex()}"
    return f"{option_number(name)}={'i64' if name in WIDE else 'i32'}:{int(value)}"


def node(folder, *arguments):
    """(argv, environment) of node/peer.js with the packages of `folder`."""
    return (["node", "--no-warnings", os.path.join(HERE, "node", "peer.js"), *arguments],
            {"NODE_PATH": os.path.join(folder, "node_modules")})
