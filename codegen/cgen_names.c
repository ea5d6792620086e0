/* SPDX-License-Identifier: MIT */
/* Every name the generated C will have is made here first and checked: against
 * the words and macros of C and C++, and against each other. So the rest of the
 * generator cannot produce a file that does not compile for its names. */
#include "cgen_names.h"

#include <string.h>

/* Words that cannot be a name in C11, C23 or C++20, and lower-case macros of the
 * headers generated code includes, of hosted C and of GNU compilers. */
static const char *const reserved_words[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "complex",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "i386",
    "if",
    "imaginary",
    "inline",
    "int",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "noreturn",
    "not",
    "not_eq",
    "nullptr",
    "offsetof",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "setjmp",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unix",
    "unsigned",
    "using",
    "va_arg",
    "va_copy",
    "va_end",
    "va_start",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "BUFSIZ",
    "EOF",
    "FILE",
    "I",
    "NAN",
    "INFINITY",
    "NULL",
    "RAND_MAX",
    "SEEK_CUR",
    "SEEK_END",
    "SEEK_SET",
    "TMP_MAX",
    "CHAR_BIT",
    "DOMAIN",
    "EDOM",
    "EILSEQ",
    "ERANGE",
    "OVERFLOW",
    "UNDERFLOW",
    "HUGE_VAL",
};

typedef struct sni_cgen_global {
    sni_idl_span span;
    const char *what; /* "the struct 'Quote'", for notes */
} sni_cgen_global;

/* ---- Making names ----------------------------------------------------- */

static bool
is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool
is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "NoSuchSymbol" -> "no_such_symbol", "HTTPServer" -> "http_server". Dots become
 * underscores as well. */
static const char *
snake(sni_idl_arena *arena, const char *name)
{
    size_t size = strlen(name);
    char *out = sni_idl_alloc(arena, size * 2 + 1);
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        bool after_word = i && (is_lower(name[i - 1]) || is_digit(name[i - 1]));
        bool word_begins = i && is_upper(name[i - 1]) && is_lower(name[i + 1]);
        if (is_upper(c) && (after_word || word_begins))
            out[at++] = '_';
        out[at++] = c == '.' ? '_' : is_upper(c) ? (char)(c - 'A' + 'a') : c;
    }
    return out;
}

static const char *
capitals(sni_idl_arena *arena, const char *name)
{
    char *out = sni_idl_copy_text(arena, name, strlen(name));
    for (char *c = out; *c; c++)
        *c = is_lower(*c) ? (char)(*c - 'a' + 'A') : *c == '.' || *c == '-' ? '_' : *c;
    return out;
}

static const char *
part_of(const sni_cgen *gen, const sni_idl_naming *naming)
{
    return naming->c_name ? naming->c_name : snake(gen->arena, naming->name);
}

const char *
sni_cgen_name(const sni_cgen *gen, const void *thing)
{
    return sni_idl_map_get_number(&gen->names, (uintptr_t)thing);
}

const char *
sni_cgen_upper(const sni_cgen *gen, const void *thing)
{
    return capitals(gen->arena, sni_cgen_name(gen, thing));
}

const char *
sni_cgen_member(const sni_idl_naming *naming)
{
    return naming->c_name ? naming->c_name : naming->name;
}

const char *
sni_cgen_method_member(const sni_cgen *gen, const sni_idl_naming *naming)
{
    return part_of(gen, naming);
}

const char *
sni_cgen_enumerator(const sni_cgen *gen, const sni_idl_enum *enumeration,
                    const sni_idl_enumerator *value)
{
    return sni_idl_format(gen->arena, "%s_%s", sni_cgen_upper(gen, enumeration),
                          capitals(gen->arena, part_of(gen, &value->naming)));
}

const char *
sni_cgen_error_part(const sni_cgen *gen, const sni_idl_struct *error)
{
    return part_of(gen, &error->naming);
}

/* ---- Checking names --------------------------------------------------- */

static bool
ends_with(const char *name, const char *end)
{
    size_t size = strlen(name);
    size_t end_size = strlen(end);
    return size >= end_size && !strcmp(name + size - end_size, end);
}

/* Why C or C++ would not take `name`; NULL when they would. */
static const char *
why_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof(reserved_words) / sizeof(reserved_words[0]); i++)
        if (!strcmp(reserved_words[i], name))
            return "it is a keyword or macro of C or C++";
    if (strstr(name, "__") || (name[0] == '_' && is_upper(name[1])))
        return "names with '__', or '_' and a capital, belong to the compiler";
    if (ends_with(name, "_t"))
        return "names that end in '_t' are types of POSIX";
    if (!strncmp(name, "sennit_", 7) || !strncmp(name, "SENNIT_", 7))
        return "names that begin with 'sennit_' are the library's";
    bool numeric = !strncmp(name, "INT", 3) || !strncmp(name, "UINT", 4) ||
                   !strncmp(name, "SIZE_", 5) || !strncmp(name, "PTRDIFF_", 8) ||
                   !strncmp(name, "PRI", 3) || !strncmp(name, "SCN", 3);
    for (const char *c = name; numeric && *c; c++)
        numeric = !is_lower(*c);
    return numeric ? "names like this are macros of C" : NULL;
}

static bool
is_identifier(const char *name)
{
    if (!is_lower(*name) && !is_upper(*name) && *name != '_')
        return false;
    for (; *name; name++)
        if (!is_lower(*name) && !is_upper(*name) && !is_digit(*name) && *name != '_')
            return false;
    return true;
}

/* Whether @c gave something that can be a name at all. */
static bool
check_c_name(sni_cgen *gen, const sni_idl_naming *naming)
{
    if (!naming->c_name || (is_identifier(naming->c_name) && strlen(naming->c_name) < 64))
        return true;
    sni_idl_error(gen->diags, SNI_IDL_C_NAME_RESERVED, naming->span,
                  "'%.64s' cannot be a name in C: letters, digits and '_', at most 63",
                  naming->c_name);
    return false;
}

/* One thing makes a dozen names; one error about them is enough. */
static bool
is_reported(sni_cgen *gen, sni_idl_span span)
{
    bool again = gen->reported == span.at + 1;
    gen->reported = span.at + 1;
    return again;
}

static void
report_reserved(sni_cgen *gen, sni_idl_span span, const char *name, const char *why)
{
    if (is_reported(gen, span))
        return;
    sni_idl_error(gen->diags, SNI_IDL_C_NAME_RESERVED, span,
                  "'%s' cannot be a name in C: %s; keep the schema's name and write "
                  "@c(name = \"...\")",
                  name, why);
}

/* Enters a name at file scope. */
static void
enter(sni_cgen *gen, const char *name, sni_idl_span span, const char *what)
{
    const char *why = why_reserved(name);
    if (why) {
        report_reserved(gen, span, name, why);
        return;
    }
    const sni_cgen_global *other = sni_idl_map_get(&gen->globals, name);
    if (other) {
        if (is_reported(gen, span))
            return;
        sni_idl_error(gen->diags, SNI_IDL_C_NAME_CLASH, span,
                      "'%s' would be declared twice in C; rename this, or write "
                      "@c(name = \"...\")",
                      name);
        sni_idl_note(gen->diags, other->span, "%s needs it too", other->what);
        return;
    }
    sni_cgen_global *global = SNI_IDL_NEW(gen->arena, sni_cgen_global);
    *global = (sni_cgen_global){ span, what };
    sni_idl_map_add(&gen->globals, gen->arena, name, global);
}

static void
enter_all(sni_cgen *gen, const char *base, const char *const *ends, size_t count,
          sni_idl_span span, const char *what)
{
    for (size_t i = 0; i < count; i++)
        enter(gen, sni_idl_format(gen->arena, "%s%s", base, ends[i]), span, what);
}

#define ENTER_ALL(gen, base, ends, span, what)                                           \
    enter_all((gen), (base), (ends), sizeof(ends) / sizeof((ends)[0]), (span), (what))

/* Members of one struct. */
typedef struct sni_cgen_members {
    sni_idl_map names; /* to sni_cgen_global */
} sni_cgen_members;

static void
enter_member(sni_cgen *gen, sni_cgen_members *members, const char *name,
             sni_idl_span span, const char *what)
{
    const char *why = why_reserved(name);
    /* In C++ a member named as a type its struct uses changes that type's meaning;
     * and macros know no scopes. */
    if (!why && sni_idl_map_get(&gen->globals, name))
        why = "generated code uses it for something else";
    if (why) {
        report_reserved(gen, span, name, why);
        return;
    }
    const sni_cgen_global *other = sni_idl_map_get(&members->names, name);
    if (other) {
        sni_idl_error(gen->diags, SNI_IDL_C_NAME_CLASH, span,
                      "the C struct would have two members '%s'; rename this, or write "
                      "@c(name = \"...\")",
                      name);
        sni_idl_note(gen->diags, other->span, "%s needs it too", other->what);
        return;
    }
    sni_cgen_global *member = SNI_IDL_NEW(gen->arena, sni_cgen_global);
    *member = (sni_cgen_global){ span, what };
    sni_idl_map_add(&members->names, gen->arena, name, member);
}

/* ---- The names of each thing ------------------------------------------ */

static const char *
name_thing(sni_cgen *gen, const void *thing, const sni_idl_naming *naming)
{
    check_c_name(gen, naming);
    const char *name =
        sni_idl_format(gen->arena, "%s_%s", gen->prefix, part_of(gen, naming));
    if (!sni_idl_map_get_number(&gen->names, (uintptr_t)thing))
        sni_idl_map_add_number(&gen->names, gen->arena, (uintptr_t)thing, name);
    return name;
}

static const char *
what_is(sni_cgen *gen, const char *kind, const sni_idl_naming *naming)
{
    return sni_idl_format(gen->arena, "the %s '%s'", kind, naming->name);
}

static void
enter_struct(sni_cgen *gen, const sni_idl_struct *structure, const char *base,
             sni_idl_span span, const char *what)
{
    static const char *const ends[] = {
        "",        "_codec", "_fields", "_init",  "_size",
        "_encode", "_view",  "_decode", "_equal", "_print"
    };
    static const char *const error_ends[] = { "_ID", "_CODE", "_RETRYABLE" };
    const char *upper = capitals(gen->arena, base);
    ENTER_ALL(gen, base, ends, span, what);
    enter(gen, sni_idl_format(gen->arena, "%s_INIT", upper), span, what);
    if (structure->role != SNI_IDL_ROLE_ERROR)
        return;
    ENTER_ALL(gen, upper, error_ends, span, what);
    enter(gen, sni_idl_format(gen->arena, "%s_from_error", base), span, what);
}

static void
name_enum(sni_cgen *gen, const sni_idl_enum *enumeration)
{
    static const char *const ends[] = { "", "_name", "_parse" };
    const sni_idl_naming *naming = &enumeration->naming;
    const char *base = name_thing(gen, enumeration, naming);
    ENTER_ALL(gen, base, ends, naming->span, what_is(gen, "enum", naming));
    for (size_t i = 0; i < enumeration->values_count; i++) {
        const sni_idl_enumerator *value = &enumeration->values[i];
        check_c_name(gen, &value->naming);
        enter(gen, sni_cgen_enumerator(gen, enumeration, value), value->naming.span,
              what_is(gen, "value", &value->naming));
    }
}

/* A struct that belongs to a method: the method's name and an end. */
static void
name_owned(sni_cgen *gen, const sni_idl_struct *structure, const char *method,
           const char *end, const sni_idl_naming *naming)
{
    const char *base = sni_idl_format(gen->arena, "%s_%s", method, end);
    sni_idl_map_add_number(&gen->names, gen->arena, (uintptr_t)structure, base);
    enter_struct(gen, structure, base, naming->span, what_is(gen, "method", naming));
}

static void
name_method(sni_cgen *gen, const char *service, const sni_idl_method *method)
{
    static const char *const oneway_ends[] = { "", "_handle" };
    static const char *const ends[] = { "",    "_handle", "_thunk", "_start",
                                        "_fn", "_reply",  "_ok",    "_fail" };
    static const char *const upper_ends[] = { "_TIMEOUT_MS", "_IDEMPOTENT" };
    const sni_idl_naming *naming = &method->naming;
    const char *what = what_is(gen, "method", naming);
    check_c_name(gen, naming);
    const char *base = sni_idl_format(gen->arena, "%s_%s", service, part_of(gen, naming));
    sni_idl_map_add_number(&gen->names, gen->arena, (uintptr_t)method, base);
    ENTER_ALL(gen, capitals(gen->arena, base), upper_ends, naming->span, what);
    if (method->takes_own && !method->takes_nothing)
        name_owned(gen, method->takes, base, "args", naming);
    if (method->oneway) {
        ENTER_ALL(gen, base, oneway_ends, naming->span, what);
        return;
    }
    ENTER_ALL(gen, base, ends, naming->span, what);
    if (method->gives_own && !method->gives_nothing)
        name_owned(gen, method->gives, base, "result", naming);
    for (size_t i = 0; i < method->throws_count; i++)
        enter(gen,
              sni_idl_format(gen->arena, "%s_err_%s", base,
                             sni_cgen_error_part(gen, method->throws[i])),
              naming->span, what);
}

static void
name_service(sni_cgen *gen, const sni_idl_service *service)
{
    static const char *const ends[] = { "_client", "_client_init", "_vtable",
                                        "_serve",  "_service",     "_methods" };
    static const char *const upper_ends[] = { "_SERVICE", "_MAJOR", "_MINOR",
                                              "_VTABLE_INIT" };
    const sni_idl_naming *naming = &service->naming;
    const char *base = name_thing(gen, service, naming);
    const char *what = what_is(gen, "service", naming);
    ENTER_ALL(gen, base, ends, naming->span, what);
    ENTER_ALL(gen, capitals(gen->arena, base), upper_ends, naming->span, what);
    for (size_t i = 0; i < service->methods_count; i++)
        name_method(gen, base, &service->methods[i]);
}

static void
name_event(sni_cgen *gen, const sni_idl_event *event)
{
    static const char *const ends[] = { "_publish", "_subscribe", "_fn", "_thunk" };
    const sni_idl_naming *naming = &event->naming;
    const char *base = name_thing(gen, event, naming);
    const char *what = what_is(gen, "event", naming);
    ENTER_ALL(gen, base, ends, naming->span, what);
    enter(gen, sni_idl_format(gen->arena, "%s_TOPIC", capitals(gen->arena, base)),
          naming->span, what);
    if (!event->body_own)
        return;
    name_thing(gen, event->body, naming);
    enter_struct(gen, event->body, base, naming->span, what);
}

static void
name_item(sni_cgen *gen, const sni_idl_item *item)
{
    switch (item->kind) {
    case SNI_IDL_ITEM_CONST: {
        const sni_idl_naming *naming = &item->constant->naming;
        name_thing(gen, item->constant, naming);
        enter(gen, sni_cgen_upper(gen, item->constant), naming->span,
              what_is(gen, "constant", naming));
        break;
    }
    case SNI_IDL_ITEM_ENUM:
        name_enum(gen, item->enumeration);
        break;
    case SNI_IDL_ITEM_STRUCT: {
        const sni_idl_naming *naming = &item->structure->naming;
        const char *base = name_thing(gen, item->structure, naming);
        enter_struct(gen, item->structure, base, naming->span,
                     what_is(gen, "struct", naming));
        break;
    }
    case SNI_IDL_ITEM_SERVICE:
        name_service(gen, item->service);
        break;
    case SNI_IDL_ITEM_EVENT:
        name_event(gen, item->event);
        break;
    }
}

/* ---- Members ---------------------------------------------------------- */

static void
check_members(sni_cgen *gen, const sni_idl_struct *structure)
{
    sni_cgen_members members = { .names = { 0 } };
    enter_member(gen, &members, "unknown_", structure->naming.span,
                 "the place of unknown fields");
    for (size_t i = 0; i < structure->fields_count; i++) {
        const sni_idl_field *field = &structure->fields[i];
        const sni_idl_naming *naming = &field->naming;
        const char *name = sni_cgen_member(naming);
        const char *what = what_is(gen, "field", naming);
        if (!check_c_name(gen, naming))
            continue;
        enter_member(gen, &members, name, naming->span, what);
        if (field->type.optional)
            enter_member(gen, &members, sni_idl_format(gen->arena, "has_%s", name),
                         naming->span, what);
        if (field->type.kind == SNI_IDL_LIST)
            enter_member(gen, &members, sni_idl_format(gen->arena, "n_%s", name),
                         naming->span, what);
    }
}

static void
check_vtable(sni_cgen *gen, const sni_idl_service *service)
{
    sni_cgen_members members = { .names = { 0 } };
    enter_member(gen, &members, "abi", service->naming.span,
                 "the size in front of the methods");
    for (size_t i = 0; i < service->methods_count; i++) {
        const sni_idl_naming *naming = &service->methods[i].naming;
        enter_member(gen, &members, sni_cgen_method_member(gen, naming), naming->span,
                     what_is(gen, "method", naming));
    }
}

/* ---- The prefix ------------------------------------------------------- */

static bool
make_prefix(sni_cgen *gen)
{
    const sni_idl_model *model = gen->model;
    if (!model->c_prefix && !*model->space) {
        sni_idl_error(gen->diags, SNI_IDL_NAMESPACE_MISSING, model->space_span,
                      "C names need a namespace; write 'namespace my.project "
                      "@c(prefix = \"mp\");' after the edition");
        return false;
    }
    const char *prefix =
        model->c_prefix ? model->c_prefix : snake(gen->arena, model->space);
    bool good = is_identifier(prefix) && is_lower(*prefix) && strlen(prefix) < 64 &&
                !ends_with(prefix, "_") && !strstr(prefix, "__");
    bool ours = !strncmp(prefix, "sennit", 6) || !strcmp(prefix, "sni");
    for (const char *c = prefix; *c; c++)
        good = good && !is_upper(*c);
    if (!good || ours) {
        sni_idl_error(gen->diags, SNI_IDL_C_NAME_RESERVED, model->space_span,
                      ours ? "the prefix '%.64s' is the library's own; choose another "
                             "with @c(prefix = \"...\")"
                           : "'%.64s' cannot begin names in C; choose a prefix of small "
                             "letters with @c(prefix = \"...\")",
                      prefix);
        return false;
    }
    gen->prefix = prefix;
    gen->upper = capitals(gen->arena, prefix);
    return true;
}

/* The include guard: what cannot stand in a name becomes one underscore. */
static void
make_guard(sni_cgen *gen)
{
    const char *whole = sni_idl_format(gen->arena, "%s_%s_H", gen->prefix, gen->file);
    char *guard = sni_idl_alloc(gen->arena, strlen(whole) + 1);
    size_t size = 0;
    for (const char *c = whole; *c; c++) {
        bool letter = is_lower(*c) || is_upper(*c) || is_digit(*c);
        if (letter || guard[size - 1] != '_')
            guard[size++] = letter ? *c : '_';
    }
    gen->guard = capitals(gen->arena, guard);
}

bool
sni_cgen_make_names(sni_cgen *gen)
{
    if (!make_prefix(gen))
        return false;
    make_guard(gen);
    sni_idl_span top = gen->model->space_span;
    enter(gen, gen->guard, top, "the include guard");
    for (size_t i = 0; i < gen->model->items_count; i++)
        name_item(gen, &gen->model->items[i]);
    for (size_t i = 0; i < gen->model->structs_count; i++)
        check_members(gen, gen->model->structs[i]);
    for (size_t i = 0; i < gen->model->items_count; i++)
        if (gen->model->items[i].kind == SNI_IDL_ITEM_SERVICE)
            check_vtable(gen, gen->model->items[i].service);
    return !gen->diags->errors_count;
}
