/* The staging buffer of a sender over shared memory (I1 of ends.h): where a burst or a whole
 * message is copied to, it fits in one piece, and no byte is in use. And what is copied together
 * fits a note.
 *
 * bound: any places of the buffer, of any session's length; bursts of up to 3 units
 * sources: core/wire/datagram.c
 * smaller: core/wire/burst.h BURST_UNITS 4
 * flags: --drop-unused-functions
 * unwind: 6
 * stage: quick
 */
#include "proof.h"

#include "transport/shm/send.c"

static void show_place(void)
{
    struct staging s;
    uint32_t bytes = any_below(LANDING_DATAGRAM), at;
    uint64_t head;

    ASSUME(s.tail <= s.head && s.head - s.tail <= SHM_STAGING);
    ASSUME(s.head < UINT64_C(1) << 62); /* a byte a nanosecond: 146 years */
    if (!staging_place(&s, bytes, &at, &head))
        return;
    SHOW(head >= s.head + bytes && head - s.tail <= SHM_STAGING);
    /* In one piece; and as less than the whole buffer is in use, beside all of that. */
    SHOW(at + bytes <= SHM_STAGING && at == (head - bytes) % SHM_STAGING);
}

/* A whole message begins a line, if what is in use ended with one. */
static void show_whole(void)
{
    uint32_t size = any_below(SHM_WHOLE + 1);

    SHOW(whole_room(size) >= size && whole_room(size) % STAGED_LINE == 0);
    SHOW(whole_room(size) < size + STAGED_LINE);
}

/* Units of one size but for the last, none larger than a datagram can be (burst.h, I2). */
static void show_note(uint32_t datagrams, uint32_t first)
{
    static struct burst b;
    struct ring_note note;

    b.datagrams = datagrams;
    b.segment = any_below(LANDING_DATAGRAM);
    ASSUME(b.segment >= TRAILER_BYTES);
    for (uint32_t i = 0; i < b.datagrams; i++) {
        b.iov[2 * i].iov_len = b.segment - TRAILER_BYTES;
        b.iov[2 * i + 1].iov_len = TRAILER_BYTES;
    }
    b.iov[2 * b.datagrams - 2].iov_len = any_below(b.segment - TRAILER_BYTES + 1);
    uint32_t units = units_of_note(&b, first, &note);
    SHOW(units >= 1 && first + units <= b.datagrams);
    SHOW(note.bytes >= TRAILER_BYTES && note.bytes < LANDING_DATAGRAM);
    SHOW(note.segment <= note.bytes && note.place == RING_STAGING && !note.has_trailer);
}

int main(void)
{
    show_place();
    show_whole();
    for (uint32_t datagrams = 1; datagrams <= 3; datagrams++)
        for (uint32_t first = 0; first < datagrams; first++)
            show_note(datagrams, first);
    REACHED();
}
