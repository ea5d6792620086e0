/* SPDX-License-Identifier: MIT */
/* Clients, servers and events in C. */
#include <string.h>

#include "cgen_names.h"

/* What several functions of one method need. */
typedef struct sni_cgen_method {
    const sni_idl_service *service;
    const sni_idl_method *method;
    const char *owner;  /* "pr_pricing" */
    const char *name;   /* "pr_pricing_get" */
    const char *upper;  /* "PR_PRICING_GET" */
    const char *member; /* "get" */
    const char *takes;  /* "pr_pricing_get_args"; NULL: takes nothing */
    const char *gives;  /* "pr_quote"; NULL: gives nothing */
} sni_cgen_method;

static sni_cgen_method
describe(sni_cgen *gen, const sni_idl_service *service, const sni_idl_method *method)
{
    bool gives = method->gives && !method->gives_nothing;
    return (sni_cgen_method){
        .service = service,
        .method = method,
        .owner = sni_cgen_name(gen, service),
        .name = sni_cgen_name(gen, method),
        .upper = sni_cgen_upper(gen, method),
        .member = sni_cgen_method_member(gen, &method->naming),
        .takes = method->takes_nothing ? NULL : sni_cgen_name(gen, method->takes),
        .gives = gives ? sni_cgen_name(gen, method->gives) : NULL,
    };
}

/* "    const pr_quote *in,\n", or nothing. */
static const char *
takes_param(sni_cgen *gen, const sni_cgen_method *m)
{
    return m->takes ? sni_idl_format(gen->arena, "    const %s *in,\n", m->takes) : "";
}

/* "&pr_quote_codec, in", or "NULL, NULL". */
static const char *
codec_and(sni_cgen *gen, const char *type, const char *value)
{
    return type ? sni_idl_format(gen->arena, "&%s_codec, %s", type, value) : "NULL, NULL";
}

/* ---- Client ----------------------------------------------------------- */

static void
put_call(sni_cgen *gen, const sni_cgen_method *m)
{
    const char *takes = takes_param(gen, m);
    const char *gives =
        m->gives
            ? sni_idl_format(gen->arena, "    %s *out, sennit_arena *arena,\n", m->gives)
            : "    sennit_arena *arena,\n";
    sni_idl_put(gen->h,
                "sennit_err %s(const %s_client *client,\n%s"
                "    const sennit_call_opts *opts,\n%s"
                "    sennit_error *error) SENNIT_MUST_CHECK;\n",
                m->name, m->owner, takes, gives);
    sni_idl_put(gen->c,
                "\nsennit_err\n%s(const %s_client *client,\n%s"
                "    const sennit_call_opts *opts,\n%s"
                "    sennit_error *error)\n{\n"
                "    return sennit_codec_call(&client->client, \"%s\", %s_TIMEOUT_MS,\n"
                "        %s, opts,\n        %s, arena, error);\n}\n",
                m->name, m->owner, takes, gives, m->method->naming.name, m->upper,
                codec_and(gen, m->takes, "in"), codec_and(gen, m->gives, "out"));
}

static void
put_thunk(sni_cgen *gen, const sni_cgen_method *m)
{
    sni_idl_put(gen->c,
                "\nstatic void\n%s_thunk(sennit_bytes body, const sennit_error *error,\n"
                "    sennit_arena *arena, sennit_any_fn *fn, void *arg)\n{\n",
                m->name);
    if (m->gives)
        sni_idl_put(
            gen->c,
            "    %s out;\n"
            "    sennit_error broken;\n"
            "    if (!error &&\n"
            "        sennit_codec_result(&%s_codec, &out, body, arena, &broken))\n"
            "        error = &broken;\n"
            "    ((%s_fn *)fn)(error ? NULL : &out, error, arg);\n}\n",
            m->gives, m->gives, m->name);
    else
        sni_idl_put(gen->c,
                    "    (void)body, (void)arena;\n"
                    "    ((%s_fn *)fn)(error, arg);\n}\n",
                    m->name);
}

static void
put_start(sni_cgen *gen, const sni_cgen_method *m)
{
    const char *takes = takes_param(gen, m);
    if (m->gives)
        sni_idl_put(gen->h,
                    "typedef void %s_fn(const %s *out, const sennit_error *error,\n"
                    "    void *arg);\n",
                    m->name, m->gives);
    else
        sni_idl_put(gen->h, "typedef void %s_fn(const sennit_error *error, void *arg);\n",
                    m->name);
    sni_idl_put(gen->h,
                "sennit_err %s_start(const %s_client *client,\n%s"
                "    const sennit_call_opts *opts, sennit_call *call,\n"
                "    %s_fn *fn, void *arg) SENNIT_MUST_CHECK;\n",
                m->name, m->owner, takes, m->name);
    sni_idl_put(
        gen->c,
        "\nsennit_err\n%s_start(const %s_client *client,\n%s"
        "    const sennit_call_opts *opts, sennit_call *call,\n"
        "    %s_fn *fn, void *arg)\n{\n"
        "    return sennit_codec_request(&client->client, \"%s\", %s_TIMEOUT_MS,\n"
        "        %s, opts, call, %s_thunk,\n"
        "        (sennit_any_fn *)fn, arg);\n}\n",
        m->name, m->owner, takes, m->name, m->method->naming.name, m->upper,
        codec_and(gen, m->takes, "in"), m->name);
}

static void
put_oneway(sni_cgen *gen, const sni_cgen_method *m)
{
    const char *takes = takes_param(gen, m);
    sni_idl_put(gen->h,
                "sennit_err %s(const %s_client *client,\n%s"
                "    const sennit_call_opts *opts) SENNIT_MUST_CHECK;\n",
                m->name, m->owner, takes);
    sni_idl_put(gen->c,
                "\nsennit_err\n%s(const %s_client *client,\n%s"
                "    const sennit_call_opts *opts)\n{\n"
                "    return sennit_codec_send(&client->client, \"%s\",\n"
                "        %s, opts);\n}\n",
                m->name, m->owner, takes, m->method->naming.name,
                codec_and(gen, m->takes, "in"));
}

static void
put_method_macros(sni_cgen *gen, const sni_cgen_method *m)
{
    sni_idl_put(gen->h, "\n");
    if (!m->method->oneway)
        sni_idl_put(gen->h, "#define %s_TIMEOUT_MS %u\n", m->upper,
                    (unsigned)m->method->timeout_ms);
    sni_idl_put(gen->h, "#define %s_IDEMPOTENT %s\n\n", m->upper,
                m->method->idempotent ? "true" : "false");
}

/* The schema's words, and which declared errors to be ready for. */
static void
put_method_doc(sni_cgen *gen, const sni_cgen_method *m)
{
    sni_idl_naming naming = m->method->naming;
    const char *throws = "";
    for (size_t i = 0; i < m->method->throws_count; i++)
        throws = sni_idl_format(gen->arena, "%s%s %s", throws,
                                i ? "," : "Throws:", m->method->throws[i]->naming.name);
    if (*throws)
        naming.doc = sni_idl_format(gen->arena, "%s%s%s.", naming.doc ? naming.doc : "",
                                    naming.doc ? "\n" : "", throws);
    sni_cgen_put_doc(gen->h, "", &naming);
}

static const char client_guide[] =
    "How %s is called. For a method X,\n"
    "X        blocks until the outcome; `error` is filled for every failure, what was\n"
    "         given and the detail of an error are in `arena`\n"
    "X_start  returns at once; `fn` is lent the outcome once, in a later turn of the\n"
    "         loop; when X_start itself fails, `fn` is never called\n"
    "A one-way X is sent and not heard of again. What `in` points to may go as soon as\n"
    "any of them returns. `opts` may be NULL. Errors: those of rpc.h, and EINVAL for a\n"
    "text that is not UTF-8.";

static void
put_client(sni_cgen *gen, const sni_idl_service *service)
{
    const char *owner = sni_cgen_name(gen, service);
    const char *upper = sni_cgen_upper(gen, service);
    sni_idl_put(gen->h, "\n");
    sni_idl_put_comment(gen->h, "",
                        sni_idl_format(gen->arena, client_guide, service->naming.name));
    sni_idl_put(gen->h,
                "typedef struct %s_client {\n    sennit_client client;\n} %s_client;\n"
                "\nvoid %s_client_init(%s_client *client, sennit_bus *bus);\n",
                owner, owner, owner, owner);
    sni_idl_put(gen->c,
                "\nvoid\n%s_client_init(%s_client *client, sennit_bus *bus)\n{\n"
                "    sennit_client_init(&client->client, bus, %s_SERVICE);\n}\n",
                owner, owner, upper);
    for (size_t i = 0; i < service->methods_count; i++) {
        sni_cgen_method m = describe(gen, service, &service->methods[i]);
        put_method_macros(gen, &m);
        put_method_doc(gen, &m);
        if (m.method->oneway) {
            put_oneway(gen, &m);
            continue;
        }
        put_call(gen, &m);
        put_thunk(gen, &m);
        put_start(gen, &m);
    }
}

/* ---- Server ----------------------------------------------------------- */

static void
put_reply_ok(sni_cgen *gen, const sni_cgen_method *m)
{
    const char *result =
        m->gives ? sni_idl_format(gen->arena, ", const %s *out", m->gives) : "";
    sni_idl_put(gen->h, "sennit_err %s_ok(%s_reply reply%s) SENNIT_MUST_CHECK;\n",
                m->name, m->name, result);
    sni_idl_put(gen->c,
                "\nsennit_err\n%s_ok(%s_reply reply%s)\n{\n"
                "    return sennit_codec_reply(reply.reply, %s);\n}\n",
                m->name, m->name, result, codec_and(gen, m->gives, "out"));
}

static void
put_reply_error(sni_cgen *gen, const sni_cgen_method *m, const sni_idl_struct *error)
{
    const char *part = sni_cgen_error_part(gen, error);
    const char *type = sni_cgen_name(gen, error);
    const char *upper = sni_cgen_upper(gen, error);
    sni_idl_put(gen->h,
                "sennit_err %s_err_%s(%s_reply reply,\n"
                "    const %s *detail) SENNIT_MUST_CHECK;\n",
                m->name, part, m->name, type);
    sni_idl_put(gen->c,
                "\nsennit_err\n%s_err_%s(%s_reply reply,\n    const %s *detail)\n{\n"
                "    return sennit_codec_reply_error(reply.reply, %s_CODE, %s_ID,\n"
                "        \"%s\", &%s_codec, detail);\n}\n",
                m->name, part, m->name, type, upper, upper, error->naming.name, type);
}

static void
put_reply_fail(sni_cgen *gen, const sni_cgen_method *m)
{
    sni_idl_put(gen->h,
                "sennit_err %s_fail(%s_reply reply, sennit_kind kind,\n"
                "    const char *format, ...)\n"
                "#if defined(__GNUC__)\n"
                "    __attribute__((format(printf, 3, 4)))\n"
                "#endif\n    ;\n",
                m->name, m->name);
    sni_idl_put(
        gen->c,
        "\nsennit_err\n%s_fail(%s_reply reply, sennit_kind kind,\n"
        "    const char *format, ...)\n{\n"
        "    va_list args;\n"
        "    va_start(args, format);\n"
        "    sennit_err err = sennit_codec_reply_fail(reply.reply, kind, format,\n"
        "        args);\n"
        "    va_end(args);\n"
        "    return err;\n}\n",
        m->name, m->name);
}

static void
put_replies(sni_cgen *gen, const sni_cgen_method *m)
{
    sni_idl_put(gen->h,
                "\n/* The right to answer one '%s', once; sennit_reply_keep() keeps it.\n"
                " * An answer that failed with EAGAIN or ENOMEM was none: the right is\n"
                " * still there, and unless it is kept the caller gets NO_REPLY. */\n"
                "typedef struct %s_reply {\n    sennit_reply reply;\n} %s_reply;\n\n",
                m->method->naming.name, m->name, m->name);
    put_reply_ok(gen, m);
    for (size_t i = 0; i < m->method->throws_count; i++)
        put_reply_error(gen, m, m->method->throws[i]);
    put_reply_fail(gen, m);
}

static void
put_vtable(sni_cgen *gen, const sni_idl_service *service)
{
    const char *owner = sni_cgen_name(gen, service);
    const char *upper = sni_cgen_upper(gen, service);
    sni_idl_put(gen->h,
                "\n/* What serves %s; %s_VTABLE_INIT makes one.\n"
                " * An entry that is NULL is answered UNIMPLEMENTED.\n"
                " * What a method is given is borrowed until it returns. */\n"
                "typedef struct %s_vtable {\n"
                "    uint32_t abi; /* sizeof(%s_vtable) */\n",
                service->naming.name, upper, owner, owner);
    for (size_t i = 0; i < service->methods_count; i++) {
        sni_cgen_method m = describe(gen, service, &service->methods[i]);
        sni_cgen_put_doc(gen->h, "    ", &m.method->naming);
        sni_idl_put(gen->h, "    void (*%s)(sennit_ctx *ctx", m.member);
        if (m.takes)
            sni_idl_put(gen->h, ", const %s *in", m.takes);
        if (!m.method->oneway)
            sni_idl_put(gen->h, ",\n        %s_reply reply", m.name);
        sni_idl_put(gen->h, ", void *self);\n");
    }
    sni_idl_put(gen->h, "} %s_vtable;\n", owner);
    /* No designator in front of the size: C++ would not take it. */
    sni_idl_put(
        gen->h,
        "\n/* Takes the methods in order, or any of them by name (.x = my_x). */\n"
        "#define %s_VTABLE_INIT(...) { sizeof(%s_vtable), __VA_ARGS__ }\n",
        upper, owner);
}

static void
put_handle(sni_cgen *gen, const sni_cgen_method *m)
{
    sni_idl_text *c = gen->c;
    sni_idl_put(c,
                "\nstatic void\n%s_handle(sennit_ctx *ctx, sennit_bytes body,\n"
                "    const void *vtable, void *self)\n{\n"
                "    const %s_vtable *methods = (const %s_vtable *)vtable;\n",
                m->name, m->owner, m->owner);
    if (m->takes)
        sni_idl_put(c, "    %s in;\n", m->takes);
    sni_idl_put(
        c,
        "    if (methods->abi < offsetof(%s_vtable, %s) + sizeof(methods->%s) ||\n"
        "        !methods->%s) {\n"
        "        sennit_codec_unimplemented(ctx);\n"
        "        return;\n"
        "    }\n",
        m->owner, m->member, m->member, m->member);
    if (m->takes)
        sni_idl_put(c,
                    "    if (!sennit_codec_args(&%s_codec, &in, ctx, body))\n"
                    "        return;\n",
                    m->takes);
    else
        sni_idl_put(c, "    (void)body;\n");
    if (!m->method->oneway)
        sni_idl_put(c, "    %s_reply reply = { sennit_ctx_reply(ctx) };\n", m->name);
    sni_idl_put(c, "    methods->%s(ctx%s%s, self);\n", m->member,
                m->takes ? ", &in" : "", m->method->oneway ? "" : ", reply");
    if (m->method->oneway)
        sni_idl_put(c, "    sennit_codec_oneway_done(ctx);\n");
    sni_idl_put(c, "}\n");
}

static void
put_serve(sni_cgen *gen, const sni_idl_service *service)
{
    sni_idl_text *c = gen->c;
    const char *owner = sni_cgen_name(gen, service);
    const char *upper = sni_cgen_upper(gen, service);
    if (service->methods_count) {
        sni_idl_put(c, "\nstatic const sennit_method %s_methods[] = {\n", owner);
        for (size_t i = 0; i < service->methods_count; i++)
            sni_idl_put(c, "    { \"%s\", %s_handle },\n",
                        service->methods[i].naming.name,
                        sni_cgen_name(gen, &service->methods[i]));
        sni_idl_put(c, "};\n");
    }
    sni_idl_put(c,
                "\nstatic const sennit_service %s_service = {\n"
                "    sizeof(sennit_service), %s_SERVICE, %s%s, %zu\n};\n",
                owner, upper, service->methods_count ? owner : "NULL",
                service->methods_count ? "_methods" : "", service->methods_count);
    sni_idl_put(
        gen->h,
        "\n/* Takes:  `vtable` is borrowed until the consumer is cancelled.\n"
        " * Errors: those of sennit_bus_serve, and EINVAL for a `vtable` whose size\n"
        " *         was not set. */\n"
        "sennit_err %s_serve(sennit_bus *bus, const %s_vtable *vtable,\n"
        "    void *self, const sennit_consume_opts *opts,\n"
        "    sennit_consumer **out) SENNIT_MUST_CHECK;\n",
        owner, owner);
    /* A size that does not reach over the first method was forgotten; every call would
     * be answered UNIMPLEMENTED. */
    const char *first = service->methods_count
                            ? sni_cgen_method_member(gen, &service->methods[0].naming)
                            : "abi";
    sni_idl_put(
        c,
        "\nsennit_err\n%s_serve(sennit_bus *bus, const %s_vtable *vtable,\n"
        "    void *self, const sennit_consume_opts *opts, sennit_consumer **out)\n"
        "{\n"
        "    if (vtable->abi < offsetof(%s_vtable, %s) + sizeof(vtable->%s))\n"
        "        return SENNIT_EINVAL;\n"
        "    return sennit_bus_serve(bus, &%s_service, vtable, self, opts, out);\n"
        "}\n",
        owner, owner, owner, first, first, owner);
}

static void
put_service(sni_cgen *gen, const sni_idl_service *service)
{
    const char *upper = sni_cgen_upper(gen, service);
    sni_idl_put(gen->h, "\n/* ---- service %s */\n\n", service->naming.name);
    sni_cgen_put_doc(gen->h, "", &service->naming);
    sni_idl_put(gen->h, "#define %s_SERVICE \"%s\"\n", upper, service->address);
    if (service->versioned)
        sni_idl_put(gen->h, "#define %s_MAJOR %u\n#define %s_MINOR %u\n", upper,
                    (unsigned)service->major, upper, (unsigned)service->minor);
    put_client(gen, service);
    for (size_t i = 0; i < service->methods_count; i++) {
        sni_cgen_method m = describe(gen, service, &service->methods[i]);
        if (!m.method->oneway)
            put_replies(gen, &m);
    }
    put_vtable(gen, service);
    for (size_t i = 0; i < service->methods_count; i++) {
        sni_cgen_method m = describe(gen, service, &service->methods[i]);
        put_handle(gen, &m);
    }
    put_serve(gen, service);
}

void
sni_cgen_put_services(sni_cgen *gen)
{
    for (size_t i = 0; i < gen->model->items_count; i++)
        if (gen->model->items[i].kind == SNI_IDL_ITEM_SERVICE)
            put_service(gen, gen->model->items[i].service);
}

/* ---- Events ----------------------------------------------------------- */

static bool
has_placeholders(const sni_idl_event *event)
{
    for (size_t i = 0; i < event->parts_count; i++)
        if (event->parts[i].field)
            return true;
    return false;
}

static void
put_topic_value(sni_cgen *gen, const sni_idl_field *field)
{
    sni_idl_text *c = gen->c;
    const char *member = sni_cgen_member(&field->naming);
    sni_idl_kind kind = field->type.kind;
    bool is_enum = kind == SNI_IDL_ENUM;
    if (is_enum)
        kind = field->type.enumeration->base;
    const char *number = sni_idl_kind_is_signed(kind) ? "int" : "uint";
    if (kind == SNI_IDL_STR)
        sni_idl_put(c, "    sennit_topic_str(&topic, event->%s);\n", member);
    else if (is_enum)
        sni_idl_put(c,
                    "    if (%s_name(event->%s))\n"
                    "        sennit_topic_literal(&topic, %s_name(event->%s));\n"
                    "    else\n"
                    "        sennit_topic_%s(&topic, event->%s);\n",
                    sni_cgen_name(gen, field->type.enumeration), member,
                    sni_cgen_name(gen, field->type.enumeration), member, number, member);
    else
        sni_idl_put(c, "    sennit_topic_%s(&topic, event->%s);\n", number, member);
}

static void
put_topic_literal(sni_cgen *gen, const char *literal)
{
    sni_idl_put(gen->c, "    sennit_topic_literal(&topic, ");
    sni_idl_put_string(gen->c, literal);
    sni_idl_put(gen->c, ");\n");
}

static void
put_publish(sni_cgen *gen, const sni_idl_event *event, const char *name, const char *body)
{
    bool dynamic = has_placeholders(event);
    sni_idl_put(gen->h,
                "\n%ssennit_err %s_publish(sennit_bus *bus, const %s *event,\n"
                "    const sennit_call_opts *opts, size_t *nodes) SENNIT_MUST_CHECK;\n",
                dynamic
                    ? "/* Errors: EINVAL also when a field that stands in the topic is "
                      "no token:\n *         empty, or with a dot, blank, '*' or '>'. "
                      "*/\n"
                    : "",
                name, body);
    sni_idl_put(gen->c,
                "\nsennit_err\n%s_publish(sennit_bus *bus, const %s *event,\n"
                "    const sennit_call_opts *opts, size_t *nodes)\n{\n",
                name, body);
    if (dynamic) {
        sni_idl_put(gen->c, "    sennit_topic topic;\n    sennit_topic_init(&topic);\n");
        for (size_t i = 0; i < event->parts_count; i++)
            if (event->parts[i].field)
                put_topic_value(gen, event->parts[i].field);
            else
                put_topic_literal(gen, event->parts[i].literal);
        sni_idl_put(gen->c, "    if (topic.err)\n        return topic.err;\n");
    }
    sni_idl_put(gen->c,
                "    return sennit_codec_publish(bus, %s%s, &%s_codec, event, opts,\n"
                "        nodes);\n}\n",
                dynamic ? "topic.text" : sni_cgen_upper(gen, event),
                dynamic ? "" : "_TOPIC", body);
}

static void
put_event_thunk(sni_cgen *gen, const char *name, const char *body)
{
    sni_idl_put(gen->h,
                "\ntypedef void %s_fn(sennit_ctx *ctx, const %s *event, void *arg);\n",
                name, body);
    sni_idl_put(gen->c,
                "\nstatic void\n%s_thunk(sennit_ctx *ctx, sennit_bytes body, "
                "sennit_any_fn *fn,\n    void *arg)\n{\n"
                "    %s event;\n"
                "    if (sennit_codec_event(&%s_codec, &event, ctx, body))\n"
                "        ((%s_fn *)fn)(ctx, &event, arg);\n}\n",
                name, body, body, name);
}

/* One parameter for each placeholder, named so that it cannot be another one. */
static const char *
subscribe_params(sni_cgen *gen, const sni_idl_event *event)
{
    const char *params = "";
    for (size_t i = 0; i < event->parts_count; i++)
        if (event->parts[i].field)
            params = sni_idl_format(gen->arena, "%s    const char *%s_or_null,\n", params,
                                    sni_cgen_member(&event->parts[i].field->naming));
    return params;
}

static void
put_subscribe(sni_cgen *gen, const sni_idl_event *event, const char *name)
{
    const char *params = subscribe_params(gen, event);
    bool dynamic = has_placeholders(event);
    sni_idl_put(gen->h,
                "\n%ssennit_err %s_subscribe(sennit_bus *bus,\n%s"
                "    const sennit_consume_opts *opts, sennit_consumer **out,\n"
                "    %s_fn *fn, void *arg) SENNIT_MUST_CHECK;\n",
                dynamic
                    ? "/* Hears the events with one value, as it stands in the topic, "
                      "or with NULL\n * those with any. */\n"
                    : "",
                name, params, name);
    sni_idl_put(gen->c,
                "\nsennit_err\n%s_subscribe(sennit_bus *bus,\n%s"
                "    const sennit_consume_opts *opts, sennit_consumer **out,\n"
                "    %s_fn *fn, void *arg)\n{\n",
                name, params, name);
    if (dynamic) {
        sni_idl_put(gen->c, "    sennit_topic topic;\n    sennit_topic_init(&topic);\n");
        for (size_t i = 0; i < event->parts_count; i++)
            if (event->parts[i].field)
                sni_idl_put(gen->c, "    sennit_topic_match(&topic, %s_or_null);\n",
                            sni_cgen_member(&event->parts[i].field->naming));
            else
                put_topic_literal(gen, event->parts[i].literal);
        sni_idl_put(gen->c, "    if (topic.err)\n        return topic.err;\n");
    }
    sni_idl_put(gen->c,
                "    return sennit_bus_consume_typed(bus, %s%s, opts, out, %s_thunk,\n"
                "        (sennit_any_fn *)fn, arg);\n}\n",
                dynamic ? "topic.text" : sni_cgen_upper(gen, event),
                dynamic ? "" : "_TOPIC", name);
}

void
sni_cgen_put_events(sni_cgen *gen)
{
    for (size_t i = 0; i < gen->model->items_count; i++) {
        const sni_idl_item *item = &gen->model->items[i];
        if (item->kind != SNI_IDL_ITEM_EVENT)
            continue;
        const sni_idl_event *event = item->event;
        const char *name = sni_cgen_name(gen, event);
        const char *body = sni_cgen_name(gen, event->body);
        sni_idl_put(gen->h, "\n/* ---- event %s */\n\n", event->naming.name);
        sni_cgen_put_doc(gen->h, "", &event->naming);
        sni_idl_put(gen->h, "#define %s_TOPIC ", sni_cgen_upper(gen, event));
        sni_idl_put_string(gen->h, event->topic);
        sni_idl_put(gen->h, "\n");
        put_publish(gen, event, name, body);
        put_event_thunk(gen, name, body);
        put_subscribe(gen, event, name);
    }
}
