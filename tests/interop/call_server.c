/* SPDX-License-Identifier: MIT */
/* Serves desk.snt on an endpoint it prints, until its input ends: the other side of
 * call.py. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "desk.snt.h"

enum { TEXTS_MAX = 16, TEXT_MAX_BYTES = 64 };

typedef struct notebook {
    char storage[TEXTS_MAX][TEXT_MAX_BYTES];
    sennit_str texts[TEXTS_MAX];
    size_t texts_count;
} notebook;

static _Noreturn void
quit(const char *what, sennit_err err)
{
    fprintf(stderr, "call_server: %s: %s\n", what, sennit_err_text(err));
    exit(2);
}

static void
must(const char *what, sennit_err err)
{
    if (err)
        quit(what, err);
}

static void
copy(sennit_ctx *ctx, const desk_desk_copy_args *in, desk_desk_copy_reply reply,
     void *self)
{
    desk_desk_copy_result out = DESK_DESK_COPY_RESULT_INIT;
    sennit_err err;

    (void)ctx;
    (void)self;
    out.form = in->form;
    err = desk_desk_copy_ok(reply, &out);
    if (err != SENNIT_ESTATE) /* the caller does not wait for it: --oneway */
        must("copy", err);
}

static void
refuse(sennit_ctx *ctx, const desk_desk_refuse_args *in, desk_desk_refuse_reply reply,
       void *self)
{
    desk_refused detail = DESK_REFUSED_INIT;

    (void)ctx;
    (void)self;
    detail.name = in->name;
    detail.tries = 3;
    must("refuse", desk_desk_refuse_err_refused(reply, &detail));
}

static void
scold(sennit_ctx *ctx, desk_desk_scold_reply reply, void *self)
{
    (void)ctx;
    (void)self;
    must("scold", desk_desk_scold_fail(reply, SENNIT_KIND_RECIPIENT_FAILURE, "%s",
                                       "r\xc3\xa4"
                                       "d\x1b[31m\nsennit: \xc2\x9b\x7f"));
}

static void
stall(sennit_ctx *ctx, desk_desk_stall_reply reply, void *self)
{
    (void)ctx;
    (void)self;
    must("stall", sennit_reply_keep(reply.reply));
}

static void
tell(sennit_ctx *ctx, const desk_desk_tell_args *in, void *self)
{
    notebook *notes = self;
    size_t i = notes->texts_count++;

    (void)ctx;
    if (i == TEXTS_MAX || in->text.size > TEXT_MAX_BYTES)
        quit("tell", SENNIT_EMSGSIZE);
    memcpy(notes->storage[i], in->text.data, in->text.size);
    notes->texts[i] = (sennit_str){ notes->storage[i], in->text.size };
}

static void
told(sennit_ctx *ctx, desk_desk_told_reply reply, void *self)
{
    notebook *notes = self;
    desk_desk_told_result out = DESK_DESK_TOLD_RESULT_INIT;

    (void)ctx;
    out.texts = notes->texts;
    out.n_texts = notes->texts_count;
    must("told", desk_desk_told_ok(reply, &out));
}

/* Turns the loop until standard input ends. */
static void
serve(sennit_loop *loop)
{
    struct pollfd fds[2] = {
        { .fd = STDIN_FILENO, .events = POLLIN },
        { .fd = sennit_loop_fd(loop), .events = POLLIN },
    };
    char ignored[64];

    for (;;) {
        sennit_err err = sennit_loop_turn(loop, 0);
        if (err && err != SENNIT_EINTR)
            quit("loop", err);
        if (poll(fds, 2, sennit_loop_timeout_ms(loop)) > 0 && fds[0].revents &&
            read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
            return;
    }
}

int
main(int argc, char **argv)
{
    static const desk_desk_vtable methods =
        DESK_DESK_VTABLE_INIT(.copy = copy, .refuse = refuse, .scold = scold,
                              .stall = stall, .tell = tell, .told = told);
    static notebook notes;
    sennit_loop *loop = NULL;
    sennit_bus *bus = NULL;
    sennit_consumer *consumer;

    if (argc != 2)
        quit("write 'call_server ENDPOINT'", SENNIT_EINVAL);
    must("loop", sennit_loop_open(&loop, NULL));
    must("bus", sennit_bus_open(&bus, loop, NULL));
    must("serve", desk_desk_serve(bus, &methods, &notes, NULL, &consumer));
    must("listen", sennit_bus_listen(bus, argv[1]));
    printf("%s\n", sennit_bus_endpoint(bus));
    fflush(stdout);
    serve(loop);
    sennit_bus_close(bus);
    sennit_loop_close(loop);
    return 0;
}
