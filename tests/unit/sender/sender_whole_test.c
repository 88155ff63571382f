/* Messages that go as a whole, beside the units: which may, and what becomes of them. */
#include "sender_rig.h"

#include "../../support/random.h"
#include "../../support/suite.h"

enum { MOST = 200, LARGE = MOST + 1 };

FIXTURE(sender_rig_start, sender_rig_fini)

/* The next message goes as a whole, which has this number in the session and so many bytes. */
static uint64_t put(uint64_t in_session, uint64_t size)
{
    struct whole whole;

    ck_assert(sender_whole(rig.s, MOST, &whole));
    ck_assert_uint_eq(whole.in_session, in_session);
    ck_assert_uint_eq(whole.size, size);
    sender_put_whole(rig.s, &whole);
    sender_check(rig.s);
    return whole.number;
}

static void expect_none(void)
{
    struct whole whole;
    ck_assert(!sender_whole(rig.s, MOST, &whole));
}

static void arrive(uint64_t number)
{
    sender_whole_arrived(rig.s, rig.now, number);
    sender_check(rig.s);
}

static void come_back(uint64_t number)
{
    sender_whole_came_back(rig.s, rig.now, number);
    sender_check(rig.s);
}

TEST(sender_whole__arrives)
{
    sender_rig_submit(100);
    sender_rig_pair(1, 100);
    uint64_t number = put(0, 100);
    expect_none();
    sender_rig_expect_nothing();
    sender_rig_expect_no_event();
    arrive(number);
    sender_rig_expect_event(OUTCOME_OK, 100);
    ck_assert_uint_eq(sender_counters(rig.s)->bytes, 100);
    ck_assert_uint_eq(sender_counters(rig.s)->wholes, 1);
    ck_assert_uint_eq(sender_counters(rig.s)->units, 0);
}

TEST(sender_whole__of_no_bytes)
{
    sender_rig_submit(0);
    sender_rig_pair(1, 0);
    arrive(put(0, 0));
    sender_rig_expect_event(OUTCOME_OK, 0);
}

TEST(sender_whole__only_up_to_a_size)
{
    sender_rig_submit(MOST);
    sender_rig_submit(LARGE);
    sender_rig_submit(1);
    sender_rig_pair(3, LARGE);
    put(0, MOST);
    expect_none();
    sender_rig_expect("1:0+64 1:64+64 1:128+64 1:192+9L");
    put(2, 1); /* behind units that are in transit */
}

TEST(sender_whole__not_before_it_is_paired)
{
    sender_rig_submit(10);
    expect_none();
}

TEST(sender_whole__not_without_a_buffer)
{
    sender_rig_submit(10);
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    put(0, 10);
    expect_none();
}

TEST(sender_whole__not_one_that_is_too_large)
{
    sender_rig_submit(20);
    sender_rig_pair(1, 10);
    expect_none();
    sender_rig_expect("0:1+0LVA");
}

/* The units of a message that has begun go on. */
TEST(sender_whole__not_the_rest)
{
    struct sender_config config = sender_rig_config();
    free(rig.s);
    config.burst_units = 1;
    sender_rig_init(&config);
    sender_rig_submit(100);
    sender_rig_pair(1, 100);
    sender_rig_expect("0:0+64");
    expect_none();
}

/* Nothing passes what is to be repeated. */
TEST(sender_whole__not_before_a_repeat)
{
    sender_rig_submit(LARGE);
    sender_rig_submit(10);
    sender_rig_pair(2, LARGE);
    sender_rig_expect_taken("0:0+64 0:64+64 0:128+64 0:192+9L");
    sender_sent(rig.s, rig.now, &rig.burst, 3);
    expect_none();
    sender_rig_expect("0:192+9LA");
    put(1, 10);
}

/* Its sender's memory is read: it is not the user's before that has ended. */
TEST(sender_pin_whole__holds_its_event)
{
    sender_rig_submit(10);
    sender_rig_submit(20);
    sender_rig_pair(2, 20);
    uint64_t first = put(0, 10), second = put(1, 20);
    sender_pin_whole(rig.s, first);
    sender_pin_whole(rig.s, second);
    ck_assert(sender_is_whole(rig.s, first));
    ck_assert(sender_cancel(rig.s, rig.now, first));
    sender_rig_expect_no_event();
    sender_let_go(rig.s, first);
    ck_assert(!sender_is_whole(rig.s, first));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_let_go(rig.s, second);
    ck_assert(sender_is_whole(rig.s, second));
    arrive(second);
    ck_assert(!sender_is_whole(rig.s, second));
    sender_rig_expect_event(OUTCOME_OK, 20);
}

/* ---- the straight way: submitted and sent in one ---- */

static const uint8_t bytes[2 * LARGE];

/* A message of `size` may go at once; what is known of its buffer. */
static bool may_go(struct whole *whole, uint64_t *posted)
{
    bool may = sender_lets_pass(rig.s) && sender_next_whole(rig.s, whole, posted);

    sender_check(rig.s);
    return may;
}

static uint64_t go(uint64_t in_session, uint64_t size, void *user)
{
    struct whole whole = {.user = user, .buffer = bytes, .size = size};
    uint64_t posted;

    ck_assert(may_go(&whole, &posted));
    ck_assert_uint_eq(whole.in_session, in_session);
    sender_submit_whole(rig.s, &whole, posted == SENDER_UNKNOWN ? size : posted);
    sender_check(rig.s);
    return whole.number;
}

static void expect_may_not(void)
{
    struct whole whole;
    uint64_t posted;

    ck_assert(!may_go(&whole, &posted));
}

/* With one that waits for its turn in transit, for a sender that does not stay. */
static void begin(void)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    put(0, 10);
}

TEST(sender_submit_whole__ends_without_an_event)
{
    void *user[3];
    int first, second;

    begin();
    uint64_t number = go(1, 100, &first);
    ck_assert_uint_eq(go(2, 0, &second), number + 1);
    expect_none();
    sender_rig_expect_nothing();
    ck_assert_uint_eq(sender_wholes_arrived(rig.s, rig.now, number - 1, 3, user), 3);
    sender_check(rig.s);
    ck_assert_ptr_eq(user[1], &first);
    ck_assert_ptr_eq(user[2], &second);
    sender_rig_expect_no_event();
    ck_assert_uint_eq(sender_counters(rig.s)->wholes, 3);
    ck_assert_uint_eq(sender_counters(rig.s)->bytes, 110);
}

TEST(sender_submit_whole__comes_back_in_units)
{
    begin();
    come_back(go(1, 100, NULL));
    sender_rig_expect("1:0+64A 1:64+36LA");
}

/* What was named in a request is known, what comes later is not. */
TEST(sender_next_whole__knows_buffers)
{
    struct whole whole;
    uint64_t posted;

    sender_rig_submit(10);
    sender_rig_pair(3, 20);
    put(0, 10);
    ck_assert(may_go(&whole, &posted));
    ck_assert_uint_eq(posted, 20);
    (void)go(1, 20, NULL);
    sender_rig_request(2, 1, REQUEST_WITHDRAWN);
    ck_assert(may_go(&whole, &posted));
    ck_assert_uint_gt(posted, SENDER_UNKNOWN);
    sender_rig_submit(1);
    sender_rig_expect_event(OUTCOME_PEER_CANCELLED, 0);
}

TEST(sender_next_whole__not_behind_what_waits)
{
    expect_may_not(); /* it is not paired */
    begin();
    sender_rig_submit(10);
    expect_may_not(); /* that one has no buffer */
    ck_assert(sender_credit(rig.s, 1, LARGE));
    expect_may_not(); /* or was not sent */
    put(1, 10);
    come_back(go(2, 10, NULL));
    expect_may_not(); /* one is to be repeated */
    sender_rig_expect("2:0+10LA");
    (void)go(3, 10, NULL);
    sender_close(rig.s, rig.now);
    expect_may_not();
}

/* For an idle sender that does not stay there are deadlines to be set. */
TEST(sender_next_whole__not_the_first)
{
    sender_rig_pair(0, 0);
    expect_may_not();
}

TEST(sender_next_whole__not_without_room)
{
    begin();
    for (uint64_t i = 1; i < sender_rig_config().messages; i++)
        (void)go(i, 1, NULL);
    expect_may_not();
}

/* Each is told in its turn, and not while something reads it. */
TEST(sender_wholes_arrived__behind_an_event)
{
    void *user[4];

    begin();
    uint64_t first = go(1, 1, &user[0]), second = go(2, 2, &user[1]);
    ck_assert(sender_cancel(rig.s, rig.now, first - 1));
    ck_assert_uint_eq(sender_wholes_arrived(rig.s, rig.now, first, 1, user), 0);
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_expect_event(OUTCOME_OK, 1);
    sender_pin_whole(rig.s, second);
    ck_assert_uint_eq(sender_wholes_arrived(rig.s, rig.now, second, 1, user), 0);
    sender_rig_expect_no_event();
    sender_let_go(rig.s, second);
    sender_rig_expect_event(OUTCOME_OK, 2);
    ck_assert_uint_eq(sender_wholes_arrived(rig.s, rig.now, second, 1, user), 0); /* over */
}

/* ---- coming back ---- */

TEST(sender_whole__comes_back_in_units)
{
    sender_rig_submit(100);
    sender_rig_submit(10);
    sender_rig_pair(2, 100);
    uint64_t first = put(0, 100);
    uint64_t second = put(1, 10);
    come_back(first);
    come_back(second);
    expect_none();
    sender_rig_expect("0:0+64A 0:64+36LA");
    sender_rig_expect("1:0+10LA");
    sender_rig_ack("0 3");
    sender_rig_expect_event(OUTCOME_OK, 100);
    sender_rig_expect_event(OUTCOME_OK, 10);
}

TEST(sender_whole__of_no_bytes_comes_back)
{
    sender_rig_submit(0);
    sender_rig_pair(1, 0);
    come_back(put(0, 0));
    sender_rig_expect("0:0+0LA");
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 0);
}

/* It is waited for from then on, whatever went before. */
TEST(sender_whole__that_comes_back_late_is_not_stalled)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    uint64_t number = put(0, 10);
    for (int i = 0; i < 20; i++) {
        rig.now += SECOND;
        sender_rig_request(1, 0, 0); /* the peer is there */
        sender_expire(rig.s, rig.now);
    }
    sender_rig_expect_no_event();
    come_back(number);
    sender_expire(rig.s, rig.now);
    sender_rig_expect_no_event();
    sender_rig_expect("0:0+10LA");
}

/* The same where its end has to be told, because either side takes it back: nothing was waited for
 * before. The next message has no buffer yet. */
TEST(sender_whole__that_is_taken_back_late_is_not_stalled, .rows = 2)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    uint64_t number = put(0, 10);
    sender_rig_submit(20);
    expect_none();
    for (int i = 0; i < 10; i++) {
        rig.now += SECOND;
        sender_rig_request(1, 0, 0); /* the peer is there */
    }
    rig.now += 100 * MILLISECOND;
    if (_i == 0)
        sender_rig_request(0, 1, REQUEST_WITHDRAWN);
    else
        ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_expire(rig.s, rig.now);
    sender_rig_expect_event(_i == 0 ? OUTCOME_PEER_CANCELLED : OUTCOME_CANCELLED, 0);
    sender_rig_expect_no_event();
}

TEST(sender_whole__only_once)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    uint64_t number = put(0, 10);
    come_back(number);
    come_back(number);
    arrive(number);
    sender_rig_expect("0:0+10LA");
    sender_rig_expect_nothing();
    arrive(number);
    sender_rig_expect_no_event();
    sender_rig_ack("0 1");
    sender_rig_expect_event(OUTCOME_OK, 10);
    arrive(number);
    come_back(number);
    sender_rig_expect_nothing();
}

/* ---- meeting what else may happen ---- */

TEST(sender_whole__is_cancelled)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    uint64_t number = put(0, 10);
    come_back(number); /* it was taken back */
    ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    sender_rig_expect("0:2+0LVA");
    sender_rig_ack("0 1");
    sender_check(rig.s);
}

/* The peer withdraws the buffer that the whole message meets on its way. */
TEST(sender_whole__is_withdrawn)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    uint64_t number = put(0, 10);
    sender_rig_request(0, 1, REQUEST_WITHDRAWN);
    sender_rig_expect_event(OUTCOME_PEER_CANCELLED, 0);
    come_back(number);
    sender_rig_expect("0:2+0LVA");
    sender_rig_expect_nothing();
}

TEST(sender_whole__fails_with_the_session)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    uint64_t number = put(0, 10);
    sender_fail(rig.s, rig.now, OUTCOME_SILENT);
    sender_rig_expect_event(OUTCOME_SILENT, 0);
    arrive(number);
    come_back(number);
    sender_rig_expect_no_event();
}

/* A close waits for it. */
TEST(sender_whole__holds_the_close_up)
{
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    uint64_t number = put(0, 10);
    sender_close(rig.s, rig.now);
    ck_assert(!sender_rig_hello().is_closing);
    arrive(number);
    sender_rig_expect_event(OUTCOME_OK, 10);
    sender_rig_wait();
    ck_assert(sender_rig_hello().is_closing);
}

/* What the session has seen does not go on in the next. */
TEST(sender_whole__ends_with_a_restart)
{
    struct hello hello = {.nonce = 0};

    sender_rig_submit(10);
    sender_rig_submit(10);
    sender_rig_pair(1, 10);
    put(0, 10);
    for (int i = 0; i < 10 && hello.nonce == 0; i++) {
        sender_rig_wait();
        hello = sender_rig_hello();
    }
    sender_rig_cookie(&hello, 0);
    (void)sender_rig_hello();
    rig.pairing = (struct pairing){.session = RIG_SESSION + 1, .tag = hello.pairing.tag};
    rig.nonce = hello.nonce;
    sender_rig_request(0, 1, 10);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
    sender_rig_expect_event(OUTCOME_RESTARTED, 0);
}

/* ---- credit ---- */

TEST(sender_credit__is_as_good_as_a_request)
{
    uint64_t lacks;

    sender_rig_submit(10);
    sender_rig_submit(20);
    sender_rig_submit(30);
    ck_assert(!sender_lacks_buffer(rig.s, &lacks));
    sender_rig_pair(1, 10);
    ck_assert(sender_lacks_buffer(rig.s, &lacks));
    ck_assert_uint_eq(lacks, 1);
    ck_assert(sender_credit(rig.s, 1, 20));
    ck_assert(sender_lacks_buffer(rig.s, &lacks));
    ck_assert_uint_eq(lacks, 2);
    ck_assert(sender_credit(rig.s, 2, 10)); /* too small */
    ck_assert(!sender_lacks_buffer(rig.s, &lacks));
    sender_check(rig.s);
    put(0, 10);
    put(1, 20);
    sender_rig_expect_event(OUTCOME_TOO_LARGE, 0);
    sender_rig_expect("2:1+0LVA");
}

TEST(sender_credit__too_far_ahead)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    ck_assert(sender_credit(rig.s, 127, 10));
    ck_assert(!sender_credit(rig.s, 128, 10)); /* four tables */
    ck_assert(!sender_credit(rig.s, UINT64_MAX, 10));
    expect_none();
}

/* ---- by chance ---- */

/* Messages of all sizes, units of which some are lost, wholes of which some come back, and some
 * that are cancelled: each ends once, and nothing is out at the end. */
static void run(int i)
{
    static const uint8_t data[2 * LARGE];
    uint64_t random = suite_seed(i), out[32], submitted = 0, ended = 0, number;
    uint32_t outs = 0, seq = 0;
    struct event event;
    char bounds[32];

    sender_rig_pair(0, 0);
    for (int step = 0; step < 4000 || ended < submitted; step++) {
        struct whole whole;
        bool is_over = step >= 4000;
        ck_assert_int_lt(step, 100000);
        switch (random_below(&random, 6)) {
        case 0:
            if (!is_over)
                submitted += sender_submit(rig.s, rig.now, NULL, data,
                                           random_below(&random, LARGE + 100), &number);
            break;
        case 1:
            (void)sender_credit(rig.s, random_below(&random, submitted + 3), 2 * LARGE);
            break;
        case 2:
            if (outs < 32 && sender_whole(rig.s, MOST, &whole)) {
                sender_put_whole(rig.s, &whole);
                out[outs++] = whole.number;
            }
            break;
        case 3:
            if (outs > 0) {
                uint32_t which = (uint32_t)random_below(&random, outs);
                if (random_chance(&random, 33))
                    sender_whole_came_back(rig.s, rig.now, out[which]);
                else
                    sender_whole_arrived(rig.s, rig.now, out[which]);
                out[which] = out[--outs];
            }
            break;
        case 4:
            if (sender_take(rig.s, rig.now, &rig.burst)) {
                bool is_lost = random_chance(&random, 25);
                sender_sent(rig.s, rig.now, &rig.burst, is_lost ? 0 : rig.burst.datagrams);
                if (!rig.burst.is_control && !is_lost) {
                    seq = (uint32_t)rig.burst.first_seq + rig.burst.datagrams;
                    (void)snprintf(bounds, sizeof bounds, "%u %u", (uint32_t)rig.burst.first_seq,
                                   seq);
                    sender_rig_ack(bounds);
                }
            }
            break;
        default:
            if (submitted > 0 && random_chance(&random, 12)) {
                number = random_below(&random, submitted);
                for (uint32_t k = 0; k < outs; k++)
                    if (out[k] == number) {
                        sender_whole_came_back(rig.s, rig.now, number);
                        out[k] = out[--outs];
                    }
                (void)sender_cancel(rig.s, rig.now, number);
            }
            break;
        }
        if (is_over)
            for (uint64_t n = 0; n < submitted; n++)
                (void)sender_credit(rig.s, n, 2 * LARGE);
        while (sender_event(rig.s, &event))
            ended++;
        sender_check(rig.s);
    }
    ck_assert_uint_eq(ended, submitted);
}

TEST(sender_whole__by_chance, .is_random = true)
{
    run(_i);
}
