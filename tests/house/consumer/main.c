/* SPDX-License-Identifier: MIT */
/* Uses all that is installed once: a typed event from a bus to its own consumer. */
#include <stdio.h>

#include "greeting.snt.h"

static void
hear(sennit_ctx *ctx, const consumer_greeting *event, void *arg)
{
    printf("heard: %.*s\n", (int)event->text.size, event->text.data);
    *(int *)arg += 1;
    (void)ctx;
}

int
main(void)
{
    sennit_loop *loop = NULL;
    sennit_bus *bus = NULL;
    sennit_consumer *consumer;
    consumer_greeting event = CONSUMER_GREETING_INIT;
    int heard = 0;

    sennit_err err = sennit_loop_open(&loop, NULL);
    if (!err)
        err = sennit_bus_open(&bus, loop, NULL);
    if (!err)
        err = consumer_greeting_subscribe(bus, NULL, &consumer, hear, &heard);
    event.text = sennit_str_of("hello");
    if (!err)
        err = consumer_greeting_publish(bus, &event, NULL, NULL);
    while (!err && !heard)
        err = sennit_loop_turn(loop, 1000);
    if (err)
        fprintf(stderr, "consumer: %s\n", sennit_err_text(err));
    sennit_bus_close(bus);
    sennit_loop_close(loop);
    return err ? 1 : 0;
}
