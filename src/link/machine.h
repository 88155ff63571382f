/* One interface to the two pure machines of src/core, for what an entity does with either. sender.h
 * and receiver.h have the contracts. Under the link's mutex. */
#ifndef ZCRP_LINK_MACHINE_H
#define ZCRP_LINK_MACHINE_H

#include "core/receiver/receiver.h"
#include "core/sender/sender.h"
#include "message.h"
#include "transport/channel.h"

#include <stdbool.h>

enum machine_role { MACHINE_SENDER, MACHINE_RECEIVER };

struct machine {
    enum machine_role role;  /* (c) */
    struct keyring *keyring; /* (c) NULL: nothing is sealed */
    bool stays;            /* (c) a sender that wants its peer also when there is nothing to send */
    bool was_called;       /* (c) of a listener's connection */
    struct sender *sender; /* NULL: a receiver */
    struct receiver *receiver; /* NULL: a sender */
    void *near, *far;          /* (c) memory of either (core/adt/arena.h); far is reserved */
    size_t far_bytes;          /* (c) */
    uint32_t faults;           /* in a row without a culprit; see machine_on_burst_fault */
};

/* Makes a sender whose units leave through the channel, or a receiver whose units arrive through
 * it. The options are complete (options.h). False when there is no memory. */
__attribute__((warn_unused_result)) bool machine_init(struct machine *m, enum machine_role role,
                                                      const struct zcrp_options *options,
                                                      const struct channel *units);

/* Frees the memory; fine for one that is all zero. */
void machine_fini(struct machine *m);

/* May the next submit look at `now`? If not, and something is in transit, or it is a receiver, it
 * brings no deadline forward. */
bool machine_times_submit(const struct machine *m);

/* Has submit ended a message of a sender's, or another one? */
bool machine_has_event(const struct machine *m);

/* Is anything of a sender's on its way? */
bool machine_is_in_transit(const struct machine *m);

/* Submits or posts the message, which then has its number; false when the table is full. NULL is a
 * blank: a number without a message, which is cancelled at once; its event has no user. */
bool machine_submit(struct machine *m, instant now, struct message *message);

bool machine_cancel(struct machine *m, instant now, uint64_t number);
/* Has it something to send at once? Time aside, see sender_has_burst. */
bool machine_has_burst(const struct machine *m);
/* The same where a burst has just left, or of a receiver, whose acknowledgement may be due. */
bool machine_has_more(const struct machine *m);

bool machine_take(struct machine *m, instant now, struct burst *burst);
void machine_sent(struct machine *m, instant now, const struct burst *burst, uint32_t sent);
/* Has a sender had nothing to do for so long that a sign of life is due? */
bool machine_is_quiet(const struct machine *m, instant now);

/* Gives back the memory that the machine grew into, if it does not need it now. At most one
 * system call, of some microseconds. */
void machine_rest(struct machine *m);

void machine_expire(struct machine *m, instant now);
instant machine_deadline(const struct machine *m);
bool machine_event(struct machine *m, struct event *event);

/* Of a sender that stays: whether its peer is there, and how that ended. Other senders:
 * LINK_ASKING and CLOSED. A connection's receiver: LINK_ASKING, because its sender knows. Any
 * other: LINK_ASKING and OK, until with keys its only session has ended. */
enum peer_link machine_link(const struct machine *m);
enum outcome machine_end(const struct machine *m);

/* Of a connection's receiver: another peer is where its own was. */
bool machine_is_replaced(const struct machine *m);

/* Of a connection's receiver: how the peer has closed its sender, and so closes the connection
 * (receiver_told); OK: it has not. */
enum outcome machine_told(const struct machine *m);

/* How this half of a connection ends if the other half has this end (receiver_end_beside). */
enum outcome machine_end_beside(const struct machine *m, enum outcome other_ended);

/* Bytes that are on their way to a receiver's message, see receiver_expected; of a sender 0. */
uint64_t machine_expected(const struct machine *m);

/* When a receiver has to acknowledge at the latest; NEVER: there is no news, or it is a sender. */
instant machine_acks_at(const struct machine *m);

/* The path's round trip, or less, as a receiver sees it; 0: not known, or a sender. */
duration machine_round_trip(const struct machine *m);

/* Of a receiver: asks how large the next message is; whether that is known, and how often it became
 * known. A sender has none. */
void machine_ask_offers(struct machine *m, instant now);
bool machine_offer(const struct machine *m, uint64_t *size);
uint64_t machine_offers(const struct machine *m);

/* When a sender's peer last acknowledged something; of a receiver NEVER. */
instant machine_progress_at(const struct machine *m);

/* The peer, or this side, is at another address, and the path through the channel is another one.
 */
void machine_on_moved(struct machine *m, instant now, const struct zcrp_options *options,
                      const struct channel *units);

void machine_close(struct machine *m, instant now);
bool machine_is_closed(const struct machine *m);
bool machine_is_confirmed(const struct machine *m);

/* Both ends of the connection know that it ends: see sender_agree_close. */
void machine_agree_close(struct machine *m);

/* Of a sender's: see sender_has_told_close. */
bool machine_has_told_close(const struct machine *m);

/* Of a sender's: was all that it has been given cancelled, or refused, or has ended? */
bool machine_has_only_void(const struct machine *m);

/* Closing takes too long: a sender tells its peer once that the rest will not come. `is_cut`: some
 * of the rest never entered the machine. */
void machine_give_up(struct machine *m, bool is_cut);

void machine_fail(struct machine *m, instant now, enum outcome outcome);

/* The kernel could not access memory of the burst, or of the plan, that is out. Messages whose
 * memory cannot be accessed fail. If there is none, the memory has become accessible meanwhile;
 * after several such calls in a row all messages of the burst, or of the plan, fail. A burst or a
 * plan without messages does not count. A row ends with a burst whose messages the kernel has read,
 * and with a message that has arrived: not with a landing, because what a receive ran into is told
 * after the next one. */
void machine_on_burst_fault(struct machine *m, const struct burst *b);
void machine_on_burst_read(struct machine *m, const struct burst *b);
void machine_on_plan_fault(struct machine *m, struct landing *l);

/* Fills in what the machine counts. */
void machine_add_stats(const struct machine *m, struct zcrp_stats *stats);

#endif
