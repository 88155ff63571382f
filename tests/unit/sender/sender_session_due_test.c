#include "core/sender/sender_session.h"

#include "../../support/secret.h"
#include "../../support/suite.h"

static struct sender_session s;
static struct secret secret;

static const struct pairing PAIRING = {.session = 7, .tag = 9};

static void setup(void)
{
    secret = secret_of_seed(1);
    s = (struct sender_session){.due = HELLO_NONE};
}

static void teardown(void)
{
    sender_session_check(&s);
}

static enum session_hello take(struct hello *hello)
{
    return sender_session_take_hello(&s, SECOND, 5, true, hello);
}

/* Paired, left again, so that there is a close to be confirmed, and asking. */
static void leave_one(void)
{
    sender_session_enter(&s, PAIRING, 0, 0);
    sender_session_leave(&s);
    sender_session_ask(&s, &secret);
    sender_session_clear_due(&s);
}

FIXTURE(setup, teardown)

/* What is due after which facts: a plain hello adds nothing to another, the others add up. */
TEST(set_due__truth_table)
{
    static const struct {
        enum session_hello first, second;
        uint32_t due;
    } row[] = {
        {HELLO_TELLS, HELLO_TELLS, HELLO_TELLS},
        {HELLO_TELLS, HELLO_ANSWERS, HELLO_TELLS},
        {HELLO_ANSWERS, HELLO_ANSWERS, HELLO_ANSWERS},
        {HELLO_ANSWERS, HELLO_TELLS, HELLO_TELLS},
        {HELLO_ANSWERS, HELLO_ASKS, HELLO_ASKS},
        {HELLO_CONFIRMS, HELLO_ANSWERS, HELLO_CONFIRMS},
        {HELLO_TELLS, HELLO_ASKS, HELLO_ASKS},
        {HELLO_TELLS, HELLO_CONFIRMS, HELLO_CONFIRMS},
        {HELLO_ASKS, HELLO_TELLS, HELLO_ASKS},
        {HELLO_ASKS, HELLO_ASKS, HELLO_ASKS},
        {HELLO_ASKS, HELLO_CONFIRMS, HELLO_ASKS | HELLO_CONFIRMS},
        {HELLO_CONFIRMS, HELLO_TELLS, HELLO_CONFIRMS},
        {HELLO_CONFIRMS, HELLO_ASKS, HELLO_ASKS | HELLO_CONFIRMS},
        {HELLO_CONFIRMS, HELLO_CONFIRMS, HELLO_CONFIRMS},
    };
    leave_one();
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        sender_session_clear_due(&s);
        sender_session_set_due(&s, row[i].first);
        sender_session_set_due(&s, row[i].second);
        ck_assert_uint_eq(s.due, row[i].due);
        sender_session_check(&s);
    }
}

TEST(take_hello__most_urgent_first)
{
    struct hello hello;
    leave_one();
    sender_session_set_due(&s, HELLO_ASKS);
    sender_session_set_due(&s, HELLO_CONFIRMS);
    ck_assert_int_eq(take(&hello), HELLO_CONFIRMS);
    ck_assert_uint_eq(hello.pairing.session, PAIRING.session);
    ck_assert(hello.is_closing);
    ck_assert_int_eq(take(&hello), HELLO_ASKS);
    ck_assert_uint_eq(hello.nonce, s.question.nonce);
    ck_assert(!hello.is_closing);
    ck_assert_uint_eq(s.due, HELLO_NONE);
    ck_assert(!s.has_closed); /* neither of them told this session of its close */
}

TEST(take_hello__plain_one_tells_of_the_close)
{
    struct hello hello;
    sender_session_enter(&s, PAIRING, 2, 0);
    sender_session_set_due(&s, HELLO_TELLS);
    ck_assert_int_eq(take(&hello), HELLO_TELLS);
    ck_assert_uint_eq(hello.requested, 3);
    ck_assert(hello.is_closing);
    ck_assert(s.has_closed);
}

TEST(take_hello__nothing_due, .signal = SIGABRT)
{
    struct hello hello;
    take(&hello);
}

TEST(stop_asking__leaves_the_confirmation)
{
    leave_one();
    sender_session_set_due(&s, HELLO_CONFIRMS);
    sender_session_set_due(&s, HELLO_ASKS);
    sender_session_stop_asking(&s);
    ck_assert_uint_eq(s.due, HELLO_CONFIRMS);
    ck_assert_uint_eq(s.question.tag, 0);
}

/* The present session, which is heard of again. The question may be answered still. */
TEST(on_heard__leaves_the_question_open)
{
    sender_session_enter(&s, PAIRING, 0, 0);
    sender_session_ask(&s, &secret);
    struct session_question asked = s.question;
    ck_assert(sender_session_on_heard(&s));
    ck_assert_uint_eq(s.due, HELLO_NONE);
    ck_assert(sender_session_is_answer(&s, asked.tag, asked.nonce));
    sender_session_ask(&s, &secret);
    ck_assert_uint_eq(s.question.nonce, asked.nonce);
}

TEST(on_heard__late_of_an_abandoned_session)
{
    struct cookie_answer other = {.pairing = {.session = 3}, .cookie = 11};
    struct cookie_answer late = {.pairing = PAIRING, .cookie = 12};
    sender_session_enter(&s, PAIRING, 0, 0);
    ck_assert(!sender_session_is_abandoned(&s));
    sender_session_ask(&s, &secret);
    ck_assert(!sender_session_on_cookie(&s, &other, false));
    ck_assert(sender_session_is_abandoned(&s));
    ck_assert(!sender_session_on_heard(&s));
    ck_assert(!sender_session_on_cookie(&s, &late, false));
    ck_assert_uint_eq(s.due, HELLO_ASKS);
    ck_assert_uint_eq(s.question.cookie, 11);
    sender_session_enter(&s, (struct pairing){.session = 3, .tag = s.question.tag}, 0, 0);
    ck_assert(!sender_session_is_abandoned(&s));
}

TEST(on_cookie__at_once_so_often)
{
    struct cookie_answer answer = {.pairing = {.session = 3}, .cookie = 11};
    sender_session_ask(&s, &secret);
    for (int i = 0; i < SESSION_AT_ONCE + 1; i++) {
        sender_session_clear_due(&s);
        ck_assert(!sender_session_on_cookie(&s, &answer, false));
        ck_assert_uint_eq(s.due, i < SESSION_AT_ONCE ? HELLO_ASKS : HELLO_NONE);
    }
    ck_assert_uint_eq(s.question.cookie, 11);
    ck_assert_uint_eq(s.question.session, 3);
}

TEST(on_cookie__of_the_present_session)
{
    struct cookie_answer answer = {.pairing = PAIRING, .cookie = 11};
    sender_session_enter(&s, PAIRING, 0, 0);
    sender_session_ask(&s, &secret);
    ck_assert(sender_session_on_cookie(&s, &answer, false));
    ck_assert_uint_eq(s.question.tag, 0); /* it is there: the question is over */
}

/* Less often if this side has said its own close: then the peer may answer each of them. */
TEST(confirm_again__bounded, .rows = 2)
{
    struct block_ack ack = {.pairing = PAIRING, .is_closing = true};
    int most = _i == 0 ? SESSION_CONFIRMATIONS : SESSION_CONFIRMATIONS_CLOSED;
    struct hello hello;
    sender_session_enter(&s, PAIRING, 0, 0);
    if (_i == 1) {
        sender_session_set_due(&s, HELLO_TELLS);
        (void)take(&hello);
        ck_assert(hello.is_closing);
    }
    sender_session_leave(&s);
    for (int i = 0; i < most + 1; i++) {
        sender_session_clear_due(&s);
        sender_session_confirm_again(&s, &ack);
        ck_assert_uint_eq(s.due, i < most ? HELLO_CONFIRMS : HELLO_NONE);
    }
}

TEST(add_marks__around_2_16)
{
    ck_assert_uint_eq(sender_session_add_marks(&s, 40000 - 20000), 20000);
    ck_assert_uint_eq(sender_session_add_marks(&s, 50000), 30000);
    ck_assert_uint_eq(sender_session_add_marks(&s, 49999), 0); /* late */
    ck_assert_uint_eq(sender_session_add_marks(&s, 4), 15540);
    ck_assert_uint_eq(s.marks, 4);
}

TEST(check__fires, .rows = 6, .signal = 6)
{
    s = (struct sender_session){.due = HELLO_NONE};
    if (_i == 0)
        s.pairing.session = 1;
    else if (_i == 1)
        s.due = HELLO_TELLS | HELLO_ASKS;
    else if (_i == 2)
        s.due = HELLO_ASKS;
    else if (_i == 3)
        s.due = HELLO_CONFIRMS;
    else if (_i == 4)
        s = (struct sender_session){
            .pairing = PAIRING,
            .question = {.tag = 1, .nonce = 1, .cookie = 1, .session = PAIRING.session}};
    else
        s.confirmations = SESSION_CONFIRMATIONS + 1;
    sender_session_check(&s);
}
