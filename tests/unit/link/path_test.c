#include "zcrp-link/path.h"

#include "../../support/suite.h"

#include <math.h>
#include <string.h>

/* ---- the transmitter and its queue */

#define LONG (1000 * SECOND)

TEST(bottleneck_enter__no_rate_no_time)
{
    struct bottleneck b;
    instant leaves = 0;
    bottleneck_init(&b, 0, 0);
    for (int i = 0; i < 1000; i++)
        ck_assert(bottleneck_enter(&b, 5, 65535, &leaves));
    ck_assert_int_eq(leaves, 5);
}

TEST(bottleneck_enter__sends_one_after_the_other)
{
    struct bottleneck b;
    instant leaves;
    bottleneck_init(&b, 8000000, LONG); /* a byte each us */
    ck_assert(bottleneck_enter(&b, 1000, 1500, &leaves));
    ck_assert_int_eq(leaves, 1000 + 1500 * MICROSECOND);
    ck_assert(bottleneck_enter(&b, 2000, 500, &leaves));
    ck_assert_int_eq(leaves, 1000 + 2000 * MICROSECOND);
    ck_assert(bottleneck_enter(&b, SECOND, 500, &leaves));
    ck_assert_int_eq(leaves, SECOND + 500 * MICROSECOND);
}

/* What does not come out even in ns is not lost: after many packets, their time has passed. */
TEST(bottleneck_enter__the_rate_is_exact, .rows = 4)
{
    static const uint64_t rates[] = {155000000, 1000000007, 9999999967, 999983};
    struct bottleneck b;
    instant leaves = 0;
    uint64_t bits = 0;
    bottleneck_init(&b, rates[_i], LONG);
    for (uint32_t size = 40; bits < rates[_i] / 16; size = size % 1500 + 40) {
        ck_assert(bottleneck_enter(&b, 0, size, &leaves));
        bits += size * UINT64_C(8);
    }
    instant exact = (instant)((double)bits * 1e9 / (double)rates[_i]);
    ck_assert_int_le(exact - leaves, 1);
    ck_assert_int_le(leaves - exact, 1);
}

/* The queue takes what leaves within the limit; and always a packet that need not wait. */
TEST(bottleneck_enter__drops_what_would_wait_longer)
{
    struct bottleneck b;
    instant leaves;
    bottleneck_init(&b, 8000000, 3 * MILLISECOND);
    for (int i = 1; i <= 3; i++) {
        ck_assert(bottleneck_enter(&b, 0, 1000, &leaves));
        ck_assert_int_eq(leaves, i * MILLISECOND);
    }
    ck_assert(!bottleneck_enter(&b, 0, 1, &leaves));
    ck_assert(!bottleneck_enter(&b, MILLISECOND, 1001, &leaves));
    ck_assert(bottleneck_enter(&b, MILLISECOND, 1000, &leaves));
    ck_assert_int_eq(leaves, 4 * MILLISECOND);
    ck_assert(bottleneck_enter(&b, 4 * MILLISECOND, 9000, &leaves));
    ck_assert_int_eq(leaves, 13 * MILLISECOND);
}

/* Whoever looks late finds everything due that came before: no time of the rate is lost. */
TEST(bottleneck_enter__late_looks_cost_nothing)
{
    struct bottleneck prompt, late;
    instant a = 0, b = 0;
    bottleneck_init(&prompt, 100000000, LONG);
    bottleneck_init(&late, 100000000, LONG);
    for (int i = 0; i < 1000; i++) {
        ck_assert(bottleneck_enter(&prompt, i * 100 * MICROSECOND, 1500, &a));
        ck_assert(bottleneck_enter(&late, (i + 9) / 10 * MILLISECOND, 1500, &b));
    }
    ck_assert_int_eq(a, 1000 * 120 * MICROSECOND);
    ck_assert_int_le(b - a, MILLISECOND);
}

/* ---- loss */

enum { TRIED = 1000000 };

struct tally {
    unsigned lost, rows;
};

static struct tally lose(double share, double burst)
{
    struct loss loss;
    struct tally tally = {0};
    bool was_lost = false;
    loss_init(&loss, share, burst, 1998);
    for (unsigned i = 0; i < TRIED; i++) {
        bool is_lost = loss_next(&loss);
        tally.lost += is_lost;
        tally.rows += is_lost && !was_lost;
        was_lost = is_lost;
    }
    return tally;
}

TEST(loss_next__none_and_all)
{
    ck_assert_uint_eq(lose(0, 0).lost, 0);
    ck_assert_uint_eq(lose(0, 5).lost, 0);
    ck_assert_uint_eq(lose(1, 0).lost, TRIED);
}

static const double shares[] = {0.0001, 0.01, 0.25, 0.5};

/* Five standard deviations. */
TEST(loss_next__each_on_its_own, .rows = 4)
{
    double expected = (double)TRIED * shares[_i];
    double most = 5 * sqrt(expected * (1 - shares[_i]));
    ck_assert_double_eq_tol(lose(shares[_i], 0).lost, expected, most);
}

/* Rows vary by about their length, so there are fewer of them to average over. */
TEST(loss_next__in_rows, .rows = 4)
{
    static const double bursts[] = {1, 2, 5, 20};
    double expected = (double)TRIED * shares[_i];
    for (int i = 0; i < 4; i++) {
        struct tally tally = lose(shares[_i], bursts[i]);
        double rows = expected / bursts[i];
        double tolerance = 5 * bursts[i] * sqrt(2 * rows);
        ck_assert_double_eq_tol(tally.lost, expected, tolerance);
        ck_assert_double_eq_tol(tally.lost, tally.rows * bursts[i],
                                5 * bursts[i] * sqrt(tally.rows) + 1);
    }
}

TEST(loss_is_possible__table)
{
    ck_assert(loss_is_possible(0, 0));
    ck_assert(loss_is_possible(1, 0));
    ck_assert(loss_is_possible(0.5, 1));
    ck_assert(!loss_is_possible(0.51, 1));
    ck_assert(loss_is_possible(0.8, 4));
    ck_assert(!loss_is_possible(0.81, 4));
    ck_assert(!loss_is_possible(0.1, 0.5));
    ck_assert(!loss_is_possible(1.1, 0));
}

TEST(loss_next__the_seed_decides)
{
    struct loss a, b;
    loss_init(&a, 0.3, 3, 7);
    loss_init(&b, 0.3, 3, 7);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(loss_next(&a), loss_next(&b));
}

/* ---- a direction of the link */

enum { MTU = 1500, PACKETS = 20000 };

static struct packets packets;
static struct path path;
static unsigned next; /* the number of the next packet */

static void begin(const struct conditions *conditions, uint64_t seed)
{
    packets_init(&packets, MTU, 4 * PACKETS);
    ck_assert_int_eq(path_init(&path, conditions, &packets, seed), 0);
    next = 0;
}

static void end(void)
{
    path_fini(&path);
    packets_fini(&packets);
}

/* A packet that carries its number. */
static void enter(instant now, uint32_t size)
{
    struct packet *packet = packets_take(&packets);
    packet->size = size;
    memset(packet->bytes, 0, size);
    memcpy(packet->bytes, &next, sizeof next);
    next++;
    path_enter(&path, now, packet);
}

/* The number of a packet that comes out by then; -1 if none does. */
static int take(instant now)
{
    struct packet *packet = path_take(&path, now);
    int number;
    if (packet == NULL)
        return -1;
    memcpy(&number, packet->bytes, sizeof number);
    packets_put(&packets, packet);
    return number & INT32_MAX; /* also if its sign was corrupted */
}

TEST(path_take__nothing_happens)
{
    begin(&(struct conditions){0}, 1);
    ck_assert_int_eq(path_next_at(&path), NEVER);
    enter(7, 100);
    enter(7, 200);
    ck_assert_int_eq(path_next_at(&path), 7);
    ck_assert_int_eq(take(7), 0);
    ck_assert_int_eq(take(7), 1);
    ck_assert_int_eq(take(7), -1);
    ck_assert_uint_eq(path.counts.left_bytes, 300);
    end();
}

TEST(path_take__after_rate_and_delay)
{
    begin(&(struct conditions){.rate = 8000000, .queue = 1e9, .delay = 5 * MILLISECOND}, 1);
    enter(0, 1000);
    enter(0, 1000);
    ck_assert_int_eq(path_next_at(&path), 6 * MILLISECOND);
    ck_assert_int_eq(take(6 * MILLISECOND - 1), -1);
    ck_assert_int_eq(take(6 * MILLISECOND), 0);
    ck_assert_int_eq(path_next_at(&path), 7 * MILLISECOND);
    ck_assert_int_eq(take(9 * MILLISECOND), 1);
    ck_assert_int_eq(path.counts.late_most, 2 * MILLISECOND);
    ck_assert_int_eq(path.counts.queued, 3 * MILLISECOND);
    ck_assert_int_eq(path.counts.queued_most, 2 * MILLISECOND);
    end();
}

/* A byte each us; the limit is three packets of 1500 in every unit. */
static const struct conditions queues[] = {
    {.rate = 8000000, .queue_unit = QUEUE_TIME, .queue = 4.5e6},
    {.rate = 8000000, .queue_unit = QUEUE_BYTES, .queue = 4500},
    {.rate = 8000000, .queue_unit = QUEUE_PACKETS, .queue = 3},
};

TEST(path_enter__drops_what_the_queue_has_no_room_for, .rows = 3)
{
    begin(&queues[_i], 1);
    for (int i = 0; i < 10; i++)
        enter(0, 1500);
    ck_assert_uint_eq(path.counts.dropped, 7);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(take(SECOND), i);
    ck_assert_int_eq(take(SECOND), -1);
    end();
}

TEST(path_take__jitter_is_bounded)
{
    instant earliest = NEVER, latest = 0;
    begin(&(struct conditions){.delay = MILLISECOND, .jitter = MILLISECOND}, 1998);
    for (int i = 0; i < 1000; i++) {
        enter(0, 100);
        earliest = instant_earlier(earliest, path_next_at(&path));
        latest = path_next_at(&path) > latest ? path_next_at(&path) : latest;
        ck_assert_int_ge(take(2 * MILLISECOND), 0);
    }
    ck_assert_int_ge(earliest, MILLISECOND);
    ck_assert_int_lt(earliest, MILLISECOND + 20 * MICROSECOND);
    ck_assert_int_gt(latest, 2 * MILLISECOND - 20 * MICROSECOND);
    end();
}

/* Five standard deviations of how often a thing of this share happens. */
static void assert_share(uint64_t count, double share)
{
    double expected = (double)PACKETS * share;
    ck_assert_double_eq_tol((double)count, expected, 5 * sqrt(expected * (1 - share)));
}

TEST(path_enter__mishaps_by_their_shares)
{
    const struct conditions all = {
        .loss = 0.1, .duplicate = 0.2, .corrupt = 0.3, .reorder = 0.05, .reorder_by = 3};
    unsigned came = 0;
    begin(&all, 1998);
    for (int i = 0; i < PACKETS; i++) {
        enter(i, 1000);
        while (take(i) >= 0)
            came++;
    }
    while (take(SECOND) >= 0)
        came++;
    assert_share(path.counts.lost, 0.1);
    assert_share(path.counts.duplicated, 0.9 * 0.2);
    assert_share(path.counts.corrupted, 0.9 * 0.3);
    assert_share(path.counts.reordered, 0.9 * 0.05);
    ck_assert_uint_eq(came, PACKETS - path.counts.lost + path.counts.duplicated);
    ck_assert_uint_eq(came, path.counts.left);
    end();
}

TEST(path_enter__corruption_flips_one_bit)
{
    begin(&(struct conditions){.corrupt = 1}, 3);
    for (unsigned i = 0; i < 100; i++) {
        unsigned bits = 0;
        next = 0;
        enter(0, 40);
        struct packet *packet = path_take(&path, 0);
        for (uint32_t k = 0; k < packet->size; k++)
            bits += (unsigned)__builtin_popcount(packet->bytes[k]);
        ck_assert_uint_eq(bits, 1);
        packets_put(&packets, packet);
    }
    end();
}

/* Who is held back comes right after the third that comes after it. */
TEST(path_take__held_back)
{
    int order[PACKETS], place[PACKETS], count = 0;
    begin(&(struct conditions){.reorder = 0.01, .reorder_by = 3, .delay = 10}, 1998);
    for (int i = 0; i < PACKETS; i++) {
        enter(i, 100);
        for (int k; (k = take(i)) >= 0; count++)
            order[count] = k;
    }
    for (int i = 0; i < count; i++)
        place[order[i]] = i;
    for (int i = 0; i + 10 < count; i++) {
        int by = place[i] - i;
        ck_assert(by >= -3 && by <= 3);
    }
    assert_share(path.counts.reordered, 0.01);
    end();
}

TEST(path_take__held_back_and_nobody_comes)
{
    begin(&(struct conditions){.reorder = 1, .reorder_by = 3, .delay = MILLISECOND}, 1);
    enter(0, 100);
    ck_assert_int_eq(path_next_at(&path), MILLISECOND + HELD_LONGEST);
    ck_assert_int_eq(take(MILLISECOND + HELD_LONGEST - 1), -1);
    ck_assert_int_eq(take(MILLISECOND + HELD_LONGEST), 0);
    end();
}

/* The fates of packets by one kind of mishap do not depend on the others. */
TEST(path_enter__the_seed_decides)
{
    static bool is_lost[2][1000];
    for (int run = 0; run < 2; run++) {
        begin(&(struct conditions){.loss = 0.3, .duplicate = run * 0.5, .jitter = run * 10}, 42);
        for (int i = 0; i < 1000; i++) {
            uint64_t lost = path.counts.lost;
            enter(0, 100);
            is_lost[run][i] = path.counts.lost > lost;
        }
        end();
    }
    ck_assert_mem_eq(is_lost[0], is_lost[1], sizeof is_lost[0]);
}

TEST(path_enter__no_copy_without_memory)
{
    packets_init(&packets, MTU, 1);
    ck_assert_int_eq(path_init(&path, &(struct conditions){.duplicate = 1}, &packets, 1), 0);
    enter(0, 100);
    ck_assert_uint_eq(path.counts.duplicated, 0);
    ck_assert_int_ge(take(0), 0);
    end();
}
