/* SPDX-License-Identifier: MIT */
#include "path.h"

#include <stdio.h>
#include <string.h>

void
sni_path_init(sni_path *path)
{
    path->begin = sizeof(path->text) - 1;
    path->text[path->begin] = '\0';
    path->cut = false;
}

void
sni_path_prepend(sni_path *path, const char *text)
{
    size_t size = strlen(text);
    if (path->cut || size + 3 > path->begin) {
        if (!path->cut) {
            path->begin -= 3;
            memcpy(path->text + path->begin, "...", 3);
        }
        path->cut = true;
        return;
    }
    path->begin -= size;
    memcpy(path->text + path->begin, text, size);
}

void
sni_path_prepend_index(sni_path *path, size_t index)
{
    char text[24];
    snprintf(text, sizeof(text), "[%zu]", index);
    sni_path_prepend(path, text);
}

void
sni_path_prepend_field(sni_path *path, const sennit_codec_field *field)
{
    sni_path_prepend(path, field->name);
    sni_path_prepend(path, ".");
}

const char *
sni_path_text(const sni_path *path)
{
    return path->text + path->begin;
}
