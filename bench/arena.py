# SPDX-License-Identifier: MIT
"""One run of one cell on one engine: starts the peers, waits, and adds up what they
printed and what they cost."""

import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections import namedtuple

# What is measured: `size` is the payload's bytes or, of storm, idle and echo, the connections.
Cell = namedtuple("Cell", "kind transport size")

# A program and what it finds in its environment.
Engine = namedtuple("Engine", "name binary environment")

# How long and with how many others.
Plan = namedtuple("Plan", "messages peers secs limit_secs")

TIMED = ("pubsub", "fanout", "fanin", "broadcast")
BY_CONNECTIONS = ("storm", "idle", "echo")
ASKED_BY_PRODUCER = ("latency", "pipelined", "storm", "idle", "echo")
ECHO_BYTES = 64


class Failed(Exception):
    """A run that gave no result."""


def free_port():
    """A port nobody listens on. Somebody may take it before our peer binds it;
    the run then fails and is tried again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listening(endpoint):
    if endpoint.startswith("ipc://"):
        return os.path.exists(endpoint[len("ipc://"):])
    port = "%04X" % int(endpoint.rsplit(":", 1)[1])
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = (line.split() for line in table)
        return any(row[1].endswith(":" + port) and row[3] == "0A" for row in rows)


def status_of(path, keys):
    """Numbers of a /proc status file."""
    with open(path, encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return [int(fields[key].split()[0]) for key in keys]


def machine_busy_secs():
    """CPU seconds that all cores were busy since the start."""
    with open("/proc/stat", encoding="ascii") as lines:
        fields = [int(field) for field in lines.readline().split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Peer:
    """One process; reap() gives its output and the CPU seconds it took."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.output = None
        self.cpu_secs = 0.0

    def line(self, deadline):
        """The first line of one that goes on after it."""
        stdout = self.process.stdout
        if not select.select([stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            raise Failed("a peer printed nothing in time")
        return stdout.readline()

    def reap(self, deadline):
        """Waits until `deadline` for the end, then kills. The lines are far below
        a pipe buffer, so they are read after the end."""
        while self.output is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_secs = usage.ru_utime + usage.ru_stime
                self.output = self.process.stdout.read()
                self.process.stdout.close()
            elif time.monotonic() > deadline:
                self.process.send_signal(signal.SIGKILL)
                deadline = float("inf")
            else:
                time.sleep(0.002)
        return self.output

    def ended(self):
        """Without reaping it, which would lose what it cost."""
        return os.waitid(os.P_PID, self.process.pid,
                         os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def kill(self):
        self.reap(0)

    def memory_bytes(self):
        """Of its own, not of files."""
        return status_of(f"/proc/{self.process.pid}/status", ["RssAnon"])[0] * 1024

    def wakes(self):
        """How often its threads have waited, so far."""
        tasks = f"/proc/{self.process.pid}/task"
        return sum(status_of(f"{tasks}/{task}/status", ["voluntary_ctxt_switches"])[0]
                   for task in os.listdir(tasks))


def parse_line(kind, output):
    """The contract's line as (count, seconds or p50 ns, p99 ns or None)."""
    fields = output.split()
    if kind == "latency" and len(fields) == 8 and fields[0] == "LATENCY":
        numbers = [int(field) for field in fields[1:]]
        if numbers[0] > 0 and numbers[1:] == sorted(numbers[1:]):
            return numbers[0], numbers[2], numbers[4]
    if kind != "latency" and len(fields) == 3 and fields[0] == "THROUGHPUT":
        count, secs = int(fields[1]), float(fields[2])
        if count > 0 and secs > 0:
            return count, secs, None
    raise Failed(f"a peer of {kind} printed {output!r}")


def split_peak(output):
    """The output without its PEAK line, and the bytes in that."""
    lines = output.splitlines()
    peaks = [line for line in lines if line.startswith("PEAK ")]
    rest = "\n".join(line for line in lines if not line.startswith("PEAK "))
    return rest, sum(int(line.split()[1]) for line in peaks) * 1024


class Run:
    """The peers of one run."""

    def __init__(self, engine, cell, plan, folder):
        self.engine, self.cell, self.plan = engine, cell, plan
        self.peers = []
        if cell.transport == "inproc":
            self.endpoint = "inproc://arena"
        elif cell.transport == "tcp":
            self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        else:
            self.endpoint = f"ipc://{folder}/s"
        payload = 0 if cell.kind in BY_CONNECTIONS else cell.size
        payload = ECHO_BYTES if cell.kind == "echo" else payload
        self.common = [
            "--kind", cell.kind, "--transport", cell.transport, "--endpoint", self.endpoint,
            "--payload-bytes", str(payload), "--messages", str(plan.messages),
            "--warmup", str(plan.messages // 10), "--peers", str(plan.peers), "--report"]
        if cell.kind in TIMED:
            self.common += ["--duration-secs", str(plan.secs)]

    def start(self, role, count=1):
        binds = self.cell.kind in TIMED and not self.peers
        command = [self.engine.binary, "--role", role, *self.common]
        started = [Peer(command + ["--bind"] * binds, self.engine.environment)
                   for _ in range(count)]
        self.peers.extend(started)
        return started

    def wait_bound(self):
        deadline = time.monotonic() + 5
        while not listening(self.endpoint):
            if time.monotonic() > deadline or self.peers[0].ended():
                raise Failed(f"{self.engine.binary} did not bind {self.endpoint}")
            time.sleep(0.002)

    def start_all(self):
        """Gives those that print the result."""
        kind, peers = self.cell.kind, self.plan.peers
        if self.cell.transport == "inproc":
            return self.start("both")
        if kind in ("pubsub", "fanout", "broadcast"):
            self.start("pub")
            self.wait_bound()
            return self.start("sub", 1 if kind == "broadcast" else peers)
        consumer = self.start("sub")
        self.wait_bound()
        producers = self.start("pub", peers if kind == "fanin" else 1)
        return producers if kind in ASKED_BY_PRODUCER else consumer

    def results(self, measured):
        """{"value", "p99", "cpu", "peak"}: `value` is p50 in ns for latency, else
        messages per second over all consumers; `cpu` ns per message over all processes,
        `peak` the bytes of those that ended by themselves."""
        deadline = time.monotonic() + self.plan.limit_secs
        found = []
        for peer in measured:
            line, _ = split_peak(peer.reap(deadline))
            found.append(parse_line(self.cell.kind, line))
        if self.cell.kind == "throughput":
            for peer in self.peers:
                peer.reap(deadline)
        self.end()
        count = sum(result[0] for result in found)
        result = {"cpu": sum(peer.cpu_secs for peer in self.peers) * 1e9 / count,
                  "peak": sum(split_peak(peer.output)[1] for peer in self.peers)}
        if self.cell.kind == "latency":
            result.update(value=found[0][1], p99=found[0][2])
        else:
            result.update(value=sum(count / secs for count, secs, _ in found))
        return result

    def idle(self):
        """{"value", "wakes", "cpu"}: bytes of the accepting process for each connection,
        and how often per second it wakes up for them."""
        server, = self.start("sub")
        self.wait_bound()
        before = server.memory_bytes()
        client, = self.start("pub")
        count, _, _ = parse_line(self.cell.kind,
                                 client.line(time.monotonic() + self.plan.limit_secs))
        time.sleep(0.2)  # the last of the storm
        grown = server.memory_bytes() - before
        wakes = server.wakes()
        time.sleep(self.plan.secs)
        wakes = server.wakes() - wakes
        self.end()
        return {"value": grown / count, "wakes": wakes / self.plan.secs,
                "cpu": sum(peer.cpu_secs for peer in self.peers) * 1e9 / count}

    def end(self):
        for peer in self.peers:
            if peer.output is None:
                peer.kill()


def run_once(engine, cell, plan):
    """The result, and in "foreign" how many cores were busy with something else."""
    with tempfile.TemporaryDirectory(prefix="arena-") as folder:
        run = Run(engine, cell, plan, folder)
        busy, began_at = machine_busy_secs(), time.monotonic()
        try:
            result = run.idle() if cell.kind == "idle" else run.results(run.start_all())
        finally:
            run.end()
        took = time.monotonic() - began_at
        ours = sum(peer.cpu_secs for peer in run.peers)
        result["foreign"] = max(0, machine_busy_secs() - busy - ours) / took
        return result
