/* A sender with nothing to do, and the memory that it grew into. */
#include "sender_rig.h"

#include "../../support/suite.h"

enum { MANY = 20 };

static struct sender_config config;

static void setup(void)
{
    config = sender_rig_config();
    config.stays = true;
    sender_rig_init(&config);
}

static void teardown(void)
{
    sender_rig_fini();
}

FIXTURE(setup, teardown)

/* Many messages of one unit each, of which all arrive. */
static void carry_many(uint32_t first)
{
    char bounds[32];
    struct burst burst;
    for (uint32_t i = 0; i < MANY; i++)
        sender_rig_submit(RIG_DATA);
    if (first == 0)
        sender_rig_pair(2 * MANY, RIG_DATA);
    while (sender_take(rig.s, rig.now, &burst))
        sender_sent(rig.s, rig.now, &burst, burst.datagrams);
    snprintf(bounds, sizeof bounds, "%u %u", first, first + MANY);
    sender_rig_ack(bounds);
    for (uint32_t i = 0; i < MANY; i++)
        sender_rig_expect_event(OUTCOME_OK, RIG_DATA);
}

TEST(rest__not_while_there_is_something_to_do)
{
    sender_rig_submit(10);
    ck_assert_uint_eq(sender_rest(rig.s), SIZE_MAX);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    ck_assert_uint_eq(sender_rest(rig.s), SIZE_MAX);
    sender_rig_ack("0 1");
    ck_assert_uint_eq(sender_rest(rig.s), SIZE_MAX); /* the event waits to be taken */
    sender_rig_expect_event(OUTCOME_OK, 10);
    ck_assert_uint_eq(sender_rest(rig.s), 0);
}

/* The announced buffers do not fit in where the table began, and are kept. */
TEST(rest__keeps_what_is_known)
{
    carry_many(0);
    size_t used = sender_rest(rig.s);
    ck_assert_uint_gt(used, 0);
    ck_assert_uint_lt(used, sender_bytes(&config).far);
    memory_rest_sender(rig.s, &config);
    sender_check(rig.s);
    carry_many(MANY);
    ck_assert_uint_eq(sender_rest(rig.s), 0);
}

TEST(is_quiet__when_a_sign_of_life_is_due)
{
    ck_assert(!sender_is_quiet(rig.s, rig.now));
    carry_many(0);
    ck_assert(!sender_is_quiet(rig.s, rig.now));
    rig.now += config.silence / 4 - 1;
    ck_assert(!sender_is_quiet(rig.s, rig.now));
    rig.now++;
    ck_assert(sender_is_quiet(rig.s, rig.now));
    sender_expire(rig.s, rig.now);
    (void)sender_rig_hello();
    rig.now = sender_deadline(rig.s);
    ck_assert(!sender_is_quiet(rig.s, rig.now)); /* once */
}

/* The user wants to be heard of more often; or less often than the silence limit lets. */
TEST(is_quiet__after_the_keepalive_interval, .rows = 2)
{
    duration interval = _i == 0 ? SECOND : config.silence / 4;
    sender_rig_fini();
    config.keepalive = _i == 0 ? SECOND : config.silence;
    sender_rig_init(&config);
    carry_many(0);
    rig.now += interval - 1;
    ck_assert(!sender_is_quiet(rig.s, rig.now));
    rig.now++;
    ck_assert(sender_is_quiet(rig.s, rig.now));
}
