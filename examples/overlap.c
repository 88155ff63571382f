/* SPDX-License-Identifier: MIT */
/* Computes while messages are under way, with the paper's API. Each end has several buffers: while
 * it computes in one of them, the library's threads send or receive the others.
 *
 *     ./overlap receive 127.0.0.1 7000
 *     ./overlap send 127.0.0.1 7000
 *
 *     cc overlap.c -o overlap $(pkg-config --cflags --libs zcrp) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zcrp.h>

enum { FRAMES = 200, BUFFERS = 4, FRAME_BYTES = 1 << 20 };

static struct zcrp_msg *frame[BUFFERS]; /* frame n is in buffer n % BUFFERS */

/* Ends the program unless the call succeeded. The message knows why it failed; the thread knows why
 * its last call did. */
static void check(const char *what, int is_success, const struct zcrp_msg *message)
{
    if (is_success)
        return;
    fprintf(stderr, "overlap: %s: %s\n", what, zcrp_explain(zcrp_error(message)));
    exit(1);
}

/* Adds up a frame: this stands for the work of a program. */
static unsigned long use(const struct zcrp_msg *message)
{
    unsigned long sum = 0;

    for (nlong i = 0; i < message->length; i++)
        sum += message->buffer[i];
    return sum;
}

static void send_frames(int fd)
{
    check("init", zcrp_send_init((int[]){fd, fd}), NULL);
    for (int n = 0; n < FRAMES; n++) {
        struct zcrp_msg *message = frame[n % BUFFERS];
        if (n >= BUFFERS) /* the buffer is free once its last frame has been sent */
            check("wait", zcrp_wait(message) == 1, message);
        /* This stands for the work of a program. Meanwhile the other buffers are sent. */
        memset(message->buffer, n, FRAME_BYTES);
        check("send", zcrp_send(message, FRAME_BYTES), NULL);
    }
    for (int n = 0; n < BUFFERS; n++)
        check("wait", zcrp_wait(frame[n]) == 1, frame[n]);
    check("close", zcrp_send_close(), NULL);
    printf("%d frames sent\n", FRAMES);
}

static void receive_frames(int fd)
{
    unsigned long sum = 0;

    fprintf(stderr, "overlap: port %d\n", zcrp_udp_port(fd)); /* port 0 takes any free one */
    int code = zcrp_udp_accept(fd, -1);
    if (code != ZCRP_OK) {
        fprintf(stderr, "overlap: accept: %s\n", zcrp_explain(code));
        exit(1);
    }
    check("init", zcrp_rcv_init((int[]){fd, fd}), NULL);
    for (int n = 0; n < BUFFERS; n++)
        check("receive", zcrp_rcv(frame[n], FRAME_BYTES), NULL);
    for (int n = 0; n < FRAMES; n++) {
        struct zcrp_msg *message = frame[n % BUFFERS];
        check("wait", zcrp_wait(message) == 1, message);
        sum += use(message); /* meanwhile the next frames arrive in the other buffers */
        if (n + BUFFERS < FRAMES)
            check("receive", zcrp_rcv(message, FRAME_BYTES), NULL);
    }
    check("close", zcrp_rcv_close(), NULL);
    printf("%d frames received, their sum is %lu\n", FRAMES, sum);
}

int main(int argc, char **argv)
{
    int is_sender = argc > 1 && strcmp(argv[1], "send") == 0;

    if (argc != 4 || (!is_sender && strcmp(argv[1], "receive") != 0))
        return fprintf(stderr, "usage: overlap send|receive HOST PORT\n"), 2;
    int fd = (is_sender ? zcrp_udp_connect : zcrp_udp_listen)(argv[2], argv[3]);
    if (fd < 0)
        return fprintf(stderr, "overlap: socket: %s\n", zcrp_explain(fd)), 1;
    for (int n = 0; n < BUFFERS; n++) {
        frame[n] = zcrp_alloc_msg(FRAME_BYTES);
        if (frame[n] == NULL)
            return fprintf(stderr, "overlap: there is no memory\n"), 1;
    }
    (is_sender ? send_frames : receive_frames)(fd);
    for (int n = 0; n < BUFFERS; n++)
        zcrp_free_msg(frame[n]);
    return close(fd) == 0 ? 0 : 1;
}
