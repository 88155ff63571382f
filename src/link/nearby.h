/* What an entity has to do with its neighbour (transport/shm/neighbour.h): it meets the peer of
 * each session once, lets units and answers take the short way while the neighbour is there, and
 * lets go of what the neighbour does not read any more.
 *
 * The neighbour changes only under the mutex, and goes away only while no thread sends, receives or
 * pushes.
 * So a thread that claimed one of these under the mutex uses it without. */
#ifndef ZCRP_LINK_NEARBY_H
#define ZCRP_LINK_NEARBY_H

#include "transport/shm/neighbour.h"

#include <stdbool.h>

struct zcrp_entity;
struct zcrp_stats;

/* All (m). While `is_meeting` the thread that does has the neighbour, which is not here yet. */
struct nearby {
    bool is_possible;        /* (c) */
    bool is_required;        /* (c) units take no other way */
    struct commons *commons; /* (c) of the connection's messages, which holds them; NULL: none */
    struct neighbour *neighbour; /* NULL: there is none, */
    bool is_here;                /* and it can be used */
    bool takes_units;            /* of a sender: it is ready for units */
    instant found;               /* the neighbour was */
    bool is_first;               /* and units are read from it before the socket; by the thread that
                                    receives */
    bool is_left;                /* and it goes away as soon as nobody uses it */
    bool is_meeting;             /* a thread asks the system about it: nearby_meet */
    bool must_call;              /* the neighbour sleeps; of the thread that sends */
    bool is_pushing;             /* a thread of this sender pushes */
    uint64_t crossings;          /* claims so far, of a receiver's arrivals or a sender's pushes */
    _Atomic bool has_pushed;     /* (a) since its waiter slept last */
    bool is_late;                /* of a receiver: see neighbour_is_late */
    struct pairing tried;        /* the last session in which this was tried; a sender that finds */
    instant again;               /* no door knocks again, at this time, */
    duration patience;           /* so much later than before, KNOCK_LAST: not any more */
    enum neighbour_refusal why;  /* it did not work */
    uint64_t bytes;              /* that former neighbours carried */
};

/* Of an entity whose channels are open. ZCRP_OK, or APART if there can be no neighbour, and there
 * has to be one. */
__attribute__((warn_unused_result)) int nearby_init(struct zcrp_entity *e);
void nearby_fini(struct zcrp_entity *e);
void nearby_abandon(struct zcrp_entity *e);

/* What a locked section leaves to do when the mutex is free, because it takes system calls. */
struct nearby_errand {
    struct neighbour *gone; /* for neighbour_free; NULL: none */
    bool begins;            /* the neighbour is here from now on, and may have called already */
    bool meets;             /* for nearby_meet; if not, the rest is not set: */
    bool has_secret;
    struct pairing pairing; /* of the session to meet in; no session: one looks how it goes on */
    uint8_t secret[NEIGHBOUR_SECRET];
};

/* Does what is to be done, within a locked section that is about to end. The caller does what is
 * left to do. With `may_meet` that may be to meet the neighbour: then nobody else does. */
void nearby_tend(struct zcrp_entity *e, bool may_meet, struct nearby_errand *errand);

/* Meets the neighbour, or looks how that goes on. Not locked. A locked section has to follow. */
void nearby_meet(struct zcrp_entity *e, struct nearby_errand *errand);

/* When somebody has to look at the neighbour, by the time: where units wait for that. Locked. */
instant nearby_deadline(const struct zcrp_entity *e);

/* The neighbour, if it is there; NULL if not. By a thread that sends or receives. Locked. */
struct neighbour *nearby_of(const struct zcrp_entity *e);

/* Lets go of what a sender's neighbour has read, which makes room. There is a neighbour. Locked. */
void nearby_reap(struct zcrp_entity *e);

/* A sender sends nothing for a moment, until all that took the socket has arrived. Locked. */
bool nearby_is_clearing(const struct zcrp_entity *e);

/* The same, to send to: the units of a sender, the answers of a receiver. */
struct neighbour *nearby_to_send(const struct zcrp_entity *e);

/* Sends a burst to the neighbour (NULL: there is none). BLOCKED: it does not take it, so the burst
 * takes the socket. Else as channel_send; `*held` as of neighbour_send. Not locked. */
enum channel_verdict nearby_send(struct zcrp_entity *e, struct neighbour *n,
                                 const struct burst *burst, uint32_t *sent, bool *held);

/* The message is decided: the neighbour reads no more of it. Locked. */
void nearby_take_back(struct zcrp_entity *e, uint64_t message);

/* Claims what this sender can push for its neighbour at once. Locked. True if the caller is to push
 * it, outside. */
bool nearby_claim(struct zcrp_entity *e);
void nearby_push(struct zcrp_entity *e);

/* Is a call out that may read from the peer's memory, or write to it? Locked. */
bool nearby_is_crossing(const struct zcrp_entity *e);

/* The thread that receives has asked the neighbour, or looks again whether the sender is still
 * late. Until it is not, nothing is received and no message ends. Locked. */
void nearby_look_late(struct zcrp_entity *e);

/* Nobody looks whether the neighbour has something, so it is to call: false if it has something
 * already. Locked. */
bool nearby_sleep(struct zcrp_entity *e);

/* Somebody looks. True if there is a neighbour to look at. Locked. */
bool nearby_wake(struct zcrp_entity *e);

void nearby_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats);

#endif
