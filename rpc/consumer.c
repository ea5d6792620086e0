/* SPDX-License-Identifier: MIT */
/* Consumers, their mailboxes, and running their handlers. */
#include "rpc/bus.h"

#include <string.h>

#include "base/alloc.h"
#include "rpc/address.h"
#include "rpc/limits.h"

/* One message in a mailbox. Small bodies are copied behind the address and the
 * headers; larger ones keep a reference to the frame they came in. */
struct sni_mail {
    sni_mail *next;
    sni_record_type type;
    bool guest;
    bool pooled; /* its storage is of the one small size */
    uint8_t node[SENNIT_NODE_ID_SIZE];
    uint64_t inbound;
    const sennit_method *method;
    sennit_time arrived;
    sennit_time deadline;
    size_t address_size;
    size_t headers_size;
    sennit_bytes body;
    sennit_msg frame;
    uint8_t data[]; /* address, headers, body */
};

_Static_assert(sizeof(sni_mail) <= SNI_MAIL_POOL_BYTES / 2, "pooled mail has room");

/* ---- Mail ------------------------------------------------------------- */

static sennit_str
mail_address(const sni_mail *mail)
{
    return (sennit_str){ (const char *)mail->data, mail->address_size };
}

static sennit_bytes
mail_headers(const sni_mail *mail)
{
    return (sennit_bytes){ mail->data + mail->address_size, mail->headers_size };
}

/* What a mailbox counts a letter as. */
static uint64_t
letter_bytes(size_t address_size, size_t headers_size, size_t body_size)
{
    return sizeof(sni_mail) + address_size + headers_size + body_size;
}

static uint64_t
mail_bytes(const sni_mail *mail)
{
    return letter_bytes(mail->address_size, mail->headers_size, mail->body.size);
}

/* Storage for `size` bytes of mail: small mail has one size, so that what a burst
 * took serves the next one. */
static sni_mail *
mail_storage(sennit_bus *bus, size_t size)
{
    sni_mail *mail = bus->spare_mail;
    bool pooled = size <= SNI_MAIL_POOL_BYTES;

    if (pooled && mail != NULL) {
        bus->spare_mail = mail->next;
        bus->spare_mail_count--;
    } else {
        mail = sni_acquire(bus->alloc, pooled ? SNI_MAIL_POOL_BYTES : size);
    }
    if (mail != NULL) {
        memset(mail, 0, sizeof *mail);
        mail->pooled = pooled;
    }
    return mail;
}

/* Whether the body is copied, or shares the frame it came in. */
static bool
is_copied(const sni_letter *letter)
{
    return letter->frame == NULL || letter->body.size <= SNI_MAIL_COPY_MAX_BYTES ||
           letter->body.size < sennit_msg_size(letter->frame) / 2;
}

static sni_mail *
mail_new(sennit_bus *bus, const sni_letter *letter)
{
    bool copy = is_copied(letter);
    size_t size = letter->address.size + letter->headers.size;
    sni_mail *mail =
        mail_storage(bus, sizeof *mail + size + (copy ? letter->body.size : 0));

    if (mail == NULL)
        return NULL;
    mail->type = letter->type;
    mail->guest = letter->node == NULL;
    if (letter->node != NULL)
        memcpy(mail->node, letter->node, sizeof mail->node);
    mail->inbound = letter->inbound;
    mail->method = letter->method;
    mail->arrived = letter->arrived;
    mail->deadline = letter->deadline;
    mail->address_size = letter->address.size;
    mail->headers_size = letter->headers.size;
    memcpy(mail->data, letter->address.data, letter->address.size);
    if (letter->headers.size > 0)
        memcpy(mail->data + letter->address.size, letter->headers.data,
               letter->headers.size);
    mail->body = letter->body;
    sennit_msg_init(&mail->frame);
    if (copy) {
        if (letter->body.size > 0)
            memcpy(mail->data + size, letter->body.data, letter->body.size);
        mail->body.data = mail->data + size;
    } else {
        sennit_msg_copy(&mail->frame, letter->frame);
    }
    return mail;
}

static void
mail_free(sennit_bus *bus, sni_mail *mail)
{
    sennit_msg_fini(&mail->frame);
    if (!mail->pooled || bus->spare_mail_count >= SNI_MAIL_POOL_MAX) {
        sni_release(bus->alloc, mail);
        return;
    }
    mail->next = bus->spare_mail;
    bus->spare_mail = mail;
    bus->spare_mail_count++;
}

static void
mail_dead(sennit_bus *bus, sennit_dead_reason reason, const sni_mail *mail,
          const char *text)
{
    sni_letter letter = {
        .type = mail->type,
        .address = mail_address(mail),
        .body = mail->body,
        .node = mail->guest ? NULL : mail->node,
        .arrived = mail->arrived,
        .text = text,
    };

    sni_bus_dead(bus, reason, &letter);
}

sennit_err
sni_consumer_post(sennit_consumer *consumer, const sni_letter *letter)
{
    sennit_bus *bus = consumer->bus;
    uint64_t bytes =
        letter_bytes(letter->address.size, letter->headers.size, letter->body.size);
    sni_mail *mail;

    /* An empty mailbox takes any one message: a bound below its size must not make
     * an address unusable. */
    if (consumer->mail_msgs >= consumer->mail_max_msgs ||
        (consumer->mail_msgs > 0 &&
         consumer->mail_bytes + bytes > consumer->mail_max_bytes))
        return SENNIT_EAGAIN;
    mail = mail_new(bus, letter);
    if (mail == NULL)
        return SENNIT_ENOMEM;
    if (consumer->last != NULL)
        consumer->last->next = mail;
    else
        consumer->first = mail;
    consumer->last = mail;
    consumer->mail_msgs++;
    consumer->mail_bytes += bytes;
    bus->stats.mailbox_msgs++;
    bus->stats.mailbox_bytes += bytes;
    if (!sni_link_linked(&consumer->ready))
        sni_list_push(&bus->ready, &consumer->ready);
    return SENNIT_OK;
}

static sni_mail *
take_mail(sennit_consumer *consumer)
{
    sennit_bus *bus = consumer->bus;
    sni_mail *mail = consumer->first;

    if (mail == NULL)
        return NULL;
    consumer->first = mail->next;
    if (consumer->first == NULL)
        consumer->last = NULL;
    consumer->mail_msgs--;
    consumer->mail_bytes -= mail_bytes(mail);
    bus->stats.mailbox_msgs--;
    bus->stats.mailbox_bytes -= mail_bytes(mail);
    return mail;
}

/* ---- Running ---------------------------------------------------------- */

static void
call_handler(sennit_consumer *consumer, sennit_ctx *ctx, const sni_mail *mail)
{
    if (mail->method != NULL)
        mail->method->fn(ctx, mail->body, consumer->vtable, consumer->arg);
    else if (consumer->thunk != NULL)
        consumer->thunk(ctx, mail->body, consumer->any, consumer->arg);
    else
        consumer->fn(ctx, mail->body, consumer->arg);
}

/* R7: what nobody waits for any more is not run. Returns whether that is so. */
static bool
expired(sennit_bus *bus, const sni_mail *mail)
{
    sni_inbound *inbound = sni_slots_find(&bus->inbounds, mail->inbound);

    if (inbound == NULL)
        return true; /* cancelled, or its caller is gone */
    if (mail->deadline == SENNIT_NEVER || sennit_loop_now(bus->loop) < mail->deadline)
        return false;
    bus->stats.expired_in_queue_total++;
    mail_dead(bus, SENNIT_DEAD_EXPIRED, mail, "");
    sni_inbound_refuse(inbound, SENNIT_KIND_TIMEOUT, SENNIT_RAN_NEVER,
                       "the time was up before its turn came");
    return true;
}

static void
run_mail(sennit_consumer *consumer, const sni_mail *mail)
{
    sennit_bus *bus = consumer->bus;
    sennit_ctx ctx = { bus, mail };
    sni_inbound *inbound = sni_slots_find(&bus->inbounds, mail->inbound);

    if (inbound != NULL)
        inbound->state = SNI_INBOUND_RUNNING;
    bus->current = mail->inbound;
    bus->current_deadline = mail->deadline;
    bus->stats.handled_total++;
    call_handler(consumer, &ctx, mail);
    bus->current = 0;
    bus->current_deadline = SENNIT_NEVER;
    sennit_arena_reset(bus->arena);
    inbound = sni_slots_find(&bus->inbounds, mail->inbound);
    if (inbound != NULL)
        sni_inbound_returned(inbound, mail_address(mail));
}

static void consumer_free(sennit_consumer *consumer);

/* Runs the consumer's mail, at most a burst of it. Returns false when it is gone. */
static bool
run_consumer(sennit_consumer *consumer, size_t *budget)
{
    sennit_bus *bus = consumer->bus;
    unsigned burst = 0;

    consumer->running = true;
    while (burst<SNI_CONSUMER_BURST && * budget> 0 && !consumer->cancelled &&
           !bus->dying) {
        sni_mail *mail = take_mail(consumer);

        if (mail == NULL)
            break;
        if (mail->inbound == 0 || !expired(bus, mail))
            run_mail(consumer, mail);
        mail_free(bus, mail);
        burst++;
        (*budget)--;
    }
    consumer->running = false;
    if (!consumer->cancelled)
        return true;
    consumer_free(consumer);
    return false;
}

bool
sni_consumers_run(sennit_bus *bus, size_t *budget)
{
    bool ran = false;
    sni_link *first;

    while (*budget > 0 && !bus->dying && (first = sni_list_first(&bus->ready)) != NULL) {
        sennit_consumer *consumer = SNI_OWNER_OF(first, sennit_consumer, ready);

        ran = true;
        sni_link_remove(&consumer->ready);
        if (run_consumer(consumer, budget) && consumer->first != NULL &&
            !sni_link_linked(&consumer->ready))
            sni_list_push(&bus->ready, &consumer->ready); /* behind its neighbours */
    }
    return ran;
}

/* ---- Registering ------------------------------------------------------ */

static sennit_str
consumer_key(const sennit_consumer *consumer)
{
    return (sennit_str){ consumer->key, consumer->key_size };
}

/* A consumer of `key`, known to this bus and, if its scope says so, to others. */
static sennit_err
consumer_new(sennit_bus *bus, sennit_str key, const sennit_consume_opts *opts,
             sennit_consumer **out)
{
    static const sennit_consume_opts defaults = { SENNIT_SCOPE_CLUSTER, 0, 0 };
    sennit_consumer *consumer;
    sennit_err err;

    if (opts == NULL)
        opts = &defaults;
    consumer = sni_acquire_zero(bus->alloc, sizeof *consumer + key.size);
    if (consumer == NULL)
        return SENNIT_ENOMEM;
    consumer->bus = bus;
    consumer->scope = opts->scope;
    consumer->mail_max_msgs =
        opts->mailbox_max_msgs ? opts->mailbox_max_msgs : bus->opts.mailbox_max_msgs;
    consumer->mail_max_bytes =
        opts->mailbox_max_bytes ? opts->mailbox_max_bytes : bus->opts.mailbox_max_bytes;
    consumer->key_size = key.size;
    memcpy(consumer->key, key.data, key.size);
    err = sni_routes_add(bus->routes, consumer_key(consumer), true, consumer,
                         sni_bus_random(bus));
    if (err) {
        sni_release(bus->alloc, consumer);
        return err;
    }
    sni_link_init(&consumer->ready);
    sni_list_push(&bus->consumers, &consumer->link);
    bus->stats.consumers++;
    if (consumer->scope == SENNIT_SCOPE_CLUSTER)
        sni_peers_announce(bus, consumer_key(consumer), true);
    *out = consumer;
    return SENNIT_OK;
}

/* Ends the mail that waits: requests are refused with `kind`. */
static void
consumer_drain(sennit_consumer *consumer, sennit_kind kind, sennit_dead_reason reason)
{
    sennit_bus *bus = consumer->bus;
    sni_mail *mail;

    while ((mail = take_mail(consumer)) != NULL) {
        sni_inbound *inbound = sni_slots_find(&bus->inbounds, mail->inbound);

        if (inbound != NULL)
            sni_inbound_refuse(inbound, kind, SENNIT_RAN_NEVER,
                               sennit_dead_reason_text(reason));
        else if (mail->inbound == 0)
            mail_dead(bus, reason, mail, "");
        mail_free(bus, mail);
    }
}

/* After it was taken out of the routes. */
static void
consumer_free(sennit_consumer *consumer)
{
    consumer_drain(consumer, SENNIT_KIND_NO_HANDLERS, SENNIT_DEAD_CONSUMER_GONE);
    sni_link_remove(&consumer->ready);
    sni_release(consumer->bus->alloc, consumer);
}

static void
consumer_unregister(sennit_consumer *consumer)
{
    (void)sni_routes_remove(consumer->bus->routes, consumer_key(consumer), true,
                            consumer);
    sni_link_remove(&consumer->link);
    consumer->bus->stats.consumers--;
}

/* A consumer of what sennit_bus_consume() takes; its handler is the caller's to set. */
static sennit_err
consumer_of_address(sennit_bus *bus, const char *address, const sennit_consume_opts *opts,
                    sennit_consumer **out)
{
    sennit_str key = sennit_str_of(address);
    sni_address_form form = sni_address_form_of(key);

    if (bus->dying)
        return SENNIT_ECLOSED;
    if ((form != SNI_ADDRESS_EXACT && form != SNI_ADDRESS_PATTERN) ||
        sni_address_reserved(key))
        return SENNIT_EINVAL;
    return consumer_new(bus, key, opts, out);
}

/* At the end of each registration. */
static void
consumer_ready(sennit_consumer *consumer, sennit_consumer **out)
{
    if (out != NULL)
        *out = consumer;
    sni_bus_settle(consumer->bus);
}

sennit_err
sennit_bus_consume(sennit_bus *bus, const char *address, const sennit_consume_opts *opts,
                   sennit_consumer **out, sennit_consumer_fn *fn, void *arg)
{
    sennit_consumer *consumer;
    sennit_err err = consumer_of_address(bus, address, opts, &consumer);

    if (err)
        return err;
    consumer->fn = fn;
    consumer->arg = arg;
    consumer_ready(consumer, out);
    return SENNIT_OK;
}

sennit_err
sennit_bus_consume_typed(sennit_bus *bus, const char *address,
                         const sennit_consume_opts *opts, sennit_consumer **out,
                         sennit_consumer_thunk *thunk, sennit_any_fn *fn, void *arg)
{
    sennit_consumer *consumer;
    sennit_err err = consumer_of_address(bus, address, opts, &consumer);

    if (err)
        return err;
    consumer->thunk = thunk;
    consumer->any = fn;
    consumer->arg = arg;
    consumer_ready(consumer, out);
    return SENNIT_OK;
}

sennit_err
sennit_bus_serve(sennit_bus *bus, const sennit_service *service, const void *vtable,
                 void *self, const sennit_consume_opts *opts, sennit_consumer **out)
{
    char key[SENNIT_ADDRESS_MAX + 2];
    size_t size = strlen(service->name);
    sennit_consumer *consumer;
    sennit_err err;

    if (bus->dying)
        return SENNIT_ECLOSED;
    if (service->abi < sizeof(sennit_service) || size == 0 || size > SENNIT_ADDRESS_MAX)
        return SENNIT_EINVAL;
    memcpy(key, service->name, size);
    key[size] = '.';
    if (sni_address_form_of((sennit_str){ key, size }) != SNI_ADDRESS_EXACT ||
        sni_address_reserved((sennit_str){ key, size }))
        return SENNIT_EINVAL;
    err = consumer_new(bus, (sennit_str){ key, size + 1 }, opts, &consumer);
    if (err)
        return err;
    consumer->service = service;
    consumer->vtable = vtable;
    consumer->arg = self;
    consumer_ready(consumer, out);
    return SENNIT_OK;
}

const sennit_method *
sni_consumer_method(const sennit_consumer *consumer, sennit_str name)
{
    const sennit_service *service = consumer->service;

    for (size_t i = 0; i < service->methods_count; i++) {
        const sennit_method *method = &service->methods[i];

        if (sennit_str_equal(sennit_str_of(method->name), name))
            return method->fn != NULL ? method : NULL;
    }
    return NULL;
}

void
sennit_consumer_cancel(sennit_consumer *consumer)
{
    sennit_bus *bus;

    if (consumer == NULL || consumer->cancelled)
        return;
    bus = consumer->bus;
    consumer->cancelled = true;
    consumer_unregister(consumer);
    if (consumer->scope == SENNIT_SCOPE_CLUSTER && !bus->dying)
        sni_peers_announce(bus, consumer_key(consumer), false);
    if (!consumer->running)
        consumer_free(consumer);
    sni_bus_settle(bus);
}

void
sni_consumers_drain(sennit_bus *bus)
{
    for (sni_link *at = bus->consumers.next; at != &bus->consumers; at = at->next)
        consumer_drain(SNI_OWNER_OF(at, sennit_consumer, link), SENNIT_KIND_CLOSED,
                       SENNIT_DEAD_BUS_CLOSED);
}

void
sni_consumers_free(sennit_bus *bus)
{
    sni_link *first;

    while ((first = sni_list_first(&bus->consumers)) != NULL) {
        sennit_consumer *consumer = SNI_OWNER_OF(first, sennit_consumer, link);

        consumer_unregister(consumer);
        consumer_free(consumer);
    }
    while (bus->spare_mail != NULL) {
        sni_mail *mail = bus->spare_mail;

        bus->spare_mail = mail->next;
        sni_release(bus->alloc, mail);
    }
}

/* ---- What a handler may ask ------------------------------------------- */

sennit_bus *
sennit_ctx_bus(const sennit_ctx *ctx)
{
    return ctx->bus;
}

sennit_str
sennit_ctx_address(const sennit_ctx *ctx)
{
    return mail_address(ctx->mail);
}

sennit_time
sennit_ctx_remaining(const sennit_ctx *ctx)
{
    sennit_time now;

    if (ctx->mail->deadline == SENNIT_NEVER)
        return SENNIT_NEVER;
    now = sennit_loop_now(ctx->bus->loop);
    return ctx->mail->deadline > now ? ctx->mail->deadline - now : 0;
}

bool
sennit_ctx_cancelled(const sennit_ctx *ctx)
{
    const sni_inbound *inbound = sni_slots_find(&ctx->bus->inbounds, ctx->mail->inbound);

    return ctx->mail->inbound != 0 && (inbound == NULL || inbound->cancelled);
}

const uint8_t *
sennit_ctx_node(const sennit_ctx *ctx)
{
    return ctx->mail->guest ? NULL : ctx->mail->node;
}

bool
sennit_ctx_header(const sennit_ctx *ctx, const char *key, sennit_bytes *value)
{
    return ctx->mail->headers_size > 0 &&
           sni_headers_find(mail_headers(ctx->mail), sennit_str_of(key), value);
}

sennit_arena *
sennit_ctx_arena(sennit_ctx *ctx)
{
    return ctx->bus->arena;
}

bool
sennit_ctx_wants_reply(const sennit_ctx *ctx)
{
    return ctx->mail->inbound != 0;
}

sennit_reply
sennit_ctx_reply(const sennit_ctx *ctx)
{
    return (sennit_reply){ ctx->bus, ctx->mail->inbound };
}

void
sennit_ctx_reject(sennit_ctx *ctx, const char *reason)
{
    if (ctx->mail->inbound != 0)
        (void)sennit_reply_refuse(sennit_ctx_reply(ctx), SENNIT_KIND_BAD_MESSAGE, "%s",
                                  reason);
    else
        mail_dead(ctx->bus, SENNIT_DEAD_REJECTED, ctx->mail, reason);
}
