# SPDX-License-Identifier: MIT
"""Both sides of an interoperation test behind one interface.

Ours drives sockets of Sennit in a process of its own (interop_peer.c); Theirs is
a libzmq socket of pyzmq in this process. Both have send, recv, bind, connect,
subscribe, unsubscribe and close; recv fails when nothing came within DEADLINE.
"""

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


class Refused(Exception):
    """Sennit answered a call with an error; args[0] is its name (\"EAGAIN\")."""


class Process:
    """One interop_peer process."""

    def __init__(self, folder):
        self.process = subprocess.Popen([os.path.join(folder, "interop_peer")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
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
            raise AssertionError("interop_peer gave no answer in time")
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        if not data:
            raise AssertionError(f"interop_peer ended with code {self.process.wait()}")
        self.buffer += data

    def open(self, kind, **options):
        self.sockets += 1
        return Ours(self, self.sockets - 1, kind, options)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._close_pipes()

    def end(self):
        """Ends it the clean way; under a leak checker the code tells."""
        self.process.stdin.close()
        code = self.process.wait(timeout=DEADLINE)
        self._close_pipes()
        assert code == 0, f"interop_peer ended with code {code}"

    def _close_pipes(self):
        self.process.stdin.close()
        self.process.stdout.close()


class Ours:
    """A socket of Sennit."""

    def __init__(self, process, number, kind, options):
        self.process, self.number, self.kind = process, number, kind
        self.identity = options.get("identity", b"")
        words = [f"{name}={value.decode() if isinstance(value, bytes) else int(value)}"
                 for name, value in options.items()]
        process.request(" ".join(["open", str(number), kind, *words]))

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

    def subscribe(self, topic):
        self._do("subscribe", len(topic), bodies=[topic])

    def unsubscribe(self, topic):
        self._do("unsubscribe", len(topic), bodies=[topic])

    def send(self, parts, secs=DEADLINE):
        ms = int(secs * 1000)
        self._do("send", ms, *map(len, parts), bodies=parts, ms=ms)

    def recv(self, secs=DEADLINE):
        ms = int(secs * 1000)
        return self.process.bodies([int(size) for size in self._do("recv", ms, ms=ms)])

    def try_recv(self, secs):
        try:
            return self.recv(secs)
        except Refused as refused:
            assert refused.args[0] == "EAGAIN", refused
            return None

    def event(self, name, secs=DEADLINE):
        """The next event of this name as (error name, peer, identity, reason)."""
        ms = int(secs * 1000)
        error, peer, identity, _endpoint, *reason = self._do("event", name, ms, ms=ms)
        return (error, int(peer), b"" if identity == "-" else bytes.fromhex(identity),
                " ".join(reason))

    def stats(self):
        return {name: int(value) for name, value in
                (word.split("=") for word in self._do("stats"))}

    def close(self):
        self._do("close")


class Theirs:
    """A socket of libzmq."""

    def __init__(self, context, kind, identity=b"", **options):
        self.kind, self.identity = kind, identity
        self.socket = context.socket(getattr(zmq, kind))
        self.socket.linger = 0
        self.socket.sndtimeo = int(DEADLINE * 1000)
        self.socket.reconnect_ivl = 10
        if identity:
            self.socket.identity = identity
        for name, value in options.items():
            setattr(self.socket, name, value)

    def bind(self, endpoint):
        self.socket.bind(endpoint)
        return self.socket.last_endpoint.rstrip(b"\0").decode()

    def connect(self, endpoint):
        self.socket.connect(endpoint)

    def subscribe(self, topic):
        if self.kind == "XSUB":
            self.socket.send(b"\x01" + topic)
        else:
            self.socket.subscribe(topic)

    def unsubscribe(self, topic):
        if self.kind == "XSUB":
            self.socket.send(b"\x00" + topic)
        else:
            self.socket.unsubscribe(topic)

    def send(self, parts):
        self.socket.send_multipart(parts)

    def try_recv(self, secs):
        return self.socket.recv_multipart() if self.socket.poll(secs * 1000) else None

    def recv(self, secs=DEADLINE):
        parts = self.try_recv(secs)
        assert parts is not None, f"nothing arrived at libzmq's {self.kind}"
        return parts

    def close(self):
        self.socket.close()
