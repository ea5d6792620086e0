/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_JSON_WALK_H
#define SENNIT_CODEGEN_JSON_WALK_H

/* What the two directions of json.h share: the path of where a walk is, its first
 * failure, and defaults. */

#include "json.h"

typedef struct sni_json_walk {
    sni_idl_json_error *error;
    sennit_err err; /* the first failure */
    char path[256]; /* law: path[size] is NUL */
    size_t size;
} sni_json_walk;

void sni_json_walk_init(sni_json_walk *walk, const sni_idl_struct *structure,
                        sni_idl_json_error *error);

/* Goes one step deeper: `format` with the name, or with the index when the name is
 * NULL. Gives what sni_json_leave() wants to come back. */
size_t sni_json_enter(sni_json_walk *walk, const char *format, const char *name,
                      size_t index);
void sni_json_leave(sni_json_walk *walk, size_t before);

/* Keeps the first failure, with the path in front of the words. Always false. */
bool sni_json_fail(sni_json_walk *walk, sennit_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool sni_json_no_memory(sni_json_walk *walk);

/* Appends what a field's default looks like on the wire. */
void sni_json_default(const sni_idl_field *field, sennit_buf *out);

#endif /* SENNIT_CODEGEN_JSON_WALK_H */
