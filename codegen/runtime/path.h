/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_RUNTIME_PATH_H
#define SENNIT_CODEGEN_RUNTIME_PATH_H

#include <sennit/codec.h>

/* Where a walk failed. The walk unwinds from the inside, so the text is built
 * from its end. */
typedef struct sni_path {
    char text[160];
    size_t begin; /* law: begin < sizeof(text), text[sizeof(text) - 1] is NUL */
    bool cut;
} sni_path;

void sni_path_init(sni_path *path);

/* Each puts one more step in front: text, "[3]", ".size". What has no room left is
 * "...". */
void sni_path_prepend(sni_path *path, const char *text);
void sni_path_prepend_index(sni_path *path, size_t index);
void sni_path_prepend_field(sni_path *path, const sennit_codec_field *field);

/* What was put together so far. */
const char *sni_path_text(const sni_path *path);

#endif /* SENNIT_CODEGEN_RUNTIME_PATH_H */
