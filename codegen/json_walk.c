/* SPDX-License-Identifier: MIT */
#include "json_walk.h"

#include <stdio.h>
#include <string.h>

#include <sennit/codec.h>

void
sni_json_walk_init(sni_json_walk *walk, const sni_idl_struct *structure,
                   sni_idl_json_error *error)
{
    memset(walk, 0, sizeof(*walk));
    walk->error = error;
    walk->size = (size_t)snprintf(walk->path, sizeof(walk->path), "%.200s",
                                  structure->naming.name);
}

size_t
sni_json_enter(sni_json_walk *walk, const char *format, const char *name, size_t index)
{
    size_t before = walk->size;
    size_t room = sizeof(walk->path) - before;
    int size = name ? snprintf(walk->path + before, room, format, name)
                    : snprintf(walk->path + before, room, format, index);
    if (size > 0)
        walk->size += (size_t)size < room ? (size_t)size : room - 1;
    return before;
}

void
sni_json_leave(sni_json_walk *walk, size_t before)
{
    walk->size = before;
    walk->path[before] = '\0';
}

bool
sni_json_fail(sni_json_walk *walk, sennit_err err, const char *format, ...)
{
    if (walk->err)
        return false;
    walk->err = err;
    size_t room = sizeof(walk->error->text);
    int size = snprintf(walk->error->text, room, "%s: ", walk->path);
    va_list args;
    va_start(args, format);
    if (size > 0 && (size_t)size < room)
        vsnprintf(walk->error->text + size, room - (size_t)size, format, args);
    va_end(args);
    return false;
}

bool
sni_json_no_memory(sni_json_walk *walk)
{
    return sni_json_fail(walk, SENNIT_ENOMEM, "out of memory");
}

void
sni_json_default(const sni_idl_field *field, sennit_buf *out)
{
    const sni_idl_type *type = &field->type;
    sni_idl_kind kind = type->kind == SNI_IDL_ENUM ? type->enumeration->base : type->kind;
    uint64_t bits = field->has_fallback ? field->fallback.bits : 0;
    double real = field->has_fallback ? field->fallback.real : 0.0;
    switch (kind) {
    case SNI_IDL_BOOL:
        sennit_pack_bool(out, bits != 0);
        break;
    case SNI_IDL_F32:
        sennit_pack_f32(out, (float)real);
        break;
    case SNI_IDL_F64:
        sennit_pack_f64(out, real);
        break;
    case SNI_IDL_STR:
        sennit_pack_str(out,
                        sennit_str_of(field->has_fallback ? field->fallback.text : ""));
        break;
    case SNI_IDL_BYTES:
        sennit_pack_bin(out, (sennit_bytes){ NULL, 0 });
        break;
    case SNI_IDL_TIME:
        sennit_codec_pack_time(out, 0);
        break;
    case SNI_IDL_STRUCT:
        sennit_pack_map(out, 0);
        break;
    case SNI_IDL_LIST:
        sennit_pack_array(out, 0);
        break;
    default: /* integers and durations */
        if (kind == SNI_IDL_DURATION || sni_idl_kind_is_signed(kind))
            sennit_pack_int(out, (int64_t)bits);
        else
            sennit_pack_uint(out, bits);
        break;
    }
}
