#include "core/sender/recovery.h"

#include "../../support/secret.h"
#include "../../support/suite.h"
#include "../../support/tables.h"

enum { MESSAGES = 8, UNITS = 16, REPEATS = 32, WATCHED = 64, DATA = 64, DELAY = MILLISECOND };

static struct message_out ring[MESSAGES];
static uint64_t posted[MESSAGES * MESSAGES_OUT_AHEAD];
static struct transit_unit transit[UNITS];
static uint64_t left_out[LEFT_OUT_KEPT];
static struct fragment to_send[REPEATS];
static struct unit_given_up given_up[WATCHED];
static struct messages_out messages;
static struct secret secret;
static struct recovery r;
static const struct rtt rtt = {.latest = DELAY, .smoothed = DELAY, .has_sample = true};

static void setup(void)
{
    const struct recovery_arrays arrays = {.in_transit = TABLE_OF(transit),
                                           .left_out = TABLE_OF(left_out),
                                           .to_send = to_send,
                                           .given_up = given_up,
                                           .repeats = REPEATS,
                                           .watched = WATCHED};
    secret = secret_of_seed(1);
    messages_out_init(&messages, TABLE_OF(ring), TABLE_OF(posted), 0);
    recovery_init(&r, &arrays, &messages, 0, 0, &secret);
    recovery_begin(&r);
}

static void teardown(void)
{
    recovery_check(&r);
}

/* A message whose buffer is known, of so many units. */
static struct message_out *add(uint32_t units)
{
    static const uint8_t buffer[1];
    messages_out_announce(&messages, messages.next, (uint64_t)units * DATA);
    return messages_out_add(&messages, NULL, buffer, (uint64_t)units * DATA);
}

/* Sends up to `units` of at most `most` bytes, as far as there is something to send, and returns
 * how many. */
static uint32_t send_cut(instant now, uint32_t units, uint32_t most)
{
    struct fragment head;
    uint32_t sent = 0;
    while (sent < units && recovery_head(&r, most, &head) && recovery_room(&r, &head) > 0) {
        recovery_put(&r, now, &head, 1, false);
        sent++;
    }
    recovery_check(&r);
    return sent;
}

static uint32_t send(instant now, uint32_t units)
{
    return send_cut(now, units, DATA);
}

/* The units [first, last) have arrived; returns how many of them were in transit. */
static uint32_t acknowledge(uint64_t first, uint64_t last)
{
    struct interval arrived = {.first = first, .last = last};
    struct transit_row row;
    uint32_t units = 0;
    while (recovery_acknowledge(&r, &arrived, &row))
        units += row.units;
    recovery_end_ack(&r, last - 1, first);
    recovery_check(&r);
    return units;
}

/* Numbers of what is given up now, as a set. */
static uint32_t lose(instant now)
{
    struct recovery_pass pass = recovery_begin_pass(&r, &rtt);
    struct lost_unit lost;
    uint32_t set = 0;
    while (recovery_lose(&r, now, &pass, &lost)) {
        ck_assert_uint_eq(lost.data, DATA);
        set |= 1U << lost.seq;
    }
    recovery_check(&r);
    return set;
}

FIXTURE(setup, teardown)

TEST(put__acknowledge__ends_the_message)
{
    struct message_out *message = add(4);
    ck_assert_uint_eq(send(0, 9), 4);
    ck_assert_uint_eq(acknowledge(0, 3), 3);
    ck_assert_int_eq(message->state, MESSAGE_OUT_LIVE);
    ck_assert_uint_eq(acknowledge(0, 4), 1);
    ck_assert_int_eq(message->state, MESSAGE_OUT_ENDED);
}

TEST(room__of_the_ring)
{
    struct fragment head;
    add(UNITS + 4);
    ck_assert_uint_eq(send(0, 99), UNITS);
    ck_assert(recovery_head(&r, DATA, &head));
    ck_assert_uint_eq(recovery_room(&r, &head), 0);
    acknowledge(0, 3);
    ck_assert_uint_eq(recovery_room(&r, &head), 3);
}

TEST(lose__overtaken_by_three)
{
    add(8);
    send(0, 8);
    acknowledge(4, 5);
    ck_assert_uint_eq(lose(0), 1U << 0 | 1U << 1);
    ck_assert_int_eq(r.loss_at, rtt_loss_delay(&rtt)); /* of the two others */
    ck_assert_uint_eq(lose(r.loss_at), 1U << 2 | 1U << 3);
    ck_assert_int_eq(r.loss_at, NEVER);
    ck_assert_uint_eq(r.to_send.count, 4);
}

TEST(late__widens_and_cancels_the_repeat)
{
    struct interval arrived = {.first = 0, .last = 1};
    struct transit_row row;
    uint64_t seq = 0;
    struct message_out *message = add(8);
    send(0, 8);
    acknowledge(4, 8);
    ck_assert_uint_eq(lose(0), 1U << 0 | 1U << 1 | 1U << 2 | 1U << 3);
    ck_assert_uint_eq(send(0, 1), 1); /* what repeats number 0 */
    const struct unit_given_up *late = recovery_late(&r, &rtt, 0, 7, &arrived);
    ck_assert_ptr_nonnull(late);
    ck_assert_uint_eq(late->seq, 0);
    ck_assert_ptr_null(recovery_late(&r, &rtt, 0, 7, &arrived));
    ck_assert_uint_eq(r.tolerance.units, 8);
    ck_assert(recovery_begin_cancelling(&r, false));
    ck_assert(recovery_cancel_in_transit(&r, &seq, &row));
    ck_assert_uint_eq(row.units, 1);
    ck_assert(!recovery_cancel_in_transit(&r, &seq, &row));
    ck_assert_uint_eq(recovery_cancel_waiting(&r), 0);
    ck_assert(!recovery_begin_cancelling(&r, false));
    ck_assert_uint_eq(message->units_out, 3);
}

TEST(cancel_waiting__what_was_not_sent_again_yet)
{
    struct interval arrived = {.first = 0, .last = 2};
    add(8);
    send(0, 8);
    acknowledge(4, 8);
    lose(0);
    while (recovery_late(&r, &rtt, 0, 7, &arrived) != NULL)
        continue;
    ck_assert(recovery_begin_cancelling(&r, false));
    ck_assert_uint_eq(recovery_cancel_waiting(&r), 2 * DATA);
    ck_assert_uint_eq(r.to_send.count, 2);
}

TEST(repeat__the_oldest)
{
    uint64_t seq = 0;
    uint32_t data;
    add(2);
    send(0, 2);
    ck_assert(recovery_repeat(&r, &seq, &data));
    ck_assert_uint_eq(data, DATA);
    ck_assert(recovery_repeat(&r, &seq, &data));
    ck_assert(!recovery_repeat(&r, &seq, &data));
    ck_assert_uint_eq(r.in_transit.units, 0);
    ck_assert_uint_eq(r.given_up.count, 2);
}

/* A peer makes units smaller, and lets each be lost: what is cut is joined again, or waits. No two
 * units that follow on each other in the message do so in the queue. */
TEST(parts__do_not_fill_the_queue)
{
    static const uint8_t buffer[1];
    uint64_t size = (uint64_t)UNITS * 4 * DATA;
    uint32_t data;
    messages_out_announce(&messages, 0, size);
    messages_out_add(&messages, NULL, buffer, size);
    ck_assert_uint_eq(send_cut(0, UNITS, 4 * DATA), UNITS);
    for (uint64_t seq = 0; seq < UNITS; seq++) /* each other one; the loop below, the rest */
        ck_assert(recovery_repeat(&r, &seq, &data));
    for (uint32_t max = 4 * DATA; max >= GRAIN; max /= 2)
        for (uint32_t i = 0; i < 2 * UNITS; i++) {
            uint64_t seq = r.in_transit.base;
            while (recovery_repeat(&r, &seq, &data))
                continue;
            ck_assert_uint_eq(r.to_send.count, UNITS);
            ck_assert_uint_gt(send_cut(0, 2, max), 0);
        }
    while (r.to_send.count + r.in_transit.units > 0) {
        acknowledge(r.in_transit.base, r.in_transit.next);
        send_cut(0, UNITS, GRAIN);
    }
    ck_assert_ptr_null(messages_out_find_for(&messages, 0, false));
}

/* Where the table is full, a unit that is given up joins the repeat that it leads to, and its own
 * transmissions are forgotten. The peer tells of all from 1 on; it may have the first unit, which
 * left as 0, and, since 17 brought the second, the whole message. */
TEST(end_missing__of_what_has_joined_a_repeat)
{
    struct message_out *message = add(2), *last;
    uint64_t seq = 1;
    uint32_t data;
    add(13);
    last = add(1);
    ck_assert_uint_eq(send(0, 99), UNITS);
    ck_assert(recovery_repeat(&r, &seq, &data)); /* number 1 */
    units_to_send_refuse(&r.to_send, last, VOID_CANCELLED, OUTCOME_CANCELLED);
    seq = 0;
    ck_assert(recovery_repeat(&r, &seq, &data)); /* number 0, which finds no place */
    ck_assert_uint_eq(r.to_send.count, 2);
    ck_assert_uint_eq(units_to_send_at(&r.to_send, 0)->length, 2 * DATA);
    acknowledge(2, 15);
    ck_assert_uint_eq(send(0, 2), 2); /* as 16 and 17 */
    ck_assert_uint_eq(acknowledge(17, 18), 1);
    ck_assert(recovery_end_missing(&r, 1, OUTCOME_CUT_OFF));
    ck_assert_int_eq(message->state, MESSAGE_OUT_LIVE);
}

/* Two repeats become one, and leave as two again, 16 and 17, and both seem to repeat number 0. But
 * the first unit arrives as 16, and the second one has arrived as 1: the peer has the message. */
TEST(end_missing__of_what_was_joined)
{
    struct message_out *message = add(2);
    struct interval late = {.first = 1, .last = 2};
    uint64_t seq = 0;
    uint32_t data;
    add(14);
    ck_assert_uint_eq(send(0, 99), UNITS);
    acknowledge(2, 16);
    ck_assert(recovery_repeat(&r, &seq, &data));
    ck_assert(recovery_repeat(&r, &seq, &data));
    recovery_join(&r);
    ck_assert_uint_eq(r.to_send.count, 1);
    ck_assert_uint_eq(send(0, 2), 2);
    ck_assert_uint_eq(acknowledge(16, 17), 1);
    ck_assert_ptr_nonnull(recovery_late(&r, &rtt, 0, 16, &late));
    ck_assert(recovery_end_missing(&r, 0, OUTCOME_CUT_OFF));
    ck_assert_int_eq(message->state, MESSAGE_OUT_LIVE);
}

TEST(put_back__is_no_loss)
{
    add(4);
    send(0, 4);
    recovery_put_back(&r, 2, 4);
    ck_assert_uint_eq(r.to_send.count, 2);
    ck_assert_uint_eq(r.given_up.count, 0);
    ck_assert_uint_eq(send(0, 9), 2);
}

TEST(leave_out__is_never_acknowledged)
{
    add(1);
    ck_assert(!recovery_leave_out(&r, &secret, 100));
    left_out_on_sent(&r.left_out, UINT32_MAX);
    ck_assert(recovery_leave_out(&r, &secret, 100));
    send(0, 1);
    ck_assert(recovery_has_left_out(&r, (struct interval){.first = 0, .last = 2}));
    ck_assert(!recovery_has_left_out(&r, (struct interval){.first = 1, .last = 2}));
}

TEST(forget__leaves_nothing)
{
    add(6);
    send(0, 6);
    acknowledge(4, 5);
    lose(0);
    messages_out_end_all(&messages, OUTCOME_SILENT);
    recovery_forget(&r);
    ck_assert_uint_eq(r.in_transit.units, 0);
    ck_assert_uint_eq(r.to_send.count, 0);
    ck_assert_uint_eq(r.given_up.count, 0);
    ck_assert_int_eq(r.loss_at, NEVER);
}

TEST(check__fires, .rows = 3, .signal = 6)
{
    add(2);
    send(0, 2);
    if (_i == 0)
        messages_out_find(&messages, 0)->units_out++;
    else if (_i == 1)
        r.in_transit.units++;
    else
        r.newest = r.in_transit.next + 1;
    recovery_check(&r);
}
