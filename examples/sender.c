/* SPDX-License-Identifier: MIT */
/* Sends its standard input to receiver.c, in messages of up to 1 MiB. A message of 0 bytes ends the
 * stream. Start the receiver first:
 *
 *     ./receiver 127.0.0.1 7000 >copy
 *     ./sender 127.0.0.1 7000 <file
 *
 * With ZCRP_KEYS=FILE in both environments, a file of zcrp-keys, the data are encrypted.
 *
 *     cc sender.c -o sender $(pkg-config --cflags --libs zcrp) */
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
    fprintf(stderr, "sender: %s: %s\n", what, zcrp_explain(code));
    exit(1);
}

/* Fills the message from standard input. Returns the bytes, 0 at the end. */
static size_t fill(struct zcrp_msg *message)
{
    size_t bytes = fread(message->buffer, 1, MESSAGE_BYTES, stdin);

    if (ferror(stdin)) {
        fprintf(stderr, "sender: standard input cannot be read\n");
        exit(1);
    }
    return bytes;
}

int main(int argc, char **argv)
{
    const struct zcrp_options options = {.flags = ZCRP_ENVIRONMENT_KEYS};
    struct zcrp_entity *sender;
    size_t bytes;

    if (argc != 3) {
        fprintf(stderr, "usage: sender HOST PORT\n");
        return 2;
    }
    struct zcrp_msg *message = zcrp_alloc_msg(MESSAGE_BYTES);
    if (message == NULL)
        check("message", ZCRP_ERROR_MEMORY);
    int fd = zcrp_udp_connect(argv[1], argv[2]);
    check("connect", fd);
    /* One socket carries both directions of the channel, so it is given twice. */
    check("open", zcrp_open_sender(&sender, (int[]){fd, fd}, &options));
    do {
        bytes = fill(message);
        check("submit", zcrp_submit(sender, message, bytes));
        /* The buffer belongs to the library until the message has ended. No limit is given here:
         * the library ends the wait if the peer is not there, falls silent or makes no progress. */
        check("send", zcrp_wait_for(message, -1));
    } while (bytes > 0);
    /* Close waits for the receiver to confirm. */
    check("close", zcrp_close(sender));
    zcrp_free_msg(message);
    close(fd);
    return 0;
}
