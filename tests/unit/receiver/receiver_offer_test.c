/* A receiver that asks how large the next message is, and what it makes of the answers. */
#include "receiver_rig.h"

#include "../../support/suite.h"

static void ask(void)
{
    receiver_ask_offers(rig.r, rig.now);
    receiver_check(rig.r);
}

/* A session without a buffer, in which the receiver asks. */
static void start(void)
{
    ask();
    receiver_rig_bind("request, offers");
}

static void expect_known(uint64_t size)
{
    uint64_t known;
    ck_assert(receiver_offer(rig.r, &known));
    ck_assert_uint_eq(known, size);
}

static void expect_unknown(void)
{
    uint64_t known;
    ck_assert(!receiver_offer(rig.r, &known));
}

FIXTURE(receiver_rig_init, receiver_rig_fini)

/* ---- asking ---- */

TEST(ask__with_the_request_that_pairs)
{
    ask();
    receiver_rig_expect_silence();
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER); /* there is nobody to be asked */
    receiver_rig_bind("request, offers");
    receiver_rig_expect_silence();
}

TEST(ask__at_once_in_a_session)
{
    receiver_rig_bind("request");
    ask();
    receiver_rig_expect("request, offers");
    receiver_rig_expect_silence();
}

TEST(ask__in_all_requests_from_then_on)
{
    start();
    receiver_rig_land_offer(0, 100);
    receiver_rig_post(128);
    receiver_rig_expect("request 0*1=128, offers");
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_expect("request 0*1=withdrawn, offers");
}

/* Nobody answers: the request is repeated, ever more slowly, and then no more. */
TEST(ask__eight_times)
{
    start();
    for (int i = 0; i < 7; i++) {
        receiver_rig_wait(i < 6 ? 20 * MILLISECOND << i : SECOND);
        receiver_rig_expect("request, offers");
        receiver_rig_expect_silence();
    }
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
    ck_assert_uint_eq(receiver_counters(rig.r)->requests, 8);
}

/* A sender that answers without an offer has no message yet: it is not asked for ever, either. */
TEST(ask__eight_times_one_that_answers)
{
    uint64_t requests = 0;
    start();
    for (int i = 0; i < 20; i++) {
        rig.now += SECOND;
        receiver_expire(rig.r, rig.now);
        struct burst burst;
        requests += receiver_take(rig.r, rig.now, &burst);
        receiver_rig_land_offer(7, 100); /* a sign of life, and no more */
    }
    ck_assert_uint_eq(requests, 7);
}

/* A user that asks again and again for the same message brings no request forward. When those are
 * over, it has one each five seconds. */
TEST(ask__again_after_another_wish)
{
    start();
    for (int i = 0; i < 7; i++) {
        ask();
        receiver_rig_expect_silence();
        rig.now = receiver_deadline(rig.r);
        receiver_expire(rig.r, rig.now);
        receiver_rig_expect("request, offers");
    }
    for (int i = 0; i < 3; i++) {
        ask();
        receiver_rig_expect_silence();
        rig.now += 5 * SECOND;
        ask();
        receiver_rig_expect("request, offers");
        ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
    }
}

TEST(ask__not_when_it_is_known)
{
    start();
    receiver_rig_land_offer(0, 100);
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
    ask();
    receiver_rig_expect_silence();
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
}

/* For each message anew, once the one before was offered. */
TEST(ask__eight_times_for_each_message)
{
    start();
    for (int i = 0; i < 7; i++) {
        rig.now = receiver_deadline(rig.r);
        receiver_expire(rig.r, rig.now);
        receiver_rig_expect("request, offers");
    }
    receiver_rig_land_offer(0, 128);
    receiver_rig_post(128);
    receiver_rig_expect("request 0*1=128, offers");
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    for (int i = 0; i < 7; i++) {
        receiver_rig_wait(20 * MILLISECOND << (i > 0 ? i - 1 : 0));
        receiver_rig_expect("request 0*1=128, offers");
    }
}

/* All that is posted is known to the sender, but the next message is not known here. */
TEST(ask__beside_messages_that_are_posted)
{
    start();
    receiver_rig_post(128);
    receiver_rig_expect("request 0*1=128, offers");
    rig.now += MILLISECOND;
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    receiver_rig_expect_silence(); /* it was an answer */
    receiver_rig_wait(20 * MILLISECOND);
    receiver_rig_expect("request 0*1=128, offers");
    receiver_rig_land_offer(1, 100);
    expect_known(100);
    receiver_rig_wait(SECOND);
    receiver_rig_expect("request 0*1=128, offers");
}

/* The sender has a message, and says hello: the answer asks, however long ago the user did. */
TEST(ask__in_the_answer_to_a_hello)
{
    start();
    for (int i = 0; i < 7; i++) {
        rig.now = receiver_deadline(rig.r);
        receiver_expire(rig.r, rig.now);
        receiver_rig_expect("request, offers");
    }
    rig.now += 100 * SECOND;
    receiver_rig_hello((struct hello){.pairing = rig.pairing});
    receiver_rig_expect("request, offers");
}

TEST(ask__not_while_it_closes)
{
    receiver_rig_bind("request");
    receiver_close(rig.r, rig.now);
    ask();
    receiver_rig_expect("close +");
    receiver_rig_expect_silence();
}

/* ---- offers ---- */

TEST(offer__of_the_next_message)
{
    expect_unknown();
    start();
    expect_unknown();
    receiver_rig_land_offer(0, 100);
    expect_known(100);
    expect_known(100);
    receiver_rig_expect_silence();
    receiver_rig_post(100);
    expect_unknown();
    receiver_rig_land_offer(1, MESSAGE_BYTES_MAX);
    expect_known(MESSAGE_BYTES_MAX);
    ck_assert_uint_eq(receiver_counters(rig.r)->offers, 2);
}

TEST(offer__of_an_empty_message)
{
    start();
    receiver_rig_land_offer(0, 0);
    expect_known(0);
}

/* Who allocated what the first said is not told another size. */
TEST(offer__only_the_first_counts)
{
    start();
    receiver_rig_land_offer(0, 100);
    receiver_rig_land_offer(0, 200);
    receiver_rig_land_offer(0, 100);
    expect_known(100);
    ck_assert_uint_eq(receiver_counters(rig.r)->offers, 1);
}

static const uint32_t others[] = {0, 2, 3, 1 + (1u << 31), UINT32_MAX};

TEST(offer__of_another_message, .rows = ROWS(others))
{
    start();
    receiver_rig_post(100);
    receiver_rig_land_offer(others[_i], 100);
    expect_unknown();
    ck_assert_uint_eq(receiver_counters(rig.r)->offers, 0);
    receiver_rig_land_offer(1, 200);
    expect_known(200);
}

/* One that comes late, for a message that has its buffer, does not undo the next one's. */
TEST(offer__late)
{
    start();
    receiver_rig_post(100);
    receiver_rig_land_offer(1, 200);
    receiver_rig_land_offer(0, 100);
    expect_known(200);
}

TEST(offer__without_a_wish)
{
    receiver_rig_bind("request");
    receiver_rig_land_offer(0, 100);
    receiver_rig_expect_silence();
    expect_known(100); /* it is true all the same */
}

TEST(offer__of_another_pairing, .rows = 2)
{
    start();
    struct offer offer = {.pairing = rig.pairing, .size = 100};
    offer.pairing.session ^= _i == 0;
    offer.pairing.tag ^= _i == 1;
    receiver_rig_put_offer(offer);
    receiver_rig_land();
    expect_unknown();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 1);
}

TEST(offer__while_unbound)
{
    ask();
    receiver_rig_put_offer((struct offer){.pairing = {.session = 1, .tag = 1}, .size = 100});
    receiver_rig_land();
    expect_unknown();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 1);
}

static const struct {
    size_t at;
    uint8_t value;
} broken[] = {
    /* 0 too large     */ {0, 0x80},
    /* 1 reserved      */ {12, 1},
    /* 2 a flag        */ {30, FLAG_ANSWER},
};

TEST(offer__broken, .rows = ROWS(broken))
{
    uint8_t datagram[TRAILER_BYTES];
    start();
    (void)offer_encode(datagram, sizeof datagram, &(struct offer){.pairing = rig.pairing});
    datagram[broken[_i].at] = broken[_i].value;
    receiver_rig_put(datagram, sizeof datagram);
    receiver_rig_land();
    expect_unknown();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_malformed, 1);
}

TEST(offer__with_a_body)
{
    uint8_t datagram[TRAILER_BYTES + 1] = {0};
    start();
    (void)offer_encode(datagram + 1, TRAILER_BYTES, &(struct offer){.pairing = rig.pairing});
    receiver_rig_put(datagram, sizeof datagram);
    receiver_rig_land();
    expect_unknown();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_malformed, 1);
}

/* It lands in a message that is posted, and does not stay there. */
TEST(offer__does_not_show_in_the_message)
{
    start();
    receiver_rig_post(2 * RIG_DATA);
    receiver_rig_land_offer(1, 100);
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    receiver_rig_expect_message(0, 10);
    for (uint32_t i = 10; i < 2 * RIG_DATA; i++)
        ck_assert_uint_eq(rig.buffer[0][i], 0);
}

/* The sender is heard, so it is not silent. */
TEST(offer__is_a_sign_of_life)
{
    start();
    receiver_rig_post(100);
    rig.now += 9 * SECOND;
    receiver_rig_land_offer(1, 100);
    rig.now += 9 * SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_no_event();
}

/* ---- another session ---- */

/* What the last sender said is forgotten; the next one is asked. */
TEST(session__ends, .rows = 2)
{
    start();
    receiver_rig_land_offer(0, 100);
    if (_i == 0)
        receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    else
        receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    if (_i == 1)
        receiver_rig_expect("close +");
    expect_unknown();
    receiver_rig_bind_tag(RIG_TAG + 1, "request, offers");
    receiver_rig_wait(20 * MILLISECOND);
    receiver_rig_expect("request, offers");
    receiver_rig_land_offer(0, 200);
    expect_known(200);
}

/* Nothing had come in the session that another one replaces: its offer goes with it. */
TEST(session__is_replaced)
{
    start();
    receiver_rig_land_offer(0, 100);
    receiver_rig_bind_tag(RIG_TAG + 1, "request, offers");
    expect_unknown();
    receiver_rig_land_offer(0, 200);
    expect_known(200);
}
