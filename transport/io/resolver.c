/* SPDX-License-Identifier: MIT */
/* Law: under the lock a job is WAITING and in that list, or BUSY and with one thread, or
 * FINISHED and in that list. A job that no thread has is forgotten by freeing it, one
 * that is BUSY by clearing its `op`: its thread frees it, unless it has got another by
 * then.
 *
 * A fork may find a thread in the middle of anything under the lock. So the child looks
 * only at what no other thread writes: `asked`, the jobs that have an `op`, and that. */
#define _GNU_SOURCE

#include "io/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/list.h"
#include "io/bell.h"
#include "io/fork.h"
#include "io/stream.h"
#include "io/thread.h"

/* So many names that nobody answers for hold up the others of a loop. */
#define THREADS_MAX 4

typedef enum job_state { WAITING, BUSY, FINISHED } job_state;

typedef struct job {
    sni_link place; /* in `waiting` or `finished` */
    sni_link asked; /* the loop's thread alone: it waits for this */
    sni_op *op;     /* NULL: forgotten */
    job_state state;
    sennit_err err;
    const char *why;
    sni_lookup lookup;
} job;

typedef struct worker {
    struct sni_resolver *resolver;
    pthread_t thread;
    job *current; /* NULL: it waits for one */
} worker;

struct sni_resolver {
    sennit_resolver hook;
    int wake_fd;
    unsigned forks; /* before there were threads; see io/fork.h */
    sni_link asked; /* the loop's thread alone: jobs that it has not got back */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    sni_link waiting;
    sni_link finished;
    worker workers[THREADS_MAX];
    unsigned started; /* of them */
    unsigned idle;    /* of those: they wait for a job, or were just told of one */
    unsigned queued;  /* jobs in `waiting` */
    unsigned users;   /* threads, and the loop: the last one frees everything */
    bool over;        /* the loop is gone */
};

/* The first of a list, which it leaves; NULL: there is none. */
static job *
list_pop(sni_link *list)
{
    sni_link *link = sni_list_first(list);

    if (link == NULL)
        return NULL;
    sni_link_remove(link);
    return SNI_OWNER_OF(link, job, place);
}

static void
release(void *memory)
{
    sni_release(&sni_alloc_default, memory);
}

/* Nobody else has it any more. */
static void
destroy(sni_resolver *resolver)
{
    job *j;

    while ((j = list_pop(&resolver->waiting)) != NULL)
        release(j);
    while ((j = list_pop(&resolver->finished)) != NULL)
        release(j);
    pthread_cond_destroy(&resolver->changed);
    pthread_mutex_destroy(&resolver->lock);
    release(resolver);
}

/* Under the lock, which it gives back. */
static void
leave(sni_resolver *resolver)
{
    bool last = --resolver->users == 0;

    pthread_mutex_unlock(&resolver->lock);
    if (last)
        destroy(resolver);
}

/* ---- the system's look-up ---------------------------------------------- */

static sennit_err
err_of_gai(int error, int saved_errno, const char **why)
{
    switch (error) {
    case EAI_AGAIN:
        *why = "the name server did not answer";
        return SENNIT_EAGAIN;
    case EAI_MEMORY:
        *why = "no memory to look the host up";
        return SENNIT_ENOMEM;
    case EAI_SYSTEM:
        *why = "the host could not be looked up";
        return sni_err_of_errno(saved_errno);
    default:
        *why = "the host was not found";
        return SENNIT_ENODEV;
    }
}

static bool
ip_of(const struct sockaddr *address, sennit_ip *out)
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;

    memset(out, 0, sizeof *out);
    if (address->sa_family == AF_INET) {
        memcpy(&in4, address, sizeof in4);
        memcpy(out->octets, &in4.sin_addr, 4);
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&in6, address, sizeof in6);
    memcpy(out->octets, &in6.sin6_addr, 16);
    out->v6 = true;
    out->scope = in6.sin6_scope_id;
    return true;
}

static bool
known(const sni_lookup *lookup, const sennit_ip *ip)
{
    for (size_t i = 0; i < lookup->found_count; i++) {
        const sennit_ip *other = &lookup->found[i];

        if (other->v6 == ip->v6 && other->scope == ip->scope &&
            memcmp(other->octets, ip->octets, sizeof ip->octets) == 0)
            return true;
    }
    return false;
}

static sennit_err
ask_system(sni_lookup *lookup, const char **why)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *all;
    sennit_ip ip;
    int error;

    hints.ai_family = lookup->ipv6 ? AF_UNSPEC : AF_INET;
    errno = 0;
    error = getaddrinfo(lookup->host, NULL, &hints, &all);
    if (error != 0)
        return err_of_gai(error, errno, why);
    for (const struct addrinfo *at = all; at != NULL; at = at->ai_next)
        if (lookup->found_count < SENNIT_RESOLVED_MAX && ip_of(at->ai_addr, &ip) &&
            !known(lookup, &ip))
            lookup->found[lookup->found_count++] = ip;
    freeaddrinfo(all);
    return SENNIT_OK;
}

static sennit_err
ask_hook(const sennit_resolver *hook, sni_lookup *lookup, const char **why)
{
    sennit_err err = hook->resolve(hook->arg, lookup->host, lookup->ipv6, lookup->found,
                                   &lookup->found_count);

    *why = "the resolver found no address";
    if (err == SENNIT_OK && lookup->found_count > SENNIT_RESOLVED_MAX)
        lookup->found_count = SENNIT_RESOLVED_MAX;
    return err;
}

static void
look_up(const sni_resolver *resolver, job *j)
{
    j->lookup.found_count = 0;
    j->err = resolver->hook.resolve != NULL
                 ? ask_hook(&resolver->hook, &j->lookup, &j->why)
                 : ask_system(&j->lookup, &j->why);
    if (j->err == SENNIT_OK && j->lookup.found_count == 0) {
        j->err = SENNIT_ENODEV;
        j->why = "the host has no address";
    }
    if (j->err == SENNIT_OK)
        j->why = NULL;
}

/* ---- the threads ------------------------------------------------------- */

/* The loop's thread looks for what is finished when it is woken. */
static void
finished(sni_resolver *resolver, job *j)
{
    if (j->op == NULL) {
        release(j);
        return;
    }
    j->state = FINISHED;
    sni_list_push(&resolver->finished, &j->place);
    sni_bell_ring(resolver->wake_fd);
}

/* Under the lock; NULL: it is over. */
static job *
next_job(sni_resolver *resolver)
{
    job *j;

    while (!resolver->over) {
        j = list_pop(&resolver->waiting);
        if (j == NULL) {
            resolver->idle++;
            pthread_cond_wait(&resolver->changed, &resolver->lock);
            resolver->idle--;
            continue;
        }
        resolver->queued--;
        return j;
    }
    return NULL;
}

static void *
work(void *arg)
{
    worker *self = arg;
    sni_resolver *resolver = self->resolver;
    job *j;

    pthread_mutex_lock(&resolver->lock);
    while ((j = next_job(resolver)) != NULL) {
        j->state = BUSY;
        self->current = j;
        pthread_mutex_unlock(&resolver->lock);
        look_up(resolver, j);
        pthread_mutex_lock(&resolver->lock);
        self->current = NULL;
        finished(resolver, j);
    }
    leave(resolver);
    return NULL;
}

/* Another thread, if more jobs wait than threads do. Errors: ENOMEM (there is none at
 * all). */
static sennit_err
start(sni_resolver *resolver)
{
    worker *w = &resolver->workers[resolver->started];
    sennit_err err;

    if (resolver->started == THREADS_MAX || resolver->queued < resolver->idle)
        return SENNIT_OK;
    w->resolver = resolver;
    err = sni_thread_start(&w->thread, NULL, SNI_ANY_CPU, work, w);
    if (err)
        return resolver->started > 0 ? SENNIT_OK : err;
    resolver->started++;
    resolver->users++;
    return SENNIT_OK;
}

/* ---- the loop's side --------------------------------------------------- */

sennit_err
sni_resolver_new(sni_resolver **out, const sennit_resolver *hook, int wake_fd)
{
    sni_resolver *resolver = sni_acquire_zero(&sni_alloc_default, sizeof *resolver);

    if (resolver == NULL)
        return SENNIT_ENOMEM;
    resolver->hook = *hook;
    resolver->wake_fd = wake_fd;
    resolver->forks = sni_forks;
    resolver->users = 1;
    sni_link_init(&resolver->asked);
    sni_link_init(&resolver->waiting);
    sni_link_init(&resolver->finished);
    if (pthread_mutex_init(&resolver->lock, NULL) != 0)
        goto fail_resolver;
    if (pthread_cond_init(&resolver->changed, NULL) != 0)
        goto fail_lock;
    *out = resolver;
    return SENNIT_OK;

fail_lock:
    pthread_mutex_destroy(&resolver->lock);
fail_resolver:
    release(resolver);
    return SENNIT_ENOMEM;
}

static bool
is_forked(const sni_resolver *resolver)
{
    return sni_forked_since(resolver->forks);
}

/* Gives back what no thread may have been in the middle of. */
static void
free_forked(sni_resolver *resolver)
{
    sni_link *link;

    while ((link = sni_list_first(&resolver->asked)) != NULL) {
        sni_link_remove(link);
        release(SNI_OWNER_OF(link, job, asked));
    }
    release(resolver);
}

/* Under the lock. Those that are left to themselves are not in `out`. */
static unsigned
dismiss(sni_resolver *resolver, pthread_t out[THREADS_MAX])
{
    unsigned count = 0;

    resolver->over = true;
    for (unsigned i = 0; i < resolver->started; i++) {
        worker *w = &resolver->workers[i];

        if (w->current == NULL) {
            out[count++] = w->thread;
            continue;
        }
        w->current->op = NULL;
        pthread_detach(w->thread);
    }
    pthread_cond_broadcast(&resolver->changed);
    return count;
}

void
sni_resolver_free(sni_resolver *resolver)
{
    pthread_t threads[THREADS_MAX];
    unsigned count;

    if (resolver == NULL)
        return;
    if (is_forked(resolver)) {
        free_forked(resolver);
        return;
    }
    pthread_mutex_lock(&resolver->lock);
    count = dismiss(resolver, threads);
    pthread_mutex_unlock(&resolver->lock);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_lock(&resolver->lock);
    leave(resolver);
}

/* A thread is still at this host for an operation that was forgotten, as when an attempt
 * is made again after its timeout: it looks it up for this one then. Else a single name
 * that nobody answers for would take one thread after the other. */
static bool
take_up(sni_resolver *resolver, sni_op *op)
{
    for (unsigned i = 0; i < resolver->started; i++) {
        job *j = resolver->workers[i].current;

        if (j == NULL || j->op != NULL || j->lookup.ipv6 != op->lookup->ipv6 ||
            strcmp(j->lookup.host, op->lookup->host) != 0)
            continue;
        j->op = op;
        sni_list_push(&resolver->asked, &j->asked);
        return true;
    }
    return false;
}

sennit_err
sni_resolver_submit(sni_resolver *resolver, sni_op *op)
{
    job *j;
    sennit_err err;
    bool taken_up;

    if (is_forked(resolver))
        return SENNIT_ECLOSED;
    pthread_mutex_lock(&resolver->lock);
    taken_up = take_up(resolver, op);
    pthread_mutex_unlock(&resolver->lock);
    if (taken_up)
        return SENNIT_OK;
    j = sni_acquire_zero(&sni_alloc_default, sizeof *j);
    if (j == NULL)
        return SENNIT_ENOMEM;
    j->op = op;
    j->lookup = *op->lookup;
    sni_link_init(&j->place);
    sni_link_init(&j->asked);
    pthread_mutex_lock(&resolver->lock);
    err = start(resolver);
    if (err == SENNIT_OK) {
        sni_list_push(&resolver->asked, &j->asked);
        sni_list_push(&resolver->waiting, &j->place);
        resolver->queued++;
        pthread_cond_signal(&resolver->changed);
    }
    pthread_mutex_unlock(&resolver->lock);
    if (err)
        release(j);
    return err;
}

static job *
find_asked(const sni_resolver *resolver, const sni_op *op)
{
    for (sni_link *link = resolver->asked.next; link != &resolver->asked;
         link = link->next) {
        job *j = SNI_OWNER_OF(link, job, asked);

        if (j->op == op)
            return j;
    }
    return NULL;
}

bool
sni_resolver_forget(sni_resolver *resolver, sni_op *op)
{
    job *j = find_asked(resolver, op);
    job_state state;

    if (j == NULL)
        return false;
    if (is_forked(resolver)) {
        sni_link_remove(&j->asked);
        release(j);
        return true;
    }
    pthread_mutex_lock(&resolver->lock);
    state = j->state;
    if (state != FINISHED)
        sni_link_remove(&j->asked);
    if (state == BUSY)
        j->op = NULL;
    if (state == WAITING) {
        sni_link_remove(&j->place);
        resolver->queued--;
    }
    pthread_mutex_unlock(&resolver->lock);
    if (state == WAITING) {
        op->why = "no thread was free to look the host up: other hosts' look-ups hang";
        release(j);
    }
    return state != FINISHED;
}

/* Nobody will finish it any more. */
static sni_op *
next_forked(sni_resolver *resolver)
{
    sni_link *link = sni_list_first(&resolver->asked);
    sni_op *op;
    job *j;

    if (link == NULL)
        return NULL;
    j = SNI_OWNER_OF(link, job, asked);
    op = j->op;
    op->err = SENNIT_ECLOSED;
    sni_link_remove(link);
    release(j);
    return op;
}

sni_op *
sni_resolver_next(sni_resolver *resolver)
{
    sni_op *op;
    job *j;

    if (is_forked(resolver))
        return next_forked(resolver);
    pthread_mutex_lock(&resolver->lock);
    j = list_pop(&resolver->finished);
    pthread_mutex_unlock(&resolver->lock);
    if (j == NULL)
        return NULL;
    sni_link_remove(&j->asked);
    op = j->op;
    *op->lookup = j->lookup;
    op->err = j->err;
    op->why = j->why;
    release(j);
    return op;
}
