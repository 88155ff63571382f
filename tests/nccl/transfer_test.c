/* Messages from rank to rank: NCCL's sizes, sends that are shorter than the receive, empty ones,
 * and as many at once as NCCL may have. By each version, over UDP and from memory to memory. */
#include "../support/pattern.h"
#include "ranks.h"

#include <string.h>

LOAD(asleep)

enum { VERSIONS = ROWS(driver_versions), LARGEST = 4 << 20, WINDOW = NET_REQUESTS_MOST };

static const size_t sizes[] = {0,    1,     4,     8,      16,     100,     128,    1000,
                               4096, 12345, 65536, 131072, 524288, 1048576, LARGEST};

static uint8_t memory[LARGEST];

static struct ranks start(int row, ranks_part of_child)
{
    ranks_choose(row >= VERSIONS);
    return ranks_start(driver_versions[row % VERSIONS], of_child);
}

/* ---- one after the other ---- */

static void send_sizes(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap);

    for (int i = 0; i < ROWS(sizes); i++) {
        pattern_fill(memory, sizes[i], (uint64_t)i);
        must(ranks_send(d, sender, memory, sizes[i]) == NET_OK);
    }
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

/* Each receive has room for the largest one. */
TEST(transfer__sizes, .rows = 2 * VERSIONS)
{
    struct ranks r = start(_i, send_sizes);
    void *receiver = ranks_receiver(&r.driver, r.bootstrap);

    for (int i = 0; i < ROWS(sizes); i++) {
        int size = -1;
        memset(memory, 0x55, sizeof(memory));
        int result = ranks_receive(&r.driver, receiver, memory, sizeof(memory), &size);
        ck_assert_int_eq(result, NET_OK);
        ck_assert_int_eq(size, (int)sizes[i]);
        ck_assert(pattern_holds(memory, sizes[i], (uint64_t)i));
    }
    ck_assert_int_eq(driver_endings(&r.driver).close_receiver(receiver), NET_OK);
    ranks_finish(&r);
}

/* ---- many at once ---- */

enum { CHUNK = 100000, ROUNDS = 3 };

static uint8_t *chunk(int i)
{
    return memory + (size_t)i * CHUNK;
}

static size_t size_of(int round, int i)
{
    return i % 4 == round ? 0 : (size_t)(CHUNK - 1000 * i - round);
}

/* As many as there may be; one more is for later, and no error. */
static void submit_all(const struct driver *d, void *comm, bool sends, int round, void **requests)
{
    void *more;

    for (int i = 0; i <= WINDOW; i++) {
        void **request = i < WINDOW ? &requests[i] : &more;
        *request = sends ? NULL : (void *)(uintptr_t)1; /* NCCL needs not be told of the end */
        int result = sends ? driver_send(d, comm, chunk(i % WINDOW), size_of(round, i), request)
                           : driver_receive(d, comm, 1, chunk(i % WINDOW), CHUNK, request);
        must(result == NET_OK && (*request == NULL) == (i == WINDOW));
    }
}

static void send_windows(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap), *requests[WINDOW];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WINDOW; i++)
            pattern_fill(chunk(i), size_of(round, i), (uint64_t)(round * WINDOW + i));
        submit_all(d, sender, true, round, requests);
        for (int i = 0; i < WINDOW; i++)
            must(driver_end(d, requests[i], NULL) == NET_OK);
    }
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

TEST(transfer__window, .rows = 2 * VERSIONS)
{
    struct ranks r = start(_i, send_windows);
    void *receiver = ranks_receiver(&r.driver, r.bootstrap), *requests[WINDOW];

    for (int round = 0; round < ROUNDS; round++) {
        submit_all(&r.driver, receiver, false, round, requests);
        for (int i = 0; i < WINDOW; i++) {
            int size = -1;
            ck_assert_int_eq(driver_end(&r.driver, requests[i], &size), NET_OK);
            ck_assert_int_eq(size, (int)size_of(round, i));
            ck_assert(pattern_holds(chunk(i), (uint64_t)size, (uint64_t)(round * WINDOW + i)));
        }
    }
    ck_assert_int_eq(driver_endings(&r.driver).close_receiver(receiver), NET_OK);
    ranks_finish(&r);
}

/* ---- many comms ---- */

enum { COMMS = 64 };

/* Both ranks connect to all listens of the other one, and accept, in another order than the one in
 * which they listened. Each comm carries its number. */
static void exchange(const struct driver *d, int bootstrap, int first)
{
    static char own[COMMS][NET_HANDLE_BYTES], peers[COMMS][NET_HANDLE_BYTES];
    void *listener[COMMS], *sender[COMMS] = {NULL}, *receiver[COMMS] = {NULL};
    int missing = 2 * COMMS, size;

    for (int i = 0; i < COMMS; i++)
        must(driver_listen(d, own[i], &listener[i]) == NET_OK);
    ranks_give(bootstrap, own, sizeof(own));
    ranks_get(bootstrap, peers, sizeof(peers));
    while (missing > 0)
        for (int i = COMMS - 1; i >= 0; i--) {
            if (sender[i] == NULL) {
                must(driver_connect(d, peers[i], &sender[i]) == NET_OK);
                missing -= sender[i] != NULL;
            }
            if (receiver[i] == NULL) {
                must(driver_accept(d, listener[i], &receiver[i]) == NET_OK);
                missing -= receiver[i] != NULL;
            }
        }
    void *sent[COMMS], *received[COMMS];
    int out[COMMS], in[COMMS];
    for (int i = 0; i < COMMS; i++) {
        out[i] = first + i;
        must(driver_receive(d, receiver[i], 1, &in[i], sizeof(in[i]), &received[i]) == NET_OK);
        must(driver_send(d, sender[i], &out[i], sizeof(out[i]), &sent[i]) == NET_OK);
    }
    for (int i = 0; i < COMMS; i++) {
        must(driver_end(d, sent[i], NULL) == NET_OK);
        must(driver_end(d, received[i], &size) == NET_OK);
        must(size == sizeof(in[i]) && in[i] == 1000 - first + i);
        must(driver_endings(d).close_listener(listener[i]) == NET_OK);
    }
    for (int i = 0; i < COMMS; i++) {
        must(driver_endings(d).close_sender(sender[i]) == NET_OK);
        must(driver_endings(d).close_receiver(receiver[i]) == NET_OK);
    }
}

static void exchange_there(const struct driver *d, int bootstrap)
{
    exchange(d, bootstrap, 1000);
}

TEST(transfer__comms, .rows = 2)
{
    ranks_choose(_i == 1);
    struct ranks r = ranks_start(11, exchange_there);
    exchange(&r.driver, r.bootstrap, 0);
    ranks_finish(&r);
}

/* A rank may connect to itself, as NCCL does to find out what a device can do. */
TEST(transfer__to_itself, .rows = 2 * VERSIONS)
{
    char handle[NET_HANDLE_BYTES], out[5] = "zcrp", in[8];
    void *listener, *sender = NULL, *receiver = NULL, *received = NULL;
    int size = 0;

    ranks_choose(_i >= VERSIONS);
    struct driver d = driver_load(driver_versions[_i % VERSIONS]);
    must(driver_listen(&d, handle, &listener) == NET_OK);
    while (sender == NULL || receiver == NULL) {
        if (sender == NULL)
            must(driver_connect(&d, handle, &sender) == NET_OK);
        if (receiver == NULL)
            must(driver_accept(&d, listener, &receiver) == NET_OK);
    }
    must(driver_receive(&d, receiver, 1, in, sizeof(in), &received) == NET_OK);
    ck_assert_int_eq(ranks_send(&d, sender, out, sizeof(out)), NET_OK);
    ck_assert_int_eq(driver_end(&d, received, &size), NET_OK);
    ck_assert_int_eq(size, sizeof(out));
    ck_assert_mem_eq(in, out, sizeof(out));
    (void)driver_endings(&d).close_listener(listener);
    (void)driver_endings(&d).close_sender(sender);
    (void)driver_endings(&d).close_receiver(receiver);
    driver_finalize(&d);
}
