/* SPDX-License-Identifier: MIT */
/* Annotations: one table says which exist, where they may stand and what they
 * take. Adding one is a row, and a function when it is built. */
#include "annot.h"

#include <limits.h>
#include <string.h>

#include "suggest.h"

#define ARGS_MAX 2

typedef enum sni_idl_arg_kind {
    ARG_NONE,
    ARG_DURATION,
    ARG_COUNT, /* an integer from 0 to 2^31-1 */
    ARG_STRING,
    ARG_CODE, /* a name from the table of codes, or an integer */
} sni_idl_arg_kind;

typedef struct sni_idl_arg_rule {
    const char *name;
    sni_idl_arg_kind kind;
    bool required;
} sni_idl_arg_rule;

typedef struct sni_idl_annot_rule {
    const char *name;
    unsigned places;
    const char *usage; /* how to write it */
    sni_idl_arg_rule args[ARGS_MAX];
    /* NULL: in the language, not built yet. */
    void (*apply)(sni_idl_diags *diags, const sni_ast_annot *annot,
                  const sni_ast_value *const *args, sni_idl_annots *out);
} sni_idl_annot_rule;

#define ON_TYPES                                                                         \
    (SNI_IDL_ON_ENUM | SNI_IDL_ON_STRUCT | SNI_IDL_ON_UNION | SNI_IDL_ON_ERROR)
#define ON_MEMBERS (SNI_IDL_ON_FIELD | SNI_IDL_ON_PARAMETER)
#define ON_NAMED                                                                         \
    (ON_TYPES | ON_MEMBERS | SNI_IDL_ON_ENUMERATOR | SNI_IDL_ON_SERVICE |                \
     SNI_IDL_ON_METHOD | SNI_IDL_ON_EVENT)

/* ---- Codes ------------------------------------------------------------ */

typedef struct sni_idl_code {
    const char *name;
    int32_t number;
} sni_idl_code;

/* The numbers gRPC made well known, so that bridges need no table. */
static const sni_idl_code codes[] = {
    { "cancelled", 1 },           { "unknown", 2 },
    { "invalid_argument", 3 },    { "deadline_exceeded", 4 },
    { "not_found", 5 },           { "already_exists", 6 },
    { "permission_denied", 7 },   { "resource_exhausted", 8 },
    { "failed_precondition", 9 }, { "aborted", 10 },
    { "out_of_range", 11 },       { "unimplemented", 12 },
    { "internal", 13 },           { "unavailable", 14 },
    { "data_loss", 15 },          { "unauthenticated", 16 },
};

#define CODES_COUNT (sizeof(codes) / sizeof(codes[0]))

/* ---- What each one does ----------------------------------------------- */

static void
apply_timeout(sni_idl_diags *diags, const sni_ast_annot *annot,
              const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)annot;
    uint64_t ms = args[0]->magnitude / 1000000 + (args[0]->magnitude % 1000000 != 0);
    if (!ms || ms > INT_MAX)
        sni_idl_error(diags, SNI_IDL_VALUE_RANGE, args[0]->span,
                      "a timeout is more than zero and at most 596h");
    else
        out->timeout_ms = (uint32_t)ms;
}

static void
apply_idempotent(sni_idl_diags *diags, const sni_ast_annot *annot,
                 const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)diags, (void)annot, (void)args;
    out->idempotent = true;
}

static void
apply_retryable(sni_idl_diags *diags, const sni_ast_annot *annot,
                const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)diags, (void)annot, (void)args;
    out->retryable = true;
}

static void
apply_version(sni_idl_diags *diags, const sni_ast_annot *annot,
              const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)diags, (void)annot;
    out->versioned = true;
    out->major = (uint32_t)args[0]->magnitude;
    out->minor = (uint32_t)args[1]->magnitude;
}

static void
apply_deprecated(sni_idl_diags *diags, const sni_ast_annot *annot,
                 const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)diags, (void)annot;
    out->deprecated = args[0] ? args[0]->text : "";
}

static void
apply_code(sni_idl_diags *diags, const sni_ast_annot *annot,
           const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)annot;
    const sni_ast_value *value = args[0];
    if (value->kind == SNI_AST_INT) {
        uint64_t limit = value->negative ? (uint64_t)INT32_MAX + 1 : INT32_MAX;
        if (value->magnitude > limit)
            sni_idl_error(diags, SNI_IDL_VALUE_RANGE, value->span,
                          "a code fits 32 bits, with sign");
        else
            out->code = (int32_t)(value->negative ? -(int64_t)value->magnitude
                                                  : (int64_t)value->magnitude);
        return;
    }
    sni_idl_suggestion suggestion = { value->text, NULL, 0 };
    for (size_t i = 0; i < CODES_COUNT; i++) {
        if (!strcmp(codes[i].name, value->text)) {
            out->code = codes[i].number;
            return;
        }
        sni_idl_suggestion_try(&suggestion, codes[i].name);
    }
    sni_idl_error(diags, SNI_IDL_UNKNOWN_VALUE, value->span, "unknown code '%s'%s%s%s",
                  value->text, suggestion.best ? "; did you mean '" : "",
                  suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
}

static void
apply_c(sni_idl_diags *diags, const sni_ast_annot *annot,
        const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)diags, (void)annot;
    out->c_prefix = args[0] ? args[0]->text : NULL;
    out->c_name = args[1] ? args[1]->text : NULL;
}

/* Read by other commands (Python output, the check for breaking changes); means
 * nothing to this one. */
static void
apply_nothing(sni_idl_diags *diags, const sni_ast_annot *annot,
              const sni_ast_value *const *args, sni_idl_annots *out)
{
    (void)diags, (void)annot, (void)args, (void)out;
}

/* ---- The table -------------------------------------------------------- */

static const sni_idl_annot_rule rules[] = {
    { "timeout",
      SNI_IDL_ON_METHOD,
      "@timeout(250ms)",
      { { "d", ARG_DURATION, true } },
      apply_timeout },
    { "idempotent", SNI_IDL_ON_METHOD, "@idempotent", { { 0 } }, apply_idempotent },
    { "readonly", SNI_IDL_ON_METHOD, "@readonly", { { 0 } }, apply_idempotent },
    { "version",
      SNI_IDL_ON_SERVICE,
      "@version(1, 0)",
      { { "major", ARG_COUNT, true }, { "minor", ARG_COUNT, true } },
      apply_version },
    { "deprecated",
      ON_NAMED | SNI_IDL_ON_ALIAS,
      "@deprecated(\"why\")",
      { { "why", ARG_STRING, false } },
      apply_deprecated },
    { "code",
      SNI_IDL_ON_ERROR,
      "@code(not_found)",
      { { "kind", ARG_CODE, true } },
      apply_code },
    { "retryable", SNI_IDL_ON_ERROR, "@retryable", { { 0 } }, apply_retryable },
    { "c",
      ON_NAMED | SNI_IDL_ON_NAMESPACE,
      "@c(prefix = \"abc\") on the namespace, @c(name = \"abc\") elsewhere",
      { { "prefix", ARG_STRING, false }, { "name", ARG_STRING, false } },
      apply_c },
    { "py", ON_NAMED, "@py(\"name\")", { { "name", ARG_STRING, true } }, apply_nothing },
    { "was",
      ON_NAMED,
      "@was(\"old_name\")",
      { { "old_name", ARG_STRING, true } },
      apply_nothing },
    { "hedge", SNI_IDL_ON_METHOD, NULL, { { 0 } }, NULL },
    { "dedup", SNI_IDL_ON_METHOD, NULL, { { 0 } }, NULL },
    { "key", SNI_IDL_ON_METHOD | SNI_IDL_ON_EVENT, NULL, { { 0 } }, NULL },
    { "credit", SNI_IDL_ON_METHOD, NULL, { { 0 } }, NULL },
    { "resumable", SNI_IDL_ON_METHOD, NULL, { { 0 } }, NULL },
    { "auth", SNI_IDL_ON_METHOD | SNI_IDL_ON_SERVICE, NULL, { { 0 } }, NULL },
    { "max", ON_MEMBERS | SNI_IDL_ON_ALIAS, NULL, { { 0 } }, NULL },
    { "min", ON_MEMBERS | SNI_IDL_ON_ALIAS, NULL, { { 0 } }, NULL },
    { "range", ON_MEMBERS | SNI_IDL_ON_ALIAS, NULL, { { 0 } }, NULL },
    { "pattern", ON_MEMBERS | SNI_IDL_ON_ALIAS, NULL, { { 0 } }, NULL },
    { "positional", SNI_IDL_ON_STRUCT, NULL, { { 0 } }, NULL },
    { "keep_unknown", SNI_IDL_ON_STRUCT, NULL, { { 0 } }, NULL },
    { "closed", SNI_IDL_ON_ENUM | SNI_IDL_ON_UNION, NULL, { { 0 } }, NULL },
    { "retain", SNI_IDL_ON_EVENT, NULL, { { 0 } }, NULL },
    { "via", SNI_IDL_ON_EVENT, NULL, { { 0 } }, NULL },
    { "secret", ON_MEMBERS | SNI_IDL_ON_ALIAS, NULL, { { 0 } }, NULL },
};

#define RULES_COUNT (sizeof(rules) / sizeof(rules[0]))

static const char *const place_names[] = {
    "a namespace", "an alias", "an enum",     "an enum value", "a struct", "a union",
    "an error",    "a field",  "a parameter", "a service",     "a method", "an event",
};

static const char *
place_name(unsigned place)
{
    for (size_t i = 0; i < sizeof(place_names) / sizeof(place_names[0]); i++)
        if (place == 1u << i)
            return place_names[i];
    return "this";
}

/* ---- Checking --------------------------------------------------------- */

static const sni_idl_annot_rule *
find_rule(const char *name)
{
    for (size_t i = 0; i < RULES_COUNT; i++)
        if (!strcmp(rules[i].name, name))
            return &rules[i];
    return NULL;
}

static void
report_unknown(sni_idl_diags *diags, const sni_ast_annot *annot)
{
    sni_idl_suggestion suggestion = { annot->name.text, NULL, 0 };
    for (size_t i = 0; i < RULES_COUNT; i++)
        sni_idl_suggestion_try(&suggestion, rules[i].name);
    if (suggestion.best)
        sni_idl_error(diags, SNI_IDL_UNKNOWN_ANNOTATION, annot->span,
                      "unknown annotation '@%s'; did you mean '@%s'?", annot->name.text,
                      suggestion.best);
    else
        sni_idl_error(diags, SNI_IDL_UNKNOWN_ANNOTATION, annot->span,
                      "unknown annotation '@%s'; your own ones begin with '@x_'",
                      annot->name.text);
}

static bool
value_fits(const sni_ast_value *value, sni_idl_arg_kind kind)
{
    switch (kind) {
    case ARG_NONE:
        return false;
    case ARG_DURATION:
        return value->kind == SNI_AST_DURATION;
    case ARG_COUNT:
        return value->kind == SNI_AST_INT && !value->negative &&
               value->magnitude <= INT32_MAX;
    case ARG_STRING:
        return value->kind == SNI_AST_STRING;
    case ARG_CODE:
        return value->kind == SNI_AST_NAME || value->kind == SNI_AST_INT;
    }
    return false;
}

/* Which of the rule's arguments `arg` is; -1: none. */
static int
find_arg(const sni_idl_annot_rule *rule, const sni_ast_arg *arg, int by_position)
{
    if (!arg->name.text)
        return by_position < ARGS_MAX && rule->args[by_position].name ? by_position : -1;
    for (int i = 0; i < ARGS_MAX && rule->args[i].name; i++)
        if (!strcmp(rule->args[i].name, arg->name.text))
            return i;
    return -1;
}

static bool
read_args(sni_idl_diags *diags, const sni_idl_annot_rule *rule,
          const sni_ast_annot *annot, const sni_ast_value **args)
{
    int position = 0;
    for (const sni_ast_arg *arg = annot->args; arg; arg = arg->next) {
        int at = find_arg(rule, arg, position++);
        bool good = at >= 0 && !args[at] && value_fits(arg->value, rule->args[at].kind);
        if (!good) {
            sni_idl_error(diags, SNI_IDL_ANNOTATION_ARGUMENTS, arg->value->span,
                          "'@%s' cannot take this; write %s", rule->name, rule->usage);
            return false;
        }
        args[at] = arg->value;
    }
    for (int i = 0; i < ARGS_MAX; i++) {
        if (!rule->args[i].required || args[i])
            continue;
        sni_idl_error(diags, SNI_IDL_ANNOTATION_ARGUMENTS, annot->span,
                      "'@%s' lacks its argument '%s'; write %s", rule->name,
                      rule->args[i].name, rule->usage);
        return false;
    }
    return true;
}

static bool
is_repeated(sni_idl_diags *diags, const sni_ast_annot *first, const sni_ast_annot *annot)
{
    for (const sni_ast_annot *other = first; other != annot; other = other->next) {
        if (strcmp(other->name.text, annot->name.text) != 0)
            continue;
        sni_idl_error(diags, SNI_IDL_ANNOTATION_REPEATED, annot->span,
                      "'@%s' is here twice", annot->name.text);
        sni_idl_note(diags, other->span, "the first one is here");
        return true;
    }
    return false;
}

/* "@c" alone differs by place: a prefix for a namespace, a name for the rest. */
static bool
c_fits_place(sni_idl_diags *diags, const sni_ast_annot *annot, sni_idl_place place,
             const sni_ast_value *const *args)
{
    bool on_namespace = place == SNI_IDL_ON_NAMESPACE;
    if ((on_namespace ? args[0] : args[1]) && !(on_namespace ? args[1] : args[0]))
        return true;
    sni_idl_error(diags, SNI_IDL_ANNOTATION_ARGUMENTS, annot->span, "on %s, write %s",
                  place_name(place),
                  on_namespace ? "@c(prefix = \"abc\")" : "@c(name = \"abc\")");
    return false;
}

static void
check_one(sni_idl_diags *diags, const sni_ast_annot *annot, sni_idl_place place,
          sni_idl_annots *out)
{
    const sni_idl_annot_rule *rule = find_rule(annot->name.text);
    if (!rule) {
        if (strncmp(annot->name.text, "x_", 2) != 0)
            report_unknown(diags, annot);
        return;
    }
    if (!(rule->places & place)) {
        sni_idl_error(diags, SNI_IDL_ANNOTATION_PLACE, annot->span,
                      "'@%s' does not apply to %s", rule->name, place_name(place));
        return;
    }
    if (!rule->apply) {
        sni_idl_error(diags, SNI_IDL_NOT_BUILT_YET, annot->span, "'@%s' is not built yet",
                      rule->name);
        return;
    }
    const sni_ast_value *args[ARGS_MAX] = { NULL };
    if (!read_args(diags, rule, annot, args))
        return;
    if (!strcmp(rule->name, "c") && !c_fits_place(diags, annot, place, args))
        return;
    rule->apply(diags, annot, args, out);
}

void
sni_idl_check_annots(sni_idl_diags *diags, const sni_ast_annot *annots,
                     sni_idl_place place, sni_idl_annots *out)
{
    memset(out, 0, sizeof(*out));
    for (const sni_ast_annot *annot = annots; annot; annot = annot->next)
        if (!is_repeated(diags, annots, annot))
            check_one(diags, annot, place, out);
}
