/* Processes that exchange messages as an MPI program does. */
#include "ranks.h"

LOAD(asleep)

enum { RANKS = 4, ROUNDS = 12 };

static size_t size_of(int from, int to, int round)
{
    static const size_t some[] = {0, 8, 1000, 16384, 70000, 1 << 20};

    return some[(from + 2 * to + round) % 6];
}

static uint64_t tag_of(int from, int to, int round)
{
    return (uint64_t)round << 16 | (uint64_t)from << 8 | (uint64_t)to;
}

/* Everybody sends to everybody, itself included, and receives from each by name. */
static void exchange(struct rank *r, int round)
{
    uint8_t *in[RANKS_MOST], *out[RANKS_MOST];

    for (int i = 0; i < r->count; i++) {
        size_t size = size_of(i, r->number, round);
        in[i] = blank(size);
        POST(fi_trecv(r->node.ep, in[i], size, NULL, r->to[i], (uint64_t)round, 0, in[i]));
    }
    for (int i = 0; i < r->count; i++) {
        size_t size = size_of(r->number, i, round);
        out[i] = filled(size, tag_of(r->number, i, round));
        POST(fi_tsend(r->node.ep, out[i], size, NULL, r->to[i], (uint64_t)round, out[i]));
    }
    for (int i = 0; i < r->count; i++) {
        ck_assert_int_eq(take(r->node.received).err, 0);
        ck_assert_int_eq(take(r->node.sent).err, 0);
    }
    for (int i = 0; i < r->count; i++) {
        ck_assert(pattern_holds(in[i], size_of(i, r->number, round), tag_of(i, r->number, round)));
        free(in[i]);
        free(out[i]);
    }
}

static void exchange_all(struct rank *r)
{
    for (int round = 0; round < ROUNDS; round++)
        exchange(r, round);
    ranks_sync(r);
}

/* Rows: over UDP, by memory; progress by the program, by the provider. */
TEST(ranks__all_to_all, .rows = 4)
{
    const struct ranks_plan plan = {
        .count = RANKS,
        .wish = {.progress = _i / 2 ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL},
        .is_memory = _i % 2 == 1,
        .part = exchange_all};
    struct rank r;

    ranks_start(&r, &plan);
    exchange_all(&r);
    ranks_finish(&r);
}

/* Ranks 1 to 3 send as fast as they can to rank 0, which looks with FI_ADDR_UNSPEC (fabtests'
 * flood). */
enum { FLOOD = 500 };

static void flood(struct rank *r)
{
    uint8_t *out = filled(LARGE, (uint64_t)r->number);

    for (uint64_t i = 0; i < FLOOD; i++) {
        size_t size = i % 50 == 7 ? LARGE : 64;
        POST(fi_tsenddata(r->node.ep, out, size, NULL, i, r->to[0], (uint64_t)r->number, NULL));
    }
    for (int i = 0; i < FLOOD; i++)
        ck_assert_int_eq(take(r->node.sent).err, 0);
    ranks_sync(r);
    free(out);
}

TEST(ranks__many_to_one, .rows = 2)
{
    const struct ranks_plan plan = {.count = RANKS, .is_memory = _i == 1, .part = flood};
    uint8_t *in = blank(LARGE);
    uint64_t next[RANKS] = {0};
    struct rank r;

    ranks_start(&r, &plan);
    for (int i = 0; i < FLOOD * (RANKS - 1); i++) {
        POST(fi_trecv(r.node.ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 0, 0xff, in));
        struct fi_cq_err_entry e = take_of(r.node.received, in);
        ck_assert_uint_eq(e.data, next[e.tag]++);
        ck_assert(pattern_holds(in, e.len, e.tag));
    }
    ranks_sync(&r);
    ranks_finish(&r);
    free(in);
}
