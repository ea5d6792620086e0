# SPDX-License-Identifier: MIT
"""The program `sennit` as a shell script meets it: what it prints, where, and its
exit codes; `sennit cat` of every type against libzmq."""

import contextlib
import json
import os
import signal
import subprocess
import threading

from peer import DEADLINE
from raw import RawListener, Wire
from suite import appears, equal, main, until


class Cat:
    """A running `sennit cat`."""

    def __init__(self, bench, *args, stdout=subprocess.PIPE):
        # Not Popen's PIPE: communicate() would read it beside the thread.
        reading, writing = os.pipe()
        try:
            self.process = subprocess.Popen(
                [os.path.join(bench.bin, "sennit"), *args], text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=stdout, stderr=writing)
        finally:
            os.close(writing)
        self.said = b""  # on stderr, whole lines; it and `ended` under `more`
        self.ended = False
        self.more = threading.Condition()
        self.reader = threading.Thread(target=self.read, args=(reading,), daemon=True)
        self.reader.start()
        bench.processes.append(self)

    def read(self, descriptor):
        """The thread that reads its stderr, until it ends."""
        with open(descriptor, "rb") as lines:
            for line in lines:
                with self.more:
                    self.said += line
                    self.more.notify_all()
        with self.more:
            self.ended = True
            self.more.notify_all()

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def stderr(self):
        """All that it has said there, to the last octet once it has ended."""
        if self.process.poll() is not None:
            self.reader.join(DEADLINE)
            assert not self.reader.is_alive(), "it has ended, and its stderr has not"
        with self.more:
            return self.said.decode()

    def says(self, what, find):
        """Waits until find(what it has said on stderr) gives something true; that is
        given back. Fails as soon as it has ended without."""
        with self.more:
            self.more.wait_for(lambda: self.ended or find(self.said.decode()), DEADLINE)
            text = self.said.decode()
        found = find(text)
        assert found, f"never happened: {what}; it said {text!r}"
        return found

    def listening(self, *side):
        """The endpoint it says it listens on, on that side of a proxy."""
        words = ["listening", *side]

        def endpoint(text):
            lines = [line.split(" ") for line in text.splitlines()]
            return next((line[len(words)] for line in lines
                         if line[:len(words)] == words), None)
        return self.says(" ".join(words), endpoint)

    def end(self, code=0):
        """Its whole output, when it ends with `code`."""
        output, _ = self.process.communicate(timeout=DEADLINE)
        equal(self.process.returncode, code, f"exit code, having said {self.stderr()!r}")
        return output


TCP = "tcp://127.0.0.1:*"


@contextlib.contextmanager
def ignoring(number):
    """What is started meanwhile begins with that signal ignored, as by nohup."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


def nobody(bench):
    """An endpoint where nobody listens."""
    listener = bench.keep(RawListener())
    listener.close()
    return listener.endpoint


def run(bench, *args, code=0, stdin=""):
    cat = Cat(bench, *args)
    output, _ = cat.process.communicate(stdin, timeout=DEADLINE)
    equal(cat.process.returncode, code, f"exit code, having said {cat.stderr()!r}")
    return output, cat.stderr()


# ---- Usage -------------------------------------------------------------------------


def helps(bench):
    version, _ = run(bench, "--version")
    assert version.startswith("sennit ") and version.count(".") == 2, version
    overview, _ = run(bench, "--help")
    assert "  cat " in overview, overview
    equal(run(bench, "-h")[0], overview, "-h")
    page, _ = run(bench, "cat", "--help")
    equal(run(bench, "help", "cat")[0], page, "help cat")
    equal(run(bench, "cat", "sub", "-h")[0], page, "cat sub -h")
    equal(run(bench, "call", "-h"), run(bench, "help", "call"), "call -h")
    for option in ("--bind", "--send-json", "--endpoint-file", "recv_message_max_parts",
                   "XPUB", "XSUB", "STREAM", "SIGHUP"):
        assert option in page, f"{option} is not in the help"


MISTAKES = (
    ((), "COMMAND"),
    (("cta",), "did you mean 'sennit cat'?"),
    (("help", "cta"), "did you mean 'sennit cat'?"),
    (("cat",), "TYPE"),
    (("cat", "sbu", "--bind", TCP), "did you mean SUB?"),
    (("cat", "banana", "--bind", TCP), "PAIR PUB SUB"),
    (("cat", "dish", "--bind", TCP), "not built yet"),
    (("cat", "sub"), "--connect ENDPOINT"),
    (("cat", "sub", "--conect", "x"), "did you mean --connect?"),
    (("cat", "sub", "--connect"), "needs a value"),
    (("cat", "sub", "-b", TCP), "unknown option -b"),
    (("cat", "sub", "--se", "x", "--bind", TCP), "unclear option --se"),
    (("cat", "sub", "--connect", TCP, "--send", "x"), "only receives"),
    (("cat", "pub", "--bind", TCP, "--recv", "--send", "x"), "only sends"),
    (("cat", "pub", "--bind", TCP), "--send TEXT"),
    (("cat", "req", "--bind", TCP), "--send TEXT"),
    (("cat", "rep", "--bind", TCP), "--echo"),
    (("cat", "pull", "--bind", TCP, "--echo"), "PAIR, REP, DEALER and ROUTER can"),
    (("cat", "pull", "--bind", TCP, "--subscribe", "x"), "only SUB"),
    (("cat", "pull", "--bind", TCP, "--count", "0"), "from 1 on"),
    (("cat", "pull", "--bind", TCP, "--count", "-1"), "from 1 on"),
    (("cat", "pull", "--bind", TCP, "--timeout", "1s"), "milliseconds"),
    (("cat", "pull", "--bind", TCP, "--format", "xml"), "text, hex, json"),
    (("cat", "pull", "--bind", TCP, "--backend", "kqueue"), "auto, epoll, uring"),
    (("cat", "pull", "--bind", TCP, "--option", "linger=1"), "did you mean linger_ms"),
    (("cat", "pull", "--bind", TCP, "--option", "zzz=1"), "sennit_sock_opts"),
    (("cat", "pull", "--bind", TCP, "--option", "backlog=many"), "write a number"),
    (("cat", "pull", "--bind", TCP, "--option", "backlog"), "write backlog=VALUE"),
    (("cat", "pull", "--bind", TCP, "--option", "router_mandatory=2"), "true or false"),
    (("cat", "pull", "--bind", TCP, "--option", "slow_subscriber=x"), "drop_new, drop_old"),
    (("cat", "pull", "--bind", TCP, "--option", "reconnect_max_ms=5"), "reconnect_max_ms"),
    (("cat", "pull", "--bind", TCP, "--id", ""), "1 to 255 bytes"),
    (("cat", "pull", "--bind", TCP, "--id", "x" * 256), "1 to 255 bytes"),
    (("cat", "pull", "--bind", "tcp//x"), "write tcp://"),
    (("cat", "pull", "--bind", "inproc://x"), "--bind inproc://x: leads nowhere"),
    (("cat", "pull", "--connect", "inproc://x"), "--connect inproc://x: leads nowhere"),
    (("cat", "pull", "--bind", TCP, "stray"), "unexpected argument 'stray'"),
    (("cat", "push", "--bind", TCP, "--send-json", "hello"), "not JSON"),
    (("cat", "push", "--bind", TCP, "--send-json", "[]"), "at least one part"),
    (("cat", "push", "--bind", TCP, "--send-json", '["a",1]'), "part 2"),
    (("cat", "push", "--bind", TCP, "--send-json", '[{"hex":"0"}]'), "part 1"),
    (("cat", "push", "--bind", TCP, "--stdin", "--stdin"), "given twice"),
)


def mistake(args, hint):
    def check(bench):
        output, errors = run(bench, *args, code=2)
        equal(output, "", "stdout")
        assert hint in errors, f"'{hint}' is not in '{errors}'"
    return f"usage: {' '.join(['sennit', *args])[:70]}", check


# ---- Receiving -----------------------------------------------------------------------

def prints_format(bench):
    for form, body, line in (
            ("text", [b"one", b"two", b""], "one\ttwo\t\n"),
            ("hex", [b"\x00\xff", b"two", b""], '00ff 74776f ""\n'),
            ("json", [b"\x00\xff", "t\u00e4\"\n\0".encode(), b""], None)):
        cat = Cat(bench, "cat", "pull", "--bind", TCP, "--count", "1", "--format", form)
        push = bench.theirs("PUSH")
        push.connect(cat.listening())
        push.send(body)
        output = cat.end()
        if line is not None:
            equal(output, line, form)
        else:
            equal(output.count("\n"), 1, "lines")
            equal(json.loads(output), [{"hex": "00ff"}, "t\u00e4\"\n\0", ""], form)


def prints_at_once(bench):
    cat = Cat(bench, "cat", "pull", "--bind", TCP)
    push = bench.theirs("PUSH")
    push.connect(cat.listening())
    for word in ("first", "second"):
        push.send([word.encode()])
        equal(cat.process.stdout.readline(), word + "\n", "line while it runs")


def subscribes(bench):
    pub = bench.theirs("XPUB")
    endpoint = pub.bind(TCP)
    cat = Cat(bench, "cat", "sub", "--connect", endpoint, "--subscribe", "a", "--subscribe",
              "b", "--count", "2")
    equal(sorted(pub.recv() + pub.recv()), [b"\x01a", b"\x01b"], "subscriptions")
    for topic in (b"c", b"ax", b"bx"):
        pub.send([topic])
    equal(cat.end(), "ax\nbx\n", "output")
    everything = Cat(bench, "cat", "sub", "--connect", endpoint, "--count", "1")
    equal([pub.recv() for _ in range(3)][-1], [b"\x01"], "without --subscribe")
    pub.send([b"anything"])
    equal(everything.end(), "anything\n", "output")


def times_out(bench):
    for args, hint in (
            (("pull", "--bind", TCP), "waiting for message 1 (0 peers"),
            (("push", "--bind", TCP, "--send", "x"), "found no peer"),
            (("pub", "--bind", TCP, "--send", "x"), "found no peer"),
            (("router", "--bind", TCP, "--send-json", '["who","x"]'), "found no peer"),
            (("rep", "--bind", TCP, "--echo"), "waiting for message 1")):
        output, errors = run(bench, "cat", *args, "--timeout", "50", code=1)
        equal(output, "", "stdout")
        assert "timed out after 50 ms" in errors and hint in errors, errors


def says_what_it_waits_for(bench):
    rep = bench.theirs("REP")
    endpoint = rep.bind(TCP)
    cat = Cat(bench, "cat", "req", "--connect", endpoint, "--send", "a", "--send", "b",
              "--timeout", "300")
    equal(rep.recv(), [b"a"], "first request")
    rep.send([b"A"])
    equal(rep.recv(), [b"b"], "second request")
    equal(cat.end(1), "A\n", "output")
    assert "waiting for reply 2 (1 peers" in cat.stderr(), cat.stderr()
    assert "failure" not in cat.stderr(), cat.stderr()


def says_why_nobody_is_there(bench):
    pub = bench.theirs("PUB")
    for endpoint, hints in (
            (nobody(bench), ("CONNECT_FAILED", "error=ECONNREFUSED", "address=127.0.0.1:")),
            (pub.bind(TCP), ("HANDSHAKE_FAILED", "error=E", "reason=", "address=127.0.0.1:")),
            ("tcp://no..name:1", ("CONNECT_FAILED", "error=E", "reason="))):
        _, errors = run(bench, "cat", "req", "--connect", endpoint, "--send", "x",
                        "--timeout", "500", code=1)
        assert "(0 peers connected)" in errors, errors
        for hint in (f"the last failure was {hints[0]} {endpoint} ", *hints[1:]):
            assert hint in errors, f"'{hint}' is not in '{errors}'"
        assert "event " not in errors, errors


def forgets_what_was_mended(bench):
    endpoint = nobody(bench)
    cat = Cat(bench, "cat", "req", "--connect", endpoint, "--send", "x", "--verbose",
              "--timeout", "2000")
    cat.says("it is refused", lambda text: "event CONNECT_FAILED" in text)
    rep = bench.theirs("REP")
    until("the address is free", lambda: rep.try_bind(endpoint))
    equal(rep.recv(), [b"x"], "request")
    cat.end(1)
    assert "waiting for reply 1 (1 peers" in cat.stderr(), cat.stderr()
    assert "failure" not in cat.stderr(), cat.stderr()


def says_that_the_server_is_gone(bench):
    rep = bench.theirs("REP")
    cat = Cat(bench, "cat", "req", "--connect", rep.bind(TCP), "--send", "a")
    equal(rep.recv(), [b"a"], "request")
    rep.close()
    bench.opened.remove(rep)
    cat.end(1)
    assert "connection closed by peer" in cat.stderr(), cat.stderr()


# ---- Sending -------------------------------------------------------------------------


def sends_in_order(bench):
    pull = bench.theirs("PULL")
    endpoint = pull.bind(TCP)
    run(bench, "cat", "push", "--connect", endpoint, "--send", "1", "--stdin", "--send-json",
        '["4",{"hex":"00Ff"},""]', stdin="2\n\n3")
    equal([pull.recv() for _ in range(5)],
          [[b"1"], [b"2"], [b""], [b"3"], [b"4", b"\x00\xff", b""]], "messages")


def repeats_to_the_count(bench):
    pull = bench.theirs("PULL")
    endpoint = pull.bind(TCP)
    run(bench, "cat", "push", "--connect", endpoint, "--send", "a", "--send", "b", "--count",
        "5")
    equal([pull.recv()[0] for _ in range(5)], [b"a", b"b", b"a", b"b", b"a"], "messages")
    run(bench, "cat", "push", "--connect", endpoint, "--send", "a", "--send", "b", "--count",
        "1")
    equal((pull.recv(), pull.try_recv(0.05)), ([b"a"], None), "messages")


def says_when_stdin_is_short(bench):
    pull = bench.theirs("PULL")
    _, errors = run(bench, "cat", "push", "--connect", pull.bind(TCP), "--stdin", "--count",
                    "3", stdin="one\ntwo\n", code=1)
    assert "ended after 2 of 3" in errors, errors


def sends_before_it_exits(bench):
    pull = bench.theirs("PULL")
    run(bench, "cat", "push", "--connect", pull.bind(TCP), "--send", "x" * 100_000,
        "--count", "200")
    for _ in range(200):
        equal(pull.recv(), [b"x" * 100_000], "message")


def waits_for_a_late_peer(bench):
    cat = Cat(bench, "cat", "push", "--bind", TCP, "--send", "patience")
    endpoint = cat.listening()
    pull = bench.theirs("PULL")
    pull.connect(endpoint)
    equal(pull.recv(), [b"patience"], "message")
    cat.end()


def pub_waits_for_its_subscriber(bench):
    cat = Cat(bench, "cat", "pub", "--bind", TCP, "--send", "news", "--send", "noise",
              "--send", "news")
    sub = bench.theirs("SUB")
    sub.connect(cat.listening())
    sub.subscribe(b"news")
    equal([sub.recv(), sub.recv()], [[b"news"], [b"news"]], "messages")
    cat.end()
    assert "nobody had subscribed to 1 of 3" in cat.stderr(), cat.stderr()


def pub_does_not_wait_for_ever(bench):
    cat = Cat(bench, "cat", "pub", "--bind", TCP, "--send", "noise", "--timeout", "4000")
    sub = bench.theirs("SUB")
    sub.connect(cat.listening())
    sub.subscribe(b"news")
    cat.end()
    assert "nobody had subscribed to 1 of 1" in cat.stderr(), cat.stderr()


def router_waits_for_its_peer(bench):
    cat = Cat(bench, "cat", "router", "--bind", TCP, "--send-json", '["me","hi"]', "--recv",
              "--count", "1", "--format", "json")
    dealer = bench.theirs("DEALER", identity=b"me")
    dealer.connect(cat.listening())
    equal(dealer.recv(), [b"hi"], "message")
    dealer.send([b"back"])
    equal(cat.end(), '["me","back"]\n', "output")


def id_is_told(bench):
    router = bench.theirs("ROUTER")
    cat = Cat(bench, "cat", "dealer", "--connect", router.bind(TCP), "--id", "cat 9",
              "--send", "hello")
    equal(router.recv(), [b"cat 9", b"hello"], "message with its sender")
    cat.end()


def subscriptions_by_hand(bench):
    cat = Cat(bench, "cat", "xpub", "--bind", TCP, "--format", "hex", "--count", "2")
    sub = bench.theirs("SUB")
    sub.connect(cat.listening())
    sub.subscribe(b"a")
    sub.unsubscribe(b"a")
    equal(cat.end(), "0161\n0061\n", "what an XPUB receives")
    pub = bench.theirs("XPUB")
    cat = Cat(bench, "cat", "xsub", "--connect", pub.bind(TCP), "--send-json",
              '["\\u0001a"]', "--recv", "--count", "1")
    equal(pub.recv(), [b"\x01a"], "what an XSUB sends")
    pub.send([b"abc"])
    equal(cat.end(), "abc\n", "output")


def plain_tcp(bench):
    cat = Cat(bench, "cat", "stream", "--bind", TCP, "--format", "json", "--count", "3")
    wire = bench.keep(Wire.connect(cat.listening()))
    wire.say(b"GET /\r\n")
    wire.close()
    first, *others = [json.loads(line) for line in cat.end().splitlines()]
    equal(first[1], "", "its coming")
    equal(others, [[first[0], "GET /\r\n"], [first[0], ""]], "what it said, its going")


# ---- Both ----------------------------------------------------------------------------


def req_and_rep(bench):
    cat = Cat(bench, "cat", "rep", "--bind", TCP, "--send", "yes", "--send", "no", "--count",
              "3")
    req = bench.theirs("REQ")
    req.connect(cat.listening())
    for question, reply in ((b"1", b"yes"), (b"2", b"no"), (b"3", b"yes")):
        req.send([question])
        equal(req.recv(), [reply], "reply")
    equal(cat.end(), "1\n2\n3\n", "output of rep")


def req_reads_stdin(bench):
    rep = bench.theirs("REP")
    cat = Cat(bench, "cat", "req", "--connect", rep.bind(TCP), "--stdin")
    for word in ("one", "two"):
        cat.process.stdin.write(word + "\n")
        equal(rep.recv(), [word.encode()], "request")
        rep.send([word.upper().encode()])
        equal(cat.process.stdout.readline(), word.upper() + "\n", "reply, at once")
    equal(cat.end(), "", "output after the end of stdin")


def echoes(kind, their_kind, sent, got_back, printed):
    def check(bench):
        cat = Cat(bench, "cat", kind, "--bind", TCP, "--echo", "--count", "2", "--format",
                  "json")
        theirs = bench.theirs(their_kind, identity=b"me")
        theirs.connect(cat.listening())
        for _ in range(2):
            theirs.send(sent)
            equal(theirs.recv(), got_back, "echo")
        equal(cat.end(), printed * 2, "output")
    return f"cat {kind} --echo answers libzmq's {their_kind}", check


def chats(bench):
    cat = Cat(bench, "cat", "pair", "--bind", TCP, "--stdin", "--recv")
    pair = bench.theirs("PAIR")
    pair.connect(cat.listening())
    pair.send([b"hello"])
    equal(cat.process.stdout.readline(), "hello\n", "received while stdin is open")
    cat.process.stdin.write("hi\n")
    equal(pair.recv(), [b"hi"], "line of stdin")


def echo_of_more_than_the_queues_hold(bench):
    """Sending must not starve receiving, or both sides wait for each other."""
    path, count = bench.path(), 5000
    server = Cat(bench, "cat", "router", "--bind", "ipc://" + path, "--echo", "--count",
                 str(count + 1), "--endpoint-file", path + ".ready",
                 stdout=subprocess.DEVNULL)
    appears(path + ".ready")
    with open(path + ".out", "w+", encoding="ascii") as output:
        client = Cat(bench, "cat", "dealer", "--connect", "ipc://" + path, "--send", "x",
                     "--stdin", "--recv", "--count", str(count + 1), stdout=output)
        lines = ("y" * 1000 + "\n") * count
        client.process.communicate(lines, timeout=30)
        client.end()
        server.end()
        output.seek(0)
        equal(output.read(), "x\n" + lines, "echoes")


# ---- Around it -----------------------------------------------------------------------


def writes_the_endpoint_file(bench):
    path = bench.path()
    cat = Cat(bench, "cat", "pull", "--bind", TCP, "--bind", f"ipc://{path}.sock",
              "--endpoint-file", path, "--count", "2")
    appears(path)
    with open(path, encoding="ascii") as file:
        endpoints = file.read().splitlines()
    equal(endpoints, [cat.listening(), f"ipc://{path}.sock"], "endpoints")
    push = bench.theirs("PUSH")
    for endpoint in endpoints:
        push.connect(endpoint)
    push.send([b"a"])
    push.send([b"b"])
    equal(sorted(cat.end().split()), ["a", "b"], "output")
    assert not os.path.exists(path), "the file is still there"


def signals_end_it(bench):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        path = bench.path()
        cat = Cat(bench, "cat", "pull", "--bind", f"ipc://{path}.sock", "--endpoint-file",
                  path)
        appears(path)
        assert os.path.exists(path + ".sock")
        cat.process.send_signal(number)
        cat.end(-number)
        assert not os.path.exists(path), "the endpoint file is still there"
        assert not os.path.exists(path + ".sock"), "the ipc file is still there"


def nohup(bench):
    with ignoring(signal.SIGHUP):
        cat = Cat(bench, "cat", "pull", "--bind", TCP, "--count", "1")
    push = bench.theirs("PUSH")
    push.connect(cat.listening())
    cat.process.send_signal(signal.SIGHUP)
    push.send([b"still here"])
    equal(cat.end(), "still here\n", "output")


def tells_events(bench):
    cat = Cat(bench, "cat", "router", "--bind", TCP, "--verbose", "--count", "1")
    dealer = bench.theirs("DEALER", identity=b"me")
    dealer.connect(cat.listening())
    dealer.send([b"x"])
    cat.end()
    for event in ("event LISTENING tcp://", "event ACCEPTED ", "event READY "):
        assert event in cat.stderr(), cat.stderr()
    assert "identity=6d65" in cat.stderr(), cat.stderr()


def bind_twice(bench):
    cat = Cat(bench, "cat", "pull", "--bind", TCP)
    _, errors = run(bench, "cat", "pull", "--bind", cat.listening(), code=1)
    assert "already in use" in errors, errors


def option_takes_effect(bench):
    cat = Cat(bench, "cat", "pull", "--bind", TCP, "--option", "recv_frame_max_bytes=100",
              "--verbose", "--timeout", "2000")
    push = bench.theirs("PUSH")
    push.connect(cat.listening())
    push.send([b"x" * 101])
    cat.says("the connection is refused", lambda text: "event DISCONNECTED" in text)


if __name__ == "__main__":
    main([
        ("help and version", helps),
        *(mistake(args, hint) for args, hint in MISTAKES),
        ("each format prints what it promises", prints_format),
        ("each message is printed at once", prints_at_once),
        ("cat sub subscribes to what it is told, else to everything", subscribes),
        ("--timeout ends any wait with 1 and says what was awaited", times_out),
        ("--timeout says which reply was awaited", says_what_it_waits_for),
        ("--timeout says why there is no peer", says_why_nobody_is_there),
        ("--timeout says nothing of what has been mended", forgets_what_was_mended),
        ("cat req does not wait for a server that is gone", says_that_the_server_is_gone),
        ("--send, --stdin and --send-json are sent in order", sends_in_order),
        ("--count repeats the given messages, or cuts them short", repeats_to_the_count),
        ("a standard input shorter than --count is a failure", says_when_stdin_is_short),
        ("20 MB have left before it exits", sends_before_it_exits),
        ("a message waits for a peer that comes late", waits_for_a_late_peer),
        ("cat pub waits for the first subscriber", pub_waits_for_its_subscriber),
        ("cat pub gives up when the subscriber wants something else",
         pub_does_not_wait_for_ever),
        ("cat router waits for the peer it names", router_waits_for_its_peer),
        ("--id is what a ROUTER sees", id_is_told),
        ("cat xpub and cat xsub show and make subscriptions", subscriptions_by_hand),
        ("cat stream is plain TCP", plain_tcp),
        ("cat rep --send answers in turn", req_and_rep),
        ("cat req --stdin asks line by line", req_reads_stdin),
        echoes("rep", "REQ", [b"a", b"b"], [b"a", b"b"], '["a","b"]\n'),
        echoes("router", "DEALER", [b"a"], [b"a"], '["me","a"]\n'),
        echoes("router", "REQ", [b"a"], [b"a"], '["me","","a"]\n'),
        echoes("dealer", "DEALER", [b"a", b""], [b"a", b""], '["a",""]\n'),
        echoes("pair", "PAIR", [b"a"], [b"a"], '["a"]\n'),
        ("cat pair --stdin --recv is a chat", chats),
        ("5001 echoes pass queues of 1000", echo_of_more_than_the_queues_hold),
        ("--endpoint-file holds every bound endpoint", writes_the_endpoint_file),
        ("SIGINT, SIGTERM and SIGHUP end it cleanly, then by themselves", signals_end_it),
        ("under nohup it does not hear SIGHUP", nohup),
        ("--verbose tells the socket's events", tells_events),
        ("binding what is bound is a failure, not a usage error", bind_twice),
        ("--option takes effect", option_takes_effect),
    ])
