# SPDX-License-Identifier: MIT
"""Back-pressure against libzmq: what is accepted arrives, once and in order, or is
counted as dropped; and what a queue cannot hold is refused."""

from peer import Refused
from suite import equal, main, until

BODY = bytes(8000)


def fill(sock):
    """Sends numbered messages until none is taken. Gives how many were."""
    count = 0
    while sock.try_send([b"%d" % count, BODY], 0.2):
        count += 1
    return count


def jam(push, pull):
    """Fills what there is between them, reads it, and sends once more. Gives how many
    messages passed."""
    count = fill(push)
    assert count >= 100, f"only {count} messages were taken"
    for i in range(count):
        equal(pull.recv(), [b"%d" % i, BODY], "message")
    push.send([b"again"])
    equal(pull.recv(), [b"again"], "message after the jam")
    return count + 1


def push_to_a_slow_pull(transport):
    def run(bench):
        # Small buffers: else the kernel alone holds megabytes of it.
        push = bench.ours("PUSH", send_hwm_msgs=100)
        pull = bench.theirs("PULL", rcvhwm=100, rcvbuf=4096)
        bench.join(transport, pull, push)
        count = jam(push, pull)
        stats = push.stats()
        equal((stats["sent_msgs"], stats["delivered_msgs"], stats["queued_msgs"]),
              (count, count, 0), "sent, delivered, queued")
    return run


def pull_that_does_not_read(transport):
    def run(bench):
        pull = bench.ours("PULL", recv_hwm_msgs=100)
        push = bench.theirs("PUSH", sndhwm=100, sndbuf=4096)
        bench.join(transport, pull, push)
        jam(push, pull)
    return run


def pub_with_a_slow_sub(bench):
    pub = bench.ours("PUB", send_hwm_msgs=50)
    slow = bench.theirs("SUB", rcvhwm=50, rcvbuf=4096)
    fast = bench.theirs("SUB", rcvhwm=0)
    endpoint = pub.bind(bench.endpoint("tcp"))
    for sub in (slow, fast):
        sub.connect(endpoint)
        for topic in (b"n", b"probe", b"end"):
            sub.subscribe(topic)
        until("it is subscribed", lambda sub=sub: (pub.send([b"probe"]),
                                                   sub.try_recv(0.02))[1])
    before = pub.stats()
    seen, sent = [], 0
    while pub.stats()["dropped_hwm_msgs"] == before["dropped_hwm_msgs"]:
        assert sent < 100_000, "a subscriber that does not read is never dropped to"
        for _ in range(10):
            pub.send([b"n", b"%d" % sent, BODY])
            sent += 1
        while len(seen) < sent:  # the fast one keeps up and must lose nothing
            got = fast.recv()
            if got[0] == b"n":
                seen.append(int(got[1]))
    equal(seen, list(range(sent)), "what the fast subscriber got")
    got, numbers = slow.recv(), []
    while got != [b"end"]:
        if got[0] == b"n":
            numbers.append(int(got[1]))
        more = slow.try_recv(0.05)
        if more is None:
            pub.send([b"end"])
            more = slow.recv()
        got = more
    dropped = pub.stats()["dropped_hwm_msgs"] - before["dropped_hwm_msgs"]
    equal(len(numbers) + dropped, sent, "received and dropped together")
    equal(numbers, sorted(set(numbers)), "order, and each at most once")


def xpub_that_waits(bench):
    """libzmq's XPUB_NODROP: a publication waits for the slowest."""
    xpub = bench.ours("XPUB", send_hwm_msgs=50, slow_subscriber="block")
    sub = bench.theirs("SUB", rcvhwm=50, rcvbuf=4096)
    sub.subscribe(b"")
    bench.join("tcp", xpub, sub)
    equal(xpub.recv(), [b"\x01"], "subscription")
    count = fill(xpub)
    for i in range(count):
        equal(sub.recv(), [b"%d" % i, BODY], "message")
    xpub.send([b"again"])
    equal(sub.recv(), [b"again"], "message after the jam")
    equal(xpub.stats()["dropped_hwm_msgs"], 0, "dropped")


def router_with_a_slow_dealer(bench):
    router = bench.ours("ROUTER", send_hwm_msgs=50, router_mandatory=True)
    slow = bench.theirs("DEALER", identity=b"slow", rcvhwm=50, rcvbuf=4096)
    fast = bench.theirs("DEALER", identity=b"fast")
    endpoint = router.bind(bench.endpoint("tcp"))
    for dealer in (slow, fast):
        dealer.connect(endpoint)
        router.event("READY")
    count = 0
    while router.try_send([b"slow", b"%d" % count, BODY], 0.2):
        count += 1
    router.send([b"fast", b"not held up"])
    equal(fast.recv(), [b"not held up"], "message to the other peer")
    for i in range(count):
        equal(slow.recv(), [b"%d" % i, BODY], "message to the slow peer")
    try:
        router.send([b"nobody", b"x"], secs=0)
        raise AssertionError("a message to nobody was taken")
    except Refused as refused:
        equal(refused.args[0], "EHOSTUNREACH", "what ROUTER says of a stranger")


def large_both_ways(transport):
    def run(bench):
        """40 MiB each way at once: neither side may stop reading while it writes."""
        ours, theirs = bench.ours("PAIR"), bench.theirs("PAIR")
        bench.join(transport, ours, theirs)
        size, count = 1 << 20, 40
        for i in range(count):
            theirs.send([b"%d" % i, bytes([i]) * size])
            ours.send([b"%d" % i, bytes([255 - i]) * size])
        for i in range(count):
            equal(theirs.recv(), [b"%d" % i, bytes([255 - i]) * size], "from us")
            equal(ours.recv(), [b"%d" % i, bytes([i]) * size], "from libzmq")
    return run


if __name__ == "__main__":
    main([
        *((f"our PUSH is refused when a PULL does not read, and loses nothing, {transport}",
           push_to_a_slow_pull(transport)) for transport in ("tcp", "ipc")),
        *((f"our PULL that does not read stops libzmq's PUSH, and nothing is lost, "
           f"{transport}", pull_that_does_not_read(transport)) for transport in ("tcp", "ipc")),
        ("our PUB drops to a slow SUB, counts it, and spares the fast one",
         pub_with_a_slow_sub),
        ("our XPUB that may not drop is refused, and loses nothing", xpub_that_waits),
        ("our ROUTER's full peer does not hold up another", router_with_a_slow_dealer),
        *((f"40 MiB each way at once, {transport}", large_both_ways(transport))
          for transport in ("tcp", "ipc")),
    ])
