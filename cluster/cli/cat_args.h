/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CLI_CAT_ARGS_H
#define SENNIT_CLI_CAT_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include <sennit/sennit.h>

#include "command.h"
#include "message.h"

/* The command line of `sennit cat`, checked. */

typedef struct cat_endpoint {
    bool bind;
    const char *text;
} cat_endpoint;

/* One thing to send, in the order given: a message, or all lines of stdin. */
typedef struct cat_item {
    bool is_stdin;
    cli_message message;
} cat_item;

typedef struct cat_args {
    sennit_sock_type type;
    sennit_sock_opts opts;
    bool mandatory_given; /* router_mandatory was set by --option */
    sennit_backend backend;
    cat_endpoint *endpoints; /* in the order given */
    size_t endpoints_count;
    const char **topics; /* --subscribe */
    size_t topics_count;
    cat_item *items;
    size_t items_count;
    bool has_stdin;     /* one of the items is stdin */
    bool receives;      /* the run receives, because asked or because of the type */
    bool echo;          /* each received message goes back */
    bool verbose;       /* monitor events on stderr */
    uint64_t count;     /* what ends the run; 0: nothing but the end of what is sent */
    int64_t timeout_ms; /* for the whole run; -1: none */
    cli_format format;
    const char *endpoint_file; /* NULL: none */
} cat_args;

/* Reads `argv`. Gives: true with a checked `*args`, or false as cli_read_options(). The
 * strings stay in argv. cat_args_fini() is due either way. */
bool cat_args_parse(cat_args *args, const cli_command *command, int argc, char **argv,
                    int *exit_code);
void cat_args_fini(cat_args *args);

/* What a type can do, as bits. */
enum {
    CAT_SENDS = 1u << 0,
    CAT_RECEIVES = 1u << 1,
    CAT_ECHOES = 1u << 2,  /* a received message can go back as it is */
    CAT_ASKS = 1u << 3,    /* REQ: send, then receive */
    CAT_ANSWERS = 1u << 4, /* REP: receive, then send */
};
unsigned cat_abilities(sennit_sock_type type);

#endif /* SENNIT_CLI_CAT_ARGS_H */
