/* Messages that cross shared memory as a whole, and the buffers that the receiver shows for them.
 */
#include "../../support/shm_pair.h"
#include "../../support/suite.h"
#include "platform/system.h"
#include "transport/transport.h"

enum { MESSAGE = 42, UNITS = 6, UNIT = 16384 };

static struct shm_pair n;
static uint8_t from[UNITS * UNIT], to[UNITS * UNIT];

static void setup(void)
{
    ck_assert(shm_pair_open(&n));
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 2654435761u >> 24);
}

static void teardown(void)
{
    shm_pair_close(&n);
}

FIXTURE(setup, teardown)

static void meet(void)
{
    ck_assert(shm_pair_meet(&n));
}

static bool put_whole(uint64_t in_session, uint64_t owner, const void *bytes, size_t size)
{
    bool wakes;
    return shm_put_whole(n.sender, in_session, owner, (struct iovec){(void *)bytes, size}, &wakes);
}

static void expect_whole(uint64_t in_session, const void *bytes, uint32_t size)
{
    struct whole_arrived whole;

    ck_assert(shm_whole(n.receiver, 0, &whole));
    ck_assert_uint_eq(whole.in_session, in_session);
    ck_assert_uint_eq(whole.size, size);
    ck_assert_mem_eq(whole.bytes, bytes, size);
}

static void expect_released(uint64_t message, bool has_arrived)
{
    struct released released;

    ck_assert(shm_reap(n.sender, &released));
    ck_assert_uint_eq(released.message, message);
    ck_assert(released.is_whole);
    ck_assert_int_eq(released.has_arrived, has_arrived);
    ck_assert(!released.has_faulted);
}

/* Those behind the next can be seen, too, up to one that is none. */
TEST(shm_whole__ahead)
{
    struct whole_arrived whole;

    meet();
    ck_assert(put_whole(5, MESSAGE, from, 100));
    ck_assert(put_whole(6, MESSAGE + 1, from, 50));
    ck_assert(shm_whole(n.receiver, 1, &whole));
    ck_assert_uint_eq(whole.in_session, 6);
    ck_assert_uint_eq(whole.size, 50);
    ck_assert(!shm_whole(n.receiver, 2, &whole));
    ck_assert(shm_end_whole(n.receiver, true));
    expect_whole(6, from, 50);
    ck_assert(!shm_whole(n.receiver, 1, &whole));
    ck_assert(!shm_whole(n.receiver, RING_NOTES, &whole));
}

/* There is room as long as it says so. */
TEST(shm_whole__room)
{
    uint32_t count = 0;

    meet();
    ck_assert(shm_has_whole_room(n.sender, RING_NOTES, RING_NOTES));
    ck_assert(!shm_has_whole_room(n.sender, RING_NOTES + 1, RING_NOTES + 1));
    ck_assert(!shm_has_whole_room(n.sender, 16, SHM_STAGING));
    for (; shm_has_whole_room(n.sender, 1, SHM_WHOLE); count++)
        ck_assert(put_whole(count, MESSAGE + count, from, SHM_WHOLE));
    ck_assert_uint_ge(count, RING_NOTES - 8);
}

TEST(shm_whole__crosses)
{
    struct whole_arrived whole;

    meet();
    ck_assert(!shm_whole(n.receiver, 0, &whole));
    ck_assert(put_whole(5, MESSAGE, from, 100));
    ck_assert(put_whole(6, MESSAGE + 1, NULL, 0));
    ck_assert(put_whole(7, MESSAGE + 2, from + 100, SHM_WHOLE));
    memset(from, 0xFF, 100); /* it was copied */
    ck_assert(!shm_find_units(n.receiver));
    ck_assert(shm_whole(n.receiver, 0, &whole));
    ck_assert_uint_eq(whole.bytes[1], (uint8_t)(2654435761u >> 24));
    ck_assert(shm_end_whole(n.receiver, true));
    expect_whole(6, "", 0);
    ck_assert(shm_end_whole(n.receiver, false));
    expect_whole(7, from + 100, SHM_WHOLE);
    ck_assert(shm_end_whole(n.receiver, true));
    ck_assert(shm_has_wholes(n.sender));
    expect_released(MESSAGE, true);
    expect_released(MESSAGE + 1, false);
    expect_released(MESSAGE + 2, true);
    ck_assert(!shm_reap(n.sender, &(struct released){0}));
    ck_assert(!shm_has_wholes(n.sender));
}

static void send_units(void)
{
    uint32_t sent;
    bool held, wakes;

    shm_pair_fill(&n.burst, MESSAGE, from, UNITS, UNIT);
    ck_assert_int_eq(shm_send(n.sender, &n.burst, &sent, &held, &wakes), CHANNEL_OK);
    ck_assert_uint_eq(sent, UNITS);
}

static int receive_units(void)
{
    shm_pair_plan(&n.landing, to, UNITS, 1, UNIT);
    return shm_receive(n.receiver, &n.landing);
}

/* Its place is between the units. */
TEST(shm_whole__between_units)
{
    meet();
    send_units();
    ck_assert(put_whole(5, MESSAGE + 1, from, 10));
    send_units();
    ck_assert_int_eq(receive_units(), UNITS);
    ck_assert_int_eq(receive_units(), 0);
    ck_assert_uint_eq(shm_notes(n.receiver, 8).count, 0);
    expect_whole(5, from, 10);
    ck_assert(shm_end_whole(n.receiver, true));
    ck_assert_int_eq(receive_units(), UNITS);
}

/* The sender's process has ended: its memory is gone, and what both map is still there. */
TEST(shm_whole__behind_units_that_cannot_be_read)
{
    struct released released;

    meet();
    send_units();
    ck_assert(put_whole(5, MESSAGE + 1, from, 10));
    n.receiver->peer.pid = 0x3FFFFFFF; /* beyond any process */
    for (int i = 0; i < UNITS; i++) {
        ck_assert_int_eq(receive_units(), 1);
        ck_assert_uint_eq(n.landing.bytes[0], 0);
    }
    ck_assert_int_eq(receive_units(), 0);
    ck_assert_int_eq(shm_look(n.receiver), SHM_HERE);
    expect_whole(5, from, 10);
    ck_assert(shm_end_whole(n.receiver, true));
    ck_assert_int_eq(receive_units(), 0);
    ck_assert_int_eq(shm_look(n.receiver), SHM_AWAY);
    for (int i = 0; i < UNITS; i++) {
        ck_assert(shm_reap(n.sender, &released));
        ck_assert(released.has_faulted);
    }
    expect_released(MESSAGE + 1, true);
}

TEST(shm_put_whole__goes_round)
{
    uint32_t count = 0;

    meet();
    for (int round = 0; round < 5; round++) {
        uint32_t there = 0;
        while (put_whole(count + there, MESSAGE, from + (count + there) % 50, 4000))
            there++;
        ck_assert_uint_ge(there, RING_NOTES - 1);
        for (; there > 0; there--, count++) {
            expect_whole(count, from + count % 50, 4000);
            ck_assert(shm_end_whole(n.receiver, true));
            expect_released(MESSAGE, true);
        }
    }
}

TEST(shm_take_back__a_whole_message)
{
    struct released released;

    meet();
    ck_assert(put_whole(1, MESSAGE, from, 10));
    ck_assert(put_whole(2, MESSAGE + 1, from, 10));
    ck_assert(shm_take_back(n.sender, MESSAGE, &released));
    ck_assert(released.is_whole && !released.has_arrived);
    expect_whole(2, from, 10); /* that one is passed */
    ck_assert(shm_end_whole(n.receiver, true));
    ck_assert(shm_take_back(n.sender, SHM_ANY_WHOLE, &released));
    ck_assert_uint_eq(released.message, MESSAGE + 1);
    ck_assert(released.is_whole && released.has_arrived);
    ck_assert(!shm_take_back(n.sender, SHM_ANY, &released));
    ck_assert(!shm_reap(n.sender, &released));
}

/* A sender that is about to sleep sees that one has arrived; one that sleeps is woken. */
TEST(shm_must_tell__a_sender_that_sleeps)
{
    meet();
    ck_assert(put_whole(1, MESSAGE, from, 10));
    ck_assert(shm_say_asleep(n.sender));
    expect_whole(1, from, 10);
    ck_assert(shm_end_whole(n.receiver, true));
    ck_assert(shm_must_tell(n.receiver));
    ck_assert(!shm_must_tell(n.receiver));
    ck_assert(shm_has_whole_to_reap(n.sender));
    ck_assert(!shm_say_asleep(n.sender));
    ck_assert(!shm_must_tell(n.receiver));
    expect_released(MESSAGE, true);
    ck_assert(shm_say_asleep(n.sender));
}

/* A sender for which nobody waits is not woken, until somebody does. */
TEST(shm_say_idle__a_sender_that_nobody_waits_for)
{
    uint64_t owner;

    meet();
    for (uint64_t i = 1; i <= 3; i++)
        ck_assert(put_whole(i, MESSAGE + i, from, 10));
    ck_assert(shm_say_idle(n.sender));
    expect_whole(1, from, 10);
    ck_assert(shm_end_whole(n.receiver, true));
    ck_assert(!shm_must_tell(n.receiver));
    shm_say_awaited(n.sender);
    ck_assert_uint_eq(shm_reap_wholes(n.sender, 64, &owner), 1);
    ck_assert_uint_eq(owner, MESSAGE + 1);
    for (uint64_t i = 2; i <= 3; i++) {
        expect_whole(i, from, 10);
        ck_assert(shm_end_whole(n.receiver, true));
    }
    ck_assert(shm_must_tell(n.receiver));
    ck_assert_uint_eq(shm_reap_wholes(n.sender, 1, &owner), 1);
    ck_assert_uint_eq(shm_reap_wholes(n.sender, 64, &owner), 1);
    ck_assert_uint_eq(owner, MESSAGE + 3);
    ck_assert_uint_eq(shm_reap_wholes(n.sender, 64, &owner), 0);
}

/* One that was declined or taken back, and a unit, are reaped each for itself. */
TEST(shm_reap_wholes__only_those_that_have_arrived)
{
    struct released released;
    uint64_t owner;

    meet();
    for (uint64_t i = 1; i <= 3; i++) {
        ck_assert(put_whole(i, MESSAGE + i, from, 10));
        expect_whole(i, from, 10);
        ck_assert(shm_end_whole(n.receiver, i != 2));
    }
    ck_assert_uint_eq(shm_reap_wholes(n.sender, 64, &owner), 1);
    ck_assert_uint_eq(shm_reap_wholes(n.sender, 64, &owner), 0);
    expect_released(MESSAGE + 2, false);
    ck_assert(shm_reap(n.sender, &released));
    ck_assert_uint_eq(released.message, MESSAGE + 3);
}

/* A receiver that reads nothing gets no more. */
TEST(shm_put_whole__to_one_that_stands_still)
{
    meet();
    ck_assert(put_whole(1, MESSAGE, from, 10));
    ck_assert(!shm_stands_still(n.sender));
    n.sender->out->still_since -= SECOND;
    ck_assert(!put_whole(2, MESSAGE, from, 10));
    expect_whole(1, from, 10);
    ck_assert(shm_end_whole(n.receiver, true));
    expect_released(MESSAGE, true);
    ck_assert(put_whole(2, MESSAGE, from, 10));
}

/* A sender that names bytes beyond the staging buffer is passed over. */
TEST(shm_whole__elsewhere)
{
    static const struct ring_whole rows[] = {
        {.message = 1, .at = SHM_STAGING, .bytes = 1},
        {.message = 2, .at = SHM_STAGING - 10, .bytes = 11},
        {.message = 3, .at = UINT32_MAX, .bytes = 1},
        {.message = 4, .at = UINT32_MAX, .bytes = SHM_WHOLE},
        {.message = 5, .at = 0, .bytes = SHM_WHOLE + 1},
    };
    struct whole_arrived whole;
    bool wakes;

    meet();
    for (int i = 0; i < ROWS(rows); i++) {
        ck_assert(ring_offer_whole(&n.sender->out->ring, &rows[i], MESSAGE, 0, &wakes));
    }
    ck_assert(!shm_whole(n.receiver, 0, &whole));
    ck_assert(!shm_has_notes(n.receiver));
    const struct ring_whole last = {.message = 6, .at = SHM_STAGING - 10, .bytes = 10};
    ck_assert(ring_offer_whole(&n.sender->out->ring, &last, MESSAGE, 0, &wakes));
    ck_assert(shm_whole(n.receiver, 0, &whole));
    ck_assert_uint_eq(whole.in_session, 6);
}

/* Between the fault that ends it and the moment in which its owner sees that, whatever is asked of
 * an end that is away is answered as if there were no memory. */
TEST(shm__away_does_nothing)
{
    uint8_t buffer[CONTROL_BYTES];
    struct whole_arrived whole;
    uint64_t size;
    bool wakes;

    meet();
    ck_assert(put_whole(1, MESSAGE, from, 10));
    atomic_store(&n.sender->state, SHM_AWAY);
    atomic_store(&n.receiver->state, SHM_AWAY);
    for (int i = 0; i < 2; i++) {
        struct shm *end = i == 0 ? n.sender : n.receiver;
        ck_assert(shm_has_moved(end)); /* so its owner looks */
        ck_assert(shm_say_asleep(end));
        ck_assert(!shm_has_lost_peer(end));
        shm_say_awake(end);
    }
    ck_assert(shm_say_idle(n.sender));
    shm_say_awaited(n.sender);
    ck_assert(!shm_has_whole_room(n.sender, 1, 10));
    ck_assert(!put_whole(2, MESSAGE, from, 10));
    ck_assert(!shm_has_whole_to_reap(n.sender));
    ck_assert(!shm_find_credit(n.sender, 1, &size));
    shm_want_credit(n.sender);
    ck_assert(!shm_has_control(n.sender));
    ck_assert_uint_eq(shm_control(n.sender, buffer), 0);
    ck_assert(!shm_claim(n.sender));
    ck_assert(!shm_has_notes(n.receiver));
    ck_assert(!shm_whole(n.receiver, 0, &whole));
    ck_assert(!shm_must_tell(n.receiver));
    ck_assert(!shm_show_credit(n.receiver, 1, 10));
    burst_set_control(&n.burst, TRAILER_BYTES);
    ck_assert(!shm_reply(n.receiver, &n.burst, &wakes));
}

/* A sender whose receiver offers no push slots knows no nonce of the receiver's, so it cannot tell
 * that the receiver has ended. */
TEST(shm_has_lost_peer__only_one_that_was_seen)
{
    meet();
    n.sender->peer.nonce_at = (uintptr_t)n.receiver->nonce; /* as if it had been shown push slots */
    memcpy(n.sender->peer.nonce, n.receiver->nonce, sizeof(n.receiver->nonce));
    ck_assert(!shm_has_lost_peer(n.sender));
    ck_assert(!shm_has_lost_peer(n.receiver));
    n.sender->nonce[0] ^= 1;
    n.receiver->nonce[0] ^= 1;
    ck_assert(shm_has_lost_peer(n.sender));
    ck_assert(shm_has_lost_peer(n.receiver));
    n.sender->peer = (struct peer_process){.pid = n.sender->peer.pid};
    ck_assert(!shm_has_lost_peer(n.sender));
}

/* A half to which nothing has come yet is still: whoever polls it reads no socket for that. */
TEST(transport_is_still__while_the_way_drains)
{
    meet();
    struct transport t = {
        .in = &n.in, .out = &n.in, .is_possible = true, .way = WAY_DRAINING, .shm = n.receiver};
    ck_assert(transport_is_still(&t));
    ck_assert(!transport_find_news(&t));
    ck_assert(put_whole(5, MESSAGE, from, 10));
    ck_assert(!transport_is_still(&t));
    ck_assert(transport_find_news(&t));
}

/* A sender that sends one before any unit, which it must not: the receiver comes to read it all the
 * same, and sleeps behind it. */
TEST(transport_receive__a_whole_message_is_first)
{
    struct transport_turn turn;
    struct whole_arrived whole;
    uint32_t openings = 1, units = 1;

    meet();
    struct transport t = {.in = &n.in,
                          .out = &n.in,
                          .is_possible = true,
                          .way = WAY_DRAINING,
                          .watch_at = NEVER,
                          .ended_at = NEVER,
                          .shm = n.receiver};
    ck_assert(put_whole(5, MESSAGE, from, 10));
    ck_assert(!transport_begin_receive(&t, &turn, &openings, &units));
    shm_pair_plan(&n.landing, to, 1, 1, UNIT);
    int received = transport_receive(&t, &turn, &n.landing, HEAR_ALL);
    ck_assert_int_eq(received, 0);
    (void)transport_end_receive(&t, &turn, 1, received);
    ck_assert_int_eq(t.way, WAY_MEMORY);
    ck_assert(transport_whole(&t, 0, &whole));
    ck_assert(transport_end_whole(&t, false));
    ck_assert(transport_say_asleep(&t));
}

/* ---- a peer that has died ---- */

static void reply(void)
{
    bool wakes;

    memset(n.burst.control, 0x5A, TRAILER_BYTES);
    datagram_tail_encode(n.burst.control + TRAILER_BYTES - TAIL_BYTES, shm_pair_terms.pairing, 0,
                         DATAGRAM_REQUEST);
    burst_set_control(&n.burst, TRAILER_BYTES);
    ck_assert(shm_reply(n.receiver, &n.burst, &wakes));
}

/* What it left, or what is still to be found out of it. */
TEST(transport_has_unread__of_either_half)
{
    uint8_t buffer[CONTROL_BYTES];

    meet();
    struct transport in = {.way = WAY_MEMORY, .shm = n.receiver};
    struct transport out = {.is_sender = true, .way = WAY_MEMORY, .shm = n.sender};
    ck_assert(!transport_has_unread(&in) && !transport_has_unread(&out));
    ck_assert(put_whole(5, MESSAGE, from, 10));
    ck_assert(transport_has_unread(&in) && !transport_has_unread(&out));
    expect_whole(5, from, 10);
    ck_assert(shm_end_whole(n.receiver, true));
    ck_assert(!transport_has_unread(&in) && !transport_has_unread(&out)); /* it is to be reaped */
    reply();
    ck_assert(!transport_has_unread(&in) && transport_has_unread(&out));
    out.way = WAY_LEAVING; /* what is there does not count any more */
    ck_assert(!transport_has_unread(&out));
    out.way = WAY_MEMORY;
    ck_assert_uint_eq(transport_answer(&out, buffer), TRAILER_BYTES);
    ck_assert(!transport_has_unread(&out));
    out.is_pushing = in.is_late = true;
    ck_assert(transport_has_unread(&in) && transport_has_unread(&out));
}

/* The end can be put off, but only once it is due, and not for good. */
TEST(transport_put_off_peer_end__when_it_is_due)
{
    struct transport t = {.ended_at = NEVER, .meeting.is_watched = true};
    instant now = clock_now();
    uint32_t times = 0;

    ck_assert(!transport_put_off_peer_end(&t, now));
    transport_on_peer_ended(&t);
    ck_assert(!transport_put_off_peer_end(&t, now));
    ck_assert(!transport_take_peer_end(&t, now));
    for (now = t.ended_at; transport_put_off_peer_end(&t, now); now = t.ended_at, times++)
        ck_assert(!transport_take_peer_end(&t, now));
    ck_assert_int_eq(times * (50 * MILLISECOND), 10 * SECOND);
    ck_assert(transport_take_peer_end(&t, now));
    ck_assert(!transport_take_peer_end(&t, now));
    transport_on_peer_ended(&t); /* of the next session */
    ck_assert(transport_put_off_peer_end(&t, t.ended_at));
}

/* ---- credit ---- */

TEST(shm_show_credit__tells_a_sender_that_sleeps_and_wants_it)
{
    uint64_t size;

    meet();
    ck_assert(!shm_find_credit(n.sender, 3, &size));
    shm_say_awake(n.sender);
    ck_assert(!shm_show_credit(n.receiver, 3, 100));
    ck_assert(shm_find_credit(n.sender, 3, &size));
    ck_assert_uint_eq(size, 100);
    shm_want_credit(n.sender);
    ck_assert(!shm_show_credit(n.receiver, 4, 100)); /* it is awake */
    ck_assert(shm_say_asleep(n.sender));
    ck_assert(shm_show_credit(n.receiver, 5, 100));
    ck_assert(!shm_show_credit(n.receiver, 6, 100)); /* once */
}
