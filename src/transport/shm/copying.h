/* How a receiver copies the bytes of notes to where its landing wants them.
 *
 *     the sender's memory  --process_vm_readv-->  pieces of the landing
 *     what both map        --memcpy, or nofault.h where the memory may be gone-->
 *
 * Both map the trailers of notes, the staging buffer, and the sender's arena if it has one. */
#ifndef ZCRP_TRANSPORT_SHM_COPYING_H
#define ZCRP_TRANSPORT_SHM_COPYING_H

#include "ends.h"

/* Copies `count` notes of the ring, from `first` on, to the openings of the landing
 * from `first` on. How many of them, from the first one on, are whole then: the others lie in
 * memory that cannot be accessed, or the sender is lost, and this end is blind. Notes that both map
 * are whole without the sender. */
uint32_t copy_notes(struct shm *n, const struct landing *l, const struct ring_note *note,
                    uint32_t first, uint32_t count);

/* Can all bytes of the note be read? Uses the landing's bounce, which is not used yet. */
bool copy_is_readable(struct shm *n, const struct landing *l, const struct ring_note *note);

/* Bytes of the note that are its trailer. */
static inline uint32_t copy_tail(const struct ring_note *note)
{
    return note->has_trailer ? TRAILER_BYTES : 0;
}

#endif
