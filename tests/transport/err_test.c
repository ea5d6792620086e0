/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "sennit/sennit.h"

static void
every_error_has_its_name_and_text(void **state)
{
    (void)state;
#define X(name, value, text)                                                             \
    assert_int_equal(SENNIT_##name, value);                                              \
    assert_string_equal(sennit_err_name(SENNIT_##name), #name);                          \
    assert_string_equal(sennit_err_text(SENNIT_##name), text);
    SENNIT_ERR_TABLE(X)
#undef X
}

static void
a_foreign_value_has_a_text_too(void **state)
{
    (void)state;
    assert_string_equal(sennit_err_name((sennit_err)999), "?");
    assert_string_equal(sennit_err_text((sennit_err)999), "unknown error");
    assert_string_equal(sennit_err_name((sennit_err)-1), "?");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_its_name_and_text),
        cmocka_unit_test(a_foreign_value_has_a_text_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
