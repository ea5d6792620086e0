/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_OUTPUT_H
#define SENNIT_CODEGEN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#define SNI_OUTPUT_PATH_MAX  4096
#define SNI_OUTPUT_FILES_MAX 4

/* A set of files that appear together or not at all: each is written under a
 * temporary name beside its place, and renamed when all are there. Zero it. */
typedef struct sni_output {
    struct {
        char path[SNI_OUTPUT_PATH_MAX];
        char temporary[SNI_OUTPUT_PATH_MAX + 32];
        char earlier[SNI_OUTPUT_PATH_MAX + 32]; /* where commit keeps what was there */
    } files[SNI_OUTPUT_FILES_MAX];
    size_t count;
    char failure[SNI_OUTPUT_PATH_MAX + 256]; /* why the last function failed */
} sni_output;

/* Writes one file under its temporary name. False: see `failure`. */
bool sni_output_add(sni_output *output, const char *path, const char *data, size_t size);

/* Renames all to their places. False: see `failure`; the temporary files are gone and
 * what was in the places before is there again. */
bool sni_output_commit(sni_output *output);

/* Removes what was not committed. */
void sni_output_discard(sni_output *output);

#endif /* SENNIT_CODEGEN_OUTPUT_H */
