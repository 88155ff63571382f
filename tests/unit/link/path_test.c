#include "zcrp-link/path.h"

#include "../../support/suite.h"

#include <math.h>
#include <string.h>

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
