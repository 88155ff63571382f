/* How the sender finds its receiver, and leaves it. */
#include "core/keys/handshake.h"
#include "sender_rig.h"

#include "../../support/suite.h"

/* ---- pairing ---- */

FIXTURE(sender_rig_start, sender_rig_fini)

TEST(pairing__nothing_is_sent_without)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    ck_assert_uint_eq(hello.pairing.session, 0);
    ck_assert_uint_ne(hello.pairing.tag, 0);
    ck_assert_uint_ne(hello.nonce, 0);
    ck_assert_uint_eq(hello.cookie, 0);
    sender_rig_expect_nothing();
}

TEST(pairing__brings_the_cookie_back)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    ck_assert_uint_eq(sender_rig_trailer(0).pairing.session, RIG_SESSION);
}

/* The answer to the only hello is a first round trip. */
TEST(pairing__measures_the_round_trip)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    rig.now += 3 * MILLISECOND;
    sender_rig_cookie(&hello, 0);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_smoothed, 3 * MILLISECOND);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_lowest, 3 * MILLISECOND);
}

/* Of two nobody knows which was answered: that is no measurement, but a long path is believed. */
TEST(pairing__assumes_a_round_trip, .rows = 4)
{
    static const duration row[][2] = {{50, 100}, {600, 600}, {1000, 1000}, {1001, 100}};
    sender_rig_submit(10);
    sender_rig_hello();
    rig.now += 20 * MILLISECOND;
    sender_expire(rig.s, rig.now);
    struct hello hello = sender_rig_hello();
    rig.now += (row[_i][0] - 20) * MILLISECOND;
    sender_rig_cookie(&hello, 0);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_smoothed, row[_i][1] * MILLISECOND);
    ck_assert_int_eq(sender_gauges(rig.s).rtt_lowest, 0);
}

/* What answers another question, or none, changes nothing but a counter. */
TEST(pairing__by_nothing_but_its_own_answer)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    for (int wrong = 0; wrong < 6; wrong++) {
        struct hello other = hello;
        other.nonce ^= wrong % 2 == 0 ? UINT64_C(1) << (13 * wrong) : 0;
        other.pairing.tag ^= wrong % 2 == 1 ? 1U << (6 * wrong) : 0;
        sender_rig_cookie(&other, 0);
        rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = other.pairing.tag};
        rig.nonce = other.nonce;
        sender_rig_request(0, 1, 10);
    }
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, 12);
    sender_rig_expect_nothing();
    ck_assert_int_eq(sender_deadline(rig.s), rig.now + 20 * MILLISECOND);
    sender_rig_cookie(&hello, 0);
    ck_assert_uint_eq(sender_rig_hello().cookie, 5);
}

/* A request without a nonce is one of a pairing, and makes none. */
TEST(pairing__not_by_the_tag_alone)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = hello.pairing.tag};
    sender_rig_request(0, 1, 10);
    sender_rig_ack("");
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, 2);
    sender_rig_expect_nothing();
}

/* Its hello says the session that the cookie names. That hello may be lost, or its answer; and the
 * receiver that gave the cookie may be gone: then another one gives another. */
TEST(pairing__an_unanswered_cookie_is_shown_again)
{
    sender_rig_submit(10);
    struct hello first = sender_rig_hello();
    sender_rig_cookie(&first, 9);
    ck_assert_uint_eq(sender_rig_hello().pairing.session, 9);
    sender_rig_wait();
    struct hello again = sender_rig_hello();
    ck_assert_uint_eq(again.cookie, 5);
    ck_assert_uint_eq(again.pairing.session, 9);
    ck_assert_uint_eq(again.pairing.tag, first.pairing.tag);
    ck_assert_uint_eq(again.nonce, first.nonce);
}

/* Two receivers that do not know each other's cookies cannot make it talk without end. */
TEST(pairing__answers_few_cookies_at_once)
{
    uint32_t hellos = 0;
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    for (int i = 0; i < 10; i++) {
        sender_rig_cookie(&hello, 0);
        for (; sender_has_burst(rig.s); hellos++)
            sender_rig_hello();
    }
    ck_assert_uint_eq(hellos, 4);
    sender_rig_wait();
    sender_rig_hello();
    sender_rig_cookie(&hello, 0);
    ck_assert_uint_eq(sender_rig_hello().cookie, 5);
}

/* ---- a receiver that has restarted ---- */

/* Units are sent, and nothing comes back: the second time it asks if another receiver is there. */
static struct hello ask_for_another(void)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    sender_rig_wait();
    sender_rig_expect("0:0+10LA");
    sender_rig_wait();
    struct hello hello = sender_rig_hello();
    ck_assert_uint_ne(hello.nonce, 0);
    ck_assert_uint_ne(hello.pairing.tag, rig.pairing.tag);
    ck_assert_uint_eq(hello.pairing.session, 0);
    return hello;
}

TEST(another_receiver__fails_what_was_begun)
{
    struct hello hello = ask_for_another();
    sender_rig_cookie(&hello, 0);
    ck_assert_uint_eq(sender_rig_hello().cookie, 5);
    sender_rig_expect_no_event(); /* nobody has entered anything */
    rig.pairing = (struct pairing){.session = RIG_SESSION + 1, .tag = hello.pairing.tag};
    rig.nonce = hello.nonce;
    sender_rig_request(0, 1, 10);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
    ck_assert_uint_eq(sender_rig_hello().requested, 1);
    sender_rig_submit(5);
    sender_rig_expect("0:0+5LA");
    ck_assert_uint_eq(sender_rig_trailer(0).seq, 0);
}

/* The same receiver says so, and the session goes on. */
TEST(another_receiver__is_not_there)
{
    struct hello hello = ask_for_another();
    rig.now += MILLISECOND;
    sender_rig_cookie(&hello, RIG_SESSION);
    sender_rig_expect("0:0+10LA");
    sender_rig_expect_nothing();
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 10);
}

/* An idle sender repeats its hello twice. The third one, which is due now, asks for a receiver. */
static void wait_until_it_asks(void)
{
    for (int i = 0; i < 2; i++) {
        sender_rig_wait();
        ck_assert_uint_eq(sender_rig_hello().nonce, 0);
    }
    sender_rig_wait();
}

/* A sender that waits for a buffer asks, too, when its hellos bring nothing. */
TEST(another_receiver__while_nothing_is_in_transit)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    wait_until_it_asks();
    ck_assert_uint_ne(sender_rig_hello().nonce, 0);
}

TEST(another_receiver__what_was_not_begun_goes_on)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    wait_until_it_asks();
    sender_rig_enter(RIG_SESSION + 1, 1, 10);
    sender_rig_expect_no_event();
    sender_rig_expect("0:0+10LA");
}

/* Nor does close wait any longer, however often that happens. */
TEST(another_receiver__is_no_progress)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    sender_close(rig.s, rig.now);
    instant progress = sender_progress_at(rig.s);
    for (unsigned i = 1; i <= 4; i++) {
        struct hello hello;
        while ((hello = sender_rig_hello()).nonce == 0)
            sender_rig_wait();
        sender_rig_cookie(&hello, 0);
        (void)sender_rig_hello();
        rig.pairing = (struct pairing){.session = RIG_SESSION + i, .tag = hello.pairing.tag};
        rig.nonce = hello.nonce;
        sender_rig_request(0, 0, 0);
        rig.nonce = 0;
        ck_assert_int_eq(sender_progress_at(rig.s), progress);
        sender_rig_wait();
    }
}

/* A sender that waits for a buffer has brought back the cookie of another receiver. */
static struct hello show_cookie_while_idle(void)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    wait_until_it_asks();
    struct hello hello = sender_rig_hello();
    sender_rig_cookie(&hello, 0);
    return sender_rig_hello();
}

static void answer_question(const struct hello *hello, uint32_t count)
{
    rig.pairing = (struct pairing){.session = RIG_SESSION + 1, .tag = hello->pairing.tag};
    rig.nonce = hello->nonce;
    sender_rig_request(0, count, 10);
    rig.nonce = 0;
}

/* The other receiver has bound the tag of the question, and answers no other. What the first one
 * sent, and the network held back until now, must not make the sender forget that it asked. */
TEST(another_receiver__is_entered_after_a_late_request)
{
    struct hello hello = ask_for_another();
    sender_rig_cookie(&hello, 0);
    sender_rig_hello();
    sender_rig_request(1, 1, 10);
    answer_question(&hello, 1);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
    ck_assert_uint_eq(sender_rig_hello().pairing.session, RIG_SESSION + 1);
}

/* The same before the cookie is there: it is still brought back. */
TEST(another_receiver__gives_a_cookie_after_a_late_request)
{
    struct hello hello = ask_for_another();
    sender_rig_request(1, 1, 10);
    sender_rig_cookie(&hello, 0);
    ck_assert_uint_eq(sender_rig_hello().cookie, 5);
    answer_question(&hello, 1);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
}

/* The hello with the cookie was lost: it is said again as soon as without the late request. */
TEST(another_receiver__is_asked_again_after_a_late_request)
{
    struct hello hello = show_cookie_while_idle();
    instant next = sender_deadline(rig.s);
    sender_rig_request(0, 0, 0);
    ck_assert_int_eq(sender_deadline(rig.s), next);
    sender_rig_wait();
    struct hello again = sender_rig_hello();
    ck_assert_uint_eq(again.nonce, hello.nonce);
    ck_assert_uint_eq(again.pairing.tag, hello.pairing.tag);
    ck_assert_uint_eq(again.cookie, 5);
}

/* The buffers that a late request announces are gone. A unit for one of them would be lost, and
 * with it the messages that may go on in the next session. */
TEST(another_receiver__a_late_request_announces_nothing)
{
    struct hello hello = show_cookie_while_idle();
    uint64_t dropped = sender_counters(rig.s)->drop_session;
    sender_rig_request(0, 1, 10);
    ck_assert_uint_eq(sender_counters(rig.s)->drop_session, dropped + 1);
    sender_rig_expect_nothing();
    answer_question(&hello, 1);
    sender_rig_expect_no_event();
    sender_rig_expect("0:0+10LA");
    ck_assert_uint_eq(sender_rig_trailer(0).pairing.session, RIG_SESSION + 1);
}

/* What has arrived has arrived; but who acknowledged it is gone all the same. */
TEST(another_receiver__a_late_acknowledgement_counts)
{
    sender_rig_submit(10);
    struct hello hello = ask_for_another();
    sender_rig_cookie(&hello, 0);
    sender_rig_hello();
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 10);
    sender_rig_wait();
    ck_assert_uint_eq(sender_rig_hello().nonce, hello.nonce);
    answer_question(&hello, 1);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
}

/* The first receiver gave a cookie, too, when it was still there. */
TEST(another_receiver__is_entered_after_a_late_cookie)
{
    struct hello hello = ask_for_another();
    sender_rig_cookie(&hello, 0);
    sender_rig_hello();
    sender_rig_cookie(&hello, RIG_SESSION);
    answer_question(&hello, 1);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
}

/* A receiver that is heard of before any cookie is there: it is not asked for, and later, when it
 * is not heard of any more, the question is the same. */
TEST(another_receiver__is_not_asked_for_while_the_first_is_heard)
{
    struct hello hello = ask_for_another();
    sender_rig_ack("");
    sender_rig_expect("0:0+10LA"); /* the probe's */
    sender_rig_expect_nothing();
    sender_rig_ack("0 2");
    sender_rig_expect_event(OUTCOME_OK, 10);
    sender_rig_submit(10);
    wait_until_it_asks();
    ck_assert_uint_eq(sender_rig_hello().nonce, hello.nonce);
}

/* ---- nobody to pair with ---- */

static void fail_to_connect(enum outcome outcome)
{
    instant limit = rig.now + 5 * SECOND;
    while (sender_deadline(rig.s) < limit) {
        sender_rig_expect_no_event();
        sender_rig_wait();
        while (sender_has_burst(rig.s))
            sender_rig_hello();
    }
    sender_rig_wait();
    ck_assert_int_eq(rig.now, limit);
    sender_rig_expect_event(outcome, 0);
}

TEST(connect__nothing_comes)
{
    sender_rig_submit(10);
    fail_to_connect(OUTCOME_UNREACHABLE);
    sender_rig_submit(10); /* has as long again */
    fail_to_connect(OUTCOME_UNREACHABLE);
}

TEST(connect__refused_by_the_system)
{
    sender_rig_submit(10);
    sender_on_refused(rig.s, rig.now);
    sender_rig_expect_no_event(); /* the receiver may be about to start */
    fail_to_connect(OUTCOME_REFUSED);
}

static void say_version(struct pairing echoed, uint8_t version)
{
    uint8_t datagram[VERSION_ANSWER_BYTES];
    version_answer_encode(datagram, echoed);
    datagram[VERSION_ANSWER_BYTES - 1] = (uint8_t)(version << 4 | DATAGRAM_VERSION_ANSWER);
    sender_rig_receive(datagram, sizeof datagram);
}

TEST(connect__another_version)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    say_version(hello.pairing, 3);
    sender_on_refused(rig.s, rig.now);
    fail_to_connect(OUTCOME_VERSION);
}

/* A peer that has called was there, and is lost now; whatever else is known still holds. */
TEST(connect__a_peer_that_has_called, .rows = 4)
{
    struct sender_config config = sender_rig_config();

    free(rig.s);
    config.was_called = true;
    sender_rig_init(&config);
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    if (_i == 1)
        sender_on_refused(rig.s, rig.now);
    if (_i == 2)
        sender_rig_cookie(&hello, 0);
    if (_i == 3)
        say_version(hello.pairing, 3);
    fail_to_connect(_i == 3 ? OUTCOME_VERSION : OUTCOME_SILENT);
}

/* An answer that says this version is none. */
TEST(connect__this_version)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    say_version(hello.pairing, PROTOCOL_VERSION);
    sender_on_refused(rig.s, rig.now);
    fail_to_connect(OUTCOME_REFUSED);
}

TEST(connect__version_said_by_a_stranger)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    hello.pairing.tag ^= 4;
    say_version(hello.pairing, 3);
    fail_to_connect(OUTCOME_UNREACHABLE);
}

static void say_keys_are_wanted(struct pairing pairing, uint64_t nonce)
{
    uint8_t datagram[TRAILER_BYTES];
    const struct handshake_datagram said = {
        .tag = pairing.tag, .nonce = nonce, .flags = HANDSHAKE_ANSWERS | HANDSHAKE_REFUSES};
    handshake_encode(datagram, &said);
    sender_rig_receive(datagram, sizeof datagram);
}

/* It is said again at each hello. */
TEST(connect__keys_are_wanted)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    instant limit = rig.now + 500 * MILLISECOND;
    say_keys_are_wanted(hello.pairing, hello.nonce);
    while (sender_deadline(rig.s) < limit) {
        sender_rig_expect_no_event();
        sender_rig_wait();
        while (sender_has_burst(rig.s))
            hello = sender_rig_hello();
        say_keys_are_wanted(hello.pairing, hello.nonce);
    }
    sender_rig_wait();
    ck_assert_int_eq(rig.now, limit);
    sender_rig_expect_event(OUTCOME_KEYS, 0);
    sender_rig_submit(10); /* it may have left meanwhile, and another one listen */
    fail_to_connect(OUTCOME_UNREACHABLE);
}

/* A refusal that no listener says to a sender without keys: of the side that connects, or sealed.
 */
TEST(connect__refused_in_another_way, .rows = 2)
{
    static const uint8_t flags[] = {HANDSHAKE_REFUSES,
                                    HANDSHAKE_ANSWERS | HANDSHAKE_REFUSES | HANDSHAKE_SECOND};
    uint8_t datagram[SEAL_TAG_BYTES + TRAILER_BYTES] = {0};
    size_t bytes = flags[_i] & HANDSHAKE_SECOND ? SEAL_TAG_BYTES : 0, count;
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    struct handshake_datagram said = {
        .tag = hello.pairing.tag, .nonce = hello.nonce, .flags = flags[_i]};
    handshake_encode(datagram + bytes, &said);
    ck_assert_int_eq(handshake_decode(datagram, bytes + TRAILER_BYTES, &said, &count), VERDICT_OK);
    sender_rig_receive(datagram, bytes + TRAILER_BYTES);
    fail_to_connect(OUTCOME_UNREACHABLE);
}

TEST(connect__keys_are_wanted_by_a_stranger)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    say_keys_are_wanted(hello.pairing, hello.nonce ^ 4);
    fail_to_connect(OUTCOME_UNREACHABLE);
}

/* Who said so read the path, and was not the receiver. */
TEST(connect__keys_are_wanted_but_not_by_the_receiver)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    say_keys_are_wanted(hello.pairing, hello.nonce);
    sender_rig_cookie(&hello, 0);
    hello = sender_rig_hello();
    rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = hello.pairing.tag};
    rig.nonce = hello.nonce;
    sender_rig_request(0, 1, 10);
    sender_rig_expect("0:0+10LA");
    rig.now += 600 * MILLISECOND;
    sender_expire(rig.s, rig.now);
    sender_rig_expect_no_event();
}

/* Once there was a peer, its silence is silence; what the system says changes nothing. */
TEST(connect__ends_with_the_first_pairing)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    instant heard = rig.now;
    sender_on_refused(rig.s, rig.now);
    struct event event;
    while (!sender_event(rig.s, &event)) {
        sender_rig_wait();
        while (sender_has_burst(rig.s))
            sender_rig_hello();
    }
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
    ck_assert_int_eq(rig.now, heard + 10 * SECOND);
}

/* ---- a port where nobody listens ---- */

static void start_refusable(void)
{
    struct sender_config config = sender_rig_config();

    free(rig.s);
    config.refusal = SECOND;
    sender_rig_init(&config);
    sender_rig_submit(10);
}

static struct hello next_hello(void)
{
    while (!sender_has_burst(rig.s))
        sender_rig_wait();
    return sender_rig_hello();
}

/* The next hello leaves, an answer is looked for, and the system says that nobody listens. */
static struct hello refuse_hello(void)
{
    struct hello hello = next_hello();

    (void)sender_on_listened(rig.s);
    sender_on_refused(rig.s, rig.now);
    return hello;
}

/* Until that has lasted for a second; then nobody is there. */
static void refuse_all(void)
{
    refuse_hello();
    instant first = rig.now;
    for (int i = 1; i < 3 || rig.now - first < SECOND; i++) {
        sender_rig_expect_no_event();
        refuse_hello();
    }
    ck_assert_int_lt(rig.now - first, SECOND + 250 * MILLISECOND);
    sender_expire(rig.s, rig.now);
    sender_rig_expect_event(OUTCOME_REFUSED, 0);
}

TEST(refused__hello_after_hello)
{
    start_refusable();
    refuse_all();
}

/* Each hello is refused, and answered all the same: the system was told a lie. Once nobody answers
 * any more it may be true. */
TEST(refused__beside_somebody_who_answers, .rows = 2)
{
    start_refusable();
    instant limit = rig.now + 5 * SECOND, until = _i == 0 ? limit : rig.now + 3 * SECOND;
    while (sender_has_burst(rig.s) || sender_deadline(rig.s) < until) {
        struct hello hello = refuse_hello();
        sender_rig_cookie(&hello, 0);
        sender_rig_expect_no_event();
    }
    if (_i == 1) {
        refuse_all();
        return;
    }
    sender_rig_wait();
    ck_assert_int_eq(rig.now, limit);
    sender_rig_expect_event(OUTCOME_NOT_ADMITTED, 0);
}

/* However often it is said of one hello, and of hellos whose answers nobody has looked for. */
TEST(refused__again_without_a_hello)
{
    start_refusable();
    refuse_hello();
    for (int i = 0; i < 200; i++) {
        rig.now += 10 * MILLISECOND;
        sender_on_listened(rig.s);
        sender_on_refused(rig.s, rig.now);
        sender_expire(rig.s, rig.now);
        sender_rig_expect_no_event();
    }
}

TEST(refused__without_a_look)
{
    start_refusable();
    instant limit = rig.now + 5 * SECOND;
    while (sender_has_burst(rig.s) || sender_deadline(rig.s) < limit) {
        next_hello();
        sender_on_refused(rig.s, rig.now);
        sender_rig_expect_no_event();
    }
    sender_rig_wait();
    ck_assert_int_eq(rig.now, limit);
    sender_rig_expect_event(OUTCOME_REFUSED, 0);
}

/* The peer was there, and knows its caller, but has no room. */
TEST(connect__a_cookie_and_no_more)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    sender_rig_cookie(&hello, 0);
    fail_to_connect(OUTCOME_NOT_ADMITTED);
}

/* It went away: what is known last counts. */
TEST(connect__refused_behind_a_cookie)
{
    sender_rig_submit(10);
    struct hello hello = sender_rig_hello();
    sender_rig_cookie(&hello, 0);
    sender_on_refused(rig.s, rig.now);
    fail_to_connect(OUTCOME_REFUSED);
}

/* ---- close ---- */

TEST(close__unpaired_is_over_at_once)
{
    sender_rig_hello();
    sender_close(rig.s, rig.now);
    ck_assert(sender_is_closed(rig.s));
    ck_assert(sender_is_confirmed(rig.s));
}

/* The receiver has fallen silent before, or stalled: it is not told, and so it has not confirmed.
 * It may close that session itself, later, or be followed by another receiver. */
TEST(close__after_a_limit_is_not_confirmed, .rows = 4)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    struct pairing pairing = rig.pairing;
    sender_fail(rig.s, rig.now, _i == 1 ? OUTCOME_STALLED : OUTCOME_SILENT);
    sender_rig_expect_event(_i == 1 ? OUTCOME_STALLED : OUTCOME_SILENT, 0);
    if (_i == 2) {
        rig.pairing = pairing;
        sender_rig_say_ack("", true);
    }
    if (_i == 3) {
        sender_rig_pair(0, 0);
        sender_rig_say_ack("", true);
    }
    sender_close(rig.s, rig.now);
    while (sender_has_burst(rig.s))
        sender_rig_hello();
    while (!sender_is_closed(rig.s))
        sender_rig_wait();
    ck_assert(!sender_has_burst(rig.s));
    ck_assert_int_eq(sender_is_confirmed(rig.s), _i > 1);
}

/* A receiver may have bound it. */
TEST(close__with_a_cookie_shown_asks_a_while)
{
    uint32_t hellos = 0;
    struct hello hello = sender_rig_hello();
    sender_rig_cookie(&hello, 0);
    sender_rig_hello();
    sender_close(rig.s, rig.now);
    for (; !sender_is_closed(rig.s); sender_rig_wait()) {
        if (!sender_has_burst(rig.s))
            continue;
        sender_rig_hello();
        hellos++;
    }
    ck_assert_uint_eq(hellos, 3);
    ck_assert(sender_is_confirmed(rig.s));
}

/* A peer that closes, too, may be gone, and need not be told again and again. */
TEST(close__nobody_confirms, .rows = 2)
{
    static const uint32_t said[] = {8, 4};
    uint32_t hellos = 0;
    sender_rig_pair(0, 0);
    if (_i == 1)
        sender_agree_close(rig.s);
    sender_close(rig.s, rig.now);
    instant began = rig.now;
    for (; !sender_is_closed(rig.s); sender_rig_wait()) {
        if (!sender_has_burst(rig.s))
            continue;
        ck_assert(sender_rig_hello().is_closing);
        hellos++;
    }
    ck_assert_uint_eq(hellos, said[_i]);
    ck_assert_int_eq(sender_is_confirmed(rig.s), _i == 1);
    ck_assert(_i == 0 || rig.now - began == 300 * MILLISECOND);
}

/* The peer closes the connection, which this side was not paired for yet, and may not have heard
 * that it was heard. It is not asked any more, and gets some time. */
TEST(close__agreed_and_unpaired_rests, .rows = 2)
{
    struct hello hello = sender_rig_hello();
    if (_i == 1) {
        sender_rig_cookie(&hello, 0);
        sender_rig_hello();
    }
    sender_agree_close(rig.s);
    instant began = rig.now;
    for (sender_close(rig.s, rig.now); !sender_is_closed(rig.s); sender_rig_wait())
        sender_rig_expect_nothing();
    ck_assert(sender_is_confirmed(rig.s));
    ck_assert_int_eq(rig.now - began, 140 * MILLISECOND);
}

/* The same, and this side has failed for it. If the peer has bound it, and waits for this side's
 * close, it is told. */
TEST(close__of_a_peer_that_has_bound_it, .rows = 2)
{
    struct sender_config config = sender_rig_config();
    config.stays = true;
    sender_rig_fini();
    sender_rig_init(&config);
    struct hello hello = sender_rig_hello();
    sender_agree_close(rig.s);
    sender_fail(rig.s, rig.now, OUTCOME_PEER_CLOSED);
    sender_rig_expect_nothing();
    rig.pairing = (struct pairing){.session = RIG_SESSION, .tag = hello.pairing.tag + (uint32_t)_i};
    sender_rig_say_ack("", true);
    if (_i == 0) {
        hello = sender_rig_hello();
        ck_assert(hello.is_closing && hello.pairing.session == RIG_SESSION);
    }
    sender_rig_expect_nothing();
    instant began = rig.now;
    for (sender_close(rig.s, rig.now); !sender_is_closed(rig.s); sender_rig_wait())
        sender_rig_expect_nothing();
    ck_assert_int_eq(rig.now - began, _i == 0 ? 0 : 140 * MILLISECOND);
}

/* ---- a sender that stays ---- */

/* A connection's sender asks if its peer is there still. Where another one gives it a cookie, as a
 * listener does that was started anew, the connection is over, and that one is not asked for a
 * session. Its own peer's cookie changes nothing. */
TEST(stays__another_peer_gives_a_cookie, .rows = 3)
{
    const uint32_t named[] = {RIG_SESSION, 0, RIG_SESSION + 1};
    struct sender_config config = sender_rig_config();
    config.stays = true;
    sender_rig_fini();
    sender_rig_init(&config);
    struct hello hello = ask_for_another();
    sender_rig_cookie(&hello, named[_i]);
    if (_i == 0) {
        ck_assert_int_eq(sender_link(rig.s), LINK_UP);
        sender_rig_expect_no_event();
        return;
    }
    ck_assert_int_eq(sender_link(rig.s), LINK_ENDED);
    ck_assert_int_eq(sender_ended(rig.s), OUTCOME_RESTARTED);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
    sender_rig_expect_nothing();
}

/* It makes a session without a cookie: none of ours would, and it is not entered. */
TEST(stays__another_peer_answers)
{
    struct sender_config config = sender_rig_config();
    config.stays = true;
    sender_rig_fini();
    sender_rig_init(&config);
    struct hello hello = ask_for_another();
    rig.pairing = (struct pairing){.session = RIG_SESSION + 1, .tag = hello.pairing.tag};
    rig.nonce = hello.nonce;
    sender_rig_request(0, 1, 10);
    ck_assert_int_eq(sender_link(rig.s), LINK_ENDED);
    ck_assert_int_eq(sender_ended(rig.s), OUTCOME_RESTARTED);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
    sender_rig_expect_nothing();
}

/* What is to be acknowledged first is waited for all the same, and the peer is told of the close.
 */
TEST(close__agreed_waits_for_units)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    sender_agree_close(rig.s);
    sender_close(rig.s, rig.now);
    sender_rig_expect_nothing();
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 10);
    sender_rig_wait();
    ck_assert(sender_rig_hello().is_closing);
    ck_assert(!sender_is_closed(rig.s));
}

TEST(close__confirmed)
{
    uint64_t number;
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    sender_close(rig.s, rig.now);
    ck_assert(!sender_submit(rig.s, rig.now, NULL, NULL, 0, &number));
    sender_rig_expect_nothing();
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 10);
    sender_rig_wait();
    ck_assert(sender_rig_hello().is_closing);
    ck_assert(!sender_is_closed(rig.s));
    sender_rig_say_ack("", true);
    ck_assert(sender_is_closed(rig.s));
    ck_assert(sender_is_confirmed(rig.s));
    ck_assert_int_eq(sender_deadline(rig.s), NEVER);
}

/* What was cancelled and has no buffer need not be told of; what has one is. */
TEST(close__does_not_wait_for_what_was_cancelled)
{
    uint64_t posted = sender_rig_submit(10), unposted = sender_rig_submit(10);
    sender_rig_pair(1, 10);
    ck_assert(sender_cancel(rig.s, rig.now, posted));
    ck_assert(sender_cancel(rig.s, rig.now, unposted));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_close(rig.s, rig.now);
    ck_assert(!sender_rig_hello().is_closing);
    sender_rig_expect("0:2+0LVA");
    sender_rig_ack("0 1");
    sender_rig_wait();
    struct hello hello = sender_rig_hello();
    ck_assert(hello.is_closing);
    ck_assert(!hello.is_cut);
}

TEST(close__cancelled_while_it_waits)
{
    uint64_t unposted = sender_rig_submit(10);
    sender_rig_pair(0, 0);
    sender_close(rig.s, rig.now);
    ck_assert(!sender_rig_hello().is_closing);
    sender_rig_expect_nothing();
    ck_assert(sender_cancel(rig.s, rig.now, unposted));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_wait();
    ck_assert(sender_rig_hello().is_closing);
}

/* The hellos before it had no close to tell. */
TEST(close__cancelled_after_many_hellos)
{
    uint64_t unposted = sender_rig_submit(10);
    uint32_t hellos = 0;
    sender_rig_pair(0, 0);
    sender_close(rig.s, rig.now);
    while (hellos < 10) {
        if (!sender_has_burst(rig.s)) {
            sender_rig_wait();
            continue;
        }
        ck_assert(!sender_rig_hello().is_closing);
        hellos++;
    }
    ck_assert(sender_cancel(rig.s, rig.now, unposted));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    for (hellos = 0; !sender_is_closed(rig.s); sender_rig_wait()) {
        if (!sender_has_burst(rig.s))
            continue;
        ck_assert(sender_rig_hello().is_closing);
        hellos++;
    }
    ck_assert_uint_eq(hellos, 8);
    ck_assert(!sender_is_confirmed(rig.s));
}

/* What was cancelled is gone without a unit, and then another receiver answers the question. */
TEST(close__in_another_session)
{
    struct hello hello = show_cookie_while_idle();
    ck_assert(sender_cancel(rig.s, rig.now, 0));
    sender_close(rig.s, rig.now);
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    rig.pairing = (struct pairing){.session = RIG_SESSION + 1, .tag = hello.pairing.tag};
    rig.nonce = hello.nonce;
    sender_rig_request(0, 0, 0);
    hello = sender_rig_hello();
    ck_assert(hello.is_closing);
    ck_assert_uint_eq(hello.pairing.session, RIG_SESSION + 1);
    ck_assert_uint_eq(hello.requested, 0);
}

/* The last word: it closes, and messages that it had will not come. */
static void expect_cut(void)
{
    struct hello hello = sender_rig_hello();
    ck_assert(hello.is_closing);
    ck_assert(hello.is_cut);
}

/* A message has no buffer, and the user waits no longer: the peer is told once. */
TEST(close__given_up)
{
    struct event event;
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    sender_close(rig.s, rig.now);
    while (sender_has_burst(rig.s))
        ck_assert(!sender_rig_hello().is_closing);
    sender_give_up(rig.s, false);
    expect_cut();
    ck_assert(sender_event(rig.s, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_CLOSED);
    sender_rig_expect_nothing();
}

/* The peer has not heard that a message will not come, for which it has a buffer. */
TEST(close__given_up_before_a_refusal_is_heard)
{
    uint64_t number = sender_rig_submit(10);
    sender_rig_pair(1, 10);
    ck_assert(sender_fault(rig.s, number));
    sender_rig_expect_event(OUTCOME_FAULT, 0);
    sender_rig_expect("0:3+0LVA");
    sender_close(rig.s, rig.now);
    sender_give_up(rig.s, false);
    expect_cut();
}

/* Messages are left that never came to the sender. */
TEST(close__given_up_with_a_backlog)
{
    sender_rig_pair(0, 0);
    sender_close(rig.s, rig.now);
    sender_give_up(rig.s, true);
    expect_cut();
}

/* An older session's receiver repeats its close. The present session's receiver was not told yet.
 */
TEST(close__beside_an_older_one)
{
    struct hello hello = ask_for_another();
    struct pairing old = rig.pairing;
    sender_rig_cookie(&hello, 0);
    hello = sender_rig_hello();
    answer_question(&hello, 0);
    struct pairing present = rig.pairing;
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
    sender_close(rig.s, rig.now);
    while (sender_has_burst(rig.s))
        sender_rig_hello();
    rig.pairing = old;
    sender_rig_say_ack("", true);
    ck_assert_uint_eq(sender_rig_hello().pairing.session, old.session);
    ck_assert(!sender_is_closed(rig.s));
    rig.pairing = present;
    sender_rig_say_ack("", true);
    ck_assert(sender_is_confirmed(rig.s));
}

/* Another receiver, which has followed on one that closed, may have bound the new question. */
TEST(close__with_a_cookie_shown_to_the_next_one)
{
    uint32_t hellos = 0;
    sender_rig_pair(0, 0);
    sender_rig_say_ack("", true);
    ck_assert(sender_rig_hello().is_closing); /* confirms */
    struct hello hello = sender_rig_hello();
    sender_rig_cookie(&hello, 0);
    ck_assert_uint_eq(sender_rig_hello().cookie, 5);
    sender_close(rig.s, rig.now);
    for (; !sender_is_closed(rig.s); sender_rig_wait()) {
        if (!sender_has_burst(rig.s))
            continue;
        sender_rig_hello();
        hellos++;
    }
    ck_assert_uint_eq(hellos, 3);
}

TEST(close__by_the_peer)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    sender_rig_say_ack("", true);
    sender_rig_expect_event(OUTCOME_CUT_OFF, 0);
    struct hello hello = sender_rig_hello();
    ck_assert(hello.is_closing);
    ck_assert_uint_eq(hello.pairing.session, RIG_SESSION);
    ck_assert_uint_ne(sender_rig_hello().nonce, 0); /* and asks for the next receiver */
}

/* Units are on their way, and the peer says its close for each burst of them. Whatever is lost of
 * the confirmations, there are some left for what it says later. */
TEST(close__by_the_peer_that_says_it_for_each_late_unit)
{
    enum { BURSTS = 40, LATER = 8 };
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    sender_rig_expect("0:0+10LA");
    for (int i = 0; i < 1 + BURSTS + LATER; i++) {
        sender_rig_say_ack("", true);
        struct hello hello = sender_rig_hello();
        ck_assert(hello.is_closing);
        ck_assert_uint_eq(hello.pairing.session, RIG_SESSION);
        rig.now += i < BURSTS ? 50 * MICROSECOND : 20 * MILLISECOND;
    }
}
