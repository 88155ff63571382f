/* Which parts of a file are still to be asked for. A part is first compared, if something may be
 * there already (its hashes are asked for), or fetched at once.
 *
 *      plan_compare(0, size)                      a part file of an earlier run
 *      plan_take_compare -> [0, 64 MiB)           ... the hashes come, two leaves differ
 *      plan_fetch(128 KiB, 256 KiB)
 *      plan_take_fetch(4 MiB) -> [128 KiB, 256 KiB)
 *
 * It knows nothing of files, messages or hashes.
 *
 * I1. No range is empty.
 * I2. The ranges to be compared come before those to be fetched only in time: they may overlap if
 *     the caller says so. Each list is taken in the order in which it was filled. */
#ifndef ZCRP_CP_PLAN_H
#define ZCRP_CP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t start, end; /* half open */
};

/* A queue of ranges. */
struct ranges {
    struct range *row;
    size_t first, count, room; /* those from `first` on are left */
};

struct plan {
    struct ranges to_compare, to_fetch;
};

/* Everything zero is an empty plan. Frees its memory. */
void plan_fini(struct plan *plan);

/* Adds [start, end); one that begins where the last one ends makes that longer. An empty one is
 * left out. 0, or -1: no memory. */
int plan_compare(struct plan *plan, uint64_t start, uint64_t end);
int plan_fetch(struct plan *plan, uint64_t start, uint64_t end);

/* Takes at most `most` bytes from the front. False if nothing is left. A part ends at a multiple of
 * `most` or at its range's end, so that parts of one file are aligned alike. */
bool plan_take_compare(struct plan *plan, uint64_t most, struct range *part);
bool plan_take_fetch(struct plan *plan, uint64_t most, struct range *part);

/* Is nothing left? */
bool plan_is_empty(const struct plan *plan);

void plan_check(const struct plan *plan);

#endif
