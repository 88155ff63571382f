/* How the receiver finds its sender, is left by it, and leaves it. */
#include "receiver_rig.h"

#include "../../support/suite.h"

static void start(void)
{
    receiver_rig_start(2, 128);
}

/* ---- cookies ---- */

FIXTURE(receiver_rig_init, receiver_rig_fini)

TEST(unbound__says_nothing_unasked)
{
    receiver_rig_post(128);
    receiver_rig_expect_silence();
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
}

/* However often it is asked nothing is kept, and as much goes out as came in. */
TEST(cookie__for_each_that_asks)
{
    struct hello hello = {.pairing = {.tag = 3}};
    receiver_rig_post(128);
    for (uint32_t burst = 0; burst < 100; burst++) {
        uint8_t datagram[TRAILER_BYTES];
        for (uint32_t i = 0; i < 8; i++) {
            hello.nonce++;
            (void)hello_encode(datagram, sizeof datagram, &hello);
            receiver_rig_put(datagram, sizeof datagram);
        }
        receiver_rig_land();
        for (uint32_t i = 0; i < 8; i++)
            receiver_rig_expect("cookie");
        receiver_rig_expect_silence();
    }
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
    ck_assert_uint_eq(receiver_counters(rig.r)->bursts, 0);
    ck_assert_uint_eq(receiver_counters(rig.r)->hellos, 0);
}

TEST(cookie__brought_back_binds)
{
    receiver_rig_post(128);
    receiver_rig_bind("request 0*1=128");
    ck_assert_uint_ne(rig.pairing.session, 0);
}

/* With a bit of it changed, for another tag, nonce, session, or too late, it is no cookie. */
TEST(cookie__that_is_not_good)
{
    receiver_rig_post(128);
    for (uint32_t wrong = 0; wrong < 5; wrong++) {
        receiver_rig_ask(RIG_TAG);
        rig.cookie.cookie ^= wrong == 0;
        rig.cookie.nonce ^= wrong == 1;
        rig.cookie.pairing.tag ^= wrong == 2;
        rig.cookie.pairing.session ^= wrong == 3;
        rig.now += wrong == 4 ? 2 * COOKIE_SLOT : 0;
        receiver_rig_ask_again();
        receiver_rig_expect("cookie");
        receiver_rig_expect_silence();
        ck_assert_uint_eq(receiver_counters(rig.r)->drop_cookie, wrong + 1);
    }
}

TEST(cookie__is_good_in_the_next_slot)
{
    receiver_rig_post(128);
    receiver_rig_ask(RIG_TAG);
    rig.now += COOKIE_SLOT;
    receiver_rig_ask_again();
    receiver_rig_expect("request 0*1=128");
}

/* The request that answers carries the nonce, and so do its repeats until the sender is heard. */
TEST(bind__says_whom_it_answers)
{
    struct request request;
    struct burst burst;
    start();
    for (int i = 0; i < 2; i++) {
        rig.now = receiver_deadline(rig.r);
        receiver_expire(rig.r, rig.now);
        ck_assert(receiver_take(rig.r, rig.now, &burst));
        ck_assert_int_eq(request_decode(burst.control, burst.bytes, &request), VERDICT_OK);
        ck_assert_uint_eq(request.nonce, i == 0 ? rig.nonce : 0);
        receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
        ck_assert(receiver_take(rig.r, rig.now + MILLISECOND, &burst)); /* its acknowledgement */
    }
}

/* The request was lost: the same question is answered again. */
TEST(bind__asked_again)
{
    start();
    receiver_rig_ask_again(); /* in no session, as it was */
    receiver_rig_expect("request 0*2=128");
    receiver_rig_expect_silence();
}

/* ---- a sender that has restarted ---- */

TEST(restart__of_the_sender_fails_what_is_posted)
{
    start();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    uint32_t session = rig.pairing.session;
    receiver_rig_ask(RIG_TAG + 1);
    ck_assert_uint_eq(rig.cookie.pairing.session, session);
    receiver_rig_expect_no_event();
    receiver_rig_ask_again();
    receiver_rig_expect_end(OUTCOME_RESTARTED);
    receiver_rig_expect_end(OUTCOME_RESTARTED);
    receiver_rig_expect("request");
    ck_assert_uint_ne(rig.pairing.session, session);
    ck_assert_uint_eq(rig.pairing.tag, RIG_TAG + 1);
}

/* Nothing had come: what is posted stays, in a session of its own. */
TEST(restart__before_anything_came)
{
    start();
    uint32_t session = rig.pairing.session;
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
    receiver_rig_bind_tag(RIG_TAG + 1, "request 0*2=128");
    ck_assert_uint_ne(rig.pairing.session, session);
    receiver_rig_expect_no_event();
    receiver_rig_wait(20 * MILLISECOND); /* the first one knew of them, this one may not */
    receiver_rig_expect("request 0*2=128");
}

/* The first sender asks again within its session, and dies before that arrives: when it does, the
 * session is gone, and its successor's stays. */
TEST(restart__not_by_the_dead_in_their_session)
{
    start();
    receiver_rig_ask(RIG_TAG + 2);
    struct cookie_answer old = rig.cookie;
    ck_assert_uint_eq(old.pairing.session, rig.pairing.session);
    receiver_rig_bind_tag(RIG_TAG + 1, "request 0*2=128");
    uint32_t session = rig.pairing.session;
    rig.cookie = old;
    receiver_rig_ask_again();
    receiver_rig_expect("cookie");
    receiver_rig_expect_no_event();
    ck_assert_uint_eq(rig.cookie.pairing.session, session);
}

/* A question that is older than the session: its cookie was good, but not for this one. */
TEST(restart__not_by_an_old_question)
{
    receiver_rig_ask(RIG_TAG + 1);
    struct cookie_answer old = rig.cookie;
    start();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    rig.cookie = old;
    receiver_rig_ask_again();
    receiver_rig_expect("cookie");
    ck_assert_uint_eq(rig.cookie.pairing.session, rig.pairing.session);
    receiver_rig_expect_no_event();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_cookie, 0);
}

/* ---- a receiver that stays ---- */

/* The sender has passed over what was announced, has sent all that it knew of, and asks for the
 * rest: once, however much its units have shown already. */
TEST(hello__asks_for_what_was_passed_over)
{
    start();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_land_unit(receiver_rig_last(1, 0, RIG_DATA, RIG_DATA));
    receiver_rig_expect_message(0, 128);
    rig.now += 10 * MILLISECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect("+ 0 2");
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    receiver_rig_expect("request 1*1=128");
    rig.now += 2 * MILLISECOND;
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 1});
    receiver_rig_expect("request");
    receiver_rig_expect_silence();
}

static void start_staying(void)
{
    receiver_rig_fini();
    receiver_rig_init_as(true, 0);
    start();
}

/* Once the sender knows of all buffers it is asked for a sign of life by the keep-alive interval:
 * five seconds, or what the user says, but four times in the silence limit, and not all the time.
 */
TEST(stays__asks_by_the_keepalive_interval, .rows = 4)
{
    static const duration said[] = {0, SECOND, 9 * SECOND, 1};
    static const duration asks[] = {2500 * MILLISECOND, SECOND, 2500 * MILLISECOND,
                                    20 * MILLISECOND};
    receiver_rig_fini();
    receiver_rig_init_as(true, said[_i]);
    start();
    receiver_rig_wait(20 * MILLISECOND);
    receiver_rig_expect("request 0*2=128");
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
    receiver_rig_expect_silence();
    receiver_rig_wait(asks[_i]);
}

/* Another sender at its sender's address: it is not taken for the first one, whether anything came
 * or not. */
TEST(stays__binds_no_other_sender, .rows = 2)
{
    start_staying();
    if (_i == 1)
        receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    ck_assert(!receiver_is_replaced(rig.r));
    receiver_rig_ask(RIG_TAG + 1);
    receiver_rig_expect_no_event();
    receiver_rig_ask_again();
    receiver_rig_expect_end(OUTCOME_RESTARTED);
    receiver_rig_expect_end(OUTCOME_RESTARTED);
    receiver_rig_expect_silence();
    ck_assert(receiver_is_replaced(rig.r));
}

/* Nor after its sender has closed. */
TEST(stays__binds_no_sender_after_its_own)
{
    start_staying();
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    receiver_rig_expect_end(OUTCOME_PEER_CLOSED);
    receiver_rig_expect_end(OUTCOME_PEER_CLOSED);
    receiver_rig_expect("close +");
    receiver_rig_ask(RIG_TAG + 1);
    ck_assert(!receiver_is_replaced(rig.r));
    receiver_rig_ask_again();
    receiver_rig_expect_silence();
    ck_assert(receiver_is_replaced(rig.r));
}

/* A question of its own sender's comes late, behind the close: the network has doubled it. That is
 * no other sender, and the other direction goes on. */
TEST(stays__hears_a_question_again_behind_the_close)
{
    start_staying();
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    receiver_rig_expect_end(OUTCOME_PEER_CLOSED);
    receiver_rig_expect_end(OUTCOME_PEER_CLOSED);
    receiver_rig_expect("close +");
    receiver_rig_ask_again();
    receiver_rig_expect_silence();
    ck_assert(!receiver_is_replaced(rig.r));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 1);
    receiver_rig_ask(RIG_TAG + 1);
    receiver_rig_ask_again();
    ck_assert(receiver_is_replaced(rig.r));
}

/* Its sender closes before this side does, or while that one closes, too: the connection ends. */
TEST(stays__is_told_of_a_close, .rows = 2)
{
    start_staying();
    if (_i == 1)
        receiver_close(rig.r, rig.now);
    ck_assert_int_eq(receiver_told(rig.r), OUTCOME_OK);
    receiver_rig_hello((struct hello){.pairing = rig.pairing});
    ck_assert_int_eq(receiver_told(rig.r), OUTCOME_OK);
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    ck_assert_int_eq(receiver_told(rig.r), OUTCOME_PEER_CLOSED);
}

/* Its sender leaves messages behind: it says so, or stops in the middle of one. What is posted ends
 * so, whether it had begun or not. */
TEST(stays__is_told_of_a_cut, .rows = 2)
{
    start_staying();
    if (_i == 1)
        receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_hello(
        (struct hello){.pairing = rig.pairing, .is_closing = true, .is_cut = _i == 0});
    ck_assert_int_eq(receiver_told(rig.r), OUTCOME_CUT_OFF);
    receiver_rig_expect_end(OUTCOME_CUT_OFF);
    receiver_rig_expect_end(OUTCOME_CUT_OFF);
    receiver_rig_expect("close +");
}

/* One that does not stay may have another sender. */
TEST(close__of_the_sender_is_its_own_affair)
{
    start();
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    ck_assert_int_eq(receiver_told(rig.r), OUTCOME_OK);
}

/* Its own may ask again. */
TEST(stays__with_its_sender)
{
    start_staying();
    receiver_rig_ask_again();
    receiver_rig_expect("request 0*2=128");
    ck_assert(!receiver_is_replaced(rig.r));
}

/* ---- strangers ---- */

/* Whatever has not both numbers of the pairing changes nothing but a counter. */
TEST(strangers__change_nothing)
{
    start();
    uint64_t others = 0;
    instant deadline = receiver_deadline(rig.r);
    rig.now += MILLISECOND;
    for (uint32_t bit = 0; bit < 64; bit++) {
        struct pairing other = rig.pairing;
        struct unit_trailer t = receiver_rig_unit(0, 0, 0);
        other.session ^= bit < 32 ? 1U << bit : 0;
        other.tag ^= bit < 32 ? 0 : 1U << (bit - 32);
        if (other.session == 0 || other.tag == 0)
            continue;
        others++;
        t.pairing = other;
        receiver_rig_land_unit(t);
        receiver_rig_hello((struct hello){.pairing = other, .is_closing = true});
        receiver_rig_hello((struct hello){.pairing = other, .requested = 2});
    }
    receiver_rig_expect_silence();
    receiver_rig_expect_no_event();
    ck_assert_int_eq(receiver_deadline(rig.r), deadline);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, 0);
    ck_assert_uint_ge(others, 62);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 3 * others);
}

/* A hello of another version, of ten bytes or more, is answered with ten, by who has no sender. */
TEST(version__is_told, .rows = 2)
{
    uint8_t datagrams[] = {[14] = 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x15};
    uint8_t *datagram = _i == 0 ? datagrams : datagrams + 14;
    uint32_t size = _i == 0 ? sizeof datagrams : VERSION_ANSWER_BYTES;
    struct pairing echoed;
    struct burst burst;
    uint8_t version;
    receiver_rig_put(datagram, size);
    receiver_rig_land();
    ck_assert(receiver_take(rig.r, rig.now, &burst));
    ck_assert(version_answer_decode(burst.control, burst.bytes, &echoed, &version));
    ck_assert_uint_eq(version, PROTOCOL_VERSION);
    ck_assert_uint_eq(echoed.session, 0x01020304);
    ck_assert_uint_eq(echoed.tag, 0x05060708);
    receiver_rig_expect_silence();
    start();
    receiver_rig_put(datagram, size);
    receiver_rig_land();
    receiver_rig_expect_silence();
}

/* ---- silence ---- */

TEST(silence__only_of_who_was_there)
{
    receiver_rig_post(128);
    rig.now += 1000 * SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_no_event();
    receiver_rig_bind("request 0*1=128");
    instant heard = rig.now;
    struct event event;
    while (!receiver_event(rig.r, &event)) {
        struct burst burst;
        rig.now = receiver_deadline(rig.r);
        receiver_expire(rig.r, rig.now);
        (void)receiver_take(rig.r, rig.now, &burst);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
    ck_assert_int_eq(rig.now, heard + 10 * SECOND);
}

/* This side is stopped for longer than the limit. What the sender has said meanwhile is heard
 * first; if there is nothing, the sender is silent. */
TEST(silence__after_a_stop, .rows = 2)
{
    start();
    rig.now += 60 * SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_no_event();
    if (_i == 0)
        receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
    rig.now += 100 * MILLISECOND;
    receiver_expire(rig.r, rig.now);
    if (_i == 0)
        receiver_rig_expect_no_event();
    else
        receiver_rig_expect_end(OUTCOME_SILENT);
}

/* However often it is stopped, as long as the sender is heard in between. */
TEST(silence__after_each_stop)
{
    start();
    for (int i = 0; i < 3; i++) {
        rig.now += 60 * SECOND;
        receiver_expire(rig.r, rig.now);
        receiver_rig_expect_no_event();
        receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
    }
    rig.now += 60 * SECOND;
    receiver_expire(rig.r, rig.now);
    rig.now += SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    for (int i = 0; i < 2; i++) {
        receiver_rig_post(128);
        receiver_rig_expect_silence(); /* there is nobody to be asked */
    }
}

/* What was to be said is said to nobody. */
TEST(silence__before_anything_is_said, .rows = 2)
{
    start();
    if (_i == 0)
        receiver_call(rig.r);
    else
        receiver_close(rig.r, rig.now);
    receiver_fail(rig.r, rig.now, OUTCOME_SILENT);
    receiver_rig_expect_silence();
    ck_assert(!receiver_has_reply(rig.r));
}

/* ---- close ---- */

TEST(close__tells_until_it_is_confirmed)
{
    start();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_close(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_CLOSED);
    receiver_rig_expect_end(OUTCOME_CLOSED);
    receiver_rig_expect("close + 0 1");
    receiver_rig_wait(20 * MILLISECOND);
    receiver_rig_expect("close + 0 1");
    ck_assert(!receiver_is_closed(rig.r));
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    ck_assert(receiver_is_closed(rig.r));
    ck_assert(receiver_is_confirmed(rig.r));
    receiver_rig_expect_silence(); /* what it said confirms the sender's close */
}

/* A peer that knows already, or is gone, need not be told again and again. */
TEST(close__nobody_confirms, .rows = 2)
{
    static const uint32_t said[] = {8, 4};
    uint32_t closings = 0;
    start();
    if (_i == 1)
        receiver_agree_close(rig.r);
    receiver_close(rig.r, rig.now);
    for (; !receiver_is_closed(rig.r); closings++) {
        receiver_rig_expect("close +");
        receiver_rig_wait((20 * MILLISECOND) << closings);
    }
    ck_assert_uint_eq(closings, said[_i]);
    ck_assert_int_eq(receiver_is_confirmed(rig.r), _i == 1);
    receiver_rig_expect_silence();
}

TEST(close__the_sender_is_another_one)
{
    start();
    receiver_close(rig.r, rig.now);
    receiver_rig_expect("close +");
    receiver_rig_ask(RIG_TAG + 1);
    ck_assert(!receiver_is_closed(rig.r));
    receiver_rig_ask_again();
    ck_assert(receiver_is_closed(rig.r));
    ck_assert_uint_eq(receiver_pairing(rig.r).tag, RIG_TAG); /* which is not bound */
    receiver_rig_expect_silence();
}

TEST(close__of_the_sender_is_confirmed)
{
    start();
    struct pairing pairing = rig.pairing;
    receiver_rig_hello((struct hello){.pairing = pairing, .is_closing = true});
    receiver_rig_expect_end(OUTCOME_PEER_CLOSED);
    receiver_rig_expect_end(OUTCOME_PEER_CLOSED);
    receiver_rig_expect("close +");
    ck_assert_uint_eq(rig.acked.session, pairing.session);
    receiver_rig_hello((struct hello){.pairing = pairing, .is_closing = true});
    receiver_rig_expect("close +");
    ck_assert_uint_eq(receiver_counters(rig.r)->hellos, 1);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_session, 0);
}

/* Its own close is not said yet, which would confirm the sender's. */
TEST(close__unsaid_when_the_sender_closes)
{
    start();
    struct pairing pairing = rig.pairing;
    receiver_close(rig.r, rig.now);
    receiver_rig_hello((struct hello){.pairing = pairing, .is_closing = true});
    ck_assert(receiver_is_confirmed(rig.r));
    receiver_rig_expect("close +");
    ck_assert_uint_eq(rig.acked.session, pairing.session);
    receiver_rig_expect_silence();
}

/* The sender falls silent meanwhile: nothing is said to nobody. */
TEST(close__over_by_silence)
{
    start();
    receiver_close(rig.r, rig.now);
    receiver_rig_expect("close +");
    rig.now += 10 * SECOND;
    receiver_expire(rig.r, rig.now);
    ck_assert(receiver_is_closed(rig.r));
    ck_assert(!receiver_is_confirmed(rig.r));
    receiver_rig_expect_silence();
    receiver_rig_expect_end(OUTCOME_CLOSED);
}

/* The sender has fallen silent before: it is not told, and so it has not confirmed. It may close
 * that session itself, later, or be followed by another sender. */
TEST(close__after_silence_is_not_confirmed, .rows = 3)
{
    start();
    struct pairing pairing = rig.pairing;
    rig.now += 10 * SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    if (_i == 1)
        receiver_rig_hello((struct hello){.pairing = pairing, .is_closing = true});
    if (_i == 2) {
        receiver_rig_bind("request");
        receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    }
    receiver_close(rig.r, rig.now);
    ck_assert(receiver_is_closed(rig.r));
    ck_assert_int_eq(receiver_is_confirmed(rig.r), _i > 0);
}

TEST(close__unbound_is_over_at_once)
{
    receiver_rig_post(128);
    receiver_close(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_CLOSED);
    ck_assert(receiver_is_closed(rig.r));
    receiver_rig_expect_silence();
}

/* The sender is there, and has not heard of the close: it is told again, and what it sent is not
 * acknowledged. It is waited for as long as at first. */
TEST(close__a_unit_comes_late)
{
    enum { BEFORE = 5, SAID = 8 };
    start();
    receiver_close(rig.r, rig.now);
    receiver_rig_expect("close +");
    for (int i = 1; i < BEFORE; i++) {
        receiver_rig_wait((20 * MILLISECOND) << (i - 1));
        receiver_rig_expect("close +");
    }
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_unposted, 1);
    for (int i = 0; i < SAID; i++) {
        receiver_rig_expect("close +");
        receiver_rig_expect_silence();
        receiver_rig_wait((20 * MILLISECOND) << i);
    }
    ck_assert(receiver_is_closed(rig.r));
}

/* The sender has not heard that message 0 is whole, and repeats it: that is acknowledged, with the
 * close. What comes of message 1, which the close has failed, is not. */
TEST(close__what_was_whole_comes_again)
{
    start();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    receiver_rig_expect_message(0, 10);
    receiver_close(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_CLOSED);
    receiver_rig_expect("close + 0 1");
    receiver_rig_land_unit(receiver_rig_last(5, 0, 0, 10));
    receiver_rig_expect("close + 0 1 5 6");
    receiver_rig_land_unit(receiver_rig_last(6, 1, 0, 10));
    receiver_rig_expect("close + 0 1 5 6");
    receiver_rig_expect_silence();
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 1);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_unposted, 1);
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    ck_assert(receiver_is_confirmed(rig.r));
}

/* A message that ended before, but whose event is still to be taken, was whole; one behind a
 * message that the close has failed may have been, and nobody remembers. */
TEST(close__what_was_whole_out_of_order_comes_again, .rows = 2)
{
    uint32_t whole = (uint32_t)_i;
    start();
    receiver_rig_land_unit(receiver_rig_last(0, whole, 0, 10));
    receiver_close(rig.r, rig.now);
    receiver_rig_expect("close + 0 1");
    receiver_rig_land_unit(receiver_rig_last(5, whole, 0, 10));
    receiver_rig_expect(whole == 0 ? "close + 0 1 5 6" : "close + 0 1");
    receiver_rig_expect_silence();
}

/* The end of a connection whose two ends know that it ends, on a path of 400 ms. The peer's sender
 * asks as soon as it has heard the close whether message 0 is there: its unit comes a round trip
 * behind that. */
TEST(close__agreed_is_asked_from_afar)
{
    enum { TRIP = 400 };
    receiver_rig_post(128);
    receiver_rig_ask(RIG_TAG);
    rig.now += TRIP * MILLISECOND;
    receiver_rig_ask_again();
    receiver_rig_expect("request 0*1=128");
    rig.now += TRIP * MILLISECOND;
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    receiver_rig_expect_message(0, 10);
    ck_assert_int_eq(receiver_round_trip(rig.r), TRIP * MILLISECOND);
    receiver_agree_close(rig.r);
    receiver_close(rig.r, rig.now);
    instant closed = rig.now;
    while (rig.now < closed + TRIP * MILLISECOND) {
        struct burst burst;
        while (receiver_take(rig.r, rig.now, &burst))
            ;
        rig.now += 10 * MILLISECOND;
        receiver_expire(rig.r, rig.now);
    }
    ck_assert(!receiver_is_closed(rig.r));
    receiver_rig_land_unit(receiver_rig_last(5, 0, 0, 10));
    receiver_rig_expect("close + 0 1 5 6");
}

/* It says its close until the peer's sender has had time to ask, and to ask again: but not for ever
 * on a path, or beside a peer, that is slow beyond measure. Four times are enough for a user that
 * waits no longer. */
TEST(close__agreed_is_said_longer_on_a_long_path, .rows = 4)
{
    static const uint32_t trips_ms[] = {37, 40, 100, 1000}, said[] = {4, 5, 6, 7};
    uint32_t closings = 0;
    receiver_rig_post(128);
    receiver_rig_ask(RIG_TAG);
    rig.now += trips_ms[_i] * MILLISECOND;
    receiver_rig_ask_again();
    receiver_rig_expect("request 0*1=128");
    receiver_agree_close(rig.r);
    receiver_close(rig.r, rig.now);
    for (; !receiver_is_closed(rig.r); closings++) {
        ck_assert_int_eq(receiver_is_confirmed(rig.r), closings >= 4);
        receiver_rig_expect("close +");
        receiver_rig_wait((20 * MILLISECOND) << closings);
    }
    ck_assert_uint_eq(closings, said[_i]);
    ck_assert(receiver_is_confirmed(rig.r));
    receiver_rig_expect_silence();
}

/* A unit that comes later makes it say the close anew, for as long as at first. But it had
 * said so often enough before: a user that waits no longer has closed in order. */
TEST(close__agreed_was_said_before_a_late_unit)
{
    enum { TRIP = 400, ENOUGH = 4, SAID = 7 };
    receiver_rig_post(128);
    receiver_rig_ask(RIG_TAG);
    rig.now += TRIP * MILLISECOND;
    receiver_rig_ask_again();
    receiver_rig_expect("request 0*1=128");
    receiver_agree_close(rig.r);
    receiver_close(rig.r, rig.now);
    for (int i = 0; i < ENOUGH; i++) {
        ck_assert(!receiver_is_confirmed(rig.r));
        receiver_rig_expect("close +");
        if (i + 1 < ENOUGH)
            receiver_rig_wait((20 * MILLISECOND) << i);
    }
    ck_assert(receiver_is_confirmed(rig.r));
    for (int late = 0; late < 2; late++) {
        rig.now += 100 * MILLISECOND;
        receiver_rig_land_unit(receiver_rig_unit((uint32_t)late, 0, 0));
        ck_assert(receiver_is_confirmed(rig.r));
        ck_assert(!receiver_is_closed(rig.r));
    }
    for (int i = 0; i < SAID; i++) {
        receiver_rig_expect("close +");
        receiver_rig_expect_silence();
        ck_assert(receiver_is_confirmed(rig.r));
        ck_assert(!receiver_is_closed(rig.r));
        receiver_rig_wait((20 * MILLISECOND) << i);
    }
    ck_assert(receiver_is_closed(rig.r));
    ck_assert(receiver_is_confirmed(rig.r));
}

/* It is closed: then nothing is said any more. */
TEST(close__a_unit_comes_too_late)
{
    start();
    struct pairing pairing = rig.pairing;
    receiver_close(rig.r, rig.now);
    receiver_rig_expect("close +");
    receiver_rig_hello((struct hello){.pairing = pairing, .is_closing = true});
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_expect_silence();
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
}

/* What was to be requested is not. */
TEST(close__before_a_request)
{
    start();
    receiver_rig_post(64);
    receiver_call(rig.r);
    receiver_close(rig.r, rig.now);
    receiver_rig_expect("close +");
    receiver_rig_expect_silence();
}

TEST(close__twice)
{
    start();
    receiver_close(rig.r, rig.now);
    receiver_rig_expect("close +");
    rig.now += 5 * MILLISECOND;
    receiver_close(rig.r, rig.now);
    receiver_rig_expect_silence();
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .is_closing = true});
    receiver_close(rig.r, rig.now);
    ck_assert(receiver_is_confirmed(rig.r));
    receiver_rig_expect_silence();
}

/* Silence begins with what is posted first. */
TEST(silence__begins_with_a_post)
{
    receiver_rig_bind("request");
    rig.now += 100 * SECOND;
    receiver_rig_post(128);
    receiver_expire(rig.r, rig.now);
    rig.now += SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_no_event();
    rig.now += 8 * SECOND;
    receiver_rig_post(128);
    rig.now += SECOND;
    receiver_expire(rig.r, rig.now);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
}

/* ---- the end of a connection ---- */

static const struct {
    bool has_units, is_offered, is_posted; /* its message */
    enum outcome sender_ended, ends;
} beside[] = {
    {false, false, false, OUTCOME_PEER_CLOSED, OUTCOME_PEER_CLOSED},
    {true, false, false, OUTCOME_PEER_CLOSED, OUTCOME_CUT_OFF},
    {false, true, false, OUTCOME_PEER_CLOSED, OUTCOME_CUT_OFF},
    {false, true, true, OUTCOME_PEER_CLOSED, OUTCOME_PEER_CLOSED},
    {true, true, false, OUTCOME_PEER_CLOSED, OUTCOME_CUT_OFF},
    {true, true, true, OUTCOME_PEER_CLOSED, OUTCOME_CUT_OFF},
    {false, false, false, OUTCOME_SILENT, OUTCOME_SILENT},
    {true, true, false, OUTCOME_SILENT, OUTCOME_SILENT},
};

TEST(end_beside__one_that_closes_has_told_this_side_before, .rows = ROWS(beside))
{
    start_staying();
    if (beside[_i].has_units)
        receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    if (beside[_i].is_offered)
        receiver_rig_land_offer(2, 100);
    if (beside[_i].is_posted)
        receiver_rig_post(128);
    ck_assert_int_eq(receiver_end_beside(rig.r, beside[_i].sender_ended), beside[_i].ends);
}
