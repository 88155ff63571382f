/* The sender says how large the first message is for which it knows no buffer, if it is asked. */
#include "sender_rig.h"

#include "../../support/suite.h"

static void setup(void)
{
    struct sender_config config = sender_rig_config();
    sender_rig_init(&config);
    rig.wants_offer = true;
}

/* What the receiver asks by, when it has posted nothing more. */
static void ask(void)
{
    sender_rig_request(0, 0, 0);
}

FIXTURE(setup, sender_rig_fini)

TEST(offer__with_the_request_that_pairs)
{
    sender_rig_submit(1000);
    sender_rig_submit(2000);
    sender_rig_pair(0, 0);
    sender_rig_expect_offer(0, 1000);
    sender_rig_expect_nothing(); /* once, and the second message has to wait */
    ck_assert_uint_eq(sender_counters(rig.s)->offers, 1);
}

TEST(offer__not_without_a_wish)
{
    rig.wants_offer = false;
    sender_rig_submit(1000);
    sender_rig_pair(0, 0);
    sender_rig_expect_nothing();
    ask();
    sender_rig_expect_nothing();
}

/* The second message gives nothing to send, unless offers are asked for. */
TEST(offer__awaits_a_buffer, .rows = 2)
{
    rig.wants_offer = _i == 1;
    sender_rig_submit(1000);
    sender_rig_pair(1, 2000);
    sender_rig_submit(1000);
    ck_assert(!sender_awaits_buffer(rig.s, 0));
    ck_assert(sender_awaits_buffer(rig.s, 1) == (_i == 0));
    sender_rig_request(0, 2, 2000);
    ck_assert(!sender_awaits_buffer(rig.s, 1));
}

TEST(offer__of_an_empty_message)
{
    sender_rig_submit(0);
    sender_rig_pair(0, 0);
    sender_rig_expect_offer(0, 0);
}

TEST(offer__again_for_each_request_that_asks)
{
    sender_rig_submit(1000);
    sender_rig_pair(0, 0);
    for (int i = 0; i < 3; i++) {
        sender_rig_expect_offer(0, 1000);
        sender_rig_expect_nothing();
        ask();
    }
    sender_rig_expect_offer(0, 1000);
    rig.wants_offer = false;
    ask();
    sender_rig_expect_nothing();
}

/* However often it is asked before it can answer, it answers once. */
TEST(offer__once_for_several_requests)
{
    sender_rig_submit(1000);
    sender_rig_pair(0, 0);
    ask();
    ask();
    sender_rig_expect_offer(0, 1000);
    sender_rig_expect_nothing();
}

/* The wish came before there was a message, and holds though the last request was without. */
TEST(offer__when_the_message_comes)
{
    sender_rig_pair(0, 0);
    sender_rig_expect_nothing();
    rig.wants_offer = false;
    ask();
    sender_rig_submit(1000);
    sender_rig_expect_offer(0, 1000);
    sender_rig_expect_nothing();
}

/* The next is offered when the buffer of the first is known, without another request; and goes out
 * before the units do. */
TEST(offer__of_the_next_message)
{
    sender_rig_submit(10);
    sender_rig_submit(20);
    sender_rig_submit(30);
    sender_rig_pair(0, 0);
    sender_rig_expect_offer(0, 10);
    rig.wants_offer = false;
    sender_rig_request(0, 1, 10);
    sender_rig_expect_offer(1, 20);
    sender_rig_expect("0:0+10LA");
    sender_rig_request(1, 1, 20);
    sender_rig_expect_offer(2, 30);
    sender_rig_expect("1:0+20LA");
    sender_rig_request(2, 1, 30);
    sender_rig_expect("2:0+30LA");
    sender_rig_expect_nothing();
}

/* Buffers beyond the first that is missing do not count. */
TEST(offer__of_a_message_in_a_gap)
{
    sender_rig_submit(10);
    sender_rig_submit(20);
    sender_rig_submit(20);
    sender_rig_pair(1, 100);
    sender_rig_request(2, 1, 100);
    sender_rig_expect_offer(1, 20);
    sender_rig_expect("0:0+10LA");
    sender_rig_expect_nothing();
    sender_rig_request(1, 1, 100);
    sender_rig_expect("1:0+20L 2:0+20LA");
    sender_rig_expect_nothing();
}

TEST(offer__not_of_what_has_a_buffer)
{
    sender_rig_submit(10);
    sender_rig_pair(2, 10);
    sender_rig_expect("0:0+10LA");
    sender_rig_expect_nothing();
    ck_assert_uint_eq(sender_counters(rig.s)->offers, 0);
}

/* It was cancelled here: its number takes a buffer all the same. */
TEST(offer__of_a_cancelled_message)
{
    uint64_t number = sender_rig_submit(10);
    sender_rig_submit(20);
    ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_rig_pair(0, 0);
    sender_rig_expect_offer(0, 10);
    sender_rig_request(0, 1, 10);
    sender_rig_expect_offer(1, 20);
    sender_rig_expect("0:2+0LVA");
}

/* Another receiver has wishes of its own. */
TEST(offer__in_another_session_when_asked)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    sender_rig_expect_offer(0, 10);
    sender_fail(rig.s, rig.now, OUTCOME_SILENT);
    sender_rig_expect_event(OUTCOME_SILENT, 0);
    sender_rig_submit(20);
    rig.wants_offer = false;
    sender_rig_enter(RIG_SESSION + 1, 0, 0);
    sender_rig_expect_nothing();
    rig.wants_offer = true;
    ask();
    sender_rig_expect_offer(0, 20);
}

TEST(offer__not_while_unpaired)
{
    sender_rig_submit(10);
    sender_rig_pair(0, 0);
    sender_fail(rig.s, rig.now, OUTCOME_SILENT);
    sender_rig_expect_event(OUTCOME_SILENT, 0);
    sender_rig_submit(20);
    struct hello hello = sender_rig_hello();
    ck_assert_uint_ne(hello.nonce, 0);
    sender_rig_expect_nothing();
}

/* A request that a hello answers: both are said. */
TEST(offer__beside_a_hello)
{
    sender_rig_pair(0, 0);
    sender_rig_submit(10);
    sender_rig_request(1, 1, 10);
    struct hello hello = sender_rig_hello();
    ck_assert_uint_eq(hello.requested, 0);
    sender_rig_expect_offer(0, 10);
    sender_rig_expect_nothing();
}

/* ---- too large ---- */

/* The void unit says the size of the message, and not what comes next. */
TEST(too_large__says_the_size)
{
    sender_rig_submit(1000);
    sender_rig_submit(20);
    sender_rig_pair(2, 20);
    sender_rig_expect_event(OUTCOME_TOO_LARGE, 0);
    sender_rig_expect("0:1+0LV");
    struct unit_trailer t = sender_rig_trailer(0);
    ck_assert_uint_eq(unit_trailer_size(&t), 1000);
    ck_assert_uint_eq(t.flags & FLAG_HAS_NEXT, 0);
    ck_assert_int_eq(t.next_step, 0);
    sender_rig_expect("1:0+20LA");
}

/* Also when it is repeated. */
TEST(too_large__says_the_size_again)
{
    sender_rig_submit(MESSAGE_BYTES_MAX);
    sender_rig_pair(1, MESSAGE_BYTES_MAX - 1);
    for (int i = 0; i < 2; i++) {
        sender_rig_expect("0:1+0LVA");
        struct unit_trailer t = sender_rig_trailer(0);
        ck_assert_uint_eq(unit_trailer_size(&t), MESSAGE_BYTES_MAX);
        sender_rig_wait();
    }
}

/* Another reason has nothing to say of the size. */
TEST(too_large__not_for_what_is_cancelled)
{
    ck_assert(sender_cancel(rig.s, rig.now, sender_rig_submit(1000)));
    sender_rig_pair(1, 20);
    sender_rig_expect("0:2+0LVA");
    struct unit_trailer t = sender_rig_trailer(0);
    ck_assert_uint_eq(unit_trailer_size(&t), 0);
}
