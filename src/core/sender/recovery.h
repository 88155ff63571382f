/* Recovery: what becomes of every unit between the message it is cut from and its acknowledgement
 * (RFC 9002, 6). It owns the units to send, those in transit and those given up, and what decides
 * between them.
 *
 *                    put                        acknowledge
 *     units to send -----> units in transit ------------------> arrived
 *            ^              |           |
 *            |   put_back   |           | lose, repeat          late
 *            |<-------------/           v                 -------------> arrived after all:
 *            |<-------------------- units given up                       the repeat is cancelled
 *
 * The caller owns the messages, and lends them; a message whose last unit arrives ends here. Each
 * call returns what happened to one row or unit, so that the caller can report it to congestion
 * control and the path in order.
 *
 * An acknowledgement is worked off in these steps: begin_ack; for each interval on_gap, or late and
 * acknowledge; cancel; end_ack; lose; end_gaps.
 *
 * A message may also go as a whole, beside all this, where nothing is lost (recovery_put_whole). It
 * counts as one unit that is out, and comes back as a repeat, or arrives.
 *
 * I1  a message's unit is cut, in transit, out as a whole or to be repeated exactly once at any
 *     time.
 * I2  repeats of data + units in transit <= capacity of the ring in transit, or one more while a
 *     part of a repeat is alone in transit, cut because units were made smaller; notices of refused
 *     messages, and messages that came back as a whole, are beside, one a message of each.
 *     (CHECKed: the queue's own size.)
 * I3  the invariants of the parts.
 * I4  newest <= the next number to be sent. */
#ifndef ZCRP_CORE_RECOVERY_H
#define ZCRP_CORE_RECOVERY_H

#include "core/adt/arena.h"
#include "core/congestion/rtt.h"
#include "core/number.h"
#include "left_out.h"
#include "messages_out.h"
#include "persistence.h"
#include "tolerance.h"
#include "units_given_up.h"
#include "units_in_transit.h"
#include "units_to_send.h"

struct recovery {
    struct units_to_send to_send;
    struct units_in_transit in_transit;
    struct units_given_up given_up;
    struct tolerance tolerance;
    struct persistence persistence;
    struct left_out left_out;
    uint64_t newest;    /* highest sequence number that was acknowledged */
    uint64_t withdrawn; /* the next number when the receiver last withdrew a buffer */
    uint64_t untimed;   /* numbers below tell no round trip any more once they were given up */
    instant loss_at;    /* when the next unit in transit is late enough to be lost; NEVER: none */
    uint32_t looks;     /* at units given up that are left (recovery_begin_cancelling) */
};

/* The tables and arrays of a recovery, in the caller's memory. */
struct recovery_arrays {
    struct table in_transit; /* of struct transit_unit */
    struct table left_out;   /* of uint64_t */
    struct fragment *to_send;
    struct unit_given_up *given_up;
    uint32_t repeats; /* units that may wait to be repeated, */
    uint32_t watched; /* or have been given up */
};

/* Takes them from the arena for `units` in transit, a power of two, of `messages`; the table of
 * what is left out is the caller's to add. */
struct recovery_arrays recovery_take_arrays(struct arena *arena, uint32_t units, uint32_t messages);

/* Nothing to send, in transit or given up. `messages` is borrowed; numbers begin with these. Left
 * out numbers are drawn from `secret`. Cannot fail. */
void recovery_init(struct recovery *r, const struct recovery_arrays *arrays,
                   struct messages_out *messages, uint64_t first_message, uint64_t first_seq,
                   struct secret *secret);

/* Forgets every unit, because the session is over. */
void recovery_forget(struct recovery *r);

/* Nothing is in transit or to be repeated (CHECKed), and nothing was for a while: forgets what was
 * given up, and moves the ring in transit back to where it began. */
void recovery_rest(struct recovery *r);

/* A session begins: nothing sent before will be acknowledged in it. */
void recovery_begin(struct recovery *r);

/* ---- sending ---- */

/* The unit to be sent next, with at most `max` bytes of data; false if there is none
 * (units_to_send.h). */
static inline bool recovery_head(struct recovery *r, uint32_t max, struct fragment *head)
{
    return units_to_send_head(&r->to_send, max, head);
}

/* Is one unit in transit, a part that was cut off the repeat whose rest is the head? */
bool recovery_is_rest(const struct recovery *r, const struct fragment *head);

/* How many units like the head have a place in transit, and one to come back to should they be
 * lost. A repeat leaves its own. A part of one, that was cut when units were larger, does not; but
 * if it is alone in transit it can be joined again, as long as the rest of it waits. */
static inline uint64_t recovery_room(const struct recovery *r, const struct fragment *head)
{
    uint64_t used = (uint64_t)r->to_send.count + r->in_transit.units;
    uint64_t room = used < r->in_transit.capacity ? r->in_transit.capacity - used : 0;
    bool is_back =
        head->is_repeat && (r->in_transit.units == 0 || !units_to_send_is_part(&r->to_send, head));
    if (is_back)
        room = used > r->in_transit.capacity && recovery_is_rest(r, head) ? 0 : 1;
    return lesser(room, units_in_transit_room(&r->in_transit));
}

/* Is the head a part of a repeat, and no place left for another? Then it leaves alone at best. If
 * something is in transit it waits, and if all of that was lost nothing else says so. */
static inline bool recovery_is_full(const struct recovery *r, const struct fragment *head)
{
    uint64_t used = (uint64_t)r->to_send.count + r->in_transit.units;
    return used >= r->in_transit.capacity && units_to_send_is_part(&r->to_send, head);
}

/* The unit in transit with the first bytes of the oldest message; the next number if there is none.
 * O(ring). */
uint64_t recovery_first(const struct recovery *r);

/* Puts the repeats in order: those with the first bytes of the oldest message go next. */
static inline void recovery_sort(struct recovery *r)
{
    units_to_send_sort(&r->to_send);
}

/* The same, and joins those that follow on each other, which makes places. */
static inline void recovery_join(struct recovery *r)
{
    units_to_send_join(&r->to_send);
}

/* Moves the first `count` units of the head's row into transit. Returns the first one's sequence
 * number; the others follow. `is_cut`: the kernel cuts them out of a larger datagram, */
uint64_t recovery_put(struct recovery *r, instant now, const struct fragment *head, uint32_t count,
                      bool is_cut);

/* but this one has turned out to leave alone. */
static inline void recovery_mark_single(struct recovery *r, uint64_t seq)
{
    units_in_transit_mark_single(&r->in_transit, seq);
}

/* The next message, if it may go as a whole: nothing is to be sent before it, nothing of it was, it
 * has a buffer at the receiver, and `most` bytes at most. Else NULL. */
struct message_out *recovery_whole(struct recovery *r, uint32_t most);

/* That message is out as a whole. Then it has arrived; or it comes back, and is sent in units,
 * unless it has ended or was cancelled meanwhile. */
void recovery_put_whole(struct message_out *message);
void recovery_whole_arrived(struct recovery *r, uint64_t number);
void recovery_whole_came_back(struct recovery *r, uint64_t number);

/* A burst with numbers from `first_seq` on has left; `timeout` is the probe timeout. */
void recovery_on_burst(struct recovery *r, instant now, uint64_t first_seq, duration timeout);

/* Moves units of a burst that never left, [first, last), back to the units to send. */
void recovery_put_back(struct recovery *r, uint64_t first, uint64_t last);

/* Leaves the next sequence number out, if that is due; the next is then due within `window`
 * units, about. False if it is not due. */
bool recovery_leave_out(struct recovery *r, struct secret *secret, uint64_t window);

/* Moves the first unit in transit from *seq on whose message needs it to the units to send, so that
 * it is answered, and *seq behind it; the units before it, which nobody needs, are given up.
 * Returns its bytes of data in `data`; false if there is none. */
bool recovery_repeat(struct recovery *r, uint64_t *seq, uint32_t *data);

/* ---- acknowledgements ---- */

/* Does the acknowledgement claim a number that was left out, thus never sent? */
static inline bool recovery_has_left_out(const struct recovery *r, struct interval claimed)
{
    return left_out_has(&r->left_out, claimed.first, claimed.last);
}

/* When the unit with this number was sent, if it is still in transit; else false. */
bool recovery_find_sent(struct recovery *r, uint64_t seq, instant *sent);

/* Begins to work off an acknowledgement of numbers up to `newest`. Returns what collects its news
 * of persistent congestion. `timeout` is the probe timeout. */
struct persistence_search recovery_begin_ack(const struct recovery *r, const struct rtt *rtt,
                                             instant now, uint64_t newest, duration timeout);

/* Nothing of [gap) arrived. */
static inline void recovery_on_gap(const struct recovery *r, struct persistence_search *search,
                                   struct interval gap)
{
    persistence_on_gap(&r->persistence, search, gap);
}

/* The first unit of [*arrived) that was given up, and arrives late; *arrived begins behind it
 * afterwards. NULL if there is none. If it had been taken for lost the tolerance widens. The
 * pointer is good until the next put. */
const struct unit_given_up *recovery_late(struct recovery *r, const struct rtt *rtt, instant now,
                                          uint64_t newest, struct interval *arrived);

/* Takes the first row in transit in [*arrived) out: it has arrived; *arrived begins behind it
 * afterwards. False if there is none. O(1) for each unit. */
bool recovery_acknowledge(struct recovery *r, struct interval *arrived, struct transit_row *row);

/* The gaps so far tell nothing of congestion, nor does what was sent so far tell a round trip if it
 * was given up. */
static inline void recovery_forget_gaps(struct recovery *r)
{
    r->untimed = r->in_transit.next;
    persistence_init(&r->persistence);
}

/* Begins to cancel the repeats of units that arrived late; false if there are none. Not before
 * there are enough of them: the caller will look at every unit in transit or to be repeated, and a
 * receiver could buy that with each acknowledgement. Until then their repeats go on like others.
 * Where units were sent so often that all their transmissions are too many, some repeats go on,
 * too. `is_last`: nothing more will be acknowledged. */
bool recovery_begin_cancelling(struct recovery *r, bool is_last);

/* Cancels the first repeat in transit from *seq on whose original has arrived: it counts as arrived
 * in its message; *seq moves behind it. False if there is none. */
bool recovery_cancel_in_transit(struct recovery *r, uint64_t *seq, struct transit_row *row);

/* Cancels all repeats that still wait and whose original has arrived. Returns their bytes of data,
 * and forgets which units arrived late. */
uint64_t recovery_cancel_waiting(struct recovery *r);

/* All intervals were worked off: `newest` is the highest number, `oldest` the lowest that was still
 * waited for; UINT64_MAX if none was. */
void recovery_end_ack(struct recovery *r, uint64_t newest, uint64_t oldest);

/* Decides on persistent congestion, once losses are known: `first` is the lowest number that the
 * acknowledgement covers. */
static inline enum persistence_verdict
recovery_end_gaps(struct recovery *r, const struct persistence_search *search, uint64_t first)
{
    return persistence_conclude(&r->persistence, search, first);
}

/* The receiver closes, and has told of each number from `first` on whether it came. Ends each LIVE
 * message that it surely does not have: one of which a unit was never sent, or under none but these
 * numbers; or that is out as a whole. A message whose units were joined may be there once all of it
 * was sent. Ends each VOID one: the receiver need not be told any more. Are others left?
 * O(everything). */
bool recovery_end_missing(struct recovery *r, uint64_t first, enum outcome outcome);

/* ---- losses ---- */

/* A pass over the units in transit that are older than one that was acknowledged. */
struct recovery_pass {
    uint64_t seq;   /* the next to be checked */
    duration delay; /* after which a unit counts as lost */
};

/* One unit that was given up. */
struct lost_unit {
    uint64_t seq;
    instant sent;
    uint32_t data; /* bytes */
    bool is_cut;
    bool is_unwanted; /* maybe the network has not lost it: its buffer was withdrawn */
};

/* The receiver has withdrawn a buffer. It drops units that arrive for that buffer, and does not
 * acknowledge them. */
static inline void recovery_on_withdrawn(struct recovery *r)
{
    r->withdrawn = r->in_transit.next;
}

/* Begins a pass. */
struct recovery_pass recovery_begin_pass(struct recovery *r, const struct rtt *rtt);

/* Gives up the next unit that is late by the tolerance: it is to be sent again. False if there is
 * none; loss_at then says when the next one will be. O(1). */
bool recovery_lose(struct recovery *r, instant now, struct recovery_pass *pass,
                   struct lost_unit *lost);

/* CHECKs I1, I3 and I4. O(everything). */
void recovery_check(const struct recovery *r);

#endif
