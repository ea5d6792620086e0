/* SPDX-License-Identifier: MIT */
/* The static directory: a list that becomes links. */
#include "sennit_test.h"

#include <stdio.h>

#include "fail_alloc.h"
#include "rig.h"
#include "sennit/cluster.h"

static uint64_t
links(const sennit_bus *bus)
{
    sennit_bus_stats stats;

    sennit_bus_get_stats(bus, &stats);
    return stats.links;
}

static void
assert_refused(rig_place *here, const char *directory, sennit_err err,
               const char *problem)
{
    sennit_cluster_problem why;
    sennit_cluster *cluster;

    assert_int_equal(sennit_cluster_open(&cluster, here->bus, directory, &why), err);
    assert_string_equal(why.text, problem);
    assert_int_equal(sennit_cluster_open(&cluster, here->bus, directory, NULL), err);
}

static void
what_is_not_built_says_so_by_name(void **state)
{
    assert_refused(
        *state, "zk://a:2181,b:2181/sennit", SENNIT_ENOTSUP,
        "the ZooKeeper directory (zk://) is not built yet; name the nodes with "
        "static:ENDPOINT,ENDPOINT");
    assert_refused(*state, "embedded:tcp://a:1", SENNIT_ENOTSUP,
                   "the embedded directory (embedded:) is not built yet; name the nodes "
                   "with static:ENDPOINT,ENDPOINT");
}

static void
a_malformed_list_is_refused_with_the_entry_and_leaves_no_links(void **state)
{
    rig_place *here = *state;

    assert_refused(
        here, "tcp://127.0.0.1:1", SENNIT_EINVAL,
        "'tcp://127.0.0.1:1' is no directory; write static:ENDPOINT[,ENDPOINT]...");
    assert_refused(here, "", SENNIT_EINVAL,
                   "'' is no directory; write static:ENDPOINT[,ENDPOINT]...");
    assert_refused(here, "static:", SENNIT_EINVAL,
                   "entry 1 of static: is empty; write "
                   "static:tcp://ADDRESS:PORT,tcp://ADDRESS:PORT");
    assert_refused(here, "static:tcp://127.0.0.1:1,,tcp://127.0.0.1:2", SENNIT_EINVAL,
                   "entry 2 of static: is empty; write "
                   "static:tcp://ADDRESS:PORT,tcp://ADDRESS:PORT");
    assert_refused(here, "static:inproc://a,inproc://b,inproc://a", SENNIT_EINVAL,
                   "entries 1 and 3 of static: are both 'inproc://a'");
    assert_refused(here, "static:inproc://a,tcp:/b", SENNIT_EINVAL,
                   "entry 2 of static:, 'tcp:/b': invalid argument; write "
                   "tcp://ADDRESS:PORT, ipc://PATH or inproc://NAME");
    (void)sennit_loop_turn(here->loop, 0);
    assert_int_equal(links(here->bus), 0);
}

static void
one_list_serves_all_nodes(void **state)
{
    rig_place *here = *state;
    sennit_bus *nodes[3];
    sennit_cluster *clusters[3];
    char directory[256] = "static:";
    sennit_bus_stats stats;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(sennit_bus_open(&nodes[i], here->loop, NULL), SENNIT_OK);
        assert_int_equal(sennit_bus_listen(nodes[i], "tcp://127.0.0.1:0"), SENNIT_OK);
        (void)snprintf(directory + strlen(directory), 64, "%s%s", i > 0 ? "," : "",
                       sennit_bus_endpoint(nodes[i]));
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(sennit_cluster_open(&clusters[i], nodes[i], directory, NULL),
                         SENNIT_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sennit_bus_wait_ready(nodes[i], 10000), SENNIT_OK);
        sennit_bus_get_stats(nodes[i], &stats);
        assert_int_equal(stats.links, 3);
        assert_int_equal(stats.nodes, 2); /* not ourselves */
        assert_int_equal(sennit_cluster_size(clusters[i]), 3);
        assert_string_equal(sennit_cluster_endpoint(clusters[i], 1),
                            sennit_bus_endpoint(nodes[1]));
        assert_null(sennit_cluster_endpoint(clusters[i], 3));
    }
    for (int i = 0; i < 3; i++)
        sennit_cluster_close(clusters[i]);
    sennit_cluster_close(NULL);
    (void)sennit_loop_turn(here->loop, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(links(nodes[i]), 0);
        sennit_bus_close(nodes[i]);
    }
}

static void
a_link_the_bus_had_before_stays(void **state)
{
    rig_place *here = *state;
    sennit_cluster *cluster;

    assert_int_equal(sennit_bus_link(here->bus, "tcp://127.0.0.1:1"), SENNIT_OK);
    assert_int_equal(sennit_cluster_open(&cluster, here->bus,
                                         "static:tcp://127.0.0.1:1,tcp://127.0.0.1:2",
                                         NULL),
                     SENNIT_OK);
    assert_int_equal(links(here->bus), 2);
    sennit_cluster_close(cluster);
    (void)sennit_loop_turn(here->loop, 0);
    assert_int_equal(links(here->bus), 1);
}

static void
open_with_failing_memory(test_alloc *alloc, void *arg)
{
    sennit_loop_opts opts = { .allocator = &alloc->allocator };
    uint64_t k = alloc->fail_at;
    sennit_cluster *cluster;
    sennit_loop *loop;
    sennit_bus *bus;
    sennit_err err;

    (void)arg;
    alloc->fail_at = 0;
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_bus_open(&bus, loop, NULL), SENNIT_OK);
    test_alloc_fail_at(alloc, k);
    err = sennit_cluster_open(&cluster, bus, "static:inproc://a,inproc://b", NULL);
    if (err) {
        assert_int_equal(err, SENNIT_ENOMEM);
        (void)sennit_loop_turn(loop, 0);
        assert_int_equal(links(bus), 0);
    } else {
        sennit_cluster_close(cluster);
    }
    sennit_bus_close(bus);
    sennit_loop_close(loop);
}

static void
without_memory_no_link_is_left(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(open_with_failing_memory, NULL) > 4);
}

static const struct CMUnitTest tests[] = {
    RIG_PLACE_TEST(what_is_not_built_says_so_by_name),
    RIG_PLACE_TEST(a_malformed_list_is_refused_with_the_entry_and_leaves_no_links),
    RIG_PLACE_TEST(one_list_serves_all_nodes),
    RIG_PLACE_TEST(a_link_the_bus_had_before_stays),
    cmocka_unit_test(without_memory_no_link_is_left),
};

SENNIT_TEST_MAIN(tests)
