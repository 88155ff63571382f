/* SPDX-License-Identifier: MIT */
/* Keeps many messages in flight and waits for them in a poll loop. Both ends run the same loop:
 *
 *     ./poll receive 127.0.0.1 7000
 *     ./poll send 127.0.0.1 7000
 *
 *     cc poll.c -o poll $(pkg-config --cflags --libs zcrp) */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zcrp.h>

enum { MESSAGES = 10000, IN_FLIGHT = 64, MESSAGE_BYTES = 16 << 10 };

static void check(const char *what, int code)
{
    if (code >= 0)
        return;
    fprintf(stderr, "poll: %s: %s\n", what, zcrp_explain(code));
    exit(1);
}

/* Opens one end. The receiver tells its port, because port 0 takes any free one. */
static struct zcrp_entity *open_end(int is_sender, const char *host, const char *port)
{
    int fd = is_sender ? zcrp_udp_connect(host, port) : zcrp_udp_listen(host, port);
    struct zcrp_entity *entity;

    check("socket", fd);
    if (is_sender) {
        check("open", zcrp_open_sender(&entity, (int[]){fd, fd}, NULL));
    } else {
        fprintf(stderr, "poll: port %d\n", zcrp_udp_port(fd));
        check("accept", zcrp_udp_accept(fd, -1));
        check("open", zcrp_open_receiver(&entity, (int[]){fd, fd}, NULL));
    }
    close(fd); /* the library has a duplicate */
    return entity;
}

/* Submits the message. A sender writes the message's number into it first. */
static void submit(struct zcrp_entity *entity, struct zcrp_msg *message, int is_sender, int number)
{
    if (is_sender)
        memcpy(message->buffer, &number, sizeof(number));
    check("submit", zcrp_submit(entity, message, MESSAGE_BYTES));
}

int main(int argc, char **argv)
{
    int is_sender = argc > 1 && strcmp(argv[1], "send") == 0;
    int submitted = 0, ended = 0, number;
    unsigned long sum = 0;
    struct zcrp_msg *message;

    if (argc != 4 || (!is_sender && strcmp(argv[1], "receive") != 0)) {
        fprintf(stderr, "usage: poll send|receive HOST PORT\n");
        return 2;
    }
    struct zcrp_entity *entity = open_end(is_sender, argv[2], argv[3]);
    /* From this call on, messages that end can be collected. */
    struct pollfd set[] = {{.fd = zcrp_descriptor(entity), .events = POLLIN}};
    check("descriptor", set[0].fd);
    for (; submitted < IN_FLIGHT; submitted++) {
        message = zcrp_alloc_msg(MESSAGE_BYTES);
        if (message == NULL)
            check("message", ZCRP_ERROR_MEMORY);
        submit(entity, message, is_sender, submitted);
    }
    while (ended < MESSAGES) {
        /* Other descriptors of the program belong into this set, too. */
        if (poll(set, 1, -1) < 0 && errno != EINTR)
            check("poll", ZCRP_ERROR_SYSTEM);
        /* The descriptor stays readable until everything that ended is collected. */
        while ((message = zcrp_collect(entity)) != NULL) {
            check("message", zcrp_error(message));
            memcpy(&number, message->buffer, sizeof(number));
            sum += (unsigned long)number;
            ended++;
            if (submitted < MESSAGES)
                submit(entity, message, is_sender, submitted++);
            else
                zcrp_free_msg(message);
        }
    }
    check("close", zcrp_close(entity));
    printf("%d messages, the sum of their numbers is %lu\n", ended, sum);
    return 0;
}
