# SPDX-License-Identifier: MIT
"""`sennit proxy` between libzmq peers: what passes, how it is steered, and what it
tells."""

import json
import os
import signal
import struct
import time

from cat import Cat, ignoring, mistake, run
from peer import DEADLINE
from raw import Raw
from suite import appears, equal, main, until

TCP = "tcp://127.0.0.1:*"


class Proxy(Cat):
    """A running `sennit proxy`; sides are TYPE@ENDPOINT by name."""

    def __init__(self, bench, *more, **sides):
        args = [word for name, spec in sides.items() for word in (f"--{name}", spec)]
        super().__init__(bench, "proxy", *args, *more)
        self.at = {name: self.listening(name) for name, spec in sides.items()
                   if spec.endswith("*")}

    def statistics(self):
        """Asked for by a signal. The lines of its peers are kept in `peers`."""
        self.process.send_signal(signal.SIGUSR1)
        told = json.loads(self.process.stdout.readline())
        self.peers = [json.loads(self.process.stdout.readline())
                      for _ in range(told["peer_lines"])]
        return told

    def stop(self):
        """Ends it by a signal; what it told last."""
        self.process.send_signal(signal.SIGTERM)
        return json.loads(self.end(-signal.SIGTERM).splitlines()[-1])


def joined(bench, kind, endpoint, **options):
    socket = bench.theirs(kind, **options)
    socket.connect(endpoint)
    return socket


# ---- Usage -------------------------------------------------------------------------

SIDES = ("--front", f"ROUTER@{TCP}", "--back", f"DEALER@{TCP}")

MISTAKES = (
    (("proxy",), "--front TYPE@ENDPOINT"),
    (("proxy", *SIDES[:2]), "--back is missing"),
    (("proxy", *SIDES[2:]), "--front is missing"),
    (("proxy", "--bakc", "y"), "did you mean --back?"),
    (("proxy", "--fron", "y"), "unclear option --fron"),
    (("proxy", "--front"), "needs a value"),
    (("proxy", "--front", "ROUTER"), "write TYPE@ENDPOINT"),
    (("proxy", "--front", f"@{TCP}"), "write TYPE@ENDPOINT"),
    (("proxy", "--front", "ROUTER@"), "write TYPE@ENDPOINT"),
    (("proxy", "--front", f"ROTUER@{TCP}"), "did you mean ROUTER?"),
    (("proxy", "--front", f"banana@{TCP}"), "PAIR PUB SUB"),
    (("proxy", "--front", f"dish@{TCP}"), "not built"),
    (("proxy", *SIDES, *SIDES), "--front is given twice"),
    (("proxy", *SIDES, "stray"), "unexpected argument 'stray'"),
    (("proxy", *SIDES, "--subscribe", "x"), "for a SUB"),
    (("proxy", *SIDES, "--front-option", "linger=1"), "did you mean linger_ms"),
    (("proxy", *SIDES, "--front-option", "zzz=1"), "and --help lists them"),
    (("proxy", *SIDES, "--back-option", "backlog=many"), "write a number"),
    (("proxy", *SIDES, "--back-option", "reconnect_max_ms=5"), "reconnect_max_ms"),
    (("proxy", *SIDES, "--capture", f"PULL@{TCP}"), "--capture is a PUB"),
    (("proxy", *SIDES, "--control", f"PUB@{TCP}"), "--control is a REP"),
    (("proxy", "--front", f"PUB@{TCP}", "--back", f"PUSH@{TCP}"), "nothing passes"),
    (("proxy", "--front", "ROUTER@tcp//x", "--back", f"DEALER@{TCP}"), "tcp//x"),
    (("proxy", "--front", "ROUTER@inproc://x", "--back", f"DEALER@{TCP}"),
     "--front inproc://x: leads nowhere"),
    (("proxy", *SIDES, "--capture", f"PUB@{TCP},connect:inproc://x"),
     "--capture inproc://x: leads nowhere"),
    (("proxy", "--front", f"ROUTER@{TCP},connect:x", "--back", f"DEALER@{TCP}"),
     "connect:x"),
)


def helps(bench):
    page, _ = run(bench, "proxy", "--help")
    equal(run(bench, "help", "proxy")[0], page, "help proxy")
    assert "  proxy " in run(bench, "--help")[0]
    for option in ("--front", "--capture", "--control", "STATISTICS", "SIGUSR1", "SIGHUP",
                   "--endpoint-file", "--verbose", "recv_message_max_parts"):
        assert option in page, f"{option} is not in the help"


def bind_twice(bench):
    proxy = Proxy(bench, front=f"PULL@{TCP}", back=f"PUSH@{TCP}")
    _, errors = run(bench, "proxy", "--front", f"PULL@{proxy.at['front']}", "--back",
                    f"PUSH@{TCP}", code=1)
    assert "already in use" in errors, errors


def writes_the_endpoint_file(bench):
    path = bench.path()
    proxy = Proxy(bench, "--back", f"PUSH@ipc://{path}.back", "--endpoint-file", path,
                  front=f"PULL@ipc://{path}.front,{TCP},connect:ipc://{path}.nowhere")
    appears(path)
    with open(path, encoding="ascii") as file:
        lines = [line.split(" ") for line in file.read().splitlines()]
    equal([words[0] for words in lines], ["front", "front", "back"], "sides")
    equal([lines[0][1], lines[2][1]], [f"ipc://{path}.front", f"ipc://{path}.back"],
          "endpoints that were given")
    equal(lines[1][1], proxy.listening("front"), "the one that the system chose")
    pull = joined(bench, "PULL", lines[2][1])
    for side in lines[:2]:
        joined(bench, "PUSH", side[1]).send([b"x"])
        equal(pull.recv(), [b"x"], "message")


def endpoint_file_in_no_folder(bench):
    path = os.path.join(bench.path(), "file")
    _, errors = run(bench, "proxy", *SIDES, "--endpoint-file", path, code=1)
    assert f"--endpoint-file {path}: cannot be written" in errors, errors


def tells_events(bench):
    proxy = Proxy(bench, "--verbose", front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}")
    client = joined(bench, "DEALER", proxy.at["front"], identity=b"me")
    worker = joined(bench, "DEALER", proxy.at["back"])
    client.send([b"x"])
    equal(worker.recv(), [b"me", b"x"], "message")
    proxy.stop()
    told = proxy.stderr()
    for side, endpoint in proxy.at.items():
        for event in ("LISTENING", "ACCEPTED", "READY"):
            assert f"event {side} {event} {endpoint}" in told, told
    assert "identity=6d65" in told, told
    assert told.count(" address=127.0.0.1:") >= 4, told
    quiet = Proxy(bench, front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}")
    quiet.stop()
    assert "event" not in quiet.stderr(), quiet.stderr()


def tells_who_was_refused(bench):
    proxy = Proxy(bench, "--verbose", front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}")
    joined(bench, "PUB", proxy.at["front"])
    line = proxy.says("it tells the refusal", lambda text: next(
        (line for line in text.splitlines() if "HANDSHAKE_FAILED" in line), None))
    for word in ("event front", proxy.at["front"], " address=127.0.0.1:", " error=E",
                 " reason="):
        assert word in line, line


def tells_topics(bench):
    proxy = Proxy(bench, "--verbose", "--back-option", "events=4294967295",
                  front=f"XSUB@{TCP}", back=f"XPUB@{TCP}")
    sub = joined(bench, "SUB", proxy.at["back"])
    for topic, told in ((b'a\x1b"\n\\\xc3\xa9', r'"a\x1b\x22\x0a\x5c\xc3\xa9"'),
                        (b"", '""'), (b"t" * 70, f'"{"t" * 64}" topic_size=70')):
        sub.subscribe(topic)
        proxy.says("the topic is told",
                   lambda text, told=told: f" topic={told}\n" in text)


# ---- Statistics --------------------------------------------------------------------


def tells_what_is_stuck(bench):
    """Nothing has passed, and yet it does not look like a proxy with nothing to do."""
    path = bench.path()
    proxy = Proxy(bench, front=f"ROUTER@connect:ipc://{path},{TCP}", back=f"DEALER@{TCP}")
    client = joined(bench, "DEALER", proxy.at["front"], identity=b"m\xe9")
    refused = joined(bench, "PUB", proxy.at["back"])
    for _ in range(3):
        client.send([b"abc", b"de"])
    told = until("all is there", lambda: (lambda told: told["front"]["unread_msgs"] >= 2 and
                                          told["back"]["handshakes_failed"] and
                                          told)(proxy.statistics()))
    refused.close()
    equal(told["front_received"]["msgs"], 0, "passed")
    front, back = told["front"], told["back"]
    equal(front["type"], "ROUTER", "type")
    equal(front["endpoints"], [f"connect:ipc://{path}", proxy.at["front"]], "endpoints")
    equal(back["endpoints"], [proxy.at["back"]], "endpoints")
    equal([front["connections"], front["peers"], front["queued_msgs"]], [1, 2, 0], "front")
    assert front["unread_bytes"] >= 10, front
    equal([front["readable"], back["writable"]], [True, False], "what it waits for")
    equal([back["connections"], back["readable"], back["unread_msgs"]], [0, False, 0], "back")
    assert not any(front["dropped"].values()), front
    equal(set(front["dropped"]), {"no_peer", "hwm", "disconnect", "memory", "malformed",
                                  "filtered", "unread", "slow", "conflated", "expired"},
          "reasons")
    full, empty = [peer for peer in proxy.peers if peer["side"] == "front"]
    assert full["address"].startswith("127.0.0.1:"), full
    equal([full["endpoint"], full["identity"], full["ready"], full["unread_msgs"]],
          [proxy.at["front"], "6de9", True, front["unread_msgs"]], "the peer that waits")
    equal([empty["endpoint"], empty["peer"], empty["ready"]], [f"ipc://{path}", 0, False],
          "the connect that nobody answers")
    until("it tries again", lambda: proxy.statistics()["front"]["reconnects"])


def tells_of_one_request(bench):
    proxy = Proxy(bench, front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}")
    joined(bench, "REQ", proxy.at["front"]).send([b"x"])
    told = until("it is there", lambda: (lambda told: told["front"]["readable"] and told)(
        proxy.statistics()))
    equal([told["front"]["connections"], told["back"]["writable"]], [1, False],
          "whom it has, whom it lacks")


def tells_what_is_queued(bench):
    path = bench.path()
    proxy = Proxy(bench, "--back", f"PUSH@connect:ipc://{path}", front=f"PULL@{TCP}")
    push = joined(bench, "PUSH", proxy.at["front"])
    for _ in range(3):
        push.send([b"abc"])
    until("all is queued", lambda: proxy.statistics()["back"]["queued_msgs"] == 3)
    told = proxy.statistics()
    equal([told["back_sent"]["msgs"], told["back"]["connections"]], [3, 0], "back")
    assert told["back"]["queued_bytes"] >= 9, told
    waits = [peer for peer in proxy.peers if peer["side"] == "back"]
    equal([(peer["endpoint"], peer["queued_msgs"]) for peer in waits],
          [(f"ipc://{path}", 3)], "peers")
    assert not proxy.stop()["peer_lines"], "the last statistics have no peers"


def tells_of_a_hundred_peers(bench):
    proxy = Proxy(bench, front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}")
    peers = [bench.keep(Raw.connect(proxy.at["front"])) for _ in range(103)]
    for number, peer in enumerate(peers):
        peer.handshake(b"DEALER", b"%d" % number)
    for _ in range(3):
        peers[102].send_message([b"x"])
    until("all are there", lambda: (lambda told: told["front"]["connections"] == 103 and
                                    told["front"]["unread_msgs"])(proxy.statistics()))
    equal(len(proxy.peers), 101, "lines")
    equal(proxy.peers[0]["identity"], b"102".hex(), "the fullest")
    equal(len({peer["identity"] for peer in proxy.peers[:100]}), 100, "peers")
    equal(proxy.peers[100], {"side": "front", "more_peers": 3}, "the others")


# ---- What passes -------------------------------------------------------------------


def queue(bench):
    proxy = Proxy(bench, front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}")
    workers = [joined(bench, "REP", proxy.at["back"]) for _ in range(2)]
    clients = [joined(bench, "REQ", proxy.at["front"]) for _ in range(3)]
    body = b"x" * 100000
    for number in range(10):
        for index, client in enumerate(clients):
            client.send([b"%d of %d" % (number, index), b"", body])
            # Round robin: the next is the other worker's.
            worker = workers[(number * len(clients) + index) % 2]
            equal(worker.recv(), [b"%d of %d" % (number, index), b"", body], "request")
            worker.send([b"", b"answer %d" % number])
            equal(client.recv(), [b"", b"answer %d" % number], "reply")
    told = proxy.stop()
    equal(told["front_received"]["msgs"], 30, "requests")
    equal(told["front_received"], told["back_sent"], "requests through")
    equal(told["back_received"], told["front_sent"], "replies through")
    equal(told["dropped_msgs"], 0, "dropped")


def pipeline(bench):
    path = bench.path()
    proxy = Proxy(bench, front=f"pull@ipc://{path}", back=f"push@{TCP}")
    push = joined(bench, "PUSH", f"ipc://{path}")
    pull = joined(bench, "PULL", proxy.at["back"])
    for number in range(3000):
        push.post([b"%d" % number, b""])
    for number in range(3000):
        equal(pull.recv(), [b"%d" % number, b""], "message")
    equal(proxy.statistics()["back_sent"], {
        "msgs": 3000, "frames": 6000,
        "bytes": sum(len(b"%d" % number) for number in range(3000))}, "counts")


def broker(bench):
    proxy = Proxy(bench, front=f"XSUB@{TCP}", back=f"XPUB@{TCP}")
    pub = joined(bench, "XPUB", proxy.at["front"])
    sub = joined(bench, "SUB", proxy.at["back"])
    sub.subscribe(b"a")
    equal(pub.recv(), [b"\x01a"], "subscription")
    pub.send([b"b", b"not this"])
    pub.send([b"abc", b"", b"this"])
    equal(sub.recv(), [b"abc", b"", b"this"], "publication")
    sub.unsubscribe(b"a")
    equal(pub.recv(), [b"\x00a"], "end of it")
    other = joined(bench, "XSUB", proxy.at["back"])
    other.send([b"\x01b"])
    equal(pub.recv(), [b"\x01b"], "subscription of an XSUB")
    other.close()
    equal(pub.recv(), [b"\x00b"], "end of it with its connection")


def forwarder(bench):
    pub = bench.theirs("XPUB")
    proxy = Proxy(bench, "--subscribe", "a", "--subscribe", "b",
                  front=f"SUB@connect:{pub.bind(TCP)}", back=f"PUB@{TCP}")
    equal(sorted([pub.recv(), pub.recv()]), [[b"\x01a"], [b"\x01b"]], "subscriptions")
    sub = joined(bench, "SUB", proxy.at["back"])
    sub.subscribe(b"")

    def arrives():
        pub.send([b"c"])  # not subscribed to
        pub.send([b"b", b"x"])
        return sub.try_recv(0.05)
    equal(until("the SUB is subscribed", arrives), [b"b", b"x"], "publication")


def several_endpoints(bench):
    path = bench.path()
    pull = bench.theirs("PULL")
    proxy = Proxy(bench, "--back", f"PUSH@connect:{pull.bind(TCP)}",
                  front=f"PULL@ipc://{path},{TCP}")
    joined(bench, "PUSH", f"ipc://{path}").send([b"one"])
    equal(pull.recv(), [b"one"], "through the first")
    joined(bench, "PUSH", proxy.at["front"]).send([b"two"])
    equal(pull.recv(), [b"two"], "through the second")


def captures(bench):
    proxy = Proxy(bench, front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}",
                  capture=f"PUSH@{TCP}")
    pull = joined(bench, "PULL", proxy.at["capture"])
    worker = joined(bench, "REP", proxy.at["back"])
    client = joined(bench, "REQ", proxy.at["front"], identity=b"me")
    # Until the capture is connected it misses; a request more shows when it is.

    def captured():
        client.send([b"q"])
        equal(worker.recv(), [b"q"], "request")
        worker.send([b"r", b"s"])
        equal(client.recv(), [b"r", b"s"], "reply")
        return pull.try_recv(0.05)
    first = until("a copy comes", captured)
    if first == [b"me", b"", b"q"]:
        first = pull.recv()
    equal(first, [b"me", b"", b"r", b"s"], "copy of a reply")
    captured_now = captured()
    equal(captured_now, [b"me", b"", b"q"], "copy of a request")
    equal(pull.recv(), [b"me", b"", b"r", b"s"], "copy of its reply")


# ---- Steering ----------------------------------------------------------------------


def order(control, command):
    started = time.monotonic()
    control.send([command])
    answer = control.recv()
    assert time.monotonic() - started < 0.2, f"{command} took longer than 200 ms"
    return answer


def steers(bench):
    proxy = Proxy(bench, front=f"PULL@{TCP}", back=f"PUSH@{TCP}", control=f"REP@{TCP}")
    control = joined(bench, "REQ", proxy.at["control"])
    push = joined(bench, "PUSH", proxy.at["front"])
    pull = joined(bench, "PULL", proxy.at["back"])
    push.send([b"ab", b"c"])
    equal(pull.recv(), [b"ab", b"c"], "message")
    numbers = [struct.unpack("=Q", part)[0] for part in order(control, b"STATISTICS")]
    equal(numbers, [2, 3, 0, 0, 0, 0, 2, 3], "statistics")
    equal(order(control, b"what?"), [b""], "answer to nonsense")
    equal(order(control, b"PAUSE"), [b""], "answer")
    push.send([b"later"])
    equal(order(control, b"STATISTICS"), [struct.pack("=Q", n) for n in numbers],
          "statistics of a paused one")
    assert proxy.statistics()["paused"]
    equal(order(control, b"RESUME"), [b""], "answer")
    equal(pull.recv(), [b"later"], "message")
    equal(order(control, b"TERMINATE"), [b""], "answer")
    told = json.loads(proxy.end().splitlines()[-1])
    equal(told["front_received"], {"msgs": 2, "frames": 3, "bytes": 8}, "statistics")


def obeys_with_a_message_pending(bench):
    proxy = Proxy(bench, front=f"ROUTER@{TCP}", back=f"DEALER@{TCP}",
                  control=f"PAIR@{TCP}")
    control = joined(bench, "PAIR", proxy.at["control"])
    client = joined(bench, "REQ", proxy.at["front"])
    client.send([b"waits"])
    control.send([b"TERMINATE"])
    started = time.monotonic()
    told = json.loads(proxy.end().splitlines()[-1])
    assert time.monotonic() - started < DEADLINE / 2
    equal(told["front_received"]["msgs"], 0, "taken without a worker")


def signals_end_it(bench):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        path = bench.path()
        proxy = Proxy(bench, "--back", f"PUSH@ipc://{path}.back", "--endpoint-file", path,
                      front=f"PULL@{TCP}")
        appears(path)
        assert os.path.exists(path + ".back")
        proxy.process.send_signal(number)
        lines = proxy.end(-number).splitlines()
        equal(len(lines), 1, "lines of statistics")
        equal(json.loads(lines[0])["front_received"]["msgs"], 0, "messages")
        assert not os.path.exists(path), "the endpoint file is still there"
        assert not os.path.exists(path + ".back"), "the ipc file is still there"


def terminate_removes_files(bench):
    path = bench.path()
    proxy = Proxy(bench, "--back", f"PUSH@ipc://{path}.back", "--endpoint-file", path,
                  front=f"PULL@{TCP}", control=f"REP@{TCP}")
    control = joined(bench, "REQ", proxy.at["control"])
    control.send([b"TERMINATE"])
    proxy.end()
    assert not os.path.exists(path), "the endpoint file is still there"
    assert not os.path.exists(path + ".back"), "the ipc file is still there"


def leaves_a_foreign_endpoint_file(bench):
    path = bench.path()
    proxy = Proxy(bench, "--endpoint-file", path, front=f"PULL@{TCP}", back=f"PUSH@{TCP}")
    appears(path)
    with open(path + ".next", "w", encoding="ascii") as file:
        file.write("the next one's")
    os.rename(path + ".next", path)
    proxy.stop()
    with open(path, encoding="ascii") as file:
        equal(file.read(), "the next one's", "endpoint file")


def nohup(bench):
    with ignoring(signal.SIGHUP):
        proxy = Proxy(bench, front=f"PULL@{TCP}", back=f"PUSH@{TCP}")
    proxy.process.send_signal(signal.SIGHUP)
    equal(proxy.statistics()["front_received"]["msgs"], 0, "messages, as it goes on")
    proxy.stop()


if __name__ == "__main__":
    main([
        ("help", helps),
        *(mistake(args, hint) for args, hint in MISTAKES),
        ("binding what is bound is a failure, not a usage error", bind_twice),
        ("--endpoint-file holds every bound endpoint and its side",
         writes_the_endpoint_file),
        ("an --endpoint-file that cannot be written is a failure",
         endpoint_file_in_no_folder),
        ("--verbose tells the events of each side", tells_events),
        ("--verbose tells the address of who was refused, and why", tells_who_was_refused),
        ("--verbose tells topics so that no terminal obeys them", tells_topics),
        ("statistics tell what waits in a queue that is stuck, and whose it is",
         tells_what_is_stuck),
        ("statistics tell of a single request that no worker takes", tells_of_one_request),
        ("statistics tell what is queued for a connect that nobody answers",
         tells_what_is_queued),
        ("statistics tell the hundred fullest peers and count the others",
         tells_of_a_hundred_peers),
        ("REQ and REP pass ROUTER and DEALER", queue),
        ("a pipeline passes in order and is counted", pipeline),
        ("subscriptions and publications pass XSUB and XPUB", broker),
        ("a SUB and a PUB forward what --subscribe says", forwarder),
        ("a side has several endpoints, bound and connected", several_endpoints),
        ("--capture gets both ways", captures),
        ("--control obeys and answers as libzmq's steerable proxy", steers),
        ("TERMINATE is obeyed with a message pending", obeys_with_a_message_pending),
        ("SIGINT, SIGTERM and SIGHUP end it cleanly, then by themselves", signals_end_it),
        ("TERMINATE leaves no file behind", terminate_removes_files),
        ("the endpoint file of the next one stays", leaves_a_foreign_endpoint_file),
        ("under nohup it does not hear SIGHUP", nohup),
    ])
