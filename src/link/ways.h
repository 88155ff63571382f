/* What a half does with its transport (transport/transport.h): it moves the way on at the end of
 * each locked section, tells its machine what has changed, and lets go of what the peer does not
 * read any more. */
#ifndef ZCRP_LINK_WAYS_H
#define ZCRP_LINK_WAYS_H

#include "transport/transport.h"

struct zcrp_entity;
struct zcrp_stats;

/* What a locked section leaves to do when the mutex is free. */
struct ways_errand {
    struct transport_errand transport;
    bool begins; /* memory is there from now on, and the peer may have written already */
};

/* At the end of a locked section. With `may_meet` that may leave it to the caller to meet the peer:
 * then nobody else does. Locked, as all of these unless a comment says otherwise. */
void ways_tend(struct zcrp_entity *e, bool may_meet, struct ways_errand *errand);

/* Is the peer to be met before anything else is sent? */
bool ways_must_meet(const struct zcrp_entity *e);

/* Does what was left to do. True if it met: then another locked section has to follow. Not locked.
 */
bool ways_run(struct zcrp_entity *e, struct ways_errand *errand);

/* Lets go of what a sender's peer has read, which makes room; the section touches it then. */
void ways_reap(struct zcrp_entity *e);

/* The same, if any have gone as a whole: whatever the peer says, what it had read by then has
 * arrived. Where such messages have only ended, the section does not touch it: whatever ends the
 * section tells of them. */
void ways_reap_wholes(struct zcrp_entity *e);

/* The same before a sender hears a word of its peer's, which may end messages: also those behind a
 * unit that a thread pushes, which is let go of only once that thread comes to it. */
void ways_reap_before_word(struct zcrp_entity *e);

/* A sender reads in memory which buffers its peer has for what is to be sent; a receiver shows its
 * own there. True if the peer wants to be told of them. Only where memory is possible. */
bool ways_tend_credit(struct zcrp_entity *e);

/* Does a sender's peer show the buffer that is needed next? */
bool ways_find_credit(const struct zcrp_entity *e);

/* The message is decided, or about to be: the peer reads no more of it. One that went as a whole,
 * and was not read, is to be sent in units. */
void ways_take_back(struct zcrp_entity *e, uint64_t message);

/* Pushes what a sender has claimed (transport_claim_push). Not locked. */
void ways_push(struct zcrp_entity *e);

/* Is a call out that may read from the peer's memory, or write to it? */
bool ways_are_crossing(const struct zcrp_entity *e);

/* A receiver looks whether its peer is late: until it is not, nothing is received and no message
 * ends. */
void ways_look_late(struct zcrp_entity *e);

/* Says in the memory of this half that nobody looks there. False if there is something already. */
bool ways_say_asleep(struct zcrp_entity *e);

/* Somebody waits for a sender's messages from now on: those that the peer has read by now end, and
 * it says when others have. */
void ways_say_awaited(struct zcrp_entity *e);

void ways_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats);

/* The burst was ABSENT, and is given back: its pages are fetched. Leaves the mutex meanwhile. */
void ways_fetch(struct zcrp_entity *e);

#endif
