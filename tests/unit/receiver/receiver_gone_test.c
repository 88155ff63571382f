/* The system says that nobody listens at the sender's port, which may be true, or a stranger's lie.
 * A receiver that has posted something asks, and believes it only where nobody answers. */
#include "receiver_rig.h"

#include "../../support/suite.h"

static const duration GONE = 5 * SECOND, SILENCE = 10 * SECOND;

/* Two buffers, of which the sender knows. */
static void start(void)
{
    receiver_rig_init();
    receiver_rig_start(2, 128);
    receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
}

FIXTURE(start, receiver_rig_fini)

/* Takes what is to be said; how many datagrams. */
static uint32_t take_all(void)
{
    struct burst burst;
    uint32_t count = 0;
    for (; receiver_take(rig.r, rig.now, &burst); count++)
        ;
    return count;
}

/* The next thing is due; what leaves is refused, or not; the socket is empty. */
static uint32_t step(bool is_refused)
{
    rig.now = receiver_deadline(rig.r);
    receiver_expire(rig.r, rig.now);
    uint32_t count = take_all();
    if (count > 0 && is_refused)
        receiver_on_closed_port(rig.r, rig.now);
    (void)receiver_on_listened(rig.r);
    receiver_check(rig.r);
    return count;
}

static instant silent_at(bool is_refused)
{
    struct event event;
    while (!receiver_event(rig.r, &event))
        (void)step(is_refused);
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
    receiver_rig_expect_end(OUTCOME_SILENT);
    receiver_rig_expect_no_event();
    return rig.now;
}

TEST(gone__nobody_answers)
{
    instant heard = rig.now;
    ck_assert_int_eq(receiver_deadline(rig.r), heard + SECOND);
    instant silent = silent_at(true);
    ck_assert_int_ge(silent, heard + GONE);
    ck_assert_int_le(silent, heard + GONE + SECOND);
}

/* Another sender may be bound then, as after silence. */
TEST(gone__and_another_one_comes)
{
    (void)silent_at(true);
    receiver_rig_post(128);
    receiver_rig_bind_tag(RIG_TAG + 1, "request 0*1=128");
}

TEST(gone__silence_without_a_word)
{
    instant heard = rig.now;
    ck_assert_int_eq(silent_at(false), heard + SILENCE);
}

TEST(gone__said_once)
{
    instant heard = rig.now;
    receiver_on_closed_port(rig.r, rig.now);
    ck_assert_int_eq(silent_at(false), heard + SILENCE);
}

/* One hello begins it anew, whenever it comes. */
TEST(gone__an_answer_at_any_time, .rows = 24)
{
    for (int turn = 0; turn < 10; turn++) {
        instant until = rig.now + _i * 200 * MILLISECOND;
        receiver_on_closed_port(rig.r, rig.now);
        while (receiver_deadline(rig.r) < until)
            (void)step(true);
        receiver_rig_expect_no_event();
        receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
        (void)take_all();
    }
}

/* Ten minutes of refusals, a hundred a second, beside a sender that is idle and answers each
 * request after a round trip: nothing ends, and five requests a second leave at most. */
TEST(gone__forged_beside_an_idle_sender)
{
    enum { SECONDS = 600 };
    instant end = rig.now + SECONDS * SECOND, answer_at = NEVER;
    uint32_t requests = 0;
    for (instant lie_at = rig.now; rig.now < end;) {
        instant next = instant_earlier(answer_at, receiver_deadline(rig.r));
        rig.now = instant_later(rig.now, instant_earlier(lie_at, next));
        if (rig.now >= answer_at) {
            answer_at = NEVER;
            receiver_rig_hello((struct hello){.pairing = rig.pairing, .requested = 2});
            (void)take_all(); /* an empty request, which is not answered */
        }
        receiver_expire(rig.r, rig.now);
        uint32_t count = take_all();
        requests += count;
        if (count > 0 && answer_at == NEVER)
            answer_at = rig.now + 150 * MILLISECOND;
        (void)receiver_on_listened(rig.r);
        if (rig.now >= lie_at) {
            receiver_on_closed_port(rig.r, rig.now);
            lie_at = rig.now + 10 * MILLISECOND;
        }
        receiver_rig_expect_no_event();
    }
    ck_assert_uint_le(requests, 5 * SECONDS);
    ck_assert_uint_gt(requests, SECONDS);
}

/* With nothing posted there is nothing to be lost, and nothing is asked. */
TEST(gone__nothing_posted)
{
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    receiver_rig_land_unit(receiver_rig_last(1, 1, 0, 10));
    receiver_rig_expect_message(0, 10);
    receiver_rig_expect_message(1, 10);
    for (int i = 0; i < 10; i++) {
        rig.now += SECOND;
        receiver_expire(rig.r, rig.now);
        (void)take_all();
        receiver_on_closed_port(rig.r, rig.now);
        (void)receiver_on_listened(rig.r);
    }
    ck_assert_int_eq(receiver_deadline(rig.r), NEVER);
}
