/* One end of a transfer with keys, for tools/lab/moves: a caller whose address changes while
 * messages cross.
 *
 *     moves listen PORT BYTES up|down
 *     moves call HOST PORT BYTES up|down
 *
 * `up`: the caller sends. Messages of 1 MiB are verified where they land. The caller says "half"
 * when half of the bytes have crossed; the end that receives says how it went. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/turns.h"
#include "zcrp.h"

enum { SIZE = 1 << 20, DEPTH = 8, LOOK_NS = 1000000 };

/* Either end waits for the other one at most so long, in ns. */
#define LATEST INT64_C(30000000000)

static const char psk[ZCRP_KEYS_PSK_LEAST] = "not random, because it is a test";

struct run {
    struct zcrp_connection *connection;
    struct zcrp_entity *entity; /* that sends, or receives */
    bool is_sender, is_caller;
    unsigned messages;
    uint64_t known; /* bytes that have crossed */
    double since;   /* that was known */
    double longest; /* time in which nothing more crossed, s */
};

static void must(int code)
{
    if (code >= ZCRP_OK)
        return;
    fprintf(stderr, "moves: %s\n", zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static void fill(uint64_t *words, unsigned message)
{
    for (unsigned i = 0; i < SIZE / sizeof *words; i++)
        words[i] = ((uint64_t)message << 32 | i) * UINT64_C(0x9E3779B97F4A7C15);
}

static void verify(const struct zcrp_msg *m, unsigned message)
{
    static uint64_t expected[SIZE / sizeof(uint64_t)];

    fill(expected, message);
    if (m->length == SIZE && memcmp(m->buffer, expected, SIZE) == 0)
        return;
    fprintf(stderr, "moves: message %u is wrong\n", message);
    exit(EXIT_FAILURE);
}

static struct zcrp_stats stats_of(const struct run *r)
{
    struct zcrp_stats stats;

    must(zcrp_stats(r->entity, &stats));
    return stats;
}

/* Looks how far the transfer is. */
static void look(struct run *r)
{
    uint64_t bytes = stats_of(r).bytes_arrived, half = (uint64_t)r->messages * SIZE / 2;
    double now = now_s();

    if (bytes == r->known)
        return;
    if (r->known > 0 && now - r->since > r->longest)
        r->longest = now - r->since;
    if (r->is_caller && r->known < half && bytes >= half) {
        puts("half");
        (void)fflush(stdout);
    }
    r->known = bytes;
    r->since = now;
}

static void await(struct run *r, struct zcrp_msg *m)
{
    int code;

    do {
        code = zcrp_wait_for(m, LOOK_NS);
        look(r);
    } while (code == ZCRP_ERROR_TIMEOUT);
    must(code);
}

static void cross(struct run *r)
{
    struct zcrp_msg *m[DEPTH];

    for (unsigned i = 0; i < r->messages + DEPTH; i++) {
        if (i < DEPTH)
            m[i] = zcrp_alloc_msg(SIZE);
        struct zcrp_msg *one = m[i % DEPTH];
        must(one != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
        if (i >= DEPTH && i - DEPTH < r->messages) {
            await(r, one);
            if (!r->is_sender)
                verify(one, i - DEPTH);
        }
        if (i >= r->messages)
            continue;
        if (r->is_sender)
            fill((uint64_t *)(void *)one->buffer, i);
        must(zcrp_submit(r->entity, one, SIZE));
    }
}

static void report(const struct run *r)
{
    char peer[80];

    must(zcrp_connection_peer(r->connection, peer, sizeof peer));
    printf("%u MB verified, longest pause %.0f ms, moves %llu, peer %s\n", r->messages,
           r->longest * 1e3, (unsigned long long)stats_of(r).moves, peer);
}

static void run(struct run *r, const char *bytes, const char *direction)
{
    r->is_sender = (strcmp(direction, "up") == 0) == r->is_caller;
    r->entity = r->is_sender ? zcrp_connection_sender(r->connection)
                             : zcrp_connection_receiver(r->connection);
    r->messages = (unsigned)(strtoull(bytes, NULL, 10) / SIZE);
    cross(r);
    if (!r->is_sender)
        report(r);
    if (r->is_sender)
        must(zcrp_connection_close(r->connection));
    else
        (void)zcrp_connection_close(r->connection);
}

int main(int argc, char **argv)
{
    struct zcrp_options options = {.flags = ZCRP_NO_MEMORY, .connect_ns = LATEST};
    struct zcrp_listener *listener = NULL;
    struct run r = {.is_caller = argc == 6};

    must(zcrp_keys_psk(&options.keys, "lab", (const uint8_t *)psk, sizeof psk));
    if (argc == 6) {
        must(zcrp_connect(&r.connection, argv[2], argv[3], &options, -1));
        run(&r, argv[4], argv[5]);
    } else if (argc == 5) {
        must(zcrp_listen(&listener, NULL, argv[2], &options));
        must(zcrp_accept(listener, &r.connection, LATEST));
        run(&r, argv[3], argv[4]);
        must(zcrp_listener_close(listener));
    } else {
        fprintf(stderr, "usage: moves listen PORT BYTES up|down | call HOST PORT BYTES up|down\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
