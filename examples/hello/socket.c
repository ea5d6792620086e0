/* SPDX-License-Identifier: MIT */
/* A REP socket that answers one question. Any ZeroMQ program may ask it; ask.py
 * does so with pyzmq. */
#include <stdio.h>

#include <sennit/sennit.h>

int
main(void)
{
    sennit_loop *loop = NULL;
    sennit_sock *sock = NULL;
    char question[64];
    size_t size = 0;

    sennit_err err = sennit_loop_open(&loop, NULL);
    if (err)
        goto out;
    err = sennit_sock_open(&sock, loop, SENNIT_REP, NULL);
    if (err)
        goto out;
    err = sennit_sock_bind(sock, "tcp://127.0.0.1:*");
    if (err)
        goto out;
    printf("%s\n", sennit_sock_last_endpoint(sock));
    fflush(stdout);

    err = sennit_sock_recv_bytes(sock, question, sizeof question, &size, 0);
    if (err)
        goto out;
    if (size > sizeof question)
        size = sizeof question;
    printf("asked: %.*s\n", (int)size, question);
    err = sennit_sock_send_bytes(sock, "world", 5, 0);

out:
    if (err)
        fprintf(stderr, "socket: %s\n", sennit_err_text(err));
    sennit_loop_close(loop); /* closes the socket once the answer has left */
    return err ? 1 : 0;
}
