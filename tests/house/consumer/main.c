/* SPDX-License-Identifier: MIT */
/* Uses both installed libraries once: an event from a bus to its own consumer. */
#include <stdio.h>

#include <sennit/rpc.h>
#include <sennit/sennit.h>

static void
hear(sennit_ctx *ctx, sennit_bytes body, void *arg)
{
    printf("heard: %.*s\n", (int)body.size, (const char *)body.data);
    *(int *)arg += 1;
    (void)ctx;
}

int
main(void)
{
    sennit_loop *loop = NULL;
    sennit_bus *bus = NULL;
    sennit_consumer *consumer;
    int heard = 0;
    sennit_err err = sennit_loop_open(&loop, NULL);
    if (err)
        goto out;
    err = sennit_bus_open(&bus, loop, NULL);
    if (err)
        goto out;
    err = sennit_bus_consume(bus, "greeting", NULL, &consumer, hear, &heard);
    if (err)
        goto out;
    err = sennit_bus_publish(bus, "greeting",
                             (sennit_bytes){ (const uint8_t *)"hello", 5 }, NULL, NULL);
    while (!err && !heard)
        err = sennit_loop_turn(loop, 1000);

out:
    if (err)
        fprintf(stderr, "consumer: %s\n", sennit_err_text(err));
    sennit_bus_close(bus);
    sennit_loop_close(loop);
    return err ? 1 : 0;
}
