# SPDX-License-Identifier: MIT
"""Peers that are killed, restarted, late or many."""

import os
import select
import subprocess
import time

from peer import DEADLINE, Refused
from suite import equal, main, until


class Server:
    """A libzmq server in a process of its own, to be killed."""

    def __init__(self, bench, kind, endpoint):
        argv, environment = bench.their_server(kind, endpoint)
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, bufsize=0,
                                        env={**os.environ, **environment})
        self.endpoint = self.line()

    def line(self):
        deadline = time.monotonic() + DEADLINE
        line = b""
        while not line.endswith(b"\n"):
            left = max(0, deadline - time.monotonic())
            assert select.select([self.process.stdout], [], [], left)[0], "no line in time"
            byte = os.read(self.process.stdout.fileno(), 1)
            assert byte, "the libzmq server ended"
            line += byte
        return line.decode().rstrip("\n")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def ask(req, text):
    req.send([text])
    equal(req.recv(), [text], "reply")


def they_are_killed(kind, transport, talk):
    """Our `kind` talks to a libzmq server that is SIGKILLed and started again."""
    def run(bench):
        ours = bench.ours(kind)
        server = Server(bench, "REP" if kind == "REQ" else kind, bench.endpoint(transport))
        try:
            ours.connect(server.endpoint)
            talk(ours, b"before")
            server.kill()
            ours.event("DISCONNECTED")
            server = Server(bench, "REP" if kind == "REQ" else kind, server.endpoint)
            ours.event("READY")
            talk(ours, b"after")
            assert ours.stats()["reconnects"] >= 1, "no reconnect is counted"
        finally:
            server.kill()
    return run


def req_learns_of_the_loss(bench):
    req, rep = bench.ours("REQ"), bench.theirs("REP")
    endpoint = bench.join("tcp", rep, req)
    req.send([b"question"])
    equal(rep.recv(), [b"question"], "request")
    rep.close()
    try:
        raise AssertionError(f"a reply from nowhere: {req.recv()}")
    except Refused as refused:
        equal(refused.args[0], "ECONNRESET", "what recv says")
    second = bench.theirs("REP")
    until("the port is free again", lambda: second.try_bind(endpoint))
    req.send([b"again"])
    equal(second.recv(), [b"again"], "next request")
    second.send([b"reply"])
    equal(req.recv(), [b"reply"], "reply")


def push_to_killed_pull(bench):
    push = bench.ours("PUSH")
    server = Server(bench, "PULL", bench.endpoint("tcp"))
    try:
        push.connect(server.endpoint)
        push.send([b"before"])
        equal(server.line(), "before", "message before the kill")
        server.kill()
        push.event("DISCONNECTED")
        push.send([b"meanwhile"])
        server = Server(bench, "PULL", server.endpoint)
        push.send([b"after"])
        equal([server.line(), server.line()], ["meanwhile", "after"], "messages after it")
    finally:
        server.kill()


def router_is_killed(transport):
    """libzmq's DEALER talks to our ROUTER, whose process is SIGKILLed and replaced."""
    def run(bench):
        dealer = bench.theirs("DEALER", identity=b"d")
        process = bench.other_process()
        first = bench.ours("ROUTER", process)
        endpoint = bench.join(transport, first, dealer)
        dealer.send([b"before"])
        equal(first.recv(), [b"d", b"before"], "message before the kill")
        process.kill()
        second = bench.ours("ROUTER", router_mandatory=True)
        second.bind(endpoint)
        second.event("READY")
        second.send([b"d", b"welcome back"])
        equal(dealer.recv(), [b"welcome back"], "message after the restart")
        dealer.send([b"after"])
        equal(second.recv(), [b"d", b"after"], "message back")
    return run


def connects_before_bind(kind, their_kind, transport):
    def run(bench):
        probe = bench.theirs(their_kind)
        endpoint = probe.bind(bench.endpoint(transport))
        probe.close()
        ours, theirs = bench.ours(kind), bench.theirs(their_kind)
        ours.connect(endpoint)
        ours.send([b"queued", b"early"])
        ours.event("RETRYING")
        theirs.bind(endpoint)
        equal(theirs.recv()[-2:], [b"queued", b"early"], "message sent before the bind")
    return run


def disconnect_ends_it(bench):
    dealer, router = bench.ours("DEALER"), bench.theirs("ROUTER")
    endpoint = bench.join("tcp", router, dealer)
    dealer.send([b"last words"])
    dealer.disconnect(endpoint)
    equal(router.recv()[1:], [b"last words"], "message queued before disconnect")
    until("the connection is gone", lambda: dealer.stats()["connections"] == 0
          or router.try_recv(0.01))


def unbind_ends_it(bench):
    router, dealer = bench.ours("ROUTER"), bench.theirs("DEALER")
    endpoint = bench.join("tcp", router, dealer)
    router.event("READY")
    router.unbind(endpoint)
    router.event("UNBOUND")
    until("the connection is gone", lambda: router.stats()["connections"] == 0
          or dealer.try_recv(0.01))
    equal(router.bind(endpoint), endpoint, "the same port again")
    dealer.send([b"again"])
    equal(router.recv()[1:], [b"again"], "message after binding again")


def close_lets_the_queue_leave(bench):
    push, pull = bench.ours("PUSH"), bench.theirs("PULL")
    bench.join("tcp", pull, push)
    for i in range(300):
        push.send([b"%d" % i, bytes(5000)])
    push.close()
    bench.opened.remove(push)
    for i in range(300):
        equal(pull.recv(), [b"%d" % i, bytes(5000)], "message sent before close")


# ---- Many peers on one socket ----------------------------------------------------


def many_dealers(transport):
    def run(bench):
        router = bench.ours("ROUTER")
        endpoint = router.bind(bench.endpoint(transport))
        dealers = [bench.theirs("DEALER", identity=b"peer %d" % i) for i in range(64)]
        for dealer in dealers:
            dealer.connect(endpoint)
            for n in range(3):
                dealer.send([b"%d" % n])
        seen = {}
        for _ in range(3 * len(dealers)):
            identity, n = router.recv()
            seen.setdefault(identity, []).append(n)
            router.send([identity, b"re", n])
        equal(sorted(seen), sorted(dealer.identity for dealer in dealers), "peers")
        assert all(got == [b"0", b"1", b"2"] for got in seen.values()), "order per peer"
        for dealer in dealers:
            for n in range(3):
                equal(dealer.recv(), [b"re", b"%d" % n], f"reply to {dealer.identity}")
        equal(router.stats()["connections"], len(dealers), "connections")
    return run


def many_pushers(bench):
    pull = bench.ours("PULL")
    endpoint = pull.bind(bench.endpoint("tcp"))
    pushers = [bench.theirs("PUSH") for _ in range(32)]
    for i, push in enumerate(pushers):
        push.connect(endpoint)
        for n in range(10):
            push.send([b"%d" % i, b"%d" % n])
    seen = {}
    for _ in range(10 * len(pushers)):
        i, n = pull.recv()
        seen.setdefault(int(i), []).append(int(n))
    equal(seen, {i: list(range(10)) for i in range(len(pushers))}, "each in order, all once")


def round_robin(kind, their_kind):
    def run(bench):
        ours = bench.ours(kind)
        endpoint = ours.bind(bench.endpoint("tcp"))
        peers = [bench.theirs(their_kind) for _ in range(8)]
        for peer in peers:
            peer.connect(endpoint)
        for _ in peers:
            ours.event("READY")
        for n in range(80):
            ours.send([b"%d" % n])
        for peer in peers:
            got = [int(peer.recv()[-1]) for _ in range(10)]
            equal([n - got[0] for n in got], list(range(0, 80, 8)), "every eighth message")
    return run


def many_servers(bench):
    """One REQ over several REPs takes them in turn."""
    req = bench.ours("REQ")
    reps = [bench.theirs("REP") for _ in range(4)]
    for rep in reps:
        req.connect(rep.bind(bench.endpoint("tcp")))
        req.event("READY")
    order = []
    for n in range(12):
        req.send([b"%d" % n])
        rep, got = until("a REP is asked", lambda: next(
            ((rep, got) for rep in reps if (got := rep.try_recv(0.001))), None))
        order.append(reps.index(rep))
        equal(got, [b"%d" % n], "request")
        rep.send([b"re %d" % n])
        equal(req.recv(), [b"re %d" % n], "reply")
    equal((sorted(order[:4]), order), ([0, 1, 2, 3], order[:4] * 3), "the REPs asked")


def rep_serves_many(bench):
    rep = bench.ours("REP")
    endpoint = rep.bind(bench.endpoint("tcp"))
    reqs = [bench.theirs("REQ") for _ in range(32)]
    for i, req in enumerate(reqs):
        req.connect(endpoint)
        req.send([b"%d" % i])
    for _ in reqs:
        rep.send([b"re", *rep.recv()])
    for i, req in enumerate(reqs):
        equal(req.recv(), [b"re", b"%d" % i], f"reply to client {i}")


def identity_is_told(bench):
    router, dealer = bench.ours("ROUTER"), bench.theirs("DEALER", identity=b"who")
    bench.join("ipc", router, dealer)
    equal(router.event("READY")[2], b"who", "identity in the READY event")
    dealer.close()
    equal(router.event("DISCONNECTED")[2], b"who", "identity in the DISCONNECTED event")
    bench.opened.remove(dealer)


if __name__ == "__main__":
    main([
        *((f"our {kind} goes on with a libzmq server that was killed and restarted, "
           f"{transport}", they_are_killed(kind, transport, talk))
          for kind, talk in (("REQ", ask), ("DEALER", ask), ("PAIR", ask))
          for transport in ("tcp", "ipc")),
        ("our REQ learns that the server it waits for is gone, and may ask again",
         req_learns_of_the_loss),
        ("our PUSH keeps what it is given while its PULL is down", push_to_killed_pull),
        *((f"libzmq's DEALER goes on with our ROUTER that was killed and restarted, "
           f"{transport}", router_is_killed(transport)) for transport in ("tcp", "ipc")),
        *((f"our {kind} may connect before libzmq's {their_kind} binds, {transport}",
           connects_before_bind(kind, their_kind, transport))
          for kind, their_kind in (("PUSH", "PULL"), ("DEALER", "ROUTER"), ("REQ", "REP"))
          for transport in ("tcp", "ipc")),
        ("disconnect lets the last message leave", disconnect_ends_it),
        ("unbind ends the connections, and the port can be bound again", unbind_ends_it),
        ("close lets 300 queued messages leave", close_lets_the_queue_leave),
        ("64 libzmq DEALERs on our ROUTER each get their own replies, tcp",
         many_dealers("tcp")),
        ("64 libzmq DEALERs on our ROUTER each get their own replies, ipc",
         many_dealers("ipc")),
        ("32 libzmq PUSHes on our PULL: all arrive once, in order", many_pushers),
        ("our PUSH deals to 8 PULLs in turn", round_robin("PUSH", "PULL")),
        ("our DEALER deals to 8 DEALERs in turn", round_robin("DEALER", "DEALER")),
        ("our REQ takes 4 REPs in turn", many_servers),
        ("our REP answers 32 REQs, each its own", rep_serves_many),
        ("the peer's identity is in its events", identity_is_told),
    ])
