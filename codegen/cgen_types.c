/* SPDX-License-Identifier: MIT */
/* Constants, enums and structs in C. */
#include <inttypes.h>
#include <string.h>

#include "cgen_names.h"

typedef struct sni_cgen_kind {
    const char *c_type;
    const char *codec;
    const char *macro; /* around an integer literal; NULL: none */
} sni_cgen_kind;

static const sni_cgen_kind kinds[] = {
    [SNI_IDL_BOOL] = { "bool", "BOOL", NULL },
    [SNI_IDL_U8] = { "uint8_t", "U8", "UINT8_C" },
    [SNI_IDL_I8] = { "int8_t", "I8", "INT8_C" },
    [SNI_IDL_U16] = { "uint16_t", "U16", "UINT16_C" },
    [SNI_IDL_I16] = { "int16_t", "I16", "INT16_C" },
    [SNI_IDL_U32] = { "uint32_t", "U32", "UINT32_C" },
    [SNI_IDL_I32] = { "int32_t", "I32", "INT32_C" },
    [SNI_IDL_U64] = { "uint64_t", "U64", "UINT64_C" },
    [SNI_IDL_I64] = { "int64_t", "I64", "INT64_C" },
    [SNI_IDL_F32] = { "float", "F32", NULL },
    [SNI_IDL_F64] = { "double", "F64", NULL },
    [SNI_IDL_STR] = { "sennit_str", "STR", NULL },
    [SNI_IDL_BYTES] = { "sennit_bytes", "BYTES", NULL },
    [SNI_IDL_TIME] = { "int64_t", "TIME", "INT64_C" },
    [SNI_IDL_DURATION] = { "int64_t", "DURATION", "INT64_C" },
};

/* The built-in kind that holds a scalar: of an enum, its base. */
static sni_idl_kind
held_by(const sni_idl_type *type)
{
    return type->kind == SNI_IDL_ENUM ? type->enumeration->base : type->kind;
}

const char *
sni_cgen_element_type(const sni_cgen *gen, const sni_idl_type *type)
{
    if (type->kind == SNI_IDL_ENUM)
        return sni_cgen_name(gen, type->enumeration);
    if (type->kind == SNI_IDL_STRUCT)
        return sni_cgen_name(gen, type->structure);
    return kinds[type->kind].c_type;
}

void
sni_cgen_put_doc(sni_idl_text *text, const char *indent, const sni_idl_naming *naming)
{
    if (!naming->deprecated) {
        sni_idl_put_comment(text, indent, naming->doc);
        return;
    }
    const char *why = naming->deprecated;
    sni_idl_put_comment(text, indent,
                        sni_idl_format(text->arena, "%s%sDeprecated%s%s.",
                                       naming->doc ? naming->doc : "",
                                       naming->doc ? "\n" : "", *why ? ": " : "", why));
}

/* ---- Values ----------------------------------------------------------- */

/* A literal of exactly the type, also for the smallest number, which C cannot
 * write. */
static const char *
integer_text(sni_idl_arena *arena, sni_idl_kind kind, uint64_t bits)
{
    bool is_signed =
        kind == SNI_IDL_TIME || kind == SNI_IDL_DURATION || sni_idl_kind_is_signed(kind);
    unsigned width = sni_idl_kind_bits(kind);
    if (!is_signed)
        return sni_idl_format(arena, "%s(%" PRIu64 ")", kinds[kind].macro, bits);
    int64_t number = (int64_t)bits;
    int64_t smallest = INT64_MIN >> (64 - width);
    if (number == smallest)
        return sni_idl_format(arena, "INT%u_MIN", width);
    return sni_idl_format(arena, "%s(%" PRId64 ")", kinds[kind].macro, number);
}

static const char *
float_text(sni_idl_arena *arena, sni_idl_kind kind, double real)
{
    bool narrow = kind == SNI_IDL_F32;
    /* Narrowed first, as fallback_bits() does: digits of the double would be rounded
     * twice, by us and by the C compiler. */
    double held = narrow ? (double)(float)real : real;
    const char *digits = sni_idl_format(arena, "%.*g", narrow ? 9 : 17, held);
    bool has_point = strpbrk(digits, ".e") != NULL;
    return sni_idl_format(arena, "%s%s%s", digits, has_point ? "" : ".0",
                          narrow ? "f" : "");
}

static const char *
string_text(sni_idl_arena *arena, const char *value)
{
    sni_idl_text text = { .arena = arena };
    sni_idl_put_string(&text, value);
    return sni_idl_copy_text(arena, text.data, text.size);
}

static const char *
enum_text(const sni_cgen *gen, const sni_idl_enum *enumeration, uint64_t bits)
{
    for (size_t i = 0; i < enumeration->values_count; i++)
        if (enumeration->values[i].bits == bits)
            return sni_cgen_enumerator(gen, enumeration, &enumeration->values[i]);
    return "0";
}

static const char *
value_text(const sni_cgen *gen, const sni_idl_type *type, const sni_idl_constant *value)
{
    if (type->kind == SNI_IDL_ENUM)
        return enum_text(gen, type->enumeration, value->bits);
    if (type->kind == SNI_IDL_BOOL)
        return value->bits ? "true" : "false";
    if (type->kind == SNI_IDL_F32 || type->kind == SNI_IDL_F64)
        return float_text(gen->arena, type->kind, value->real);
    if (type->kind == SNI_IDL_STR)
        return string_text(gen->arena, value->text);
    return integer_text(gen->arena, type->kind, value->bits);
}

void
sni_cgen_put_constants(sni_cgen *gen)
{
    for (size_t i = 0; i < gen->model->items_count; i++) {
        const sni_idl_item *item = &gen->model->items[i];
        if (item->kind != SNI_IDL_ITEM_CONST)
            continue;
        sni_idl_put(gen->h, "\n");
        sni_cgen_put_doc(gen->h, "", &item->constant->naming);
        sni_idl_put(gen->h, "#define %s %s\n", sni_cgen_upper(gen, item->constant),
                    value_text(gen, &item->constant->type, &item->constant->value));
    }
}

/* ---- Enums ------------------------------------------------------------ */

static void
put_enum_header(sni_cgen *gen, const sni_idl_enum *enumeration)
{
    sni_idl_text *h = gen->h;
    const char *name = sni_cgen_name(gen, enumeration);
    sni_idl_put(h, "\n");
    sni_cgen_put_doc(h, "", &enumeration->naming);
    sni_idl_put(h, "typedef %s %s;\n", kinds[enumeration->base].c_type, name);
    for (size_t i = 0; i < enumeration->values_count; i++) {
        const sni_idl_enumerator *value = &enumeration->values[i];
        sni_cgen_put_doc(h, "", &value->naming);
        sni_idl_put(h, "#define %s %s\n", sni_cgen_enumerator(gen, enumeration, value),
                    integer_text(gen->arena, enumeration->base, value->bits));
    }
    sni_idl_put(
        h,
        "\n/* Name of a value as in the schema; NULL for one it does not have. */\n"
        "const char *%s_name(%s value);\n"
        "\n/* The inverse; false, and nothing in `*out`, for other text. */\n"
        "bool %s_parse(sennit_str text, %s *out);\n",
        name, name, name, name);
}

static void
put_enum_source(sni_cgen *gen, const sni_idl_enum *enumeration)
{
    sni_idl_text *c = gen->c;
    const char *name = sni_cgen_name(gen, enumeration);
    sni_idl_put(c, "\nconst char *\n%s_name(%s value)\n{\n    switch (value) {\n", name,
                name);
    for (size_t i = 0; i < enumeration->values_count; i++) {
        const sni_idl_enumerator *value = &enumeration->values[i];
        sni_idl_put(c, "    case %s:\n        return \"%s\";\n",
                    sni_cgen_enumerator(gen, enumeration, value), value->naming.name);
    }
    sni_idl_put(c, "    default:\n        return NULL;\n    }\n}\n");
    sni_idl_put(c,
                "\nbool\n%s_parse(sennit_str text, %s *out)\n{\n"
                "    static const struct {\n        const char *name;\n"
                "        %s value;\n    } values[] = {\n",
                name, name, name);
    for (size_t i = 0; i < enumeration->values_count; i++) {
        const sni_idl_enumerator *value = &enumeration->values[i];
        sni_idl_put(c, "        { \"%s\", %s },\n", value->naming.name,
                    sni_cgen_enumerator(gen, enumeration, value));
    }
    sni_idl_put(c,
                "    };\n"
                "    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {\n"
                "        if (sennit_str_equal(text, sennit_str_of(values[i].name))) {\n"
                "            *out = values[i].value;\n"
                "            return true;\n"
                "        }\n"
                "    }\n"
                "    return false;\n}\n");
}

void
sni_cgen_put_enums(sni_cgen *gen)
{
    for (size_t i = 0; i < gen->model->items_count; i++) {
        const sni_idl_item *item = &gen->model->items[i];
        if (item->kind != SNI_IDL_ITEM_ENUM)
            continue;
        put_enum_header(gen, item->enumeration);
        put_enum_source(gen, item->enumeration);
    }
}

/* ---- Struct declarations ---------------------------------------------- */

static void
put_member(sni_cgen *gen, const sni_idl_field *field)
{
    sni_idl_text *h = gen->h;
    const char *name = sni_cgen_member(&field->naming);
    bool list = field->type.kind == SNI_IDL_LIST;
    const sni_idl_type *type = list ? field->type.element : &field->type;
    const char *unit = type->kind == SNI_IDL_TIME       ? " /* ns since 1970 */"
                       : type->kind == SNI_IDL_DURATION ? " /* ns */"
                                                        : "";
    sni_cgen_put_doc(h, "    ", &field->naming);
    if (list)
        sni_idl_put(h, "    const %s *%s;%s\n    size_t n_%s;\n",
                    sni_cgen_element_type(gen, type), name, unit, name);
    else
        sni_idl_put(h, "    %s %s;%s\n", sni_cgen_element_type(gen, type), name, unit);
    if (field->type.optional)
        sni_idl_put(h, "    bool has_%s;\n", name);
}

static const char *
initializer(const sni_cgen *gen, const sni_idl_field *field)
{
    const sni_idl_type *type = &field->type;
    bool plain = type->optional || !field->has_fallback;
    sni_idl_arena *arena = gen->arena;
    switch (type->kind) {
    case SNI_IDL_LIST:
        return "NULL, 0";
    case SNI_IDL_STRUCT:
        return sni_idl_format(arena, "%s_INIT", sni_cgen_upper(gen, type->structure));
    case SNI_IDL_BYTES:
        return "{ NULL, 0 }";
    case SNI_IDL_STR: {
        if (plain || !*field->fallback.text)
            return "{ NULL, 0 }";
        return sni_idl_format(arena, "{ %s, %zu }",
                              string_text(arena, field->fallback.text),
                              strlen(field->fallback.text));
    }
    case SNI_IDL_BOOL:
        return plain || !field->fallback.bits ? "false" : "true";
    case SNI_IDL_F32:
        return plain ? "0.0f" : value_text(gen, type, &field->fallback);
    case SNI_IDL_F64:
        return plain ? "0.0" : value_text(gen, type, &field->fallback);
    default: /* integers, enums, time, duration */
        return plain ? "0" : value_text(gen, type, &field->fallback);
    }
}

static void
put_init_macro(sni_cgen *gen, const sni_idl_struct *structure)
{
    sni_idl_text *h = gen->h;
    sni_idl_put(h, "\n#define %s_INIT \\\n    { ", sni_cgen_upper(gen, structure));
    for (size_t i = 0; i < structure->fields_count; i++) {
        const sni_idl_field *field = &structure->fields[i];
        sni_idl_put(h, "%s, %s", initializer(gen, field),
                    field->type.optional ? "false, " : "");
        if (i % 8 == 7)
            sni_idl_put(h, "\\\n      ");
    }
    sni_idl_put(h, "{ NULL, 0 } }\n");
}

static void
put_struct_functions(sni_cgen *gen, const char *name)
{
    sni_idl_put(
        gen->h,
        "\nextern const sennit_codec %s_codec;\n"
        "void %s_init(%s *value);\n"
        "size_t %s_size(const %s *value);\n"
        "sennit_err %s_encode(const %s *value, sennit_buf *out) SENNIT_MUST_CHECK;\n"
        "sennit_err %s_view(%s *value, sennit_bytes in, sennit_arena *arena,\n"
        "    sennit_error *error) SENNIT_MUST_CHECK;\n"
        "sennit_err %s_decode(%s *value, sennit_bytes in, sennit_arena *arena,\n"
        "    sennit_error *error) SENNIT_MUST_CHECK;\n"
        "bool %s_equal(const %s *a, const %s *b);\n"
        "void %s_print(const %s *value, sennit_buf *out);\n",
        name, name, name, name, name, name, name, name, name, name, name, name, name,
        name, name, name);
}

static void
put_error_header(sni_cgen *gen, const sni_idl_struct *error)
{
    const char *name = sni_cgen_name(gen, error);
    const char *upper = sni_cgen_upper(gen, error);
    sni_idl_put(
        gen->h,
        "\n#define %s_ID UINT32_C(0x%08" PRIx32 ")\n"
        "#define %s_CODE %s\n"
        "#define %s_RETRYABLE %s\n"
        "\n/* What `error` carries, decoded into `arena`; NULL when it is another\n"
        " * error (or NULL) or cannot be read. */\n"
        "const %s *%s_from_error(const sennit_error *error, sennit_arena *arena);\n",
        upper, error->detail_id, upper,
        integer_text(gen->arena, SNI_IDL_I32, (uint64_t)(int64_t)error->code), upper,
        error->retryable ? "true" : "false", name, name);
}

static const char *const role_words[] = {
    [SNI_IDL_ROLE_STRUCT] = "struct",    [SNI_IDL_ROLE_ERROR] = "error",
    [SNI_IDL_ROLE_EVENT] = "event",      [SNI_IDL_ROLE_ARGS] = "arguments of",
    [SNI_IDL_ROLE_RESULT] = "result of",
};

static void
put_struct_header(sni_cgen *gen, const sni_idl_struct *structure)
{
    sni_idl_text *h = gen->h;
    const char *name = sni_cgen_name(gen, structure);
    sni_idl_put(h, "\n/* ---- %s %s */\n\n", role_words[structure->role],
                structure->naming.name);
    sni_cgen_put_doc(h, "", &structure->naming);
    sni_idl_put(h, "struct %s {\n", name);
    for (size_t i = 0; i < structure->fields_count; i++)
        put_member(gen, &structure->fields[i]);
    sni_idl_put(h,
                "    sennit_bytes unknown_; /* fields this build does not know */\n};\n");
    put_init_macro(gen, structure);
    put_struct_functions(gen, name);
    if (structure->role == SNI_IDL_ROLE_ERROR)
        put_error_header(gen, structure);
}

/* ---- Struct tables ---------------------------------------------------- */

static uint64_t
fallback_bits(const sni_idl_field *field)
{
    if (!field->has_fallback)
        return 0;
    if (field->type.kind == SNI_IDL_F32) {
        float narrow = (float)field->fallback.real;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof(bits));
        return bits;
    }
    if (field->type.kind == SNI_IDL_F64) {
        uint64_t bits;
        memcpy(&bits, &field->fallback.real, sizeof(bits));
        return bits;
    }
    return field->fallback.bits;
}

static void
put_field_row(sni_cgen *gen, const sni_idl_struct *structure, const sni_idl_field *field)
{
    sni_idl_text *c = gen->c;
    const char *owner = sni_cgen_name(gen, structure);
    const char *name = sni_cgen_member(&field->naming);
    bool list = field->type.kind == SNI_IDL_LIST;
    bool optional = field->type.optional;
    const sni_idl_type *type = list ? field->type.element : &field->type;
    const char *flags = optional && list ? "SENNIT_CODEC_OPTIONAL | SENNIT_CODEC_LIST"
                        : optional       ? "SENNIT_CODEC_OPTIONAL"
                        : list           ? "SENNIT_CODEC_LIST"
                                         : "0";
    bool is_struct = type->kind == SNI_IDL_STRUCT;
    sni_idl_put(c, "    { %" PRIu32 ", SENNIT_CODEC_%s, %s, offsetof(%s, %s),\n      ",
                field->number, is_struct ? "STRUCT" : kinds[held_by(type)].codec, flags,
                owner, name);
    if (optional)
        sni_idl_put(c, "offsetof(%s, has_%s), ", owner, name);
    else
        sni_idl_put(c, "0, ");
    if (list)
        sni_idl_put(c, "offsetof(%s, n_%s), ", owner, name);
    else
        sni_idl_put(c, "0, ");
    sni_idl_put(c, "UINT64_C(0x%" PRIx64 "),\n      ", fallback_bits(field));
    bool text = field->has_fallback && type->kind == SNI_IDL_STR;
    sni_idl_put(c, "%s, \"%s\", ",
                text ? string_text(gen->arena, field->fallback.text) : "NULL",
                field->naming.name);
    if (is_struct)
        sni_idl_put(c, "&%s_codec },\n", sni_cgen_name(gen, type->structure));
    else
        sni_idl_put(c, "NULL },\n");
}

static void
put_struct_table(sni_cgen *gen, const sni_idl_struct *structure)
{
    sni_idl_text *c = gen->c;
    const char *name = sni_cgen_name(gen, structure);
    if (structure->fields_count) {
        sni_idl_put(c, "\nstatic const sennit_codec_field %s_fields[] = {\n", name);
        for (size_t i = 0; i < structure->fields_count; i++)
            put_field_row(gen, structure, &structure->fields[i]);
        sni_idl_put(c, "};\n");
    }
    sni_idl_put(c,
                "\nconst sennit_codec %s_codec = {\n"
                "    sizeof(sennit_codec), sizeof(%s), offsetof(%s, unknown_), %zu,\n"
                "    \"%s\", %s%s\n};\n",
                name, name, name, structure->fields_count, structure->naming.name,
                structure->fields_count ? name : "NULL",
                structure->fields_count ? "_fields" : "");
}

static void
put_struct_source(sni_cgen *gen, const char *name)
{
    sni_idl_put(gen->c,
                "\nvoid\n%s_init(%s *value)\n{\n"
                "    sennit_codec_init(&%s_codec, value);\n}\n"
                "\nsize_t\n%s_size(const %s *value)\n{\n"
                "    return sennit_codec_size(&%s_codec, value);\n}\n"
                "\nsennit_err\n%s_encode(const %s *value, sennit_buf *out)\n{\n"
                "    return sennit_codec_encode(&%s_codec, value, out, NULL);\n}\n",
                name, name, name, name, name, name, name, name, name);
    sni_idl_put(
        gen->c,
        "\nsennit_err\n%s_view(%s *value, sennit_bytes in, sennit_arena *arena,\n"
        "    sennit_error *error)\n{\n"
        "    return sennit_codec_view(&%s_codec, value, in, arena, error);\n}\n"
        "\nsennit_err\n%s_decode(%s *value, sennit_bytes in, sennit_arena *arena,\n"
        "    sennit_error *error)\n{\n"
        "    return sennit_codec_decode(&%s_codec, value, in, arena, error);\n}\n",
        name, name, name, name, name, name);
    sni_idl_put(gen->c,
                "\nbool\n%s_equal(const %s *a, const %s *b)\n{\n"
                "    return sennit_codec_equal(&%s_codec, a, b);\n}\n"
                "\nvoid\n%s_print(const %s *value, sennit_buf *out)\n{\n"
                "    sennit_codec_print(&%s_codec, value, out);\n}\n",
                name, name, name, name, name, name, name);
}

static void
put_error_source(sni_cgen *gen, const sni_idl_struct *error)
{
    const char *name = sni_cgen_name(gen, error);
    sni_idl_put(gen->c,
                "\nconst %s *\n%s_from_error(const sennit_error *error, sennit_arena "
                "*arena)\n{\n"
                "    return (const %s *)sennit_codec_detail(&%s_codec, %s_ID, error,\n"
                "        arena);\n}\n",
                name, name, name, name, sni_cgen_upper(gen, error));
}

void
sni_cgen_put_structs(sni_cgen *gen)
{
    const sni_idl_model *model = gen->model;
    sni_idl_text *h = gen->h;
    /* A method without parameters or results has a struct without fields, which
     * nobody needs in C. */
    sni_idl_put(h, "\n");
    for (size_t i = 0; i < model->structs_count; i++) {
        const char *name = sni_cgen_name(gen, model->structs[i]);
        if (name)
            sni_idl_put(h, "typedef struct %s %s;\n", name, name);
    }
    for (size_t i = 0; i < model->structs_count; i++)
        if (sni_cgen_name(gen, model->structs[i]))
            put_struct_header(gen, model->structs[i]);
    for (size_t i = 0; i < model->structs_count; i++) {
        const sni_idl_struct *structure = model->structs[i];
        const char *name = sni_cgen_name(gen, structure);
        if (!name)
            continue;
        put_struct_table(gen, structure);
        put_struct_source(gen, name);
        if (structure->role == SNI_IDL_ROLE_ERROR)
            put_error_source(gen, structure);
    }
}
