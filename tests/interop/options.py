# SPDX-License-Identifier: MIT
"""Options that show on the wire: libzmq's to us, and ours to libzmq."""

import sys

from raw import RawListener
from suite import equal, main, until


def ask_twice(req, rep):
    """Relaxed: a second request may follow before the reply to the first, which is then
    dropped by its number."""
    req.send([b"forgotten"])
    equal(rep.recv(), [b"forgotten"], "request")
    req.send([b"meant"])
    rep.send([b"late"])
    equal(rep.recv(), [b"meant"], "request")
    rep.send([b"in time"])
    equal(req.recv(), [b"in time"], "reply")


def correlated_requests(bench):
    rep = bench.ours("REP")
    req = bench.theirs("REQ", req_correlate=1, req_relaxed=1)
    bench.join("tcp", rep, req)
    for n in range(3):
        req.send([b"%d" % n])
        equal(rep.recv(), [b"%d" % n], "request")
        rep.send([b"re %d" % n])
        equal(req.recv(), [b"re %d" % n], "reply")
    ask_twice(req, rep)


def probes_router(bench):
    router = bench.ours("ROUTER")
    dealer = bench.theirs("DEALER", identity=b"p", probe_router=1)
    bench.join("tcp", router, dealer)
    equal(router.recv(), [b"p", b""], "the probe")


def welcome(bench):
    # Goes to every new peer, whatever it has subscribed to.
    xpub = bench.theirs("XPUB")
    xpub.set("xpub_welcome_msg", b"hello, whoever you are")
    deaf, eager = bench.ours("SUB"), bench.ours("SUB")
    eager.subscribe(b"hello")
    deaf.subscribe(b"news")
    endpoint = bench.join("tcp", xpub, eager)
    deaf.connect(endpoint)
    # libzmq welcomes a peer only when its socket is used next.
    equal(sorted(xpub.recv() + xpub.recv()), [b"\x01hello", b"\x01news"], "subscriptions")
    equal(eager.recv(), [b"hello, whoever you are"], "welcome")
    xpub.send([b"news"])
    equal(deaf.recv(), [b"news"], "first message of who did not ask for a welcome")


def manual_xpub(bench):
    """A proxy that answers a subscription with another one."""
    xpub, sub = bench.theirs("XPUB"), bench.ours("SUB")
    xpub.set("xpub_manual", 1)
    bench.join("tcp", xpub, sub)
    sub.subscribe(b"alias")
    sub.subscribe(b"real")
    equal(xpub.recv(), [b"\x01alias"], "subscription")
    xpub.set("subscribe", b"real")
    equal(xpub.recv(), [b"\x01real"], "subscription")
    xpub.send([b"real", b"x"])
    equal(sub.recv(), [b"real", b"x"], "message")


def connect_routing_id(bench):
    dealer, router = bench.ours("DEALER"), bench.theirs("ROUTER", router_mandatory=1)
    endpoint = dealer.bind(bench.endpoint("tcp"))
    router.set("connect_routing_id", b"chosen by them")
    router.connect(endpoint)
    router.send([b"chosen by them", b"hi"])
    equal(dealer.recv(), [b"hi"], "message")


def longest_identity(bench):
    router, dealer = bench.ours("ROUTER"), bench.theirs("DEALER", identity=b"i" * 255)
    bench.join("ipc", router, dealer)
    dealer.send([b"hi"])
    equal(router.recv(), [b"i" * 255, b"hi"], "message")
    back = bench.theirs("ROUTER")
    ours = bench.ours("DEALER", identity=b"o" * 255)
    bench.join("ipc", back, ours)
    ours.send([b"hi"])
    equal(back.recv(), [b"o" * 255, b"hi"], "message")


def same_identity_twice(bench):
    router = bench.ours("ROUTER")
    first, second = (bench.theirs("DEALER", identity=b"same") for _ in range(2))
    endpoint = bench.join("tcp", router, first)
    first.send([b"1"])
    equal(router.recv(), [b"same", b"1"], "message of the first")
    second.connect(endpoint)
    second.send([b"impostor"])
    error, _, _, reason = router.event("HANDSHAKE_FAILED")
    assert error != "OK" and "identity" in reason, f"{error} '{reason}'"
    router.send([b"same", b"for the first"])
    equal(first.recv(), [b"for the first"], "message to the first")
    first.send([b"2"])
    equal(router.recv(), [b"same", b"2"], "the next message received")


def immediate(bench):
    pull = bench.ours("PULL")
    endpoint = pull.bind(bench.endpoint("tcp"))
    push = bench.theirs("PUSH", immediate=1)
    push.connect(endpoint)
    for n in range(100):
        push.send([b"%d" % n])
    equal([pull.recv() for _ in range(100)], [[b"%d" % n] for n in range(100)], "messages")


# ---- Ours ---------------------------------------------------------------------------


def we_correlate(bench):
    """The number is a frame of four octets before the empty one."""
    req, router = bench.ours("REQ", req_correlate=True), bench.theirs("ROUTER")
    bench.join("tcp", router, req)
    numbers = []
    for n in range(3):
        req.send([b"%d" % n])
        identity, number, *rest = router.recv()
        equal((len(number), rest), (4, [b"", b"%d" % n]), "request")
        numbers.append(number)
        router.send([identity, b"\0\0\0\0" if number != b"\0\0\0\0" else b"\1\1\1\1", b"",
                     b"of another request"])
        router.send([identity, number, b"", b"re %d" % n])
        equal(req.recv(), [b"re %d" % n], "reply")
    equal(len(set(numbers)), 3, "numbers, each its own")
    equal(req.stats()["dropped_filtered_msgs"], 3, "replies with another number")


def we_are_relaxed(bench):
    req = bench.ours("REQ", req_correlate=True, req_relaxed=True)
    rep = bench.theirs("REP")
    bench.join("tcp", rep, req)
    ask_twice(req, rep)


def we_probe(kind):
    def run(bench):
        ours = bench.ours(kind, probe_router=True, identity=b"us")
        router = bench.theirs("ROUTER")
        bench.join("tcp", router, ours)
        equal(router.recv(), [b"us", b""], "the probe")
        if kind == "REQ":
            ours.send([b"question"])
            equal(router.recv(), [b"us", b"", b"question"], "request after it")
        else:
            ours.send([b"theirs", b"x"] if kind == "ROUTER" else [b"x"])

    return f"our {kind}'s probe shows at libzmq's ROUTER as an empty message", run


def routers_probe(bench):
    """Each learns the other's name, so either may speak first."""
    ours = bench.ours("ROUTER", probe_router=True, identity=b"us", router_mandatory=True)
    theirs = bench.theirs("ROUTER", probe_router=1, identity=b"them", router_mandatory=1)
    bench.join("ipc", ours, theirs)
    equal(ours.recv(), [b"them", b""], "their probe")
    equal(theirs.recv(), [b"us", b""], "our probe")
    theirs.send([b"us", b"hi"])
    equal(ours.recv(), [b"them", b"hi"], "message")


def we_say_hello(kind):
    def run(bench):
        ours = bench.ours(kind, hello=b"hello")
        theirs = [bench.theirs("DEALER") for _ in range(3)]
        if kind == "ROUTER":
            endpoint = ours.bind(bench.endpoint("tcp"))
            for dealer in theirs:
                dealer.connect(endpoint)
        else:
            for dealer in theirs:
                ours.connect(dealer.bind(bench.endpoint("tcp")))
        for dealer in theirs:
            equal(dealer.recv(), [b"hello"], "the first message")

    return f"our {kind}'s hello is the first message on each connection", run


def we_hear_of_losses(bench):
    router = bench.ours("ROUTER", disconnected=b"gone", router_notify=3)
    dealer = bench.theirs("DEALER", identity=b"d")
    bench.join("tcp", router, dealer)
    equal(router.recv(), [b"d", b""], "notice that it came")
    dealer.send([b"x"])
    equal(router.recv(), [b"d", b"x"], "message")
    dealer.close()
    got = sorted([router.recv(), router.recv()])
    equal(got, [[b"d", b""], [b"d", b"gone"]], "notices that it left")


def we_hiccup(bench):
    dealer, process = bench.ours("DEALER", hiccup=b"hic"), bench.their_process()
    first = bench.theirs("ROUTER", process)
    endpoint = bench.join("tcp", first, dealer)
    dealer.event("READY")
    process.kill()
    equal(dealer.recv(), [b"hic"], "what we tell ourselves")
    second = bench.theirs("ROUTER")
    until("the port is free", lambda: second.try_bind(endpoint))
    dealer.send([b"again"])
    equal(second.recv()[1:], [b"again"], "message after it")


def hand_over(bench):
    router = bench.ours("ROUTER", router_handover=True)
    first, second = (bench.theirs("DEALER", identity=b"same") for _ in range(2))
    endpoint = bench.join("tcp", router, first)
    first.send([b"1"])
    equal(router.recv(), [b"same", b"1"], "message of the first")
    old = router.event("READY")[1]
    second.connect(endpoint)
    new = router.event("READY")[1]
    assert new != old, "the same connection"
    router.send([b"same", b"for the second"])
    equal(second.recv(), [b"for the second"], "message to the newcomer")
    second.send([b"2"])
    equal(router.recv(), [b"same", b"2"], "message of the newcomer")


def we_name_them(bench):
    router = bench.ours("ROUTER", router_mandatory=True)
    dealer = bench.theirs("DEALER", identity=b"what it says itself")
    router.connect_as(dealer.bind(bench.endpoint("tcp")), b"chosen")
    router.event("READY")
    router.send([b"chosen", b"hi"])
    equal(dealer.recv(), [b"hi"], "message")
    dealer.send([b"ho"])
    equal(router.recv(), [b"chosen", b"ho"], "message back")


def conflates(kind, their_kind):
    """Nobody is there yet, so all of it waits, and of that only the newest."""
    def run(bench):
        ours, theirs = bench.ours(kind, conflate=True), bench.theirs(their_kind)
        listener = RawListener()
        ours.connect(listener.endpoint)
        listener.close()
        for n in range(50):
            ours.send([b"%d" % n])
        until("the port is free", lambda: theirs.try_bind(listener.endpoint))
        equal(theirs.recv(), [b"49"], "what is left")

    return f"our {kind} conflates for libzmq's {their_kind}", run


def welcomes(bench):
    xpub = bench.ours("XPUB", xpub_welcome=b"hello-all")
    eager, deaf = bench.theirs("SUB"), bench.theirs("SUB")
    eager.subscribe(b"hello")
    deaf.subscribe(b"news")
    endpoint = bench.join("tcp", xpub, eager)
    deaf.connect(endpoint)
    equal(sorted(xpub.recv() + xpub.recv()), [b"\x01hello", b"\x01news"], "subscriptions")
    equal(eager.recv(), [b"hello-all"], "welcome")
    xpub.send([b"news"])
    equal(deaf.recv(), [b"news"], "first message of who did not ask for a welcome")


def is_verbose(verbose, wanted):
    """Two subscribers of one topic come and go."""
    def run(bench):
        xpub = bench.ours("XPUB", xpub_verbose=verbose)
        endpoint = xpub.bind(bench.endpoint("tcp"))
        subs = [bench.theirs("XSUB") for _ in range(2)]
        told = []

        def step(sub, action, fence):
            action(b"t")
            sub.subscribe(fence)
            while (got := xpub.recv()) != [b"\x01" + fence]:
                told.append(got[0])

        for number, sub in enumerate(subs):
            sub.connect(endpoint)
            xpub.event("READY")
            step(sub, sub.subscribe, b"in %d" % number)
        for number, sub in enumerate(subs):
            step(sub, sub.unsubscribe, b"out %d" % number)
        equal(told, wanted, "what XPUB is told")

    return f"our XPUB tells of two subscribers to one topic: {verbose}", run


def we_are_manual(bench):
    xpub, sub = bench.ours("XPUB", xpub_manual="manual"), bench.theirs("SUB")
    bench.join("tcp", xpub, sub)
    sub.subscribe(b"alias")
    equal(xpub.recv(), [b"\x01alias"], "subscription")
    xpub.subscribe(b"real")
    sub.subscribe(b"real")
    equal(xpub.recv(), [b"\x01real"], "subscription")
    xpub.send([b"alias", b"not given"])
    xpub.send([b"real", b"given"])
    equal(sub.recv(), [b"real", b"given"], "message")


def every_unsubscribe(bench):
    xsub = bench.ours("XSUB", xsub_verbose_unsubscribe=True)
    xpub = bench.theirs("XPUB", xpub_verboser=1)
    bench.join("tcp", xpub, xsub)
    xsub.event("READY")
    for action in (xsub.subscribe, xsub.subscribe, xsub.unsubscribe, xsub.unsubscribe):
        action(b"t")
    xsub.subscribe(b"end")
    told = []
    while (got := xpub.recv()) != [b"\x01end"]:
        told.append(got[0])
    equal(told.count(b"\x00t"), 2, "CANCELs of it")


def they_say_hello(kind, their_kind):
    def run(bench):
        ours = bench.ours(kind)
        theirs = bench.theirs(their_kind, identity=b"them", hello_msg=b"hello")
        bench.join("tcp", ours, theirs)
        equal(ours.recv(), [b"them", b"hello"] if kind == "ROUTER" else [b"hello"],
              "the first message")

    return f"libzmq's {their_kind} says hello to our {kind}", run


def inverts(kind, their_kind):
    def run(bench):
        ours = bench.ours(kind, invert_matching=True)
        theirs = bench.theirs(their_kind, invert_matching=1)
        bench.join("tcp", ours, theirs)
        pub, sub = (ours, theirs) if "PUB" in kind else (theirs, ours)
        sub.subscribe(b"not this")
        # Inverted, a subscription is shown by what no longer comes.
        def probe():
            pub.send([b"anything"])
            return sub.try_recv(0.02)
        until("it hears what it did not ask for", probe)
        pub.send([b"not this one"])
        pub.send([b"end"])
        got = sub.recv()
        while got != [b"end"]:
            equal(got, [b"anything"], "what comes")
            got = sub.recv()

    return f"our {kind} and libzmq's {their_kind} match what is not asked for", run


# Options of the drafts, which only the npm package's libzmq has.
DRAFTS = [they_say_hello(*row) for row in (("ROUTER", "DEALER"), ("DEALER", "ROUTER"))]

if __name__ == "__main__":
    main([
        ("REQ_CORRELATE and REQ_RELAXED are served by our REP", correlated_requests),
        ("PROBE_ROUTER shows at our ROUTER as an empty message", probes_router),
        ("XPUB's welcome reaches who subscribed to it, and nobody else", welcome),
        ("XPUB_MANUAL can alias a subscription", manual_xpub),
        ("CONNECT_ROUTING_ID lets their ROUTER name our DEALER", connect_routing_id),
        ("identities of 255 octets pass both ways", longest_identity),
        ("a second peer with the same identity is refused, the first goes on",
         same_identity_twice),
        ("IMMEDIATE peers deliver everything", immediate),
        ("our REQ numbers its requests, and drops replies with another number",
         we_correlate),
        ("our relaxed REQ may ask again, and drops the late reply", we_are_relaxed),
        *(we_probe(kind) for kind in ("DEALER", "REQ", "ROUTER")),
        ("two ROUTERs that probe know each other's names", routers_probe),
        *(we_say_hello(kind) for kind in ("ROUTER", "DEALER")),
        ("our ROUTER is told who comes and who leaves", we_hear_of_losses),
        ("our DEALER tells itself that its server was lost", we_hiccup),
        ("our ROUTER hands an identity over", hand_over),
        ("our ROUTER names a DEALER it connects to", we_name_them),
        *(conflates(*row) for row in (("PUSH", "PULL"), ("DEALER", "DEALER"))),
        ("our XPUB welcomes who comes", welcomes),
        *(is_verbose(*row) for row in (
            ("first", [b"\x01t", b"\x00t"]),
            ("verbose", [b"\x01t", b"\x01t", b"\x00t"]),
            ("verboser", [b"\x01t", b"\x01t", b"\x00t", b"\x00t"]))),
        ("our manual XPUB gives what it decides", we_are_manual),
        *(inverts(*row) for row in (("PUB", "SUB"), ("SUB", "PUB"))),
        ("our XSUB sends every unsubscribe on, if told to", every_unsubscribe),
        *(DRAFTS if "--npm" in sys.argv else ()),
    ])
