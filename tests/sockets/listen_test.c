/* SPDX-License-Identifier: MIT */
/* Binding and what can be in its way: undoing it, IPv6 that is there or not, interfaces,
 * descriptors that somebody else opened, and none that are left. */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static net n;

static unsigned
port_of(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');

    assert_non_null(colon);
    return (unsigned)atoi(colon + 1);
}

/* The error of a raw connect to `endpoint` on 127.0.0.1, or 0. */
static int
knock(unsigned port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    error = connect(fd, (struct sockaddr *)&at, sizeof at) == 0 ? 0 : errno;
    close(fd);
    return error;
}

static bool
has_ipv6(void)
{
    struct sockaddr_in6 at = { .sin6_family = AF_INET6,
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

/* ---- D18 --------------------------------------------------------------- */

static void
three_wildcards_are_undone_one_by_one(void **state)
{
    sennit_sock *pull;
    char endpoints[3][64];

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    for (int i = 0; i < 3; i++)
        snprintf(endpoints[i], sizeof endpoints[i], "%s", net_bind(pull, TCP));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(knock(port_of(endpoints[i])), 0);
        assert_int_equal(sennit_sock_unbind(pull, endpoints[i]), SENNIT_OK);
        assert_int_equal(knock(port_of(endpoints[i])), ECONNREFUSED);
        assert_int_equal(sennit_sock_unbind(pull, endpoints[i]), SENNIT_ENOENT);
    }
    net_close(&n);
}

static void
every_address_is_undone_by_either_name(void **state)
{
    (void)state;
    for (int variant = 0; variant < (has_ipv6() ? 4 : 2); variant++) {
        bool by_last = variant & 1;
        bool ipv6 = variant & 2;
        sennit_sock_opts opts = net_opts();
        unsigned port = port_of(net_vacant(TCP));
        sennit_sock *pull;
        char wanted[64];
        char last[64];

        opts.ipv6 = ipv6;
        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        snprintf(wanted, sizeof wanted, "tcp://*:%u", port);
        assert_int_equal(sennit_sock_bind(pull, wanted), SENNIT_OK);
        snprintf(last, sizeof last, ipv6 ? "tcp://[::]:%u" : "tcp://0.0.0.0:%u", port);
        assert_string_equal(sennit_sock_last_endpoint(pull), last);
        assert_int_equal(knock(port), 0);
        assert_int_equal(sennit_sock_unbind(pull, by_last ? last : wanted), SENNIT_OK);
        assert_int_equal(knock(port), ECONNREFUSED);
        assert_int_equal(sennit_sock_unbind(pull, by_last ? last : wanted),
                         SENNIT_ENOENT);
        assert_int_equal(sennit_sock_unbind(pull, by_last ? wanted : last),
                         SENNIT_ENOENT);
        net_close(&n);
    }
}

static void
a_port_is_free_at_once_a_hundred_times(void **state)
{
    char endpoint[64];

    (void)state;
    snprintf(endpoint, sizeof endpoint, "%s", net_vacant(TCP));
    net_open(&n);
    for (int i = 0; i < 100; i++) {
        sennit_sock *pull = net_sock(&n, SENNIT_PULL, NULL);
        sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);
        sennit_err err = sennit_sock_bind(pull, endpoint);

        if (err)
            fail_msg("bind number %d: %s", i, sennit_err_name(err));
        net_connect(push, endpoint);
        net_send(push, "x");
        assert_string_equal(net_recv(pull), "x");
        /* The client lives on, and so does its end of the connection. */
        if (i % 2)
            assert_int_equal(sennit_sock_unbind(pull, endpoint), SENNIT_OK);
        sennit_sock_close(pull);
        assert_int_equal(knock(port_of(endpoint)), ECONNREFUSED);
        sennit_sock_close(push);
    }
    net_close(&n);
}

/* ---- D19 --------------------------------------------------------------- */

/* From here on this process has no IPv6. */
static bool
forbid_ipv6(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           socket(AF_INET6, SOCK_STREAM, 0) < 0 && errno == EAFNOSUPPORT;
}

/* What of it went wrong, or 0. In a process of its own. */
static int
without_ipv6(const char *wanted)
{
    sennit_sock_opts opts = net_opts();
    sennit_loop *loop;
    sennit_sock *pull;
    sennit_sock *push;
    char endpoint[64];
    char text[8];
    size_t size;

    alarm(60);
    opts.ipv6 = true;
    if (!forbid_ipv6())
        return 1;
    if (sennit_loop_open(&loop, NULL) != SENNIT_OK ||
        sennit_sock_open(&pull, loop, SENNIT_PULL, &opts) != SENNIT_OK ||
        sennit_sock_open(&push, loop, SENNIT_PUSH, &opts) != SENNIT_OK)
        return 2;
    if (sennit_sock_bind(pull, wanted) != SENNIT_OK)
        return 3;
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u",
             port_of(sennit_sock_last_endpoint(pull)));
    if (sennit_sock_connect(push, endpoint) != SENNIT_OK)
        return 4;
    if (sennit_sock_send_bytes(push, "hello", 5, 0) != SENNIT_OK)
        return 5;
    if (sennit_sock_recv_bytes(pull, text, sizeof text, &size, 0) != SENNIT_OK ||
        size != 5)
        return 6;
    if (sennit_sock_bind(pull, "tcp://[::1]:*") != SENNIT_EADDRNOTAVAIL)
        return 7;
    sennit_loop_close(loop);
    return 0;
}

static void
ipv6_that_is_not_there_is_done_without(void **state)
{
    static const char *const wanted[] = { "tcp://127.0.0.1:*", "tcp://*:*", "tcp://lo:*",
                                          "tcp://localhost:*" };

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        pid_t child = fork();
        int status;

        if (child == 0)
            _exit(without_ipv6(wanted[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0)
            fail_msg("%s: status %#x", wanted[i], status);
    }
}

static void
expect_connect(sennit_sock *pull, const char *host, unsigned port, bool ipv6)
{
    uint64_t before = net_stats(pull).connections;
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    char endpoint[64];

    opts.ipv6 = ipv6;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    snprintf(endpoint, sizeof endpoint, "tcp://%s:%u", host, port);
    net_connect(push, endpoint);
    NET_UNTIL(&n, net_stats(pull).connections == before + 1);
}

static void
every_address_is_of_both_families_when_ipv6_is_on(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *pull;
    sennit_event event;
    unsigned port;

    (void)state;
    if (!has_ipv6()) {
        print_message("this machine has no [::1]\n");
        return;
    }
    opts.ipv6 = true;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    assert_int_equal(sennit_sock_bind(pull, "tcp://*:*"), SENNIT_OK);
    port = port_of(sennit_sock_last_endpoint(pull));
    expect_connect(pull, "127.0.0.1", port, false);
    expect_connect(pull, "[::1]", port, true);
    expect_connect(pull, "localhost", port, true);
    /* What was told of it means the same. */
    {
        char last[64];

        snprintf(last, sizeof last, "%s", sennit_sock_last_endpoint(pull));
        assert_int_equal(sennit_sock_unbind(pull, last), SENNIT_OK);
        assert_int_equal(sennit_sock_bind(pull, last), SENNIT_OK);
        expect_connect(pull, "127.0.0.1", port, false);
        expect_connect(pull, "[::1]", port, true);
    }
    /* And of one when it is off. */
    opts.ipv6 = false;
    pull = net_sock(&n, SENNIT_PULL, &opts);
    assert_int_equal(sennit_sock_bind(pull, "tcp://*:*"), SENNIT_OK);
    port = port_of(sennit_sock_last_endpoint(pull));
    expect_connect(pull, "127.0.0.1", port, false);
    {
        sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);
        char endpoint[64];

        snprintf(endpoint, sizeof endpoint, "tcp://[::1]:%u", port);
        net_connect(push, endpoint);
        event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
        assert_int_equal(event.err, SENNIT_ECONNREFUSED);
    }
    net_close(&n);
}

static void
an_interface_is_bound_by_name_whether_ipv6_is_on_or_off(void **state)
{
    (void)state;
    for (int ipv6 = 0; ipv6 < 2; ipv6++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *pull;

        opts.ipv6 = ipv6;
        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        assert_int_equal(sennit_sock_bind(pull, "tcp://lo:*"), SENNIT_OK);
        assert_memory_equal(sennit_sock_last_endpoint(pull), "tcp://127.0.0.1:", 16);
        expect_connect(pull, "127.0.0.1", port_of(sennit_sock_last_endpoint(pull)), ipv6);
        assert_int_equal(sennit_sock_unbind(pull, "tcp://lo:*"), SENNIT_OK);
        net_close(&n);
    }
}

static sennit_err
nobody_may_ask(void *arg, const char *host, bool ipv6,
               sennit_ip found[SENNIT_RESOLVED_MAX], size_t *found_count)
{
    bool *asked = arg;

    (void)host;
    (void)ipv6;
    (void)found;
    (void)found_count;
    *asked = true;
    return SENNIT_EACCES;
}

static void
an_interface_that_is_not_there_is_told_at_once_and_nobody_is_asked(void **state)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    bool asked = false;
    sennit_sock *pull;
    sennit_event event;
    sennit_time before;

    (void)state;
    test_alloc_init(&n.alloc);
    opts.allocator = &n.alloc.allocator;
    opts.resolver = (sennit_resolver){ nobody_may_ask, &asked };
    assert_int_equal(sennit_loop_open(&n.loop, &opts), SENNIT_OK);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    before = sennit_loop_now(n.loop);
    assert_int_equal(sennit_sock_bind(pull, "tcp://nosuchif0:*"), SENNIT_ENODEV);
    assert_int_equal(sennit_sock_bind(pull, "tcp://example.org:*"), SENNIT_ENODEV);
    assert_true(sennit_loop_now(n.loop) - before < 100 * MS);
    assert_non_null(strstr(sennit_loop_why(n.loop), "no interface has this name"));
    assert_true(net_has_event(pull, SENNIT_EVENT_BIND_FAILED, &event));
    assert_int_equal(event.err, SENNIT_ENODEV);
    net_close(&n);
    assert_false(asked);
}

static void
a_zone_is_the_number_of_its_interface(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    assert_int_equal(sennit_sock_bind(pull, "tcp://[fe80::1%nosuchif0]:*"),
                     SENNIT_ENODEV);
    assert_string_equal(sennit_loop_why(n.loop),
                        "there is no interface of the zone's name");
    assert_int_equal(sennit_sock_connect(push, "tcp://[fe80::1%nosuchif0]:9"),
                     SENNIT_ENODEV);
    /* lo has no such address, but that is another matter. */
    assert_int_equal(sennit_sock_bind(pull, "tcp://[fe80::1%lo]:*"),
                     SENNIT_EADDRNOTAVAIL);
    assert_int_equal(sennit_sock_connect(push, "tcp://[fe80::1%lo]:9"), SENNIT_OK);
    net_close(&n);
}

/* A link-local address that works, in a network of its own. */
static int
over_a_link_local_address(void)
{
    sennit_sock_opts opts = net_opts();
    sennit_loop *loop;
    sennit_sock *pull;
    sennit_sock *push;
    char endpoint[96];
    char text[8];
    size_t size;

    alarm(60);
    if (unshare(CLONE_NEWNET) != 0)
        return 1;
    if (system("ip link set lo up && ip -6 addr add fe80::77/64 dev lo nodad") != 0)
        return 2;
    if (sennit_loop_open(&loop, NULL) != SENNIT_OK ||
        sennit_sock_open(&pull, loop, SENNIT_PULL, &opts) != SENNIT_OK ||
        sennit_sock_open(&push, loop, SENNIT_PUSH, &opts) != SENNIT_OK)
        return 3;
    if (sennit_sock_bind(pull, "tcp://[fe80::77%lo]:*") != SENNIT_OK)
        return 4;
    if (strncmp(sennit_sock_last_endpoint(pull), "tcp://[fe80::77%1]:", 19) != 0)
        return 5;
    snprintf(endpoint, sizeof endpoint, "tcp://[fe80::77%%lo]:%u",
             port_of(sennit_sock_last_endpoint(pull)));
    if (sennit_sock_connect(push, endpoint) != SENNIT_OK ||
        sennit_sock_send_bytes(push, "hello", 5, 0) != SENNIT_OK ||
        sennit_sock_recv_bytes(pull, text, sizeof text, &size, 0) != SENNIT_OK)
        return 6;
    /* An interface without IPv4 is bound by its IPv6 address, if that may be. */
    sennit_sock_get_opts(pull, &opts);
    opts.ipv6 = true;
    if (sennit_sock_set_opts(pull, &opts) != SENNIT_OK ||
        system("ip addr del 127.0.0.1/8 dev lo; ip -6 addr del ::1/128 dev lo; true") !=
            0 ||
        sennit_sock_bind(pull, "tcp://lo:*") != SENNIT_OK ||
        strncmp(sennit_sock_last_endpoint(pull), "tcp://[fe80::77%1]:", 19) != 0)
        return 7;
    opts.ipv6 = false;
    if (sennit_sock_set_opts(pull, &opts) != SENNIT_OK ||
        sennit_sock_bind(pull, "tcp://lo:*") != SENNIT_ENODEV)
        return 8;
    sennit_loop_close(loop);
    return 0;
}

static void
link_local_addresses_work_with_their_zone(void **state)
{
    pid_t child;
    int status;

    (void)state;
    if (!has_ipv6()) {
        print_message("this machine has no [::1]\n");
        return;
    }
    if (getuid() != 0)
        fail_msg("a network of one's own takes root");
    child = fork();
    if (child == 0)
        _exit(over_a_link_local_address());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- descriptors of others --------------------------------------------- */

static int
unix_listener(const char *path, bool abstract)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    snprintf(at.sun_path + abstract, sizeof at.sun_path - 1, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&at,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract +
                                      strlen(path))),
                     0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* It serves through it, is non-blocking and close-on-exec, and is closed in the end. */
static void
check_adopted(int fd, const char *endpoint)
{
    sennit_sock *pull;
    sennit_sock *push;

    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind_fd(pull, fd), SENNIT_OK);
    assert_string_equal(sennit_sock_last_endpoint(pull), endpoint);
    net_event(&n, pull, SENNIT_EVENT_LISTENING);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        push = net_sock(&n, SENNIT_PUSH, NULL);
        net_connect(push, endpoint);
        net_send(push, "hello");
        assert_string_equal(net_recv(pull), "hello");
    }
    assert_int_equal(sennit_sock_unbind(pull, endpoint), SENNIT_OK);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    net_close(&n);
}

static void
a_listening_descriptor_is_adopted(void **state)
{
    char endpoint[128];
    char directory[] = "/tmp/sennit-listen-XXXXXX";
    char path[64];
    struct stat st;

    (void)state;
    check_adopted(raw_listen(endpoint), endpoint);
    snprintf(path, sizeof path, "sennit-adopt-%d", (int)getpid());
    snprintf(endpoint, sizeof endpoint, "ipc://@%s", path);
    check_adopted(unix_listener(path, true), endpoint);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/s", directory);
    snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
    check_adopted(unix_listener(path, false), endpoint);
    /* The path is its owner's. */
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

/* systemd keeps its copy of the socket, to start us again. */
static void
a_supervisors_copy_of_an_adopted_descriptor_goes_on_listening(void **state)
{
    char endpoint[64];
    int copy = raw_listen(endpoint);

    (void)state;
    for (int by_unbind = 0; by_unbind < 2; by_unbind++) {
        int fd = dup(copy);
        sennit_sock *pull;

        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        assert_int_equal(sennit_sock_bind_fd(pull, fd), SENNIT_OK);
        if (by_unbind)
            assert_int_equal(sennit_sock_unbind(pull, endpoint), SENNIT_OK);
        net_close(&n);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        assert_int_equal(knock(port_of(endpoint)), 0);
    }
    close(copy);
}

/* A port is called from itself when the system, or SOURCE, chooses it to come from, and
 * two ends that call each other meet: that is no peer. */
static void
a_connect_that_meets_itself_is_refused(void **state)
{
    unsigned port = port_of(net_vacant(TCP));
    sennit_sock *dealer;
    sennit_event event;
    char endpoint[64];

    (void)state;
    net_open(&n);
    dealer = net_sock(&n, SENNIT_DEALER, NULL);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u;127.0.0.1:%u", port, port);
    net_connect(dealer, endpoint);
    event = net_event(&n, dealer, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ECONNREFUSED);
    assert_non_null(strstr(event.reason, "connected to itself"));
    (void)net_event(&n, dealer, SENNIT_EVENT_RETRYING);
    net_close(&n);
}

static void
a_descriptor_is_adopted_once(void **state)
{
    char endpoint[64];
    int fd = raw_listen(endpoint);
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind_fd(pull, fd), SENNIT_OK);
    assert_int_equal(sennit_sock_bind_fd(pull, fd), SENNIT_EINVAL);
    assert_string_equal(sennit_loop_why(n.loop),
                        "fd is bound in this loop already: hand over a dup of it");
    assert_int_equal(knock(port_of(endpoint)), 0);
    net_close(&n);
}

/* ---- what is told of --------------------------------------------------- */

static void
an_inproc_name_is_told_of_like_an_address(void **state)
{
    sennit_sock *pull;
    sennit_event event;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, "inproc://told"), SENNIT_OK);
    assert_int_equal(sennit_sock_next_event(pull, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_LISTENING);
    assert_string_equal(event.endpoint, "inproc://told");
    assert_int_equal(sennit_sock_unbind(pull, "inproc://told"), SENNIT_OK);
    assert_int_equal(sennit_sock_next_event(pull, &event), SENNIT_OK);
    assert_int_equal(event.kind, SENNIT_EVENT_UNBOUND);
    assert_string_equal(event.endpoint, "inproc://told");
    net_close(&n);
}

static void
a_bind_behind_the_contexts_end_is_told_of_as_failed(void **state)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_event event;
    sennit_loop *loop;
    sennit_sock *pull;
    char endpoint[64];
    int fd = raw_listen(endpoint);

    (void)state;
    assert_int_equal(sennit_context_open(&opts.context, NULL), SENNIT_OK);
    assert_int_equal(sennit_loop_open(&loop, &opts), SENNIT_OK);
    assert_int_equal(sennit_sock_open(&pull, loop, SENNIT_PULL, NULL), SENNIT_OK);
    sennit_context_shutdown(opts.context);
    assert_int_equal(sennit_sock_bind(pull, "tcp://127.0.0.1:*"), SENNIT_ETERM);
    assert_int_equal(sennit_sock_bind_fd(pull, fd), SENNIT_ETERM);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sennit_sock_next_event(pull, &event), SENNIT_OK);
        assert_int_equal(event.kind, SENNIT_EVENT_BIND_FAILED);
        assert_int_equal(event.err, SENNIT_ETERM);
    }
    sennit_loop_close(loop);
    assert_int_equal(sennit_context_close(opts.context), SENNIT_OK);
    close(fd);
}

/* An IPv4 peer is one, also through a socket of both families. */
static void
a_network_of_mapped_addresses_is_the_ipv4_one(void **state)
{
    static const char *const networks[] = { "::ffff:127.0.0.0/104",
                                            "::ffff:10.0.0.0/104" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *pull;
        sennit_event event;
        int raw;

        net_open(&n);
        opts.tcp_accept = &networks[i];
        opts.tcp_accept_count = 1;
        pull = net_sock(&n, SENNIT_PULL, &opts);
        raw = raw_connect(net_bind(pull, TCP));
        event = net_event(&n, pull,
                          i == 0 ? SENNIT_EVENT_ACCEPTED : SENNIT_EVENT_ACCEPT_FAILED);
        assert_int_equal(event.err, i == 0 ? SENNIT_OK : SENNIT_EACCES);
        close(raw);
        net_close(&n);
    }
}

/* What was queued before counts as well: that is what socket activation is for. */
static void
who_knocked_before_is_served(void **state)
{
    char endpoint[64];
    int fd = raw_listen(endpoint);
    int raw = raw_connect(endpoint);
    sennit_sock *pull;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind_fd(pull, fd), SENNIT_OK);
    raw_handshake(&n, raw, "PUSH", NULL);
    NET_UNTIL(&n, net_stats(pull).connections == 1);
    close(raw);
    net_close(&n);
}

static void
what_does_not_listen_is_refused_and_left_alone(void **state)
{
    sennit_sock *pull;
    sennit_event event;
    char endpoint[64];
    int listener = raw_listen(endpoint);
    int fds[5];

    (void)state;
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds[2] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    fds[3] = raw_connect(endpoint);
    fds[4] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind_fd(pull, -1), SENNIT_EINVAL);
    assert_int_equal(sennit_sock_bind_fd(pull, 1000000), SENNIT_EINVAL);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sennit_sock_bind_fd(pull, fds[i]), SENNIT_EINVAL);
        assert_string_equal(sennit_loop_why(n.loop),
                            "fd is not a listening tcp or ipc socket");
        assert_true(fcntl(fds[i], F_GETFD) >= 0);
        close(fds[i]);
    }
    assert_true(net_has_event(pull, SENNIT_EVENT_BIND_FAILED, &event));
    net_close(&n);
    close(listener);
}

static void
adopt(test_alloc *alloc, void *arg)
{
    sennit_loop_opts opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock *pull = NULL;
    sennit_loop *loop;
    char endpoint[64];
    int fd = raw_listen(endpoint);
    sennit_err err;

    (void)arg;
    opts.allocator = &alloc->allocator;
    err = sennit_loop_open(&loop, &opts);
    if (err) {
        close(fd);
        return;
    }
    err = sennit_sock_open(&pull, loop, SENNIT_PULL, NULL);
    if (err == SENNIT_OK)
        err = sennit_sock_bind_fd(pull, fd);
    /* Untouched on failure: it is still the caller's, and open. */
    if (err) {
        assert_int_equal(err, SENNIT_ENOMEM);
        assert_int_equal(close(fd), 0);
    } else {
        assert_string_equal(sennit_sock_last_endpoint(pull), endpoint);
    }
    sennit_loop_close(loop);
    if (err == SENNIT_OK)
        assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void
adopting_survives_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(test_alloc_every_failure(adopt, NULL) > 5);
}

/* ---- none left --------------------------------------------------------- */

/* A process with `count` raw connections; it closes half of them for the first octet in
 * `go`, and all for the end of it. */
static pid_t
start_clients(const char *endpoint, int count, int go[2], int ready[2])
{
    pid_t child;

    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        int fds[256];
        char octet = 0;

        alarm(100);
        close(go[1]);
        for (int i = 0; i < count; i++)
            fds[i] = raw_connect(endpoint);
        if (write(ready[1], &octet, 1) != 1 || read(go[0], &octet, 1) != 1)
            _exit(1);
        for (int i = 0; i < count / 2; i++)
            close(fds[i]);
        (void)!read(go[0], &octet, 1);
        _exit(0);
    }
    close(go[0]);
    close(ready[1]);
    return child;
}

static sennit_time
cpu_time(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return ((sennit_time)usage.ru_utime.tv_sec + (sennit_time)usage.ru_stime.tv_sec) *
               1000 * MS +
           ((sennit_time)usage.ru_utime.tv_usec + (sennit_time)usage.ru_stime.tv_usec) *
               1000;
}

/* Accepts that failed, and accepts. */
static void
count_accepts(sennit_sock *sock, unsigned *failed, unsigned *accepted)
{
    sennit_event event;

    while (sennit_sock_next_event(sock, &event) == SENNIT_OK) {
        *failed += event.kind == SENNIT_EVENT_ACCEPT_FAILED && event.err == SENNIT_EMFILE;
        *accepted += event.kind == SENNIT_EVENT_ACCEPTED;
    }
}

static void
out_of_descriptors_accepting_pauses_and_costs_nothing(void **state)
{
    enum { CLIENTS = 100, LIMIT = 64 };
    sennit_sock_opts opts = net_opts();
    struct rlimit old;
    struct rlimit low;
    sennit_sock *pull;
    sennit_time began;
    sennit_time cpu;
    unsigned failed = 0;
    unsigned accepted = 0;
    int go[2];
    int ready[2];
    pid_t clients;
    char octet;

    (void)state;
    opts.events_max = 1024;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, &opts);
    net_bind(pull, TCP);
    clients = start_clients(sennit_sock_last_endpoint(pull), CLIENTS, go, ready);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = LIMIT;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(read(ready[0], &octet, 1), 1);
    NET_UNTIL(&n, (count_accepts(pull, &failed, &accepted), failed > 0));
    /* From one failure to the tenth: that is a second, of which a tenth may be spent, and
     * three under sanitizers. */
    failed = 0;
    began = sennit_loop_now(n.loop);
    cpu = cpu_time();
    NET_UNTIL(&n, (count_accepts(pull, &failed, &accepted), failed >= 10));
    cpu = cpu_time() - cpu;
    assert_true(cpu * 10 < 3 * (sennit_loop_now(n.loop) - began));
    assert_true(accepted < CLIENTS);
    /* Half of them go: those who wait are served within a second. */
    assert_int_equal(write(go[1], "x", 1), 1);
    began = sennit_loop_now(n.loop);
    NET_UNTIL(&n, (count_accepts(pull, &failed, &accepted), accepted == CLIENTS));
    assert_true(sennit_loop_now(n.loop) - began < 3 * 1000 * MS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    close(go[1]);
    close(ready[0]);
    assert_int_equal(waitpid(clients, NULL, 0), clients);
    net_close(&n);
}

static void
out_of_descriptors_a_bind_fails_and_what_there_is_works(void **state)
{
    struct rlimit old;
    struct rlimit low;
    sennit_sock *rep;
    sennit_sock *req;
    sennit_sock *pulls[256];
    unsigned count = 0;
    sennit_err err = SENNIT_OK;

    (void)state;
    net_open(&n);
    rep = net_sock(&n, SENNIT_REP, NULL);
    req = net_sock(&n, SENNIT_REQ, NULL);
    net_join(&n, rep, req, TCP);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 128;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (err == SENNIT_OK) {
        assert_true(count < 256);
        pulls[count] = net_sock(&n, SENNIT_PULL, NULL);
        err = sennit_sock_bind(pulls[count++], "tcp://127.0.0.1:*");
    }
    assert_int_equal(err, SENNIT_EMFILE);
    net_send(req, "still?");
    assert_string_equal(net_recv(rep), "still?");
    net_send(rep, "still");
    assert_string_equal(net_recv(req), "still");
    /* One that closes makes room. */
    sennit_sock_close(pulls[0]);
    assert_int_equal(sennit_sock_bind(pulls[count - 1], "tcp://127.0.0.1:*"), SENNIT_OK);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    net_close(&n);
}

static void
ten_thousand_connects_fit_into_few_descriptors(void **state)
{
    const char *endpoint = net_vacant(TCP);
    struct rlimit old;
    struct rlimit low;

    (void)state;
    net_open(&n);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 256;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (int i = 0; i < 10000; i++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *dealer;
        sennit_event event;

        dealer = net_sock(&n, SENNIT_DEALER, &opts);
        net_connect(dealer, endpoint);
        while (sennit_sock_next_event(dealer, &event) == SENNIT_OK)
            assert_int_not_equal(event.err, SENNIT_EMFILE);
        sennit_sock_close(dealer);
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    net_close(&n);
}

/* Everything open, and another program started: it finds nothing of ours. */
static void
a_program_that_is_executed_finds_no_descriptor_of_ours(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    char endpoint[64];
    char seen[4096] = "";
    size_t size = 0;
    ssize_t got;
    int out[2];
    pid_t child;
    int status;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_join(&n, pull, push, TCP);
    net_join(&n, pull, push, IPC);
    assert_int_equal(sennit_sock_bind_fd(pull, raw_listen(endpoint)), SENNIT_OK);
    net_connect(push, "tcp://0x7f000001:9");
    net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(pipe(out), 0);
    child = fork();
    if (child == 0) {
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execl("/bin/sh", "sh", "-c",
              "for f in /proc/self/fd/*; do readlink $f; done; true", (char *)NULL);
        _exit(1);
    }
    close(out[1]);
    while ((got = read(out[0], seen + size, sizeof seen - 1 - size)) > 0)
        size += (size_t)got;
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_non_null(strstr(seen, "pipe:"));
    assert_null(strstr(seen, "socket:"));
    assert_null(strstr(seen, "eventpoll"));
    assert_null(strstr(seen, "eventfd"));
    net_close(&n);
}

#define NAMED(name, function)                                                            \
    {                                                                                    \
        name, function, NULL, NULL, NULL                                                 \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NAMED("D16a: out of descriptors accepting pauses and costs nothing",
              out_of_descriptors_accepting_pauses_and_costs_nothing),
        NAMED("D16b: out of descriptors a bind fails and what there is works",
              out_of_descriptors_a_bind_fails_and_what_there_is_works),
        NAMED("D16c: ten thousand connects fit into few descriptors",
              ten_thousand_connects_fit_into_few_descriptors),
        NAMED("D18a, c: three wildcards are undone one by one",
              three_wildcards_are_undone_one_by_one),
        NAMED("D18b, c: every address is undone by either name",
              every_address_is_undone_by_either_name),
        NAMED("D18d: a port is free at once a hundred times",
              a_port_is_free_at_once_a_hundred_times),
        NAMED("D19a: IPv6 that is not there is done without",
              ipv6_that_is_not_there_is_done_without),
        NAMED("D19b: every address is of both families when IPv6 is on",
              every_address_is_of_both_families_when_ipv6_is_on),
        NAMED("D19c: an interface is bound by name whether IPv6 is on or off",
              an_interface_is_bound_by_name_whether_ipv6_is_on_or_off),
        NAMED("D19d: an interface that is not there is told at once and nobody is asked",
              an_interface_that_is_not_there_is_told_at_once_and_nobody_is_asked),
        NAMED("D19e: a zone is the number of its interface",
              a_zone_is_the_number_of_its_interface),
        NAMED("D19e: link-local addresses work with their zone",
              link_local_addresses_work_with_their_zone),
        NAMED("D26e: a program that is executed finds no descriptor of ours",
              a_program_that_is_executed_finds_no_descriptor_of_ours),
        cmocka_unit_test(a_listening_descriptor_is_adopted),
        cmocka_unit_test(a_supervisors_copy_of_an_adopted_descriptor_goes_on_listening),
        cmocka_unit_test(a_descriptor_is_adopted_once),
        cmocka_unit_test(an_inproc_name_is_told_of_like_an_address),
        cmocka_unit_test(a_bind_behind_the_contexts_end_is_told_of_as_failed),
        cmocka_unit_test(a_network_of_mapped_addresses_is_the_ipv4_one),
        cmocka_unit_test(a_connect_that_meets_itself_is_refused),
        cmocka_unit_test(who_knocked_before_is_served),
        cmocka_unit_test(adopting_survives_every_failed_allocation),
        cmocka_unit_test(what_does_not_listen_is_refused_and_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
