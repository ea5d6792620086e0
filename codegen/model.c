/* SPDX-License-Identifier: MIT */
#include "model.h"

typedef struct sni_idl_kind_row {
    const char *name;
    unsigned bits;
    bool is_integer;
    bool is_signed;
} sni_idl_kind_row;

static const sni_idl_kind_row kinds[] = {
    [SNI_IDL_BOOL] = { "bool", 0, false, false },
    [SNI_IDL_U8] = { "u8", 8, true, false },
    [SNI_IDL_I8] = { "i8", 8, true, true },
    [SNI_IDL_U16] = { "u16", 16, true, false },
    [SNI_IDL_I16] = { "i16", 16, true, true },
    [SNI_IDL_U32] = { "u32", 32, true, false },
    [SNI_IDL_I32] = { "i32", 32, true, true },
    [SNI_IDL_U64] = { "u64", 64, true, false },
    [SNI_IDL_I64] = { "i64", 64, true, true },
    [SNI_IDL_F32] = { "f32", 32, false, true },
    [SNI_IDL_F64] = { "f64", 64, false, true },
    [SNI_IDL_STR] = { "str", 0, false, false },
    [SNI_IDL_BYTES] = { "bytes", 0, false, false },
    [SNI_IDL_TIME] = { "time", 64, false, true },
    [SNI_IDL_DURATION] = { "duration", 64, false, true },
};

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == SNI_IDL_BUILT_IN_COUNT,
               "a row for each built-in kind");

bool
sni_idl_kind_is_integer(sni_idl_kind kind)
{
    return kind < SNI_IDL_BUILT_IN_COUNT && kinds[kind].is_integer;
}

bool
sni_idl_kind_is_signed(sni_idl_kind kind)
{
    return kind < SNI_IDL_BUILT_IN_COUNT && kinds[kind].is_signed;
}

unsigned
sni_idl_kind_bits(sni_idl_kind kind)
{
    return kind < SNI_IDL_BUILT_IN_COUNT ? kinds[kind].bits : 0;
}

const char *
sni_idl_kind_name(sni_idl_kind kind)
{
    return kind < SNI_IDL_BUILT_IN_COUNT ? kinds[kind].name : "?";
}

bool
sni_idl_number_fits(sni_idl_kind kind, bool negative, uint64_t magnitude)
{
    unsigned bits = sni_idl_kind_bits(kind);
    if (!sni_idl_kind_is_signed(kind))
        return (!negative || !magnitude) && (bits == 64 || magnitude >> bits == 0);
    uint64_t limit = (UINT64_C(1) << (bits - 1)) - (negative ? 0 : 1);
    return magnitude <= limit;
}
