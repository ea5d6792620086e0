/* SPDX-License-Identifier: MIT */
/* Many frames in one call, and one frame of many pieces. */
#include "net.h"
#include "suite.h"

#include "base/limits.h"
#include "kernel_calls.h"

static net n;

static const char *const texts[] = { "a", "b|c", "d|e|f", "g" };

/* Frames of messages that are written as net_send() has them. */
static size_t
make(sennit_msg *msgs, const char *const *messages, size_t count)
{
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        const char *at = messages[i];

        for (const char *end = at; end != NULL; at = end + 1) {
            end = strchr(at, '|');
            assert_int_equal(
                sennit_msg_init_copy(&msgs[made], at,
                                     end == NULL ? strlen(at) : (size_t)(end - at)),
                SENNIT_OK);
            sennit_msg_set_more(&msgs[made], end != NULL);
            made++;
            if (end == NULL)
                break;
        }
    }
    return made;
}

static void
init_all(sennit_msg *msgs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sennit_msg_init(&msgs[i]);
}

static void
fini_all(sennit_msg *msgs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sennit_msg_fini(&msgs[i]);
}

/* As net_recv() writes it, one message behind the other with a blank between. */
static const char *
write_down(const sennit_msg *msgs, size_t count)
{
    static char text[4096];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%s",
                                 (int)sennit_msg_size(&msgs[i]),
                                 (const char *)sennit_msg_bytes(&msgs[i]).data,
                                 sennit_msg_more(&msgs[i]) ? "|"
                                 : i + 1 < count           ? " "
                                                           : "");
    return text;
}

static void
open_pair(transport via, sennit_sock_type binds, sennit_sock **binder,
          sennit_sock_type connects, sennit_sock **connecter)
{
    net_open(&n);
    *binder = net_sock(&n, binds, NULL);
    *connecter = net_sock(&n, connects, NULL);
    net_join(&n, *binder, *connecter, via);
}

static size_t
send_many(sennit_sock *sock, sennit_msg *msgs, size_t count)
{
    size_t sent = 0;

    assert_int_equal(sennit_sock_send_many(sock, msgs, count, 0, &sent), SENNIT_OK);
    return sent;
}

static size_t
recv_many(sennit_sock *sock, sennit_msg *msgs, size_t count)
{
    size_t received = 0;

    assert_int_equal(sennit_sock_recv_many(sock, msgs, count, 0, &received), SENNIT_OK);
    return received;
}

/* ---- sending ------------------------------------------------------------- */

static void
frames_arrive_as_the_messages_that_they_say_they_are(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pull;
        sennit_sock *push;
        sennit_msg msgs[7];

        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        assert_int_equal(make(msgs, texts, 4), 7);
        assert_int_equal(send_many(push, msgs, 7), 7);
        for (int i = 0; i < 7; i++) {
            assert_int_equal(sennit_msg_size(&msgs[i]), 0);
            assert_false(sennit_msg_more(&msgs[i]));
        }
        for (int i = 0; i < 4; i++)
            assert_string_equal(net_recv(pull), texts[i]);
        assert_int_equal(net_stats(push).sent_msgs, 4);
        assert_int_equal(net_stats(push).sent_bytes, 7);
        net_check_law(push);
        net_close(&n);
    }
}

static void
nothing_at_all_can_be_sent_and_received(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    size_t count = 5;

    (void)state;
    open_pair(TCP, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
    assert_int_equal(sennit_sock_send_many(push, NULL, 0, 0, &count), SENNIT_OK);
    assert_int_equal(count, 0);
    count = 5;
    assert_int_equal(sennit_sock_recv_many(pull, NULL, 0, 0, &count), SENNIT_OK);
    assert_int_equal(count, 0);
    net_close(&n);
}

static void
a_message_that_was_begun_goes_on_with_the_first_frame(void **state)
{
    static const char *const rest[] = { "b|c", "d" };
    sennit_sock *pull;
    sennit_sock *push;
    sennit_msg msgs[3];

    (void)state;
    open_pair(IPC, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
    assert_int_equal(sennit_sock_send_bytes(push, "a", 1, SENNIT_MORE), SENNIT_OK);
    assert_int_equal(send_many(push, msgs, make(msgs, rest, 2)), 3);
    assert_string_equal(net_recv(pull), "a|b|c");
    assert_string_equal(net_recv(pull), "d");
    net_close(&n);
}

/* Nobody is there: a connect queues as many as its mark says. */
static void
whole_messages_are_taken_up_to_the_mark_and_the_rest_is_untouched(void **state)
{
    static const char *const five[] = { "1|one", "2|two", "3|three", "4|four", "5|five" };
    sennit_sock_opts opts = net_opts();

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *push;
        sennit_msg msgs[10];
        size_t sent = 77;

        net_open(&n);
        opts.send_hwm_msgs = 3;
        push = net_sock(&n, SENNIT_PUSH, &opts);
        net_connect(push, net_vacant((transport)via));
        assert_int_equal(make(msgs, five, 5), 10);
        assert_int_equal(send_many(push, msgs, 10), 6);
        assert_string_equal(write_down(msgs + 6, 4), "4|four 5|five");
        assert_int_equal(sennit_sock_send_many(push, msgs + 6, 4, SENNIT_DONTWAIT, &sent),
                         SENNIT_EAGAIN);
        assert_int_equal(sent, 77);
        assert_string_equal(write_down(msgs + 6, 4), "4|four 5|five");
        fini_all(msgs, 10);
        net_close(&n);
    }
}

static struct {
    sennit_sock *late;
    const char *endpoint;
} visitor;

static void
connect_late(void *arg)
{
    (void)arg;
    net_connect(visitor.late, visitor.endpoint);
}

static void
the_first_message_is_waited_for(void **state)
{
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_msg msgs[7];
    size_t sent = 77;

    (void)state;
    net_open(&n);
    opts.send_timeout_ms = 1;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    visitor.endpoint = net_bind(push, TCP);
    make(msgs, texts, 4);
    assert_int_equal(sennit_sock_send_many(push, msgs, 7, 0, &sent), SENNIT_EAGAIN);
    assert_int_equal(sent, 77);
    assert_string_equal(write_down(msgs, 7), "a b|c d|e|f g");
    opts.send_timeout_ms = DEADLINE_MS;
    assert_int_equal(sennit_sock_set_opts(push, &opts), SENNIT_OK);
    visitor.late = net_sock(&n, SENNIT_PULL, NULL);
    assert_int_equal(sennit_loop_post(n.loop, connect_late, NULL), SENNIT_OK);
    assert_int_equal(send_many(push, msgs, 7), 7);
    for (int i = 0; i < 4; i++)
        assert_string_equal(net_recv(visitor.late), texts[i]);
    net_close(&n);
}

/* What stops the second is told to the call that begins with it. */
static void
an_error_is_told_only_when_nothing_was_sent(void **state)
{
    static const char *const two[] = { "one", "two" };
    sennit_sock *rep;
    sennit_sock *req;
    sennit_msg msgs[2];
    size_t sent = 77;

    (void)state;
    open_pair(TCP, SENNIT_REP, &rep, SENNIT_REQ, &req);
    make(msgs, two, 2);
    assert_int_equal(send_many(req, msgs, 2), 1);
    assert_int_equal(sennit_sock_send_many(req, msgs + 1, 1, 0, &sent), SENNIT_ESTATE);
    assert_non_null(strstr(sennit_loop_why(n.loop), "a REQ receives the reply"));
    assert_int_equal(sent, 77);
    assert_string_equal(net_recv(rep), "one");
    fini_all(msgs, 2);
    make(msgs, two, 2);
    assert_int_equal(send_many(rep, msgs, 2), 1);
    assert_int_equal(sennit_sock_send_many(rep, msgs + 1, 1, 0, &sent), SENNIT_ESTATE);
    assert_string_equal(net_recv(req), "one");
    assert_int_equal(sennit_sock_recv_many(rep, msgs, 2, SENNIT_DONTWAIT, &sent),
                     SENNIT_EAGAIN);
    assert_int_equal(sennit_sock_recv_many(req, msgs, 2, 0, &sent), SENNIT_ESTATE);
    fini_all(msgs, 2);
    net_close(&n);
}

static void
a_last_frame_that_says_that_another_follows_is_refused(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    sennit_msg msgs[7];
    size_t sent = 77;

    (void)state;
    open_pair(TCP, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
    make(msgs, texts, 4);
    assert_int_equal(sennit_sock_send_many(push, msgs, 2, 0, &sent), SENNIT_EINVAL);
    assert_non_null(strstr(sennit_loop_why(n.loop), "last frame"));
    assert_int_equal(sent, 77);
    assert_int_equal(net_stats(push).sent_msgs, 0);
    fini_all(msgs, 7);
    net_close(&n);
}

static void
conflate_takes_messages_of_one_frame_only(void **state)
{
    static const char *const mixed[] = { "one", "two|frames" };
    sennit_sock_opts opts = net_opts();
    sennit_sock *push;
    sennit_msg msgs[3];
    size_t sent = 77;

    (void)state;
    net_open(&n);
    opts.conflate = true;
    push = net_sock(&n, SENNIT_PUSH, &opts);
    net_connect(push, net_vacant(TCP));
    make(msgs, mixed, 2);
    assert_int_equal(send_many(push, msgs, 3), 1);
    assert_int_equal(sennit_sock_send_many(push, msgs + 1, 2, 0, &sent), SENNIT_ENOTSUP);
    assert_int_equal(sent, 77);
    fini_all(msgs, 3);
    net_close(&n);
}

static void
a_publication_of_several_frames_arrives_whole_or_not_at_all(void **state)
{
    static const char *const news[] = { "weather|rain", "sports|1:0", "weather|sun" };

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pub;
        sennit_sock *sub;
        sennit_msg msgs[6];

        open_pair((transport)via, SENNIT_PUB, &pub, SENNIT_SUB, &sub);
        net_subscribe(sub, "weather");
        assert_int_equal(sennit_sock_wait_subscriptions(pub, 1, DEADLINE_MS), SENNIT_OK);
        assert_int_equal(send_many(pub, msgs, make(msgs, news, 3)), 6);
        for (size_t got = 0; got < 4;)
            got += recv_many(sub, msgs + got, 6 - got);
        assert_string_equal(write_down(msgs, 4), "weather|rain weather|sun");
        fini_all(msgs, 6);
        net_close(&n);
    }
}

/* ---- receiving ----------------------------------------------------------- */

static void
what_is_there_is_taken_and_no_more_is_waited_for(void **state)
{
    sennit_sock_opts opts = net_opts();

    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pull;
        sennit_sock *push;
        sennit_msg msgs[10];
        size_t received = 77;

        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        init_all(msgs, 10);
        for (int i = 0; i < 4; i++)
            net_send(push, texts[i]);
        sennit_sock_flush(push);
        NET_UNTIL(&n, net_only_peer(pull).unread_msgs == 4);
        assert_int_equal(recv_many(pull, msgs, 10), 7);
        assert_string_equal(write_down(msgs, 7), "a b|c d|e|f g");
        assert_int_equal(sennit_msg_peer(&msgs[0]), net_only_peer(pull).number);
        assert_int_equal(
            sennit_sock_recv_many(pull, msgs, 10, SENNIT_DONTWAIT, &received),
            SENNIT_EAGAIN);
        assert_int_equal(received, 77);
        assert_string_equal(write_down(msgs, 7), "a b|c d|e|f g");
        opts.recv_timeout_ms = 1;
        assert_int_equal(sennit_sock_set_opts(pull, &opts), SENNIT_OK);
        assert_int_equal(sennit_sock_recv_many(pull, msgs, 10, 0, &received),
                         SENNIT_EAGAIN);
        assert_int_equal(net_stats(pull).received_msgs, 4);
        fini_all(msgs, 10);
        net_close(&n);
    }
}

static void
a_message_without_room_for_all_of_it_comes_in_parts(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pull;
        sennit_sock *push;
        sennit_msg msgs[3];

        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        init_all(msgs, 3);
        net_send(push, "1|2|3|4|5");
        net_send(push, "6");
        sennit_sock_flush(push);
        NET_UNTIL(&n, net_only_peer(pull).unread_msgs == 2);
        assert_int_equal(recv_many(pull, msgs, 2), 2);
        assert_string_equal(write_down(msgs, 2), "1|2|");
        assert_int_equal(recv_many(pull, msgs, 2), 2);
        assert_string_equal(write_down(msgs, 2), "3|4|");
        assert_int_equal(recv_many(pull, msgs, 3), 2);
        assert_string_equal(write_down(msgs, 2), "5 6");
        fini_all(msgs, 3);
        net_close(&n);
    }
}

/* What a ROUTER receives says where it is from, and what it sends where it goes: an echo
 * is two calls. */
static void
a_router_answers_with_the_frames_that_it_received(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *router;
        sennit_sock *dealer;
        sennit_msg msgs[16];
        size_t got = 0;

        open_pair((transport)via, SENNIT_ROUTER, &router, SENNIT_DEALER, &dealer);
        init_all(msgs, 16);
        assert_int_equal(send_many(dealer, msgs, make(msgs, texts, 4)), 7);
        while (got < 11)
            got += recv_many(router, msgs + got, 16 - got);
        assert_int_equal(got, 11);
        assert_int_equal(send_many(router, msgs, got), 11);
        for (int i = 0; i < 4; i++)
            assert_string_equal(net_recv(dealer), texts[i]);
        net_close(&n);
    }
}

/* ---- what it costs ------------------------------------------------------- */

static void
a_batch_is_one_send_one_wait_and_one_receive(void **state)
{
    enum { MANY = 100 };
    sennit_sock *pull;
    sennit_sock *push;
    sennit_msg msgs[MANY];

    (void)state;
    open_pair(IPC, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(sennit_msg_init_copy(&msgs[i], "0123456789", 10), SENNIT_OK);
    kernel = (kernel_calls){ 0 };
    assert_int_equal(send_many(push, msgs, MANY), MANY);
    sennit_sock_flush(push);
    assert_int_equal(recv_many(pull, msgs, MANY), MANY);
    /* io_uring receives in the call in which it waits. */
    assert_string_equal(kernel_calls_each(&kernel, 1),
                        strcmp(sennit_loop_backend(n.loop), "uring") == 0
                            ? "1 io_uring_submit_and_wait_timeout, 1 sendmsg"
                            : "1 epoll_wait, 1 recv, 1 sendmsg");
    fini_all(msgs, MANY);
    net_close(&n);
}

static void
a_loops_own_blocks_are_used_again(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    uint64_t before = 0;
    sennit_msg msg;

    (void)state;
    open_pair(IPC, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
    for (int i = 0; i < 100; i++) {
        if (i == 50)
            before = n.alloc.requests;
        assert_int_equal(sennit_loop_msg_init_size(n.loop, &msg, 50000), SENNIT_OK);
        memset(sennit_msg_data(&msg), i, 50000);
        assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
        assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
        assert_int_equal(sennit_msg_size(&msg), 50000);
        assert_int_equal(((uint8_t *)sennit_msg_data(&msg))[49999], i);
        sennit_msg_fini(&msg);
    }
    assert_int_equal(n.alloc.requests - before, 0);
    net_close(&n);
}

/* ---- pieces -------------------------------------------------------------- */

static uint8_t octets[200000];

static const struct pieces_row {
    const char *name;
    size_t count;
    size_t sizes[4];
} pieces_rows[] = {
    { "none", 0, { 0 } },
    { "empty ones", 2, { 0, 0 } },
    { "small", 3, { 1, 0, 54 } },
    { "as large as fits the batch", 2, { 4000, 95 } },
    { "one octet more", 2, { 4000, 96 } },
    { "large", 4, { 5, 100000, 0, 7 } },
    { "two large ones", 3, { 60000, 60000, 1 } },
};

static void
check_pieces(void **state)
{
    const struct pieces_row *row = *state;

    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (uint8_t)(i * 7 + i / 251);
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pull;
        sennit_sock *push;
        sennit_bytes parts[4];
        sennit_msg msg;
        size_t size = 0;

        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        for (size_t i = 0; i < row->count; i++) {
            parts[i] = (sennit_bytes){ octets + size, row->sizes[i] };
            size += row->sizes[i];
        }
        assert_int_equal(sennit_sock_send_parts(push, parts, row->count, SENNIT_MORE),
                         SENNIT_OK);
        assert_int_equal(sennit_sock_send_bytes(push, "end", 3, 0), SENNIT_OK);
        sennit_msg_init(&msg);
        assert_int_equal(sennit_sock_recv(pull, &msg, 0), SENNIT_OK);
        assert_true(sennit_msg_more(&msg));
        assert_int_equal(sennit_msg_size(&msg), size);
        assert_memory_equal(sennit_msg_data(&msg), octets, size);
        sennit_msg_fini(&msg);
        assert_string_equal(net_recv(pull), "end");
        net_close(&n);
    }
}

static void
pieces_that_no_memory_can_hold_are_refused(void **state)
{
    sennit_sock *pull;
    sennit_sock *push;
    sennit_bytes parts[2] = { { octets, SIZE_MAX }, { octets, 2 } };

    (void)state;
    open_pair(TCP, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
    assert_int_equal(sennit_sock_send_parts(push, parts, 2, 0), SENNIT_EINVAL);
    assert_int_equal(net_stats(push).sent_msgs, 0);
    net_close(&n);
}

/* ---- bodies that are gathered -------------------------------------------- */

static unsigned released;

static void
count_release(void *data, void *arg)
{
    (void)data;
    (void)arg;
    released++;
}

/* Parts that are referred to, copied, empty and inline; in all `size` octets. */
static void
gather(sennit_msg *msg, size_t size)
{
    size_t cuts[] = { 0, 0, size / 2, size / 2 + 9, size };
    sennit_msg parts[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(sennit_msg_init_user(&parts[i], octets + cuts[i],
                                              cuts[i + 1] - cuts[i], count_release, NULL),
                         SENNIT_OK);
    assert_int_equal(sennit_msg_init_gather(msg, parts, 4), SENNIT_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sennit_msg_size(&parts[i]), 0);
}

static const struct gathered_row {
    const char *name;
    size_t size;
} gathered_rows[] = {
    { "inline", 30 },      { "small", 4095 },      { "all copied", 4096 },
    { "one large", 9000 }, { "two large", 20000 }, { "beyond a chunk", 150000 },
};

static void
check_arrived(sennit_sock *sock, size_t size)
{
    sennit_msg msg;

    sennit_msg_init(&msg);
    assert_int_equal(sennit_sock_recv(sock, &msg, 0), SENNIT_OK);
    assert_int_equal(sennit_msg_size(&msg), size);
    assert_memory_equal(sennit_msg_data(&msg), octets, size);
    sennit_msg_fini(&msg);
}

static void
check_gathered(void **state)
{
    const struct gathered_row *row = *state;

    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (uint8_t)(i * 11 + i / 251);
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pull;
        sennit_sock *push;
        sennit_msg msg;
        sennit_msg again;

        released = 0;
        open_pair((transport)via, SENNIT_PULL, &pull, SENNIT_PUSH, &push);
        gather(&msg, row->size);
        sennit_msg_init(&again);
        sennit_msg_copy(&again, &msg);
        assert_int_equal(sennit_sock_send(push, &msg, 0), SENNIT_OK);
        check_arrived(pull, row->size);
        /* And once more, after it was looked at. */
        assert_memory_equal(sennit_msg_data(&again), octets, row->size);
        assert_int_equal(sennit_sock_send(push, &again, 0), SENNIT_OK);
        check_arrived(pull, row->size);
        assert_int_equal(released, 4);
        net_check_law(push);
        net_close(&n);
    }
}

/* The first frame decides who gets it, the second is encoded once for both. */
static void
a_gathered_body_can_be_published(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        sennit_sock *pub;
        sennit_sock *subs[2];
        sennit_msg msg;

        open_pair((transport)via, SENNIT_PUB, &pub, SENNIT_SUB, &subs[0]);
        subs[1] = net_sock(&n, SENNIT_SUB, NULL);
        net_connect(subs[1], sennit_sock_last_endpoint(pub));
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                sennit_sock_subscribe(subs[i], (sennit_bytes){ octets, 5000 }),
                SENNIT_OK);
        assert_int_equal(sennit_sock_wait_subscriptions(pub, 2, DEADLINE_MS), SENNIT_OK);
        gather(&msg, 20000);
        assert_int_equal(sennit_sock_send(pub, &msg, SENNIT_MORE), SENNIT_OK);
        gather(&msg, 30000);
        assert_int_equal(sennit_sock_send(pub, &msg, 0), SENNIT_OK);
        for (int i = 0; i < 2; i++) {
            check_arrived(subs[i], 20000);
            check_arrived(subs[i], 30000);
        }
        net_close(&n);
    }
}

static void
a_gathered_body_may_have_gathered_parts(void **state)
{
    sennit_msg parts[2];
    sennit_msg msg;

    (void)state;
    released = 0;
    for (int i = 0; i < 2; i++)
        gather(&parts[i], 20000);
    assert_int_equal(sennit_msg_init_gather(&msg, parts, 2), SENNIT_OK);
    assert_int_equal(released, 8);
    assert_memory_equal(sennit_msg_data(&msg), octets, 20000);
    assert_memory_equal((uint8_t *)sennit_msg_data(&msg) + 20000, octets, 20000);
    sennit_msg_fini(&msg);
}

/* ---- memory that runs out ------------------------------------------------ */

typedef struct life {
    transport via;
    sennit_sock_type sender;
    sennit_sock_type receiver;
} life;

/* Two messages: of two frames, one small and one large; and of one that is copied. */
static void
make_sizes(sennit_msg *msgs)
{
    static const size_t sizes[] = { 100, 60000, 3000 };

    for (int i = 0; i < 3; i++) {
        assert_int_equal(sennit_msg_init_copy(&msgs[i], octets, sizes[i]), SENNIT_OK);
        sennit_msg_set_more(&msgs[i], i == 0);
    }
}

/* Whatever fails, all frames arrive in the end, in order and whole. */
static void
all_arrive(test_alloc *alloc, void *arg)
{
    const life *l = arg;
    sennit_loop_opts loop_opts = SENNIT_LOOP_OPTS_DEFAULT;
    sennit_sock_opts opts = net_opts();
    sennit_sock *from;
    sennit_sock *to;
    sennit_msg msgs[3];
    size_t done = 0;
    sennit_err err;

    loop_opts.allocator = &alloc->allocator;
    TWICE(err, sennit_loop_open(&n.loop, &loop_opts));
    assert_int_equal(err, SENNIT_OK);
    WORKS(err, sennit_sock_open(&from, n.loop, l->sender, &opts));
    WORKS(err, sennit_sock_open(&to, n.loop, l->receiver, &opts));
    WORKS(err, sennit_sock_bind(to, net_fresh(l->via)));
    WORKS(err, sennit_sock_connect(from, sennit_sock_last_endpoint(to)));
    NET_UNTIL(&n, net_stats(from).connections > 0 && net_stats(to).connections > 0);
    make_sizes(msgs);
    while (done < 3) {
        size_t sent = 0;

        WORKS(err, sennit_sock_send_many(from, msgs + done, 3 - done, 0, &sent));
        assert_in_range(sent, 1, 3 - done);
        done += sent;
    }
    for (done = 0; done < 3;) {
        size_t received = 0;

        WORKS(err, sennit_sock_recv_many(to, msgs + done, 3 - done, 0, &received));
        assert_in_range(received, 1, 3 - done);
        done += received;
    }
    assert_true(sennit_msg_more(&msgs[0]));
    assert_int_equal(sennit_msg_size(&msgs[1]), 60000);
    assert_memory_equal(sennit_msg_data(&msgs[1]), octets, 60000);
    assert_int_equal(sennit_msg_size(&msgs[2]), 3000);
    fini_all(msgs, 3);
    WORKS(err, sennit_sock_send_parts(
                   from, (sennit_bytes[]){ { octets, 9 }, { octets, 9000 } }, 2, 0));
    WORKS(err, sennit_sock_recv(to, &msgs[0], 0));
    assert_int_equal(sennit_msg_size(&msgs[0]), 9009);
    sennit_msg_fini(&msgs[0]);
    gather(&msgs[0], 20000);
    WORKS(err, sennit_sock_send(from, &msgs[0], 0));
    check_arrived(to, 20000);
    sennit_loop_close(n.loop);
}

static void
every_failed_allocation_leaves_whole_messages(void **state)
{
    (void)state;
    for (int via = 0; via < TRANSPORTS; via++) {
        life l = { (transport)via, SENNIT_PUSH, SENNIT_PULL };

        assert_true(test_alloc_every_failure(all_arrive, &l) > 5);
        l = (life){ (transport)via, SENNIT_PAIR, SENNIT_PAIR };
        assert_true(test_alloc_every_failure(all_arrive, &l) > 5);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_as_the_messages_that_they_say_they_are),
        cmocka_unit_test(nothing_at_all_can_be_sent_and_received),
        cmocka_unit_test(a_message_that_was_begun_goes_on_with_the_first_frame),
        cmocka_unit_test(
            whole_messages_are_taken_up_to_the_mark_and_the_rest_is_untouched),
        cmocka_unit_test(the_first_message_is_waited_for),
        cmocka_unit_test(an_error_is_told_only_when_nothing_was_sent),
        cmocka_unit_test(a_last_frame_that_says_that_another_follows_is_refused),
        cmocka_unit_test(conflate_takes_messages_of_one_frame_only),
        cmocka_unit_test(a_publication_of_several_frames_arrives_whole_or_not_at_all),
        cmocka_unit_test(what_is_there_is_taken_and_no_more_is_waited_for),
        cmocka_unit_test(a_message_without_room_for_all_of_it_comes_in_parts),
        cmocka_unit_test(a_router_answers_with_the_frames_that_it_received),
        cmocka_unit_test(a_batch_is_one_send_one_wait_and_one_receive),
        cmocka_unit_test(a_loops_own_blocks_are_used_again),
        cmocka_unit_test(pieces_that_no_memory_can_hold_are_refused),
        cmocka_unit_test(a_gathered_body_can_be_published),
        cmocka_unit_test(a_gathered_body_may_have_gathered_parts),
        cmocka_unit_test(every_failed_allocation_leaves_whole_messages),
    };
    static test_suite suite;

    TEST_SUITE_ADD(&suite, tests);
    TEST_SUITE_ROWS(&suite, "pieces_make_one_body: ", pieces_rows, check_pieces);
    TEST_SUITE_ROWS(&suite, "a_body_is_gathered: ", gathered_rows, check_gathered);
    return test_suite_run(&suite);
}
