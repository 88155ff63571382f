/* SPDX-License-Identifier: MIT */
/* Connections: a server that sends each message back, and a client that asks it. The server serves
 * one peer after the other; port 0 takes any free port, which it tells on standard error.
 *
 *     ./echo serve 127.0.0.1 7000
 *     ./echo ask 127.0.0.1 7000 "how far is it?"
 *
 * With ZCRP_KEYS=FILE in both environments, a file of zcrp-keys, the data are encrypted.
 *
 *     cc echo.c -o echo $(pkg-config --cflags --libs zcrp) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zcrp.h>

enum { MESSAGE_BYTES = 1 << 16 };

static const struct zcrp_options options = {.flags = ZCRP_ENVIRONMENT_KEYS};

static void check(const char *what, int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "echo: %s: %s\n", what, zcrp_explain(code));
    exit(1);
}

/* Submits the message to one half of a connection and waits for its end. Returns its code. */
static int pass(struct zcrp_entity *half, struct zcrp_msg *message, nlong size)
{
    int code = zcrp_submit(half, message, size);

    return code == ZCRP_OK ? zcrp_wait_for(message, -1) : code;
}

/* Sends back what comes, until the peer closes. */
static void serve_one(struct zcrp_connection *connection, struct zcrp_msg *message)
{
    char peer[64];

    if (zcrp_connection_peer(connection, peer, sizeof(peer)) == ZCRP_OK)
        fprintf(stderr, "echo: serving %s\n", peer);
    while (pass(zcrp_connection_receiver(connection), message, MESSAGE_BYTES) == ZCRP_OK)
        if (pass(zcrp_connection_sender(connection), message, message->length) != ZCRP_OK)
            break;
    (void)zcrp_connection_close(connection);
}

static void serve(const char *host, const char *port, struct zcrp_msg *message)
{
    struct zcrp_listener *listener;
    struct zcrp_connection *connection;

    check("listen", zcrp_listen(&listener, host, port, &options));
    fprintf(stderr, "echo: port %d\n", zcrp_listener_port(listener));
    for (;;) {
        check("accept", zcrp_accept(listener, &connection, -1));
        serve_one(connection, message);
    }
}

static void ask(const char *host, const char *port, const char *text, struct zcrp_msg *message)
{
    struct zcrp_connection *connection;
    nlong size = strlen(text) < MESSAGE_BYTES ? strlen(text) : MESSAGE_BYTES;

    check("connect", zcrp_connect(&connection, host, port, &options, -1));
    memcpy(message->buffer, text, (size_t)size);
    check("send", pass(zcrp_connection_sender(connection), message, size));
    check("receive", pass(zcrp_connection_receiver(connection), message, MESSAGE_BYTES));
    printf("%.*s\n", (int)message->length, (const char *)message->buffer);
    check("close", zcrp_connection_close(connection));
}

int main(int argc, char **argv)
{
    struct zcrp_msg *message = zcrp_alloc_msg(MESSAGE_BYTES);

    if (message == NULL)
        check("message", ZCRP_ERROR_MEMORY);
    if (argc == 4 && strcmp(argv[1], "serve") == 0) {
        serve(argv[2], argv[3], message);
    } else if (argc == 5 && strcmp(argv[1], "ask") == 0) {
        ask(argv[2], argv[3], argv[4], message);
    } else {
        fprintf(stderr, "usage: echo serve HOST PORT | echo ask HOST PORT TEXT\n");
        return 2;
    }
    zcrp_free_msg(message);
    return 0;
}
