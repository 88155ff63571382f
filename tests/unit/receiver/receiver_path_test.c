/* Probes of the path: what arrives is answered, and its padding does no harm. */
#include "receiver_rig.h"

#include "core/wire/control.h"

#include "../../support/suite.h"

static void setup(void)
{
    receiver_rig_init();
    receiver_rig_start(1, 4 * RIG_DATA);
}

static void put_probe(uint32_t number, uint32_t padding, struct pairing pairing)
{
    uint8_t datagram[RIG_BUFFER];
    struct path_probe probe = {
        .pairing = pairing, .number = number, .bytes = padding + TRAILER_BYTES};
    memset(datagram, 0x5a, padding);
    path_probe_encode(datagram + padding, &probe);
    receiver_rig_put(datagram, probe.bytes);
}

static void expect_answer(uint32_t number, uint32_t bytes)
{
    struct burst burst;
    struct path_probe answer;
    ck_assert(receiver_take(rig.r, rig.now, &burst));
    ck_assert_int_eq(path_answer_decode(burst.control, burst.bytes, &answer), VERDICT_OK);
    ck_assert_uint_eq(answer.number, number);
    ck_assert_uint_eq(answer.bytes, bytes);
    ck_assert_uint_eq(answer.pairing.session, rig.pairing.session);
    ck_assert_uint_eq(answer.pairing.tag, rig.pairing.tag);
}

FIXTURE(setup, receiver_rig_fini)

TEST(path_probe__is_answered_once)
{
    put_probe(7, 200, rig.pairing);
    receiver_rig_land();
    expect_answer(7, 200 + TRAILER_BYTES);
    receiver_rig_expect_silence();
    ck_assert_uint_eq(receiver_counters(rig.r)->path_answers, 1);
}

TEST(path_probe__of_several_the_newest_is_answered)
{
    put_probe(7, 200, rig.pairing);
    put_probe(8, 200, rig.pairing);
    receiver_rig_land();
    expect_answer(8, 200 + TRAILER_BYTES);
    receiver_rig_expect_silence();
}

/* Its padding lands in the message, and units behind it beside their places. */
TEST(path_probe__does_not_show_in_the_message)
{
    put_probe(1, 2 * RIG_DATA, rig.pairing);
    receiver_rig_land();
    expect_answer(1, 2 * RIG_DATA + TRAILER_BYTES);
    for (uint32_t i = 0; i < 3; i++)
        receiver_rig_land_unit(receiver_rig_unit(i, 0, i * RIG_DATA));
    receiver_rig_land_unit(receiver_rig_last(3, 0, 3 * RIG_DATA, RIG_DATA));
    receiver_rig_expect_message(0, 4 * RIG_DATA);
}

TEST(path_probe__of_another_pairing)
{
    struct pairing other = rig.pairing;
    other.tag ^= 1;
    put_probe(7, 200, other);
    receiver_rig_land();
    receiver_rig_expect_silence();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 1);
}

TEST(path_probe__broken)
{
    uint8_t datagram[TRAILER_BYTES] = {[TRAILER_BYTES - 1] = 0x26};
    receiver_rig_put(datagram, sizeof datagram);
    receiver_rig_land();
    receiver_rig_expect_silence();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_malformed, 1);
}

TEST(path_probe__an_answer_does_not_outlive_the_session)
{
    put_probe(7, 200, rig.pairing);
    receiver_rig_land();
    receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_silence();
}
