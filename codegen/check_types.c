/* SPDX-License-Identifier: MIT */
/* Types and values: from names as written to what they stand for. */
#include "checker.h"

#include <string.h>

#include "bounds.h"
#include "suggest.h"

static const char *const missing_kinds[] = { "uuid", "any" };

static bool
find_kind(const char *name, sni_idl_kind *out)
{
    for (size_t i = 0; i < SNI_IDL_BUILT_IN_COUNT; i++) {
        if (strcmp(sni_idl_kind_name((sni_idl_kind)i), name) != 0)
            continue;
        *out = (sni_idl_kind)i;
        return true;
    }
    return false;
}

/* ---- Names ------------------------------------------------------------ */

/* `name` without the namespace of this file. */
static const char *
short_name(const sni_idl_checker *checker, const char *name)
{
    const char *space = checker->model->space;
    size_t size = strlen(space);
    bool own = size && !strncmp(name, space, size) && name[size] == '.';
    return own ? name + size + 1 : name;
}

sni_idl_symbol *
sni_idl_find_symbol(sni_idl_checker *checker, const char *name)
{
    return sni_idl_map_get(&checker->symbols, short_name(checker, name));
}

static bool
is_type(const sni_ast_decl *decl)
{
    return decl->kind != SNI_AST_CONST && decl->kind != SNI_AST_SERVICE &&
           decl->kind != SNI_AST_EVENT;
}

/* Whether the name begins with that of an import: imports were refused already,
 * what they would have brought is not reported again. */
static bool
is_imported(const sni_idl_checker *checker, const char *name)
{
    for (const sni_ast_import *i = checker->file->imports; i; i = i->next) {
        size_t size = i->as.text ? strlen(i->as.text) : 0;
        if (!size || (!strncmp(name, i->as.text, size) && name[size] == '.'))
            return true;
    }
    return false;
}

/* What people coming from other languages write, and what it is here. */
static const char *const foreign_names[][2] = {
    { "string", "str" },  { "text", "str" },       { "int", "i32" },
    { "integer", "i64" }, { "uint", "u32" },       { "int8", "i8" },
    { "uint8", "u8" },    { "int16", "i16" },      { "uint16", "u16" },
    { "int32", "i32" },   { "uint32", "u32" },     { "int64", "i64" },
    { "uint64", "u64" },  { "long", "i64" },       { "byte", "u8" },
    { "float", "f32" },   { "float32", "f32" },    { "double", "f64" },
    { "float64", "f64" }, { "boolean", "bool" },   { "binary", "bytes" },
    { "blob", "bytes" },  { "timestamp", "time" }, { "datetime", "time" },
};

static const char *
translate(const char *name)
{
    for (size_t i = 0; i < sizeof(foreign_names) / sizeof(foreign_names[0]); i++)
        if (!strcmp(foreign_names[i][0], name))
            return foreign_names[i][1];
    return NULL;
}

void
sni_idl_report_unknown(sni_idl_checker *checker, const sni_ast_name *name,
                       const char *what, bool types, bool errors_only)
{
    if (is_imported(checker, name->text))
        return;
    sni_idl_suggestion suggestion = { short_name(checker, name->text), NULL, 0 };
    for (size_t i = 0; types && !errors_only && i < SNI_IDL_BUILT_IN_COUNT; i++)
        sni_idl_suggestion_try(&suggestion, sni_idl_kind_name((sni_idl_kind)i));
    /* Suggestions cost a comparison with every name; a file with very many
     * mistakes must not become slow by them. */
    bool affordable = checker->diags->errors_count < SNI_IDL_ERRORS_MAX;
    for (size_t i = 0; affordable && i < checker->ordered_count; i++) {
        const sni_ast_decl *decl = checker->ordered[i]->decl;
        bool candidate = errors_only ? decl->kind == SNI_AST_ERROR
                         : types     ? is_type(decl)
                                     : decl->kind == SNI_AST_CONST;
        if (candidate)
            sni_idl_suggestion_try(&suggestion, decl->name.text);
    }
    if (types && !errors_only && translate(name->text))
        suggestion.best = translate(name->text);
    sni_idl_error(checker->diags, types ? SNI_IDL_UNKNOWN_TYPE : SNI_IDL_UNKNOWN_VALUE,
                  name->span, "unknown %s '%s'%s%s%s", what, name->text,
                  suggestion.best ? "; did you mean '" : "",
                  suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
}

/* ---- Types ------------------------------------------------------------ */

static bool
resolve_declared(sni_idl_checker *checker, const sni_ast_name *name, sni_idl_type *out)
{
    sni_idl_symbol *symbol = sni_idl_find_symbol(checker, name->text);
    if (!symbol) {
        sni_idl_report_unknown(checker, name, "type", true, false);
        return false;
    }
    sni_idl_resolve_symbol(checker, symbol);
    switch (symbol->decl->kind) {
    case SNI_AST_ENUM:
    case SNI_AST_FLAGS:
        *out = (sni_idl_type){ .kind = SNI_IDL_ENUM, .enumeration = symbol->enumeration };
        break;
    case SNI_AST_STRUCT:
    case SNI_AST_ERROR:
        *out = (sni_idl_type){ .kind = SNI_IDL_STRUCT, .structure = symbol->structure };
        break;
    case SNI_AST_ALIAS:
        *out = symbol->alias;
        break;
    case SNI_AST_UNION:
        return false; /* refused at its declaration */
    case SNI_AST_CONST:
    case SNI_AST_SERVICE:
    case SNI_AST_EVENT:
        sni_idl_error(checker->diags, SNI_IDL_TYPE_NOT_ALLOWED, name->span,
                      "'%s' is %s, not a type", name->text,
                      symbol->decl->kind == SNI_AST_CONST     ? "a constant"
                      : symbol->decl->kind == SNI_AST_SERVICE ? "a service"
                                                              : "an event");
        sni_idl_note(checker->diags, symbol->decl->name.span, "it is declared here");
        return false;
    }
    return symbol->progress != SNI_IDL_BROKEN;
}

static bool
resolve_name(sni_idl_checker *checker, const sni_ast_name *name, sni_idl_type *out)
{
    sni_idl_kind kind;
    if (find_kind(name->text, &kind)) {
        *out = (sni_idl_type){ .kind = kind };
        return true;
    }
    for (size_t i = 0; i < sizeof(missing_kinds) / sizeof(missing_kinds[0]); i++) {
        if (strcmp(name->text, missing_kinds[i]) != 0)
            continue;
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, name->span,
                      "the type '%s' is not built yet", name->text);
        return false;
    }
    if (!strcmp(name->text, "void")) {
        sni_idl_error(checker->diags, SNI_IDL_TYPE_NOT_ALLOWED, name->span,
                      "'void' can only be what a method gives");
        return false;
    }
    return resolve_declared(checker, name, out);
}

static bool
resolve_list(sni_idl_checker *checker, const sni_ast_type *type, sni_idl_type *out)
{
    sni_idl_type element;
    if (!sni_idl_resolve_type(checker, type->element, &element))
        return false;
    const char *missing = element.optional               ? "optional list elements"
                          : element.kind == SNI_IDL_LIST ? "lists of lists"
                                                         : NULL;
    if (missing) {
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, type->element->span,
                      "%s are not built yet; wrap the element in a struct", missing);
        return false;
    }
    sni_idl_type *copy = SNI_IDL_NEW(checker->arena, sni_idl_type);
    *copy = element;
    *out = (sni_idl_type){ .kind = SNI_IDL_LIST, .element = copy };
    return true;
}

bool
sni_idl_resolve_type(sni_idl_checker *checker, const sni_ast_type *type,
                     sni_idl_type *out)
{
    bool sound = false;
    switch (type->kind) {
    case SNI_AST_TYPE_NAME:
        sound = resolve_name(checker, &type->name, out);
        break;
    case SNI_AST_TYPE_LIST:
        sound = resolve_list(checker, type, out);
        break;
    case SNI_AST_TYPE_ARRAY:
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, type->span,
                      "arrays of fixed size are not built yet; use bytes or a list");
        return false;
    case SNI_AST_TYPE_MAP:
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, type->span,
                      "maps are not built yet; use a list of a struct of key and value");
        return false;
    }
    if (sound)
        out->optional = type->optional;
    return sound;
}

/* ---- Values ----------------------------------------------------------- */

static const char *
type_text(const sni_idl_type *type)
{
    switch (type->kind) {
    case SNI_IDL_ENUM:
        return type->enumeration->naming.name;
    case SNI_IDL_STRUCT:
        return type->structure->naming.name;
    case SNI_IDL_LIST:
        return "a list";
    default: /* the built-in kinds have their names in a table */
        return sni_idl_kind_name(type->kind);
    }
}

static bool
wrong_value(sni_idl_checker *checker, const sni_ast_value *value,
            const sni_idl_type *type, const char *wanted)
{
    sni_idl_error(checker->diags, SNI_IDL_VALUE_TYPE, value->span,
                  "this is no value of type %s; write %s", type_text(type), wanted);
    return false;
}

static bool
check_integer(sni_idl_checker *checker, const sni_ast_value *value,
              const sni_idl_type *type, sni_idl_constant *out)
{
    if (value->kind != SNI_AST_INT && value->kind != SNI_AST_SIZE)
        return wrong_value(checker, value, type, "a whole number");
    if (!sni_idl_number_fits(type->kind, value->negative, value->magnitude)) {
        sni_idl_error(checker->diags, SNI_IDL_VALUE_RANGE, value->span,
                      "this number does not fit %s", sni_idl_kind_name(type->kind));
        return false;
    }
    out->bits = value->negative ? 0 - value->magnitude : value->magnitude;
    return true;
}

static bool
check_float(sni_idl_checker *checker, const sni_ast_value *value,
            const sni_idl_type *type, sni_idl_constant *out)
{
    if (value->kind == SNI_AST_INT)
        out->real =
            value->negative ? -(double)value->magnitude : (double)value->magnitude;
    else if (value->kind == SNI_AST_FLOAT)
        out->real = value->real;
    else
        return wrong_value(checker, value, type, "a number, as in 0.5");
    if (type->kind == SNI_IDL_F32 &&
        (out->real > 3.4028234663852886e38 || out->real < -3.4028234663852886e38)) {
        sni_idl_error(checker->diags, SNI_IDL_VALUE_RANGE, value->span,
                      "this number does not fit f32");
        return false;
    }
    return true;
}

static bool
check_bool(sni_idl_checker *checker, const sni_ast_value *value, const sni_idl_type *type,
           sni_idl_constant *out)
{
    bool is_true = value->kind == SNI_AST_NAME && !strcmp(value->text, "true");
    bool is_false = value->kind == SNI_AST_NAME && !strcmp(value->text, "false");
    if (!is_true && !is_false)
        return wrong_value(checker, value, type, "true or false");
    out->bits = is_true;
    return true;
}

/* `name` or `Enum.name`. */
static bool
check_enum(sni_idl_checker *checker, const sni_ast_value *value, const sni_idl_type *type,
           sni_idl_constant *out)
{
    const sni_idl_enum *enumeration = type->enumeration;
    if (value->kind != SNI_AST_NAME)
        return wrong_value(checker, value, type, "the name of one of its values");
    const char *name = value->text;
    size_t own = strlen(enumeration->naming.name);
    if (!strncmp(name, enumeration->naming.name, own) && name[own] == '.')
        name += own + 1;
    sni_idl_suggestion suggestion = { name, NULL, 0 };
    for (size_t i = 0; i < enumeration->values_count; i++) {
        if (!strcmp(enumeration->values[i].naming.name, name)) {
            out->bits = enumeration->values[i].bits;
            return true;
        }
        sni_idl_suggestion_try(&suggestion, enumeration->values[i].naming.name);
    }
    sni_idl_error(checker->diags, SNI_IDL_UNKNOWN_VALUE, value->span,
                  "%s has no value '%s'%s%s%s", enumeration->naming.name, name,
                  suggestion.best ? "; did you mean '" : "",
                  suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
    sni_idl_note(checker->diags, enumeration->naming.span, "it is declared here");
    return false;
}

/* A constant of the same kind of value, checked again for the range of its new
 * place: a u32 constant may be the default of a u8 field when it fits. */
static bool
check_constant(sni_idl_checker *checker, const sni_ast_value *value,
               sni_idl_symbol *symbol, const sni_idl_type *type, sni_idl_constant *out)
{
    sni_idl_resolve_symbol(checker, symbol);
    if (symbol->progress != SNI_IDL_DONE)
        return false;
    const sni_idl_const *constant = symbol->constant;
    *out = constant->value;
    if (sni_idl_kind_is_integer(type->kind) &&
        sni_idl_kind_is_integer(constant->type.kind)) {
        bool negative =
            sni_idl_kind_is_signed(constant->type.kind) && out->bits >> 63 != 0;
        if (sni_idl_number_fits(type->kind, negative,
                                negative ? 0 - out->bits : out->bits))
            return true;
        sni_idl_error(checker->diags, SNI_IDL_VALUE_RANGE, value->span,
                      "'%s' does not fit %s", value->text, sni_idl_kind_name(type->kind));
        return false;
    }
    bool same = type->kind == constant->type.kind &&
                type->enumeration == constant->type.enumeration;
    if (!same) {
        sni_idl_error(checker->diags, SNI_IDL_VALUE_TYPE, value->span,
                      "'%s' is a constant of type %s, not %s", value->text,
                      type_text(&constant->type), type_text(type));
        sni_idl_note(checker->diags, constant->naming.span, "it is declared here");
    }
    return same;
}

bool
sni_idl_check_value(sni_idl_checker *checker, const sni_ast_value *value,
                    const sni_idl_type *type, sni_idl_constant *out)
{
    if (value->kind == SNI_AST_NAME && strcmp(value->text, "true") != 0 &&
        strcmp(value->text, "false") != 0) {
        sni_idl_symbol *symbol = sni_idl_find_symbol(checker, value->text);
        if (symbol && symbol->decl->kind == SNI_AST_CONST)
            return check_constant(checker, value, symbol, type, out);
        if (type->kind != SNI_IDL_ENUM) {
            sni_ast_name name = { value->text, value->span };
            sni_idl_report_unknown(checker, &name, "constant", false, false);
            return false;
        }
    }
    switch (type->kind) {
    case SNI_IDL_BOOL:
        return check_bool(checker, value, type, out);
    case SNI_IDL_U8:
    case SNI_IDL_I8:
    case SNI_IDL_U16:
    case SNI_IDL_I16:
    case SNI_IDL_U32:
    case SNI_IDL_I32:
    case SNI_IDL_U64:
    case SNI_IDL_I64:
        return check_integer(checker, value, type, out);
    case SNI_IDL_F32:
    case SNI_IDL_F64:
        return check_float(checker, value, type, out);
    case SNI_IDL_STR:
        if (value->kind != SNI_AST_STRING)
            return wrong_value(checker, value, type, "a \"string\"");
        out->text = value->text;
        return true;
    case SNI_IDL_DURATION:
        if (value->kind != SNI_AST_DURATION)
            return wrong_value(checker, value, type, "a duration, as in 250ms");
        out->bits = value->magnitude;
        return true;
    case SNI_IDL_ENUM:
        return check_enum(checker, value, type, out);
    case SNI_IDL_TIME:
    case SNI_IDL_BYTES:
    case SNI_IDL_STRUCT:
    case SNI_IDL_LIST:
        break;
    }
    sni_idl_error(checker->diags, SNI_IDL_DEFAULT_NOT_ALLOWED, value->span,
                  "there are no values of type %s in a schema", type_text(type));
    return false;
}
