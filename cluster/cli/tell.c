/* SPDX-License-Identifier: MIT */
#include "tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "usage.h"

void
cli_tell_events(sennit_sock *sock, const char *side)
{
    sennit_event event;

    while (!sennit_sock_next_event(sock, &event)) {
        fprintf(stderr, "event %s%s%s %s", side ? side : "", side ? " " : "",
                sennit_event_name(event.kind), event.endpoint);
        if (event.peer)
            fprintf(stderr, " peer=%" PRIu32, event.peer);
        if (event.identity_size)
            fputs(" identity=", stderr);
        for (size_t i = 0; i < event.identity_size; i++)
            fprintf(stderr, "%02x", event.identity[i]);
        if (event.delay_ms)
            fprintf(stderr, " delay_ms=%" PRIu32, event.delay_ms);
        if (event.err)
            fprintf(stderr, " error=%s", sennit_err_name(event.err));
        if (*event.reason)
            fprintf(stderr, " reason=\"%s\"", event.reason);
        if (event.lost)
            fprintf(stderr, " lost=%" PRIu64, event.lost);
        fputc('\n', stderr);
    }
}

void
cli_listening_add(cli_listening *self, const char *side, const char *wanted,
                  const char *endpoint)
{
    const char *gap = side ? " " : "";
    size_t room = sizeof self->text;

    if (!side)
        side = "";
    if (strcmp(endpoint, wanted) != 0)
        fprintf(stderr, "listening %s%s%s\n", side, gap, endpoint);
    if (self->used < room)
        self->used += (size_t)snprintf(self->text + self->used, room - self->used,
                                       "%s%s%s\n", side, gap, endpoint);
}

bool
cli_listening_write(const cli_listening *self, const char *command, const char *path)
{
    char *part;
    FILE *file = NULL;
    bool ok = false;

    if (!path)
        return true;
    if (self->used >= sizeof self->text) {
        cli_say("%s: too many endpoints for --endpoint-file", command);
        return false;
    }
    part = malloc(strlen(path) + sizeof ".part");
    if (part) {
        sprintf(part, "%s.part", path);
        file = fopen(part, "w");
    }
    if (file) {
        ok = fputs(self->text, file) >= 0;
        ok = fclose(file) == 0 && ok;
        ok = ok && rename(part, path) == 0;
    }
    if (!ok)
        cli_say("%s: --endpoint-file %s: cannot be written", command, path);
    free(part);
    return ok;
}
