/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "io/fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool
command(int cmd)
{
    return syscall(SYS_membarrier, cmd, 0u, 0) == 0;
}

bool
sni_fence_prepare(void)
{
    return command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && sni_fence_all();
}

bool
sni_fence_all(void)
{
    return command(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
