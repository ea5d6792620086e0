/* SPDX-License-Identifier: MIT */
/* Recursive descent with two tokens of look-ahead, one function per rule of the
 * grammar. A rule that fails has reported why and returns false up to the loop
 * over the items it stands in; that loop skips to the next ';' or '}' and goes
 * on, so one run finds every error. */
#include "parser.h"

#include <inttypes.h>
#include <string.h>

#include "bounds.h"
#include "suggest.h"

typedef struct sni_idl_parser {
    sni_idl_arena *arena;
    sni_idl_diags *diags;
    const sni_idl_source *source;
    sni_idl_lexer lexer;
    sni_idl_token now;
    sni_idl_token ahead;
    sni_idl_span before; /* the token taken last */
    int depth;           /* of types and values inside one another */
    unsigned maps;       /* '{' of map types that are open here */
    uint32_t reported;   /* place of the last syntax error + 1: one per place */
} sni_idl_parser;

static const char *const keywords[] = {
    "edition", "namespace", "import", "as",     "const",    "type",  "enum",
    "flags",   "struct",    "union",  "error",  "service",  "event", "on",
    "extends", "oneway",    "stream", "throws", "reserved",
};

static const char *const decl_keywords[] = {
    [SNI_AST_CONST] = "const", [SNI_AST_ALIAS] = "type",      [SNI_AST_ENUM] = "enum",
    [SNI_AST_FLAGS] = "flags", [SNI_AST_STRUCT] = "struct",   [SNI_AST_UNION] = "union",
    [SNI_AST_ERROR] = "error", [SNI_AST_SERVICE] = "service", [SNI_AST_EVENT] = "event",
};

#define DECL_KEYWORDS_COUNT (sizeof(decl_keywords) / sizeof(decl_keywords[0]))

const char *
sni_ast_keyword(sni_ast_decl_kind kind)
{
    return decl_keywords[kind];
}

bool
sni_idl_is_keyword(const char *text)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (!strcmp(keywords[i], text))
            return true;
    return false;
}

/* ---- Tokens ----------------------------------------------------------- */

static void
advance(sni_idl_parser *parser)
{
    parser->before = parser->now.span;
    parser->now = parser->ahead;
    parser->ahead = sni_idl_lexer_next(&parser->lexer);
}

static bool
is(const sni_idl_token *token, const char *text)
{
    return (token->kind == SNI_IDL_TOKEN_PUNCT || token->kind == SNI_IDL_TOKEN_IDENT) &&
           !strcmp(token->text, text);
}

static bool
at(const sni_idl_parser *parser, const char *text)
{
    return is(&parser->now, text);
}

static bool
at_kind(const sni_idl_parser *parser, sni_idl_token_kind kind)
{
    return parser->now.kind == kind;
}

static bool
take(sni_idl_parser *parser, const char *text)
{
    if (!at(parser, text))
        return false;
    advance(parser);
    return true;
}

static sni_idl_span
span_to_here(const sni_idl_parser *parser, sni_idl_span from)
{
    uint32_t end = parser->before.at + parser->before.size;
    from.size = end > from.at ? end - from.at : from.size;
    return from;
}

/* Whether the token now stands on a later line than the one before it. */
static bool
on_new_line(const sni_idl_parser *parser)
{
    return sni_idl_source_position(parser->source, parser->before.at).line <
           sni_idl_source_position(parser->source, parser->now.span.at).line;
}

/* Reports that `wanted` was expected at the token now. Always false. */
static bool
fail(sni_idl_parser *parser, const char *wanted)
{
    sni_idl_token *now = &parser->now;
    if (now->kind == SNI_IDL_TOKEN_BROKEN || parser->reported == now->span.at + 1)
        return false;
    parser->reported = now->span.at + 1;
    if (now->kind == SNI_IDL_TOKEN_END)
        sni_idl_error(parser->diags, SNI_IDL_SYNTAX, now->span,
                      "expected %s, found the end of the file", wanted);
    else
        sni_idl_error(parser->diags, SNI_IDL_SYNTAX, now->span,
                      "expected %s, found '%.*s'", wanted,
                      now->span.size > 40 ? 40 : (int)now->span.size,
                      parser->source->text + now->span.at);
    return false;
}

static bool
want(sni_idl_parser *parser, const char *text)
{
    if (take(parser, text))
        return true;
    char wanted[16];
    snprintf(wanted, sizeof(wanted), "'%s'", text);
    return fail(parser, wanted);
}

/* The ';' after an item. One forgotten at the end of a line is reported where it
 * belongs and taken as written: nothing after it has to be skipped. */
static bool
want_semicolon(sni_idl_parser *parser)
{
    if (take(parser, ";"))
        return true;
    bool forgotten =
        on_new_line(parser) || at(parser, "}") || at_kind(parser, SNI_IDL_TOKEN_END);
    if (!forgotten)
        return fail(parser, "';'");
    if (at_kind(parser, SNI_IDL_TOKEN_BROKEN))
        return false;
    parser->reported = parser->now.span.at + 1;
    sni_idl_span end = { parser->before.at + parser->before.size, 0 };
    sni_idl_error(parser->diags, SNI_IDL_SYNTAX, end, "expected ';' here");
    return true;
}

static bool
want_name(sni_idl_parser *parser, sni_ast_name *out, const char *what)
{
    if (!at_kind(parser, SNI_IDL_TOKEN_IDENT))
        return fail(parser, what);
    *out = (sni_ast_name){ parser->now.text, parser->now.span };
    advance(parser);
    return true;
}

/* A name that stands where a keyword could: types, methods, constants. */
static bool
want_free_name(sni_idl_parser *parser, sni_ast_name *out, const char *what)
{
    if (at_kind(parser, SNI_IDL_TOKEN_IDENT) && sni_idl_is_keyword(parser->now.text))
        sni_idl_error(parser->diags, SNI_IDL_NAME_IS_KEYWORD, parser->now.span,
                      "'%s' is a keyword and cannot be %s", parser->now.text, what);
    return want_name(parser, out, what);
}

static bool
want_qname(sni_idl_parser *parser, sni_ast_name *out, const char *what)
{
    sni_ast_name name;
    if (!want_name(parser, &name, what))
        return false;
    while (at(parser, ".")) {
        advance(parser);
        sni_ast_name part = { NULL, { 0, 0 } };
        if (!want_name(parser, &part, "a name after '.'"))
            return false;
        name.text = sni_idl_format(parser->arena, "%s.%s", name.text, part.text);
        name.span = span_to_here(parser, name.span);
    }
    *out = name;
    return true;
}

static bool
is_decl_keyword(const sni_idl_token *token)
{
    for (size_t i = 0; i < DECL_KEYWORDS_COUNT; i++)
        if (token->kind == SNI_IDL_TOKEN_IDENT && !strcmp(token->text, decl_keywords[i]))
            return true;
    return false;
}

/* Whether a new declaration begins here: where a block's '}' is missing. */
static bool
at_decl(const sni_idl_parser *parser)
{
    return is_decl_keyword(&parser->now) && parser->ahead.kind == SNI_IDL_TOKEN_IDENT &&
           on_new_line(parser);
}

/* Skips to behind the next ';' of this nesting, or in front of the '}' that ends
 * it. A block on the way is skipped whole and ends the item as ';' does. */
static void
recover(sni_idl_parser *parser)
{
    unsigned blocks = parser->maps;
    parser->maps = 0;
    while (!at_kind(parser, SNI_IDL_TOKEN_END)) {
        if (at_decl(parser) || (!blocks && at(parser, "}")))
            return;
        if (at(parser, "{"))
            blocks++;
        bool closes = at(parser, "}") && --blocks == 0;
        bool ends = at(parser, ";") && blocks == 0;
        advance(parser);
        /* What goes on after the '}' of a map type is still the same item. */
        if (ends || (closes && !at_kind(parser, SNI_IDL_TOKEN_PUNCT)))
            return;
    }
}

static bool
enter(sni_idl_parser *parser)
{
    if (++parser->depth <= SNI_IDL_DEPTH_MAX)
        return true;
    sni_idl_error(parser->diags, SNI_IDL_TOO_DEEP, parser->now.span,
                  "nested more than %d deep", SNI_IDL_DEPTH_MAX);
    parser->reported = parser->now.span.at + 1;
    return false;
}

/* ---- Values, annotations, types --------------------------------------- */

static bool parse_value(sni_idl_parser *parser, sni_ast_value **out);

static bool
parse_list_value(sni_idl_parser *parser, sni_ast_value *list)
{
    list->kind = SNI_AST_LIST;
    advance(parser);
    sni_ast_value **tail = &list->items;
    while (!at(parser, "]")) {
        if (!parse_value(parser, tail))
            return false;
        tail = &(*tail)->next;
        if (!take(parser, ","))
            break;
    }
    if (!want(parser, "]"))
        return false;
    list->span = span_to_here(parser, list->span);
    return true;
}

static bool
parse_value_inside(sni_idl_parser *parser, sni_ast_value *value)
{
    const sni_idl_token *now = &parser->now;
    value->span = now->span;
    value->text = now->text;
    value->magnitude = now->magnitude;
    value->negative = now->negative;
    value->real = now->real;
    switch (now->kind) {
    case SNI_IDL_TOKEN_INT:
        value->kind = SNI_AST_INT;
        break;
    case SNI_IDL_TOKEN_FLOAT:
        value->kind = SNI_AST_FLOAT;
        break;
    case SNI_IDL_TOKEN_STRING:
        value->kind = SNI_AST_STRING;
        break;
    case SNI_IDL_TOKEN_DURATION:
        value->kind = SNI_AST_DURATION;
        break;
    case SNI_IDL_TOKEN_SIZE:
        value->kind = SNI_AST_SIZE;
        break;
    case SNI_IDL_TOKEN_IDENT: {
        value->kind = SNI_AST_NAME;
        sni_ast_name name;
        if (!want_qname(parser, &name, "a value"))
            return false;
        value->text = name.text;
        value->span = name.span;
        return true;
    }
    case SNI_IDL_TOKEN_PUNCT:
    case SNI_IDL_TOKEN_END:
    case SNI_IDL_TOKEN_BROKEN:
        if (at(parser, "["))
            return parse_list_value(parser, value);
        return fail(parser, "a value");
    }
    advance(parser);
    return true;
}

static bool
parse_value(sni_idl_parser *parser, sni_ast_value **out)
{
    sni_ast_value *value = SNI_IDL_NEW(parser->arena, sni_ast_value);
    bool done = enter(parser) && parse_value_inside(parser, value);
    parser->depth--;
    if (done)
        *out = value;
    return done;
}

static bool
parse_arg(sni_idl_parser *parser, sni_ast_arg **out)
{
    sni_ast_arg *arg = SNI_IDL_NEW(parser->arena, sni_ast_arg);
    if (at_kind(parser, SNI_IDL_TOKEN_IDENT) && is(&parser->ahead, "=")) {
        arg->name = (sni_ast_name){ parser->now.text, parser->now.span };
        advance(parser);
        advance(parser);
    }
    if (!parse_value(parser, &arg->value))
        return false;
    *out = arg;
    return true;
}

static bool
parse_annots(sni_idl_parser *parser, sni_ast_annot **tail)
{
    while (at(parser, "@")) {
        sni_ast_annot *annot = SNI_IDL_NEW(parser->arena, sni_ast_annot);
        annot->span = parser->now.span;
        advance(parser);
        if (!want_name(parser, &annot->name, "the name of an annotation"))
            return false;
        if (take(parser, "(")) {
            sni_ast_arg **arg = &annot->args;
            while (!at(parser, ")")) {
                if (!parse_arg(parser, arg))
                    return false;
                arg = &(*arg)->next;
                if (!take(parser, ","))
                    break;
            }
            if (!want(parser, ")"))
                return false;
        }
        annot->span = span_to_here(parser, annot->span);
        *tail = annot;
        tail = &annot->next;
    }
    return true;
}

static bool parse_type(sni_idl_parser *parser, sni_ast_type **out);

static bool
parse_list_type(sni_idl_parser *parser, sni_ast_type *type)
{
    type->kind = SNI_AST_TYPE_LIST;
    if (!parse_type(parser, &type->element))
        return false;
    if (take(parser, ";")) {
        type->kind = SNI_AST_TYPE_ARRAY;
        if (!at_kind(parser, SNI_IDL_TOKEN_INT) && !at_kind(parser, SNI_IDL_TOKEN_IDENT))
            return fail(parser, "the number of elements");
        if (!parse_value(parser, &type->bound))
            return false;
    }
    return want(parser, "]");
}

static bool
parse_type_inside(sni_idl_parser *parser, sni_ast_type *type)
{
    type->span = parser->now.span;
    if (take(parser, "[")) {
        if (!parse_list_type(parser, type))
            return false;
    } else if (take(parser, "{")) {
        type->kind = SNI_AST_TYPE_MAP;
        parser->maps++;
        if (!parse_type(parser, &type->key) || !want(parser, ":") ||
            !parse_type(parser, &type->element) || !want(parser, "}"))
            return false;
        parser->maps--;
    } else {
        type->kind = SNI_AST_TYPE_NAME;
        if (!want_qname(parser, &type->name, "a type"))
            return false;
    }
    type->optional = take(parser, "?");
    type->span = span_to_here(parser, type->span);
    return true;
}

static bool
parse_type(sni_idl_parser *parser, sni_ast_type **out)
{
    sni_ast_type *type = SNI_IDL_NEW(parser->arena, sni_ast_type);
    bool done = enter(parser) && parse_type_inside(parser, type);
    parser->depth--;
    if (done)
        *out = type;
    return done;
}

/* ---- Members ---------------------------------------------------------- */

/* INT IDENT ":" type [ "=" value ] { annot }, without what ends it. `arm`: of a
 * union, where the type may be absent. What was read before a failure stays in
 * `field`, so that the name is known to later checks. */
static bool
parse_field(sni_idl_parser *parser, sni_ast_field *field, bool arm)
{
    field->doc = parser->now.doc;
    if (!at_kind(parser, SNI_IDL_TOKEN_INT))
        return fail(parser,
                    at_kind(parser, SNI_IDL_TOKEN_IDENT)
                        ? "the field's number before its name, as in '1 name: type'"
                        : "a field, as in '1 name: type'");
    field->number = parser->now.magnitude;
    field->negative = parser->now.negative;
    field->number_span = parser->now.span;
    advance(parser);
    if (!want_name(parser, &field->name, "the field's name after its number"))
        return false;
    if (!arm || at(parser, ":")) {
        if (!want(parser, ":") || !parse_type(parser, &field->type))
            return false;
        if (!arm && take(parser, "=") && !parse_value(parser, &field->fallback))
            return false;
    }
    return parse_annots(parser, &field->annots);
}

static bool
parse_reserved_range(sni_idl_parser *parser, sni_ast_reserved *item)
{
    if (!at_kind(parser, SNI_IDL_TOKEN_INT))
        return fail(parser, "a number or a \"name\" to reserve");
    item->first = item->last = parser->now.magnitude;
    item->first_negative = item->last_negative = parser->now.negative;
    advance(parser);
    if (take(parser, "..")) {
        if (!at_kind(parser, SNI_IDL_TOKEN_INT))
            return fail(parser, "the last number of the range");
        item->last = parser->now.magnitude;
        item->last_negative = parser->now.negative;
        advance(parser);
    }
    item->span = span_to_here(parser, item->span);
    return true;
}

/* Appends to a list whose end is at `*end`. */
static bool
parse_reserved(sni_idl_parser *parser, sni_ast_reserved ***end)
{
    advance(parser);
    do {
        sni_ast_reserved *item = SNI_IDL_NEW(parser->arena, sni_ast_reserved);
        item->span = parser->now.span;
        if (at_kind(parser, SNI_IDL_TOKEN_STRING)) {
            item->name = parser->now.text;
            advance(parser);
        } else if (!parse_reserved_range(parser, item)) {
            return false;
        }
        **end = item;
        *end = &item->next;
    } while (take(parser, ","));
    return want_semicolon(parser);
}

/* Ends a block, or says that its end is missing. */
static bool
at_block_end(sni_idl_parser *parser, const sni_ast_decl *decl, sni_idl_span open)
{
    if (take(parser, "}"))
        return true;
    if (!at_kind(parser, SNI_IDL_TOKEN_END) && !at_decl(parser))
        return false;
    parser->reported = parser->now.span.at + 1;
    sni_idl_error(parser->diags, SNI_IDL_SYNTAX, parser->now.span,
                  "expected '}' to end %s '%s'", decl_keywords[decl->kind],
                  decl->name.text);
    sni_idl_note(parser->diags, open, "it begins here");
    return true;
}

static bool
parse_fields(sni_idl_parser *parser, sni_ast_decl *decl)
{
    sni_idl_span open = parser->now.span;
    if (!want(parser, "{"))
        return false;
    sni_ast_field **tail = &decl->fields;
    sni_ast_reserved **reserved_end = &decl->reserved;
    while (!at_block_end(parser, decl, open)) {
        if (at(parser, "reserved")) {
            if (!parse_reserved(parser, &reserved_end))
                recover(parser);
            continue;
        }
        sni_ast_field *field = SNI_IDL_NEW(parser->arena, sni_ast_field);
        bool done = parse_field(parser, field, decl->kind == SNI_AST_UNION) &&
                    want_semicolon(parser);
        if (field->name.text) {
            *tail = field;
            tail = &field->next;
        }
        if (!done)
            recover(parser);
    }
    return true;
}

static bool
parse_enumerator(sni_idl_parser *parser, sni_ast_enumerator *value)
{
    value->doc = parser->now.doc;
    if (!want_name(parser, &value->name, "a value, as in 'name = 1'") ||
        !want(parser, "="))
        return false;
    if (!at_kind(parser, SNI_IDL_TOKEN_INT))
        return fail(parser, "the value's number");
    value->magnitude = parser->now.magnitude;
    value->negative = parser->now.negative;
    value->number_span = parser->now.span;
    advance(parser);
    return parse_annots(parser, &value->annots) && want_semicolon(parser);
}

static bool
parse_enum(sni_idl_parser *parser, sni_ast_decl *decl)
{
    if (take(parser, ":") && !want_name(parser, &decl->base, "an integer type"))
        return false;
    if (!parse_annots(parser, &decl->annots))
        return false;
    sni_idl_span open = parser->now.span;
    if (!want(parser, "{"))
        return false;
    sni_ast_enumerator **tail = &decl->enumerators;
    sni_ast_reserved **reserved_end = &decl->reserved;
    while (!at_block_end(parser, decl, open)) {
        if (at(parser, "reserved") && !is(&parser->ahead, "=")) {
            if (!parse_reserved(parser, &reserved_end))
                recover(parser);
            continue;
        }
        sni_ast_enumerator *value = SNI_IDL_NEW(parser->arena, sni_ast_enumerator);
        if (parse_enumerator(parser, value)) {
            *tail = value;
            tail = &value->next;
        } else {
            recover(parser);
        }
    }
    return true;
}

/* ---- Services and events ---------------------------------------------- */

static bool
parse_params(sni_idl_parser *parser, sni_ast_payload *payload)
{
    sni_ast_field **tail = &payload->fields;
    do {
        sni_ast_field *field = SNI_IDL_NEW(parser->arena, sni_ast_field);
        bool done = parse_field(parser, field, false);
        if (field->name.text) {
            *tail = field;
            tail = &field->next;
        }
        if (!done)
            return false;
    } while (take(parser, ","));
    return true;
}

static bool
parse_stream_or_type(sni_idl_parser *parser, sni_ast_payload *payload)
{
    if (at(parser, "stream")) {
        payload->stream = true;
        payload->stream_span = parser->now.span;
        advance(parser);
    }
    return parse_type(parser, &payload->type);
}

static bool
parse_takes(sni_idl_parser *parser, sni_ast_payload *takes)
{
    takes->span = parser->now.span;
    if (!want(parser, "("))
        return false;
    if (at_kind(parser, SNI_IDL_TOKEN_INT)) {
        if (!parse_params(parser, takes))
            return false;
    } else if (!at(parser, ")")) {
        if (at_kind(parser, SNI_IDL_TOKEN_IDENT) && is(&parser->ahead, ":"))
            return fail(parser,
                        "the parameter's number before its name, as in '1 name: type'");
        if (!parse_stream_or_type(parser, takes))
            return false;
    }
    if (!want(parser, ")"))
        return false;
    takes->span = span_to_here(parser, takes->span);
    return true;
}

static bool
parse_gives(sni_idl_parser *parser, sni_ast_payload *gives)
{
    gives->present = true;
    gives->span = parser->now.span;
    if (take(parser, "(")) {
        if (!parse_params(parser, gives) || !want(parser, ")"))
            return false;
    } else if (!parse_stream_or_type(parser, gives)) {
        return false;
    }
    gives->span = span_to_here(parser, gives->span);
    return true;
}

static bool
parse_throws(sni_idl_parser *parser, sni_ast_method *method)
{
    sni_ast_throw **tail = &method->throws;
    do {
        sni_ast_throw *item = SNI_IDL_NEW(parser->arena, sni_ast_throw);
        if (!want_qname(parser, &item->name, "the name of an error"))
            return false;
        *tail = item;
        tail = &item->next;
    } while (take(parser, ","));
    return true;
}

static bool
parse_method(sni_idl_parser *parser, sni_ast_method *method)
{
    method->doc = parser->now.doc;
    if (at(parser, "oneway") && !is(&parser->ahead, "(")) {
        method->oneway = true;
        method->oneway_span = parser->now.span;
        advance(parser);
    }
    if (!want_free_name(parser, &method->name, "the name of a method"))
        return false;
    if (!parse_takes(parser, &method->takes))
        return false;
    if (take(parser, "->") && !parse_gives(parser, &method->gives))
        return false;
    if (take(parser, "throws") && !parse_throws(parser, method))
        return false;
    return parse_annots(parser, &method->annots) && want_semicolon(parser);
}

static bool
parse_service(sni_idl_parser *parser, sni_ast_decl *decl)
{
    if (take(parser, "extends") &&
        !want_qname(parser, &decl->base, "the service it extends"))
        return false;
    if (!parse_annots(parser, &decl->annots))
        return false;
    sni_idl_span open = parser->now.span;
    if (!want(parser, "{"))
        return false;
    sni_ast_method **tail = &decl->methods;
    while (!at_block_end(parser, decl, open)) {
        sni_ast_method *method = SNI_IDL_NEW(parser->arena, sni_ast_method);
        bool done = parse_method(parser, method);
        if (done) {
            *tail = method;
            tail = &method->next;
        } else {
            recover(parser);
        }
    }
    return true;
}

static bool
parse_event(sni_idl_parser *parser, sni_ast_decl *decl)
{
    if (!want(parser, "on"))
        return false;
    if (!at_kind(parser, SNI_IDL_TOKEN_STRING))
        return fail(parser, "the event's \"topic\"");
    decl->topic = parser->now.text;
    decl->topic_span = parser->now.span;
    advance(parser);
    if (!parse_annots(parser, &decl->annots))
        return false;
    if (at(parser, "{"))
        return parse_fields(parser, decl);
    if (!take(parser, ":"))
        return fail(parser, "'{' and the event's fields, or ':' and a type");
    return parse_type(parser, &decl->type) && want_semicolon(parser);
}

/* ---- The file --------------------------------------------------------- */

static bool
parse_const(sni_idl_parser *parser, sni_ast_decl *decl)
{
    return want(parser, ":") && parse_type(parser, &decl->type) && want(parser, "=") &&
           parse_value(parser, &decl->value) && want_semicolon(parser);
}

static bool
parse_alias(sni_idl_parser *parser, sni_ast_decl *decl)
{
    return want(parser, "=") && parse_type(parser, &decl->type) &&
           parse_annots(parser, &decl->annots) && want_semicolon(parser);
}

static bool
parse_decl_rest(sni_idl_parser *parser, sni_ast_decl *decl)
{
    switch (decl->kind) {
    case SNI_AST_CONST:
        return parse_const(parser, decl);
    case SNI_AST_ALIAS:
        return parse_alias(parser, decl);
    case SNI_AST_ENUM:
    case SNI_AST_FLAGS:
        return parse_enum(parser, decl);
    case SNI_AST_STRUCT:
    case SNI_AST_UNION:
    case SNI_AST_ERROR:
        return parse_annots(parser, &decl->annots) && parse_fields(parser, decl);
    case SNI_AST_SERVICE:
        return parse_service(parser, decl);
    case SNI_AST_EVENT:
        return parse_event(parser, decl);
    }
    return false;
}

/* Finds out which declaration begins here. A misspelt keyword is reported and
 * taken for the one it is like. */
static bool
parse_decl_keyword(sni_idl_parser *parser, sni_ast_decl *decl)
{
    const sni_idl_token *now = &parser->now;
    if (now->kind != SNI_IDL_TOKEN_IDENT)
        return fail(parser, "a declaration (struct, enum, service, event, ...)");
    const char *word = now->text;
    if (!is_decl_keyword(now)) {
        word = sni_idl_suggest(now->text, decl_keywords, DECL_KEYWORDS_COUNT);
        parser->reported = now->span.at + 1;
        if (sni_idl_is_keyword(now->text))
            sni_idl_error(parser->diags, SNI_IDL_SYNTAX, now->span,
                          !strcmp(now->text, "import")
                              ? "imports stand before the first declaration"
                              : "'%s' cannot start a declaration",
                          now->text);
        else
            sni_idl_error(parser->diags, SNI_IDL_UNKNOWN_KEYWORD, now->span,
                          "unknown keyword '%s'%s%s%s", now->text,
                          word ? "; did you mean '" : "", word ? word : "",
                          word ? "'?" : "");
        if (!word || sni_idl_is_keyword(now->text))
            return false;
    }
    for (size_t i = 0; i < DECL_KEYWORDS_COUNT; i++)
        if (!strcmp(decl_keywords[i], word))
            decl->kind = (sni_ast_decl_kind)i;
    decl->keyword_span = now->span;
    decl->doc = now->doc;
    advance(parser);
    return true;
}

static bool
parse_decl(sni_idl_parser *parser, sni_ast_decl *decl)
{
    if (!parse_decl_keyword(parser, decl))
        return false;
    char what[48];
    snprintf(what, sizeof(what), "the name of the %s", decl_keywords[decl->kind]);
    return want_free_name(parser, &decl->name, what) && parse_decl_rest(parser, decl);
}

static void
parse_edition(sni_idl_parser *parser, sni_ast_file *file)
{
    file->doc = parser->now.doc;
    if (!at(parser, "edition")) {
        if (!at_kind(parser, SNI_IDL_TOKEN_BROKEN))
            sni_idl_error(parser->diags, SNI_IDL_EDITION_MISSING, parser->now.span,
                          "a schema begins with 'edition 1;'");
        return;
    }
    advance(parser);
    if (!at_kind(parser, SNI_IDL_TOKEN_INT)) {
        fail(parser, "the edition's number");
        recover(parser);
        return;
    }
    file->edition = parser->now.magnitude;
    file->edition_span = parser->now.span;
    if (file->edition != 1 || parser->now.negative)
        sni_idl_error(parser->diags, SNI_IDL_EDITION_UNKNOWN, parser->now.span,
                      "this program knows edition 1 only");
    advance(parser);
    if (!want_semicolon(parser))
        recover(parser);
}

static void
parse_namespace(sni_idl_parser *parser, sni_ast_file *file)
{
    if (!at(parser, "namespace"))
        return;
    if (!file->doc)
        file->doc = parser->now.doc;
    advance(parser);
    if (!want_qname(parser, &file->space, "the name of the namespace") ||
        !parse_annots(parser, &file->annots) || !want_semicolon(parser))
        recover(parser);
}

static bool
parse_import(sni_idl_parser *parser, sni_ast_import *import)
{
    import->span = parser->now.span;
    advance(parser);
    if (!at_kind(parser, SNI_IDL_TOKEN_STRING))
        return fail(parser, "the \"path\" of a schema");
    import->path = parser->now.text;
    advance(parser);
    if (take(parser, "as") &&
        !want_free_name(parser, &import->as, "a name for the import"))
        return false;
    import->span = span_to_here(parser, import->span);
    return want_semicolon(parser);
}

static void
parse_imports(sni_idl_parser *parser, sni_ast_file *file)
{
    sni_ast_import **tail = &file->imports;
    while (at(parser, "import")) {
        sni_ast_import *import = SNI_IDL_NEW(parser->arena, sni_ast_import);
        bool done = parse_import(parser, import);
        *tail = import;
        tail = &import->next;
        if (!done)
            recover(parser);
    }
}

static void
parse_decls(sni_idl_parser *parser, sni_ast_file *file)
{
    sni_ast_decl **tail = &file->decls;
    while (!at_kind(parser, SNI_IDL_TOKEN_END)) {
        uint32_t start = parser->now.span.at;
        sni_ast_decl *decl = SNI_IDL_NEW(parser->arena, sni_ast_decl);
        bool done = parse_decl(parser, decl);
        if (decl->name.text) {
            *tail = decl;
            tail = &decl->next;
        }
        if (done)
            continue;
        /* The very token that failed must not fail again. */
        if (parser->now.span.at == start)
            advance(parser);
        recover(parser);
    }
}

sni_ast_file *
sni_idl_parse(sni_idl_arena *arena, sni_idl_diags *diags, const sni_idl_source *source)
{
    sni_idl_parser parser = { .arena = arena, .diags = diags, .source = source };
    sni_ast_file *file = SNI_IDL_NEW(arena, sni_ast_file);
    sni_idl_lexer_init(&parser.lexer, arena, diags, source);
    parser.now = sni_idl_lexer_next(&parser.lexer);
    parser.ahead = sni_idl_lexer_next(&parser.lexer);
    parse_edition(&parser, file);
    parse_namespace(&parser, file);
    parse_imports(&parser, file);
    parse_decls(&parser, file);
    file->comments = parser.lexer.comments;
    return file;
}
