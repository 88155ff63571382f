/* Every acknowledgement of one, two or three intervals whose bounds lie near the numbers that were
 * sent, as if numbers had a few bits only: it is taken as a walk number by number would take it, or
 * rejected as a whole, and then nothing has changed. */
#include "../support/counter_starts.h"
#include "../support/suite.h"
#include "../unit/sender/sender_rig.h"

enum { UNITS = 6, TOLERANCE = 3, BOUNDS_MOST = 4 };

static struct sender_counters before;

/* A sender with UNITS units in transit, the first of which has the session's first number. */
static void prepare(uint32_t start)
{
    struct sender_config config = sender_rig_config();
    config.first_seq = start;
    sender_rig_init(&config);
    sender_rig_submit(UNITS * RIG_DATA);
    sender_rig_pair(1, UNITS * RIG_DATA);
    while (sender_take(rig.s, rig.now, &rig.burst))
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    before = *sender_counters(rig.s);
    ck_assert_uint_eq(before.units, UNITS);
}

/* Bounds relative to the first number that was sent: ascending, and of what was sent only. */
static bool is_legal(const int bound[], uint32_t intervals)
{
    for (uint32_t i = 0; i < intervals; i++)
        if (bound[i] >= bound[i + 1])
            return false;
    return bound[0] >= 0 && bound[intervals] <= UNITS;
}

/* Number by number: the last interval is positive, and the signs alternate. */
static bool has_arrived(const int bound[], uint32_t intervals, int number)
{
    for (uint32_t i = 0; i < intervals; i++)
        if (number >= bound[i] && number < bound[i + 1])
            return (intervals - i) % 2 == 1;
    return false;
}

static void say(uint32_t start, const int bound[], uint32_t intervals)
{
    uint8_t datagram[CONTROL_BYTES];
    for (uint32_t i = 0; i <= intervals; i++)
        ack_bound_encode(datagram + i * ACK_BOUND_BYTES, start + (uint32_t)bound[i]);
    struct block_ack ack = {.pairing = rig.pairing,
                            .newest = start + (uint32_t)bound[intervals] - 1,
                            .capacity = rig.capacity,
                            .length = (uint16_t)intervals,
                            .bounds = datagram};
    size_t size = block_ack_encode(datagram, sizeof datagram, &ack);
    sender_receive(rig.s, rig.now, datagram, size);
}

static void expect_rejected(void)
{
    const struct sender_counters *c = sender_counters(rig.s);
    ck_assert_uint_eq(c->drop_number + c->drop_malformed,
                      before.drop_number + before.drop_malformed + 1);
    ck_assert_uint_eq(c->acks, before.acks);
    ck_assert_uint_eq(c->lost, 0);
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, UNITS * RIG_UNIT);
    before = *c;
}

static void expect_taken(const int bound[], uint32_t intervals)
{
    int newest = bound[intervals] - 1;
    uint64_t in_transit = 0, lost = 0;
    for (int number = 0; number < UNITS; number++) {
        bool is_late = newest - number >= TOLERANCE;
        in_transit += !has_arrived(bound, intervals, number) && !is_late;
        lost += !has_arrived(bound, intervals, number) && is_late;
    }
    ck_assert_uint_eq(sender_counters(rig.s)->acks, before.acks + 1);
    ck_assert_uint_eq(sender_gauges(rig.s).in_transit, in_transit * RIG_UNIT);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, lost);
    sender_check(rig.s);
}

static uint64_t try(uint32_t start, const int bound[], uint32_t intervals)
{
    say(start, bound, intervals);
    if (!is_legal(bound, intervals)) {
        expect_rejected();
        return 0;
    }
    expect_taken(bound, intervals);
    sender_rig_fini();
    prepare(start);
    return 1;
}

/* The next combination of bounds in [least, most); false after the last. */
static bool advance(int bound[], uint32_t count, int least, int most)
{
    for (uint32_t i = 0; i < count; i++) {
        if (++bound[i] < most)
            return true;
        bound[i] = least;
    }
    return false;
}

/* How many legal ones there are of so many bounds out of 0 .. UNITS. */
static uint64_t choose(uint64_t n, uint64_t k)
{
    uint64_t ways = 1;
    for (uint64_t i = 0; i < k; i++)
        ways = ways * (n - i) / (i + 1);
    return ways;
}

static void try_all(uint32_t start, uint32_t intervals, int least, int most)
{
    int bound[BOUNDS_MOST];
    uint64_t taken = 0;
    for (uint32_t i = 0; i <= intervals; i++)
        bound[i] = least;
    prepare(start);
    do
        taken += try(start, bound, intervals);
    while (advance(bound, intervals + 1, least, most));
    ck_assert_uint_eq(taken, choose(UNITS + 1, intervals + 1));
    sender_check(rig.s);
    sender_rig_fini();
}

TEST(ack__of_one_interval, .rows = COUNTER_STARTS)
{
    try_all((uint32_t)counter_start(_i), 1, -128, 128);
}

TEST(ack__of_two_intervals, .rows = COUNTER_STARTS)
{
    try_all((uint32_t)counter_start(_i), 2, -16, 16);
}

TEST(ack__of_three_intervals, .rows = COUNTER_STARTS)
{
    try_all((uint32_t)counter_start(_i), 3, -6, 10);
}
