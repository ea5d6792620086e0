/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <string.h>

static void
put(stream_part *p, const void *octets, size_t size)
{
    size_t room = sizeof p->octets - p->size;

    if (size > room)
        size = room;
    memcpy(p->octets + p->size, octets, size);
    p->size += size;
}

static void
put_octet(stream_part *p, unsigned octet)
{
    uint8_t one = (uint8_t)octet;

    put(p, &one, 1);
}

static void
put_u32(stream_part *p, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        put_octet(p, value >> shift);
}

static void
put_random(stream_part *p, size_t size, test_rng *rng)
{
    for (size_t i = 0; i < size; i++)
        put_octet(p, (unsigned)test_rng_next(rng));
}

/* Turns one octet, or cuts the end off. */
static void
spoil(stream_part *p, test_rng *rng)
{
    if (p->size == 0)
        return;
    if (test_rng_chance(rng, 20))
        p->size = (size_t)test_rng_below(rng, p->size);
    else
        p->octets[test_rng_below(rng, p->size)] ^=
            (uint8_t)(1u << test_rng_below(rng, 8));
}

/* ---- greeting ---------------------------------------------------------- */

static void
make_greeting(stream_part *p, test_rng *rng)
{
    static const unsigned majors[] = { 3, 3, 3, 3, 3, 3, 2, 4, 5, 0xff };

    put_octet(p, 0xff);
    if (test_rng_chance(rng, 10))
        put_random(p, 8, rng);
    else
        put(p, "\0\0\0\0\0\0\0\1", 8);
    put_octet(p, test_rng_chance(rng, 5) ? 1 + 2 * test_rng_below(rng, 100) : 0x7f);
    put_octet(p, majors[test_rng_below(rng, sizeof majors / sizeof majors[0])]);
    put_octet(p, (unsigned)test_rng_below(rng, 10) < 8 ? (unsigned)test_rng_below(rng, 2)
                                                       : (unsigned)test_rng_next(rng));
    put(p, "NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    put_octet(p, test_rng_chance(rng, 10) ? (unsigned)test_rng_next(rng) : 0);
    if (test_rng_chance(rng, 10))
        put_random(p, 31, rng);
    else
        put(p, (const uint8_t[31]){ 0 }, 31);
    if (test_rng_chance(rng, 5)) /* of the mechanism */
        p->octets[12 + test_rng_below(rng, 20)] ^= (uint8_t)test_rng_next(rng);
}

/* ---- READY ------------------------------------------------------------- */

static void
put_property(stream_part *p, const char *name, const void *value, size_t size)
{
    put_octet(p, (unsigned)strlen(name));
    put(p, name, strlen(name));
    put_u32(p, (uint32_t)size);
    put(p, value, size);
}

static void
put_frame(stream_part *p, unsigned flags, const stream_part *body, test_rng *rng)
{
    /* The long form is right for any size. */
    if (body->size > 255 || test_rng_chance(rng, 5)) {
        put_octet(p, flags | 2);
        put_u32(p, 0);
        put_u32(p, (uint32_t)body->size);
    } else {
        put_octet(p, flags);
        put_octet(p, (unsigned)body->size);
    }
    put(p, body->octets, body->size);
}

static void
make_ready(stream_part *p, const char *type, test_rng *rng)
{
    static const char *const types[] = { "PUSH", "PULL", "DEALER", "SUB", "REQ", "push" };
    stream_part body = { .size = 0 };
    uint8_t identity[255];
    size_t identity_size = (size_t)test_rng_below(rng, test_rng_chance(rng, 5) ? 255 : 9);

    for (size_t i = 0; i < sizeof identity; i++)
        identity[i] = (uint8_t)(1 + test_rng_below(rng, 255));
    if (test_rng_chance(rng, 5))
        type = types[test_rng_below(rng, sizeof types / sizeof types[0])];
    put(&body, "\5READY", 6);
    if (!test_rng_chance(rng, 3))
        put_property(&body, "Socket-Type", type, strlen(type));
    if (test_rng_chance(rng, 60))
        put_property(&body, "Identity", identity, identity_size);
    if (test_rng_chance(rng, 20))
        put_property(&body, "X-Name", identity, identity_size);
    if (test_rng_chance(rng, 5))
        spoil(&body, rng);
    put_frame(p, 4, &body, rng);
}

/* ---- traffic ----------------------------------------------------------- */

static void
put_command(stream_part *p, test_rng *rng)
{
    stream_part body = { .size = 0 };
    size_t size = (size_t)test_rng_below(rng, 16);

    /* No SUBSCRIBE and CANCEL: libzmq hands them to the application of a socket that does
     * not publish, and only there could their messages be compared. */
    switch (test_rng_below(rng, 3)) {
    case 0:
        put(&body, "\4PING\0\0", 7); /* no time to live: this test waits for nobody */
        break;
    case 1:
        put(&body, "\4PONG", 5);
        break;
    default:
        put(&body, "\7UNKNOWN", 8);
        break;
    }
    put_random(&body, size, rng);
    if (test_rng_chance(rng, 3))
        spoil(&body, rng);
    put_frame(p, 4, &body, rng);
}

static void
put_message(stream_part *p, test_rng *rng)
{
    static const size_t edges[] = { 0, 1, 33, 34, 55, 56, 253, 254, 255, 256, 257 };

    for (bool more = true; more;) {
        stream_part body = { .size = 0 };
        size_t size = test_rng_chance(rng, 20)
                          ? edges[test_rng_below(rng, sizeof edges / sizeof edges[0])]
                          : (size_t)test_rng_below(rng, 40);

        more = test_rng_chance(rng, 30);
        if (test_rng_chance(rng, 30)) /* like a subscription of 3.0 */
            put_octet(&body, (unsigned)test_rng_below(rng, 2));
        put_random(&body, size, rng);
        put_frame(p, more ? 1 : 0, &body, rng);
        if (more && test_rng_chance(rng, 10))
            put_command(p, rng);
    }
}

static void
make_traffic(stream_part *p, test_rng *rng)
{
    unsigned count = (unsigned)test_rng_below(rng, 12);

    for (unsigned i = 0; i < count; i++) {
        if (test_rng_chance(rng, 25))
            put_command(p, rng);
        else
            put_message(p, rng);
    }
    if (test_rng_chance(rng, 15))
        spoil(p, rng);
}

void
stream_make(stream *s, const char *peer_type, test_rng *rng)
{
    s->greeting.size = 0;
    s->ready.size = 0;
    s->traffic.size = 0;
    make_greeting(&s->greeting, rng);
    make_ready(&s->ready, peer_type, rng);
    make_traffic(&s->traffic, rng);
}
