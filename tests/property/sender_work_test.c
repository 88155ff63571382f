/* What one datagram costs the sender, in instructions: it depends on how many entries it has, and
 * not on what they span, nor on how much is in transit. */
#include "../support/steps.h"
#include "../support/suite.h"
#include "../unit/sender/sender_rig.h"

#include "core/sender/sender_state.h"

enum { UNITS = 40, RUNS_MOST = (CONTROL_BYTES - TRAILER_BYTES) / REQUEST_RUN_BYTES };

struct said {
    uint8_t bytes[CONTROL_BYTES];
    size_t size;
};

static void setup(void)
{
    struct sender_config config = sender_rig_config();
    config.first_seq = 5;
    sender_rig_init(&config);
    sender_rig_submit(UNITS * RIG_DATA);
    sender_rig_pair(1, UNITS * RIG_DATA);
    while (sender_take(rig.s, rig.now, &rig.burst))
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
}

static void hear(void *said)
{
    const struct said *s = said;
    sender_receive(rig.s, rig.now, s->bytes, s->size);
}

/* Instructions to hear it; the test ends as passed where none can be counted. */
static uint64_t steps_to_hear(struct said *said)
{
    uint64_t steps = steps_of(hear, said);
    if (steps == 0)
        puts("processes may not be traced: instructions are not counted");
    return steps;
}

/* One positive interval that ends behind unit `newest`. */
static struct said ack(uint32_t newest, uint32_t span)
{
    struct said said;
    ack_bound_encode(said.bytes, newest + 1 - span);
    ack_bound_encode(said.bytes + ACK_BOUND_BYTES, newest + 1);
    struct block_ack ack = {.pairing = rig.pairing,
                            .newest = newest,
                            .capacity = rig.capacity,
                            .length = 1,
                            .bounds = said.bytes};
    said.size = block_ack_encode(said.bytes, sizeof said.bytes, &ack);
    return said;
}

/* The same run over and over. */
static struct said request(uint32_t runs, uint32_t count, uint64_t size)
{
    struct said said;
    struct request_run run = {.first = 0, .count = count, .size = size};
    for (uint32_t i = 0; i < runs; i++)
        request_run_encode(said.bytes + i * REQUEST_RUN_BYTES, &run);
    struct request request = {.pairing = rig.pairing,
                              .capacity = rig.capacity,
                              .length = (uint16_t)runs,
                              .runs = said.bytes};
    said.size = request_encode(said.bytes, sizeof said.bytes, &request);
    return said;
}

FIXTURE(setup, sender_rig_fini)

/* Rejected for one number too many, or for 2^31. */
TEST(ack__costs_the_same_for_any_span)
{
    struct said little = ack(5 + UNITS - 1, UNITS + 1);
    struct said much = ack(5 + UNITS - 1, INT32_MAX);
    uint64_t steps = steps_to_hear(&little);
    ck_assert_uint_eq(steps_to_hear(&much), steps);
    ck_assert_uint_lt(steps, 3000);
}

/* What is beyond the table costs nothing, nor does what is said a second time. */
TEST(request__costs_the_same_for_any_count)
{
    struct said little = request(1, 1 << 10, RIG_DATA);
    struct said much = request(1, UINT32_MAX, RIG_DATA);
    ck_assert_uint_eq(steps_to_hear(&little), steps_to_hear(&much));
}

/* Withdrawals may name what was named before: a datagram full of them, each of all numbers, looks
 * at no more of them than one. */
TEST(request__costs_by_runs_however_often_numbers_are_named)
{
    struct said one = request(1, UINT32_MAX, REQUEST_WITHDRAWN);
    struct said two = request(2, UINT32_MAX, REQUEST_WITHDRAWN);
    struct said all = request(RUNS_MOST, UINT32_MAX, REQUEST_WITHDRAWN);
    uint64_t steps = steps_to_hear(&one);
    uint64_t of_a_run = steps_to_hear(&two) - steps;
    ck_assert_uint_le(steps_to_hear(&all), steps + RUNS_MOST * of_a_run);
    ck_assert(steps == 0 || of_a_run * 4 < steps);
}

/* ---- much in transit ---- */

enum { LITTLE = 512, MUCH = 4096, OF_A_MESSAGE = 128 };

/* What was sent, and how many units: some numbers are left out. */
static struct {
    uint32_t seq[MUCH];
    uint32_t count;
} sent;

static void take_all(void)
{
    for (sent.count = 0; sender_take(rig.s, rig.now, &rig.burst);) {
        for (uint32_t i = 0; i < rig.burst.datagrams; i++)
            sent.seq[sent.count++] = (uint32_t)rig.burst.first_seq + i;
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    }
}

/* So many units are in transit, and it is time for their acknowledgement. */
static void fill_for(uint32_t units, uint32_t transit)
{
    struct sender_config config = sender_rig_config();
    uint32_t messages = units / OF_A_MESSAGE;

    sender_rig_fini();
    config.transit_units = transit;
    config.window_bytes = 2 * (uint64_t)units * RIG_UNIT;
    sender_rig_init(&config);
    for (uint32_t i = 0; i < messages; i++)
        sender_rig_submit((uint64_t)OF_A_MESSAGE * RIG_DATA);
    sender_rig_pair(messages, (uint64_t)OF_A_MESSAGE * RIG_DATA);
    take_all();
    ck_assert_uint_eq(sent.count, units);
    rig.now += 10 * MILLISECOND;
}

static void fill(uint32_t units)
{
    fill_for(units, 2 * units);
}

/* All of these units have arrived, and none of the numbers between them that were left out. */
static struct said ack_of(uint32_t first, uint32_t last)
{
    struct said said;
    uint16_t bounds = 0;

    for (uint32_t i = first; i <= last; i++) {
        if (i > first && i < last && sent.seq[i] == sent.seq[i - 1] + 1)
            continue;
        if (i > first)
            ack_bound_encode(said.bytes + ACK_BOUND_BYTES * bounds++, sent.seq[i - 1] + 1);
        if (i < last)
            ack_bound_encode(said.bytes + ACK_BOUND_BYTES * bounds++, sent.seq[i]);
    }
    struct block_ack ack = {.pairing = rig.pairing,
                            .newest = sent.seq[last - 1],
                            .capacity = rig.capacity,
                            .length = bounds - 1,
                            .bounds = said.bytes};
    said.size = block_ack_encode(said.bytes, sizeof said.bytes, &ack);
    return said;
}

static void acknowledge(uint32_t first, uint32_t last)
{
    struct said said = ack_of(first, last);
    hear(&said);
}

static uint64_t steps_to_acknowledge(uint32_t unit)
{
    struct said said = ack_of(unit, unit + 1);
    return steps_to_hear(&said);
}

static void expect_no_more(uint64_t of_much, uint64_t of_little)
{
    ck_assert(of_little == 0 || of_much < 2 * of_little);
}

/* The path seems to change the order of half of all units: so those that wait for longer may yet
 * arrive, when one behind them does. */
static uint64_t steps_to_overtake(uint32_t units)
{
    fill(units);
    acknowledge(units / 2 - 1, units / 2);
    acknowledge(0, units / 2);
    ck_assert_uint_ge(rig.s->recovery.tolerance.units, units / 2);
    ck_assert_uint_ge(rig.s->recovery.in_transit.units, units / 2);
    ck_assert_uint_eq(rig.s->recovery.to_send.count, 0);
    return steps_to_acknowledge(units - 32);
}

TEST(ack__costs_the_same_whatever_it_overtakes)
{
    uint64_t of_little = steps_to_overtake(LITTLE);
    expect_no_more(steps_to_overtake(MUCH), of_little);
}

/* All but two were given up, and one of them arrives; their repeats wait, or are in transit. */
static uint64_t steps_to_arrive_late(uint32_t units, bool is_repeated)
{
    fill(units);
    acknowledge(units - 1, units);
    ck_assert_uint_ge(rig.s->recovery.to_send.count, units - 3);
    uint32_t first = sent.seq[0];
    if (is_repeated)
        take_all();
    sent.seq[0] = first;
    return steps_to_acknowledge(0);
}

TEST(ack__costs_the_same_whatever_was_given_up, .rows = 2)
{
    uint64_t of_little = steps_to_arrive_late(LITTLE, _i == 1);
    expect_no_more(steps_to_arrive_late(MUCH, _i == 1), of_little);
}

/* All but the newest unit are lost, so often. Then an old transmission of one that is through
 * arrives. */
static uint64_t steps_after_losses(uint32_t times)
{
    fill_for(OF_A_MESSAGE, 1 << 14);
    uint32_t first[OF_A_MESSAGE];
    memcpy(first, sent.seq, sizeof first);
    for (uint32_t i = 0; i < times; i++) {
        uint32_t newest = sent.count - 1;
        acknowledge(newest, newest + 1);
        rig.now += 10 * MILLISECOND;
        sender_expire(rig.s, rig.now);
        take_all();
        ck_assert_uint_ge(sent.count, OF_A_MESSAGE - 4 * (i + 1));
    }
    sent.seq[0] = first[OF_A_MESSAGE - 2];
    return steps_to_acknowledge(0);
}

TEST(ack__costs_the_same_however_often_units_were_sent)
{
    uint64_t of_few = steps_after_losses(8);
    expect_no_more(steps_after_losses(24), of_few);
}

/* The last word of a peer says that a message has arrived. */
TEST(ack__that_closes_brings_what_is_late)
{
    char bounds[32];
    uint32_t last = OF_A_MESSAGE - 1;

    fill(LITTLE);
    acknowledge(LITTLE - 1, LITTLE);
    acknowledge(0, last);
    sender_rig_expect_no_event();
    (void)snprintf(bounds, sizeof bounds, "%u %u", sent.seq[last], sent.seq[last] + 1);
    sender_rig_say_ack(bounds, true);
    sender_rig_expect_event(OUTCOME_OK, OF_A_MESSAGE * RIG_DATA);
    sender_rig_expect_event(OUTCOME_CUT_OFF, 0);
}

/* One by one they arrive after all: no repeat is sent, and each message ends with its last unit. */
TEST(ack__of_all_that_was_given_up, .rows = 2)
{
    struct event event;
    uint32_t messages = 0;

    fill(LITTLE);
    acknowledge(LITTLE - 1, LITTLE);
    for (uint32_t i = 0; i + 1 < LITTLE; i++) {
        uint32_t unit = _i == 0 ? i : LITTLE - 2 - i;
        acknowledge(unit, unit + 1);
        sender_check(rig.s);
    }
    while (sender_event(rig.s, &event))
        messages += event.outcome == OUTCOME_OK;
    ck_assert_uint_eq(messages, LITTLE / OF_A_MESSAGE);
    ck_assert(!sender_take(rig.s, rig.now, &rig.burst));
}
