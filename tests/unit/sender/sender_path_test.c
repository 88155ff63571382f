/* Units follow what the path carries: path_mtu.h as the sender drives it. */
#include "sender_rig.h"

#include "core/path/path_mtu.h"
#include "core/wire/control.h"

#include "../../support/suite.h"

enum {
    DATA = 1984,
    LARGE = DATA + TRAILER_BYTES,
    SIZE = 2 * DATA
}; /* bytes of the largest unit, small enough not to be halved when lost */

/* Two full units of one message are under way. */
static void setup(void)
{
    struct sender_config config = sender_rig_config();
    config.unit_bytes = LARGE;
    config.burst_bytes = 4 * LARGE;
    config.window_bytes = 8 * LARGE;
    sender_rig_init(&config);
    sender_rig_submit(SIZE);
    sender_rig_pair(8, SIZE);
    sender_rig_expect("0:0+1984 0:1984+1984LA");
}

/* The next burst is a probe of so many bytes; it stays with the channel. */
static struct path_probe expect_probe(uint32_t bytes)
{
    struct path_probe probe;
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert(rig.burst.is_control);
    ck_assert_uint_eq(rig.burst.datagrams, 1);
    ck_assert_uint_eq(rig.burst.segment, bytes);
    ck_assert_uint_eq(rig.burst.iov[0].iov_len + rig.burst.iov[1].iov_len, bytes);
    ck_assert_int_eq(path_probe_decode(rig.burst.control, bytes, &probe), VERDICT_OK);
    ck_assert_uint_eq(probe.pairing.session, rig.pairing.session);
    ck_assert_uint_eq(probe.pairing.tag, rig.pairing.tag);
    sender_check(rig.s);
    return probe;
}

static void sent(uint32_t datagrams)
{
    sender_sent(rig.s, rig.now, &rig.burst, datagrams);
}

static void answer(struct path_probe probe)
{
    uint8_t datagram[TRAILER_BYTES];
    path_answer_encode(datagram, &probe);
    sender_rig_receive(datagram, sizeof datagram);
}

/* Twice nothing comes back, and then a small probe passes: what is repeated now is small. */
static void fall(void)
{
    sender_rig_wait();
    sender_rig_expect("0:0+1984A 0:1984+1984LA");
    sender_rig_expect_nothing();
    sender_rig_wait();
    ck_assert_uint_ne(sender_rig_hello().nonce, 0); /* is it another receiver? */
    sender_rig_expect("0:0+1984A 0:1984+1984LA");
    struct path_probe probe = expect_probe(PATH_MTU_BASE_BYTES);
    sent(1);
    answer(probe);
}

static uint64_t unit_bytes(void)
{
    return sender_gauges(rig.s).unit;
}

FIXTURE(setup, sender_rig_fini)

TEST(path__nothing_is_probed_while_all_is_well)
{
    sender_rig_ack("0 2");
    sender_rig_submit(SIZE);
    sender_rig_expect("1:0+1984 1:1984+1984LA");
    ck_assert_uint_eq(sender_counters(rig.s)->path_probes, 0);
    ck_assert_uint_eq(unit_bytes(), LARGE);
}

TEST(path__a_hole_is_found_with_the_second_timeout)
{
    fall();
    ck_assert_uint_eq(unit_bytes(), PATH_MTU_BASE_BYTES);
    ck_assert_uint_eq(sender_counters(rig.s)->path_falls, 1);
    ck_assert_uint_eq(sender_counters(rig.s)->probes, 2);
}

TEST(path__and_then_what_it_was_is_tried_first)
{
    fall();
    struct path_probe probe = expect_probe(LARGE);
    sent(1);
    sender_rig_expect("0:0+1184A 0:1184+800A");
    answer(probe);
    ck_assert_uint_eq(unit_bytes(), LARGE);
    ck_assert_uint_eq(sender_counters(rig.s)->path_answers, 2);
}

/* What ICMP says, or somebody who sends such, brings a probe about and nothing else. */
TEST(path__hints_change_no_size)
{
    for (int i = 0; i < 1000; i++) {
        rig.now += MILLISECOND;
        sender_on_path_hint(rig.s, rig.now);
        if (!sender_take(rig.s, rig.now, &rig.burst))
            continue;
        ck_assert(rig.burst.is_control);
        sent(1);
    }
    ck_assert_uint_eq(unit_bytes(), LARGE);
    ck_assert_uint_eq(sender_counters(rig.s)->path_probes, 1);
    sender_rig_ack("0 2");
    ck_assert_uint_eq(unit_bytes(), LARGE);
}

TEST(path__a_lost_probe_is_no_lost_data)
{
    fall();
    uint64_t window = sender_gauges(rig.s).window;
    expect_probe(LARGE);
    sent(1);
    sender_rig_wait();
    ck_assert_uint_eq(sender_gauges(rig.s).window, window);
    ck_assert_uint_eq(sender_counters(rig.s)->lost, 0);
}

TEST(path__a_probe_that_did_not_leave_goes_again)
{
    fall();
    struct path_probe first = expect_probe(LARGE);
    sent(0);
    struct path_probe second = expect_probe(LARGE);
    ck_assert_uint_ne(first.number, second.number);
    sent(1);
}

TEST(path__a_refused_probe_costs_nothing)
{
    fall();
    expect_probe(LARGE);
    ck_assert(sender_on_refused_size(rig.s, rig.now, LARGE));
    sent(0);
    ck_assert_uint_eq(unit_bytes(), PATH_MTU_BASE_BYTES);
    answer(expect_probe(1248));
    ck_assert_uint_eq(unit_bytes(), 1248);
}

/* Nobody looks for larger units who could not fill them. */
TEST(path__small_messages_need_no_probe)
{
    fall();
    sender_rig_ack("0 2");
    sender_rig_submit(100);
    sender_rig_expect("1:0+100LA");
    sender_rig_submit(SIZE);
    expect_probe(LARGE);
}

/* The unit that was repeated in parts arrived after all: they need not. */
TEST(path__parts_of_what_came_late)
{
    fall();
    expect_probe(LARGE);
    sent(1);
    sender_rig_expect("0:0+1184A 0:1184+800A");
    sender_rig_ack("0 2");
    sender_rig_expect_event(OUTCOME_OK, SIZE);
}

TEST(path__the_parts_alone_are_enough)
{
    fall();
    expect_probe(LARGE);
    sent(1);
    sender_rig_expect("0:0+1184A 0:1184+800A");
    sender_rig_expect("0:1984+1184A 0:3168+800LA");
    sender_rig_ack("6 10");
    sender_rig_expect_event(OUTCOME_OK, SIZE);
}

/* Sends all there is to send; returns how many of it were probes of the path. */
static uint32_t send_all(void)
{
    uint32_t probes = 0;
    while (sender_take(rig.s, rig.now, &rig.burst)) {
        probes += rig.burst.is_control && rig.burst.iov[0].iov_len > 0;
        sent(rig.burst.datagrams);
    }
    return probes;
}

/* A path that is gone is not asked again and again if it carries more. */
TEST(path__one_probe_while_nothing_comes)
{
    fall();
    for (uint32_t i = 0; i < 7; i++)
        sender_rig_submit(SIZE);
    ck_assert_uint_eq(send_all(), 1);
    for (uint32_t i = 0; i < 8; i++) {
        sender_rig_wait();
        ck_assert_uint_eq(send_all(), 0);
    }
    sender_rig_ack("1 10");
    ck_assert_uint_eq(send_all(), 1);
}

TEST(path__answer_of_another_pairing)
{
    fall();
    struct path_probe probe = expect_probe(LARGE);
    sent(1);
    probe.pairing.tag ^= 1;
    answer(probe);
    ck_assert_uint_eq(unit_bytes(), PATH_MTU_BASE_BYTES);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, 1);
}

TEST(path__broken_answer)
{
    uint8_t datagram[TRAILER_BYTES] = {[TRAILER_BYTES - 1] = 0x27};
    sender_rig_receive(datagram, sizeof datagram);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_malformed, 1);
}

TEST(path__the_session_ends_with_a_probe_out)
{
    fall();
    struct path_probe probe = expect_probe(LARGE);
    sent(1);
    sender_fail(rig.s, rig.now, OUTCOME_CLOSED);
    sender_check(rig.s);
    answer(probe);
    ck_assert_uint_eq(unit_bytes(), PATH_MTU_BASE_BYTES);
}

/* An answer shows that the peer is there. */
TEST(path__an_answer_is_a_sign_of_life)
{
    fall();
    struct path_probe probe = expect_probe(LARGE);
    sent(1);
    rig.now += 9 * SECOND;
    answer(probe);
    rig.now += 9 * SECOND;
    sender_expire(rig.s, rig.now);
    sender_expire(rig.s, rig.now + 500 * MILLISECOND);
    struct event event;
    if (sender_event(rig.s, &event))
        ck_assert_int_ne(event.outcome, OUTCOME_SILENT);
    ck_assert_uint_eq(sender_counters(rig.s)->path_answers, 2);
}
