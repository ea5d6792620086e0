/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "io/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

/* Sets as large as any kernel's are: a smaller one than its own it refuses. */
#define SETS     8
#define CPUS_MAX (SETS * CPU_SETSIZE)

#define NAME_ROOM 16 /* the system's */

static int
create(pthread_t *out, int cpu, void *(*run)(void *arg), void *arg)
{
    cpu_set_t only[SETS];
    pthread_attr_t attr;
    int error;

    if (cpu < 0)
        return pthread_create(out, NULL, run, arg);
    if (cpu >= CPUS_MAX)
        return EINVAL;
    error = pthread_attr_init(&attr);
    if (error != 0)
        return error;
    CPU_ZERO_S(sizeof only, only);
    CPU_SET_S((size_t)cpu, sizeof only, only);
    error = pthread_attr_setaffinity_np(&attr, sizeof only, only);
    if (error == 0)
        error = pthread_create(out, &attr, run, arg);
    pthread_attr_destroy(&attr);
    return error;
}

sennit_err
sni_thread_start(pthread_t *out, const char *name, int cpu, void *(*run)(void *arg),
                 void *arg)
{
    char cut[NAME_ROOM];
    sigset_t all;
    sigset_t old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    error = create(out, cpu, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error != 0)
        return error == EINVAL ? SENNIT_EINVAL : SENNIT_ENOMEM;
    if (name != NULL) {
        snprintf(cut, sizeof cut, "%s", name);
        (void)pthread_setname_np(*out, cut);
    }
    return SENNIT_OK;
}

size_t
sni_cpus(int *cpus, size_t max)
{
    cpu_set_t allowed[SETS];
    size_t count = 0;

    CPU_ZERO_S(sizeof allowed, allowed);
    if (sched_getaffinity(0, sizeof allowed, allowed) != 0)
        CPU_SET_S(0, sizeof allowed, allowed);
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (!CPU_ISSET_S(cpu, sizeof allowed, allowed))
            continue;
        if (count < max)
            cpus[count] = (int)cpu;
        count++;
    }
    return count;
}
