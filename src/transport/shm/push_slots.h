/* Push slots: where a writer may push the bytes of its notes (ring.h) itself, in memory that two
 * processes share. So both copy: the reader the first of many notes, the writer the last.
 *
 *     reader   NONE --open--> OPEN --withdraw--> NONE                 it copies the note
 *     writer                   \--claim--> CLAIMED --settle--> PUSHED, FAILED
 *     reader                                            PUSHED, FAILED --take--> NONE
 *
 * A slot tells the address of memory of the reader's. From the claim until it is settled the writer
 * may write there, and nobody can keep it from that. So the reader lets nobody
 * else have the memory before it has withdrawn or taken the slot, or knows that the writer has
 * ended.
 *
 * Each side believes nothing that the other may write. A wrong address harms the reader, which
 * wrote it: bytes that it is sent anyway go elsewhere in its own memory, or nowhere. The writer
 * keeps what it pushes from the notes that it has offered itself. A writer that settles what it
 * goes on writing, or that does not settle, does harm to memory that it may write in any case: the
 * kernel lets it.
 *
 * tests/model/push_slots.pml has these rules. */
#ifndef ZCRP_TRANSPORT_SHM_PUSH_SLOTS_H
#define ZCRP_TRANSPORT_SHM_PUSH_SLOTS_H

#include "ring.h"

enum push_slot_state {
    PUSH_SLOT_NONE,
    PUSH_SLOT_OPEN,
    PUSH_SLOT_CLAIMED,
    PUSH_SLOT_PUSHED,
    PUSH_SLOT_FAILED
};

/* In the shared memory; the other side may write anything there at any time. Nobody sleeps for a
 * slot, so nothing has to be seq_cst. */
struct push_slot {
    _Atomic uint64_t at;    /* an address in the reader's memory; relaxed */
    _Atomic uint32_t state; /* OPEN: released with the address by open, acquired by claim. PUSHED,
                               FAILED: released behind the bytes by settle, acquired by take. NONE:
                               relaxed, because only the reader looks for it */
};

struct push_slots {
    _Alignas(64) _Atomic uint64_t end; /* the reader: it opened none from this note on. Released by
                                          show, acquired by claim, which finds the slots open */
    struct push_slot slot[RING_NOTES]; /* note n has slot n % RING_NOTES */
};

enum { PUSH_SLOTS_ROW = 32 }; /* that a reader opens at once, at most */

/* ---- the writer's side ---- */

/* Claims the last open slot of the notes from `first` to before `end`, which are offered, and not
 * more than PUSH_SLOTS_ROW from the last. False if there is none; else it is of note `*number`, at
 * `*at`. */
bool push_slots_claim(struct push_slots *t, uint64_t first, uint64_t end, uint64_t *number,
                      uint64_t *at);

/* Nothing is written there any more. */
void push_slots_settle(struct push_slots *t, uint64_t number, bool is_pushed);

/* ---- the reader's side ---- */

/* Opens the slot of a note; slots of a row are shown together. False if the one of the note that
 * had this place before is claimed to this day. */
bool push_slots_open(struct push_slots *t, uint64_t number, void *at);
void push_slots_show(struct push_slots *t, uint64_t end);

/* True if the slot is the reader's again. False: the writer has it. */
bool push_slots_withdraw(struct push_slots *t, uint64_t number);

/* What became of a slot that could not be withdrawn: CLAIMED; or PUSHED or FAILED, and it is the
 * reader's again. */
enum push_slot_state push_slots_take(struct push_slots *t, uint64_t number);

#endif
