#include "core/receiver/receiver_session.h"

#include "../../support/suite.h"

static struct receiver_session s;

enum { SESSION = 7, TAG = 9, LEFT = 5, LEFT_TAG = 6 };

static void setup(void)
{
    s = (struct receiver_session){.pairing = {.session = SESSION, .tag = TAG},
                                  .left = {.session = LEFT, .tag = LEFT_TAG}};
}

FIXTURE(setup, NULL)

/* What each hello is; a question has a nonce. */
TEST(use__truth_table)
{
    static const struct {
        uint32_t session, tag;
        bool is_question, is_good, is_closing;
        enum hello_use use;
    } row[] = {
        {SESSION, TAG, false, false, false, HELLO_OF_PARTNER},
        {SESSION, TAG, false, false, true, HELLO_OF_PARTNER},
        {SESSION, LEFT_TAG, false, false, true, HELLO_OF_STRANGER},
        {LEFT, LEFT_TAG, false, false, true, HELLO_OF_LEFT},
        {LEFT, LEFT_TAG, false, false, false, HELLO_OF_STRANGER},
        {LEFT, TAG, false, false, true, HELLO_OF_STRANGER},
        {SESSION, TAG, true, true, false, QUESTION_AGAIN},
        {0, TAG, true, true, false, QUESTION_AGAIN},
        {SESSION, 33, true, true, false, QUESTION_OF_OTHER},
        {LEFT, 33, true, true, false, QUESTION_UNPROVEN}, /* good for a session that is over */
        {SESSION, 33, true, false, false, QUESTION_UNPROVEN},
        {SESSION, TAG, true, false, false, QUESTION_UNPROVEN},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct hello hello = {.pairing = {.session = row[i].session, .tag = row[i].tag},
                              .nonce = row[i].is_question ? 3 : 0,
                              .is_closing = row[i].is_closing};
        ck_assert_int_eq(receiver_session_use(&s, &hello, row[i].is_good), row[i].use);
    }
}

/* Without a session nothing is of it: not even what names none. */
TEST(use__while_free)
{
    struct hello hello = {.pairing = {.session = 0, .tag = 0}};
    receiver_session_leave(&s, 10, 0);
    s.left = (struct pairing){.session = LEFT, .tag = LEFT_TAG};
    ck_assert_int_eq(receiver_session_use(&s, &hello, false), HELLO_OF_STRANGER);
    hello = (struct hello){.pairing = {.session = 0, .tag = TAG}, .nonce = 3};
    ck_assert_int_eq(receiver_session_use(&s, &hello, true), QUESTION_OF_OTHER);
    ck_assert(!receiver_session_accepts(&s, (struct pairing){.session = 0, .tag = 0}));
}

TEST(bind__counts_nothing_as_known)
{
    struct hello hello = {.pairing = {.session = 0, .tag = TAG}, .nonce = 3};
    receiver_session_leave(&s, 10, 4);
    receiver_session_bind(&s, SESSION, &hello, 4);
    ck_assert(receiver_session_is_bound(&s));
    ck_assert_uint_eq(s.known, 10);
    ck_assert_uint_eq(receiver_session_message(&s, 10), 4);
    receiver_session_check(&s);
}

TEST(on_known__only_forwards_and_what_is_posted)
{
    receiver_session_leave(&s, 10, 0);
    ck_assert_int_eq(receiver_session_on_known(&s, 2, 14), KNOWN_NEWLY);
    ck_assert_uint_eq(s.known, 12);
    ck_assert_int_eq(receiver_session_on_known(&s, 1, 14), KNOWN_BEFORE);
    ck_assert_int_eq(receiver_session_on_known(&s, 2, 14), KNOWN_BEFORE);
    ck_assert_int_eq(receiver_session_on_known(&s, 5, 14), KNOWN_BEFORE);
    ck_assert_uint_eq(s.known, 12);
    s.known = 14; /* units have come */
    ck_assert_int_eq(receiver_session_on_known(&s, 3, 14), KNOWN_NAMED);
    ck_assert_int_eq(receiver_session_on_known(&s, 3, 14), KNOWN_BEFORE);
    ck_assert_uint_eq(s.known, 14);
}

TEST(check__fires, .rows = 2, .signal = 6)
{
    if (_i == 0)
        s.pairing.tag = 0;
    else
        s.message_base = s.requested + 1;
    receiver_session_check(&s);
}
