/* The ring of notes: both sides in one process, and words that nobody should have written. */
#include "transport/shm/ring.h"

#include "../../support/random.h"
#include "../../support/suite.h"
#include "core/receiver/landing.h"
#include "core/wire/burst.h"

#include <string.h>

enum { UNIT_BYTES = 1000, STEPS = 100000 };

static struct ring ring;
static struct ring_writer writer;
static struct ring_record records[RING_FAR];
static struct ring_reader reader;

static void setup(void)
{
    memset(&ring, 0, sizeof(ring));
    ring_writer_init(&writer, &ring, records);
    ring_reader_init(&reader, &ring);
}

FIXTURE(setup, NULL)

/* A note whose address is its owner. */
static bool offer(uint64_t owner)
{
    const struct ring_note note = {.where = owner, .bytes = UNIT_BYTES};
    const struct ring_record record = {.owner = owner};
    return ring_offer(&writer, &note, NULL, &record);
}

static struct ring_slot *slot(uint64_t number)
{
    return &ring.slot[RING_NOTES - 1 - number % RING_NOTES];
}

static void expect_reaped(uint64_t owner, bool has_faulted)
{
    struct ring_reaped reaped;

    ck_assert(ring_reap(&writer, &reaped));
    ck_assert_uint_eq(reaped.owner, owner);
    ck_assert_int_eq(reaped.has_faulted, has_faulted);
}

static void expect_nothing_to_reap(void)
{
    struct ring_reaped reaped;
    ck_assert(!ring_reap(&writer, &reaped));
}

/* The next note, which is this owner's. */
static void expect_next(uint64_t owner)
{
    struct ring_note note;

    ck_assert(ring_look(&reader, 0, &note));
    ck_assert_uint_eq(note.where, owner);
}

static void expect_no_next(void)
{
    struct ring_note note;
    ck_assert(!ring_look(&reader, 0, &note));
}

/* ---- offering and reading ---- */

TEST(ring_offer__a_note_is_read)
{
    const struct ring_note offered = {
        .where = UINT64_MAX - 7, .bytes = 5000, .segment = 1250, .has_trailer = true};
    uint8_t trailer[TRAILER_BYTES];
    struct ring_note note;

    memset(trailer, 0xA5, sizeof(trailer));
    const struct ring_record record = {.owner = 77};
    ck_assert(!ring_offer(&writer, &offered, trailer, &record));
    ck_assert(ring_look(&reader, 0, &note));
    ck_assert_uint_eq(note.where, offered.where);
    ck_assert_uint_eq(note.bytes, offered.bytes);
    ck_assert_uint_eq(note.segment, offered.segment);
    ck_assert(note.has_trailer);
    ck_assert_mem_eq(ring_trailer(&reader, 0), trailer, TRAILER_BYTES);
    expect_nothing_to_reap();
    ck_assert(ring_finish(&reader, RING_DONE));
    expect_reaped(77, false);
    expect_nothing_to_reap();
}

TEST(ring_look__ahead)
{
    struct ring_note note;

    for (uint64_t i = 0; i < 3; i++)
        (void)offer(100 + i);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert(ring_look(&reader, i, &note));
        ck_assert_uint_eq(note.where, 100 + i);
    }
    ck_assert(!ring_look(&reader, 3, &note));
    ck_assert(!ring_look(&reader, RING_NOTES, &note)); /* which is the first one again */
}

TEST(ring_finish__faulted)
{
    (void)offer(1);
    ck_assert(ring_finish(&reader, RING_FAULTED));
    expect_reaped(1, true);
}

/* ---- pinning ---- */

TEST(ring_pin__is_not_reaped)
{
    (void)offer(7);
    ck_assert(ring_pin(&writer, 0));
    ck_assert(ring_finish(&reader, RING_DONE));
    expect_nothing_to_reap();
    ck_assert_uint_eq(ring_unpin(&writer, 0), 7);
    expect_reaped(7, false);
}

/* It does not count any more, and its owner gets it back when it is unpinned. */
TEST(ring_pin__is_revoked)
{
    struct ring_revoked of;

    (void)offer(7);
    (void)offer(7);
    ck_assert(ring_pin(&writer, 0));
    ck_assert(ring_revoke(&writer, 7, &of)); /* the second */
    ck_assert(!ring_revoke(&writer, 7, &of));
    expect_no_next();
    ck_assert_uint_eq(ring_unpin(&writer, 0), 7);
    ck_assert(ring_revoke(&writer, 7, &of));
    ck_assert_uint_eq(of.owner, 7);
    ck_assert(!ring_revoke(&writer, 7, &of));
}

TEST(ring_pin__what_there_is)
{
    struct ring_revoked of;

    ck_assert(!ring_pin(&writer, 0));
    (void)offer(RING_NOBODY);
    (void)offer(1);
    (void)offer(2);
    ck_assert(!ring_pin(&writer, 0));
    ck_assert(!ring_pin(&writer, 3));
    ck_assert(ring_revoke(&writer, 1, &of));
    ck_assert(!ring_pin(&writer, 1));
    ck_assert(ring_finish(&reader, RING_DONE));
    expect_reaped(RING_NOBODY, false);
    ck_assert(!ring_pin(&writer, 0));
    ck_assert(ring_pin(&writer, 2));
}

TEST(ring_offer__full)
{
    for (uint64_t i = 0; i < RING_NOTES; i++) {
        ck_assert(ring_has_room(&writer));
        (void)offer(i);
    }
    ck_assert(!ring_has_room(&writer));
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(!ring_has_room(&writer)); /* not before it is reaped */
    expect_reaped(0, false);
    ck_assert(ring_has_room(&writer));
}

TEST(ring_offer__full_is_a_mistake, .signal = SIGABRT)
{
    for (uint64_t i = 0; i <= RING_NOTES; i++)
        (void)offer(i);
}

TEST(ring__goes_round)
{
    uint64_t offered = 0, read = 0, reaped = 0;

    while (reaped < 5 * RING_NOTES + 3) {
        for (int i = 0; i < 100 && ring_has_room(&writer); i++)
            (void)offer(offered++);
        for (int i = 0; i < 70 && read < offered; i++) {
            expect_next(read++);
            ck_assert(ring_finish(&reader, RING_DONE));
        }
        for (int i = 0; i < 60 && reaped < read; i++)
            expect_reaped(reaped++, false);
    }
}

/* ---- revoking ---- */

TEST(ring_revoke__before_it_is_read)
{
    struct ring_revoked of;

    (void)offer(1);
    (void)offer(2);
    ck_assert(ring_revoke(&writer, 1, &of));
    ck_assert_uint_eq(of.owner, 1);
    ck_assert(!ring_revoke(&writer, 1, &of));
    expect_no_next();
    expect_nothing_to_reap(); /* its slot is the reader's until it has passed */
    ck_assert(ring_skip(&reader));
    expect_next(2);
    expect_reaped(RING_NOBODY, false);
    expect_nothing_to_reap();
}

TEST(ring_revoke__while_it_is_copied)
{
    struct ring_revoked of;

    (void)offer(1);
    expect_next(1);
    ck_assert(ring_revoke(&writer, 1, &of));
    ck_assert(!ring_finish(&reader, RING_DONE)); /* what was copied does not count */
    expect_reaped(RING_NOBODY, false);
}

TEST(ring_revoke__while_it_faults)
{
    struct ring_revoked of;

    (void)offer(1);
    expect_next(1);
    ck_assert(ring_revoke(&writer, 1, &of));
    ck_assert(!ring_finish(&reader, RING_FAULTED));
    expect_reaped(RING_NOBODY, false);
}

TEST(ring_revoke__after_it_was_copied)
{
    struct ring_revoked of;

    (void)offer(1);
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(ring_revoke(&writer, 1, &of)); /* it has no owner any more, and has counted */
    ck_assert_uint_eq(of.owner, 1);
    expect_reaped(RING_NOBODY, false);
    ck_assert(!ring_revoke(&writer, 1, &of));
}

TEST(ring_revoke__of_any_and_of_nobody)
{
    struct ring_revoked of;

    (void)offer(5);
    (void)offer(RING_NOBODY);
    (void)offer(6);
    ck_assert(!ring_revoke(&writer, 4, &of));
    ck_assert(ring_revoke(&writer, RING_ANY, &of));
    ck_assert_uint_eq(of.owner, 5);
    ck_assert(ring_revoke(&writer, RING_ANY, &of));
    ck_assert_uint_eq(of.owner, 6);
    ck_assert(!ring_revoke(&writer, RING_ANY, &of));
    ck_assert(ring_skip(&reader));
    expect_next(RING_NOBODY); /* this one counts as before */
}

TEST(ring_find_owner__in_order)
{
    uint32_t ahead = 0;
    uint64_t owner;
    struct ring_revoked revoked;

    ck_assert(!ring_find_owner(&writer, &ahead, &owner));
    offer(7);
    offer(RING_NOBODY);
    offer(8);
    offer(7);
    ck_assert(ring_revoke(&writer, 7, &revoked));
    ck_assert(ring_find_owner(&writer, &ahead, &owner));
    ck_assert_uint_eq(owner, 8);
    ck_assert_uint_eq(ahead, 3);
    ck_assert(ring_find_owner(&writer, &ahead, &owner));
    ck_assert_uint_eq(owner, 7);
    ck_assert(!ring_find_owner(&writer, &ahead, &owner));
    ck_assert_uint_eq(ahead, 4);
}

TEST(ring_skip__a_ring_of_revoked_notes)
{
    struct ring_revoked of;
    uint64_t revoked = 0;

    for (uint64_t i = 0; i < RING_NOTES; i++)
        (void)offer(9);
    while (ring_revoke(&writer, 9, &of))
        revoked++;
    ck_assert_uint_eq(revoked, RING_NOTES);
    ck_assert(!ring_skip(&reader));
    for (uint64_t i = 0; i < RING_NOTES; i++)
        expect_reaped(RING_NOBODY, false);
    expect_nothing_to_reap();
}

/* ---- sleeping ---- */

TEST(ring_say_asleep__the_writer_wakes_once)
{
    ck_assert(!offer(1));
    ck_assert(!ring_say_asleep(&reader)); /* there is something */
    ck_assert_uint_eq(ring.is_asleep, 0);
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(ring_say_asleep(&reader));
    ck_assert(offer(2));
    ck_assert(!offer(3));
}

TEST(ring_say_asleep__awake_again)
{
    ck_assert(ring_say_asleep(&reader));
    ring_say_awake(&reader);
    ck_assert(!offer(1));
}

TEST(ring_say_asleep__something_to_pass)
{
    struct ring_revoked of;

    (void)offer(1);
    (void)ring_revoke(&writer, 1, &of);
    ck_assert(ring_say_asleep(&reader));
    expect_reaped(RING_NOBODY, false); /* the writer waits for its slot */
}

TEST(ring_say_asleep__something_behind_what_is_passed)
{
    struct ring_revoked of;

    (void)offer(1);
    (void)offer(2);
    (void)ring_revoke(&writer, 1, &of);
    ck_assert(!ring_say_asleep(&reader));
    expect_next(2);
}

/* A note that makes no sense does no more harm than one that was revoked. */
TEST(ring_say_asleep__in_front_of_nonsense)
{
    (void)offer(1);
    atomic_store(&slot(0)->bytes, UINT32_MAX);
    ck_assert(!ring_skip(&reader));
    (void)offer(2);
    atomic_store(&slot(1)->place, RING_PLACES);
    ck_assert(ring_say_asleep(&reader));
}

/* Not even by a writer that never ends. */
TEST(ring_say_asleep__nothing_but_nonsense)
{
    for (uint64_t i = 0; i < RING_NOTES; i++) {
        atomic_store(&ring.slot[i].state, RING_OFFERED);
        atomic_store(&ring.slot[i].bytes, 0);
    }
    ck_assert(ring_say_asleep(&reader));
}

/* ---- nonsense ---- */

static const struct {
    uint32_t bytes, segment, has_trailer;
    bool makes_sense;
} nonsense[] = {
    {1, 0, 0, true},
    {0, 0, 0, false},
    {LANDING_DATAGRAM - 1, 0, 0, true},
    {LANDING_DATAGRAM, 0, 0, false},
    {UINT32_MAX, 0, 0, false},
    {1000, 1000, 0, true},
    {1000, 1001, 0, false},
    {1000, UINT32_MAX, 0, false},
    {TRAILER_BYTES, 0, 1, true},
    {TRAILER_BYTES - 1, 0, 1, false},
    {TRAILER_BYTES, 0, UINT32_MAX, true},
    {TRAILER_BYTES - 1, 0, UINT32_MAX, false},
    {10 * BURST_UNITS, 10, 0, true},
    {10 * BURST_UNITS + 1, 10, 0, false},
    {LANDING_DATAGRAM - 1, 1, 0, false},
};

TEST(ring_look__nonsense_is_passed, .rows = ROWS(nonsense))
{
    struct ring_note note;

    (void)offer(1);
    (void)offer(2);
    slot(0)->bytes = nonsense[_i].bytes;
    slot(0)->segment = nonsense[_i].segment;
    slot(0)->has_trailer = nonsense[_i].has_trailer;
    ck_assert_int_eq(ring_look(&reader, 0, &note), nonsense[_i].makes_sense);
    ring_skip(&reader);
    expect_next(nonsense[_i].makes_sense ? 1 : 2);
    if (!nonsense[_i].makes_sense)
        expect_reaped(1, false);
}

/* A reader that leaves a state which is none: the writer counts the note as read. */
TEST(ring_reap__a_state_that_is_none)
{
    (void)offer(1);
    (void)offer(2);
    slot(0)->state = RING_EMPTY;
    slot(1)->state = 4711;
    expect_reaped(1, false);
    expect_reaped(2, false);
    expect_nothing_to_reap();
}

/* The writer knows how many notes it has offered, whatever the slots say. */
TEST(ring_reap__not_more_than_were_offered)
{
    for (uint64_t i = 0; i < RING_NOTES; i++)
        slot(i)->state = RING_DONE;
    expect_nothing_to_reap();
    (void)offer(1);
    slot(0)->state = RING_DONE;
    expect_reaped(1, false);
    expect_nothing_to_reap();
}

TEST(ring_has_room__is_private)
{
    for (uint64_t i = 0; i < RING_NOTES; i++)
        (void)offer(i);
    for (uint64_t i = 0; i < RING_NOTES; i++)
        slot(i)->state = RING_EMPTY;
    ck_assert(!ring_has_room(&writer));
}

/* ---- whole messages ---- */

static const struct ring_whole a_whole = {.message = 1ULL << 40, .at = 64, .bytes = 100};

static void offer_whole(const struct ring_whole *whole, uint64_t owner)
{
    bool wakes;

    ck_assert(ring_offer_whole(&writer, whole, owner, 0, &wakes));
}

static void expect_whole(const struct ring_whole *expected)
{
    struct ring_whole whole;

    ck_assert(ring_look_whole(&reader, 0, &whole));
    ck_assert_uint_eq(whole.message, expected->message);
    ck_assert_uint_eq(whole.at, expected->at);
    ck_assert_uint_eq(whole.bytes, expected->bytes);
}

TEST(ring_whole__is_never_pinned)
{
    offer_whole(&a_whole, 1);
    ck_assert(!ring_pin(&writer, 0));
}

/* Each has its place between notes of units, and neither is taken for the other. */
TEST(ring_whole__in_its_place)
{
    struct ring_whole whole;
    struct ring_note note;

    (void)offer(1);
    offer_whole(&a_whole, 2);
    (void)offer(3);
    ck_assert(!ring_look_whole(&reader, 0, &whole));
    expect_next(1);
    ck_assert(!ring_look(&reader, 1, &note));
    ck_assert(ring_finish(&reader, RING_DONE));
    expect_no_next();
    expect_whole(&a_whole);
    ck_assert(ring_skip(&reader));
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(!ring_look_whole(&reader, 0, &whole));
    expect_next(3);
}

TEST(ring_whole__is_reaped)
{
    static const struct {
        enum ring_state how;
        bool has_faulted;
    } rows[] = {{RING_DONE, false}, {RING_FAULTED, true}};
    struct ring_reaped reaped;

    for (int i = 0; i < ROWS(rows); i++) {
        offer_whole(&a_whole, 7);
        ck_assert_uint_eq(writer.wholes, 1);
        ck_assert(!ring_has_whole_to_reap(&writer));
        ck_assert(ring_finish(&reader, rows[i].how));
        ck_assert(ring_has_whole_to_reap(&writer));
        ck_assert(ring_reap(&writer, &reaped));
        ck_assert(reaped.is_whole);
        ck_assert_uint_eq(reaped.owner, 7);
        ck_assert_int_eq(reaped.has_faulted, rows[i].has_faulted);
        ck_assert_uint_eq(writer.wholes, 0);
        ck_assert(!ring_has_whole_to_reap(&writer));
    }
    (void)offer(1);
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(!ring_has_whole_to_reap(&writer)); /* a unit is none */
}

/* Several in one go, round and round, with one that is not reaped so in between. */
TEST(ring_reap_wholes__in_order)
{
    struct ring_reaped reaped;

    for (uint64_t owner = 0; owner < 5 * RING_NOTES;) {
        uint64_t end = owner + 100;
        for (uint64_t i = owner; i < end; i++) {
            bool wakes;
            ck_assert(ring_offer_whole(&writer, &a_whole, i, 10 * i, &wakes));
            ck_assert(ring_finish(&reader, RING_DONE));
        }
        offer_whole(&a_whole, end);
        for (uint32_t count, most = 64; owner < end; owner += count) {
            count = ring_reap_wholes(&writer, most, &reaped);
            ck_assert_uint_ge(count, 1);
            ck_assert_uint_le(count, most);
            ck_assert_uint_eq(reaped.owner, owner);
            ck_assert_uint_eq(reaped.staged, 10 * (owner + count - 1));
        }
        ck_assert_uint_eq(writer.wholes, 1);
        ck_assert_uint_eq(ring_reap_wholes(&writer, 64, &reaped), 0);
        ck_assert(ring_finish(&reader, RING_FAULTED));
        ck_assert_uint_eq(ring_reap_wholes(&writer, 64, &reaped), 0);
        expect_reaped(owner++, true);
    }
}

/* Nobody acknowledges that unit, so nothing else brings a sender that sleeps to look behind it. */
TEST(ring_whole__behind_a_revoked_unit)
{
    struct ring_revoked of;

    (void)offer(1);
    offer_whole(&a_whole, 2);
    ck_assert(ring_revoke(&writer, 1, &of));
    ck_assert(!ring_has_whole_to_reap(&writer));
    ck_assert(ring_skip(&reader));
    expect_whole(&a_whole);
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(ring_has_whole_to_reap(&writer));
}

/* The oldest note is pinned, so nothing is reaped. What the reader has taken has an end. */
TEST(ring_take_arrived__behind_a_pinned_unit)
{
    struct ring_reaped reaped;
    uint64_t owner;

    ck_assert(!ring_take_arrived(&writer, &owner));
    (void)offer(1);
    for (uint64_t i = 2; i < 6; i++)
        offer_whole(&a_whole, i);
    ck_assert(ring_pin(&writer, 0));
    ck_assert(!ring_take_arrived(&writer, &owner));
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(ring_finish(&reader, RING_FAULTED)); /* declined: it comes back when it is reaped */
    ck_assert(ring_finish(&reader, RING_DONE));
    for (uint64_t i = 2; i < 6; i += 2) {
        ck_assert(ring_take_arrived(&writer, &owner));
        ck_assert_uint_eq(owner, i);
    }
    ck_assert(!ring_take_arrived(&writer, &owner));
    expect_nothing_to_reap();
    ck_assert_uint_eq(ring_unpin(&writer, 0), 1);
    expect_reaped(1, false);
    ck_assert_uint_eq(ring_reap_wholes(&writer, 64, &reaped), 0);
    expect_reaped(RING_NOBODY, false); /* it is not told twice */
    expect_reaped(3, true);
    expect_reaped(RING_NOBODY, false);
    expect_nothing_to_reap();
    ck_assert_uint_eq(writer.wholes, 1);
}

/* Whoever revokes one knows whether it has arrived. */
TEST(ring_whole__is_revoked)
{
    struct ring_revoked of;

    offer_whole(&a_whole, 1); /* not read */
    offer_whole(&a_whole, 2);
    offer_whole(&a_whole, 3);
    ck_assert(ring_revoke(&writer, 1, &of));
    ck_assert(of.is_whole && !of.has_arrived);
    ck_assert(!ring_finish(&reader, RING_DONE)); /* the reader had copied it already */
    ck_assert(ring_finish(&reader, RING_DONE));
    ck_assert(ring_finish(&reader, RING_FAULTED));
    ck_assert(ring_revoke(&writer, 2, &of));
    ck_assert(of.is_whole && of.has_arrived);
    ck_assert(ring_revoke(&writer, 3, &of)); /* declined */
    ck_assert(of.is_whole && !of.has_arrived);
    ck_assert(!ring_revoke(&writer, RING_ANY, &of));
}

TEST(ring_revoke__of_any_whole)
{
    struct ring_revoked of;

    (void)offer(1);
    offer_whole(&a_whole, 2);
    (void)offer(3);
    offer_whole(&a_whole, 4);
    ck_assert(ring_revoke(&writer, RING_ANY_WHOLE, &of));
    ck_assert_uint_eq(of.owner, 2);
    ck_assert(ring_revoke(&writer, RING_ANY_WHOLE, &of));
    ck_assert_uint_eq(of.owner, 4);
    ck_assert(!ring_revoke(&writer, RING_ANY_WHOLE, &of));
    ck_assert(ring_revoke(&writer, RING_ANY, &of));
    ck_assert_uint_eq(of.owner, 1);
}

TEST(ring_whole__that_is_too_large)
{
    const struct ring_whole large = {.bytes = RING_WHOLE_MOST + 1},
                            largest = {.bytes = RING_WHOLE_MOST};
    struct ring_whole whole;

    offer_whole(&large, 1);
    offer_whole(&largest, 2);
    ck_assert(!ring_look_whole(&reader, 0, &whole));
    ck_assert(ring_skip(&reader));
    expect_whole(&largest);
}

/* A reader that is about to sleep sees it. */
TEST(ring_say_asleep__before_a_whole_message)
{
    ck_assert(ring_say_asleep(&reader));
    offer_whole(&a_whole, 1);
    ck_assert(!ring_say_asleep(&reader));
}

/* A writer that offers nonsense wherever the reader looks: each call ends. */
TEST(ring_skip__ends)
{
    for (uint64_t i = 0; i < RING_NOTES; i++)
        slot(i)->state = i % 2 ? RING_OFFERED : RING_REVOKED;
    ring_skip(&reader);
    ck_assert_uint_eq(reader.tail, RING_NOTES);
    for (uint64_t i = 0; i < RING_NOTES; i++)
        slot(i)->state = RING_OFFERED;
    ring_skip(&reader);
    ck_assert_uint_eq(reader.tail, 2 * RING_NOTES);
}

static uint32_t any_word(uint64_t *random)
{
    static const uint32_t edges[] = {0, 1, 31, 32, LANDING_DATAGRAM - 1, LANDING_DATAGRAM};

    if (random_chance(random, 60))
        return (uint32_t)random_below(random, 6); /* a state, mostly */
    return random_chance(random, 50) ? edges[random_below(random, 6)]
                                     : (uint32_t)random_next(random);
}

static void scribble(uint64_t *random)
{
    struct ring_slot *at = slot(random_next(random));

    switch (random_below(random, 6)) {
    case 0:
        at->bytes = any_word(random);
        break;
    case 1:
        at->segment = any_word(random);
        break;
    case 2:
        at->has_trailer = any_word(random);
        break;
    case 3:
        ring.is_asleep = any_word(random);
        break;
    default:
        at->state = any_word(random);
        break;
    }
}

static void read_something(uint64_t *random)
{
    uint32_t ahead = (uint32_t)random_below(random, RING_NOTES + 2);
    struct ring_note note;

    ring_skip(&reader);
    if (ring_look(&reader, ahead, &note)) {
        ck_assert_uint_lt(note.bytes, LANDING_DATAGRAM);
        ck_assert_uint_ge(note.bytes, note.has_trailer ? TRAILER_BYTES : 1);
        ck_assert_uint_le(note.segment, note.bytes);
    }
    ck_assert_uint_le((size_t)(ring_trailer(&reader, ahead) - (uint8_t *)&ring) + TRAILER_BYTES,
                      sizeof(ring));
    if (ring_look(&reader, 0, &note))
        (void)ring_finish(&reader, random_chance(random, 90) ? RING_DONE : RING_FAULTED);
    if (random_chance(random, 10) && ring_say_asleep(&reader))
        ring_say_awake(&reader);
}

/* Each side keeps its own account: owners come back in order, none of them twice, none made up. */
TEST(ring__scribbled_at_random, .is_random = true)
{
    static bool is_revoked[STEPS];
    uint64_t random = suite_seed(_i), offered = 0, reaped_count = 0;
    struct ring_revoked of;
    struct ring_reaped reaped;

    memset(is_revoked, 0, sizeof(is_revoked));
    for (int step = 0; step < STEPS; step++) {
        scribble(&random);
        read_something(&random);
        if (random_chance(&random, 60) && ring_has_room(&writer))
            (void)offer(offered++);
        if (random_chance(&random, 10) && ring_revoke(&writer, RING_ANY, &of)) {
            ck_assert_uint_lt(of.owner, offered);
            ck_assert(!is_revoked[of.owner]);
            is_revoked[of.owner] = true;
        }
        if (!ring_reap(&writer, &reaped))
            continue;
        ck_assert_uint_eq(reaped.owner, is_revoked[reaped_count] ? RING_NOBODY : reaped_count);
        ck_assert_uint_le(++reaped_count, offered);
        ck_assert_uint_le(offered - reaped_count, RING_NOTES);
    }
    ck_assert_uint_gt(reaped_count, RING_NOTES);
}
