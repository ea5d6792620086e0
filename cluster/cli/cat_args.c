/* SPDX-License-Identifier: MIT */
/* The command line of `sennit cat`: reading it, and refusing what cannot work
 * with a sentence that says what to write instead. */
#include "cat_args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "sock_option.h"
#include "usage.h"

#define WHY_MAX 640

typedef enum cat_option {
    OPTION_BIND = 256,
    OPTION_CONNECT,
    OPTION_SUBSCRIBE,
    OPTION_SEND,
    OPTION_SEND_JSON,
    OPTION_STDIN,
    OPTION_RECV,
    OPTION_ECHO,
    OPTION_COUNT,
    OPTION_TIMEOUT,
    OPTION_ID,
    OPTION_FORMAT,
    OPTION_BACKEND,
    OPTION_OPTION,
    OPTION_ENDPOINT_FILE,
    OPTION_VERBOSE,
} cat_option;

static const struct option options[] = {
    { "bind", required_argument, NULL, OPTION_BIND },
    { "connect", required_argument, NULL, OPTION_CONNECT },
    { "subscribe", required_argument, NULL, OPTION_SUBSCRIBE },
    { "send", required_argument, NULL, OPTION_SEND },
    { "send-json", required_argument, NULL, OPTION_SEND_JSON },
    { "stdin", no_argument, NULL, OPTION_STDIN },
    { "recv", no_argument, NULL, OPTION_RECV },
    { "echo", no_argument, NULL, OPTION_ECHO },
    { "count", required_argument, NULL, OPTION_COUNT },
    { "timeout", required_argument, NULL, OPTION_TIMEOUT },
    { "id", required_argument, NULL, OPTION_ID },
    { "format", required_argument, NULL, OPTION_FORMAT },
    { "backend", required_argument, NULL, OPTION_BACKEND },
    { "option", required_argument, NULL, OPTION_OPTION },
    { "endpoint-file", required_argument, NULL, OPTION_ENDPOINT_FILE },
    { "verbose", no_argument, NULL, OPTION_VERBOSE },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static const char *const format_names[] = {
    [CLI_TEXT] = "text",
    [CLI_HEX] = "hex",
    [CLI_JSON] = "json",
};

static const char *const backend_names[] = {
    [SENNIT_BACKEND_AUTO] = "auto",
    [SENNIT_BACKEND_EPOLL] = "epoll",
    [SENNIT_BACKEND_URING] = "uring",
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Indexed by type: the library's numbers are dense. */
static const unsigned abilities[] = {
    [SENNIT_PAIR] = CAT_SENDS | CAT_RECEIVES | CAT_ECHOES,
    [SENNIT_PUB] = CAT_SENDS,
    [SENNIT_SUB] = CAT_RECEIVES,
    [SENNIT_REQ] = CAT_SENDS | CAT_RECEIVES | CAT_ASKS,
    [SENNIT_REP] = CAT_SENDS | CAT_RECEIVES | CAT_ECHOES | CAT_ANSWERS,
    [SENNIT_DEALER] = CAT_SENDS | CAT_RECEIVES | CAT_ECHOES,
    [SENNIT_ROUTER] = CAT_SENDS | CAT_RECEIVES | CAT_ECHOES,
    [SENNIT_PULL] = CAT_RECEIVES,
    [SENNIT_PUSH] = CAT_SENDS,
    [SENNIT_XPUB] = CAT_SENDS | CAT_RECEIVES,
    [SENNIT_XSUB] = CAT_SENDS | CAT_RECEIVES,
    [SENNIT_STREAM] = CAT_SENDS | CAT_RECEIVES,
};

unsigned
cat_abilities(sennit_sock_type type)
{
    return (size_t)type < COUNT_OF(abilities) ? abilities[type] : 0;
}

/* ---- Values ----------------------------------------------------------- */

static bool
out_of_memory(void)
{
    cli_say("cat: out of memory");
    return false;
}

/* Makes room for one more element behind `*count`; false without memory. */
static bool
grow(void **array, size_t count, size_t size)
{
    void *grown = realloc(*array, (count + 1) * size);

    if (!grown)
        return out_of_memory();
    *array = grown;
    memset((char *)grown + count * size, 0, size);
    return true;
}

static bool
read_word(const char *option, const char *word, const char *const *known, size_t count,
          size_t *out)
{
    char list[128] = "";
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, known[i]) == 0) {
            *out = i;
            return true;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 known[i]);
    }
    cli_say("cat: --%s is one of %s, not '%s'", option, list, word);
    return false;
}

static bool
add_endpoint(cat_args *args, bool bind, const char *text)
{
    void *array = args->endpoints;

    if (!cli_check_reachable(bind ? "cat: --bind" : "cat: --connect", text))
        return false;
    if (!grow(&array, args->endpoints_count, sizeof *args->endpoints))
        return false;
    args->endpoints = array;
    args->endpoints[args->endpoints_count++] = (cat_endpoint){ bind, text };
    return true;
}

static bool
add_topic(cat_args *args, const char *text)
{
    void *array = args->topics;

    if (!grow(&array, args->topics_count, sizeof *args->topics))
        return false;
    args->topics = array;
    args->topics[args->topics_count++] = text;
    return true;
}

static cat_item *
add_item(cat_args *args)
{
    void *array = args->items;

    if (!grow(&array, args->items_count, sizeof *args->items))
        return NULL;
    args->items = array;
    return &args->items[args->items_count++];
}

static bool
add_text(cat_args *args, const char *text)
{
    cat_item *item = add_item(args);

    if (!item)
        return false;
    return cli_message_push_copy(&item->message, text, strlen(text)) || out_of_memory();
}

static bool
add_json(cat_args *args, const char *text)
{
    cat_item *item = add_item(args);
    char why[WHY_MAX];

    if (!item)
        return false;
    if (cli_message_read_json(&item->message, text, why, sizeof why))
        return true;
    cli_say("cat: --send-json '%s': %s", text, why);
    return false;
}

static bool
add_stdin(cat_args *args)
{
    cat_item *item;

    if (args->has_stdin) {
        cli_say("cat: --stdin is given twice; standard input can be read only once");
        return false;
    }
    item = add_item(args);
    if (!item)
        return false;
    item->is_stdin = true;
    args->has_stdin = true;
    return true;
}

static bool
set_sock_option(cat_args *args, const char *assignment)
{
    char why[WHY_MAX];

    args->mandatory_given |= strncmp(assignment, "router_mandatory=", 17) == 0;
    if (cli_sock_option_set(&args->opts, assignment, why, sizeof why))
        return true;
    cli_say("cat: --option %s: %s", assignment, why);
    return false;
}

static bool
set_identity(cat_args *args, const char *id)
{
    char why[WHY_MAX], assignment[SENNIT_IDENTITY_MAX + 16];

    snprintf(assignment, sizeof assignment, "identity=%s", id);
    if (strlen(id) <= SENNIT_IDENTITY_MAX &&
        cli_sock_option_set(&args->opts, assignment, why, sizeof why))
        return true;
    cli_say("cat: --id %s: an identity has 1 to %d bytes", id, SENNIT_IDENTITY_MAX);
    return false;
}

static bool
take_option(void *arg, int option, const char *value)
{
    cat_args *args = arg;
    uint64_t number;
    size_t index;

    switch (option) {
    case OPTION_BIND:
        return add_endpoint(args, true, value);
    case OPTION_CONNECT:
        return add_endpoint(args, false, value);
    case OPTION_SUBSCRIBE:
        return add_topic(args, value);
    case OPTION_SEND:
        return add_text(args, value);
    case OPTION_SEND_JSON:
        return add_json(args, value);
    case OPTION_STDIN:
        return add_stdin(args);
    case OPTION_RECV:
        args->receives = true;
        return true;
    case OPTION_ECHO:
        args->echo = true;
        return true;
    case OPTION_COUNT:
        if (cli_parse_number(value, 1, UINT64_MAX, &args->count))
            return true;
        cli_say("cat: --count takes a number from 1 on, not '%s'", value);
        return false;
    case OPTION_TIMEOUT:
        if (!cli_parse_number(value, 0, INT32_MAX, &number)) {
            cli_say("cat: --timeout takes milliseconds, 0 to %d, not '%s'", INT32_MAX,
                    value);
            return false;
        }
        args->timeout_ms = (int64_t)number;
        return true;
    case OPTION_ID:
        return set_identity(args, value);
    case OPTION_FORMAT:
        if (!read_word("format", value, format_names, COUNT_OF(format_names), &index))
            return false;
        args->format = (cli_format)index;
        return true;
    case OPTION_BACKEND:
        if (!read_word("backend", value, backend_names, COUNT_OF(backend_names), &index))
            return false;
        args->backend = (sennit_backend)index;
        return true;
    case OPTION_OPTION:
        return set_sock_option(args, value);
    case OPTION_ENDPOINT_FILE:
        args->endpoint_file = value;
        return true;
    case OPTION_VERBOSE:
        args->verbose = true;
        return true;
    }
    return false;
}

/* ---- What cannot work together ---------------------------------------- */

static bool
refuse(const char *type, const char *text)
{
    cli_say("cat: %s %s", type, text);
    return false;
}

static bool
check_rep(const cat_args *args)
{
    if (args->has_stdin)
        return refuse("REP", "cannot answer from --stdin; add --echo or --send TEXT");
    if (!args->echo && !args->items_count && args->count != 1)
        return refuse("REP", "answers each request before it takes the next; add --echo, "
                             "--send TEXT or --count 1");
    return true;
}

static bool
check_abilities(const cat_args *args)
{
    const char *type = sennit_sock_type_name(args->type);
    unsigned can = cat_abilities(args->type);

    if (args->items_count && !(can & CAT_SENDS))
        return refuse(type, "only receives; drop --send, --send-json and --stdin");
    if (args->receives && !(can & CAT_RECEIVES))
        return refuse(type, "only sends; drop --recv");
    if (args->echo && !(can & CAT_ECHOES))
        return refuse(type, "cannot --echo; PAIR, REP, DEALER and ROUTER can");
    if (args->topics_count && args->type != SENNIT_SUB)
        return refuse(type, "has no --subscribe; only SUB has");
    if (!args->items_count && !(can & CAT_RECEIVES))
        return refuse(type,
                      "has nothing to send; add --send TEXT, --send-json or --stdin");
    if (!args->items_count && (can & CAT_ASKS))
        return refuse(type,
                      "has nothing to ask; add --send TEXT, --send-json or --stdin");
    if (args->echo && args->items_count && (can & CAT_ANSWERS))
        return refuse(type, "answers either with --echo or with --send, not with both");
    return !(can & CAT_ANSWERS) || check_rep(args);
}

/* Everything that follows from the options but was not said. */
static bool
settle(cat_args *args)
{
    unsigned can = cat_abilities(args->type);

    if (!args->endpoints_count) {
        cli_say("cat: nowhere to go; add --bind ENDPOINT or --connect ENDPOINT");
        return false;
    }
    if (!check_abilities(args))
        return false;
    if (args->echo || !args->items_count || (can & (CAT_ASKS | CAT_ANSWERS)))
        args->receives = true;
    if ((can & CAT_ASKS) && !args->count && !args->has_stdin)
        args->count = args->items_count;
    /* By hand one rather waits for a peer than loses a message without a word. */
    if (args->type == SENNIT_ROUTER && !args->mandatory_given)
        args->opts.router_mandatory = true;
    if (args->type == SENNIT_SUB && !args->topics_count)
        return add_topic(args, "");
    return true;
}

/* ---- The command line ------------------------------------------------- */

static void
init(cat_args *args)
{
    *args = (cat_args){ .opts = SENNIT_SOCK_OPTS_DEFAULT, .timeout_ms = -1 };
    /* The run waits until the kernel has everything; closing, until the peer has. */
    args->opts.linger_ms = CLI_LINGER_MS;
}

bool
cat_args_parse(cat_args *args, const cli_command *command, int argc, char **argv,
               int *exit_code)
{
    init(args);
    if (!cli_read_options(command, argc, argv, options, take_option, args, exit_code))
        return false;
    if (optind == argc) {
        cli_say("cat: which socket? Write 'sennit cat TYPE ...', as in 'sennit cat sub "
                "--connect tcp://127.0.0.1:5556'");
        return false;
    }
    if (!cli_sock_type_read("cat", argv[optind], &args->type))
        return false;
    if (optind + 1 < argc) {
        cli_say("cat: unexpected argument '%s'; a message to send follows --send",
                argv[optind + 1]);
        return false;
    }
    return settle(args);
}

void
cat_args_fini(cat_args *args)
{
    for (size_t i = 0; i < args->items_count; i++)
        cli_message_fini(&args->items[i].message);
    free(args->items);
    free(args->topics);
    free(args->endpoints);
}
