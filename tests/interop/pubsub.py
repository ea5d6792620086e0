# SPDX-License-Identifier: MIT
"""Subscriptions are state: made before and after connecting, counted, taken back,
and told again to a publisher that restarts."""

import itertools

from peer import Refused
from suite import equal, main, until

fences = itertools.count()


def deaf_until_joined(bench, transport="tcp"):
    """Our PUB bound, libzmq's SUB connected, nothing subscribed yet."""
    pub, sub = bench.ours("PUB"), bench.theirs("SUB")
    bench.join(transport, pub, sub)
    pub.event("READY")
    return pub, sub


def settle(pub, sub):
    """Waits until all that `sub` has subscribed to or cancelled so far is known to
    `pub`, by one more subscription: they stay in order. Gives its topic."""
    fence = b"fence %d" % next(fences)
    sub.subscribe(fence)
    if pub.kind == "XPUB":
        equal(pub.recv(), [b"\x01" + fence], "the next thing at XPUB")
        pub.send([fence])
    else:
        until("the fence arrives", lambda: (pub.send([fence]), sub.try_recv(0.02))[1])
    return fence


def hears(pub, sub, topic):
    """Whether a message of `topic` reaches `sub`: yes or no, both for certain."""
    fence = settle(pub, sub)
    pub.send([topic, b"asked"])
    pub.send([fence, b"end"])
    heard = False
    while True:
        got = sub.recv()
        heard = heard or got == [topic, b"asked"]
        if got == [fence, b"end"]:
            return heard


# ---- Our SUB, seen by libzmq's XPUB ---------------------------------------------


def sub_before_connect(bench):
    sub, xpub = bench.ours("SUB"), bench.theirs("XPUB")
    topics = [b"a", b"b" * 300, b"", b"\x00\xff"]
    for topic in topics:
        sub.subscribe(topic)
    bench.join("tcp", xpub, sub)
    equal(sorted(xpub.recv()[0] for _ in topics), sorted(b"\x01" + t for t in topics),
          "subscriptions at XPUB")


def sub_after_connect(bench):
    sub, xpub = bench.ours("SUB"), bench.theirs("XPUB")
    bench.join("ipc", xpub, sub)
    sub.event("READY")
    sub.subscribe(b"late")
    equal(xpub.recv(), [b"\x01late"], "subscription at XPUB")
    sub.unsubscribe(b"late")
    equal(xpub.recv(), [b"\x00late"], "cancellation at XPUB")


def sub_counts(bench):
    sub, xpub = bench.ours("SUB"), bench.theirs("XPUB")
    bench.join("tcp", xpub, sub)
    for _ in range(3):
        sub.subscribe(b"t")
    equal(xpub.recv(), [b"\x01t"], "first subscription")
    sub.unsubscribe(b"t")
    sub.unsubscribe(b"t")
    assert hears(xpub, sub, b"t"), "two of three unsubscribes ended the subscription"
    sub.unsubscribe(b"t")
    equal(xpub.recv(), [b"\x00t"], "the last unsubscribe")
    assert not hears(xpub, sub, b"t"), "still subscribed after three unsubscribes"
    try:
        sub.unsubscribe(b"t")
        raise AssertionError("a fourth unsubscribe succeeded")
    except Refused as refused:
        equal(refused.args[0], "ENOENT", "fourth unsubscribe")


def sub_many_topics(bench):
    sub, xpub = bench.ours("SUB"), bench.theirs("XPUB", rcvhwm=0)
    topics = [b"topic %d" % i for i in range(2000)]
    for topic in topics:
        sub.subscribe(topic)
    bench.join("tcp", xpub, sub)
    equal(sorted(xpub.recv()[0] for _ in topics), sorted(b"\x01" + t for t in topics),
          "2000 subscriptions")


def sub_resubscribes(transport):
    def run(bench):
        sub, first = bench.ours("SUB"), bench.theirs("XPUB")
        sub.subscribe(b"kept")
        sub.subscribe(b"gone")
        endpoint = bench.join(transport, first, sub)
        first.recv(), first.recv()
        sub.unsubscribe(b"gone")
        equal(first.recv(), [b"\x00gone"], "cancellation")
        first.close()
        sub.event("DISCONNECTED")
        second = bench.theirs("XPUB")
        until("the port is free again", lambda: second.try_bind(endpoint))
        equal(second.recv(), [b"\x01kept"], "subscription after the restart")
        second.send([b"kept", b"news"])
        equal(sub.recv(), [b"kept", b"news"], "message after the restart")
        equal(second.try_recv(0.05), None, "a cancelled subscription came back")
    return run


def sub_many_publishers(bench):
    sub = bench.ours("SUB")
    sub.subscribe(b"")
    publishers = [bench.theirs("XPUB") for _ in range(100)]
    for publisher in publishers:
        bench.join("tcp", publisher, sub)
    for i, publisher in enumerate(publishers):
        equal(publisher.recv(), [b"\x01"], "subscription")
        publisher.send([b"%d" % i])
    equal(sorted(int(sub.recv()[0]) for _ in publishers), list(range(100)), "publishers heard")


# ---- Our PUB, subscribed to by libzmq's SUB --------------------------------------


def pub_before_connect(bench):
    pub, sub = bench.ours("PUB"), bench.theirs("SUB")
    sub.subscribe(b"news")
    bench.join("tcp", pub, sub)
    assert hears(pub, sub, b"news.sports"), "prefix does not match"
    assert not hears(pub, sub, b"new"), "a shorter topic matches"
    assert not hears(pub, sub, b"News"), "another topic matches"


def pub_after_connect(transport):
    def run(bench):
        pub, sub = deaf_until_joined(bench, transport)
        assert not hears(pub, sub, b"t1"), "heard without a subscription"
        sub.subscribe(b"t")
        assert hears(pub, sub, b"t1"), "not heard after subscribing"
        sub.unsubscribe(b"t")
        assert not hears(pub, sub, b"t1"), "heard after unsubscribing"
    return run


def pub_counted_by_libzmq(bench):
    # libzmq sends n subscriptions and, at the last unsubscribe, one cancellation.
    pub, sub = deaf_until_joined(bench)
    for _ in range(3):
        sub.subscribe(b"t")
    assert hears(pub, sub, b"t"), "not heard after subscribing"
    for _ in range(2):
        sub.unsubscribe(b"t")
    assert hears(pub, sub, b"t"), "the count is lost"
    sub.unsubscribe(b"t")
    assert not hears(pub, sub, b"t"), "three subscriptions outlive one cancellation"


def pub_restarts(bench):
    process = bench.our_process()
    first, sub = bench.ours("PUB", process), bench.theirs("SUB")
    sub.subscribe(b"kept")
    endpoint = bench.join("tcp", first, sub)
    assert hears(first, sub, b"kept"), "not heard before the restart"
    process.kill()
    second = bench.ours("PUB")
    second.bind(endpoint)
    settle(second, sub)  # after a reconnect libzmq tells what it has in any order
    assert hears(second, sub, b"kept"), "not heard after the restart"


def long_topics(bench):
    """Debian's libzmq misframes those of 246 to 255 octets, and is understood."""
    xpub, sub = bench.ours("XPUB"), bench.theirs("SUB")
    bench.join("tcp", xpub, sub)
    xpub.event("READY")
    for size in (*range(243, 259), 65535, 65536):
        topic = b"t" * size
        sub.subscribe(topic)
        equal(xpub.recv(), [b"\x01" + topic], f"subscription of {size} octets")
        xpub.send([topic, b"heard"])
        equal(sub.recv(), [topic, b"heard"], "message")
        sub.unsubscribe(topic)
        equal(xpub.recv(), [b"\x00" + topic], f"its end, {size} octets")


def pub_many_subscribers(bench):
    pub = bench.ours("PUB")
    endpoint = pub.bind(bench.endpoint("tcp"))
    subscribers = [bench.theirs("SUB") for _ in range(100)]
    for i, subscriber in enumerate(subscribers):
        subscriber.subscribe(b"own %03d" % i)
        subscriber.subscribe(b"all")
        subscriber.connect(endpoint)
    for subscriber in subscribers:
        settle(pub, subscriber)
    for i in range(100):
        pub.send([b"own %03d" % i, b"body"])
    pub.send([b"all", b"end"])
    for i, subscriber in enumerate(subscribers):
        got = subscriber.recv()
        while got[0].startswith(b"fence"):
            got = subscriber.recv()
        equal(got, [b"own %03d" % i, b"body"], f"subscriber {i}")
        equal(subscriber.recv(), [b"all", b"end"], f"subscriber {i}")


def pub_order(bench):
    pub, sub = deaf_until_joined(bench)
    sub.subscribe(b"n")
    fence = settle(pub, sub)
    for i in range(500):
        pub.send([b"n", b"%d" % i])
    got = sub.recv()
    while got == [fence]:
        got = sub.recv()
    for i in range(500):
        equal(got, [b"n", b"%d" % i], "order")
        got = sub.recv() if i < 499 else None


def pub_drops_are_counted(bench):
    pub = bench.ours("PUB")
    pub.bind(bench.endpoint("tcp"))
    for _ in range(7):
        pub.send([b"nobody"])
    stats = pub.stats()
    equal((stats["sent_msgs"], stats["dropped_no_peer_msgs"]), (7, 7), "sent, dropped")


if __name__ == "__main__":
    main([
        ("subscriptions made before connecting reach XPUB", sub_before_connect),
        ("a subscription made after connecting reaches XPUB, and its end", sub_after_connect),
        ("n subscribes take n unsubscribes", sub_counts),
        ("2000 topics reach XPUB at once", sub_many_topics),
        ("our SUB subscribes again when its publisher restarts, tcp", sub_resubscribes("tcp")),
        ("our SUB subscribes again when its publisher restarts, ipc", sub_resubscribes("ipc")),
        ("our SUB hears 100 publishers", sub_many_publishers),
        ("libzmq's subscriptions made before connecting select by prefix", pub_before_connect),
        ("libzmq subscribes and unsubscribes while connected, tcp", pub_after_connect("tcp")),
        ("libzmq subscribes and unsubscribes while connected, ipc", pub_after_connect("ipc")),
        ("three subscriptions of one libzmq peer end with one cancellation",
         pub_counted_by_libzmq),
        ("topics of any length are understood", long_topics),
        ("libzmq's SUB hears our PUB again after it was killed and restarted", pub_restarts),
        ("100 libzmq subscribers each hear their own topic", pub_many_subscribers),
        ("500 messages arrive in order", pub_order),
        ("what nobody subscribed to is counted", pub_drops_are_counted),
    ])
