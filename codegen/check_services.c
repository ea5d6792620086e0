/* SPDX-License-Identifier: MIT */
/* Services with their methods, and events with their topics. */
#include "checker.h"

#include <string.h>

#include "bounds.h"
#include "suggest.h"

/* Addresses on the bus; sennit/rpc.h has the same bound as SENNIT_ADDRESS_MAX. */
#define ADDRESS_MAX_BYTES 255

/* ---- Methods ---------------------------------------------------------- */

static bool
refuse_stream(sni_idl_checker *checker, const sni_ast_payload *payload)
{
    if (payload->stream)
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, payload->stream_span,
                      "streams are not built yet");
    return payload->stream;
}

static bool
is_void(const sni_ast_payload *payload)
{
    const sni_ast_type *type = payload->type;
    return type && type->kind == SNI_AST_TYPE_NAME && !strcmp(type->name.text, "void");
}

/* One type as the whole message: a struct, so that it can grow. */
static const sni_idl_struct *
resolve_single(sni_idl_checker *checker, const sni_ast_type *type)
{
    sni_idl_type resolved;
    if (!sni_idl_resolve_type(checker, type, &resolved))
        return NULL;
    if (resolved.kind == SNI_IDL_STRUCT && !resolved.optional)
        return resolved.structure;
    sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, type->span,
                  "anything but a struct as a whole message is not built yet; "
                  "name it, as in '(1 value: %s)'",
                  resolved.optional ? "T?" : "T");
    return NULL;
}

static const sni_idl_struct *
own_struct(sni_idl_checker *checker, sni_idl_role role, const sni_ast_method *method,
           const char *service, const sni_ast_field *fields)
{
    sni_idl_struct *structure = sni_idl_new_struct(checker, role);
    structure->naming = (sni_idl_naming){
        .name = sni_idl_format(checker->arena, "%s.%s", service, method->name.text),
        .span = method->name.span,
    };
    sni_idl_check_fields(checker, fields, NULL, SNI_IDL_ON_PARAMETER,
                         structure->naming.name, structure);
    return structure;
}

static void
check_takes(sni_idl_checker *checker, const sni_ast_method *method, const char *service,
            sni_idl_method *out)
{
    const sni_ast_payload *takes = &method->takes;
    if (refuse_stream(checker, takes))
        return;
    if (takes->type) {
        out->takes = resolve_single(checker, takes->type);
        return;
    }
    out->takes_own = true;
    out->takes_nothing = !takes->fields;
    out->takes = own_struct(checker, SNI_IDL_ROLE_ARGS, method, service, takes->fields);
}

static void
check_gives(sni_idl_checker *checker, const sni_ast_method *method, const char *service,
            sni_idl_method *out)
{
    const sni_ast_payload *gives = &method->gives;
    if (method->oneway) {
        if (gives->present)
            sni_idl_error(checker->diags, SNI_IDL_ONEWAY_ANSWERS, gives->span,
                          "a one-way method gives nothing; remove 'oneway' or '->'");
        return;
    }
    if (refuse_stream(checker, gives))
        return;
    if (gives->type && !is_void(gives)) {
        out->gives = resolve_single(checker, gives->type);
        return;
    }
    out->gives_own = true;
    out->gives_nothing = !gives->fields;
    out->gives = own_struct(checker, SNI_IDL_ROLE_RESULT, method, service, gives->fields);
}

static const sni_idl_struct *
resolve_throw(sni_idl_checker *checker, const sni_ast_name *name)
{
    sni_idl_symbol *symbol = sni_idl_find_symbol(checker, name->text);
    if (!symbol) {
        sni_idl_report_unknown(checker, name, "error", true, true);
        return NULL;
    }
    if (symbol->decl->kind == SNI_AST_ERROR)
        return symbol->structure;
    sni_idl_error(checker->diags, SNI_IDL_THROWS_NO_ERROR, name->span,
                  "'%s' is not an error; declare it with 'error %s { ... }'", name->text,
                  name->text);
    sni_idl_note(checker->diags, symbol->decl->name.span, "it is declared here");
    return NULL;
}

static void
check_throws(sni_idl_checker *checker, const sni_ast_method *method, sni_idl_method *out)
{
    size_t count = 0;
    for (const sni_ast_throw *item = method->throws; item; item = item->next)
        count++;
    if (count && method->oneway)
        sni_idl_error(checker->diags, SNI_IDL_ONEWAY_ANSWERS, method->throws->name.span,
                      "a one-way method has no answer to carry an error; remove "
                      "'oneway' or 'throws'");
    sni_idl_map seen = { 0 };
    out->throws = SNI_IDL_NEW_ARRAY(checker->arena, const sni_idl_struct *, count);
    for (const sni_ast_throw *item = method->throws; item; item = item->next) {
        const sni_idl_struct *error = resolve_throw(checker, &item->name);
        if (!error)
            continue;
        const sni_ast_throw *other = sni_idl_map_get(&seen, error->naming.name);
        if (other) {
            sni_idl_error(checker->diags, SNI_IDL_DUPLICATE_NAME, item->name.span,
                          "'%s' is thrown twice", item->name.text);
            sni_idl_note(checker->diags, other->name.span, "the first one is here");
            continue;
        }
        sni_idl_map_add(&seen, checker->arena, error->naming.name, item);
        out->throws[out->throws_count++] = error;
    }
}

static void
check_method(sni_idl_checker *checker, const sni_ast_method *method,
             const sni_idl_service *service, sni_idl_method *out)
{
    sni_idl_annots annots;
    sni_idl_check_annots(checker->diags, method->annots, SNI_IDL_ON_METHOD, &annots);
    out->naming = sni_idl_make_naming(&method->name, method->doc, &annots);
    out->oneway = method->oneway;
    out->idempotent = annots.idempotent;
    out->timeout_ms = annots.timeout_ms;
    if (out->oneway && out->timeout_ms)
        sni_idl_error(checker->diags, SNI_IDL_ANNOTATION_PLACE, method->name.span,
                      "'@timeout' does not apply to a one-way method: nobody waits");
    if (strlen(service->address) + 1 + strlen(method->name.text) > ADDRESS_MAX_BYTES)
        sni_idl_error(checker->diags, SNI_IDL_NAME_TOO_LONG, method->name.span,
                      "the address '%s.%s' is longer than %d bytes", service->address,
                      method->name.text, ADDRESS_MAX_BYTES);
    check_takes(checker, method, service->naming.name, out);
    check_gives(checker, method, service->naming.name, out);
    check_throws(checker, method, out);
}

sni_idl_service *
sni_idl_check_service(sni_idl_checker *checker, const sni_idl_symbol *symbol)
{
    const sni_ast_decl *decl = symbol->decl;
    const sni_idl_annots *annots = &symbol->annots;
    sni_idl_service *out = SNI_IDL_NEW(checker->arena, sni_idl_service);
    out->naming = sni_idl_make_naming(&decl->name, decl->doc, annots);
    out->versioned = annots->versioned;
    out->major = annots->major;
    out->minor = annots->minor;
    const char *full = sni_idl_full_name(checker, decl->name.text);
    out->address = annots->versioned ? sni_idl_format(checker->arena, "%s/%u", full,
                                                      (unsigned)annots->major)
                                     : full;
    if (decl->base.text)
        sni_idl_error(checker->diags, SNI_IDL_NOT_BUILT_YET, decl->base.span,
                      "'extends' is not built yet");
    size_t count = 0;
    for (const sni_ast_method *method = decl->methods; method; method = method->next)
        count++;
    out->methods = SNI_IDL_NEW_ARRAY(checker->arena, sni_idl_method, count);
    sni_idl_map names = { 0 };
    for (const sni_ast_method *method = decl->methods; method; method = method->next) {
        const sni_ast_method *other = sni_idl_map_get(&names, method->name.text);
        if (other) {
            sni_idl_error(checker->diags, SNI_IDL_DUPLICATE_NAME, method->name.span,
                          "'%s' already has a method '%s'", decl->name.text,
                          method->name.text);
            sni_idl_note(checker->diags, other->name.span, "it is here");
            continue;
        }
        sni_idl_map_add(&names, checker->arena, method->name.text, method);
        check_method(checker, method, out, &out->methods[out->methods_count]);
        out->methods_count++;
    }
    return out;
}

/* ---- Events ----------------------------------------------------------- */

typedef struct sni_idl_topic {
    sni_idl_checker *checker;
    const sni_ast_decl *decl;
    sni_idl_event *event;
    const char *literal; /* begin of the fixed text not yet made a part */
    bool plain;          /* written without escapes: places inside can be shown */
} sni_idl_topic;

/* The place of [from, from + size) of the topic, or all of it. */
static sni_idl_span
topic_span(const sni_idl_topic *topic, const char *from, size_t size)
{
    sni_idl_span span = topic->decl->topic_span;
    if (topic->plain)
        span = (sni_idl_span){ span.at + 1 + (uint32_t)(from - topic->decl->topic),
                               (uint32_t)size };
    return span;
}

static void
end_literal(sni_idl_topic *topic, const char *end)
{
    if (end == topic->literal)
        return;
    topic->event->parts[topic->event->parts_count++].literal = sni_idl_copy_text(
        topic->checker->arena, topic->literal, (size_t)(end - topic->literal));
}

/* Whether the topic read so far has a place for the field. */
static bool
is_in_topic(const sni_idl_topic *topic, const sni_idl_field *field)
{
    for (size_t i = 0; i < topic->event->parts_count; i++)
        if (topic->event->parts[i].field == field)
            return true;
    return false;
}

static bool
check_placeholder(sni_idl_topic *topic, const char *token, size_t size)
{
    sni_idl_checker *checker = topic->checker;
    const sni_idl_struct *body = topic->event->body;
    const char *name = sni_idl_copy_text(checker->arena, token + 1, size - 2);
    sni_idl_span span = topic_span(topic, token + 1, size - 2);
    if (!body)
        return false;
    sni_idl_suggestion suggestion = { name, NULL, 0 };
    const sni_idl_field *field = NULL;
    for (size_t i = 0; i < body->fields_count; i++) {
        if (!strcmp(body->fields[i].naming.name, name))
            field = &body->fields[i];
        sni_idl_suggestion_try(&suggestion, body->fields[i].naming.name);
    }
    if (!field) {
        sni_idl_error(
            checker->diags, SNI_IDL_EVENT_TOPIC, span, "'%s' has no field '%s'%s%s%s",
            body->naming.name, name, suggestion.best ? "; did you mean '" : "",
            suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
        return false;
    }
    bool usable = !field->type.optional &&
                  (field->type.kind == SNI_IDL_STR || field->type.kind == SNI_IDL_ENUM ||
                   sni_idl_kind_is_integer(field->type.kind));
    if (!usable) {
        sni_idl_error(checker->diags, SNI_IDL_EVENT_TOPIC, span,
                      "only a str, an integer or an enum that is not optional can stand "
                      "in a topic");
        sni_idl_note(checker->diags, field->naming.span, "the field is here");
        return false;
    }
    if (is_in_topic(topic, field)) {
        /* A listener names each field's value once. */
        sni_idl_error(checker->diags, SNI_IDL_EVENT_TOPIC, span,
                      "'%s' is used twice; a field stands in a topic once", name);
        return false;
    }
    end_literal(topic, token);
    topic->event->parts[topic->event->parts_count++].field = field;
    topic->literal = token + size;
    return true;
}

static bool
check_literal(sni_idl_topic *topic, const char *token, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)token[i];
        const char *why = c <= ' ' || c == 0x7f ? "blanks cannot stand in a topic"
                          : c == '*' || c == '>'
                              ? "'*' and '>' are for those who listen, not for topics"
                          : c == '{' || c == '}'
                              ? "a placeholder is a whole token, as in \"price.{symbol}\""
                              : NULL;
        if (!why)
            continue;
        sni_idl_error(topic->checker->diags, SNI_IDL_EVENT_TOPIC,
                      topic_span(topic, token + i, 1), "%s", why);
        return false;
    }
    return true;
}

static bool
check_token(sni_idl_topic *topic, const char *token, size_t size)
{
    if (!size) {
        sni_idl_error(topic->checker->diags, SNI_IDL_EVENT_TOPIC,
                      topic_span(topic, token, 0),
                      "a topic is made of tokens with dots between them");
        return false;
    }
    if (size > 2 && token[0] == '{' && token[size - 1] == '}')
        return check_placeholder(topic, token, size);
    return check_literal(topic, token, size);
}

static void
check_topic(sni_idl_topic *topic)
{
    const char *text = topic->decl->topic;
    size_t size = strlen(text);
    if (size > ADDRESS_MAX_BYTES || !strncmp(text, "$sennit", 7)) {
        sni_idl_error(topic->checker->diags, SNI_IDL_EVENT_TOPIC, topic->decl->topic_span,
                      size > ADDRESS_MAX_BYTES
                          ? "a topic has at most 255 bytes"
                          : "topics that begin with '$sennit' are the library's own");
        return;
    }
    size_t tokens = 1;
    for (size_t i = 0; i < size; i++)
        tokens += text[i] == '.';
    topic->event->parts =
        SNI_IDL_NEW_ARRAY(topic->checker->arena, sni_idl_topic_part, tokens * 2 + 1);
    topic->literal = text;
    topic->plain = topic->decl->topic_span.size == size + 2;
    const char *token = text;
    for (;;) {
        size_t length = strcspn(token, ".");
        if (!check_token(topic, token, length))
            return;
        token += length;
        if (!*token)
            break;
        token++;
    }
    end_literal(topic, token);
}

sni_idl_event *
sni_idl_check_event(sni_idl_checker *checker, const sni_idl_symbol *symbol)
{
    const sni_ast_decl *decl = symbol->decl;
    sni_idl_event *out = SNI_IDL_NEW(checker->arena, sni_idl_event);
    out->naming = sni_idl_make_naming(&decl->name, decl->doc, &symbol->annots);
    out->topic = decl->topic;
    if (decl->type) {
        out->body = resolve_single(checker, decl->type);
    } else {
        sni_idl_struct *body = sni_idl_new_struct(checker, SNI_IDL_ROLE_EVENT);
        body->naming = out->naming;
        sni_idl_check_fields(checker, decl->fields, decl->reserved, SNI_IDL_ON_FIELD,
                             decl->name.text, body);
        out->body = body;
        out->body_own = true;
    }
    sni_idl_topic topic = { .checker = checker, .decl = decl, .event = out };
    if (decl->topic)
        check_topic(&topic);
    return out;
}
