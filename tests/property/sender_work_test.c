/* What one datagram costs the sender, in instructions: it depends on how many entries it has, and
 * not on what they span. */
#include "../support/steps.h"
#include "../support/suite.h"
#include "../unit/sender/sender_rig.h"

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
