/* SPDX-License-Identifier: MIT */
/* Addresses, whose turn it is, and names of slots. */
#include "sennit_test.h"

#include "base/alloc.h"
#include "fail_alloc.h"
#include "rng.h"
#include "rpc/address.h"
#include "rpc/route.h"
#include "rpc/slots.h"

static sennit_str
str(const char *text)
{
    return sennit_str_of(text);
}

/* ---- Addresses -------------------------------------------------------- */

static void
an_address_is_dotted_tokens_without_spaces(void **state)
{
    char longest[SENNIT_ADDRESS_MAX + 2];

    (void)state;
    assert_int_equal(sni_address_form_of(str("pkg.install")), SNI_ADDRESS_EXACT);
    assert_int_equal(sni_address_form_of(str("shop.Pricing/1.get")), SNI_ADDRESS_EXACT);
    assert_int_equal(sni_address_form_of(str("gr\xc3\xbc\xc3\x9f"
                                             "e")),
                     SNI_ADDRESS_EXACT);
    assert_int_equal(sni_address_form_of(str("pkg.*")), SNI_ADDRESS_PATTERN);
    assert_int_equal(sni_address_form_of(str("*.x.>")), SNI_ADDRESS_PATTERN);
    assert_int_equal(sni_address_form_of(str(">")), SNI_ADDRESS_PATTERN);
    assert_int_equal(sni_address_form_of(str("shop.Pricing/1.")), SNI_ADDRESS_SERVICE);
    assert_int_equal(sni_address_form_of(str("")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str(".")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str(".a")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str("a..b")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str("a b")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str("a\n")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str("a.*b")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str("a.>.b")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str("a.*.")), SNI_ADDRESS_BAD);
    assert_int_equal(sni_address_form_of(str("a\xff")), SNI_ADDRESS_BAD);
    memset(longest, 'a', sizeof longest);
    assert_int_equal(sni_address_form_of((sennit_str){ longest, SENNIT_ADDRESS_MAX }),
                     SNI_ADDRESS_EXACT);
    assert_int_equal(sni_address_form_of((sennit_str){ longest, SENNIT_ADDRESS_MAX + 1 }),
                     SNI_ADDRESS_BAD);
}

static void
D10_a_star_is_one_token_and_an_arrow_is_the_rest(void **state)
{
    (void)state;
    assert_true(sni_address_matches(str("pkg.*"), str("pkg.install")));
    assert_false(sni_address_matches(str("pkg.*"), str("pkg")));
    assert_false(sni_address_matches(str("pkg.*"), str("pkg.install.now")));
    assert_true(sni_address_matches(str("pkg.>"), str("pkg.install.now")));
    assert_false(sni_address_matches(str("pkg.>"), str("pkg")));
    assert_true(sni_address_matches(str(">"), str("pkg")));
    assert_true(sni_address_matches(str("*.b.*"), str("a.b.c")));
    assert_false(sni_address_matches(str("*.b.*"), str("a.c.c")));
    assert_false(sni_address_matches(str("pkg.*"), str("pkgs.a")));
}

/* ---- Turns ------------------------------------------------------------ */

/* Distinct addresses to stand for consumers and connections. */
static int things[16];

static void
add(sni_routes *routes, const char *key, bool local, int thing, uint64_t start)
{
    assert_int_equal(sni_routes_add(routes, str(key), local, &things[thing], start),
                     SENNIT_OK);
}

/* How often each thing is taken in `count` turns. */
static void
count_turns(sni_routes *routes, const char *key, unsigned count,
            unsigned shares[static 16])
{
    sni_route *route = sni_routes_find(routes, str(key));

    assert_non_null(route);
    memset(shares, 0, 16 * sizeof *shares);
    for (unsigned i = 0; i < count; i++) {
        bool local;
        int *taken = sni_route_take(route, &local);

        shares[taken - things]++;
    }
}

static void
D4_consumers_and_not_nodes_have_equal_shares(void **state)
{
    static const unsigned nodes[][3] = {
        { 1, 2, 0 }, { 1, 2, 3 }, { 1, 1, 2 }, { 2, 5, 1 }
    };
    unsigned shares[16];

    (void)state;
    for (size_t row = 0; row < sizeof nodes / sizeof nodes[0]; row++) {
        for (uint64_t start = 0; start < 7; start++) {
            sni_routes *routes;
            unsigned total = 0;

            assert_int_equal(sni_routes_new(&routes, &sni_alloc_default), SENNIT_OK);
            for (int node = 0; node < 3; node++) {
                for (unsigned i = 0; i < nodes[row][node]; i++)
                    add(routes, "a", node == 0, node, start);
                total += nodes[row][node];
            }
            count_turns(routes, "a", total * 1000, shares);
            for (int node = 0; node < 3; node++)
                assert_int_equal(shares[node], nodes[row][node] * 1000);
            sni_routes_free(routes);
        }
    }
}

static void
D4_addresses_have_cycles_of_their_own(void **state)
{
    sni_routes *routes;
    unsigned a[2] = { 0, 0 };
    unsigned b[2] = { 0, 0 };

    (void)state;
    assert_int_equal(sni_routes_new(&routes, &sni_alloc_default), SENNIT_OK);
    for (int i = 0; i < 2; i++) {
        add(routes, "a", true, i, 1);
        add(routes, "b", true, i, 1);
    }
    for (int i = 0; i < 100; i++) {
        bool local;

        a[(int *)sni_route_take(sni_routes_find(routes, str("a")), &local) - things]++;
        b[(int *)sni_route_take(sni_routes_find(routes, str("b")), &local) - things]++;
    }
    assert_int_equal(a[0], 50);
    assert_int_equal(b[0], 50);
    sni_routes_free(routes);
}

/* Against a plain model: the entries in order, and who was served how long ago. */
static void
D4_one_removed_mid_cycle_shifts_nobody_twice(void **state)
{
    (void)state;
    for (int removed = 0; removed < 5; removed++) {
        for (int taken = 0; taken < 5; taken++) {
            sni_routes *routes;
            sni_route *route;
            unsigned seen[16] = { 0 };
            bool local;

            assert_int_equal(sni_routes_new(&routes, &sni_alloc_default), SENNIT_OK);
            for (int i = 0; i < 5; i++)
                add(routes, "a", i < 3, i, 0);
            route = sni_routes_find(routes, str("a"));
            for (int i = 0; i < taken; i++)
                seen[(int *)sni_route_take(route, &local) - things]++;
            assert_true(
                sni_routes_remove(routes, str("a"), removed < 3, &things[removed]));
            /* The rest of the cycle: whoever has not had its turn has it now. */
            for (int i = taken; i < 5 - (removed >= taken ? 1 : 0); i++)
                seen[(int *)sni_route_take(route, &local) - things]++;
            for (int i = 0; i < 5; i++) {
                if (i != removed)
                    assert_int_equal(seen[i], 1);
            }
            sni_routes_free(routes);
        }
    }
}

static void
D4_one_that_comes_mid_cycle_takes_nobodys_turn(void **state)
{
    sni_routes *routes;
    sni_route *route;
    bool local;

    (void)state;
    assert_int_equal(sni_routes_new(&routes, &sni_alloc_default), SENNIT_OK);
    add(routes, "a", true, 0, 0);
    add(routes, "a", false, 1, 0);
    route = sni_routes_find(routes, str("a"));
    assert_ptr_equal(sni_route_take(route, &local), &things[0]);
    add(routes, "a", true, 2, 0);
    assert_ptr_equal(sni_route_take(route, &local), &things[1]);
    assert_ptr_equal(sni_route_take(route, &local), &things[0]);
    assert_ptr_equal(sni_route_take(route, &local), &things[2]);
    sni_routes_free(routes);
}

static void
D5_a_node_that_was_chosen_takes_its_own_consumers_in_turn(void **state)
{
    sni_routes *routes;
    sni_route *route;

    (void)state;
    assert_int_equal(sni_routes_new(&routes, &sni_alloc_default), SENNIT_OK);
    add(routes, "a", false, 9, 0);
    assert_null(sni_route_take_local(sni_routes_find(routes, str("a"))));
    add(routes, "a", true, 0, 0);
    add(routes, "a", true, 1, 0);
    route = sni_routes_find(routes, str("a"));
    assert_ptr_equal(sni_route_take_local(route), &things[0]);
    assert_ptr_equal(sni_route_take_local(route), &things[1]);
    assert_ptr_equal(sni_route_take_local(route), &things[0]);
    sni_routes_free(routes);
}

static void
a_service_takes_what_begins_with_its_name(void **state)
{
    sni_routes *routes;
    sennit_str method;

    (void)state;
    assert_int_equal(sni_routes_new(&routes, &sni_alloc_default), SENNIT_OK);
    add(routes, "shop.Pricing/1.", true, 0, 0);
    add(routes, "shop.Pricing/1.special", true, 1, 0);
    add(routes, "shop.*", true, 2, 0);
    assert_non_null(sni_routes_resolve(routes, str("shop.Pricing/1.get"), &method));
    assert_true(sennit_str_equal(method, str("get")));
    assert_ptr_equal(sni_routes_resolve(routes, str("shop.Pricing/1.special"), &method),
                     sni_routes_find(routes, str("shop.Pricing/1.special")));
    assert_int_equal(method.size, 0);
    assert_null(sni_routes_resolve(routes, str("shop.Pricing/1"), &method));
    assert_null(sni_routes_resolve(routes, str("shop.Pricing/2.get"), &method));
    assert_null(sni_routes_resolve(routes, str("shop.get"), &method)); /* D10 */
    sni_routes_free(routes);
}

static void
hear(void *target, bool local, void *arg)
{
    unsigned *heard = arg;

    (void)local;
    heard[(int *)target - things]++;
}

static void
D6_an_event_is_heard_by_address_and_by_pattern(void **state)
{
    sni_routes *routes;
    unsigned heard[16] = { 0 };

    (void)state;
    assert_int_equal(sni_routes_new(&routes, &sni_alloc_default), SENNIT_OK);
    add(routes, "pkg.install", true, 0, 0);
    add(routes, "pkg.*", true, 1, 0);
    add(routes, "pkg.>", false, 2, 0);
    add(routes, "pkg.remove", true, 3, 0);
    add(routes, "pkg.*", true, 4, 0);
    sni_routes_hear(routes, str("pkg.install"), hear, heard);
    assert_int_equal(heard[0], 1);
    assert_int_equal(heard[1], 1);
    assert_int_equal(heard[2], 1);
    assert_int_equal(heard[3], 0);
    assert_int_equal(heard[4], 1);
    assert_true(sni_routes_remove(routes, str("pkg.*"), true, &things[1]));
    assert_false(sni_routes_remove(routes, str("pkg.*"), true, &things[1]));
    assert_true(sni_routes_remove(routes, str("pkg.*"), true, &things[4]));
    sni_routes_hear(routes, str("pkg.install"), hear, heard);
    assert_int_equal(heard[1], 1);
    assert_int_equal(heard[4], 1);
    sni_routes_free(routes);
}

static void
add_and_remove(test_alloc *alloc, void *arg)
{
    static const char *const keys[] = {
        "a", "a.b", "a.*", "b.c.d.e", "a", "svc.", "a.b"
    };
    bool added[7];
    sni_routes *routes;

    (void)arg;
    if (sni_routes_new(&routes, &alloc->allocator) != SENNIT_OK)
        return;
    for (int i = 0; i < 7; i++)
        added[i] =
            sni_routes_add(routes, str(keys[i]), i % 2 == 0, &things[i], 3) == SENNIT_OK;
    for (int i = 0; i < 7; i++)
        assert_int_equal(sni_routes_remove(routes, str(keys[i]), i % 2 == 0, &things[i]),
                         added[i]);
    for (int i = 0; i < 7; i++)
        assert_null(sni_routes_find(routes, str(keys[i])));
    sni_routes_free(routes);
}

static void
without_memory_a_route_is_as_before(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(add_and_remove, NULL) > 10);
}

/* ---- Slots ------------------------------------------------------------ */

typedef struct thing {
    sni_slot slot;
    int payload;
} thing;

static void
R1_a_name_is_valid_once(void **state)
{
    sni_slots slots;
    thing *first;
    thing *second;
    uint64_t name;

    (void)state;
    sni_slots_init(&slots, &sni_alloc_default, sizeof(thing), 3);
    assert_int_equal(sni_slots_take(&slots, 0x123456789abcdef0, &first), SENNIT_OK);
    name = first->slot.id;
    assert_true(name >> 24 == 0x789abcdef0);
    assert_ptr_equal(sni_slots_find(&slots, name), first);
    assert_null(sni_slots_find(&slots, name ^ (UINT64_C(1) << 40)));
    assert_null(sni_slots_find(&slots, name + 1));
    assert_null(sni_slots_find(&slots, 0));
    assert_null(sni_slots_find(&slots, UINT64_MAX));
    sni_slots_give(&slots, first);
    assert_null(sni_slots_find(&slots, name));
    assert_int_equal(sni_slots_take(&slots, 0, &second), SENNIT_OK);
    assert_ptr_equal(second, first);
    assert_null(sni_slots_find(&slots, name));
    assert_true(second->slot.id != 0); /* a generation of 0 would be no name */
    sni_slots_fini(&slots);
}

static void
slots_end_at_their_bound_and_stay_where_they_are(void **state)
{
    enum { COUNT = 1000 };
    sni_slots slots;
    thing *all[COUNT];
    thing *extra;
    bool end = false;
    size_t seen = 0;

    (void)state;
    sni_slots_init(&slots, &sni_alloc_default, sizeof(thing), COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(sni_slots_take(&slots, (uint64_t)i + 1, &all[i]), SENNIT_OK);
        all[i]->payload = i;
    }
    assert_int_equal(sni_slots_take(&slots, 1, &extra), SENNIT_EAGAIN);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(((thing *)sni_slots_find(&slots, all[i]->slot.id))->payload, i);
    for (size_t i = 0; !end; i++)
        seen += sni_slots_at(&slots, i, &end) != NULL;
    assert_int_equal(seen, COUNT);
    for (int i = 0; i < COUNT; i++)
        sni_slots_give(&slots, all[i]);
    assert_int_equal(slots.used, 0);
    sni_slots_fini(&slots);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_address_is_dotted_tokens_without_spaces),
    cmocka_unit_test(D10_a_star_is_one_token_and_an_arrow_is_the_rest),
    cmocka_unit_test(D4_consumers_and_not_nodes_have_equal_shares),
    cmocka_unit_test(D4_addresses_have_cycles_of_their_own),
    cmocka_unit_test(D4_one_removed_mid_cycle_shifts_nobody_twice),
    cmocka_unit_test(D4_one_that_comes_mid_cycle_takes_nobodys_turn),
    cmocka_unit_test(D5_a_node_that_was_chosen_takes_its_own_consumers_in_turn),
    cmocka_unit_test(a_service_takes_what_begins_with_its_name),
    cmocka_unit_test(D6_an_event_is_heard_by_address_and_by_pattern),
    cmocka_unit_test(without_memory_a_route_is_as_before),
    cmocka_unit_test(R1_a_name_is_valid_once),
    cmocka_unit_test(slots_end_at_their_bound_and_stay_where_they_are),
};

SENNIT_TEST_MAIN(tests)
