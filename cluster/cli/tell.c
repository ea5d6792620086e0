/* SPDX-License-Identifier: MIT */
#include "tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "usage.h"

/* What a peer chose: printed so that it stays on its line and in its quotes, and a
 * terminal obeys none of it. */
static void
print_quoted(const uint8_t *data, size_t size)
{
    fputc('"', stderr);
    for (size_t i = 0; i < size; i++) {
        if (data[i] < 0x20 || data[i] > 0x7e || data[i] == '"' || data[i] == '\\')
            fprintf(stderr, "\\x%02x", data[i]);
        else
            fputc(data[i], stderr);
    }
    fputc('"', stderr);
}

static void
print_topic(const sennit_event *event)
{
    size_t kept = sizeof event->topic;

    fputs(" topic=", stderr);
    print_quoted(event->topic, event->topic_size < kept ? event->topic_size : kept);
    if (event->topic_size > kept)
        fprintf(stderr, " topic_size=%" PRIu32, event->topic_size);
}

static void
print_event(const sennit_event *event)
{
    fprintf(stderr, "%s %s", sennit_event_name(event->kind), event->endpoint);
    if (event->peer)
        fprintf(stderr, " peer=%" PRIu32, event->peer);
    if (*event->address)
        fprintf(stderr, " address=%s", event->address);
    if (event->kind == SENNIT_EVENT_SUBSCRIBED ||
        event->kind == SENNIT_EVENT_UNSUBSCRIBED)
        print_topic(event);
    if (event->identity_size)
        fputs(" identity=", stderr);
    for (size_t i = 0; i < event->identity_size; i++)
        fprintf(stderr, "%02x", event->identity[i]);
    if (event->delay_ms)
        fprintf(stderr, " delay_ms=%" PRIu32, event->delay_ms);
    if (event->err)
        fprintf(stderr, " error=%s", sennit_err_name(event->err));
    if (*event->reason)
        fprintf(stderr, " reason=\"%s\"", event->reason);
    if (event->lost)
        fprintf(stderr, " lost=%" PRIu64, event->lost);
    fputc('\n', stderr);
}

static void
keep_failure(sennit_event *failure, const sennit_event *event)
{
    if (event->kind == SENNIT_EVENT_CONNECT_FAILED ||
        event->kind == SENNIT_EVENT_HANDSHAKE_FAILED ||
        event->kind == SENNIT_EVENT_ACCEPT_FAILED)
        *failure = *event;
    else if (event->kind == SENNIT_EVENT_READY &&
             strcmp(event->endpoint, failure->endpoint) == 0)
        *failure = (sennit_event){ .reason = "" };
}

void
cli_take_events(sennit_sock *sock, const char *side, bool aloud, sennit_event *failure)
{
    sennit_event event;

    while (!sennit_sock_next_event(sock, &event)) {
        if (aloud) {
            fprintf(stderr, "event %s%s", side ? side : "", side ? " " : "");
            print_event(&event);
        }
        if (failure)
            keep_failure(failure, &event);
    }
}

void
cli_tell_failure(const char *command, const sennit_event *failure)
{
    if (!failure->kind)
        return;
    fprintf(stderr, "sennit: %s: the last failure was ", command);
    print_event(failure);
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
cli_listening_write(cli_listening *self, const char *command, const char *path)
{
    char *part;
    FILE *file = NULL;
    struct stat now;
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
        ok = fputs(self->text, file) >= 0 && fstat(fileno(file), &now) == 0;
        ok = fclose(file) == 0 && ok;
        ok = ok && rename(part, path) == 0;
    }
    if (ok) {
        self->path = path;
        self->path_device = now.st_dev;
        self->path_inode = now.st_ino;
    }
    if (!ok)
        cli_say("%s: --endpoint-file %s: cannot be written", command, path);
    free(part);
    return ok;
}

void
cli_listening_remove(cli_listening *self)
{
    struct stat now;

    /* The next one may be up already, with a file of its own under the same name. */
    if (self->path && stat(self->path, &now) == 0 && now.st_dev == self->path_device &&
        now.st_ino == self->path_inode)
        unlink(self->path);
    self->path = NULL;
}
