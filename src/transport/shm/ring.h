/* A ring of notes in memory that two processes share: the writer says where bytes lie in its own
 * memory, the reader copies them and says so. No byte of a message is in the ring.
 *
 *     writer   EMPTY --offer--> OFFERED                    DONE, FAULTED --reap--> EMPTY
 *                                  |--revoke--> REVOKED        ^
 *     reader                       \-- next, copies, finish --/ <-- finish (of a REVOKED one)
 *
 * A note is revoked at any time, also while the reader copies. So `finish` tells the reader whether
 * what it has copied counts: the writer's memory was unchanged until then. Neither waits for the
 * other.
 *
 * Each side believes nothing that the other may write. It keeps its place in the ring to itself,
 * reads each word of a note once, and checks it. A wrong word harms its writer: the reader gets
 * other bytes of the writer's memory, or none, and the writer counts a note as read.
 *
 * A reader that is about to sleep says so, and looks at the ring once more. A writer that offers
 * looks whether the reader sleeps afterwards. So one of them sees the other, and the writer wakes
 * it. tests/model/ring.pml has these rules; link.pml has the sleeping threads.
 *
 * A note may also be of a message as a whole, whose bytes lie in the staging buffer. It has no
 * datagram, so nothing but its slot says what became of it: DONE, FAULTED (the reader declines it),
 * or REVOKED. One exchange decides.
 *
 * A note is pinned while the writer's own process reads the memory that it is of (push_slots.h).
 * Then it is not reaped. A note that is revoked keeps its owner, and the owner gets it back once it
 * is unpinned.
 *
 * I1  writer: reaped <= head <= reaped + RING_NOTES; the notes between are not EMPTY.
 * I2  reader: every note before `tail` is EMPTY, DONE, FAULTED, or offered anew. */
#ifndef ZCRP_TRANSPORT_SHM_RING_H
#define ZCRP_TRANSPORT_SHM_RING_H

#include "core/wire/datagram.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

enum { RING_NOTES = 256 };

enum ring_state { RING_EMPTY, RING_OFFERED, RING_REVOKED, RING_DONE, RING_FAULTED };

/* In the shared memory; the other side may write anything there at any time. `state` hands over the
 * rest of the slot, which is relaxed or plain, and the bytes that the note is of:
 *
 *     OFFERED         released by an offer, acquired by a look: note and bytes are there
 *     DONE, FAULTED   released by ring_finish, acquired by ring_reap and ring_revoke: the reader
 *                     has copied before the slot, the staging buffer and the user's memory change
 *     REVOKED         by an exchange, like DONE: so one of the two comes first
 *     EMPTY           relaxed: only the writer looks for it
 *
 * An offer, and the reader's look behind saying that it sleeps, are seq_cst. ring_finish, and the
 * writer's look at its oldest whole message, are seq_cst for is_asleep of the control ring. */
struct ring_slot {
    _Alignas(64) _Atomic uint32_t state; /* enum ring_state */
    _Atomic uint32_t bytes;
    _Atomic uint32_t segment;
    _Atomic uint32_t has_trailer;
    _Atomic uint32_t place;
    _Atomic uint64_t where;
    uint8_t trailer[TRAILER_BYTES];
};

/* The first notes have the last slots, beside what lies behind them (page.h). */
struct ring {
    struct ring_slot slot[RING_NOTES];
    _Alignas(64) _Atomic uint32_t is_asleep; /* the reader: it wants to be woken. seq_cst: said
                                                before its last look at a state, looked at by the
                                                writer behind an offer. Awake may be seen late:
                                                that wakes once in vain */
};

/* Where the bytes lie that a note is of. */
enum ring_place {
    RING_MEMORY,  /* anywhere in the writer's memory: at an address there */
    RING_ARENA,   /* in the writer's arena (shared_arena.h): so far from its start */
    RING_STAGING, /* in the staging buffer, which both map: the same */
    RING_WHOLE,   /* no datagrams: a message as a whole. `where` is its number in the session,
                     `segment` where it begins in the staging buffer */
    RING_PLACES
};

/* What a note says: datagrams in the writer's memory. */
struct ring_note {
    uint64_t where;        /* of the first byte, as its place has it */
    uint32_t bytes;        /* of all datagrams together, with the trailer; below LANDING_DATAGRAM */
    uint32_t segment;      /* of each but the last, which may be shorter; 0: there is one */
    bool has_trailer;      /* the last TRAILER_BYTES of the one datagram are the note's */
    enum ring_place place; /* of all its bytes but the trailer's */
};

/* What the note of a whole message says. */
struct ring_whole {
    uint64_t message; /* its number in the session */
    uint32_t at;      /* of the first byte in the staging buffer */
    uint32_t bytes;   /* at most RING_WHOLE_MOST */
};

enum { RING_WHOLE_MOST = 4096 };

/* ---- the writer's side ---- */

/* What the writer keeps of a note to itself. */
struct ring_record {
    uint64_t owner;    /* who wants to know that the reader is done; RING_NOBODY */
    struct iovec data; /* the owner's */
    uint64_t staged; /* bytes of the staging buffer that are free again with the note, and before */
    bool is_whole;   /* a message */
    bool is_pinned;
};

/* The first records lie beside the writer, the others in memory that is touched as they are used.
 */
enum { RING_NEAR = 16, RING_FAR = RING_NOTES - RING_NEAR };

struct ring_writer {
    struct ring *ring;
    _Atomic uint64_t head;   /* notes offered, released with their records by the thread that sends,
                                acquired by the one that reaps; */
    _Atomic uint64_t reaped; /* and of those, that the reader is done with, as is known; released by
                                the thread that reaps, acquired by the one that sends */
    uint32_t wholes;         /* notes of whole messages that were not reaped; whoever offers such a
                                one is the only one that reaps meanwhile */
    struct ring_record near[RING_NEAR];
    struct ring_record *far; /* RING_FAR of them; the caller's */
};

void ring_writer_init(struct ring_writer *w, struct ring *ring, struct ring_record *far);

/* Is there room for another note, or for `notes`? */
bool ring_has_room(const struct ring_writer *w);
bool ring_has_room_for(const struct ring_writer *w, uint32_t notes);

/* Offers a note; there is room (CHECKed). By one thread at a time. True if the reader sleeps and is
 * to be woken. */
bool ring_offer(struct ring_writer *w, const struct ring_note *note,
                const uint8_t trailer[TRAILER_BYTES], const struct ring_record *record);

/* The same of a whole message, if there is room (false: none), with what the record of its note
 * says. `*wakes`: the reader sleeps, and is to be woken. */
bool ring_offer_whole(struct ring_writer *w, const struct ring_whole *whole, uint64_t owner,
                      uint64_t staged, bool *wakes);

/* What became of the oldest note. */
struct ring_reaped {
    uint64_t owner, staged;
    struct iovec data;
    bool is_whole;
    bool has_faulted; /* the reader says that the memory cannot be read, or declines the message */
};

/* The oldest note, if the reader is done with it. By one thread at a time; another may offer. */
bool ring_reap(struct ring_writer *w, struct ring_reaped *reaped);

/* Some of the oldest, of whole messages that the reader has taken, and whose owners count on from
 * the first one's: `most` at most. How many; then `*reaped` is of the first, but `staged` of the
 * last. There may be more, unless it is 0. */
uint32_t ring_reap_wholes(struct ring_writer *w, uint32_t most, struct ring_reaped *reaped);

/* Are there whole messages, and is the reader done with the oldest note, which may be a unit's in
 * front of them? By the thread that reaps. */
bool ring_has_whole_to_reap(const struct ring_writer *w);

/* A whole message that the reader has taken, also behind a note that is not reaped yet: it has no
 * owner any more. False: there is none. By the thread that reaps. O(RING_NOTES) if there is. */
bool ring_take_arrived(struct ring_writer *w, uint64_t *owner);

/* What was revoked. */
struct ring_revoked {
    uint64_t owner;
    bool is_whole;
    bool has_arrived; /* too late: the reader has the whole message */
};

/* Revokes the oldest note of this owner, or of any (RING_ANY), or of any whole message
 * (RING_ANY_WHOLE), which has no owner any more (RING_NOBODY): if the reader has not finished it by
 * now, it does not count. False if there is none. By the thread that reaps. */
#define RING_ANY UINT64_MAX
#define RING_NOBODY (UINT64_MAX - 1)
#define RING_ANY_WHOLE (UINT64_MAX - 2)
bool ring_revoke(struct ring_writer *w, uint64_t owner, struct ring_revoked *revoked);

/* The owner of the first note that has one, from `*ahead` behind the oldest on; then `*ahead` is
 * behind that note. False: there is none. By the thread that reaps. */
bool ring_find_owner(const struct ring_writer *w, uint32_t *ahead, uint64_t *owner);

/* Pins a note that has an owner; NULL if it is not offered any more, or has none. By the thread
 * that reaps, as all of these. */
const struct ring_record *ring_pin(struct ring_writer *w, uint64_t number);

/* Whose it is. */
uint64_t ring_unpin(struct ring_writer *w, uint64_t number);

/* ---- the reader's side ---- */

struct ring_reader {
    struct ring *ring;
    uint64_t tail; /* notes that it is done with */
};

void ring_reader_init(struct ring_reader *r, struct ring *ring);

/* The note `ahead` behind those that it is done with, without taking it. False if there is none, or
 * one that ring_skip passes, or one of a whole message. */
bool ring_look(struct ring_reader *r, uint32_t ahead, struct ring_note *note);

/* Has the writer offered anything that was not read yet? Or revoked: ring_skip passes that. */
bool ring_has_any(const struct ring_reader *r);

/* The same note, if it is of a whole message. False if not. */
bool ring_look_whole(struct ring_reader *r, uint32_t ahead, struct ring_whole *whole);

/* That note's trailer, in the shared memory. */
const uint8_t *ring_trailer(const struct ring_reader *r, uint32_t ahead);

/* Is done with the next note. True if what was copied counts. */
bool ring_finish(struct ring_reader *r, enum ring_state how);

/* Passes notes that were revoked, and those that make no sense. True if there is one behind them to
 * read. */
bool ring_skip(struct ring_reader *r);

/* The reader says that it sleeps, and wants to be woken. False if there is something to read: then
 * it says that it is awake. Passes as ring_skip: a writer waits for the slots of what it revoked.
 */
bool ring_say_asleep(struct ring_reader *r);
void ring_say_awake(struct ring_reader *r);

#endif
