/* SPDX-License-Identifier: MIT */
#include "fail_malloc.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "sennit_test.h"

static _Atomic uint64_t requests;
static _Atomic uint64_t fail_at; /* 0: none */
static _Atomic uint64_t failures;
static _Atomic int64_t live; /* blocks */

static bool
refuses(void)
{
    uint64_t number = atomic_fetch_add(&requests, 1) + 1;

    if (number != atomic_load(&fail_at))
        return false;
    atomic_fetch_add(&failures, 1);
    return true;
}

static void *
counted(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add(&live, 1);
    return memory;
}

/* ---- what the linker puts in place of the names without __wrap_ ------ */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void),
                          void (*child)(void));
int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __real_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *arg), void *arg);
int __real_getaddrinfo(const char *host, const char *service,
                       const struct addrinfo *hints, struct addrinfo **out);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
                          void (*child)(void));
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *arg), void *arg);
int __wrap_getaddrinfo(const char *host, const char *service,
                       const struct addrinfo *hints, struct addrinfo **out);

void *
__wrap_malloc(size_t size)
{
    return refuses() ? NULL : counted(__real_malloc(size));
}

void *
__wrap_calloc(size_t count, size_t size)
{
    return refuses() ? NULL : counted(__real_calloc(count, size));
}

void *
__wrap_realloc(void *memory, size_t size)
{
    void *moved;

    if (refuses())
        return NULL;
    moved = __real_realloc(memory, size);
    return memory == NULL ? counted(moved) : moved;
}

void
__wrap_free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&live, 1);
    __real_free(memory);
}

int
__wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return refuses() ? ENOMEM : __real_pthread_atfork(prepare, parent, child);
}

int
__wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    return refuses() ? ENOMEM : __real_pthread_mutex_init(mutex, attr);
}

int
__wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    return refuses() ? ENOMEM : __real_pthread_cond_init(cond, attr);
}

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                      void *(*run)(void *arg), void *arg)
{
    return refuses() ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

int
__wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **out)
{
    (void)host;
    return refuses() ? EAI_MEMORY : __real_getaddrinfo("127.0.0.1", service, hints, out);
}

/* ---- the runs -------------------------------------------------------- */

uint64_t
fail_malloc_every(void (*scenario)(const void *arg), const void *arg)
{
    for (uint64_t k = 1;; k++) {
        int64_t before = atomic_load(&live);
        int64_t left;

        atomic_store(&requests, 0);
        atomic_store(&failures, 0);
        atomic_store(&fail_at, k);
        scenario(arg);
        atomic_store(&fail_at, 0);
        left = atomic_load(&live) - before;
        if (left != 0)
            fail_msg("request %llu failed: %lld blocks were left live",
                     (unsigned long long)k, (long long)left);
        if (fail_malloc_failed() == 0)
            return k;
    }
}

uint64_t
fail_malloc_failed(void)
{
    return atomic_load(&failures);
}

int64_t
fail_malloc_live(void)
{
    return atomic_load(&live);
}
