# SPDX-License-Identifier: MIT
"""Every malformed input of tests/vectors over real connections, both ways round: it is
answered as the row of the engine's suite says, with the same reason, and an innocent
peer of the same socket keeps working.

The octets are in tests/vectors/zmtp_vectors.json, the outcomes in
tests/transport/engine_vectors_rows.h; there is no second copy of either."""

import itertools
import json
import os
import re
from collections import namedtuple

from peer import HERE
from raw import RawListener, Wire
from suite import equal, main, until

VECTORS = os.path.join(HERE, "..", "vectors", "zmtp_vectors.json")
ROWS = os.path.join(HERE, "..", "transport", "engine_vectors_rows.h")

Row = namedtuple("Row", "name kind options first rest ready answer reason")

# A deadline is as much one when it is shorter; one of over a minute is the engine's suite's,
# which has a clock of its own: here that connection must outlive everything else.
STALL_DIVISOR = 4
PATIENCE_MS = 1000

# What is decided above the engine.
ABOVE = {
    "pair: second connection": "this socket has a peer already",
}


# ---- Reading the rows ---------------------------------------------------------------


def table(text, name):
    """The rows of a C table of numbers, strings and NULLs."""
    body = text[text.index(f" {name}[] = {{") + len(name) + 7:]
    rows, row, string = [], None, None
    for token in re.finditer(r'"((?:[^"\\]|\\.)*)"|NULL|\d+|/\*.*?\*/|[{},;]', body, re.S):
        if token[0][0] == '"':
            string = (string or "") + token[1].encode().decode("unicode_escape")
        elif token[0] == "{":
            row = []
        elif token[0] in ",}" and row is not None:
            if string is not None:
                row.append(string)
                string = None
            if token[0] == "}":
                rows.append(row)
                row = None
        elif token[0] == "NULL":
            row.append(None)
        elif token[0].isdigit():
            row.append(int(token[0]))
        elif token[0] == ";":
            return rows
    raise AssertionError(f"{name} has no end")


def read_rows():
    with open(VECTORS, encoding="utf-8") as file:
        inputs = json.load(file)["malformed"]
    with open(ROWS, encoding="utf-8") as file:
        outcomes = table(file.read(), "malformed_rows")
    equal([row[0] for row in outcomes], [row["name"] for row in inputs], "names of the rows")
    for given, (name, wait_ms, events, output, reason, _note) in zip(inputs, outcomes):
        options = {"zmtp_unversioned": True}  # as the engine of the rows
        if "MAXMSGSIZE" in given["target_options"]:
            options["recv_frame_max_bytes"] = given["target_options"]["MAXMSGSIZE"]
        if "HANDSHAKE_IVL" in given["target_options"]:
            options["handshake_timeout_ms"] = (given["target_options"]["HANDSHAKE_IVL"] //
                                               STALL_DIVISOR)
        kind = given["target_socket"].split(" ")[1]
        if wait_ms > PATIENCE_MS:
            reason = None
        yield Row(name, kind, options,
                  b"".join(map(bytes.fromhex, given["send_first_hex"])),
                  bytes.fromhex(given["send_hex"]), events.startswith("READY"),
                  output.split(" "), reason)


# ---- The innocent peer --------------------------------------------------------------


numbers = itertools.count()


def roundtrip(ours, theirs):
    """One exchange with the innocent; what others sent meanwhile is passed over."""
    word = b"i%d" % next(numbers)
    if ours.kind in ("PUB", "XPUB"):
        ours.send([word])
        equal(theirs.recv(), [word], "publication to the innocent")
        return
    theirs.send([word])
    while (got := ours.recv())[-1] != word:
        if ours.kind == "REP":
            ours.send([b"whoever you are"])
    if ours.kind != "PULL":
        ours.send([*got[:-1], b"re " + word])
        equal(theirs.recv(), [b"re " + word], "reply to the innocent")


INNOCENT = {"ROUTER": "DEALER", "REP": "REQ", "PUB": "SUB", "XPUB": "SUB",
            "PULL": "PUSH", "PAIR": "PAIR"}


def innocent_of(bench, ours, endpoint):
    theirs = bench.theirs(INNOCENT[ours.kind], identity=b"innocent")
    if ours.kind in ("PUB", "XPUB"):
        theirs.subscribe(b"i")
    theirs.connect(endpoint)
    ours.event("READY")
    if ours.kind in ("PUB", "XPUB"):
        while not theirs.try_recv(0.01):
            ours.send([b"i"])
        ours.send([b"i", b"done"])
        while theirs.recv()[-1] != b"done":
            pass
    return theirs


# ---- The guilty one -----------------------------------------------------------------


def hears_ready(guilty):
    guilty.take(65)
    guilty.take(guilty.take(1)[0])


def speak(row, guilty):
    """All at once, which not even libzmq does; but an answer can only be asked for by who
    has waited for our READY."""
    if row.answer[0] != "ready" or len(row.answer) == 1:
        guilty.say(row.first + row.rest)
        return
    guilty.say(row.first)
    hears_ready(guilty)
    guilty.say(row.rest)


def listen(row, guilty, we_listen):
    """Hears out what the row says is our part of the conversation."""
    if row.answer[0] == "legacy":
        answer = bytes.fromhex("".join(row.answer[1:]))
        equal(guilty.take(10 + len(answer))[10:], answer, "what follows our signature")
    elif row.answer[0] != "ready":
        guilty.hears(int(row.answer[0]))
        equal(len(guilty.heard), int(row.answer[0]), "octets of our greeting")
    elif len(row.answer) == 2:
        answer = bytes.fromhex(row.answer[1])
        equal(guilty.take(len(answer)), answer, "our answer")
    elif row.ready or not we_listen:
        hears_ready(guilty)
    else:
        guilty.hears(64)  # a listener says READY only to whom it admits


def judge(row, ours, theirs, guilty, we_listen):
    """Gives whether the connection is over."""
    # What was ready says DISCONNECTED when it ends, what was not HANDSHAKE_FAILED.
    ending = "DISCONNECTED" if row.ready and row.name not in ABOVE else "HANDSHAKE_FAILED"
    wanted = ABOVE.get(row.name, row.reason)
    speak(row, guilty)
    roundtrip(ours, theirs)
    if wanted:
        error, _, _, reason = ours.event(ending)
        equal(reason, wanted, "reason")
        assert error not in ("OK", "EIO"), error
        guilty.hears_the_end()
    else:
        listen(row, guilty, we_listen)
        roundtrip(ours, theirs)
        assert guilty.is_open(), "the connection was closed"
        guilty.close()
        ours.event(ending)
    roundtrip(ours, theirs)


def outcome(row):
    reason = ABOVE.get(row.name, row.reason)
    return f"ends that connection: {reason}" if reason else "leaves all connected"


def they_connect(row):
    def run(bench):
        ours = bench.ours(row.kind, **row.options)
        endpoint = ours.bind(bench.endpoint("tcp"))
        theirs = innocent_of(bench, ours, endpoint)
        judge(row, ours, theirs, Wire.connect(endpoint), True)
        equal(ours.stats()["connections"], 1, "connections that are left")

    return f"{row.name}: said by who connects to our {row.kind}, it {outcome(row)}", run


def we_connect(row):
    def run(bench):
        ours = bench.ours(row.kind, **row.options)
        theirs = innocent_of(bench, ours, ours.bind(bench.endpoint("tcp")))
        listener = RawListener()
        try:
            ours.connect(listener.endpoint)
            judge(row, ours, theirs, listener.accept(), False)
            # Whatever it was, it is tried again.
            listener.accept().close()
        finally:
            listener.close()
        ours.disconnect(listener.endpoint)
        roundtrip(ours, theirs)
        equal(ours.stats()["connections"], 1, "connections that are left")

    return f"{row.name}: said by whom our {row.kind} connects to, it {outcome(row)}", run


def all_at_once(rows, kind):
    rows = [row for row in rows if row.kind == kind and len(row.options) == 1]

    def run(bench):
        ours = bench.ours(kind, zmtp_unversioned=True)
        endpoint = ours.bind(bench.endpoint("tcp"))
        theirs = innocent_of(bench, ours, endpoint)
        crowd = [Wire.connect(endpoint) for _ in rows]
        for half in (lambda octets: octets[:len(octets) // 2],
                     lambda octets: octets[len(octets) // 2:]):
            for row, guilty in zip(rows, crowd):
                guilty.say(half(row.first + row.rest))
                roundtrip(ours, theirs)
        for row, guilty in zip(rows, crowd):
            if row.reason:
                guilty.hears_the_end()
            guilty.close()
        until("the crowd is gone", lambda: (roundtrip(ours, theirs),
                                            ours.stats()["connections"] == 1)[1])

    return f"all {len(rows)} peers of our {kind} that misbehave do so at once", run


if __name__ == "__main__":
    rows = list(read_rows())
    main([*map(they_connect, rows),
          *(we_connect(row) for row in rows if row.name not in ABOVE),
          *(all_at_once(rows, kind) for kind in ("ROUTER", "REP", "PUB", "XPUB"))])
