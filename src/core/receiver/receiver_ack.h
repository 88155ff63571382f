/* The acknowledgements that the receiver owes: the sequence numbers of the session that arrived,
 * and which of them have been told often enough.
 *
 *     arrived   [0,40)   [41,97)   [99,130)      newest 129
 *     told      all below 41, 97 and 120 by the last three acknowledgements
 *
 * Each interval is told in the next ACK_REPORTS acknowledgements, so that any of them but one may
 * be lost. It knows no time but when the newest number came: when to acknowledge is the timer's
 * (receiver_timer.h).
 *
 * I1  the invariants of intervals.h.
 * I2  unless nothing has arrived, newest is the greatest number in `arrived`.
 * I3  nothing above newest + 1 was told; newest is not below the floor. */
#ifndef ZCRP_CORE_RECEIVER_ACK_H
#define ZCRP_CORE_RECEIVER_ACK_H

#include "core/adt/intervals.h"
#include "core/instant.h"
#include "core/wire/control.h"

enum { ACK_REPORTS = 3 }; /* acknowledgements that each interval is reported in */

struct receiver_ack {
    struct intervals arrived;   /* sequence numbers of the session */
    uint64_t first_seq;         /* of any session (c) */
    uint64_t newest;            /* the highest; meaningless while `arrived` is empty */
    instant newest_at;          /* when it came */
    uint64_t told[ACK_REPORTS]; /* the last acknowledgements, oldest first, told all below these */
    uint64_t marks;             /* datagrams of the session that met congestion */
    uint64_t floor;             /* from here on nothing was forgotten */
    bool has_ecn;               /* one of them could have said so */
};

/* How numbers arrived. */
struct ack_order {
    bool is_newest;   /* above all before */
    bool is_in_order; /* and next to the one before, or where a single number was left out */
};

/* Nothing arrived; numbers begin with `first_seq`. `memory` is a table of intervals. Cannot fail.
 */
void receiver_ack_init(struct receiver_ack *a, struct table memory, uint64_t first_seq);

/* Forgets all: the session is over. */
void receiver_ack_forget(struct receiver_ack *a);

/* The number that a unit carries as `wire`. */
uint64_t receiver_ack_expand(const struct receiver_ack *a, uint32_t wire);

/* The numbers [first, first + units) arrived; more than one only if they are above all before.
 * The intervals around a late one are told again. */
struct ack_order receiver_ack_add(struct receiver_ack *a, instant now, uint64_t first,
                                  uint32_t units);

/* Writes the bounds of an acknowledgement to `out`, of CONTROL_BYTES - TRAILER_BYTES, and what
 * follows from them into the header. `is_last`: it closes the session, and tells once more of all
 * from the floor on, so that nothing in its negative intervals has arrived. All that arrived has
 * been told by it. */
void receiver_ack_write(struct receiver_ack *a, instant now, bool is_last, uint8_t *out,
                        struct block_ack *header);

/* Forgets what was told often enough, and moves the intervals back to where they began if that
 * leaves few. */
void receiver_ack_rest(struct receiver_ack *a);

/* CHECKs I1 to I3. */
void receiver_ack_check(const struct receiver_ack *a);

#endif
