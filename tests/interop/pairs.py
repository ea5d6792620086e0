# SPDX-License-Identifier: MIT
"""Every pair of socket types that may talk (RFC 23-31's compatibility table), over
tcp on IPv4 and IPv6 and ipc by path and by abstract name, each side binding once, with
messages of every shape both ways; and every pair that may not."""

import sys

from peer import Refused
from suite import TRANSPORTS, equal, main, until


def pattern(size):
    """Repeats with a prime, so that a part that is cut or moved shows; and never begins
    like a subscription."""
    return (bytes(range(2, 253)) * (size // 251 + 1))[:size]


# Sizes at which something changes: empty, a frame's short and long form (also of ZMTP
# 1.0, where 253 is the last short one), copied and referenced bodies, receive windows.
SIZES = (0, 1, 253, 254, 255, 256, 257, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20)

SHAPES = {
    **{f"{size} octets": [pattern(size)] for size in SIZES},
    "five parts": [b"one", b"two", b"three", b"four", b"five"],
    "empty parts": [b"", b"a", b"", b"", b"b", b""],
    "inline and stored bodies": [pattern(55), pattern(56)],
    "parts around each size": [pattern(size) for size in SIZES[:-1]],
    "64 KiB between small parts": [b"head", pattern(65537), b""],
    "50 parts": [b"%d" % n for n in range(50)],
}

# The other transports are other addresses of these; the largest need not go over them.
PLAIN = ("tcp", "ipc")
LITTLE = {shape: body for shape, body in SHAPES.items() if max(map(len, body)) < 1 << 20}


def back(body):
    """A different message of the same shape, to go the other way."""
    return [part[::-1] for part in body]


def one_way(sender, receiver, body):
    sender.post(body)
    equal(receiver.recv(), body, f"{sender.kind} to {receiver.kind}")


# ---- One function per pair of types; each works with either side as ours -------


def pair_pair(a, b, body):
    one_way(a, b, body)
    one_way(b, a, back(body))


def dealer_dealer(a, b, body):
    pair_pair(a, b, body)


def req_rep(req, rep, body):
    one_way(req, rep, body)
    one_way(rep, req, back(body))


def check_identity(got, peer):
    if peer.identity:
        equal(got, peer.identity, f"identity of {peer.kind}")
    else:
        equal((len(got), got[:1]), (5, b"\0"), f"made-up identity of {peer.kind}")


def req_router(req, router, body):
    req.post(body)
    identity, *rest = router.recv()
    check_identity(identity, req)
    equal(rest, [b"", *body], "REQ's envelope at ROUTER")
    router.post([identity, b"", *back(body)])
    equal(req.recv(), back(body), "ROUTER to REQ")


def dealer_rep(dealer, rep, body):
    for envelope in ([b""], [b"hop 1", b"\0hop 2", b""]):
        dealer.post([*envelope, *body])
        equal(rep.recv(), body, "DEALER to REP")
        rep.post(back(body))
        equal(dealer.recv(), [*envelope, *back(body)], "REP's envelope at DEALER")


def dealer_router(dealer, router, body):
    dealer.post(body)
    identity, *rest = router.recv()
    check_identity(identity, dealer)
    equal(rest, body, "DEALER to ROUTER")
    router.post([identity, *back(body)])
    equal(dealer.recv(), back(body), "ROUTER to DEALER")


def routers_meet(a, b):
    # A ROUTER drops what it has no peer for, so the first message is tried again.
    def hello():
        try:
            a.send([b.identity, b"there?"])
        except Refused:
            pass
        return b.try_recv(0.02)

    equal(until("ROUTER reaches ROUTER", hello), [a.identity, b"there?"], "first message")
    a.send([b.identity, b"done"])
    while b.recv() != [a.identity, b"done"]:
        pass


def router_router(a, b, body):
    a.post([b.identity, *body])
    equal(b.recv(), [a.identity, *body], "ROUTER to ROUTER")
    b.post([a.identity, *back(body)])
    equal(a.recv(), [b.identity, *back(body)], "ROUTER back to ROUTER")


def notice(pub, sub):
    """What the XPUB is told next. libzmq's SUB tells nothing while nobody calls it."""
    return until("XPUB is told", lambda: (sub.try_recv(0.001), pub.try_recv(0.02))[1])


def subscribed(pub, sub):
    sub.subscribe(b"")
    if pub.kind == "XPUB":
        equal(notice(pub, sub), [b"\x01"], "the subscription at XPUB")
        return

    def probe():
        pub.send([b"probe"])
        return sub.try_recv(0.02)

    until("the subscription reaches PUB", probe)
    pub.send([b"done"])
    while sub.recv() != [b"done"]:
        pass


def xsub_xpub(xpub, xsub, body):
    one_way(xpub, xsub, body)
    one_way(xsub, xpub, [b"upstream", *back(body)])


# (one, the other, what brings them together, what they do for each shape); each row is
# run with either of them as ours
TABLE = (
    ("PAIR", "PAIR", None, pair_pair),
    ("PUSH", "PULL", None, one_way),
    ("PUB", "SUB", subscribed, one_way),
    ("PUB", "XSUB", subscribed, one_way),
    ("XPUB", "SUB", subscribed, one_way),
    ("XPUB", "XSUB", subscribed, xsub_xpub),
    ("REQ", "REP", None, req_rep),
    ("REQ", "ROUTER", None, req_router),
    ("DEALER", "REP", None, dealer_rep),
    ("DEALER", "DEALER", None, dealer_dealer),
    ("DEALER", "ROUTER", None, dealer_router),
    ("ROUTER", "ROUTER", routers_meet, router_router),
)
TYPES = ("PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH", "XPUB",
         "XSUB")
DRAFTS = ("SERVER", "CLIENT", "RADIO", "DISH", "GATHER", "SCATTER")


def directions():
    """Each row as (ours, theirs, meet, talk), both functions of (ours, theirs, ...)."""
    def swapped(function):
        return function and (lambda ours, theirs, *rest: function(theirs, ours, *rest))

    for one, other, meet, talk in TABLE:
        yield one, other, meet, talk
        if other != one:
            yield other, one, swapped(meet), swapped(talk)


def good_case(ours, theirs, meet, talk, transport, we_bind, named):
    def run(bench):
        a = bench.ours(ours, **({"identity": b"ours"} if named else {}))
        b = bench.theirs(theirs, ipv6=1, **({"identity": b"\0theirs"} if named else {}))
        bench.join(transport, *((a, b) if we_bind else (b, a)))
        if meet:
            meet(a, b)
        for shape, body in SHAPES.items() if transport in PLAIN else LITTLE.items():
            try:
                talk(a, b, body)
            except (AssertionError, Refused) as error:
                raise AssertionError(f"a message of {shape}: {error}") from error

    binder = "we bind" if we_bind else "libzmq binds"
    identity = "" if named else ", no identity"
    return (f"our {ours} talks to libzmq's {theirs} over {transport}, {binder}{identity}",
            run)


def good_cases():
    for row in directions():
        for transport in TRANSPORTS:
            for we_bind in (True, False):
                yield good_case(*row, transport, we_bind, True)
        if row[:2] != ("ROUTER", "ROUTER"):  # needs a name to begin with
            yield good_case(*row, "tcp", True, False)


def bad_cases(kinds):
    good = {(ours, theirs) for ours, theirs, *_ in directions()}
    for ours in TYPES:
        for theirs in kinds:
            if (ours, theirs) in good:
                continue
            for we_bind in (True, False):
                def run(bench, ours=ours, theirs=theirs, we_bind=we_bind):
                    a, b = bench.ours(ours), bench.theirs(theirs)
                    bench.join("tcp", *((a, b) if we_bind else (b, a)))
                    error, _, _, reason = a.event("HANDSHAKE_FAILED")
                    assert error != "OK" and reason, f"no reason: {error} '{reason}'"
                    equal(a.stats()["connections"], 0, "connections")

                binder = "we bind" if we_bind else "libzmq binds"
                yield f"our {ours} refuses libzmq's {theirs} and says why, {binder}", run


if __name__ == "__main__":
    # Only the npm package's libzmq is built with the draft types.
    main([*good_cases(), *bad_cases(TYPES + (DRAFTS if "--npm" in sys.argv else ()))])
