/* Targets: where a writer may push the bytes of its notes (ring.h) itself, in memory that two
 * processes share. So both copy: the reader the first of many notes, the writer the last.
 *
 *     reader   NONE --open--> OPEN --withdraw--> NONE                 it copies the note
 *     writer                   \--claim--> CLAIMED --settle--> PUSHED, FAILED
 *     reader                                            PUSHED, FAILED --take--> NONE
 *
 * A target is memory of the reader's, whose address the reader tells. From the claim until it is
 * settled the writer may write there, and nobody can keep it from that. So the reader lets nobody
 * else have the memory before it has withdrawn or taken the target, or knows that the writer has
 * ended.
 *
 * Each side believes nothing that the other may write. A wrong address costs the reader, who wrote
 * it: bytes that it is sent anyway go elsewhere in its own memory, or nowhere. The writer keeps
 * what it pushes from the notes that it has offered itself. A writer that settles what it goes on
 * writing, or that does not settle, does harm to memory that it may write in any case: the kernel
 * lets it.
 *
 * tests/model/targets.pml has these rules. */
#ifndef ZCRP_TRANSPORT_SHM_TARGETS_H
#define ZCRP_TRANSPORT_SHM_TARGETS_H

#include "ring.h"

enum target_state { TARGET_NONE, TARGET_OPEN, TARGET_CLAIMED, TARGET_PUSHED, TARGET_FAILED };

/* In the shared memory; the other side may write anything there at any time. */
struct target {
    _Atomic uint64_t at; /* an address in the reader's memory */
    _Atomic uint32_t state;
};

struct targets {
    _Alignas(64) _Atomic uint64_t end; /* the reader: it opened none from this note on */
    struct target target[RING_NOTES];  /* of note n: that of n % RING_NOTES */
};

enum { TARGETS_ROW = 32 }; /* that a reader opens at once, at most */

/* ---- the writer's side ---- */

/* Claims the last open target of the notes from `first` to before `end`, which are offered, and not
 * more than TARGETS_ROW from the last. False if there is none; else it is of note `*number`, at
 * `*at`. */
bool targets_claim(struct targets *t, uint64_t first, uint64_t end, uint64_t *number, uint64_t *at);

/* Nothing is written there any more. */
void targets_settle(struct targets *t, uint64_t number, bool is_pushed);

/* ---- the reader's side ---- */

/* Opens the target of a note; those of a row are shown together. False if the one of the note that
 * had this place before is claimed to this day. */
bool targets_open(struct targets *t, uint64_t number, void *at);
void targets_show(struct targets *t, uint64_t end);

/* True if the target is the reader's again. False: the writer has it. */
bool targets_withdraw(struct targets *t, uint64_t number);

/* What became of a target that could not be withdrawn: CLAIMED; or PUSHED or FAILED, and it is the
 * reader's again. */
enum target_state targets_take(struct targets *t, uint64_t number);

#endif
