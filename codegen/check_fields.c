/* SPDX-License-Identifier: MIT */
/* Members: numbers, names, reservations, defaults. */
#include "checker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

/* ---- Reservations ----------------------------------------------------- */

/* Two's complement numbers of a kind, in an order unsigned comparison keeps. */
static uint64_t
key_of(sni_idl_kind kind, uint64_t bits)
{
    return sni_idl_kind_is_signed(kind) ? bits ^ UINT64_C(1) << 63 : bits;
}

static int
compare_ranges(const void *a, const void *b)
{
    const sni_idl_range *left = a;
    const sni_idl_range *right = b;
    return left->first < right->first ? -1 : left->first > right->first;
}

static bool
read_range(sni_idl_checker *checker, const sni_ast_reserved *item, sni_idl_kind kind,
           sni_idl_range *out)
{
    if (!sni_idl_number_fits(kind, item->first_negative, item->first) ||
        !sni_idl_number_fits(kind, item->last_negative, item->last)) {
        sni_idl_error(checker->diags, SNI_IDL_RESERVED_RANGE, item->span,
                      "numbers here fit %s; there is nothing to reserve beyond",
                      sni_idl_kind_name(kind));
        return false;
    }
    out->first = key_of(kind, item->first_negative ? 0 - item->first : item->first);
    out->last = key_of(kind, item->last_negative ? 0 - item->last : item->last);
    out->span = item->span;
    if (out->first <= out->last)
        return true;
    sni_idl_error(checker->diags, SNI_IDL_RESERVED_RANGE, item->span,
                  "this range ends before it begins");
    return false;
}

/* Sorts and joins ranges that overlap, so that a search finds one or none. */
static void
join_ranges(sni_idl_reservations *reserved)
{
    qsort(reserved->ranges, reserved->ranges_count, sizeof(*reserved->ranges),
          compare_ranges);
    size_t kept = 0;
    for (size_t i = 0; i < reserved->ranges_count; i++) {
        sni_idl_range range = reserved->ranges[i];
        if (kept && range.first <= reserved->ranges[kept - 1].last) {
            if (range.last > reserved->ranges[kept - 1].last)
                reserved->ranges[kept - 1].last = range.last;
        } else {
            reserved->ranges[kept++] = range;
        }
    }
    reserved->ranges_count = kept;
}

void
sni_idl_read_reserved(sni_idl_checker *checker, const sni_ast_reserved *list,
                      sni_idl_kind kind, sni_idl_reservations *out)
{
    memset(out, 0, sizeof(*out));
    size_t count = 0;
    for (const sni_ast_reserved *item = list; item; item = item->next)
        count++;
    if (!count)
        return;
    out->ranges = SNI_IDL_NEW_ARRAY(checker->arena, sni_idl_range, count);
    for (const sni_ast_reserved *item = list; item; item = item->next) {
        if (!item->name) {
            if (read_range(checker, item, kind, &out->ranges[out->ranges_count]))
                out->ranges_count++;
        } else if (!sni_idl_map_get(&out->names, item->name)) {
            sni_idl_map_add(&out->names, checker->arena, item->name, item);
        }
    }
    join_ranges(out);
}

const sni_idl_range *
sni_idl_find_reserved(const sni_idl_reservations *reserved, sni_idl_kind kind,
                      uint64_t bits)
{
    uint64_t key = key_of(kind, bits);
    size_t low = 0;
    size_t high = reserved->ranges_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const sni_idl_range *range = &reserved->ranges[middle];
        if (key < range->first)
            high = middle;
        else if (key > range->last)
            low = middle + 1;
        else
            return range;
    }
    return NULL;
}

/* ---- Fields ----------------------------------------------------------- */

/* What one list of members is checked against. */
typedef struct sni_idl_members {
    sni_idl_reservations reserved;
    sni_idl_map names;   /* to sni_ast_field */
    sni_idl_map numbers; /* to sni_ast_field */
    uint64_t highest;    /* number used, for suggestions */
    const char *owner;
} sni_idl_members;

static bool
check_number(sni_idl_checker *checker, sni_idl_members *members,
             const sni_ast_field *field)
{
    if (field->negative || field->number < 1 ||
        field->number > SNI_IDL_FIELD_NUMBER_MAX) {
        sni_idl_error(checker->diags, SNI_IDL_FIELD_ID_RANGE, field->number_span,
                      "field numbers are 1 to %d", SNI_IDL_FIELD_NUMBER_MAX);
        return false;
    }
    const sni_ast_field *other = sni_idl_map_get_number(&members->numbers, field->number);
    if (other) {
        sni_idl_error(checker->diags, SNI_IDL_FIELD_ID_REUSED, field->number_span,
                      "field number %" PRIu64 " is used by '%s'; %" PRIu64 " is free",
                      field->number, other->name.text, members->highest + 1);
        sni_idl_note(checker->diags, other->number_span, "it is used here");
        return false;
    }
    const sni_idl_range *range =
        sni_idl_find_reserved(&members->reserved, SNI_IDL_U16, field->number);
    if (range) {
        sni_idl_error(checker->diags, SNI_IDL_FIELD_RESERVED, field->number_span,
                      "field number %" PRIu64 " is reserved; %" PRIu64 " is free",
                      field->number, members->highest + 1);
        sni_idl_note(checker->diags, range->span, "it is reserved here");
        return false;
    }
    sni_idl_map_add_number(&members->numbers, checker->arena, field->number, field);
    return true;
}

static bool
check_name(sni_idl_checker *checker, sni_idl_members *members, const sni_ast_field *field)
{
    const sni_ast_field *other = sni_idl_map_get(&members->names, field->name.text);
    if (other) {
        sni_idl_error(checker->diags, SNI_IDL_DUPLICATE_NAME, field->name.span,
                      "'%s' already has a '%s'", members->owner, field->name.text);
        sni_idl_note(checker->diags, other->name.span, "it is here");
        return false;
    }
    const sni_ast_reserved *item =
        sni_idl_map_get(&members->reserved.names, field->name.text);
    if (item) {
        sni_idl_error(checker->diags, SNI_IDL_FIELD_RESERVED, field->name.span,
                      "the name '%s' is reserved", field->name.text);
        sni_idl_note(checker->diags, item->span, "it is reserved here");
        return false;
    }
    sni_idl_map_add(&members->names, checker->arena, field->name.text, field);
    return true;
}

static bool
has_zero(const sni_idl_enum *enumeration)
{
    for (size_t i = 0; i < enumeration->values_count; i++)
        if (!enumeration->values[i].bits)
            return true;
    return enumeration->flags;
}

static bool
check_fallback(sni_idl_checker *checker, const sni_ast_field *field, sni_idl_field *out)
{
    if (!field->fallback) {
        bool needed = out->type.kind == SNI_IDL_ENUM && !out->type.optional &&
                      !has_zero(out->type.enumeration);
        if (needed)
            sni_idl_error(checker->diags, SNI_IDL_ENUM_NO_ZERO, field->name.span,
                          "%s has no value 0 for '%s' to have when it is absent; "
                          "write a default, '= %s'",
                          out->type.enumeration->naming.name, field->name.text,
                          out->type.enumeration->values[0].naming.name);
        return !needed;
    }
    if (out->type.optional) {
        sni_idl_error(checker->diags, SNI_IDL_DEFAULT_NOT_ALLOWED, field->fallback->span,
                      "an optional field is absent by default; remove the default or "
                      "the '?'");
        return false;
    }
    if (out->type.kind == SNI_IDL_LIST) {
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, field->fallback->span,
                      "defaults of lists are not built yet");
        return false;
    }
    out->has_fallback = true;
    return sni_idl_check_value(checker, field->fallback, &out->type, &out->fallback);
}

/* Everything of one member is looked at, so that one run finds all its errors. */
static bool
check_field(sni_idl_checker *checker, sni_idl_members *members,
            const sni_ast_field *field, sni_idl_place place, sni_idl_field *out)
{
    sni_idl_annots annots;
    sni_idl_check_annots(checker->diags, field->annots, place, &annots);
    bool sound = check_number(checker, members, field);
    sound &= check_name(checker, members, field);
    out->naming = sni_idl_make_naming(&field->name, field->doc, &annots);
    out->number = (uint32_t)field->number;
    if (!field->type || !sni_idl_resolve_type(checker, field->type, &out->type))
        return false;
    return check_fallback(checker, field, out) && sound;
}

static int
compare_fields(const void *a, const void *b)
{
    const sni_idl_field *left = a;
    const sni_idl_field *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

void
sni_idl_check_fields(sni_idl_checker *checker, const sni_ast_field *fields,
                     const sni_ast_reserved *reserved, sni_idl_place place,
                     const char *owner, sni_idl_struct *out)
{
    sni_idl_members members = { .owner = owner };
    sni_idl_read_reserved(checker, reserved, SNI_IDL_U16, &members.reserved);
    size_t count = 0;
    for (const sni_ast_field *field = fields; field; field = field->next) {
        count++;
        if (!field->negative && field->number <= SNI_IDL_FIELD_NUMBER_MAX &&
            field->number > members.highest)
            members.highest = field->number;
    }
    for (size_t i = 0; i < members.reserved.ranges_count; i++)
        if (members.reserved.ranges[i].last > members.highest)
            members.highest = members.reserved.ranges[i].last;
    out->fields = SNI_IDL_NEW_ARRAY(checker->arena, sni_idl_field, count);
    for (const sni_ast_field *field = fields; field; field = field->next)
        if (check_field(checker, &members, field, place, &out->fields[out->fields_count]))
            out->fields_count++;
        else
            memset(&out->fields[out->fields_count], 0, sizeof(*out->fields));
    qsort(out->fields, out->fields_count, sizeof(*out->fields), compare_fields);
}
