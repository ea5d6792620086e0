# SPDX-License-Identifier: MIT
"""`sennit call` against a service generated from desk.snt."""

import json
import os
import signal
import subprocess

from cat import Cat, run as sennit
from peer import DEADLINE
from raw import RawListener
from suite import equal, main

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "desk.snt")


class Server:
    """A running call_server."""

    def __init__(self, bench, endpoint="tcp://127.0.0.1:*"):
        self.process = subprocess.Popen([os.path.join(bench.bin, "call_server"), endpoint],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        bench.processes.append(self)
        self.endpoint = self.process.stdout.readline().strip()

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self):
        self.process.communicate(timeout=DEADLINE)
        equal(self.process.returncode, 0, "exit code of call_server")


def call(bench, *args, code=0, schema=SCHEMA, stdin=""):
    done = subprocess.run([os.path.join(bench.bin, "sennit"), "call", *args,
                           *(["--schema", schema] if schema else [])],
                          capture_output=True, text=True, timeout=20, input=stdin,
                          check=False)
    equal(done.returncode, code, f"exit code, having said {done.stderr!r}")
    if code:
        equal(done.stdout, "", "stdout of a failure")
    return done.stdout, done.stderr


FORM = {"name": "Ad\u00e4 \"L\"", "numbers": [0, 1, "18446744073709551615"], "mood": "busy",
        "data": "AAEC/w==", "note": "n", "wait": "250ms"}


def copies(transport):
    def run(bench):
        server = Server(bench, bench.endpoint(transport))
        output, _ = call(bench, server.endpoint, "Desk.copy", json.dumps({"form": FORM}))
        equal(output.count("\n"), 1, "lines")
        equal(json.loads(output), {"form": FORM}, "reply")
        server.end()
    return run


def names_and_stdin(bench):
    server = Server(bench)
    empty = {"form": {"name": "", "numbers": [], "mood": "calm", "data": "", "wait": "0s"}}
    for name in ("Desk.copy", "desk.Desk.copy", "desk.Desk/1.copy"):
        output, _ = call(bench, server.endpoint, name)
        got = json.loads(output)
        got["form"].pop("wait")
        equal(got, {"form": {k: v for k, v in empty["form"].items() if k != "wait"}}, name)
    output, _ = call(bench, server.endpoint, "Desk.copy", "-",
                     stdin=json.dumps({"form": FORM}))
    equal(json.loads(output), {"form": FORM}, "arguments from stdin")


def oneway(bench):
    server = Server(bench)
    for n in range(3):
        output, errors = call(bench, server.endpoint, "Desk.tell", json.dumps({"text": str(n)}))
        equal((output, errors), ("", ""), "output")
    equal(json.loads(call(bench, server.endpoint, "Desk.told")[0]), {"texts": ["0", "1", "2"]},
          "what arrived")
    equal(call(bench, server.endpoint, "Desk.copy", "--oneway"), ("", ""),
          "output of a call whose reply is not waited for")
    server.end()


def failures(bench):
    server = Server(bench)
    for method, args, hints in (
            ("Desk.refuse", '{"name":"x"}',
             ("RECIPIENT_FAILURE", "ran: yes", 'Refused {"name":"x","tries":3}', "code ")),
            ("Desk.stall", "{}", ("TIMEOUT", "ran: maybe")),
            ("Desk.missing", "{}", ("UNIMPLEMENTED", "ran: never")),
            ("Attic.look", "{}", ("NO_HANDLERS", "ran: never", "desk.Attic/2.look"))):
        _, errors = call(bench, server.endpoint, method, args, code=1)
        for hint in hints:
            assert hint in errors, f"'{hint}' is not in '{errors}'"


def foreign_words(bench):
    server = Server(bench)
    _, errors = call(bench, server.endpoint, "Desk.scold", code=1)
    assert errors.endswith(": r\u00e4d\\x1b[31m\\x0asennit: \\x9b\\x7f\n"), repr(errors)


def nobody_there(bench):
    server = Server(bench)
    server.kill()
    _, errors = call(bench, server.endpoint, "Desk.told", "--timeout", "200", code=1)
    for hint in ("NOT_SENT", "ran: never", server.endpoint, "200 ms"):
        assert hint in errors, errors


def signals_end_it(bench):
    page, _ = sennit(bench, "call", "--help")
    assert "SIGINT, SIGTERM and SIGHUP end it at once" in page, page
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        listener = bench.keep(RawListener())
        waits = Cat(bench, "call", listener.endpoint, "Desk.told", "--schema", SCHEMA)
        bench.keep(listener.accept())
        waits.process.send_signal(number)
        equal(waits.end(-number), "", "output")


def bad_schema(bench):
    path = bench.path()
    with open(path, "w", encoding="utf-8") as file:
        file.write("edition 1;\nnamespace x;\nstruct A { 1 a: Qoute; }\nstruct Quote { }\n")
    _, errors = call(bench, "tcp://127.0.0.1:1", "A.b", schema=path, code=1)
    assert f"{path}:3:17: error" in errors and "'Quote'" in errors and "^" in errors, errors
    _, errors = call(bench, "tcp://127.0.0.1:1", "A.b", schema=path + ".none", code=2)
    assert path + ".none" in errors, errors


MISTAKES = (
    (("tcp://127.0.0.1:1",), "SERVICE.METHOD"),
    (("tcp://127.0.0.1:1", "Desk.cpoy"), "did you mean Desk.copy"),
    (("tcp://127.0.0.1:1", "Banana.peel"), "  Desk.copy\n"),
    (("tcp://127.0.0.1:1", "Desk.copy", "{form"), "not JSON"),
    (("tcp://127.0.0.1:1", "Desk.copy", '{"fomr":{}}'), "form"),
    (("tcp://127.0.0.1:1", "Desk.copy", '{"form":{"numbers":[-1]}}'), "form.numbers[0]"),
    (("tcp://127.0.0.1:1", "Desk.copy", '{"form":{"mood":"sad"}}'), "mood"),
    (("tcp//127", "Desk.told"), "write tcp://"),
    (("inproc://x", "Desk.told"), "inproc://x: leads nowhere"),
    (("tcp://127.0.0.1:1", "Desk.told", "--timeout", "soon"), "milliseconds"),
    (("tcp://127.0.0.1:1", "Desk.told", "--shcema", "x"), "did you mean --schema"),
)


def mistake(args, hint):
    def run(bench):
        _, errors = call(bench, *args, code=2)
        assert hint in errors, f"'{hint}' is not in '{errors}'"
    return f"usage: sennit call {' '.join(args)}"[:90], run


def no_schema(bench):
    _, errors = call(bench, "tcp://127.0.0.1:1", "A.b", schema=None, code=2)
    assert "--schema FILE.snt" in errors, errors


if __name__ == "__main__":
    main([
        ("a form comes back as it went, tcp", copies("tcp")),
        ("a form comes back as it went, ipc", copies("ipc")),
        ("a method has a short, a full and a versioned name; arguments may be left out",
         names_and_stdin),
        ("one-way methods are sent before the program ends", oneway),
        ("a failure says its kind, whether the handler ran, and the declared error", failures),
        ("what a server says stays on its line and cannot command the terminal",
         foreign_words),
        ("a node that is not there is NOT_SENT, never ran", nobody_there),
        ("SIGINT, SIGTERM and SIGHUP end it at once, as its help says", signals_end_it),
        ("a schema with errors shows them, exit code 1", bad_schema),
        ("a schema is needed", no_schema),
        *(mistake(args, hint) for args, hint in MISTAKES),
    ])
