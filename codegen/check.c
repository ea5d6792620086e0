/* SPDX-License-Identifier: MIT */
/* The order of checking: declare every name, then resolve enums, aliases and
 * constants on demand (they may refer to one another in any order), then members,
 * then what contains what, then services and events. Each step goes on after an
 * error and skips what depends on it, so one run finds everything once. */
#include "check.h"

#include <inttypes.h>
#include <string.h>

#include "bounds.h"
#include "checker.h"

/* ---- Helpers of all parts --------------------------------------------- */

sni_idl_naming
sni_idl_make_naming(const sni_ast_name *name, const char *doc,
                    const sni_idl_annots *annots)
{
    return (sni_idl_naming){ .name = name->text,
                             .c_name = annots->c_name,
                             .doc = doc,
                             .deprecated = annots->deprecated,
                             .span = name->span };
}

const char *
sni_idl_full_name(sni_idl_checker *checker, const char *name)
{
    const char *space = checker->model->space;
    return *space ? sni_idl_format(checker->arena, "%s.%s", space, name) : name;
}

sni_idl_struct *
sni_idl_new_struct(sni_idl_checker *checker, sni_idl_role role)
{
    sni_idl_struct *structure = SNI_IDL_NEW(checker->arena, sni_idl_struct);
    structure->role = role;
    if (checker->structs_count == checker->structs_capacity) {
        size_t capacity = checker->structs_capacity ? checker->structs_capacity * 2 : 32;
        sni_idl_struct **wider =
            SNI_IDL_NEW_ARRAY(checker->arena, sni_idl_struct *, capacity);
        if (checker->structs_count)
            memcpy(wider, checker->structs, checker->structs_count * sizeof(*wider));
        checker->structs = wider;
        checker->structs_capacity = capacity;
    }
    checker->structs[checker->structs_count++] = structure;
    return structure;
}

/* ---- Declaring -------------------------------------------------------- */

static const sni_idl_place decl_places[] = {
    [SNI_AST_CONST] = 0,
    [SNI_AST_ALIAS] = SNI_IDL_ON_ALIAS,
    [SNI_AST_ENUM] = SNI_IDL_ON_ENUM,
    [SNI_AST_FLAGS] = SNI_IDL_ON_ENUM,
    [SNI_AST_STRUCT] = SNI_IDL_ON_STRUCT,
    [SNI_AST_UNION] = SNI_IDL_ON_UNION,
    [SNI_AST_ERROR] = SNI_IDL_ON_ERROR,
    [SNI_AST_SERVICE] = SNI_IDL_ON_SERVICE,
    [SNI_AST_EVENT] = SNI_IDL_ON_EVENT,
};

static const char *const built_ins[] = {
    "bool",     "u8",   "i8",  "u16",  "i16",  "u32",   "i32",
    "u64",      "i64",  "f32", "f64",  "str",  "bytes", "time",
    "duration", "uuid", "any", "void", "true", "false", "null",
};

static bool
is_built_in(const char *name)
{
    for (size_t i = 0; i < sizeof(built_ins) / sizeof(built_ins[0]); i++)
        if (!strcmp(built_ins[i], name))
            return true;
    return false;
}

static void
declare(sni_idl_checker *checker, const sni_ast_decl *decl)
{
    sni_idl_symbol *symbol = SNI_IDL_NEW(checker->arena, sni_idl_symbol);
    symbol->decl = decl;
    sni_idl_check_annots(checker->diags, decl->annots, decl_places[decl->kind],
                         &symbol->annots);
    if (decl->kind == SNI_AST_UNION) {
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, decl->keyword_span,
                      "unions are not built yet");
        symbol->progress = SNI_IDL_BROKEN;
    }
    if (decl->kind == SNI_AST_STRUCT || decl->kind == SNI_AST_ERROR) {
        symbol->structure = sni_idl_new_struct(checker, decl->kind == SNI_AST_ERROR
                                                            ? SNI_IDL_ROLE_ERROR
                                                            : SNI_IDL_ROLE_STRUCT);
        symbol->structure->naming =
            sni_idl_make_naming(&decl->name, decl->doc, &symbol->annots);
    }
    checker->ordered[checker->ordered_count++] = symbol;
    if (is_built_in(decl->name.text)) {
        sni_idl_error(checker->diags, SNI_IDL_DUPLICATE_NAME, decl->name.span,
                      "'%s' is built into the language", decl->name.text);
        return;
    }
    sni_idl_symbol *other = sni_idl_map_get(&checker->symbols, decl->name.text);
    if (other) {
        sni_idl_error(checker->diags, SNI_IDL_DUPLICATE_NAME, decl->name.span,
                      "'%s' is declared twice", decl->name.text);
        sni_idl_note(checker->diags, other->decl->name.span, "the first one is here");
        return;
    }
    sni_idl_map_add(&checker->symbols, checker->arena, decl->name.text, symbol);
}

static void
declare_all(sni_idl_checker *checker)
{
    size_t count = 0;
    for (const sni_ast_decl *decl = checker->file->decls; decl; decl = decl->next)
        count++;
    checker->ordered = SNI_IDL_NEW_ARRAY(checker->arena, sni_idl_symbol *, count);
    for (const sni_ast_decl *decl = checker->file->decls; decl; decl = decl->next)
        declare(checker, decl);
}

/* ---- Enums, aliases, constants ---------------------------------------- */

static sni_idl_kind
enum_base(sni_idl_checker *checker, const sni_ast_decl *decl)
{
    bool flags = decl->kind == SNI_AST_FLAGS;
    sni_idl_kind base = flags ? SNI_IDL_U32 : SNI_IDL_I32;
    if (!decl->base.text)
        return base;
    for (int kind = SNI_IDL_U8; kind <= SNI_IDL_I64; kind++) {
        if (strcmp(sni_idl_kind_name((sni_idl_kind)kind), decl->base.text) != 0)
            continue;
        if (flags && sni_idl_kind_is_signed((sni_idl_kind)kind))
            break;
        return (sni_idl_kind)kind;
    }
    sni_idl_error(checker->diags, SNI_IDL_ENUM_TYPE, decl->base.span,
                  flags ? "flags are held by u8, u16, u32 or u64, not by '%s'"
                        : "an enum is held by an integer type, u8 to i64, not by '%s'",
                  decl->base.text);
    return flags ? SNI_IDL_U64 : SNI_IDL_I64; /* so that values are not reported too */
}

typedef struct sni_idl_enum_check {
    sni_idl_reservations reserved;
    sni_idl_map names;   /* to sni_ast_enumerator */
    sni_idl_map numbers; /* to sni_ast_enumerator, by bits */
} sni_idl_enum_check;

static bool
check_enumerator(sni_idl_checker *checker, sni_idl_enum_check *check,
                 const sni_ast_enumerator *value, sni_idl_kind base,
                 sni_idl_enumerator *out)
{
    sni_idl_annots annots;
    sni_idl_check_annots(checker->diags, value->annots, SNI_IDL_ON_ENUMERATOR, &annots);
    out->naming = sni_idl_make_naming(&value->name, value->doc, &annots);
    out->bits = value->negative ? 0 - value->magnitude : value->magnitude;
    if (!sni_idl_number_fits(base, value->negative, value->magnitude)) {
        sni_idl_error(checker->diags, SNI_IDL_ENUM_VALUE_RANGE, value->number_span,
                      "this number does not fit %s", sni_idl_kind_name(base));
        return false;
    }
    const sni_ast_enumerator *other = sni_idl_map_get_number(&check->numbers, out->bits);
    if (other) {
        sni_idl_error(checker->diags, SNI_IDL_ENUM_VALUE_REUSED, value->number_span,
                      "this number is the value of '%s'", other->name.text);
        sni_idl_note(checker->diags, other->number_span, "it is used here");
        return false;
    }
    other = sni_idl_map_get(&check->names, value->name.text);
    if (other) {
        sni_idl_error(checker->diags, SNI_IDL_DUPLICATE_NAME, value->name.span,
                      "there already is a value '%s'", value->name.text);
        sni_idl_note(checker->diags, other->name.span, "it is here");
        return false;
    }
    const sni_idl_range *range = sni_idl_find_reserved(&check->reserved, base, out->bits);
    const sni_ast_reserved *name =
        sni_idl_map_get(&check->reserved.names, value->name.text);
    if (range || name) {
        sni_idl_error(checker->diags, SNI_IDL_FIELD_RESERVED,
                      range ? value->number_span : value->name.span,
                      "this %s is reserved", range ? "number" : "name");
        sni_idl_note(checker->diags, range ? range->span : name->span,
                     "it is reserved here");
        return false;
    }
    sni_idl_map_add_number(&check->numbers, checker->arena, out->bits, value);
    sni_idl_map_add(&check->names, checker->arena, value->name.text, value);
    return true;
}

static void
resolve_enum(sni_idl_checker *checker, sni_idl_symbol *symbol)
{
    const sni_ast_decl *decl = symbol->decl;
    sni_idl_enum *out = SNI_IDL_NEW(checker->arena, sni_idl_enum);
    out->naming = sni_idl_make_naming(&decl->name, decl->doc, &symbol->annots);
    out->flags = decl->kind == SNI_AST_FLAGS;
    out->base = enum_base(checker, decl);
    sni_idl_enum_check check = { .names = { 0 } };
    sni_idl_read_reserved(checker, decl->reserved, out->base, &check.reserved);
    size_t count = 0;
    for (const sni_ast_enumerator *i = decl->enumerators; i; i = i->next)
        count++;
    sni_idl_enumerator *values =
        SNI_IDL_NEW_ARRAY(checker->arena, sni_idl_enumerator, count);
    for (const sni_ast_enumerator *i = decl->enumerators; i; i = i->next)
        if (check_enumerator(checker, &check, i, out->base, &values[out->values_count]))
            out->values_count++;
    out->values = values;
    symbol->enumeration = out;
    if (!count)
        sni_idl_error(checker->diags, SNI_IDL_ENUM_EMPTY, decl->name.span,
                      "'%s' has no values; write at least 'unspecified = 0;'",
                      decl->name.text);
    symbol->progress = out->values_count ? SNI_IDL_DONE : SNI_IDL_BROKEN;
}

static void
resolve_alias(sni_idl_checker *checker, sni_idl_symbol *symbol)
{
    const sni_ast_decl *decl = symbol->decl;
    bool sound = decl->type && sni_idl_resolve_type(checker, decl->type, &symbol->alias);
    if (sound && symbol->alias.optional) {
        sni_idl_error(checker->diags, SNI_IDL_TYPE_NOT_ALLOWED, decl->type->span,
                      "an alias cannot be optional; write the '?' where it is used");
        sound = false;
    }
    if (symbol->progress != SNI_IDL_BROKEN)
        symbol->progress = sound ? SNI_IDL_DONE : SNI_IDL_BROKEN;
}

static void
resolve_const(sni_idl_checker *checker, sni_idl_symbol *symbol)
{
    const sni_ast_decl *decl = symbol->decl;
    sni_idl_const *out = SNI_IDL_NEW(checker->arena, sni_idl_const);
    out->naming = sni_idl_make_naming(&decl->name, decl->doc, &symbol->annots);
    symbol->constant = out;
    bool sound = decl->type && sni_idl_resolve_type(checker, decl->type, &out->type);
    if (sound && out->type.optional) {
        sni_idl_error(checker->diags, SNI_IDL_TYPE_NOT_ALLOWED, decl->type->span,
                      "a constant cannot be optional");
        sound = false;
    }
    sound = sound && decl->value &&
            sni_idl_check_value(checker, decl->value, &out->type, &out->value);
    if (symbol->progress != SNI_IDL_BROKEN)
        symbol->progress = sound ? SNI_IDL_DONE : SNI_IDL_BROKEN;
}

void
sni_idl_resolve_symbol(sni_idl_checker *checker, sni_idl_symbol *symbol)
{
    const sni_ast_decl *decl = symbol->decl;
    bool cycle = symbol->progress == SNI_IDL_BUSY;
    bool deep = checker->depth >= SNI_IDL_DEPTH_MAX;
    if (cycle || (symbol->progress == SNI_IDL_UNTOUCHED && deep)) {
        sni_idl_error(checker->diags, cycle ? SNI_IDL_TYPE_RECURSIVE : SNI_IDL_TOO_DEEP,
                      decl->name.span,
                      cycle ? "'%s' stands for itself"
                            : "'%s' is behind too many aliases or constants",
                      decl->name.text);
        symbol->progress = SNI_IDL_BROKEN;
    }
    if (symbol->progress != SNI_IDL_UNTOUCHED)
        return;
    symbol->progress = SNI_IDL_BUSY;
    checker->depth++;
    switch (decl->kind) {
    case SNI_AST_ENUM:
    case SNI_AST_FLAGS:
        resolve_enum(checker, symbol);
        break;
    case SNI_AST_ALIAS:
        resolve_alias(checker, symbol);
        break;
    case SNI_AST_CONST:
        resolve_const(checker, symbol);
        break;
    case SNI_AST_STRUCT:
    case SNI_AST_UNION:
    case SNI_AST_ERROR:
    case SNI_AST_SERVICE:
    case SNI_AST_EVENT:
        symbol->progress = SNI_IDL_DONE;
        break;
    }
    checker->depth--;
}

/* ---- Structs and errors ----------------------------------------------- */

static uint32_t
detail_id(const char *full_name)
{
    uint32_t h = UINT32_C(2166136261);
    for (; *full_name; full_name++)
        h = (h ^ (unsigned char)*full_name) * UINT32_C(16777619);
    return h ? h : 1;
}

static void
fill_structs(sni_idl_checker *checker)
{
    sni_idl_map ids = { 0 };
    for (size_t i = 0; i < checker->ordered_count; i++) {
        sni_idl_symbol *symbol = checker->ordered[i];
        sni_idl_struct *structure = symbol->structure;
        const sni_ast_decl *decl = symbol->decl;
        if (!structure)
            continue;
        sni_idl_check_fields(checker, decl->fields, decl->reserved, SNI_IDL_ON_FIELD,
                             decl->name.text, structure);
        if (structure->role != SNI_IDL_ROLE_ERROR)
            continue;
        structure->code = symbol->annots.code;
        structure->retryable = symbol->annots.retryable;
        structure->detail_id = detail_id(sni_idl_full_name(checker, decl->name.text));
        const sni_idl_struct *other = sni_idl_map_get_number(&ids, structure->detail_id);
        if (!other) {
            sni_idl_map_add_number(&ids, checker->arena, structure->detail_id, structure);
        } else if (strcmp(other->naming.name, decl->name.text) != 0) {
            sni_idl_error(checker->diags, SNI_IDL_ERROR_ID_CLASH, decl->name.span,
                          "'%s' and '%s' have the same number on the wire, 0x%08" PRIx32
                          "; rename one",
                          decl->name.text, other->naming.name, structure->detail_id);
            sni_idl_note(checker->diags, other->naming.span, "the other one is here");
        }
    }
}

/* ---- What contains what ----------------------------------------------- */

#define NESTING_BUSY UINT32_MAX

static void
report_nesting(sni_idl_checker *checker, const sni_idl_field *field, bool recursive)
{
    if (recursive)
        sni_idl_error(checker->diags, SNI_IDL_TYPE_RECURSIVE, field->naming.span,
                      "'%s' makes its struct contain itself; a list, '[%s]', would not",
                      field->naming.name, field->type.structure->naming.name);
    else
        sni_idl_error(checker->diags, SNI_IDL_TOO_DEEP, field->naming.span,
                      "structs are nested more than %d deep here", SNI_IDL_NESTING_MAX);
}

/* Orders structs so that each comes after those it holds by value, and measures
 * how deep they are. `level` bounds the recursion. */
static void
order_struct(sni_idl_checker *checker, sni_idl_struct *structure, int level)
{
    sni_idl_model *model = checker->model;
    uint32_t deepest = 0;
    structure->nesting = NESTING_BUSY;
    for (size_t i = 0; i < structure->fields_count; i++) {
        const sni_idl_field *field = &structure->fields[i];
        if (field->type.kind != SNI_IDL_STRUCT)
            continue;
        sni_idl_struct *inner = field->type.structure;
        bool recursive = inner->nesting == NESTING_BUSY;
        if (recursive || level >= SNI_IDL_NESTING_MAX) {
            report_nesting(checker, field, recursive);
            continue;
        }
        if (!inner->nesting)
            order_struct(checker, inner, level + 1);
        if (inner->nesting >= SNI_IDL_NESTING_MAX)
            report_nesting(checker, field, false);
        else if (inner->nesting > deepest)
            deepest = inner->nesting;
    }
    structure->nesting = deepest + 1;
    model->structs[model->structs_count++] = structure;
}

static void
order_structs(sni_idl_checker *checker)
{
    checker->model->structs =
        SNI_IDL_NEW_ARRAY(checker->arena, const sni_idl_struct *, checker->structs_count);
    for (size_t i = 0; i < checker->structs_count; i++)
        if (!checker->structs[i]->nesting)
            order_struct(checker, checker->structs[i], 1);
}

/* ---- The file --------------------------------------------------------- */

static void
check_head(sni_idl_checker *checker)
{
    const sni_ast_file *file = checker->file;
    sni_idl_model *model = checker->model;
    sni_idl_annots annots;
    sni_idl_check_annots(checker->diags, file->annots, SNI_IDL_ON_NAMESPACE, &annots);
    model->space = file->space.text ? file->space.text : "";
    model->space_span = file->space.text ? file->space.span : file->edition_span;
    model->c_prefix = annots.c_prefix;
    model->doc = file->doc;
    for (const sni_ast_import *import = file->imports; import; import = import->next)
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, import->span,
                      "imports are not built yet");
}

static void
collect_items(sni_idl_checker *checker)
{
    sni_idl_item *items =
        SNI_IDL_NEW_ARRAY(checker->arena, sni_idl_item, checker->ordered_count);
    size_t count = 0;
    for (size_t i = 0; i < checker->ordered_count; i++) {
        sni_idl_symbol *symbol = checker->ordered[i];
        sni_idl_resolve_symbol(checker, symbol);
        switch (symbol->decl->kind) {
        case SNI_AST_CONST:
            items[count++] = (sni_idl_item){ .kind = SNI_IDL_ITEM_CONST,
                                             .constant = symbol->constant };
            break;
        case SNI_AST_ENUM:
        case SNI_AST_FLAGS:
            items[count++] = (sni_idl_item){ .kind = SNI_IDL_ITEM_ENUM,
                                             .enumeration = symbol->enumeration };
            break;
        case SNI_AST_STRUCT:
        case SNI_AST_ERROR:
            items[count++] = (sni_idl_item){ .kind = SNI_IDL_ITEM_STRUCT,
                                             .structure = symbol->structure };
            break;
        case SNI_AST_SERVICE:
            items[count++] =
                (sni_idl_item){ .kind = SNI_IDL_ITEM_SERVICE,
                                .service = sni_idl_check_service(checker, symbol) };
            break;
        case SNI_AST_EVENT:
            items[count++] =
                (sni_idl_item){ .kind = SNI_IDL_ITEM_EVENT,
                                .event = sni_idl_check_event(checker, symbol) };
            break;
        case SNI_AST_ALIAS:
        case SNI_AST_UNION:
            break;
        }
    }
    checker->model->items = items;
    checker->model->items_count = count;
}

sni_idl_model *
sni_idl_check(sni_idl_arena *arena, sni_idl_diags *diags, const sni_ast_file *file)
{
    sni_idl_checker checker = { .arena = arena, .diags = diags, .file = file };
    checker.model = SNI_IDL_NEW(arena, sni_idl_model);
    check_head(&checker);
    declare_all(&checker);
    fill_structs(&checker);
    collect_items(&checker);
    order_structs(&checker);
    return checker.model;
}
