/* Messages that come as a whole, beside the units, and the credit for them. */
#include "core/adt/intervals.h"
#include "receiver_rig.h"

#include "../../support/suite.h"

enum { SIZE = 4 * RIG_DATA };

static void setup(void)
{
    receiver_rig_init();
    memset(rig.buffer[0], 0x5A, RIG_BUFFER);
    receiver_rig_start(2, SIZE);
}

FIXTURE(setup, receiver_rig_fini)

/* The message of this number in the session comes as a whole, and lands. */
static void land_whole(uint64_t in_session, uint64_t size)
{
    struct whole_place place;

    ck_assert_int_eq(receiver_whole(rig.r, in_session, size, &place), WHOLE_LANDS);
    ck_assert_ptr_eq(place.buffer, rig.buffer[place.number]);
    for (uint64_t i = 0; i < size; i++)
        place.buffer[i] = receiver_rig_byte(place.number, i);
    receiver_whole_landed(rig.r, place.number, size);
    receiver_check(rig.r);
}

static void expect_use(uint64_t in_session, uint64_t size, enum whole_use use)
{
    struct whole_place place;
    ck_assert_int_eq(receiver_whole(rig.r, in_session, size, &place), use);
    receiver_check(rig.r);
}

TEST(receiver_whole__lands)
{
    land_whole(0, 100);
    receiver_rig_expect_message(0, 100);
    land_whole(1, 0);
    receiver_rig_expect_message(1, 0);
    receiver_rig_expect_no_event();
    ck_assert_uint_eq(receiver_counters(rig.r)->wholes, 2);
    ck_assert_uint_eq(receiver_counters(rig.r)->bytes, 100);
    for (uint32_t i = 100; i < RIG_BUFFER; i++)
        ck_assert_uint_eq(rig.buffer[0][i], 0x5A); /* the user's own */
}

/* The same, and the end needs no event, unless one is to be told before it. */
TEST(receiver_whole_ends__without_an_event)
{
    struct whole_place place;
    struct event event;

    ck_assert_int_eq(receiver_whole(rig.r, 1, 100, &place), WHOLE_LANDS);
    ck_assert(receiver_whole_ends(rig.r, &place, 100, &event));
    ck_assert_ptr_eq(event.user, place.user);
    ck_assert_uint_eq(event.length, 100);
    ck_assert_int_eq(event.outcome, OUTCOME_OK);
    receiver_check(rig.r);
    receiver_rig_expect_no_event();
    expect_use(1, 100, WHOLE_OVER);
    ck_assert_uint_eq(receiver_counters(rig.r)->wholes, 1);
}

TEST(receiver_whole_ends__in_its_turn)
{
    struct whole_place place;
    struct event event;

    ck_assert_int_eq(receiver_whole(rig.r, 1, 1, &place), WHOLE_LANDS);
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    ck_assert(!receiver_whole_ends(rig.r, &place, 1, &event));
    receiver_rig_expect_end(OUTCOME_CANCELLED);
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_uint_eq(event.length, 1);
    receiver_check(rig.r);
}

/* What lies behind its end is to be cleared. */
TEST(receiver_whole_ends__with_what_came_before)
{
    struct whole_place place;
    struct event event;

    ck_assert_int_eq(receiver_whole(rig.r, 0, 10, &place), WHOLE_LANDS);
    receiver_whole_revoked(rig.r, place.number, 40);
    ck_assert(!receiver_whole_ends(rig.r, &place, 10, &event));
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_uint_eq(event.scribbled, 40);
}

/* Somebody else copies: no event leaves meanwhile, and what is cancelled by then does not land. */
TEST(receiver_whole_begin__holds_events)
{
    struct whole_place place;

    land_whole(1, 10);
    ck_assert_int_eq(receiver_whole(rig.r, 0, 100, &place), WHOLE_LANDS);
    receiver_whole_begin(rig.r);
    receiver_rig_expect_no_event();
    ck_assert(receiver_cancel(rig.r, rig.now, place.number));
    receiver_rig_expect_no_event();
    receiver_check(rig.r);
    receiver_whole_end(rig.r);
    expect_use(0, 100, WHOLE_DECLINED);
    struct event event;
    ck_assert(receiver_event(rig.r, &event));
}

/* Each number is good at any time: the sender keeps the order. */
TEST(receiver_whole__in_another_order)
{
    land_whole(1, 10);
    land_whole(0, 20);
    receiver_rig_expect_message(1, 10);
    receiver_rig_expect_message(0, 20);
}

TEST(receiver_whole__that_is_over)
{
    land_whole(0, 10);
    expect_use(0, 10, WHOLE_OVER); /* its event was not taken */
    receiver_rig_expect_message(0, 10);
    expect_use(0, 10, WHOLE_OVER);
    receiver_rig_expect_no_event();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 2);
}

TEST(receiver_whole__declined)
{
    expect_use(0, SIZE + 1, WHOLE_DECLINED);
    expect_use(2, 1, WHOLE_DECLINED); /* never posted */
    expect_use(UINT64_MAX, 1, WHOLE_DECLINED);
    expect_use(UINT64_MAX / 2, 1, WHOLE_DECLINED);
    ck_assert(receiver_cancel(rig.r, rig.now, 1));
    expect_use(1, 1, WHOLE_DECLINED);
    receiver_rig_expect_end(OUTCOME_CANCELLED);
    expect_use(1, 1, WHOLE_DECLINED);
    land_whole(0, SIZE); /* as much as its buffer holds */
}

TEST(receiver_whole__held)
{
    receiver_hold(rig.r, true);
    expect_use(0, 1, WHOLE_DECLINED);
    receiver_hold(rig.r, false);
    land_whole(0, 1);
}

TEST(receiver_whole__closing)
{
    receiver_close(rig.r, rig.now);
    expect_use(0, 1, WHOLE_DECLINED);
    receiver_rig_expect_end(OUTCOME_CLOSED);
    receiver_rig_expect_end(OUTCOME_CLOSED);
}

TEST(receiver_whole__without_a_session)
{
    receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    expect_use(0, 1, WHOLE_DECLINED);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
}

/* ---- beside units ---- */

/* A sender that falls back may have sent some before; what came counts once. */
TEST(receiver_whole__and_units_of_it)
{
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    land_whole(0, 3 * RIG_DATA);
    receiver_rig_expect_message(0, 3 * RIG_DATA);
    receiver_rig_land_unit(receiver_rig_unit(1, 0, RIG_DATA));
    receiver_rig_land_unit(receiver_rig_last(2, 0, 2 * RIG_DATA, RIG_DATA));
    receiver_rig_expect_no_event();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 2);
}

/* A sender that contradicts itself: behind the end nothing stays of what landed there. */
TEST(receiver_whole__shorter_than_its_units)
{
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 2 * RIG_DATA));
    land_whole(0, 10);
    receiver_rig_expect_message(0, 10);
    for (uint32_t i = 10; i < SIZE; i++)
        ck_assert_uint_eq(rig.buffer[0][i], i < 3 * RIG_DATA ? 0 : 0x5A);
}

TEST(receiver_whole__of_another_length)
{
    receiver_rig_land_unit(receiver_rig_last(0, 0, RIG_DATA, 10));
    expect_use(0, RIG_DATA, WHOLE_DECLINED);
    expect_use(0, RIG_DATA + 11, WHOLE_DECLINED);
    land_whole(0, RIG_DATA + 10);
    receiver_rig_expect_message(0, RIG_DATA + 10);
}

/* It was taken back while its bytes were copied, which are none of the message's. */
TEST(receiver_whole__revoked)
{
    struct whole_place place;

    ck_assert_int_eq(receiver_whole(rig.r, 0, 100, &place), WHOLE_LANDS);
    memset(place.buffer, 0xEE, 100);
    receiver_whole_revoked(rig.r, place.number, 100);
    receiver_rig_expect_no_event();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    receiver_rig_expect_message(0, 10);
    for (uint32_t i = 10; i < 100; i++)
        ck_assert_uint_eq(rig.buffer[0][i], 0);
    ck_assert_uint_eq(rig.buffer[0][100 + TRAILER_BYTES], 0x5A);
}

/* The sender was heard of, knows of the message, and is one that has begun. */
TEST(receiver_whole__is_a_sign_of_life)
{
    rig.now += 9 * SECOND;
    land_whole(0, 10);
    land_whole(1, 10);
    receiver_on_wholes(rig.r, rig.now);
    receiver_rig_expect_message(0, 10);
    receiver_rig_expect_message(1, 10);
    receiver_rig_post(SIZE);
    rig.now += 9 * SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_no_event();
    receiver_rig_expect("request 2*1=256");
    receiver_rig_bind_tag(RIG_TAG + 1, "request"); /* another sender */
    receiver_rig_expect_end(OUTCOME_RESTARTED);
}

/* ---- credit ---- */

static void expect_credit(uint64_t in_session, uint64_t size)
{
    struct credit credit;

    ck_assert(receiver_publish(rig.r, 8, &credit));
    ck_assert_uint_eq(credit.in_session, in_session);
    ck_assert_uint_eq(credit.size, size);
    receiver_check(rig.r);
}

static void expect_no_credit(void)
{
    struct credit credit;
    ck_assert(!receiver_publish(rig.r, 8, &credit));
}

TEST(receiver_publish__what_is_posted)
{
    receiver_rig_post(10);
    receiver_rig_wait(50 * MICROSECOND);
    receiver_rig_expect("request 2*1=10"); /* without credit */
    expect_no_credit();
    ck_assert(!receiver_set_credit(rig.r, true));
    expect_no_credit();
    receiver_rig_post(20);
    receiver_rig_post(30);
    receiver_rig_expect_silence();
    expect_credit(3, 20);
    expect_credit(4, 30);
    expect_no_credit();
    receiver_rig_expect_silence();
}

TEST(receiver_publish__no_more_than_there_is_room_for)
{
    ck_assert(!receiver_set_credit(rig.r, true));
    for (int i = 0; i < 10; i++)
        receiver_rig_post(10);
    for (uint64_t n = 2; n < 8; n++)
        expect_credit(n, 10);
    expect_no_credit();
    land_whole(0, 1);
    receiver_rig_expect_message(0, 1);
    expect_credit(8, 10);
    expect_no_credit();
}

TEST(receiver_publish__not_what_was_withdrawn)
{
    ck_assert(!receiver_set_credit(rig.r, true));
    receiver_rig_post(10);
    receiver_rig_post(20);
    ck_assert(receiver_cancel(rig.r, rig.now, 2));
    receiver_rig_expect_end(OUTCOME_CANCELLED);
    expect_credit(3, 20);
    receiver_rig_expect("request 2*1=withdrawn 3*1=20");
}

static bool is_next(uint64_t most, instant looked_at, uint64_t expected)
{
    uint64_t in_session = expected;
    bool is_free =
        receiver_lets_pass(rig.r, looked_at) && receiver_next_credit(rig.r, most, &in_session);
    ck_assert_uint_eq(in_session, expected);
    return is_free;
}

static void post_shown(uint64_t expected)
{
    uint64_t number = UINT64_MAX;
    ck_assert(receiver_post_shown(rig.r, rig.now, NULL, rig.buffer[rig.posted++], 10, &number));
    ck_assert_uint_eq(number, expected);
    receiver_check(rig.r);
}

TEST(receiver_next_credit__before_it_is_posted)
{
    ck_assert(!is_next(8, rig.now, 2)); /* without credit */
    ck_assert(!receiver_set_credit(rig.r, true));
    ck_assert(is_next(8, rig.now, 2));
    post_shown(2);
    expect_no_credit();
    ck_assert(!is_next(3, rig.now, 3)); /* three are posted */
    ck_assert(is_next(4, rig.now, 3));
    ck_assert(!is_next(8, NEVER, 3)); /* something is due before */
    receiver_rig_post(10);
    ck_assert(!is_next(8, rig.now, 4)); /* the sender does not know of that one */
    expect_credit(3, 10);
    ck_assert(is_next(8, rig.now, 4));
    receiver_on_closed_port(rig.r, rig.now); /* the sender may be gone */
    ck_assert(!is_next(8, rig.now, 4));
    receiver_on_wholes(rig.r, rig.now); /* or not */
    ck_assert(is_next(8, rig.now, 4));
}

TEST(receiver_next_credit__not_of_one_that_closes)
{
    ck_assert(!receiver_set_credit(rig.r, true));
    receiver_close(rig.r, rig.now);
    ck_assert(!is_next(8, rig.now, 2));
}

/* Not even if `most` lets more be posted. */
TEST(receiver_post_shown__no_more_than_there_is_room_for)
{
    uint64_t number;
    ck_assert(!receiver_set_credit(rig.r, true));
    while (rig.posted < RIG_MESSAGES) {
        ck_assert(is_next(UINT64_MAX, rig.now, rig.posted));
        post_shown(rig.posted);
    }
    ck_assert(!receiver_post_shown(rig.r, rig.now, NULL, rig.buffer[0], 10, &number));
}

/* What is posted then is requested, and what was only shown, too. */
TEST(receiver_set_credit__ends)
{
    ck_assert(!receiver_set_credit(rig.r, true));
    receiver_rig_post(10);
    expect_credit(2, 10);
    ck_assert(!receiver_set_credit(rig.r, false));
    receiver_rig_post(20);
    expect_no_credit();
    receiver_rig_wait(50 * MICROSECOND);
    receiver_rig_expect("request 3*1=20");
}

/* Something is posted that nobody knows of yet. */
TEST(receiver_set_credit__ends_before_it_was_shown)
{
    ck_assert(!receiver_set_credit(rig.r, true));
    receiver_rig_post(10);
    ck_assert(receiver_set_credit(rig.r, false));
    ck_assert(!receiver_set_credit(rig.r, false));
    receiver_rig_expect_silence();
    receiver_call(rig.r);
    receiver_rig_expect("request 0*2=256 2*1=10");
}

TEST(receiver_call__says_what_the_sender_may_not_know)
{
    ck_assert(!receiver_set_credit(rig.r, true));
    receiver_rig_post(10);
    expect_credit(2, 10);
    receiver_call(rig.r);
    receiver_rig_expect("request 0*2=256 2*1=10");
    receiver_call_soon(rig.r, rig.now + 5);
    receiver_rig_wait(5);
    receiver_rig_expect("request 0*2=256 2*1=10");
}

/* ---- what else it changes ---- */

/* A plan that was out points nowhere any more. */
TEST(receiver_whole_begin__plans_nothing)
{
    receiver_rig_plan();
    ck_assert_uint_eq(receiver_planned(rig.r).last, 2);
    receiver_rig_landed();
    receiver_whole_begin(rig.r);
    ck_assert_uint_eq(receiver_planned(rig.r).first, 0);
    ck_assert_uint_eq(receiver_planned(rig.r).last, 0);
    receiver_whole_end(rig.r);
}

/* Somebody copies others, or writes where a plan pointed: its event has to wait. */
TEST(receiver_whole_ends__while_events_are_held, .rows = 2)
{
    struct whole_place place;
    struct event event;
    ck_assert_int_eq(receiver_whole(rig.r, 1, 10, &place), WHOLE_LANDS);
    if (_i == 0)
        receiver_whole_begin(rig.r);
    else
        receiver_hold(rig.r, true);
    ck_assert(!receiver_whole_ends(rig.r, &place, 10, &event));
    receiver_rig_expect_no_event();
    if (_i == 0)
        receiver_whole_end(rig.r);
    else
        receiver_hold(rig.r, false);
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_uint_eq(event.length, 10);
    ck_assert_int_eq(event.outcome, OUTCOME_OK);
}

/* Who has sent a message whole knows of it, so it is not soon told again. */
TEST(receiver_on_wholes__the_sender_knows, .rows = 2)
{
    land_whole((uint64_t)_i, 10);
    receiver_on_wholes(rig.r, rig.now);
    receiver_rig_expect_message((uint64_t)_i, 10);
    receiver_rig_wait(_i == 0 ? 20 * MILLISECOND : SECOND);
    receiver_rig_expect(_i == 0 ? "request 1*1=256" : "request 0*1=256");
}

/* The question has been answered: no request names it any more. */
TEST(receiver_on_wholes__answers_the_question)
{
    struct request request;
    struct burst burst;
    for (int i = 0; i < 2; i++) {
        receiver_call(rig.r);
        ck_assert(receiver_take(rig.r, rig.now, &burst));
        ck_assert_int_eq(request_decode(burst.control, burst.bytes, &request), VERDICT_OK);
        ck_assert_uint_eq(request.nonce, i == 0 ? rig.nonce : 0);
        receiver_on_wholes(rig.r, rig.now);
    }
}

/* In another session numbers begin anew. */
TEST(receiver_publish__in_another_session)
{
    receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    ck_assert(!receiver_set_credit(rig.r, true));
    receiver_rig_post(30);
    expect_no_credit(); /* there is no sender */
    receiver_rig_bind_tag(RIG_TAG + 1, "request 0*1=30");
    receiver_rig_post(40);
    expect_credit(1, 40);
    expect_no_credit();
    receiver_close(rig.r, rig.now);
    expect_no_credit();
}

/* Silence begins with what is shown first. */
TEST(receiver_post_shown__begins_silence)
{
    ck_assert(!receiver_set_credit(rig.r, true));
    for (uint64_t n = 0; n < 2; n++) {
        land_whole(n, 10);
        receiver_rig_expect_message(n, 10);
    }
    rig.now += 100 * SECOND;
    post_shown(2);
    rig.now += SECOND;
    receiver_expire(rig.r, rig.now);
    rig.now += SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_no_event();
    rig.now += 7 * SECOND;
    post_shown(3);
    rig.now += SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_SILENT);
}

/* This process is stopped for longer than the silence, again and again: each time it hears first
 * what has come meanwhile. */
TEST(receiver_on_wholes__after_each_stop)
{
    for (int i = 0; i < 3; i++) {
        rig.now += 60 * SECOND;
        receiver_expire(rig.r, rig.now);
        receiver_rig_expect_no_event();
        receiver_on_wholes(rig.r, rig.now);
    }
}

/* Its memory is the user's again: no plan points there that was made before. */
TEST(receiver_whole_ends__and_a_plan_is_made_anew, .rows = 2)
{
    struct whole_place place;
    struct event event;
    receiver_rig_plan();
    receiver_rig_landed();
    ck_assert_int_eq(receiver_whole(rig.r, 1, 10, &place), WHOLE_LANDS);
    ck_assert(receiver_whole_ends(rig.r, &place, 10, &event));
    if (_i == 1)
        receiver_rig_post(SIZE);
    receiver_rig_plan();
    for (uint32_t i = 0; i < rig.landing.pieces; i++) {
        const uint8_t *base = rig.landing.iov[i].iov_base;
        ck_assert(base < rig.buffer[1] || base >= rig.buffer[2]);
    }
    receiver_rig_landed();
}
