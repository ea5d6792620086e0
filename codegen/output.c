/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
    snprintf(output->files[output->count].earlier, sizeof(output->files[0].earlier),
             "%s.%ld.old", path, (long)getpid());
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

/* Whether a file may stand there: directories and devices would let themselves be moved
 * aside like a file. */
static bool
check_place(sni_output *output, const char *path)
{
    struct stat status;
    if (stat(path, &status) || S_ISREG(status.st_mode))
        return true;
    if (S_ISDIR(status.st_mode))
        return fail(output, path, EISDIR);
    snprintf(output->failure, sizeof(output->failure),
             "cannot write %s: it is not a regular file", path);
    return false;
}

/* Puts the new file where it belongs, and the one before it, if any, aside. */
static bool
replace(sni_output *output, size_t i)
{
    const char *path = output->files[i].path;
    char *earlier = output->files[i].earlier;
    if (rename(path, earlier)) {
        if (errno != ENOENT)
            return fail(output, path, errno);
        earlier[0] = '\0';
    }
    if (rename(output->files[i].temporary, path)) {
        fail(output, path, errno);
        if (earlier[0])
            rename(earlier, path);
        return false;
    }
    output->files[i].temporary[0] = '\0';
    return true;
}

/* The inverse of replace(). What fails here cannot be helped: the failure that led
 * here is the one to tell. */
static void
put_back(sni_output *output, size_t i)
{
    if (output->files[i].earlier[0])
        rename(output->files[i].earlier, output->files[i].path);
    else
        unlink(output->files[i].path);
}

bool
sni_output_commit(sni_output *output)
{
    size_t done = 0;
    bool good = true;
    for (size_t i = 0; good && i < output->count; i++)
        good = check_place(output, output->files[i].path);
    while (good && done < output->count) {
        good = replace(output, done);
        done += good;
    }
    if (!good) {
        while (done)
            put_back(output, --done);
        sni_output_discard(output);
        return false;
    }
    for (size_t i = 0; i < output->count; i++)
        if (output->files[i].earlier[0])
            unlink(output->files[i].earlier);
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
