/* SPDX-License-Identifier: MIT */
/* A service and its caller. Here they share a bus; with sennit_bus_listen() in one
 * process and sennit_bus_link() in another, nothing else changes. */
#include <stdio.h>

#include "greeter.snt.h"

static void
greet(sennit_ctx *ctx, const hello_greeter_greet_args *in,
      hello_greeter_greet_reply reply, void *self)
{
    char text[64];
    sennit_err err;
    if (in->name.size == 0) {
        hello_nobody nobody = HELLO_NOBODY_INIT;
        nobody.why = sennit_str_of("who should that be?");
        err = hello_greeter_greet_err_nobody(reply, &nobody);
    } else {
        hello_greeter_greet_result out = HELLO_GREETER_GREET_RESULT_INIT;
        snprintf(text, sizeof text, "Hello, %.*s!", (int)in->name.size, in->name.data);
        out.text = sennit_str_of(text);
        err = hello_greeter_greet_ok(reply, &out);
    }
    if (err)
        fprintf(stderr, "rpc: no answer: %s\n", sennit_err_text(err));
    (void)ctx;
    (void)self;
}

static void
ask(sennit_bus *bus, sennit_arena *arena, const char *name)
{
    hello_greeter_client client;
    hello_greeter_greet_args in = HELLO_GREETER_GREET_ARGS_INIT;
    hello_greeter_greet_result out;
    sennit_error error;

    hello_greeter_client_init(&client, bus);
    in.name = sennit_str_of(name);
    sennit_err err = hello_greeter_greet(&client, &in, NULL, &out, arena, &error);
    if (!err) {
        printf("%.*s\n", (int)out.text.size, out.text.data);
        return;
    }
    const hello_nobody *nobody = hello_nobody_from_error(&error, arena);
    if (nobody)
        printf("nobody: %.*s\n", (int)nobody->why.size, nobody->why.data);
    else
        fprintf(stderr, "rpc: %s (the handler ran: %s)\n", error.message,
                sennit_ran_name(error.ran));
}

int
main(void)
{
    static const hello_greeter_vtable methods = HELLO_GREETER_VTABLE_INIT(.greet = greet);
    sennit_loop *loop = NULL;
    sennit_bus *bus = NULL;
    sennit_arena *arena = NULL;
    sennit_consumer *greeter; /* lives as long as the bus */

    sennit_err err = sennit_loop_open(&loop, NULL);
    if (!err)
        err = sennit_bus_open(&bus, loop, NULL);
    if (!err)
        err = sennit_arena_new(&arena, NULL);
    if (!err)
        err = hello_greeter_serve(bus, &methods, NULL, NULL, &greeter);
    if (!err) {
        ask(bus, arena, "Ada");
        ask(bus, arena, "");
    } else {
        fprintf(stderr, "rpc: %s\n", sennit_err_text(err));
    }
    sennit_arena_free(arena);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
    return err ? 1 : 0;
}
