/* Units given up: transmissions that were taken for lost, or repeated to get an answer, and that
 * may have arrived nevertheless. If the acknowledgement of one still comes, its repeat need not be
 * sent. Each names its predecessor, the transmission that it repeated itself, so the arrival of any
 * of them is found from the latest:
 *
 *       12 (given up)  <-----  31 (given up)  <-----  57 (in transit, or to be sent)
 *
 * When units get smaller one is cut into parts, which all lead to the same predecessor. A ring in
 * the order of sequence numbers; when it is full the oldest is forgotten.
 *
 * One that has arrived is news until the caller has cancelled its repeats; then it is settled, and
 * nobody asks for it any more. A few of those stay, because to take one out is to look at all.
 *
 * I1  count <= capacity.
 * I2  sequence numbers ascend, and each is above the one that it repeats.
 * I3  arrived is how many have and are not settled, settled how many are. */
#ifndef ZCRP_CORE_UNITS_GIVEN_UP_H
#define ZCRP_CORE_UNITS_GIVEN_UP_H

#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

/* The number of no transmission. */
#define UNIT_NEVER_SENT UINT64_MAX

/* Bytes of a message, or that it is void. */
struct unit_part {
    uint64_t message;
    uint64_t offset;
    uint32_t length;
    bool is_void;
};

struct unit_given_up {
    uint64_t seq;
    uint64_t predecessor; /* the transmission that this one repeated, or UNIT_NEVER_SENT */
    struct unit_part part;
    instant sent;
    bool is_probed;   /* repeated to get an answer, not because it was thought lost */
    bool is_cut;      /* transit_unit's */
    uint64_t arrived; /* before which settling, counted from 1; 0: it has not arrived */
};

struct units_given_up {
    struct unit_given_up *ring; /* caller's memory */
    uint32_t capacity;          /* a power of two */
    uint32_t first, count;      /* of the ring */
    uint32_t arrived, settled;  /* of these */
    uint64_t settlings;         /* so far, and the next */
};

/* None. capacity is a power of two (CHECKed). */
void units_given_up_init(struct units_given_up *g, struct unit_given_up *memory, uint32_t capacity);

/* Adds one, which has not arrived. O(1) if its number is the highest, as it is unless the clock has
 * jumped back. */
void units_given_up_put(struct units_given_up *g, const struct unit_given_up *unit);

/* The numbers in [*seq, last) have arrived: notes it of the first that had not, moves *seq behind
 * it and returns it; NULL if there is none. Good until the next put. O(log count), and O(1) for
 * each that has arrived before. */
const struct unit_given_up *units_given_up_arrive(struct units_given_up *g, uint64_t *seq,
                                                  uint64_t last);

/* The transmission `seq`, if it has not arrived; NULL: it is not known, or has. Good until the next
 * put. O(log count). */
const struct unit_given_up *units_given_up_find(const struct units_given_up *g, uint64_t seq);

/* Has the transmission `seq` brought this part, or one of its predecessors? O(log count) for each
 * of them. It looks at the last few hundred at most, and at `*looks`, which it lowers by those. */
bool units_given_up_has_brought(const struct units_given_up *g, uint64_t seq,
                                const struct unit_part *part, uint32_t *looks);

/* Was the transmission `seq`, like all its predecessors, sent under a number from `first` on, for
 * all that is known, and has none of them arrived? UNIT_NEVER_SENT was. Only the last few hundred
 * count, as above: false if there are more. One that has arrived may have brought only a part: the
 * repeat of another one may have joined its own. */
bool units_given_up_are_from(const struct units_given_up *g, uint64_t seq, uint64_t first);

/* The repeats of those that have arrived are cancelled. O(1), or O(count) if many are settled. */
void units_given_up_settle(struct units_given_up *g);

/* Forgets all. */
void units_given_up_clear(struct units_given_up *g);

/* CHECKs I1 to I3. O(count). */
void units_given_up_check(const struct units_given_up *g);

#endif
