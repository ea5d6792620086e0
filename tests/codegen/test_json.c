/* SPDX-License-Identifier: MIT */
/* JSON by schema: what `sennit call` sends and shows. */
#include "sennit_test.h"

#include <stdio.h>

#include "idl.h"
#include "json.h"

#define WIRE(text)                                                                       \
    {                                                                                    \
        (const uint8_t *)(text), sizeof(text) - 1                                        \
    }

static sni_idl_schema schema;

static const sni_idl_struct *
find_struct(const char *name)
{
    for (size_t i = 0; i < schema.model->structs_count; i++)
        if (!strcmp(schema.model->structs[i]->naming.name, name))
            return schema.model->structs[i];
    fail_msg("the schema has no struct %s", name);
    return NULL;
}

/* ---- There and back --------------------------------------------------- */

typedef struct json_row {
    const char *name;
    const char *type;
    const char *json; /* with single quotes for double ones */
    sennit_bytes wire;
} json_row;

static const json_row rows[] = {
    { "nothing", "Optionals", "{}", WIRE("\x80") },
    { "text", "Node", "{'name':'h\xc3\xa9\\n','children':[]}",
      WIRE("\x81\x01\xa4h\xc3\xa9\n") },
    { "a tree", "Node",
      "{'name':'t','children':[{'name':'','children':[]},{'name':'r','children':[]}]}",
      WIRE("\x82\x01\xa1t\x02\x92\x80\x81\x01\xa1r") },
    { "optionals", "Optionals",
      "{'f_bool':false,'f_u8':0,'f_i64':-9007199254740992,'f_str':'','f_bytes':'',"
      "'f_time':'1970-01-01T00:00:00Z','f_side':'unspecified','f_inner':{'a':0,'b':''},"
      "'f_list':[]}",
      WIRE("\x89\x01\xc2\x02\x00\x03\xd3\xff\xe0\x00\x00\x00\x00\x00\x00\x05\xa0\x06\xc4"
           "\x00\x07\xd6\xff\x00\x00\x00\x00\x08\x00\x09\x80\x0a\x90") },
    { "64 bits beyond what JSON keeps", "Optionals", "{'f_i64':'-9223372036854775808'}",
      WIRE("\x81\x03\xd3\x80\x00\x00\x00\x00\x00\x00\x00") },
    { "bytes", "Optionals", "{'f_bytes':'AP8Q'}", WIRE("\x81\x06\xc4\x03\x00\xff\x10") },
    { "bytes, one over", "Optionals", "{'f_bytes':'AA=='}",
      WIRE("\x81\x06\xc4\x01\x00") },
    { "bytes, two over", "Optionals", "{'f_bytes':'AP8='}",
      WIRE("\x81\x06\xc4\x02\x00\xff") },
    { "a time", "Optionals", "{'f_time':'2026-11-30T13:22:48.25Z'}",
      WIRE("\x81\x07\xd7\xff\x3b\x9a\xca\x00\x6b\x0d\x78\xa8") },
    { "the last nanosecond before 1970", "Optionals",
      "{'f_time':'1969-12-31T23:59:59.999999999Z'}",
      WIRE("\x81\x07\xc7\x0c\xff\x3b\x9a\xc9\xff\xff\xff\xff\xff\xff\xff\xff\xff") },
    { "a leap day", "Optionals", "{'f_time':'2000-02-29T00:00:00Z'}",
      WIRE("\x81\x07\xd6\xff\x38\xbb\x0c\x00") },
    { "the first time", "Optionals", "{'f_time':'1677-09-21T00:12:43.145224192Z'}",
      WIRE("\x81\x07\xc7\x0c\xff\x08\xa7\xf2\x00\xff\xff\xff\xfd\xda\x3e\x82\xfb") },
    { "the last time", "Optionals", "{'f_time':'2262-04-11T23:47:16.854775807Z'}",
      WIRE("\x81\x07\xd7\xff\xcb\xcb\x5f\xfe\x25\xc1\x7d\x04") },
    { "an enum", "Optionals", "{'f_side':'sell'}", WIRE("\x81\x08\x02") },
    { "an enum value nobody knows", "Optionals", "{'f_side':77}", WIRE("\x81\x08\x4d") },
    { "fields nobody knows", "Optionals", "{'f_u8':1,'#77':'kgHA','#200':'oXg='}",
      WIRE("\x83\x02\x01\x4d\x92\x01\xc0\xcc\xc8\xa1x") },
    { "f32", "Optionals", "{'f_f32':0.5}", WIRE("\x81\x04\xca\x3f\x00\x00\x00") },
    { "no number", "Optionals", "{'f_f32':'NaN'}", WIRE("\x81\x04\xca\x7f\xc0\x00\x00") },
    { "the largest f32", "Optionals", "{'f_f32':3.4028234663852886e38}",
      WIRE("\x81\x04\xca\x7f\x7f\xff\xff") },
    { "infinity", "Optionals", "{'f_f32':'-Infinity'}",
      WIRE("\x81\x04\xca\xff\x80\x00\x00") },
};

static json_t *
parse(const char *single_quoted)
{
    char text[1024];
    json_error_t error;
    snprintf(text, sizeof(text), "%s", single_quoted);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("%s: %s", text, error.text);
    return json;
}

static void
check_row(void **state)
{
    const json_row *row = *state;
    const sni_idl_struct *structure = find_struct(row->type);
    sni_idl_json_error error = { "" };
    json_t *wanted = parse(row->json);
    json_t *got = NULL;
    sennit_buf buf;
    sennit_buf_init(&buf, NULL);
    if (sni_idl_json_to_body(structure, wanted, &buf, &error))
        fail_msg("%s", error.text);
    assert_int_equal(buf.size, row->wire.size);
    assert_memory_equal(buf.data, row->wire.data, row->wire.size);
    if (sni_idl_body_to_json(structure, row->wire, &got, &error))
        fail_msg("%s", error.text);
    if (!json_equal(wanted, got)) {
        char *text = json_dumps(got, JSON_COMPACT);
        fail_msg("got %s", text);
    }
    json_decref(wanted);
    json_decref(got);
    sennit_buf_fini(&buf);
}

/* ---- Other ways to write, and what is shown --------------------------- */

static void
assert_body(const char *type, const char *json, sennit_bytes wire)
{
    sni_idl_json_error error = { "" };
    sennit_buf buf;
    json_t *value = parse(json);
    sennit_buf_init(&buf, NULL);
    if (sni_idl_json_to_body(find_struct(type), value, &buf, &error))
        fail_msg("%s", error.text);
    assert_int_equal(buf.size, wire.size);
    assert_memory_equal(buf.data, wire.data, wire.size);
    json_decref(value);
    sennit_buf_fini(&buf);
}

static void
defaults_are_left_out_however_they_are_written(void **state)
{
    (void)state;
    assert_body("Defaults",
                "{'f_bool':true,'f_u8':255,'f_i8':'-128','f_u64':'18446744073709551615',"
                "'f_i64':'-9223372036854775808','f_f64':-2.5,'f_duration':'1500ms',"
                "'f_side':'sell','f_rights':['all'],'f_extreme':'lowest'}",
                (sennit_bytes)WIRE("\x80"));
    assert_body("Plain", "{'f_inner':{'a':0,'b':''},'f_str':null,'f_f64':0}",
                (sennit_bytes)WIRE("\x80"));
}

static void
other_ways_to_write_are_read(void **state)
{
    (void)state;
    assert_body("Optionals", "{'f_u8':'7','f_side':2,'f_bool':null}",
                (sennit_bytes)WIRE("\x82\x02\x07\x08\x02"));
    assert_body(
        "Plain", "{'f_rights':['read','write'],'f_duration':'-5s'}",
        (sennit_bytes)WIRE("\x82\x0f\xd3\xff\xff\xff\xfe\xd5\xfa\x0e\x00\x11\x03"));
    assert_body("Plain", "{'f_rights':'write'}", (sennit_bytes)WIRE("\x81\x11\x02"));
    assert_body("Plain", "{'f_time':'1970-01-01T01:00:01+01:00'}",
                (sennit_bytes)WIRE("\x81\x0e\xd6\xff\x00\x00\x00\x01"));
}

static void
all_fields_are_shown_with_their_defaults(void **state)
{
    (void)state;
    sni_idl_json_error error = { "" };
    json_t *got = NULL;
    json_t *wanted =
        parse("{'f_bool':true,'f_u8':255,'f_i8':-128,'f_u16':65535,'f_i16':-32768,"
              "'f_u32':4294967295,'f_i32':-2147483648,'f_u64':'18446744073709551615',"
              "'f_i64':'-9223372036854775808','f_f32':0.10000000149011612,'f_f64':-2.5,"
              "'f_str':'x','f_duration':'1500ms','f_side':'sell','f_extreme':'lowest',"
              "'f_rights':['read','write'],'f_wide':'top','f_deep':'bottom'}");
    assert_int_equal(sni_idl_body_to_json(find_struct("Defaults"),
                                          (sennit_bytes)WIRE("\x82\x0c\xa1x\x0f\x03"),
                                          &got, &error),
                     SENNIT_OK);
    if (!json_equal(wanted, got)) {
        char *text = json_dumps(got, JSON_COMPACT);
        fail_msg("got %s", text);
    }
    json_decref(wanted);
    json_decref(got);
}

/* ---- Errors ----------------------------------------------------------- */

typedef struct error_row {
    const char *type;
    const char *json;
    const char *text;
} error_row;

static const error_row error_rows[] = {
    { "Plain", "[]", "Plain: an object was expected, not a list" },
    { "Plain", "{'f_u88':1}", "Plain: there is no field 'f_u88'; did you mean 'f_u8'?" },
    { "Plain", "{'banana':1}", "Plain: there is no field 'banana'" },
    { "Plain", "{'f_u8':256}", "Plain.f_u8: the number does not fit u8" },
    { "Plain", "{'f_u8':-1}", "Plain.f_u8: the number does not fit u8" },
    { "Plain", "{'f_u8':1.5}", "Plain.f_u8: a whole number was expected, not a number" },
    { "Plain", "{'f_u8':'x'}", "Plain.f_u8: a whole number was expected, not a string" },
    { "Plain", "{'f_u64':'18446744073709551616'}",
      "Plain.f_u64: a whole number was expected, not a string" },
    { "Plain", "{'f_bool':1}", "Plain.f_bool: true or false was expected, not a number" },
    { "Plain", "{'f_str':1}", "Plain.f_str: a string was expected, not a number" },
    { "Plain", "{'f_f32':1e39}", "Plain.f_f32: the number does not fit f32" },
    { "Plain", "{'f_f32':-3.40282357e38}", "Plain.f_f32: the number does not fit f32" },
    { "Plain", "{'f_f64':'x'}", "Plain.f_f64: a number was expected, not a string" },
    { "Plain", "{'f_bytes':'A'}", "Plain.f_bytes: this is not base64" },
    { "Plain", "{'f_bytes':'A=AA'}", "Plain.f_bytes: this is not base64" },
    { "Plain", "{'f_bytes':'AA!='}", "Plain.f_bytes: this is not base64" },
    { "Plain", "{'f_time':'2026-02-30T00:00:00Z'}",
      "Plain.f_time: '2026-02-30T00:00:00Z' is not a time; write it as in "
      "2026-11-30T12:00:00Z" },
    { "Plain", "{'f_time':'1900-02-29T00:00:00Z'}",
      "Plain.f_time: '1900-02-29T00:00:00Z' is not a time; write it as in "
      "2026-11-30T12:00:00Z" },
    { "Plain", "{'f_time':'2263-01-01T00:00:00Z'}",
      "Plain.f_time: '2263-01-01T00:00:00Z' is not a time; write it as in "
      "2026-11-30T12:00:00Z" },
    { "Plain", "{'f_time':5}",
      "Plain.f_time: a time, as in \"2026-11-30T12:00:00Z\", was "
      "expected, not a number" },
    { "Plain", "{'f_duration':'5'}",
      "Plain.f_duration: '5' is not a duration; units are ns us ms s m h" },
    { "Plain", "{'f_duration':'9999999h'}",
      "Plain.f_duration: '9999999h' is not a duration; units are ns us ms s m h" },
    { "Plain", "{'f_side':'by'}",
      "Plain.f_side: Side has no value 'by'; did you mean 'buy'?" },
    { "Plain", "{'f_side':300}", "Plain.f_side: the number does not fit u8" },
    { "Plain", "{'f_rights':['reed']}",
      "Plain.f_rights: Rights has no value 'reed'; did you mean 'read'?" },
    { "Plain", "{'f_inner':{'a':'x'}}",
      "Plain.f_inner.a: a whole number was expected, not a string" },
    { "Lists", "{'f_inner':[{},{'b':5}]}",
      "Lists.f_inner[1].b: a string was expected, not a number" },
    { "Lists", "{'f_u8':5}", "Lists.f_u8: a list was expected, not a number" },
    { "Lists", "{'f_u8':[null]}",
      "Lists.f_u8[0]: a whole number was expected, not null" },
    { "Plain", "{'#2':'AQ=='}", "Plain: field 2 has a name: 'f_u8'" },
    { "Plain", "{'#x':'AQ=='}",
      "Plain: '#x' is no unknown field; write \"#9\": \"base64\"" },
    { "Plain", "{'#99':'AQE='}", "Plain: '#99' is not base64 of one msgpack value" },
};

static void
check_error_row(void **state)
{
    const error_row *row = *state;
    sni_idl_json_error error = { "" };
    sennit_buf buf;
    json_t *json = parse(row->json);
    sennit_buf_init(&buf, NULL);
    sennit_buf_append(&buf, "ab", 2);
    assert_int_equal(sni_idl_json_to_body(find_struct(row->type), json, &buf, &error),
                     SENNIT_EINVAL);
    assert_string_equal(error.text, row->text);
    assert_int_equal(buf.size, 2);
    json_decref(json);
    sennit_buf_fini(&buf);
}

static void
a_body_that_does_not_fit_the_schema_is_refused_with_its_path(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        sennit_bytes wire;
        const char *starts;
    } bad[] = {
        { "Plain", WIRE(""), "Plain: " },
        { "Plain", WIRE("\x81\x02"), "Plain: " },
        { "Plain", WIRE("\x81\xa1x\x01"), "Plain: keys are field numbers" },
        { "Plain", WIRE("\x81\x02\xcd\x01\x00"), "Plain.f_u8: " },
        { "Plain", WIRE("\x82\x02\x01\x02\x01"), "Plain.f_u8: the field is there twice" },
        { "Plain", WIRE("\x81\x0c\xa1\xff"), "Plain.f_str: the text is not UTF-8" },
        { "Lists", WIRE("\x81\x0a\x92\x80\x81\x01\xa1x"), "Lists.f_inner[1].a: " },
        { "Plain", WIRE("\x81\x0e\x01"), "Plain.f_time: " },
        { "Plain", WIRE("\x81\x12\x05"), "Plain.f_inner: " },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sni_idl_json_error error = { "" };
        json_t *json = NULL;
        assert_int_equal(
            sni_idl_body_to_json(find_struct(bad[i].type), bad[i].wire, &json, &error),
            SENNIT_EPROTO);
        assert_null(json);
        if (strncmp(error.text, bad[i].starts, strlen(bad[i].starts)) != 0)
            fail_msg("'%s' does not begin with '%s'", error.text, bad[i].starts);
    }
}

static void
json_nested_too_deep_is_refused(void **state)
{
    (void)state;
    sni_idl_json_error error = { "" };
    sennit_buf buf;
    json_t *json = json_object();
    for (int i = 0; i < 100; i++) {
        json_t *outer = json_object();
        json_t *list = json_array();
        json_array_append_new(list, json);
        json_object_set_new(outer, "children", list);
        json = outer;
    }
    sennit_buf_init(&buf, NULL);
    assert_int_equal(sni_idl_json_to_body(find_struct("Node"), json, &buf, &error),
                     SENNIT_EINVAL);
    assert_non_null(strstr(error.text, "nested too deep"));
    json_decref(json);
    sennit_buf_fini(&buf);
}

#define ROWS_COUNT       (sizeof(rows) / sizeof(rows[0]))
#define ERROR_ROWS_COUNT (sizeof(error_rows) / sizeof(error_rows[0]))

int
main(int argc, char **argv)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(defaults_are_left_out_however_they_are_written),
        cmocka_unit_test(other_ways_to_write_are_read),
        cmocka_unit_test(all_fields_are_shown_with_their_defaults),
        cmocka_unit_test(a_body_that_does_not_fit_the_schema_is_refused_with_its_path),
        cmocka_unit_test(json_nested_too_deep_is_refused),
    };
    static struct CMUnitTest each[ROWS_COUNT];
    static struct CMUnitTest wrong[ERROR_ROWS_COUNT];
    for (size_t i = 0; i < ROWS_COUNT; i++)
        each[i] = (struct CMUnitTest){ .name = rows[i].name,
                                       .test_func = check_row,
                                       .initial_state = (void *)(uintptr_t)&rows[i] };
    for (size_t i = 0; i < ERROR_ROWS_COUNT; i++)
        wrong[i] =
            (struct CMUnitTest){ .name = error_rows[i].text,
                                 .test_func = check_error_row,
                                 .initial_state = (void *)(uintptr_t)&error_rows[i] };
    (void)argc, (void)argv;
    sni_idl_schema_init(&schema);
    if (sni_idl_load_file(&schema, KINDS_SCHEMA)) {
        fprintf(stderr, "%s", schema.failure);
        return 1;
    }
    int failed = cmocka_run_group_tests_name("there and back", each, NULL, NULL);
    failed += cmocka_run_group_tests_name("refused", wrong, NULL, NULL);
    failed += cmocka_run_group_tests_name("the rest", others, NULL, NULL);
    sni_idl_schema_fini(&schema);
    return failed ? 1 : 0;
}
