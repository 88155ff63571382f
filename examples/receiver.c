/* SPDX-License-Identifier: MIT */
/* Receives what sender.c sends and writes it to standard output. Port 0 takes any free port; the
 * program tells which on standard error.
 *
 *     ./receiver 127.0.0.1 7000 >copy
 *     ./sender 127.0.0.1 7000 <file
 *
 * With ZCRP_KEYS=FILE in both environments, a file of zcrp-keys, the data are encrypted.
 *
 *     cc receiver.c -o receiver $(pkg-config --cflags --libs zcrp) */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zcrp.h>

enum { MESSAGE_BYTES = 1 << 20 };

/* Codes are negative. */
static void check(const char *what, int code)
{
    if (code >= 0)
        return;
    fprintf(stderr, "receiver: %s: %s\n", what, zcrp_explain(code));
    exit(1);
}

/* Writes the message to standard output. */
static void write_out(const struct zcrp_msg *message)
{
    size_t bytes = (size_t)message->length;

    if (fwrite(message->buffer, 1, bytes, stdout) != bytes || fflush(stdout) != 0) {
        fprintf(stderr, "receiver: standard output cannot be written\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const struct zcrp_options options = {.flags = ZCRP_ENVIRONMENT_KEYS};
    struct zcrp_entity *receiver;

    if (argc != 3) {
        fprintf(stderr, "usage: receiver HOST PORT\n");
        return 2;
    }
    struct zcrp_msg *message = zcrp_alloc_msg(MESSAGE_BYTES);
    if (message == NULL)
        check("message", ZCRP_ERROR_MEMORY);
    int fd = zcrp_udp_listen(argv[1], argv[2]);
    check("listen", fd);
    fprintf(stderr, "receiver: port %d\n", zcrp_udp_port(fd));
    /* Waits for the first sender, without a time limit, and connects the socket to it. */
    check("accept", zcrp_udp_accept(fd, -1));
    check("open", zcrp_open_receiver(&receiver, (int[]){fd, fd}, &options));
    do {
        /* The message may be shorter than the buffer: `length` tells how much arrived. */
        check("submit", zcrp_submit(receiver, message, MESSAGE_BYTES));
        check("receive", zcrp_wait_for(message, -1));
        write_out(message);
    } while (message->length > 0);
    check("close", zcrp_close(receiver));
    zcrp_free_msg(message);
    close(fd);
    return 0;
}
