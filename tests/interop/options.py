# SPDX-License-Identifier: MIT
"""libzmq peers with options that change what they put on the wire."""

from suite import equal, main


def correlated_requests(bench):
    rep = bench.ours("REP")
    req = bench.theirs("REQ", req_correlate=1, req_relaxed=1)
    bench.join("tcp", rep, req)
    for n in range(3):
        req.send([b"%d" % n])
        equal(rep.recv(), [b"%d" % n], "request")
        rep.send([b"re %d" % n])
        equal(req.recv(), [b"re %d" % n], "reply")
    # Relaxed: a second request may follow before the reply to the first, which is
    # then dropped by its number.
    req.send([b"forgotten"])
    equal(rep.recv(), [b"forgotten"], "request")
    req.send([b"meant"])
    rep.send([b"late"])
    equal(rep.recv(), [b"meant"], "request")
    rep.send([b"in time"])
    equal(req.recv(), [b"in time"], "reply")


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
    ])
