# SPDX-License-Identifier: MIT
"""Runs named cases and reports them; the frame of every program in this folder."""

import argparse
import ctypes
import os
import select
import shutil
import sys
import tempfile
import time
import traceback

from peer import DEADLINE, HERE, Ours, Process, Theirs

FAILURES_MAX = 10
LIBZMQ = ("4.3.4", "4.3.5")  # Debian's, the npm package's

TRANSPORTS = ("tcp", "tcp on IPv6", "ipc", "abstract ipc")


class Bench:
    """What a case works with: sockets of both sides, closed after it; a folder for
    ipc paths; and one process of each side for all cases, replaced when a case spoils
    them. `npm` is the folder of the npm package, or None for Debian's libzmq."""

    def __init__(self, folder, npm):
        self.bin = folder
        self.npm = npm
        self.temporary = tempfile.mkdtemp(prefix="interop-")
        self.opened = []
        self.processes = []
        self.paths = 0
        self.start()

    def start(self):
        self.process = self.our_process()
        self.theirs_in = self.their_process()
        version, wanted = self.theirs_in.request("version -")[0], LIBZMQ[bool(self.npm)]
        assert version == wanted, f"the peer is libzmq {version} instead of {wanted}"

    def our_process(self):
        """One more interop_peer, for cases that kill it."""
        process = Process([os.path.join(self.bin, "interop_peer")])
        self.processes.append(process)
        return process

    def their_process(self):
        """One more process with libzmq, likewise."""
        if self.npm:
            process = Process(["node", "--no-warnings", os.path.join(HERE, "node", "peer.js")],
                              NODE_PATH=os.path.join(self.npm, "node_modules"))
        else:
            process = Process([sys.executable, os.path.join(HERE, "zmq_peer.py")])
        self.processes.append(process)
        return process

    def ours(self, kind, process=None, **options):
        options.setdefault("reconnect_min_ms", 10)
        options.setdefault("reconnect_max_ms", 100)
        return self.keep(Ours(process or self.process, kind, options))

    def theirs(self, kind, process=None, identity=b"", **options):
        return self.keep(Theirs(process or self.theirs_in, kind, identity, options))

    def keep(self, socket):
        self.opened.append(socket)
        return socket

    def path(self):
        self.paths += 1
        return os.path.join(self.temporary, str(self.paths))

    def endpoint(self, transport):
        """One to bind; the system chooses what is left open in it."""
        if transport == "tcp":
            return "tcp://127.0.0.1:*"
        if transport == "tcp on IPv6":
            return "tcp://[::1]:*"
        path = self.path()
        return "ipc://" + (path if transport == "ipc" else "@" + os.path.basename(
            self.temporary) + os.path.basename(path))

    def join(self, transport, binder, connecter):
        endpoint = binder.bind(self.endpoint(transport))
        connecter.connect(endpoint)
        return endpoint

    def clean(self, spoiled):
        for socket in self.opened:
            process = getattr(socket, "process", None)  # raw ones have none
            if not process or not spoiled and process in (self.process, self.theirs_in):
                socket.release()
        self.opened.clear()
        for process in self.processes:
            shared = process in (self.process, self.theirs_in)
            if (spoiled or not shared) and process.process.poll() is None:
                process.kill()
        self.processes = [self.process, self.theirs_in]
        if spoiled:
            self.processes = []
            self.start()
        for process in self.processes:
            process.sockets = 0

    def end(self):
        try:
            for process in self.processes:
                process.end()
        finally:
            shutil.rmtree(self.temporary, ignore_errors=True)


def until(what, attempt, secs=DEADLINE):
    """Calls attempt() until it gives something true; that is given back. Each
    attempt must itself wait for something, so that this never spins or sleeps."""
    deadline = time.monotonic() + secs
    while True:
        result = attempt()
        if result:
            return result
        assert time.monotonic() < deadline, f"never happened: {what}"


IN_MOVED_TO, IN_CREATE = 0x80, 0x100  # of sys/inotify.h


def appears(path, secs=DEADLINE):
    """Waits until that file is there. The kernel tells of it through inotify, which
    Python's library lacks; the C library has it."""
    libc, deadline = ctypes.CDLL(None), time.monotonic() + secs
    watch = libc.inotify_init1(os.O_CLOEXEC)
    try:
        assert libc.inotify_add_watch(watch, os.fsencode(os.path.dirname(path)),
                                      IN_MOVED_TO | IN_CREATE) > 0, f"no watch for {path}"
        while not os.path.exists(path):
            left = max(0, deadline - time.monotonic())
            assert select.select([watch], [], [], left)[0], f"never appeared: {path}"
            os.read(watch, 1 << 16)
    finally:
        if watch >= 0:
            os.close(watch)


def equal(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: got {brief(got)}, wanted {brief(wanted)}")


def brief(value):
    if isinstance(value, list):
        return "[" + ", ".join(brief(item) for item in value) + "]"
    if isinstance(value, bytes) and len(value) > 40:
        return f"{value[:16]!r}...({len(value)} bytes)"
    return repr(value)


def main(cases):
    """`cases` are (sentence, function of a Bench). Exits 0 when all passed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="folder of the built programs")
    parser.add_argument("--npm", help="folder with the npm package `zeromq`, which is "
                        "then the peer instead of Debian's libzmq")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--times", action="store_true", help="how long each case took")
    args = parser.parse_args()
    cases = [case for case in cases if args.only in case[0]]
    bench = Bench(args.bin, args.npm)
    passed, failures = 0, 0
    for name, run in cases:
        spoiled, started = True, time.monotonic()
        try:
            run(bench)
            spoiled = False
            passed += 1
        except Exception:  # pylint: disable=broad-except
            failures += 1
            print(f"FAILED: {name}\n{traceback.format_exc()}", flush=True)
        bench.clean(spoiled)
        if args.times:
            print(f"{time.monotonic() - started:7.3f} s  {name}")
        if failures == FAILURES_MAX:
            print("giving up after", FAILURES_MAX, "failures")
            break
    bench.end()
    print(f"interop with libzmq {LIBZMQ[bool(args.npm)]}: {passed} cases passed" +
          (f", {failures} failed" if failures else ""))
    sys.exit(1 if failures or not passed else 0)
