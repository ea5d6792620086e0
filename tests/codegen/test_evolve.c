/* SPDX-License-Identifier: MIT */
/* Two versions of a schema talk: what one side does not know passes through it. */
#include "sennit_test.h"

#include "evolve_new.snt.h"
#include "evolve_old.snt.h"

typedef struct fixture {
    sennit_arena *arena;
    sennit_buf buf;
} fixture;

static int
set_up(void **state)
{
    static fixture f;
    assert_int_equal(sennit_arena_new(&f.arena, NULL), SENNIT_OK);
    sennit_buf_init(&f.buf, NULL);
    *state = &f;
    return 0;
}

static int
tear_down(void **state)
{
    fixture *f = *state;
    sennit_buf_fini(&f->buf);
    sennit_arena_free(f->arena);
    return 0;
}

static new_shape
a_new_shape(void)
{
    static const new_point corners[] = {
        { 1, 2, 3, { "a", 1 }, true, { NULL, 0 } },
        { 4, 5, 6, { NULL, 0 }, false, { NULL, 0 } },
    };
    static const sennit_str tags[] = { { "t", 1 } };
    new_shape shape = NEW_SHAPE_INIT;
    shape.name = sennit_str_of("triangle");
    shape.title = sennit_str_of("T");
    shape.has_title = true;
    shape.corners = corners;
    shape.n_corners = 2;
    shape.colour = NEW_COLOUR_GREEN;
    shape.width = 7;
    shape.weight = 2.5;
    shape.tags = tags;
    shape.n_tags = 1;
    return shape;
}

static void
an_old_reader_takes_what_it_knows(void **state)
{
    fixture *f = *state;
    new_shape sent = a_new_shape();
    old_shape read;
    assert_int_equal(new_shape_encode(&sent, &f->buf), SENNIT_OK);
    assert_int_equal(old_shape_view(&read, sennit_buf_bytes(&f->buf), f->arena, NULL),
                     SENNIT_OK);
    assert_true(sennit_str_equal(read.name, sent.name));
    assert_int_equal(read.n_corners, 2);
    assert_int_equal(read.corners[1].y, 5);
    assert_int_equal(read.colour, NEW_COLOUR_GREEN);
    assert_null(old_colour_name(read.colour));
    assert_int_equal(read.width, 7);
}

/* The proxy case: old code reads, changes what it knows, and writes. */
static void
what_an_old_program_does_not_know_comes_through_it(void **state)
{
    fixture *f = *state;
    for (int copy = 0; copy < 2; copy++) {
        new_shape sent = a_new_shape();
        old_shape proxy;
        new_shape arrived;
        sennit_buf_clear(&f->buf);
        assert_int_equal(new_shape_encode(&sent, &f->buf), SENNIT_OK);
        sennit_bytes in = sennit_buf_bytes(&f->buf);
        assert_int_equal(copy ? old_shape_decode(&proxy, in, f->arena, NULL)
                              : old_shape_view(&proxy, in, f->arena, NULL),
                         SENNIT_OK);
        proxy.name = sennit_str_of("square");
        sennit_buf onwards;
        sennit_buf_init(&onwards, NULL);
        assert_int_equal(old_shape_encode(&proxy, &onwards), SENNIT_OK);
        assert_int_equal(onwards.size, old_shape_size(&proxy));
        assert_int_equal(
            new_shape_decode(&arrived, sennit_buf_bytes(&onwards), f->arena, NULL),
            SENNIT_OK);
        sent.name = sennit_str_of("square");
        assert_true(new_shape_equal(&arrived, &sent));
        sennit_buf_fini(&onwards);
    }
}

static void
a_new_reader_fills_what_an_old_writer_left_out_with_defaults(void **state)
{
    fixture *f = *state;
    static const old_point corners[] = { { 1, 2, { NULL, 0 } } };
    old_shape sent = OLD_SHAPE_INIT;
    new_shape read;
    sent.name = sennit_str_of("dot");
    sent.corners = corners;
    sent.n_corners = 1;
    sent.width = 65535;
    assert_int_equal(old_shape_encode(&sent, &f->buf), SENNIT_OK);
    assert_int_equal(new_shape_view(&read, sennit_buf_bytes(&f->buf), f->arena, NULL),
                     SENNIT_OK);
    assert_false(read.has_title);
    assert_int_equal(read.n_tags, 0);
    assert_true(read.weight == 1.0);
    assert_int_equal(read.width, 65535);
    assert_int_equal(read.corners[0].z, 0);
    assert_false(read.corners[0].has_label);
}

static void
a_widened_field_that_is_too_large_for_the_old_reader_is_refused(void **state)
{
    fixture *f = *state;
    new_shape sent = a_new_shape();
    old_shape read;
    sennit_error error;
    sent.width = 65536;
    assert_int_equal(new_shape_encode(&sent, &f->buf), SENNIT_OK);
    assert_int_equal(old_shape_view(&read, sennit_buf_bytes(&f->buf), f->arena, &error),
                     SENNIT_EPROTO);
    assert_memory_equal(error.message, "Shape.width: ", 13);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_old_reader_takes_what_it_knows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            what_an_old_program_does_not_know_comes_through_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_new_reader_fills_what_an_old_writer_left_out_with_defaults, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(
            a_widened_field_that_is_too_large_for_the_old_reader_is_refused, set_up,
            tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
