# SPDX-License-Identifier: MIT
"""Runs named cases and reports them; the frame of every program in this folder."""

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback

from peer import DEADLINE, Ours, Process, Theirs, zmq

FAILURES_MAX = 10


class Bench:
    """What a case works with: sockets of both sides, closed after it; a folder for
    ipc paths; and one interop_peer for all cases, replaced when one spoils it."""

    def __init__(self, folder):
        self.bin = folder
        self.context = zmq.Context()
        self.temporary = tempfile.mkdtemp(prefix="interop-")
        self.process = Process(folder)
        self.opened = []
        self.processes = []
        self.paths = 0

    def ours(self, kind, **options):
        options.setdefault("reconnect_min_ms", 10)
        options.setdefault("reconnect_max_ms", 100)
        socket = self.process.open(kind, **options)
        self.opened.append(socket)
        return socket

    def theirs(self, kind, **options):
        socket = Theirs(self.context, kind, **options)
        self.opened.append(socket)
        return socket

    def other_process(self):
        """One more interop_peer, for cases that kill it."""
        process = Process(self.bin)
        self.processes.append(process)
        return process

    def path(self):
        self.paths += 1
        return os.path.join(self.temporary, str(self.paths))

    def endpoint(self, transport):
        """One to bind; the system chooses what is left open in it."""
        return "tcp://127.0.0.1:*" if transport == "tcp" else "ipc://" + self.path()

    def join(self, transport, binder, connecter):
        endpoint = binder.bind(self.endpoint(transport))
        connecter.connect(endpoint)
        return endpoint

    def clean(self, spoiled):
        for socket in self.opened:
            if not (spoiled and isinstance(socket, Ours)):
                socket.close()
        self.opened.clear()
        for process in self.processes:
            if process.process.poll() is None:
                process.kill()
        self.processes.clear()
        if spoiled:
            self.process.kill()
            self.process = Process(self.bin)
        else:
            self.process.sockets = 0

    def end(self):
        try:
            self.process.end()
        finally:
            self.context.destroy(linger=0)
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


def try_bind(theirs, endpoint):
    """For until(): whether an address that was just given up could be bound."""
    try:
        theirs.bind(endpoint)
        return True
    except zmq.ZMQError as error:
        assert error.errno == zmq.EADDRINUSE, error
        theirs.socket.poll(5)
        return False


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
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--times", action="store_true", help="how long each case took")
    args = parser.parse_args()
    cases = [case for case in cases if args.only in case[0]]
    bench = Bench(args.bin)
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
    print(f"interop: {passed} cases passed" + (f", {failures} failed" if failures else ""))
    sys.exit(1 if failures or not passed else 0)
