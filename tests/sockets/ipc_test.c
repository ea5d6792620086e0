/* SPDX-License-Identifier: MIT */
/* Paths of unix sockets: whose they are, who may take them, who may connect, and that
 * nothing is left behind. */
#include "net.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static net n;
static char directory[64];
static char path[80];
static char endpoint[300];

static int
set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/sennit-ipc-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/s", directory);
    snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
    return 0;
}

/* And nothing is left in it. */
static int
tear_down(void **state)
{
    (void)state;
    return rmdir(directory) == 0 ? 0 : -1;
}

static bool
exists(const char *name)
{
    struct stat st;

    return lstat(name, &st) == 0;
}

static sennit_err
try_bind(const char *where)
{
    return sennit_sock_bind(net_sock(&n, SENNIT_PULL, NULL), where);
}

/* In another process, which then does what `end` says. */
static pid_t
bind_elsewhere(const char *where, int ready_fd, bool stay)
{
    pid_t child = fork();

    if (child == 0) {
        sennit_loop *loop;
        sennit_sock *sock;
        sennit_err err = sennit_loop_open(&loop, NULL);

        alarm(60);
        if (err == SENNIT_OK)
            err = sennit_sock_open(&sock, loop, SENNIT_PULL, NULL);
        if (err == SENNIT_OK)
            err = sennit_sock_bind(sock, where);
        if (write(ready_fd, &err, sizeof err) != sizeof err || err)
            _exit(1);
        while (stay)
            (void)sennit_loop_turn(loop, -1);
        /* As if it was killed: the file stays. */
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

static sennit_err
result_of(int fd)
{
    sennit_err err;

    assert_int_equal(read(fd, &err, sizeof err), sizeof err);
    return err;
}

static void
leave_a_stale_file(void)
{
    int fds[2];
    pid_t child;
    int status;

    assert_int_equal(pipe(fds), 0);
    child = bind_elsewhere(endpoint, fds[1], false);
    assert_int_equal(result_of(fds[0]), SENNIT_OK);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(exists(path));
    close(fds[0]);
    close(fds[1]);
}

static void
round_trip(const char *where, sennit_sock *pull)
{
    sennit_sock *push = net_sock(&n, SENNIT_PUSH, NULL);

    net_connect(push, where);
    net_send(push, "hello");
    assert_string_equal(net_recv(pull), "hello");
    sennit_sock_close(push);
}

/* ---- D17 --------------------------------------------------------------- */

static void
a_path_of_107_octets_works_and_no_longer_one(void **state)
{
    static const size_t sizes[] = { 107, 108, 150 };

    (void)state;
    net_open(&n);
    for (size_t i = 0; i < 3; i++) {
        sennit_sock *pull = net_sock(&n, SENNIT_PULL, NULL);
        char longer[256];

        snprintf(longer, sizeof longer, "%s/", directory);
        memset(longer + strlen(longer), 'x', sizeof longer - strlen(longer));
        longer[sizes[i]] = '\0';
        snprintf(endpoint, sizeof endpoint, "ipc://%s", longer);
        if (sizes[i] > 107) {
            assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_ENAMETOOLONG);
            assert_int_equal(
                sennit_sock_connect(net_sock(&n, SENNIT_PUSH, NULL), endpoint),
                SENNIT_ENAMETOOLONG);
            /* Never cut. */
            longer[107] = '\0';
            assert_false(exists(longer));
            continue;
        }
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
        assert_true(exists(longer));
        round_trip(endpoint, pull);
        assert_int_equal(sennit_sock_unbind(pull, endpoint), SENNIT_OK);
        assert_false(exists(longer));
    }
    net_close(&n);
}

static void
what_a_killed_process_left_is_taken_over(void **state)
{
    sennit_sock *pull;
    int fds[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    child = bind_elsewhere(endpoint, fds[1], true);
    assert_int_equal(result_of(fds[0]), SENNIT_OK);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(exists(path));
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    round_trip(endpoint, pull);
    net_close(&n);
    close(fds[0]);
    close(fds[1]);
}

static void
a_live_one_is_never_robbed_and_hears_nothing_of_it(void **state)
{
    sennit_sock *pull;
    sennit_event event;
    int fds[2];
    int status;

    (void)state;
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    net_event(&n, pull, SENNIT_EVENT_LISTENING);
    assert_int_equal(try_bind(endpoint), SENNIT_EADDRINUSE);
    assert_string_equal(sennit_loop_why(n.loop), "somebody listens on this path");
    assert_int_equal(pipe(fds), 0);
    (void)bind_elsewhere(endpoint, fds[1], true);
    assert_int_equal(result_of(fds[0]), SENNIT_EADDRINUSE);
    assert_true(wait(&status) > 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sennit_loop_turn(n.loop, 0), SENNIT_OK);
    assert_false(net_has_event(pull, SENNIT_EVENT_ACCEPTED, &event));
    round_trip(endpoint, pull);
    net_close(&n);
    close(fds[0]);
    close(fds[1]);
}

/* One that is bound and does not listen yet is alive as well. */
static void
one_that_does_not_listen_yet_is_not_stale(void **state)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    net_open(&n);
    assert_int_equal(try_bind(endpoint), SENNIT_EADDRINUSE);
    net_close(&n);
    close(fd);
    assert_int_equal(unlink(path), 0);
}

static void
a_file_or_directory_is_left_alone(void **state)
{
    char text[4] = "";
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    (void)state;
    assert_int_equal(write(fd, "abc", 3), 3);
    close(fd);
    net_open(&n);
    assert_int_equal(try_bind(endpoint), SENNIT_EADDRINUSE);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, 3), 3);
    close(fd);
    assert_string_equal(text, "abc");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(try_bind(endpoint), SENNIT_EADDRINUSE);
    assert_int_equal(rmdir(path), 0);
    /* Nor is a link followed, wherever it leads. */
    assert_int_equal(symlink("nowhere", path), 0);
    assert_int_equal(try_bind(endpoint), SENNIT_EADDRINUSE);
    assert_int_equal(unlink(path), 0);
    net_close(&n);
}

static void
whoever_comes_after_keeps_his_file(void **state)
{
    sennit_sock *first;
    sennit_sock *second;

    (void)state;
    net_open(&n);
    first = net_sock(&n, SENNIT_PULL, NULL);
    second = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(first, endpoint), SENNIT_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sennit_sock_bind(second, endpoint), SENNIT_OK);
    assert_int_equal(sennit_sock_unbind(first, endpoint), SENNIT_OK);
    assert_true(exists(path));
    round_trip(endpoint, second);
    net_close(&n);
    assert_false(exists(path));
}

static void
a_normal_end_leaves_no_file(void **state)
{
    static const char *const how[] = { "unbind", "close", "loop" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        sennit_sock *pull;

        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
        assert_true(exists(path));
        if (how[i][0] == 'u')
            assert_int_equal(sennit_sock_unbind(pull, endpoint), SENNIT_OK);
        if (how[i][0] == 'c')
            sennit_sock_close(pull);
        if (how[i][0] != 'l')
            NET_UNTIL(&n, !exists(path));
        net_close(&n);
        assert_false(exists(path));
    }
}

static void
an_abstract_name_has_no_file(void **state)
{
    sennit_sock *pull;
    char name[128];

    (void)state;
    snprintf(name, sizeof name, "ipc://@%s", directory + 5);
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, name), SENNIT_OK);
    assert_string_equal(sennit_sock_last_endpoint(pull), name);
    assert_false(exists(directory + 5));
    assert_int_equal(try_bind(name), SENNIT_EADDRINUSE);
    round_trip(name, pull);
    net_close(&n);
}

/* Two processes find one stale file at the same moment, again and again: exactly one
 * gets the path, and it is the one that can be connected. */
static void
two_who_find_one_stale_file_do_not_rob_each_other(void **state)
{
    enum { ROUNDS = 20, RACERS = 4 };
    atomic_int *gate = mmap(NULL, sizeof *gate, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(gate, MAP_FAILED);
    for (int round = 0; round < ROUNDS; round++) {
        int fds[2];
        pid_t racers[RACERS];
        unsigned winners = 0;

        leave_a_stale_file();
        assert_int_equal(pipe(fds), 0);
        atomic_store(gate, 0);
        for (int i = 0; i < RACERS; i++) {
            racers[i] = fork();
            if (racers[i] == 0) {
                sennit_loop *loop;
                sennit_sock *sock;
                sennit_err err;

                alarm(60);
                if (sennit_loop_open(&loop, NULL) != SENNIT_OK ||
                    sennit_sock_open(&sock, loop, SENNIT_PULL, NULL) != SENNIT_OK)
                    _exit(1);
                atomic_fetch_add(gate, 1);
                while (atomic_load(gate) < RACERS)
                    continue;
                err = sennit_sock_bind(sock, endpoint);
                if (write(fds[1], &err, sizeof err) != sizeof err)
                    _exit(1);
                for (;;)
                    (void)sennit_loop_turn(loop, -1);
            }
        }
        for (int i = 0; i < RACERS; i++) {
            sennit_err err = result_of(fds[0]);

            assert_true(err == SENNIT_OK || err == SENNIT_EADDRINUSE);
            winners += err == SENNIT_OK;
        }
        assert_int_equal(winners, 1);
        /* The winner's is the file that is there. */
        close(raw_connect(endpoint));
        for (int i = 0; i < RACERS; i++) {
            assert_int_equal(kill(racers[i], SIGKILL), 0);
            assert_int_equal(waitpid(racers[i], NULL, 0), racers[i]);
        }
        close(fds[0]);
        close(fds[1]);
        assert_int_equal(unlink(path), 0);
    }
    munmap(gate, sizeof *gate);
}

/* Whoever holds the directory's lock for his own reasons does not hang us. */
static void
a_lock_that_is_held_for_ever_is_not_waited_for(void **state)
{
    int fd;

    (void)state;
    leave_a_stale_file();
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    net_open(&n);
    assert_int_equal(try_bind(endpoint), SENNIT_EADDRINUSE);
    assert_string_equal(sennit_loop_why(n.loop),
                        "a stale socket is there, and its directory could not be locked");
    close(fd);
    assert_int_equal(try_bind(endpoint), SENNIT_OK);
    net_close(&n);
}

/* ---- permissions and credentials --------------------------------------- */

static void
the_path_has_the_permissions_asked_for(void **state)
{
    static const int modes[] = { 0600, 0666, 0000, 0777 };
    mode_t old = umask(0077);

    (void)state;
    net_open(&n);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        sennit_sock_opts opts = net_opts();
        sennit_sock *pull;
        struct stat st;

        opts.ipc_mode = modes[i];
        pull = net_sock(&n, SENNIT_PULL, &opts);
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
        assert_int_equal(sennit_sock_unbind(pull, endpoint), SENNIT_OK);
        /* Whoever may connect may get there. */
        assert_int_equal(sennit_sock_bind(pull, "ipc://*"), SENNIT_OK);
        {
            char fresh[128];

            snprintf(fresh, sizeof fresh, "%s", sennit_sock_last_endpoint(pull) + 6);
            assert_int_equal(stat(fresh, &st), 0);
            assert_int_equal(st.st_mode & 07777, modes[i]);
            *strrchr(fresh, '/') = '\0';
            assert_int_equal(stat(fresh, &st), 0);
            assert_int_equal(st.st_mode & 07777, modes[i] & 0002 ? 0711 : 0700);
        }
        sennit_sock_close(pull);
    }
    {
        struct stat st;

        assert_int_equal(try_bind(endpoint), SENNIT_OK);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
    net_close(&n);
    (void)umask(old);
}

/* Linux 6.6; older headers do not know it. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* As before Linux 6.6. For the rest of this process. */
static bool
forbid_fchmodat2(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool
knows_fchmodat2(void)
{
    return syscall(SYS_fchmodat2, -1, "", 0, 0) == 0 || errno != ENOSYS;
}

/* What of it went wrong, or 0. In a process of its own, whose root is the directory. */
static int
without_proc(int mode)
{
    sennit_sock_opts opts = net_opts();
    bool possible = mode == 0600 || knows_fchmodat2();
    struct stat st;
    sennit_loop *loop;
    sennit_sock *pull;
    sennit_err err;

    opts.ipc_mode = mode;
    if (exists("/proc") || sennit_loop_open(&loop, NULL) != SENNIT_OK ||
        sennit_sock_open(&pull, loop, SENNIT_PULL, &opts) != SENNIT_OK)
        return 2;
    err = sennit_sock_bind(pull, "ipc:///s");
    if (err != (possible ? SENNIT_OK : SENNIT_ENOTSUP))
        return 3;
    if (possible && (stat("/s", &st) != 0 || (int)(st.st_mode & 07777) != mode))
        return 4;
    if (!possible && strcmp(sennit_loop_why(loop),
                            "ipc_mode needs /proc before Linux 6.6: mount it, or set it "
                            "by the umask") != 0)
        return 5;
    sennit_sock_close(pull);
    sennit_loop_close(loop);
    return exists("/s") ? 6 : 0;
}

static void
without_proc_permissions_are_given_or_refused_with_a_reason(void **state)
{
    static const int modes[] = { 0600, 0666 };

    (void)state;
    if (getuid() != 0)
        fail_msg("another root directory takes root");
    for (int run = 0; run < 4; run++) {
        pid_t child = fork();
        int status;

        if (child == 0) {
            alarm(60);
            (void)umask(0077);
            if (chroot(directory) != 0 || chdir("/") != 0 ||
                (run / 2 == 1 && !forbid_fchmodat2()))
                _exit(1);
            _exit(without_proc(modes[run % 2]));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* Between bind(2) and what follows it somebody puts a link to this in the path's place.
 */
static const char *victim;

/* This program's bind: the library links to it. */
int
bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    int result = (int)syscall(SYS_bind, fd, address.__sockaddr__, size);

    if (result == 0 && victim != NULL) {
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(victim, path), 0);
    }
    return result;
}

static void
permissions_are_not_given_through_a_link(void **state)
{
    sennit_sock_opts opts = net_opts();
    char secret[100];
    struct stat st;
    int fd;

    (void)state;
    snprintf(secret, sizeof secret, "%s/secret", directory);
    fd = open(secret, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    net_open(&n);
    opts.ipc_mode = 0666;
    victim = secret;
    assert_int_equal(sennit_sock_bind(net_sock(&n, SENNIT_PULL, &opts), endpoint),
                     SENNIT_EADDRINUSE);
    victim = NULL;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    net_close(&n);
    close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(secret), 0);
}

static void
a_relative_path_is_removed_from_where_it_was_made(void **state)
{
    int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned open_before;

    (void)state;
    assert_true(home >= 0);
    for (int by_unbind = 0; by_unbind < 2; by_unbind++) {
        sennit_sock *pull;

        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, NULL);
        open_before = open_descriptors();
        assert_int_equal(chdir(directory), 0);
        assert_int_equal(sennit_sock_bind(pull, "ipc://s"), SENNIT_OK);
        assert_true(exists(path));
        assert_int_equal(fchdir(home), 0);
        if (by_unbind) {
            assert_int_equal(sennit_sock_unbind(pull, "ipc://s"), SENNIT_OK);
            assert_int_equal(open_descriptors(), open_before);
        }
        net_close(&n);
        assert_false(exists(path));
    }
    close(home);
}

static void
a_fresh_path_leaves_neither_file_nor_directory(void **state)
{
    char fresh[128];
    sennit_sock *pull;

    (void)state;
    assert_int_equal(setenv("TMPDIR", directory, 1), 0);
    net_open(&n);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, "ipc://*"), SENNIT_OK);
    snprintf(fresh, sizeof fresh, "%s", sennit_sock_last_endpoint(pull));
    assert_memory_equal(fresh + 6, directory, strlen(directory));
    assert_true(exists(fresh + 6));
    round_trip(fresh, pull);
    net_close(&n);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

typedef struct filter_row {
    const char *name;
    sennit_ipc_filter filters[2];
    size_t count;
    bool let_in;
} filter_row;

static void
peers_are_let_in_by_their_credentials(void **state)
{
    int64_t uid = getuid();
    int64_t gid = getgid();
    int64_t pid = getpid();
    const filter_row rows[] = {
        { "by nothing", { { -1, -1, -1 } }, 1, true },
        { "by user", { { uid, -1, -1 } }, 1, true },
        { "by group", { { -1, gid, -1 } }, 1, true },
        { "by process", { { -1, -1, pid } }, 1, true },
        { "by all three", { { uid, gid, pid } }, 1, true },
        { "by the second", { { uid + 1, -1, -1 }, { uid, -1, -1 } }, 2, true },
        { "another user", { { uid + 1, -1, -1 } }, 1, false },
        { "another group", { { uid, gid + 1, -1 } }, 1, false },
        { "another process", { { uid, gid, pid + 1 } }, 1, false },
        { "neither of two", { { uid + 1, -1, -1 }, { -1, gid + 1, -1 } }, 2, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const filter_row *r = &rows[i];
        sennit_sock_opts opts = net_opts();
        sennit_sock *pull;
        sennit_event event;
        int raw;

        opts.ipc_accept = r->filters;
        opts.ipc_accept_count = r->count;
        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
        raw = raw_connect(endpoint);
        if (r->let_in) {
            raw_handshake(&n, raw, "PUSH", NULL);
            NET_UNTIL(&n, net_stats(pull).connections == 1);
        } else {
            raw_until_closed(&n, raw);
            event = net_event(&n, pull, SENNIT_EVENT_ACCEPT_FAILED);
            assert_int_equal(event.err, SENNIT_EACCES);
            assert_string_equal(event.reason, "refused: it matches none of ipc_accept");
        }
        close(raw);
        net_close(&n);
    }
}

/* A process of another user, let in or not. */
static void
another_user_is_told_apart(void **state)
{
    (void)state;
    if (getuid() != 0)
        fail_msg("becoming another user takes root");
    for (int let_in = 0; let_in < 2; let_in++) {
        sennit_sock_opts opts = net_opts();
        const sennit_ipc_filter filter = { let_in ? 12345 : 0, -1, -1 };
        sennit_sock *pull;
        sennit_event event;
        pid_t child;
        int status;

        opts.ipc_accept = &filter;
        opts.ipc_accept_count = 1;
        opts.ipc_mode = 0666;
        assert_int_equal(chmod(directory, 0711), 0);
        net_open(&n);
        pull = net_sock(&n, SENNIT_PULL, &opts);
        assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
        child = fork();
        if (child == 0) {
            struct sockaddr_un un = { .sun_family = AF_UNIX };
            int fd = socket(AF_UNIX, SOCK_STREAM, 0);
            char octet;

            alarm(60);
            snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
            if (setuid(12345) != 0 || connect(fd, (struct sockaddr *)&un, sizeof un) != 0)
                _exit(3);
            /* Whoever is let in is greeted. */
            _exit(recv(fd, &octet, 1, 0) == 1 ? 1 : 0);
        }
        event = net_event(&n, pull,
                          let_in ? SENNIT_EVENT_ACCEPTED : SENNIT_EVENT_ACCEPT_FAILED);
        assert_int_equal(event.err, let_in ? SENNIT_OK : SENNIT_EACCES);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, let_in << 8);
        net_close(&n);
    }
}

static void
a_connect_that_nobody_listens_for_is_tried_until_somebody_does(void **state)
{
    sennit_sock *push;
    sennit_sock *pull;
    sennit_event event;

    (void)state;
    net_open(&n);
    push = net_sock(&n, SENNIT_PUSH, NULL);
    net_connect(push, endpoint);
    event = net_event(&n, push, SENNIT_EVENT_CONNECT_FAILED);
    assert_int_equal(event.err, SENNIT_ENOENT);
    pull = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_sock_bind(pull, endpoint), SENNIT_OK);
    net_send(push, "late");
    assert_string_equal(net_recv(pull), "late");
    net_close(&n);
}

#define NAMED(name, function)                                                            \
    {                                                                                    \
        name, function, set_up, tear_down, NULL                                          \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NAMED("D17a: a path of 107 octets works and no longer one",
              a_path_of_107_octets_works_and_no_longer_one),
        NAMED("D17b: what a killed process left is taken over",
              what_a_killed_process_left_is_taken_over),
        NAMED("D17c: a live one is never robbed and hears nothing of it",
              a_live_one_is_never_robbed_and_hears_nothing_of_it),
        NAMED("D17c: one that does not listen yet is not stale",
              one_that_does_not_listen_yet_is_not_stale),
        NAMED("D17d: a file or directory is left alone",
              a_file_or_directory_is_left_alone),
        NAMED("D17e: whoever comes after keeps his file",
              whoever_comes_after_keeps_his_file),
        NAMED("D17f: a normal end leaves no file", a_normal_end_leaves_no_file),
        NAMED("D17g: an abstract name has no file", an_abstract_name_has_no_file),
        NAMED("two who find one stale file do not rob each other",
              two_who_find_one_stale_file_do_not_rob_each_other),
        NAMED("a lock that is held for ever is not waited for",
              a_lock_that_is_held_for_ever_is_not_waited_for),
        NAMED("the path has the permissions asked for",
              the_path_has_the_permissions_asked_for),
        NAMED("without /proc permissions are given or refused with a reason",
              without_proc_permissions_are_given_or_refused_with_a_reason),
        NAMED("permissions are not given through a link",
              permissions_are_not_given_through_a_link),
        NAMED("a relative path is removed from where it was made",
              a_relative_path_is_removed_from_where_it_was_made),
        NAMED("a fresh path leaves neither file nor directory",
              a_fresh_path_leaves_neither_file_nor_directory),
        NAMED("peers are let in by their credentials",
              peers_are_let_in_by_their_credentials),
        NAMED("another user is told apart", another_user_is_told_apart),
        NAMED("a connect that nobody listens for is tried until somebody does",
              a_connect_that_nobody_listens_for_is_tried_until_somebody_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
