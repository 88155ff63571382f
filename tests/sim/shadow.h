/* A user's buffer under guard. Around it lie bytes that nobody may touch; of what has arrived in it
 * there is a second copy, and it may not change any more; once it is given back to its user it is
 * filled with poison, and none of it may change.
 *
 *     block   | guard | buffer: arrived, missing, arrived ... | guard |
 *     or      | guard | piece 7 | guard | piece 0 | guard | ... | guard |
 *
 * The copy is kept by grains, since units are cut at grains. */
#ifndef ZCRP_TESTS_SIM_SHADOW_H
#define ZCRP_TESTS_SIM_SHADOW_H

#include "core/adt/pieces.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shadow {
    uint8_t *block; /* NULL: no buffer, or no more */
    uint64_t block_size;
    uint8_t *bytes;        /* the buffer, if it lies in one place */
    struct pieces *pieces; /* that it lies in; NULL: in one place */
    uint64_t size;
    uint64_t end;      /* of what arrives, once a unit has said so; until then `size` */
    uint8_t *expected; /* bytes of what has arrived */
    bool *has_arrived; /* by grain; NULL for a buffer that is only read */
    bool is_poisoned;
};

/* A buffer of `size` bytes; `is_written`: something will arrive in it. `cut` is 0: it lies in one
 * place; else it is drawn from there in how many pieces, and where they lie. */
void shadow_init(struct shadow *shadow, uint64_t size, bool is_written, uint64_t cut);

/* Frees it; legal at any time, and more than once. */
void shadow_fini(struct shadow *shadow);

/* Writes to the buffer, as its user does, or as who copies to it; or reads from it. */
void shadow_write(struct shadow *shadow, uint64_t offset, const uint8_t *from, uint64_t length);
void shadow_read(const struct shadow *shadow, uint64_t offset, uint8_t *to, uint64_t length);

/* True if these bytes lie there. */
bool shadow_has(const struct shadow *shadow, uint64_t offset, const uint8_t *bytes,
                uint64_t length);

/* True if any of these bytes belongs to the block. */
bool shadow_meets(const struct shadow *shadow, const uint8_t *at, size_t length);

/* True if all of them are in the buffer, one behind the other, and still missing. */
bool shadow_misses(const struct shadow *shadow, const uint8_t *at, size_t length);

/* The bytes at `offset` have arrived, and are in place. */
void shadow_on_arrived(struct shadow *shadow, uint64_t offset, uint64_t length);

/* Fills the buffer with poison. */
void shadow_poison(struct shadow *shadow);

/* True if behind the first `length` bytes nothing is left of what landed there: every byte is as it
 * was, or 0. O(size). */
bool shadow_is_clean_behind(const struct shadow *shadow, uint64_t length);

/* True if nothing changed that may not. O(size). */
bool shadow_is_intact(const struct shadow *shadow);

#endif
