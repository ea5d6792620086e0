/* SPDX-License-Identifier: MIT */
/* Kinds, what they are called, and what may be sent again. */
#include "sennit_test.h"

#include "sennit/rpc.h"

static void
every_kind_has_a_name_a_text_and_an_error(void **state)
{
    (void)state;
#define X(name, value, text)                                                             \
    assert_int_equal(SENNIT_KIND_##name, value);                                         \
    assert_string_equal(sennit_kind_name(SENNIT_KIND_##name), #name);                    \
    assert_string_equal(sennit_kind_text(SENNIT_KIND_##name), text);                     \
    assert_int_equal(sennit_kind_err(SENNIT_KIND_##name) == SENNIT_OK, value == 0);
    SENNIT_KIND_TABLE(X)
#undef X
    assert_int_equal(sennit_kind_err(SENNIT_KIND_TIMEOUT), SENNIT_ETIMEDOUT);
    assert_int_equal(sennit_kind_err(SENNIT_KIND_NO_HANDLERS), SENNIT_ENOENT);
    assert_int_equal(sennit_kind_err(SENNIT_KIND_RECIPIENT_FAILURE), SENNIT_EIO);
}

static void
a_kind_of_a_newer_peer_is_a_failure_all_the_same(void **state)
{
    (void)state;
    assert_string_equal(sennit_kind_name((sennit_kind)9999), "?");
    assert_string_equal(sennit_kind_text((sennit_kind)9999),
                        "a failure this build does not know");
    assert_int_equal(sennit_kind_err((sennit_kind)9999), SENNIT_EIO);
    assert_string_equal(sennit_ran_name((sennit_ran)7), "?");
    assert_string_equal(sennit_dead_reason_text((sennit_dead_reason)99), "?");
}

static void
only_what_never_ran_or_is_idempotent_may_be_sent_again(void **state)
{
    static const struct {
        sennit_ran ran;
        bool idempotent;
        bool safe;
    } rows[] = {
        { SENNIT_RAN_NEVER, false, true },  { SENNIT_RAN_NEVER, true, true },
        { SENNIT_RAN_MAYBE, false, false }, { SENNIT_RAN_MAYBE, true, true },
        { SENNIT_RAN_YES, false, false },   { SENNIT_RAN_YES, true, false },
    };
    sennit_error error;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sennit_error_set(&error, SENNIT_KIND_PEER_LOST, rows[i].ran, "row %zu", i);
        assert_int_equal(sennit_error_safe_to_retry(&error, rows[i].idempotent),
                         rows[i].safe);
    }
    assert_string_equal(error.message, "row 5");
}

static void
a_long_message_is_cut_and_terminated(void **state)
{
    sennit_error error;

    (void)state;
    sennit_error_set(&error, SENNIT_KIND_CLOSED, SENNIT_RAN_NEVER, "%500d", 1);
    assert_int_equal(strlen(error.message), SENNIT_ERROR_MESSAGE_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_kind_has_a_name_a_text_and_an_error),
    cmocka_unit_test(a_kind_of_a_newer_peer_is_a_failure_all_the_same),
    cmocka_unit_test(only_what_never_ran_or_is_idempotent_may_be_sent_again),
    cmocka_unit_test(a_long_message_is_cut_and_terminated),
};

SENNIT_TEST_MAIN(tests)
