/* SPDX-License-Identifier: MIT */
/* A node for guest.py to talk to. Prints its two endpoints, one a line, serves until
 * it is asked to stop, and then prints what it counted. */
#include <stdio.h>
#include <string.h>

#include "sennit/rpc.h"

static sennit_bytes
bytes_of(const char *text)
{
    return (sennit_bytes){ (const uint8_t *)text, strlen(text) };
}

static void
echo(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    ++*(unsigned *)arg;
    (void)sennit_reply_ok(sennit_ctx_reply(ctx), body);
}

static void
refuse(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (void)body;
    (void)arg;
    (void)sennit_reply_error(sennit_ctx_reply(ctx), -3, 77, bytes_of("\xa3why"),
                             "no luck");
}

static void
forget(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (void)ctx;
    (void)body;
    (void)arg;
}

/* Publishes the body at the address in the header "to". */
static void
publish(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    char address[SENNIT_ADDRESS_MAX + 1] = "";
    sennit_bytes to = { NULL, 0 };
    sennit_err err = SENNIT_EINVAL;

    (void)arg;
    if (sennit_ctx_header(ctx, "to", &to) && to.size < sizeof address) {
        memcpy(address, to.data, to.size);
        err = sennit_bus_publish(sennit_ctx_bus(ctx), address, body, NULL, NULL);
    }
    (void)sennit_reply_ok(sennit_ctx_reply(ctx), bytes_of(sennit_err_name(err)));
}

static void
stop(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    (void)body;
    (void)arg;
    sennit_loop_stop(sennit_bus_loop(sennit_ctx_bus(ctx)));
}

static void
get(sennit_ctx *ctx, sennit_bytes body, const void *vtable, void *self)
{
    (void)body;
    (void)vtable;
    (void)self;
    (void)sennit_reply_ok(sennit_ctx_reply(ctx), bytes_of("\x81\x01\x0c"));
}

int
main(void)
{
    static const sennit_method methods[] = { { "get", get } };
    static const sennit_service desk = { sizeof(sennit_service), "shop.Desk/1", methods,
                                         1 };
    unsigned echoes = 0;
    unsigned events = 0;
    sennit_consumer *ignored;
    sennit_bus_stats stats;
    sennit_loop *loop;
    sennit_bus *bus;

    if (sennit_loop_open(&loop, NULL) || sennit_bus_open(&bus, loop, NULL) ||
        sennit_bus_consume(bus, "echo", NULL, &ignored, echo, &echoes) ||
        sennit_bus_consume(bus, "news.*", NULL, &ignored, echo, &events) ||
        sennit_bus_consume(bus, "refuse", NULL, &ignored, refuse, NULL) ||
        sennit_bus_consume(bus, "forget", NULL, &ignored, forget, NULL) ||
        sennit_bus_consume(bus, "publish", NULL, &ignored, publish, NULL) ||
        sennit_bus_consume(bus, "stop", NULL, &ignored, stop, NULL) ||
        sennit_bus_serve(bus, &desk, NULL, NULL, NULL, &ignored) ||
        sennit_bus_listen(bus, "tcp://127.0.0.1:0") ||
        sennit_bus_listen_events(bus, "tcp://127.0.0.1:0"))
        return 1;
    printf("%s\n%s\n", sennit_bus_endpoint(bus), sennit_bus_events_endpoint(bus));
    (void)fflush(stdout);
    if (sennit_loop_run(loop))
        return 1;
    sennit_bus_get_stats(bus, &stats);
    printf("echoes %u events %u protocol %llu pending %llu\n", echoes, events,
           (unsigned long long)stats.protocol_errors_total,
           (unsigned long long)stats.replies_pending);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
    return 0;
}
