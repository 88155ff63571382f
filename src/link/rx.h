/* The arriving turn of a link's reader: for both halves, if it has two.
 *
 *     zcrp-receiving  a receiver: plans, receives, lands, and answers
 *     zcrp-update     a sender that reads for itself: one datagram after the other
 *
 * A user's thread that waits does the same turns (api/wait.c). `e` and `reader` are
 * a link's reader, unless a comment says otherwise. */
#ifndef ZCRP_LINK_RX_H
#define ZCRP_LINK_RX_H

#include "entity.h"

/* What a turn found. */
enum arrival {
    ARRIVAL_NONE,
    ARRIVAL_SOME, /* something came, or went, and there is no more */
    ARRIVAL_FULL, /* there may be more */
};

/* Does one thing of a link's arrivals, into the workspace: receives once, for both halves, and
 * sends what the machines then have to send, or holds it (waiting/wait_policy.h, answering); or, if
 * there is nothing to receive, copies for a peer on this host (transport_push). Not locked, as all
 * of these unless a comment says otherwise. */
enum arrival rx_turn(struct zcrp_entity *e, struct workspace *w, enum hearing hearing);

/* The same with what a peer on this host has put in memory, where there is some; it takes a
 * workspace only if it needs one. */
enum arrival rx_turn_in_memory(struct zcrp_entity *e);

/* Looks once at what a peer on this host has put in memory, messages that come as a whole and
 * this side's messages that have arrived, while the lease is kept: so nobody else looks. False if
 * it is not, or something else has come last, or is there. */
bool rx_glance(struct zcrp_entity *e);

/* Says in memory that whoever reads sleeps, so that peers wake it from now on. False if there is
 * something already. Locked. */
bool rx_say_asleep(struct zcrp_entity *reader);

/* A waiter that has the lease says in memory that it looks there, so that peers wake nobody. So
 * nobody else looks until rx_arm. Locked. */
void rx_say_awake(struct zcrp_entity *reader);

/* The workers receive for it from now on: the engine, or whoever looks at its queue's sockets. */
void rx_arm(struct zcrp_entity *reader);

/* Ends a locked section in which the lease may have become free, and wakes whoever receives now.
 * The engine does what the lease's last owner has left to do. */
void rx_hand_over(struct zcrp_entity *reader, struct handover over);

/* They have a turn of it soon: something may be there that the socket does not tell of. */
void rx_come(struct zcrp_entity *reader);

/* Nothing is there any more: how long not even arrivals shall end the sleep; 0: they shall. Locked.
 */
duration rx_rest(struct zcrp_entity *e);

/* Sleeps until a datagram arrives, `wake` is signalled, or the deadline. With a nap, arrivals do
 * not end it, and it is no longer than the nap. As channel_wait. */
int rx_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline);

/* Sends what this receiver holds back for the user's answer; the user goes on waiting. */
void rx_release(struct zcrp_entity *e);

/* The user of the connection sends a message: that answers what it got, if it got one. Locked. */
void rx_on_answer(struct zcrp_entity *e);

/* ---- a worker's turn: of the engine's thread, or whoever looks at a queue's sockets ---- */

/* How it ends. */
enum turn_end {
    TURN_LEFT,  /* a waiter receives, or nobody any more */
    TURN_NAPS,  /* for `nap`, whatever arrives */
    TURN_WAITS, /* nothing is there, as far as the socket tells */
};

/* Begins it: false if a waiter receives. `*messages` have ended well by then. And ends it: what it
 * found, as of rx_receive_all. */
bool rx_begin_turn(struct zcrp_entity *e, bool is_for_taker, uint64_t *messages);
enum turn_end rx_end_turn(struct zcrp_entity *e, enum arrival found, duration *nap);

/* How often one turn receives at most. Control that comes now and then, and what a taker waits for,
 * is received without a call to find out that there is no more: if there is, the next turn begins
 * at once, and receives more often. */
int rx_receives_of_turn(struct zcrp_entity *e, bool is_for_taker);

/* Receives until nothing is there any more, or `most` times. ARRIVAL_FULL: there may be more. */
enum arrival rx_receive_all(struct zcrp_entity *e, struct workspace *w, int most);

/* Says in memory that the worker sleeps: false if there is something. A waiter that has taken the
 * lease meanwhile, and sleeps, is woken then: no peer wakes it any more. */
bool rx_say_worker_asleep(struct zcrp_entity *reader);

/* The engine's: something arrived. When it is to be called again; see engine_duties. */
instant rx_on_arrival(void *client);

#endif
