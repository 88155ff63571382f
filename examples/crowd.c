/* SPDX-License-Identifier: MIT */
/* An event loop with 100 peers: one thread and one queue, at either end. The server sends each
 * message back. The client has 100 connections to it, and asks 100 questions over each of them.
 * Port 0 takes any free port, which the server tells on standard error.
 *
 *     ./crowd serve 127.0.0.1 7000
 *     ./crowd ask 127.0.0.1 7000
 *
 *     cc crowd.c -o crowd $(pkg-config --cflags --libs zcrp) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zcrp.h>

enum { PEERS = 100, QUESTIONS = 100, BYTES = 1 << 10, TAKEN_AT_ONCE = 64 };

struct peer {
    struct zcrp_connection *connection;
    struct zcrp_msg *in, *out;
    int answers; /* that the client has */
};

static struct zcrp_queue *queue;

static void check(const char *what, int code)
{
    if (code >= 0)
        return;
    fprintf(stderr, "crowd: %s: %s\n", what, zcrp_explain(code));
    exit(1);
}

static void submit(struct zcrp_entity *half, struct zcrp_msg *message, nlong size)
{
    check("submit", zcrp_submit(half, message, size));
}

static void receive(struct peer *peer)
{
    submit(zcrp_connection_receiver(peer->connection), peer->in, BYTES);
}

static struct peer *create(struct zcrp_connection *connection)
{
    struct peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        check("memory", ZCRP_ERROR_MEMORY);
    peer->connection = connection;
    peer->in = zcrp_alloc_msg(BYTES);
    peer->out = zcrp_alloc_msg(BYTES);
    if (peer->in == NULL || peer->out == NULL)
        check("memory", ZCRP_ERROR_MEMORY);
    check("add", zcrp_queue_add_connection(queue, connection, peer));
    receive(peer);
    return peer;
}

/* Behind the close the queue tells nothing more of it. */
static void destroy(struct peer *peer)
{
    (void)zcrp_connection_close(peer->connection);
    zcrp_free_msg(peer->in);
    zcrp_free_msg(peer->out);
    free(peer);
}

/* ---- the server ---- */

static void welcome(struct zcrp_listener *listener)
{
    struct zcrp_connection *connection;

    if (zcrp_accept(listener, &connection, 0) == ZCRP_OK)
        (void)create(connection);
}

/* A question has come: it goes back, and once it has, the next one may come. A failure ends this
 * peer alone. */
static void serve_message(struct peer *peer, const struct zcrp_completion *done)
{
    struct zcrp_entity *sender = zcrp_connection_sender(peer->connection);
    int code = done->code;

    if (code == ZCRP_OK && done->entity != sender)
        code = zcrp_submit(sender, peer->in, peer->in->length);
    else if (code == ZCRP_OK)
        code = zcrp_submit(zcrp_connection_receiver(peer->connection), peer->in, BYTES);
    if (code != ZCRP_OK)
        destroy(peer);
}

/* One completion at a time: a peer that is destroyed has no other in the same array. */
static void serve(const char *host, const char *port)
{
    struct zcrp_completion done;
    struct zcrp_listener *listener;

    check("listen", zcrp_listen(&listener, host, port, NULL));
    fprintf(stderr, "crowd: port %d\n", zcrp_listener_port(listener));
    check("add", zcrp_queue_add_listener(queue, listener, NULL));
    for (;;) {
        check("take", zcrp_queue_take(queue, &done, 1, -1));
        if (done.kind == ZCRP_PEER_CALLED)
            welcome(done.listener);
        else if (done.kind == ZCRP_MESSAGE_ENDED)
            serve_message(done.context, &done);
    }
}

/* ---- the client ---- */

static void ask(struct peer *peer)
{
    memset(peer->out->buffer, peer->answers, BYTES);
    submit(zcrp_connection_sender(peer->connection), peer->out, BYTES);
}

/* A message of this peer has ended. Once both have, it asks again. 1 if it was the last answer. */
static int on_message(struct peer *peer)
{
    if (peer->answers == QUESTIONS || !zcrp_probe(peer->in) || !zcrp_probe(peer->out))
        return 0;
    if (memcmp(peer->in->buffer, peer->out->buffer, BYTES) != 0)
        check("answer", ZCRP_ERROR_PROTOCOL);
    if (++peer->answers == QUESTIONS)
        return 1;
    receive(peer);
    ask(peer);
    return 0;
}

static void ask_all(const char *host, const char *port)
{
    struct zcrp_completion done[TAKEN_AT_ONCE];
    struct peer *peer[PEERS];
    int left = PEERS;

    for (int i = 0; i < PEERS; i++) {
        struct zcrp_connection *connection;
        check("connect", zcrp_connect(&connection, host, port, NULL, 0)); /* at once */
        peer[i] = create(connection);
        ask(peer[i]);
    }
    while (left > 0) {
        int count = zcrp_queue_take(queue, done, TAKEN_AT_ONCE, -1);
        check("take", count);
        for (int i = 0; i < count; i++) {
            check("peer", done[i].code);
            if (done[i].kind == ZCRP_MESSAGE_ENDED)
                left -= on_message(done[i].context);
        }
    }
    for (int i = 0; i < PEERS; i++)
        destroy(peer[i]);
    printf("%d peers answered %d questions each\n", PEERS, QUESTIONS);
}

int main(int argc, char **argv)
{
    if (argc != 4 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "ask") != 0)) {
        fprintf(stderr, "usage: crowd serve|ask HOST PORT\n");
        return 2;
    }
    check("queue", zcrp_queue_open(&queue));
    if (strcmp(argv[1], "serve") == 0)
        serve(argv[2], argv[3]);
    else
        ask_all(argv[2], argv[3]);
    check("close", zcrp_queue_close(queue));
    return 0;
}
