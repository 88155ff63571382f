/* The life of a message on the receiver: whom a unit is for, acknowledgements, requests, cancel.
 * What a burst does to the user's memory is in receiver_row_test.c, restart and close in
 * receiver_session_test.c. */
#include "receiver_rig.h"

#include "../../support/suite.h"

static void start(void)
{
    receiver_rig_start(2, 128);
}

/* ---- units: the table of docs/protocol.md, "Messages on the receiver" ---- */

FIXTURE(receiver_rig_init, receiver_rig_fini)

TEST(unit__not_posted_yet_is_not_acknowledged)
{
    start();
    receiver_rig_land_unit(receiver_rig_last(0, 2, 0, 10));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_unposted, 1);
    receiver_rig_expect_silence();
}

TEST(unit__of_what_is_over_is_acknowledged)
{
    start();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    receiver_rig_expect_message(0, 10);
    receiver_rig_land_unit(receiver_rig_last(3, 0, 0, 10));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 1);
    receiver_rig_expect("+ 0 1 3 4");
    receiver_rig_expect_no_event();
}

TEST(unit__of_what_is_withdrawn_is_not_acknowledged)
{
    start();
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_unposted, 1);
    receiver_rig_expect("request 0*1=withdrawn 1*1=128");
    receiver_rig_expect_silence();
}

/* Of message 0's buffer, which has 128 bytes, the second half cannot be written. */
static bool is_first_half(const void *at, size_t bytes)
{
    size_t within = (uintptr_t)at - (uintptr_t)rig.buffer[0];

    return within >= 128 || within + bytes <= 64;
}

/* In its place it would have been found out by the kernel. */
TEST(unit__that_cannot_be_moved_fails_its_message)
{
    start();
    rig.landing.is_writable = is_first_half;
    receiver_rig_land_unit(receiver_rig_last(0, 1, 0, 10)); /* the first is planned */
    receiver_rig_land_unit(receiver_rig_last(1, 0, 64, 10));
    receiver_rig_expect_message(1, 10);
    receiver_rig_expect_end(OUTCOME_FAULT);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_unposted, 1);
    receiver_rig_expect("request 0*1=withdrawn");
}

TEST(unit__that_can_be_moved_beside_what_cannot)
{
    start();
    rig.landing.is_writable = is_first_half;
    receiver_rig_land_unit(receiver_rig_last(0, 1, 0, 10));
    receiver_rig_land_unit(receiver_rig_last(1, 0, 0, 10));
    receiver_rig_expect_message(1, 10);
    receiver_rig_expect_message(0, 10);
    ck_assert_uint_eq(receiver_counters(rig.r)->moved, 2);
}

/* What lies where it belongs is written already: nobody is asked whether it may be. */
static bool is_nowhere(const void *at, size_t bytes)
{
    (void)at;
    (void)bytes;
    return false;
}

TEST(unit__in_its_place_is_not_asked_about)
{
    start();
    rig.landing.is_writable = is_nowhere;
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_land_unit(receiver_rig_last(1, 0, RIG_DATA, 10));
    receiver_rig_expect_message(0, RIG_DATA + 10);
}

/* The path carries more than before: a larger unit covers some of what is there, more than once. */
TEST(unit__that_covers_what_is_there_in_part)
{
    receiver_rig_start(1, 8 * RIG_DATA);
    receiver_rig_land_unit(receiver_rig_unit(0, 0, RIG_DATA));
    receiver_rig_land_unit(receiver_rig_unit(1, 0, 3 * RIG_DATA));
    struct unit_trailer large = receiver_rig_last(2, 0, 0, 5 * RIG_DATA + 10);
    receiver_rig_land_unit(large);
    receiver_rig_expect_message(0, 5 * RIG_DATA + 10);
    ck_assert_uint_eq(receiver_counters(rig.r)->bytes, 5 * RIG_DATA + 10);
    rig.now += MILLISECOND;
    receiver_rig_expect("+ 0 3");
}

/* A unit that foretells nothing: the message is taken to go on. */
TEST(unit__that_foretells_nothing)
{
    start();
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    t.flags = 0;
    t.next_unit = 0;
    t.next_length = 0;
    receiver_rig_land_unit(t);
    receiver_rig_land_unit(receiver_rig_last(1, 0, RIG_DATA, RIG_DATA));
    receiver_rig_expect_message(0, 2 * RIG_DATA);
    ck_assert_uint_eq(receiver_counters(rig.r)->in_place, 2);
}

TEST(unit__beyond_the_buffer_is_not_acknowledged)
{
    start();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 128));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_beyond, 1);
    receiver_rig_expect_silence();
}

TEST(unit__beyond_the_known_end_is_not_acknowledged)
{
    start();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 64, 10));
    receiver_rig_land_unit(receiver_rig_last(1, 0, 64, 20));
    receiver_rig_land_unit(receiver_rig_last(2, 0, 0, 20)); /* another end */
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_beyond, 2);
    rig.now += MILLISECOND;
    receiver_rig_expect("+ 0 1");
}

TEST(unit__that_is_there_is_acknowledged_at_once)
{
    start();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_expect_silence();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 1);
    receiver_rig_expect("+ 0 1");
}

TEST(unit__void_ends_the_message)
{
    start();
    receiver_rig_land_unit(receiver_rig_too_large(0, 0, 1000000));
    receiver_rig_expect_too_large(1000000);
    receiver_rig_land_unit(receiver_rig_void(1, 1, VOID_CANCELLED));
    receiver_rig_expect_end(OUTCOME_PEER_CANCELLED);
    rig.now += MILLISECOND;
    receiver_rig_expect("+ 0 2");
}

/* The largest there is; and one that contradicts itself, which is the peer's affair. */
TEST(unit__too_large_says_any_size)
{
    start();
    receiver_rig_land_unit(receiver_rig_too_large(0, 0, MESSAGE_BYTES_MAX));
    receiver_rig_expect_too_large(MESSAGE_BYTES_MAX);
    receiver_rig_land_unit(receiver_rig_too_large(1, 1, 1));
    receiver_rig_expect_too_large(1);
}

/* Its event is still to be taken when units come that say something else of its length. */
TEST(unit__too_large_does_not_change_what_is_over)
{
    start();
    receiver_rig_plan();
    struct unit_trailer t = receiver_rig_last(0, 0, 0, RIG_DATA);
    receiver_rig_put_unit(&t);
    receiver_rig_landed();
    receiver_rig_land_unit(receiver_rig_too_large(1, 0, 1000000));
    receiver_rig_land_unit(receiver_rig_too_large(2, 1, 2000000));
    receiver_rig_land_unit(receiver_rig_too_large(3, 1, 3000000));
    receiver_rig_expect_message(0, RIG_DATA);
    receiver_rig_expect_too_large(2000000);
    receiver_rig_expect_no_event();
}

/* What the user took back ends as the user said, whatever comes for it. */
TEST(unit__too_large_for_what_is_withdrawn)
{
    start();
    receiver_rig_plan();
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_landed();
    receiver_rig_land_unit(receiver_rig_too_large(0, 0, 1000000));
    receiver_rig_expect_end(OUTCOME_CANCELLED);
}

/* Its length was known, and a part of it is there: nothing of that is told. */
TEST(unit__too_large_after_a_part)
{
    start();
    receiver_rig_land_unit(receiver_rig_last(0, 0, RIG_DATA, 10));
    receiver_rig_land_unit(receiver_rig_too_large(1, 0, 1000000));
    receiver_rig_expect_too_large(1000000);
}

TEST(unit__void_ends_what_is_withdrawn)
{
    start();
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_expect_end(OUTCOME_CANCELLED);
    receiver_rig_land_unit(receiver_rig_void(0, 0, VOID_CANCELLED));
    receiver_rig_expect_no_event();
    receiver_rig_expect("request 1*1=128");
}

/* What was taken back is told again and again until the sender passes it, which it may do much
 * later. A sender that only says that it is there makes that no more often than once a second. */
TEST(request__of_what_is_withdrawn_becomes_rare)
{
    uint32_t requests = 0;
    start();
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    for (instant end = rig.now + 60 * SECOND; rig.now < end; rig.now = receiver_deadline(rig.r)) {
        struct burst burst;
        receiver_expire(rig.r, rig.now);
        for (; receiver_take(rig.r, rig.now, &burst); requests++)
            receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
    }
    ck_assert_uint_le(requests, 2 * 70);
}

TEST(unit__of_another_session_tag_or_version_is_dropped)
{
    start();
    const struct receiver_counters *c = receiver_counters(rig.r);
    struct unit_trailer t = receiver_rig_last(0, 0, 0, 10);
    t.pairing.session++;
    receiver_rig_land_unit(t);
    ck_assert_uint_eq(c->drop_session, 1);
    t.pairing = (struct pairing){.session = rig.pairing.session, .tag = RIG_TAG + 1};
    receiver_rig_land_unit(t);
    ck_assert_uint_eq(c->drop_session, 2);
    t.pairing = rig.pairing;
    receiver_rig_put_unit(&t);
    rig.wire[rig.bytes - 1] = 0x11;
    receiver_rig_land();
    ck_assert_uint_eq(c->drop_version, 1);
    receiver_rig_put((const uint8_t[]){0x21}, 1);
    receiver_rig_land();
    ck_assert_uint_eq(c->drop_short, 1);
    ck_assert_uint_eq(c->units, 0);
    receiver_rig_expect_silence();
}

/* ---- acknowledgements ---- */

TEST(ack__after_a_millisecond)
{
    start();
    ck_assert_int_eq(receiver_acks_at(rig.r), NEVER);
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_expect_silence();
    ck_assert_int_eq(receiver_acks_at(rig.r), rig.now + MILLISECOND);
    receiver_rig_wait(MILLISECOND);
    receiver_rig_expect("+ 0 1");
    ck_assert_int_eq(receiver_acks_at(rig.r), NEVER);
    receiver_rig_expect_silence();
}

TEST(ack__at_once_when_asked_for)
{
    start();
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    t.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(t);
    ck_assert_int_le(receiver_acks_at(rig.r), rig.now);
    receiver_rig_expect("+ 0 1");
}

TEST(ack__at_once_and_negative_when_the_first_are_missing)
{
    start();
    receiver_rig_land_unit(receiver_rig_last(2, 0, 64, 10));
    receiver_rig_expect("- 0 2 3");
    receiver_rig_land_unit(receiver_rig_unit(3, 0, 0));
    receiver_rig_expect_message(0, 74);
    rig.now += MILLISECOND;
    receiver_rig_expect("- 0 2 4");
}

/* One number may have been left out: that is no disorder. */
TEST(ack__not_at_once_for_a_lone_number)
{
    start();
    receiver_rig_land_unit(receiver_rig_unit(1, 0, 0));
    receiver_rig_expect_silence();
    receiver_rig_land_unit(receiver_rig_last(3, 0, 64, 10));
    receiver_rig_expect_silence();
    rig.now += MILLISECOND;
    receiver_rig_expect("- 0 1 2 3 4");
}

/* A unit of message 0 that asks for an answer, which is this. */
static void answer(uint32_t seq, const char *expected)
{
    struct unit_trailer t = receiver_rig_unit(seq, 0, 0);
    t.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(t);
    receiver_rig_expect(expected);
}

/* Each hole is told three times, with the end of what lies below it; then it is forgotten. */
TEST(ack__tells_each_hole_three_times)
{
    start();
    answer(0, "+ 0 1");
    answer(2, "+ 0 1 2 3");
    answer(3, "+ 0 1 2 4");
    answer(5, "+ 0 1 2 4 5 6");
    answer(6, "+ 2 4 5 7");
    answer(7, "+ 2 4 5 8");
    answer(8, "+ 5 9");
    answer(9, "+ 5 10");
}

/* What comes late is told three times, too, with what lies around it. */
TEST(ack__tells_what_came_late_three_times)
{
    start();
    answer(0, "+ 0 1");
    answer(4, "+ 0 1 4 5");
    for (uint32_t seq = 5; seq < 9; seq++)
        answer(seq, seq == 5 ? "+ 0 1 4 6" : seq == 6 ? "+ 0 1 4 7" : seq == 7 ? "+ 4 8" : "+ 4 9");
    answer(2, "+ 0 1 2 3 4 9");
    answer(9, "+ 0 1 2 3 4 10");
    answer(10, "+ 0 1 2 3 4 11");
    answer(11, "+ 4 12");
}

/* Copies are answered at once, as long as that costs little beside what arrives; who asks is
 * always. */
TEST(ack__thins_out_when_nobody_asks)
{
    uint32_t at_once = 0;
    struct unit_trailer t;
    struct burst burst;
    start();
    t = receiver_rig_unit(0, 0, 0);
    for (; at_once < 1000; at_once++) {
        receiver_rig_land_unit(t);
        if (!receiver_take(rig.r, rig.now, &burst) && at_once > 0)
            break;
    }
    ck_assert_uint_gt(at_once, 100);
    ck_assert_uint_lt(at_once, 1000);
    rig.now += 19 * MILLISECOND;
    receiver_rig_expect_silence();
    t.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(t);
    receiver_rig_expect("+ 0 1");
}

/* ---- requests ---- */

/* Posts 16 messages, and the sender says that it knows them. */
static void announce_few(void)
{
    for (uint32_t i = 0; i < 16; i++)
        receiver_rig_post(64);
    receiver_rig_bind("request 0*16=64");
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 16});
    receiver_rig_expect_silence();
}

/* Message `n` arrives, and all before it have. */
static void arrive(uint32_t n)
{
    char expected[32];
    struct unit_trailer t = receiver_rig_last(n, n, 0, 64);
    t.flags |= FLAG_ANSWER;
    receiver_rig_land_unit(t);
    receiver_rig_expect_message(n, 64);
    snprintf(expected, sizeof expected, "+ 0 %u", n + 1);
    receiver_rig_expect(expected);
}

TEST(request__few_at_once_and_one_more_after_a_while)
{
    announce_few();
    receiver_rig_post(256);
    receiver_rig_expect_silence();
    receiver_rig_wait(256 * MILLISECOND);
    receiver_rig_expect("request 16*1=256");
}

/* Three times as many as the sender knows, while it uses none of them. */
TEST(request__many_at_once)
{
    announce_few();
    for (int i = 0; i < 47; i++)
        receiver_rig_post(128);
    receiver_rig_expect_silence();
    receiver_rig_post(256);
    receiver_rig_expect("request 16*47=128 63*1=256");
}

/* Or when the user waits, unless the sender knows of far more. */
TEST(request__when_the_user_waits)
{
    announce_few();
    for (int i = 0; i < 7; i++)
        receiver_rig_post(128);
    ck_assert(!receiver_on_wait(rig.r));
    receiver_rig_expect_silence();
    receiver_rig_post(128);
    ck_assert(receiver_on_wait(rig.r));
    receiver_rig_expect("request 16*8=128");
    ck_assert(!receiver_on_wait(rig.r));
    receiver_rig_expect_silence();
}

/* Not by one who shows what is posted, nor by one that closes. */
TEST(request__not_when_the_user_waits, .rows = 2)
{
    announce_few();
    if (_i == 0)
        (void)receiver_set_credit(rig.r, true);
    for (int i = 0; i < 8; i++)
        receiver_rig_post(128);
    if (_i == 1)
        receiver_close(rig.r, rig.now);
    (void)receiver_on_wait(rig.r);
    if (_i == 1)
        receiver_rig_expect("close +");
    receiver_rig_expect_silence();
}

/* The sender knows of one, then of two: the third waits for 15 others, but not long. */
TEST(request__in_a_row)
{
    receiver_rig_bind("request");
    receiver_rig_post(64);
    receiver_rig_expect("request 0*1=64");
    receiver_rig_post(64);
    receiver_rig_expect("request 0*2=64");
    receiver_rig_post(64);
    receiver_rig_expect_silence();
    receiver_rig_wait(50 * MICROSECOND);
    receiver_rig_expect("request 2*1=64");
    for (int i = 0; i < 15; i++)
        receiver_rig_post(64);
    receiver_rig_expect_silence();
    receiver_rig_post(64);
    receiver_rig_expect("request 0*19=64");
}

/* A sender that has used one may need the next soon. */
TEST(request__at_once_to_a_sender_that_uses_them)
{
    announce_few();
    arrive(0);
    receiver_rig_post(64);
    receiver_rig_expect("request 16*1=64");
}

/* So has one whose first unit got lost on the way, and has to come again. */
TEST(request__at_once_to_a_sender_that_uses_them_behind_a_loss)
{
    announce_few();
    for (uint32_t n = 1; n < 16; n++) {
        receiver_rig_land_unit(receiver_rig_last(n, n, 0, 64));
        receiver_rig_expect_message(n, 64);
    }
    for (int i = 0; i < 8; i++)
        receiver_rig_post(64);
    receiver_rig_expect("request 16*8=64");
}

/* It has been posted for an eighth of the time that the others have. */
TEST(request__with_an_arrival)
{
    announce_few();
    rig.now += 70 * MILLISECOND;
    receiver_rig_post(256);
    rig.now += 5 * MILLISECOND;
    arrive(0);
    receiver_rig_expect_silence();
    rig.now += 10 * MILLISECOND;
    receiver_rig_land(); /* nothing: that is no arrival */
    receiver_rig_expect_silence();
    arrive(1);
    receiver_rig_expect("request 16*1=256");
}

/* The sender uses up what it knows, and its user posts nothing more. */
TEST(request__when_the_sender_knows_few)
{
    announce_few();
    rig.now += 70 * MILLISECOND;
    receiver_rig_post(256);
    for (uint32_t n = 0; n < 8; n++)
        arrive(n);
    ck_assert(receiver_deadline(rig.r) > rig.now);
    arrive(8);
    ck_assert(receiver_deadline(rig.r) <= rig.now);
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect("request 16*1=256");
}

/* Messages come 10 ms apart, and two are posted: each is announced with the arrival of the one
 * before, and the request is not repeated soon. */
TEST(request__calmly)
{
    receiver_rig_ask(RIG_TAG);
    rig.now += MILLISECOND;
    receiver_rig_ask_again();
    receiver_rig_expect("request");
    receiver_rig_post(64);
    receiver_rig_expect("request 0*1=64");
    receiver_rig_post(64);
    receiver_rig_expect("request 0*2=64");
    rig.now += 10 * MILLISECOND;
    arrive(0);
    receiver_rig_post(64);
    receiver_rig_expect_silence();
    rig.now += 10 * MILLISECOND;
    arrive(1);
    receiver_rig_expect("request 2*1=64");
    receiver_rig_wait(256 * MILLISECOND);
    receiver_rig_expect("request 2*1=64");
}

/* The same on a path that has lost something: announced at once. */
TEST(request__not_calmly_where_units_get_lost)
{
    receiver_rig_ask(RIG_TAG);
    rig.now += MILLISECOND;
    receiver_rig_ask_again();
    receiver_rig_expect("request");
    receiver_rig_post(64);
    receiver_rig_expect("request 0*1=64");
    receiver_rig_post(64);
    receiver_rig_expect("request 0*2=64");
    receiver_rig_post(64);
    receiver_rig_wait(50 * MICROSECOND);
    receiver_rig_expect("request 2*1=64");
    rig.now += 10 * MILLISECOND;
    receiver_rig_land_unit(receiver_rig_last(1, 1, 0, 64)); /* before message 0 */
    receiver_rig_expect_message(1, 64);
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 64));
    receiver_rig_expect_message(0, 64);
    rig.now += 10 * MILLISECOND;
    receiver_rig_post(64);
    receiver_rig_expect("+ 0 2");
    receiver_rig_expect("request 2*2=64");
}

/* The request for message 1 is lost, and the next one restates it. */
TEST(request__restates_what_may_be_lost)
{
    receiver_rig_start(1, 64);
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    receiver_rig_post(128);
    receiver_rig_expect("request 1*1=128");
    arrive(0);
    receiver_rig_post(256);
    receiver_rig_expect("request 1*1=128 2*1=256");
}

/* The sender answers that it knows of the message: the next request only asks whether it is there.
 */
TEST(request__not_soon_again_once_it_is_known)
{
    receiver_rig_start(2, 128);
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    receiver_rig_expect("request 1*1=128");
    receiver_rig_wait(20 * MILLISECOND);
    receiver_rig_expect("request 1*1=128");
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
    receiver_rig_expect_silence();
    receiver_rig_wait(SECOND);
}

/* ---- the round trip ---- */

/* A question is given a cookie, which comes back so much later. */
static void bind_after(duration taken)
{
    receiver_rig_ask(RIG_TAG);
    rig.now += taken;
    receiver_rig_ask_again();
}

TEST(round_trip__of_a_cookie)
{
    ck_assert_int_eq(receiver_round_trip(rig.r), 0);
    bind_after(40 * MILLISECOND);
    ck_assert_int_eq(receiver_round_trip(rig.r), 40 * MILLISECOND);
}

/* The question comes again before its answer can be back: the first cookie counts. */
TEST(round_trip__of_a_question_that_is_repeated)
{
    receiver_rig_ask(RIG_TAG);
    rig.now += 20 * MILLISECOND;
    rig.nonce--;
    bind_after(20 * MILLISECOND);
    ck_assert_int_eq(receiver_round_trip(rig.r), 40 * MILLISECOND);
}

TEST(round_trip__of_a_request_and_the_shortest_counts)
{
    static const duration taken[] = {20 * MILLISECOND, 10 * MILLISECOND, 15 * MILLISECOND};
    static const duration shortest[] = {20 * MILLISECOND, 10 * MILLISECOND, 10 * MILLISECOND};
    char expected[32];
    bind_after(SECOND);
    receiver_rig_expect("request");
    for (uint32_t i = 0; i < ROWS(taken); i++) {
        receiver_rig_post(128);
        snprintf(expected, sizeof expected, "request %u*1=128", i);
        receiver_rig_expect(expected);
        rig.now += taken[i];
        receiver_rig_land_unit(receiver_rig_last(i, i, 0, 10));
        ck_assert_int_eq(receiver_round_trip(rig.r), shortest[i]);
        receiver_rig_expect_message(i, 10);
        rig.now = receiver_deadline(rig.r);
        snprintf(expected, sizeof expected, "+ 0 %u", i + 1);
        receiver_rig_expect(expected);
    }
}

/* A sender that has something to send does not answer a request at once. */
TEST(round_trip__not_while_the_sender_knows_of_messages)
{
    bind_after(SECOND);
    receiver_rig_expect("request");
    receiver_rig_post(128);
    receiver_rig_expect("request 0*1=128");
    rig.now += 30 * MILLISECOND;
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    ck_assert_int_eq(receiver_round_trip(rig.r), 30 * MILLISECOND);
    receiver_rig_post(128);
    receiver_rig_expect("request 1*1=128");
    rig.now += MILLISECOND;
    receiver_rig_land_unit(receiver_rig_last(1, 1, 0, 10));
    ck_assert_int_eq(receiver_round_trip(rig.r), 30 * MILLISECOND);
}

/* An acknowledgement that nobody asked for may wait for an eighth of it, at least a millisecond. */
TEST(round_trip__delays_acknowledgements, .rows = 2)
{
    receiver_rig_post(1024);
    bind_after(_i == 0 ? MILLISECOND : 16 * MILLISECOND);
    receiver_rig_expect("request 0*1=1024");
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    ck_assert_int_eq(receiver_deadline(rig.r) - rig.now, (_i + 1) * MILLISECOND);
}

/* While the sender knows of many, more are announced together: a quarter of those. */
TEST(request__more_at_once_if_many_are_known)
{
    receiver_rig_start(161, 128);
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 64));
    receiver_rig_expect_message(0, 64);
    for (int i = 0; i < 39; i++)
        receiver_rig_post(128);
    receiver_rig_expect_silence();
    receiver_rig_post(128);
    receiver_rig_expect("request 161*40=128");
}

/* What waits to be announced together is not passed over by an answer. */
TEST(request__an_answer_announces_what_is_new)
{
    receiver_rig_start(160, 128);
    struct hello hello = {.pairing = rig.pairing, .requested = 160};
    receiver_rig_hello(hello);
    receiver_rig_expect_silence();
    for (int i = 0; i < 5; i++)
        receiver_rig_post(128);
    receiver_rig_expect_silence();
    rig.now += MILLISECOND;
    receiver_rig_hello(hello);
    receiver_rig_expect("request 160*5=128");
}

TEST(request__restated_until_known)
{
    start();
    for (int i = 0; i < 4; i++) {
        receiver_rig_wait(20 * MILLISECOND << i);
        receiver_rig_expect("request 0*2=128");
    }
    struct hello knows = {.pairing = rig.pairing, .requested = 2};
    receiver_rig_hello(knows);
    receiver_rig_expect_silence(); /* it was an answer */
    rig.now += MILLISECOND;
    receiver_rig_hello(knows);
    receiver_rig_expect("request"); /* this one asks for a sign of life, */
    receiver_rig_wait(SECOND);
    receiver_rig_expect("request 0*2=128"); /* and so does this */
}

TEST(request__goes_on_where_the_sender_stopped)
{
    start();
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    receiver_rig_expect("request 1*1=128");
}

TEST(request__silence_fails_all)
{
    start();
    rig.now += 10 * SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 1);
}

/* ---- cancel ---- */

TEST(cancel__gives_its_event_after_the_plan)
{
    start();
    receiver_rig_plan();
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    ck_assert(!receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_expect_no_event();
    receiver_rig_landed();
    receiver_rig_expect_end(OUTCOME_CANCELLED);
}

/* ---- posts ---- */

TEST(post__refused, .rows = 2)
{
    uint64_t number;
    uint32_t fit = _i == 0 ? RIG_MESSAGES : 3;
    for (uint32_t i = 0; i < fit; i++)
        receiver_rig_post(10);
    if (_i == 1)
        receiver_close(rig.r, rig.now);
    for (int i = 0; i < 2; i++)
        ck_assert(!receiver_post(rig.r, rig.now, NULL, rig.buffer[0], 10, &number));
    ck_assert_uint_eq(receiver_counters(rig.r)->table_full, _i == 0 ? 2 : 0);
}

/* ---- what is told again ---- */

/* It is told of what was taken back until it has agreed, also where it does not know all. */
TEST(request__restates_what_is_withdrawn)
{
    start();
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    receiver_rig_expect("request 1*1=128");
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    for (int i = 0; i < 3; i++) {
        receiver_rig_expect("request 0*1=withdrawn 1*1=128");
        rig.now = receiver_deadline(rig.r);
        receiver_expire(rig.r, rig.now);
    }
}

/* Unit `seq` of messages of 15 units; the end of each never comes. */
static void put_in_order(uint32_t seq)
{
    struct unit_trailer t = receiver_rig_unit(seq, seq / 15, seq % 15 * RIG_DATA);
    t.next_step = seq % 15 == 14;
    t.next_unit = seq % 15 == 14 ? 0 : t.next_unit;
    receiver_rig_put_unit(&t);
}

static void land_in_order(uint32_t seq)
{
    put_in_order(seq);
    receiver_rig_land();
}

/* Nobody asks: after so many units it is told at once, and after as many again. */
TEST(ack__at_once_after_many_units)
{
    uint32_t many[2] = {0}, seq = 0;
    struct burst burst;
    receiver_rig_start(RIG_MESSAGES, RIG_BUFFER);
    for (int i = 0; i < 2; i++) {
        while (receiver_acks_at(rig.r) > rig.now && many[i] < 2000) {
            land_in_order(seq++);
            many[i]++;
        }
        ck_assert(receiver_take(rig.r, rig.now, &burst));
    }
    ck_assert_uint_ge(many[0], 256);
    ck_assert_uint_lt(many[0], 2000);
    ck_assert_uint_eq(many[0], many[1]);
}

/* Copies that are answered no more, because that would cost much, are when more has come. */
TEST(ack__thins_out_until_more_has_come)
{
    enum { MORE = 500 };
    struct burst burst;
    uint32_t at_once = 0;
    receiver_rig_start(RIG_MESSAGES, RIG_BUFFER);
    land_in_order(0);
    for (; at_once < 1000; at_once++) {
        land_in_order(0);
        if (!receiver_take(rig.r, rig.now, &burst))
            break;
    }
    ck_assert_uint_lt(at_once, 1000);
    for (uint32_t seq = 1; seq < MORE; seq++) {
        put_in_order(seq);
        if (seq % 10 == 0)
            receiver_rig_land();
    }
    receiver_rig_land();
    ck_assert_int_gt(receiver_acks_at(rig.r), rig.now);
    land_in_order(0);
    ck_assert_int_le(receiver_acks_at(rig.r), rig.now);
}

/* ---- what a request says ---- */

/* Neighbours that are withdrawn are one run; those that are posted are another. */
TEST(request__runs_of_what_is_withdrawn)
{
    receiver_rig_start(4, 128);
    ck_assert(receiver_cancel(rig.r, rig.now, 1));
    ck_assert(receiver_cancel(rig.r, rig.now, 2));
    receiver_rig_expect("request 1*2=withdrawn 3*1=128");
    receiver_call(rig.r);
    receiver_rig_expect("request 0*1=128 1*2=withdrawn 3*1=128");
}

/* More runs than a datagram holds: the next one goes on behind them. */
TEST(request__in_several_datagrams)
{
    struct request request;
    struct burst burst;
    uint32_t next = 0, datagrams = 0;
    for (uint32_t i = 0; i < RIG_MESSAGES; i++)
        receiver_rig_post(i % 2 == 0 ? 64 : 128);
    receiver_rig_ask(RIG_TAG);
    receiver_rig_ask_again();
    for (; receiver_take(rig.r, rig.now, &burst); datagrams++) {
        ck_assert_uint_le(burst.bytes, CONTROL_BYTES);
        ck_assert_int_eq(request_decode(burst.control, burst.bytes, &request), VERDICT_OK);
        for (uint32_t i = 0; i < request.length; i++, next++) {
            struct request_run run = request_run(&request, i);
            ck_assert_uint_eq(run.first, next);
            ck_assert_uint_eq(run.count, 1);
            ck_assert_uint_eq(run.size, next % 2 == 0 ? 64 : 128);
        }
        ck_assert_uint_lt(datagrams, RIG_MESSAGES);
    }
    ck_assert_uint_eq(next, RIG_MESSAGES);
    ck_assert_uint_gt(datagrams, 1);
}
