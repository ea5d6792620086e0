/* SPDX-License-Identifier: MIT */
#include "sennit_test.h"

#include "runner.h"

static void
every_message_is_received_counted_or_queued(void **state)
{
    (void)state;
    assert_true(runner_smoke(1, 24));
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_is_received_counted_or_queued),
    };
    int status;

    if (runner_main(argc, argv, &status))
        return status;
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
