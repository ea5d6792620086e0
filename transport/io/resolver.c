/* SPDX-License-Identifier: MIT */
/* Law: under the lock a job is in exactly one of `waiting`, `current` and `finished`.
 * The loop's thread forgets a job by clearing its `op`; whoever meets such a job frees
 * it. */
#define _GNU_SOURCE

#include "io/resolver.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/stream.h"

typedef struct job {
    struct job *next;
    sni_op *op; /* NULL: forgotten */
    sennit_err err;
    const char *why;
    sni_lookup lookup;
} job;

typedef struct job_list {
    job *first;
    job **last;
} job_list;

struct sni_resolver {
    sennit_resolver hook;
    int wake_fd;
    pid_t pid; /* who has the thread */
    bool started;
    pthread_t thread;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    job_list waiting;
    job_list finished;
    job *current; /* being looked up */
    bool over;    /* the loop is gone */
};

static void
list_init(job_list *list)
{
    list->first = NULL;
    list->last = &list->first;
}

static void
list_push(job_list *list, job *j)
{
    j->next = NULL;
    *list->last = j;
    list->last = &j->next;
}

static job *
list_pop(job_list *list)
{
    job *j = list->first;

    if (j == NULL)
        return NULL;
    list->first = j->next;
    if (list->first == NULL)
        list->last = &list->first;
    return j;
}

static job *
list_find(const job_list *list, const sni_op *op)
{
    job *j = list->first;

    while (j != NULL && j->op != op)
        j = j->next;
    return j;
}

static void
release(void *memory)
{
    sni_release(&sni_alloc_default, memory);
}

/* Only the memory: in a forked child the lock may look held for ever. */
static void
destroy(sni_resolver *resolver)
{
    job *j;

    while ((j = list_pop(&resolver->waiting)) != NULL)
        release(j);
    while ((j = list_pop(&resolver->finished)) != NULL)
        release(j);
    release(resolver);
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

/* ---- the thread -------------------------------------------------------- */

/* The loop's thread looks for what is finished when it is woken. */
static void
finished(sni_resolver *resolver, job *j)
{
    uint64_t one = 1;

    resolver->current = NULL;
    if (j->op == NULL) {
        release(j);
        return;
    }
    list_push(&resolver->finished, j);
    (void)!write(resolver->wake_fd, &one, sizeof one);
}

static void *
work(void *arg)
{
    sni_resolver *resolver = arg;
    bool alone;

    pthread_mutex_lock(&resolver->lock);
    while (!resolver->over) {
        job *j = list_pop(&resolver->waiting);

        if (j == NULL) {
            pthread_cond_wait(&resolver->changed, &resolver->lock);
            continue;
        }
        if (j->op == NULL) {
            release(j);
            continue;
        }
        resolver->current = j;
        pthread_mutex_unlock(&resolver->lock);
        look_up(resolver, j);
        pthread_mutex_lock(&resolver->lock);
        alone = resolver->over;
        finished(resolver, j);
        if (alone) {
            pthread_mutex_unlock(&resolver->lock);
            destroy(resolver);
            return NULL;
        }
    }
    pthread_mutex_unlock(&resolver->lock);
    return NULL;
}

static sennit_err
start(sni_resolver *resolver)
{
    sigset_t all;
    sigset_t old;
    int error;

    if (resolver->started)
        return SENNIT_OK;
    /* The application's signals are for the application's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    error = pthread_create(&resolver->thread, NULL, work, resolver);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    resolver->started = error == 0;
    return error == 0 ? SENNIT_OK : SENNIT_ENOMEM;
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
    resolver->pid = getpid();
    list_init(&resolver->waiting);
    list_init(&resolver->finished);
    if (pthread_mutex_init(&resolver->lock, NULL) != 0 ||
        pthread_cond_init(&resolver->changed, NULL) != 0) {
        release(resolver);
        return SENNIT_ENOMEM;
    }
    *out = resolver;
    return SENNIT_OK;
}

/* A forked child has no thread to be kept out, and the lock as it was at that moment. */
static bool
lock(sni_resolver *resolver)
{
    if (resolver->pid != getpid())
        return false;
    pthread_mutex_lock(&resolver->lock);
    return true;
}

static void
unlock(sni_resolver *resolver, bool locked)
{
    if (locked)
        pthread_mutex_unlock(&resolver->lock);
}

void
sni_resolver_free(sni_resolver *resolver)
{
    bool busy;

    if (resolver == NULL)
        return;
    if (!lock(resolver)) {
        release(resolver->current);
        destroy(resolver);
        return;
    }
    busy = resolver->current != NULL;
    if (busy)
        resolver->current->op = NULL;
    resolver->over = true;
    pthread_cond_signal(&resolver->changed);
    /* Under the lock, behind which a busy thread may free everything. */
    if (busy)
        pthread_detach(resolver->thread);
    pthread_mutex_unlock(&resolver->lock);
    if (busy)
        return;
    if (resolver->started)
        pthread_join(resolver->thread, NULL);
    destroy(resolver);
}

sennit_err
sni_resolver_submit(sni_resolver *resolver, sni_op *op)
{
    job *j = sni_acquire_zero(&sni_alloc_default, sizeof *j);
    sennit_err err = SENNIT_OK;
    bool locked;

    if (j == NULL)
        return SENNIT_ENOMEM;
    locked = lock(resolver);
    if (locked)
        err = start(resolver);
    if (err == SENNIT_OK) {
        j->op = op;
        j->lookup = *op->lookup;
        list_push(&resolver->waiting, j);
        if (locked)
            pthread_cond_signal(&resolver->changed);
    } else {
        release(j);
    }
    unlock(resolver, locked);
    return err;
}

bool
sni_resolver_forget(sni_resolver *resolver, sni_op *op)
{
    bool locked = lock(resolver);
    job *j = list_find(&resolver->waiting, op);

    if (j == NULL && resolver->current != NULL && resolver->current->op == op)
        j = resolver->current;
    if (j != NULL)
        j->op = NULL;
    unlock(resolver, locked);
    return j != NULL;
}

sni_op *
sni_resolver_next(sni_resolver *resolver)
{
    sni_op *op;
    job *j;

    if (!lock(resolver))
        return NULL;
    j = list_pop(&resolver->finished);
    op = j != NULL ? j->op : NULL;
    unlock(resolver, true);
    if (op != NULL) {
        *op->lookup = j->lookup;
        op->err = j->err;
        op->why = j->why;
    }
    release(j);
    return op;
}
