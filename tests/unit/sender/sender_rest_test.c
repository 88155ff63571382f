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

/* A receiver that has nothing posted asks until it hears something, although it is heard itself. */
TEST(rest__says_hello_to_who_asks_all_the_time)
{
    int hellos = 0;

    carry_many(0);
    for (int i = 0; i < 25; i++) {
        rig.now += SECOND;
        sender_expire(rig.s, rig.now);
        while (sender_has_burst(rig.s)) {
            (void)sender_rig_hello();
            hellos++;
        }
        sender_rig_request(0, 0, 0);
    }
    ck_assert_int_ge(hellos, 4); /* twice a quarter of 10 s */
    ck_assert_int_le(hellos, 6);
}

/* A path that comes back after some time is noticed within a second. */
TEST(rest__probes_every_second_at_least)
{
    sender_rig_submit(RIG_DATA);
    sender_rig_pair(1, RIG_DATA);
    sender_rig_expect("0:0+64LA");
    for (instant begun = rig.now, last = rig.now; rig.now < begun + 9 * SECOND; last = rig.now) {
        sender_rig_wait();
        ck_assert_int_le(rig.now - last, SECOND);
        while (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    }
    ck_assert_uint_ge(sender_counters(rig.s)->probes, 9);
}
