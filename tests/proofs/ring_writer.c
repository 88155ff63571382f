/* The writer of a ring of notes (ring.h), whose reader is hostile: each look at a word of the ring
 * finds any value. Whatever the reader says, the writer keeps I1 and its count of whole messages,
 * reaps each note once and in order, and none that is pinned. Its own words before the call are any
 * that keep I1, so this holds for any number of calls.
 *
 * bound: any words at any look; a ring of 2 notes, any of them whole, pinned, or nobody's
 * sources: transport/shm/ring.c
 * smaller: transport/shm/ring.h RING_NOTES 2
 * smaller: transport/shm/ring.h RING_NEAR 1
 * unwind: 4
 */
#include "proof.h"

#include "transport/shm/ring.h"

static struct ring_writer w;
static struct ring_record far[RING_FAR];

static struct ring_record *record_of(uint64_t number)
{
    uint64_t i = number % RING_NOTES;

    return i < RING_NEAR ? &w.near[i] : &far[i - RING_NEAR];
}

/* I1, and what `wholes` is. */
static bool holds(void)
{
    uint32_t wholes = 0;

    if (w.reaped > w.head || w.head - w.reaped > RING_NOTES)
        return false;
    for (uint32_t i = 0; i < RING_NOTES; i++)
        wholes += i < w.head - w.reaped && record_of(w.reaped + i)->is_whole;
    return wholes == w.wholes;
}

static struct ring_record any_record(void)
{
    return (struct ring_record){.owner = nondet_u64(),
                                .staged = nondet_u64(),
                                .is_whole = nondet_bool(),
                                .is_pinned = nondet_bool()};
}

/* Some of the oldest notes were reaped: `count` of them, and the last one's staging buffer. */
static void show_reaped(uint64_t first, uint64_t head, uint32_t count, uint64_t staged)
{
    SHOW(w.reaped == first + count && w.head == head);
    SHOW(count == 0 || staged == record_of(first + count - 1)->staged);
    for (uint32_t i = 0; i < count; i++)
        SHOW(!record_of(first + i)->is_pinned);
}

static void show_reap(uint64_t first, uint64_t head)
{
    struct ring_reaped reaped;
    bool is_reaped = ring_reap(&w, &reaped);

    show_reaped(first, head, is_reaped, reaped.staged);
    if (is_reaped) {
        SHOW(reaped.owner == record_of(first)->owner);
        SHOW(reaped.is_whole == record_of(first)->is_whole);
    }
}

static void show_reap_wholes(uint64_t first, uint64_t head)
{
    struct ring_reaped reaped;
    uint32_t most = nondet_u32();
    uint32_t count = ring_reap_wholes(&w, most, &reaped);

    SHOW(count <= most);
    show_reaped(first, head, count, reaped.staged);
    for (uint32_t i = 0; i < count; i++) {
        SHOW(record_of(first + i)->is_whole);
        SHOW(record_of(first + i)->owner == reaped.owner + i);
        SHOW(record_of(first + i)->owner != RING_NOBODY);
    }
}

/* Each note is revoked at most once, and whose memory is being read is not given back. */
static void show_revoke(void)
{
    uint64_t owner = nondet_u64(), number = nondet_u64();
    struct ring_revoked revoked;

    ASSUME(owner != RING_NOBODY); /* no message has that number */
    ASSUME(number >= w.reaped && number < w.head);
    const struct ring_record before = *record_of(number);
    bool is_revoked = ring_revoke(&w, owner, &revoked);
    const struct ring_record *after = record_of(number);
    SHOW(!is_revoked || revoked.owner != RING_NOBODY);
    SHOW(after->owner == before.owner || (after->owner == RING_NOBODY && !before.is_pinned));
    SHOW(after->owner == before.owner || (is_revoked && revoked.owner == before.owner));
    SHOW(after->is_whole == before.is_whole && after->is_pinned == before.is_pinned);
    SHOW(!is_revoked || !revoked.has_arrived || revoked.is_whole);
}

/* What is pinned was offered, and is somebody's. Any number may be asked for: the other end names
 * it (push_slots.h). */
static void show_pin(void)
{
    uint64_t number = nondet_u64();
    const struct ring_record *pinned = ring_pin(&w, number);

    if (pinned == NULL)
        return;
    SHOW(number >= w.reaped && number < w.head);
    SHOW(pinned == record_of(number) && pinned->is_pinned && pinned->owner != RING_NOBODY);
    SHOW(ring_unpin(&w, number) == pinned->owner && !pinned->is_pinned);
}

int main(void)
{
    static struct ring ring;
    const uint8_t trailer[TRAILER_BYTES];
    struct ring_note note = {.has_trailer = nondet_bool()};

    proof_hostile = &ring;
    ring_writer_init(&w, &ring, far);
    for (uint32_t i = 0; i < RING_NOTES; i++)
        *record_of(i) = any_record();
    w.head = nondet_u64();
    w.reaped = nondet_u64();
    w.wholes = any_below(RING_NOTES + 1);
    ASSUME(w.head < UINT64_C(1) << 62 && holds()); /* a note takes a nanosecond at least */
    const uint64_t first = w.reaped, head = w.head;

    switch (nondet_u8()) {
    case 0: {
        struct ring_record record = any_record();
        ASSUME(ring_has_room(&w) && !record.is_whole); /* callers look first */
        (void)ring_offer(&w, &note, trailer, &record);
        SHOW(w.head == head + 1 && w.reaped == first);
        break;
    }
    case 1:
        show_reap(first, head);
        break;
    case 2:
        show_reap_wholes(first, head);
        break;
    case 3:
        show_revoke();
        break;
    case 4:
        show_pin();
        break;
    case 5: {
        const struct ring_whole whole = {.bytes = nondet_u32()};
        bool had_room = ring_has_room(&w), wakes;
        SHOW(ring_offer_whole(&w, &whole, nondet_u64(), 0, &wakes) == had_room);
        SHOW(w.head == head + had_room && w.reaped == first);
        break;
    }
    default:
        (void)ring_has_whole_to_reap(&w);
    }
    SHOW(holds());
    REACHED();
}
