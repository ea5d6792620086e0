/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool
fail(sni_output *output, const char *path, int why)
{
    const char *advice = why == ENOENT ? "; create the directory first" : "";
    snprintf(output->failure, sizeof(output->failure), "cannot write %s: %s%s", path,
             strerror(why), advice);
    return false;
}

bool
sni_output_add(sni_output *output, const char *path, const char *data, size_t size)
{
    if (output->count == SNI_OUTPUT_FILES_MAX || strlen(path) >= SNI_OUTPUT_PATH_MAX)
        return fail(output, path, ENAMETOOLONG);
    char *temporary = output->files[output->count].temporary;
    snprintf(output->files[output->count].path, SNI_OUTPUT_PATH_MAX, "%s", path);
    snprintf(temporary, sizeof(output->files[0].temporary), "%s.%ld.tmp", path,
             (long)getpid());
    FILE *file = fopen(temporary, "wb");
    if (!file)
        return fail(output, path, errno);
    output->count++;
    bool written = fwrite(data, 1, size, file) == size;
    int why = errno;
    if (fclose(file) && written) {
        written = false;
        why = errno;
    }
    return written ? true : fail(output, path, why);
}

bool
sni_output_commit(sni_output *output)
{
    for (size_t i = 0; i < output->count; i++) {
        if (!rename(output->files[i].temporary, output->files[i].path)) {
            output->files[i].temporary[0] = '\0';
            continue;
        }
        fail(output, output->files[i].path, errno);
        sni_output_discard(output);
        return false;
    }
    output->count = 0;
    return true;
}

void
sni_output_discard(sni_output *output)
{
    for (size_t i = 0; i < output->count; i++)
        if (output->files[i].temporary[0])
            unlink(output->files[i].temporary);
    output->count = 0;
}
