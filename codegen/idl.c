/* SPDX-License-Identifier: MIT */
#include "idl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "check.h"
#include "parser.h"
#include "suggest.h"

void
sni_idl_schema_init(sni_idl_schema *schema)
{
    memset(schema, 0, sizeof(*schema));
    sni_idl_arena_init(&schema->arena);
}

void
sni_idl_schema_fini(sni_idl_schema *schema)
{
    sni_idl_arena_fini(&schema->arena);
    memset(&schema->diags, 0, sizeof(schema->diags));
    schema->source = NULL;
    schema->ast = NULL;
    schema->model = NULL;
}

/* ---- Loading ---------------------------------------------------------- */

static sni_idl_status
out_of_memory(sni_idl_schema *schema, const char *name)
{
    snprintf(schema->failure, sizeof(schema->failure), "%s: out of memory", name);
    return SNI_IDL_CANNOT_RUN;
}

static void
load(sni_idl_schema *schema, const char *name, const char *text, size_t size)
{
    bool too_large = size > SNI_IDL_FILE_MAX_BYTES;
    schema->source = sni_idl_source_new(&schema->arena, name, text, too_large ? 0 : size);
    schema->diags = (sni_idl_diags){ .arena = &schema->arena, .source = schema->source };
    if (too_large) {
        sni_idl_error(&schema->diags, SNI_IDL_FILE_TOO_LARGE, (sni_idl_span){ 0, 0 },
                      "a schema has at most %zu bytes; split it", SNI_IDL_FILE_MAX_BYTES);
        return;
    }
    sni_ast_file *ast = sni_idl_parse(&schema->arena, &schema->diags, schema->source);
    schema->ast = ast;
    schema->model = sni_idl_check(&schema->arena, &schema->diags, ast);
}

sni_idl_status
sni_idl_load_text(sni_idl_schema *schema, const char *name, const char *text, size_t size)
{
    jmp_buf failure;
    schema->arena.on_failure = &failure;
    if (setjmp(failure))
        return out_of_memory(schema, name);
    load(schema, name, text, size);
    return schema->diags.errors_count ? SNI_IDL_FINDINGS : SNI_IDL_GOOD;
}

/* Reads a whole stream into `*out`, to be freed; one byte more than is allowed is
 * enough to know that it is too large. */
static bool
read_all(FILE *file, char **out, size_t *size)
{
    size_t limit = SNI_IDL_FILE_MAX_BYTES + 1;
    size_t capacity = 64 * 1024;
    char *text = NULL;
    *size = 0;
    for (;;) {
        char *wider = realloc(text, capacity);
        if (!wider)
            break;
        text = wider;
        *size += fread(text + *size, 1, capacity - *size, file);
        if (*size < capacity || *size >= limit) {
            *out = text;
            return !ferror(file);
        }
        capacity = capacity * 2 > limit ? limit : capacity * 2;
    }
    free(text);
    errno = ENOMEM;
    return false;
}

sni_idl_status
sni_idl_load_file(sni_idl_schema *schema, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "rb");
    bool done = file && read_all(file, &text, &size);
    int why = errno;
    if (file)
        fclose(file);
    if (!done) {
        free(text);
        snprintf(schema->failure, sizeof(schema->failure), "cannot read %s: %s", path,
                 strerror(why));
        return SNI_IDL_CANNOT_RUN;
    }
    sni_idl_status status = sni_idl_load_text(schema, path, text, size);
    free(text);
    return status;
}

/* ---- Finding ---------------------------------------------------------- */

/* Whether `name` of `size` bytes names the service: "Pricing", the full name, or
 * the full name and version. */
static bool
names_service(const sni_idl_model *model, const sni_idl_service *service,
              const char *name, size_t size)
{
    const char *address = service->address;
    size_t whole = strlen(address);
    size_t unversioned = strcspn(address, "/");
    size_t space = strlen(model->space);
    size_t skip = space ? space + 1 : 0;
    return (size == whole && !memcmp(name, address, size)) ||
           (size == unversioned && !memcmp(name, address, size)) ||
           (size == unversioned - skip && !memcmp(name, address + skip, size)) ||
           (size == whole - skip && !memcmp(name, address + skip, size));
}

static bool
find_in_service(const sni_idl_service *service, const char *name, sni_idl_method_ref *out)
{
    for (size_t i = 0; i < service->methods_count; i++) {
        if (strcmp(service->methods[i].naming.name, name) != 0)
            continue;
        *out = (sni_idl_method_ref){ service, &service->methods[i] };
        return true;
    }
    return false;
}

/* `name` without the schema's namespace, if it begins with it. */
static const char *
without_space(const sni_idl_model *model, const char *name)
{
    size_t size = strlen(model->space);
    bool begins = size && !strncmp(name, model->space, size) && name[size] == '.';
    return begins ? name + size + 1 : name;
}

/* The method whose "Service.method" is most like `name`. */
static const char *
find_nearest(sni_idl_schema *schema, const char *name)
{
    jmp_buf failure;
    schema->arena.on_failure = &failure;
    if (setjmp(failure))
        return NULL;
    sni_idl_suggestion suggestion = { without_space(schema->model, name), NULL, 0 };
    for (size_t i = 0; i < schema->model->items_count; i++) {
        const sni_idl_item *item = &schema->model->items[i];
        for (size_t j = 0;
             item->kind == SNI_IDL_ITEM_SERVICE && j < item->service->methods_count; j++)
            sni_idl_suggestion_try(&suggestion,
                                   sni_idl_format(&schema->arena, "%s.%s",
                                                  item->service->naming.name,
                                                  item->service->methods[j].naming.name));
    }
    return suggestion.best;
}

bool
sni_idl_find_method(sni_idl_schema *schema, const char *name, sni_idl_method_ref *out,
                    const char **nearest)
{
    const sni_idl_model *model = schema->model;
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < model->items_count; i++) {
        const sni_idl_item *item = &model->items[i];
        if (item->kind == SNI_IDL_ITEM_SERVICE &&
            names_service(model, item->service, name, (size_t)(dot - name)) &&
            find_in_service(item->service, dot + 1, out))
            return true;
    }
    if (nearest)
        *nearest = find_nearest(schema, name);
    return false;
}

const char *
sni_idl_method_address(sni_idl_schema *schema, sni_idl_method_ref ref)
{
    jmp_buf failure;
    schema->arena.on_failure = &failure;
    if (setjmp(failure))
        return NULL;
    return sni_idl_format(&schema->arena, "%s.%s", ref.service->address,
                          ref.method->naming.name);
}

const sni_idl_struct *
sni_idl_find_error(const sni_idl_schema *schema, uint32_t detail_id)
{
    for (size_t i = 0; i < schema->model->structs_count; i++) {
        const sni_idl_struct *structure = schema->model->structs[i];
        if (structure->role == SNI_IDL_ROLE_ERROR && structure->detail_id == detail_id)
            return structure;
    }
    return NULL;
}

static const char *
element_text(const sni_idl_type *type)
{
    if (type->kind == SNI_IDL_ENUM)
        return type->enumeration->naming.name;
    if (type->kind == SNI_IDL_STRUCT)
        return type->structure->naming.name;
    return sni_idl_kind_name(type->kind);
}

void
sni_idl_type_text(const sni_idl_type *type, char *out, size_t size)
{
    bool list = type->kind == SNI_IDL_LIST;
    snprintf(out, size, "%s%s%s%s", list ? "[" : "",
             element_text(list ? type->element : type), list ? "]" : "",
             type->optional ? "?" : "");
}
