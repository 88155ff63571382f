/* The reader of a ring of notes (ring.h), whose writer is hostile: each look at a word of the ring
 * finds any value. What the reader believes of a note was checked, it stays in the ring, and no
 * writer keeps it there.
 *
 * bound: any words at any look; a ring of 2 notes
 * sources: transport/shm/ring.c
 * smaller: transport/shm/ring.h RING_NOTES 2
 * smaller: transport/shm/ring.h RING_NEAR 1
 * unwind: 4
 * stage: quick
 */
#include "proof.h"

#include "core/receiver/landing.h"
#include "transport/shm/ring.h"

static struct ring_reader r;

static void show_look(void)
{
    uint32_t ahead = nondet_u32();
    struct ring_note note;
    struct ring_whole whole;

    if (ring_look(&r, ahead, &note)) {
        SHOW(ahead < RING_NOTES);
        SHOW(note.bytes > 0 && note.bytes < LANDING_DATAGRAM);
        SHOW(!note.has_trailer || note.bytes >= TRAILER_BYTES);
        SHOW(note.segment <= note.bytes);
        SHOW(note.place == RING_MEMORY || note.place == RING_ARENA || note.place == RING_STAGING);
        SHOW(__CPROVER_r_ok(ring_trailer(&r, ahead), TRAILER_BYTES));
    }
    if (ring_look_whole(&r, ahead, &whole))
        SHOW(ahead < RING_NOTES && whole.bytes <= RING_WHOLE_MOST);
}

int main(void)
{
    static struct ring ring;
    struct ring any;
    uint64_t tail = nondet_u64();
    struct ring_note note;

    ring = any;
    proof_hostile = &ring;
    ASSUME(tail < UINT64_C(1) << 62); /* a note takes a nanosecond at least: 146 years */
    r = (struct ring_reader){.ring = &ring, .tail = tail};

    switch (nondet_u8()) {
    case 0:
        show_look();
        SHOW(r.tail == tail);
        break;
    case 1:
        (void)ring_finish(&r, nondet_bool() ? RING_DONE : RING_FAULTED);
        SHOW(r.tail == tail + 1);
        break;
    case 2:
        (void)ring_skip(&r);
        SHOW(r.tail - tail <= RING_NOTES);
        break;
    case 3:
        (void)ring_say_asleep(&r);
        SHOW(r.tail - tail <= RING_NOTES);
        break;
    default:
        (void)ring_has_any(&r);
        ring_say_awake(&r);
    }
    /* A writer that is silent between two looks shows what it has offered. */
    proof_hostile = NULL;
    if (ring_skip(&r)) {
        struct ring_whole whole;
        SHOW(ring_look(&r, 0, &note) || ring_look_whole(&r, 0, &whole));
        SHOW(ring_finish(&r, RING_DONE));
        REACHED();
    }
}
