/* A bounded set of 64-bit numbers as sorted, disjoint, half-open intervals; the receiver keeps the
 * sequence numbers that arrived in one.
 *
 *        [a,b)      [c,d)            [e,f)
 *     ---=====------=====------------======-------->
 *
 * It forgets the lowest interval when a new one finds no room: old numbers lose interest first.
 *
 * I1  count <= capacity.
 * I2  first < last in each interval.
 * I3  each last < the next first (touching intervals are one). */
#ifndef ZCRP_CORE_INTERVALS_H
#define ZCRP_CORE_INTERVALS_H

#include "table.h"

struct interval {
    uint64_t first; /* in the set */
    uint64_t last;  /* first number behind it */
};

struct intervals {
    struct interval *interval; /* in its table */
    uint32_t count;
    uint32_t capacity;  /* most intervals, at least 1 */
    uint64_t forgotten; /* intervals dropped, or not kept, for want of room */
    struct table table;
};

/* An empty set in a table of struct interval, with room for one at least (CHECKed). */
void intervals_init(struct intervals *set, struct table memory);

/* Adds one number below UINT64_MAX; true if it was not in the set. O(1) next to the upper end,
 * O(count) elsewhere. A number below every interval of a full set is not kept, and false is
 * returned: it is the lowest, and forgotten at once. */
bool intervals_add(struct intervals *set, uint64_t number);

/* Adds the `count` numbers behind the greatest; all are below UINT64_MAX. The set must not be empty
 * (CHECKed). O(1). */
void intervals_extend(struct intervals *set, uint64_t count);

/* Index of the first interval that ends behind `number`; count if there is none. O(log count). */
uint32_t intervals_find(const struct intervals *set, uint64_t number);

/* Removes everything below `number`. O(count). */
void intervals_remove_below(struct intervals *set, uint64_t number);

/* Moves a set of few intervals back to where it began. */
void intervals_shrink(struct intervals *set);

/* CHECKs I1 to I3. */
void intervals_check(const struct intervals *set);

#endif
