# SPDX-License-Identifier: MIT
"""Peers that are killed, restarted, late or many."""

from pairs import directions, notice
from peer import Refused
from raw import RawListener
from suite import equal, main, until


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
    push, process = bench.ours("PUSH"), bench.their_process()
    first = bench.theirs("PULL", process)
    endpoint = bench.join("tcp", first, push)
    push.send([b"before"])
    equal(first.recv(), [b"before"], "message before the kill")
    process.kill()
    push.event("DISCONNECTED")
    push.send([b"meanwhile"])
    second = bench.theirs("PULL")
    second.bind(endpoint)
    push.send([b"after"])
    equal([second.recv(), second.recv()], [[b"meanwhile"], [b"after"]], "messages after it")


# ---- SIGKILL of either side, of whatever type ---------------------------------------


def subscribed_again(pub, sub, survivor, is_told):
    """As pairs.subscribed, when one of them is new."""
    if sub is not survivor:
        sub.subscribe(b"")
    if pub.kind == "XPUB" and is_told:
        equal(notice(pub, sub), [b"\x01"], "the new subscription at XPUB")
        return
    probe = until("the subscription reaches PUB",
                  lambda: (pub.send([b"probe"]), sub.try_recv(0.02))[1])
    equal(probe, [b"probe"], "first message after the kill")
    pub.send([b"done again"])
    while sub.recv() != [b"done again"]:
        pass


def killed(row, transport, we_die, dead_binds):
    """Both talk; one is SIGKILLed and another process takes its place; they talk on."""
    kind, their_kind, meet, talk = row
    body = [b"after", b"the kill"]

    def ours(bench, process):
        return bench.ours(kind, process, identity=b"ours")

    def theirs(bench, process):
        # Else it may know a dead one's identity for longer than the newcomer takes.
        handover = {"router_handover": 1} if their_kind in ("ROUTER", "REP") else {}
        return bench.theirs(their_kind, process, b"theirs", **handover)

    def run(bench):
        process = bench.our_process() if we_die else bench.their_process()
        a = ours(bench, process if we_die else None)
        b = theirs(bench, None if we_die else process)
        dead, survivor = (a, b) if we_die else (b, a)
        endpoint = bench.join(transport, *((dead, survivor) if dead_binds else
                                           (survivor, dead)))
        a.event("READY")
        if meet:
            meet(a, b)
        talk(a, b, [b"before"])
        process.kill()
        if not we_die:
            a.event("DISCONNECTED")
        # libzmq's XPUB keeps the subscriptions of an address it connects to for ever.
        is_told = survivor.kind != "XPUB" or not (we_die and dead_binds)
        if survivor.kind == "XPUB" and is_told:
            equal(survivor.recv(), [b"\x00"], "the end of the subscription")
        new = ours(bench, None) if we_die else theirs(bench, None)
        if dead_binds:
            until("the address is free", lambda: new.try_bind(endpoint))
        else:
            new.connect(endpoint)
        a, b = (new, b) if we_die else (a, new)
        a.event("READY")
        if "SUB" in (kind[-3:], their_kind[-3:]):
            pub, sub = (a, b) if kind[-3:] == "PUB" else (b, a)
            subscribed_again(pub, sub, survivor, is_told)
        elif meet:
            meet(a, b)
        talk(a, b, body)

    return (f"our {kind} and libzmq's {their_kind}, {'we' if we_die else 'they'} are killed "
            f"where {'it was bound' if dead_binds else 'it had connected'}, {transport}", run)


def kills():
    for row in directions():
        for we_die in (True, False):
            for dead_binds in (True, False):
                # A bound libzmq holds on to a dead peer until its application has heard
                # of it: a PAIR then ignores ours, and the others deal messages to it,
                # which are lost with it.
                if (row[1] in ("PAIR", "PUSH", "DEALER", "REQ") and we_die and
                        not dead_binds):
                    continue
                yield killed(row, "tcp", we_die, dead_binds)
        yield killed(row, "ipc", True, True)


def connects_before_bind(kind, their_kind, transport):
    def run(bench):
        endpoint = bench.endpoint("ipc")
        if transport == "tcp":
            listener = RawListener()
            endpoint = listener.endpoint
            listener.close()
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
    for i in range(300):
        equal(pull.recv(), [b"%d" % i, bytes(5000)], "message sent before close")


# ---- Many peers on one socket ----------------------------------------------------


def many_dealers(transport):
    def run(bench):
        router = bench.ours("ROUTER")
        endpoint = router.bind(bench.endpoint(transport))
        dealers = [bench.theirs("DEALER", identity=b"peer %d" % i) for i in range(100)]
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
    pushers = [bench.theirs("PUSH") for _ in range(100)]
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
    reqs = [bench.theirs("REQ") for _ in range(100)]
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


if __name__ == "__main__":
    main([
        *kills(),
        ("our REQ learns that the server it waits for is gone, and may ask again",
         req_learns_of_the_loss),
        ("our PUSH keeps what it is given while its PULL is down", push_to_killed_pull),
        *((f"our {kind} may connect before libzmq's {their_kind} binds, {transport}",
           connects_before_bind(kind, their_kind, transport))
          for kind, their_kind in (("PUSH", "PULL"), ("DEALER", "ROUTER"), ("REQ", "REP"))
          for transport in ("tcp", "ipc")),
        ("disconnect lets the last message leave", disconnect_ends_it),
        ("unbind ends the connections, and the port can be bound again", unbind_ends_it),
        ("close lets 300 queued messages leave", close_lets_the_queue_leave),
        ("100 libzmq DEALERs on our ROUTER each get their own replies, tcp",
         many_dealers("tcp")),
        ("100 libzmq DEALERs on our ROUTER each get their own replies, ipc",
         many_dealers("ipc")),
        ("100 libzmq PUSHes on our PULL: all arrive once, in order", many_pushers),
        ("our PUSH deals to 8 PULLs in turn", round_robin("PUSH", "PULL")),
        ("our DEALER deals to 8 DEALERs in turn", round_robin("DEALER", "DEALER")),
        ("our REQ takes 4 REPs in turn", many_servers),
        ("our REP answers 100 REQs, each its own", rep_serves_many),
        ("the peer's identity is in its events", identity_is_told),
    ])
