/* SPDX-License-Identifier: MIT */
/* An event bus within one process: one consumer hears events, one answers requests.
 * With sennit_bus_listen() and sennit_bus_link() the same calls cross processes. */
#include <stdio.h>

#include <sennit/rpc.h>

static sennit_bytes
text(const char *s)
{
    sennit_str str = sennit_str_of(s);
    return (sennit_bytes){ (const uint8_t *)str.data, str.size };
}

static void
hear_order(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_str address = sennit_ctx_address(ctx);
    printf("%.*s: %.*s\n", (int)address.size, address.data, (int)body.size,
           (const char *)body.data);
    (void)arg;
}

static void
answer_price(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    sennit_err err = sennit_reply_ok(sennit_ctx_reply(ctx), text("12.50"));
    if (err)
        fprintf(stderr, "bus: no answer: %s\n", sennit_err_text(err));
    (void)body;
    (void)arg;
}

int
main(void)
{
    sennit_loop *loop = NULL;
    sennit_bus *bus = NULL;
    sennit_arena *arena = NULL;
    sennit_consumer *orders, *prices; /* live as long as the bus */
    sennit_bytes price = { NULL, 0 };
    sennit_error error = { .kind = SENNIT_KIND_NONE };

    sennit_err err = sennit_loop_open(&loop, NULL);
    if (err)
        goto out;
    err = sennit_bus_open(&bus, loop, NULL);
    if (err)
        goto out;
    err = sennit_arena_new(&arena, NULL);
    if (err)
        goto out;
    err = sennit_bus_consume(bus, "order.*", NULL, &orders, hear_order, NULL);
    if (err)
        goto out;
    err = sennit_bus_consume(bus, "price", NULL, &prices, answer_price, NULL);
    if (err)
        goto out;

    err = sennit_bus_publish(bus, "order.created", text("2 ropes"), NULL, NULL);
    if (err)
        goto out;
    err = sennit_bus_call(bus, "price", text("rope"), NULL, arena, &price, &error);
    if (err) {
        fprintf(stderr, "bus: %s\n", error.message);
        goto out;
    }
    printf("price: %.*s\n", (int)price.size, (const char *)price.data);

out:
    if (err)
        fprintf(stderr, "bus: %s\n", sennit_err_text(err));
    sennit_arena_free(arena);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
    return err ? 1 : 0;
}
