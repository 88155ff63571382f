/* The system says that nobody listens at the peer's port, which may be true, or a stranger's lie. A
 * sender that is paired asks, and believes it only where nobody answers. */
#include "sender_rig.h"

#include "../../support/suite.h"

static const duration GONE = 5 * SECOND, EVERY = 200 * MILLISECOND;
static struct keyring keyring;

/* A session that carries messages, and has one more under way; with and without keys. */
static void start(bool has_keys, bool stays)
{
    struct sender_config config = sender_rig_config();

    config.gone = GONE;
    config.stays = stays;
    keyring = (struct keyring){.pairing = {.session = RIG_SESSION, .tag = 5}};
    config.keyring = has_keys ? &keyring : NULL;
    sender_rig_init(&config);
    if (has_keys) {
        sender_admit(rig.s, rig.now);
        rig.pairing = keyring.pairing;
    } else {
        sender_rig_submit(10);
        sender_rig_pair(1, 10);
        sender_rig_expect("0:0+10LA");
        sender_rig_ack("0 1");
        sender_rig_expect_event(OUTCOME_OK, 10);
    }
}

FIXTURE(NULL, sender_rig_fini)

/* What leaves until the next thing is due; how many datagrams, and of them hellos. */
static uint32_t datagrams, hellos;

static void take_all(void)
{
    while (sender_take(rig.s, rig.now, &rig.burst)) {
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        datagrams += rig.burst.datagrams;
        hellos += rig.burst.is_control;
        sender_on_closed_port(rig.s, rig.now); /* each is refused, by the peer's host or a liar */
    }
}

/* The next thing is due; what had come is with the sender then. */
static void step(void)
{
    sender_rig_wait();
    take_all();
    (void)sender_on_listened(rig.s);
}

/* The peer is gone: with a message under way, or only waited for; with keys, or without. */
static const struct row {
    bool has_keys, stays, has_message;
} rows[] = {{false, false, true},
            {false, true, true},
            {true, true, true},
            {false, true, false},
            {true, true, false}};

TEST(gone__nobody_answers, .rows = sizeof(rows) / sizeof(rows[0]))
{
    const struct row *row = &rows[_i];
    struct event event;

    start(row->has_keys, row->stays);
    instant heard = rig.now;
    if (row->has_message)
        sender_rig_submit(10);
    if (row->has_message && !row->has_keys)
        sender_rig_request(1, 1, 10);
    take_all();
    (void)sender_on_listened(rig.s);
    bool is_over = false;
    while (!is_over && rig.now - heard < 10 * SECOND) {
        step();
        is_over = row->has_message ? sender_event(rig.s, &event) : sender_link(rig.s) == LINK_ENDED;
    }
    ck_assert(is_over);
    ck_assert_int_eq(row->has_message ? event.outcome : sender_ended(rig.s), OUTCOME_SILENT);
    ck_assert_int_ge(rig.now - heard, GONE);
    ck_assert_int_lt(rig.now - heard, GONE + 4 * SECOND); /* an idle one has to notice first */
    if (row->has_message && !row->has_keys)               /* units are refused at once */
        ck_assert_int_lt(rig.now - heard, GONE + SECOND);
}

/* Nothing is refused: it is the silence limit that ends it. */
TEST(gone__silence_without_a_word)
{
    start(false, false);
    sender_rig_submit(10);
    sender_rig_request(1, 1, 10);
    instant heard = rig.now;
    struct event event;
    while (!sender_event(rig.s, &event)) {
        sender_rig_wait();
        while (sender_take(rig.s, rig.now, &rig.burst))
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
        (void)sender_on_listened(rig.s);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
    ck_assert_int_eq(rig.now, heard + 10 * SECOND);
}

/* Refused once, and then nothing more: that is not enough. Nor is it where the user sets no limit.
 */
TEST(gone__said_once, .rows = 2)
{
    start(false, false);
    if (_i == 1) {
        struct sender_config config = sender_rig_config(); /* gone: 0 */
        free(rig.s);
        sender_rig_init(&config);
        sender_rig_submit(10);
        sender_rig_pair(1, 10);
    } else {
        sender_rig_submit(10);
        sender_rig_request(1, 1, 10);
    }
    instant heard = rig.now;
    struct event event;
    sender_on_closed_port(rig.s, rig.now);
    while (!sender_event(rig.s, &event)) {
        sender_rig_wait();
        bool any = false;
        while (sender_take(rig.s, rig.now, &rig.burst)) {
            sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
            any = true;
        }
        if (any && _i == 1)
            sender_on_closed_port(rig.s, rig.now);
        (void)sender_on_listened(rig.s);
    }
    ck_assert_int_eq(event.outcome, OUTCOME_SILENT);
    ck_assert_int_eq(rig.now, heard + 10 * SECOND);
}

/* One answer begins it anew, whenever it comes: also the last of them just before the end. */
TEST(gone__an_answer_at_any_time, .rows = 24)
{
    start(false, true);
    for (int turn = 0; turn < 10; turn++) {
        instant heard = rig.now;
        sender_on_closed_port(rig.s, rig.now);
        while (rig.now < heard + _i * EVERY)
            step();
        ck_assert_int_eq(sender_link(rig.s), LINK_UP);
        sender_rig_ack("");
    }
}

/* An hour of refusals, a hundred a second, beside a peer that is idle and answers what it is asked
 * after a round trip: nothing ends, and no more than five questions a second leave. */
TEST(gone__forged_beside_an_idle_peer, .rows = 2)
{
    enum { MINUTES = 60 };
    start(_i == 1, true);
    instant end = rig.now + MINUTES * 60 * SECOND, answer_at = NEVER;
    datagrams = hellos = 0;
    for (instant lie_at = rig.now; rig.now < end;) {
        instant next = instant_earlier(answer_at, sender_deadline(rig.s));
        rig.now = instant_later(rig.now, instant_earlier(lie_at, next));
        if (rig.now >= answer_at) {
            answer_at = NEVER;
            if (_i == 0)
                sender_rig_ack("");
            else {
                uint8_t bytes[CONTROL_BYTES];
                struct block_ack ack = {.pairing = rig.pairing, .capacity = 1000, .bounds = bytes};
                sender_receive_near(rig.s, rig.now, bytes,
                                    block_ack_encode(bytes, sizeof bytes, &ack));
            }
        }
        sender_expire(rig.s, rig.now);
        uint32_t before = hellos;
        take_all();
        if (hellos > before && answer_at == NEVER)
            answer_at = rig.now + 150 * MILLISECOND;
        (void)sender_on_listened(rig.s);
        if (rig.now >= lie_at) {
            sender_on_closed_port(rig.s, rig.now);
            lie_at = rig.now + 10 * MILLISECOND;
        }
    }
    ck_assert_int_eq(sender_link(rig.s), LINK_UP);
    ck_assert_uint_le(hellos, 5 * 60 * MINUTES + 10);
}

/* Beside a peer that acknowledges units no question leaves at all. */
TEST(gone__forged_beside_a_busy_peer)
{
    start(false, false);
    datagrams = hellos = 0;
    for (uint32_t i = 1; i < 60; i++) {
        char bounds[32];
        sender_rig_submit(10);
        sender_rig_request(i, 1, 10);
        take_all();
        (void)sender_on_listened(rig.s);
        rig.now += 10 * MILLISECOND;
        sender_expire(rig.s, rig.now);
        snprintf(bounds, sizeof bounds, "%u %u", i, i + 1);
        sender_rig_ack(bounds);
        sender_rig_expect_event(OUTCOME_OK, 10);
    }
    ck_assert_uint_eq(hellos, 0);
    ck_assert_uint_eq(datagrams, 59);
}
