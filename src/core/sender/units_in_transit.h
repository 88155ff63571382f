/* Units in transit (ZCRP 1.7.1): what was sent and is neither acknowledged nor given up, by
 * sequence number. A ring: the n-th transmission lies at n modulo its size. The size is small to
 * begin with and doubled as more is in transit: so a short path keeps to memory that is in the
 * cache, an idle sender to few pages, and a long path has what it needs.
 *
 *      base                              next
 *       v                                 v
 *     --[in]--[--]--[in]--[in]--[--]--[in]---->  sequence numbers
 *
 * I1  next - base <= size <= capacity.
 * I2  base is in transit, or base == next.
 * I3  units and bytes are the count and the sum over entries in transit.
 * I4  the skip of an entry that is gone reaches no further than the next one in transit. */
#ifndef ZCRP_CORE_UNITS_IN_TRANSIT_H
#define ZCRP_CORE_UNITS_IN_TRANSIT_H

#include "core/adt/table.h"
#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

/* One transmission of one unit. */
struct transit_unit {
    uint64_t message; /* message number */
    uint64_t offset;  /* first byte in the message */
    instant sent;     /* when it was taken to be sent */
    uint32_t length;  /* bytes of data */
    uint32_t skip;    /* internal: once gone, at least as many from here on are gone */
    uint32_t behind;  /* how many numbers behind the transmission that it repeats; 0: none */
    bool is_last;
    bool is_void;
    bool is_cut; /* out of a larger datagram, by the kernel */
    bool is_in_transit;
};

/* Units with consecutive sequence numbers that have these in common. */
struct transit_row {
    uint32_t units;    /* how many */
    uint64_t message;  /* of all; */
    bool are_messages; /* or of the first, and each is the whole of a message, by number */
    instant sent;
    uint32_t length; /* bytes of data in each */
    bool is_void;
    bool is_cut;
};

struct units_in_transit {
    struct transit_unit *ring; /* in its table */
    uint64_t capacity;         /* a power of two: most units */
    uint64_t size;             /* a power of two: of the ring at present */
    uint64_t base;
    uint64_t next;  /* the next sequence number */
    uint64_t bytes; /* of data and trailers, in transit */
    uint32_t units;
    struct table table;
};

/* Empty, numbering from `first`, in a table for a ring (CHECKed) of struct transit_unit. */
void units_in_transit_init(struct units_in_transit *t, struct table memory, uint64_t first);

/* How many more units find room, if the ring grows as far as it may. */
static inline uint64_t units_in_transit_room(const struct units_in_transit *t)
{
    return t->capacity - (t->next - t->base);
}

/* Adds `count` units in a row, from `unit` on, each where the one before ends in the message, or
 * each the whole of the next message if `unit` is the last of its own, under the next sequence
 * numbers; the first of them is returned. skip and is_in_transit are set here.
 * Needs room (CHECKed). O(count), and O(size) when the ring grows. */
uint64_t units_in_transit_put(struct units_in_transit *t, const struct transit_unit *unit,
                              uint32_t count);

/* Leaves the next sequence number out: it is gone from the beginning, and is returned. Needs room
 * for one unit (CHECKed). Cost as put. */
uint64_t units_in_transit_leave_out(struct units_in_transit *t);

/* The first unit in transit with a sequence number in [*seq, last); *seq becomes its number.
 * NULL when there is none, and *seq is then `last`. The pointer is good until the next put.
 * Numbers outside [base, next) cost nothing. A run that is gone takes half as many steps each time
 * it is walked, down to one: together O(1) for each unit removed and each call. */
struct transit_unit *units_in_transit_find(struct units_in_transit *t, uint64_t *seq,
                                           uint64_t last);

/* The unit with this number, which is in transit, was not cut after all. */
void units_in_transit_mark_single(struct units_in_transit *t, uint64_t seq);

/* Takes the unit with this number out: acknowledged, or given up. Must be in transit (CHECKed). */
void units_in_transit_remove(struct units_in_transit *t, uint64_t seq);

/* Takes the first row in [*seq, last) out, as long as it is there, and moves *seq behind it: an
 * acknowledgement is worked off a row at a time. False when there is none, and *seq is then `last`.
 */
bool units_in_transit_remove_row(struct units_in_transit *t, uint64_t *seq, uint64_t last,
                                 struct transit_row *row);

/* Moves a ring that holds little back to where it began: no pointer into it stays good. */
void units_in_transit_shrink(struct units_in_transit *t);

/* The entry of this number, in transit or gone; it is within [base, next). */
static inline const struct transit_unit *units_in_transit_at(const struct units_in_transit *t,
                                                             uint64_t seq)
{
    return &t->ring[seq & (t->size - 1)];
}

/* CHECKs I1 to I4. O(capacity). */
void units_in_transit_check(const struct units_in_transit *t);

#endif
