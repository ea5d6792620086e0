/* SPDX-License-Identifier: MIT */
/* The front end as a library: loading, finding methods, memory. */
#include "sennit_test.h"

#include <stdio.h>

#include "cgen.h"
#include "idl.h"

static const char shop[] = "edition 1;\n"
                           "namespace shop.pricing @c(prefix = \"pr\");\n"
                           "enum Side { none = 0; buy = 1; }\n"
                           "struct Quote { 1 symbol: str; 2 sides: [Side]?; }\n"
                           "error NoSuch @code(not_found) { 1 symbol: str; }\n"
                           "service Pricing @version(2, 0) {\n"
                           "    get(1 symbol: str, 2 at: time?) -> Quote throws NoSuch;\n"
                           "    put(Quote);\n"
                           "}\n"
                           "service Plain { oneway ping(); }\n"
                           "event Changed on \"price.{symbol}\" { 1 symbol: str; }\n";

static int
load_shop(void **state)
{
    static sni_idl_schema schema;
    sni_idl_schema_init(&schema);
    *state = &schema;
    assert_int_equal(sni_idl_load_text(&schema, "shop.snt", shop, strlen(shop)),
                     SNI_IDL_GOOD);
    return 0;
}

static int
unload(void **state)
{
    sni_idl_schema_fini(*state);
    sni_idl_schema_fini(*state); /* any number of times */
    return 0;
}

static void
a_method_is_found_by_its_short_and_its_full_name(void **state)
{
    static const char *const names[] = { "Pricing.get", "shop.pricing.Pricing.get",
                                         "shop.pricing.Pricing/2.get", "Pricing/2.get" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sni_idl_method_ref ref;
        assert_true(sni_idl_find_method(*state, names[i], &ref, NULL));
        assert_string_equal(ref.method->naming.name, "get");
        assert_string_equal(sni_idl_method_address(*state, ref),
                            "shop.pricing.Pricing/2.get");
    }
    sni_idl_method_ref ref;
    assert_true(sni_idl_find_method(*state, "Plain.ping", &ref, NULL));
    assert_true(ref.method->oneway);
    assert_null(ref.method->gives);
    assert_string_equal(sni_idl_method_address(*state, ref), "shop.pricing.Plain.ping");
}

static void
a_method_that_is_not_there_has_a_nearest_one_or_none(void **state)
{
    sni_idl_method_ref ref;
    const char *nearest = "";
    assert_false(sni_idl_find_method(*state, "Pricing.gett", &ref, &nearest));
    assert_string_equal(nearest, "Pricing.get");
    assert_false(sni_idl_find_method(*state, "shop.pricing.Pricng.put", &ref, &nearest));
    assert_string_equal(nearest, "Pricing.put");
    assert_false(sni_idl_find_method(*state, "Bananas.peel", &ref, &nearest));
    assert_null(nearest);
    assert_false(sni_idl_find_method(*state, "get", &ref, NULL));
    assert_false(sni_idl_find_method(*state, "", &ref, NULL));
    assert_false(sni_idl_find_method(*state, ".", &ref, NULL));
    /* Another major version is another service. */
    assert_false(sni_idl_find_method(*state, "shop.pricing.Pricing/1.get", &ref, NULL));
}

static void
a_method_tells_what_it_takes_and_gives(void **state)
{
    sni_idl_method_ref ref;
    char text[64];
    assert_true(sni_idl_find_method(*state, "Pricing.get", &ref, NULL));
    const sni_idl_struct *takes = ref.method->takes;
    assert_int_equal(takes->fields_count, 2);
    assert_string_equal(takes->fields[1].naming.name, "at");
    sni_idl_type_text(&takes->fields[1].type, text, sizeof(text));
    assert_string_equal(text, "time?");
    const sni_idl_struct *gives = ref.method->gives;
    assert_string_equal(gives->naming.name, "Quote");
    sni_idl_type_text(&gives->fields[1].type, text, sizeof(text));
    assert_string_equal(text, "[Side]?");
    assert_int_equal(ref.method->throws_count, 1);
    const sni_idl_struct *error = ref.method->throws[0];
    assert_int_equal(error->code, 5);
    assert_ptr_equal(sni_idl_find_error(*state, error->detail_id), error);
    assert_null(sni_idl_find_error(*state, 1));
}

static void
a_schema_with_findings_has_a_model_of_what_is_sound(void **state)
{
    static const char text[] = "edition 1; struct A { 1 a: u8; 2 b: nosuch; }";
    sni_idl_schema schema;
    (void)state;
    sni_idl_schema_init(&schema);
    assert_int_equal(sni_idl_load_text(&schema, "x", text, strlen(text)),
                     SNI_IDL_FINDINGS);
    assert_int_equal(schema.diags.errors_count, 1);
    assert_int_equal(schema.model->structs_count, 1);
    assert_int_equal(schema.model->structs[0]->fields_count, 1);
    sni_idl_schema_fini(&schema);
}

static void
a_file_that_is_not_there_is_named(void **state)
{
    sni_idl_schema schema;
    (void)state;
    sni_idl_schema_init(&schema);
    assert_int_equal(sni_idl_load_file(&schema, "no/such.snt"), SNI_IDL_CANNOT_RUN);
    assert_non_null(strstr(schema.failure, "cannot read no/such.snt"));
    sni_idl_schema_fini(&schema);
}

/* ---- Memory ----------------------------------------------------------- */

typedef struct starved {
    unsigned left; /* allocations that succeed */
    unsigned live;
} starved;

static void *
starved_acquire(void *arg, size_t size)
{
    starved *memory = arg;
    if (!memory->left)
        return NULL;
    memory->left--;
    memory->live++;
    return malloc(size);
}

static void
starved_release(void *arg, void *memory)
{
    ((starved *)arg)->live--;
    free(memory);
}

/* Every allocation fails once, in the parser, the checker, the printer's list and the
 * generator: a result each time, and nothing left. */
static void
running_out_of_memory_is_a_result(void **state)
{
    unsigned successes = 0;
    (void)state;
    for (unsigned allowed = 0; successes == 0 && allowed < 1000; allowed++) {
        starved memory = { allowed, 0 };
        sni_idl_schema schema;
        sni_cgen_output output;
        sni_idl_schema_init(&schema);
        schema.arena.acquire = starved_acquire;
        schema.arena.release = starved_release;
        schema.arena.arg = &memory;
        sni_idl_status status = sni_idl_load_text(&schema, "x", shop, strlen(shop));
        if (status == SNI_IDL_GOOD)
            status = sni_cgen_run(&schema, "shop.snt", &output);
        if (status == SNI_IDL_GOOD) {
            successes++;
        } else {
            assert_int_equal(status, SNI_IDL_CANNOT_RUN);
            assert_non_null(strstr(schema.failure, "out of memory"));
        }
        sni_idl_schema_fini(&schema);
        assert_int_equal(memory.live, 0);
    }
    assert_int_equal(successes, 1);
}

static void
the_bound_on_memory_holds(void **state)
{
    sni_idl_schema schema;
    (void)state;
    sni_idl_schema_init(&schema);
    schema.arena.max_bytes = 64 * 1024;
    size_t size = 512 * 1024;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = "a:"[i % 2];
    assert_int_equal(sni_idl_load_text(&schema, "x", text, size), SNI_IDL_CANNOT_RUN);
    assert_true(schema.arena.taken_bytes <= 64 * 1024);
    free(text);
    sni_idl_schema_fini(&schema);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_method_is_found_by_its_short_and_its_full_name,
                                        load_shop, unload),
        cmocka_unit_test_setup_teardown(
            a_method_that_is_not_there_has_a_nearest_one_or_none, load_shop, unload),
        cmocka_unit_test_setup_teardown(a_method_tells_what_it_takes_and_gives, load_shop,
                                        unload),
        cmocka_unit_test(a_schema_with_findings_has_a_model_of_what_is_sound),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
        cmocka_unit_test(running_out_of_memory_is_a_result),
        cmocka_unit_test(the_bound_on_memory_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
