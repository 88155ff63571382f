/* The receiver's parts, shared by the files that make it up; nobody else includes this.
 *
 *     receiver.c          create, post, cancel, events, close: the life of a message
 *     receiver_plan.c     where the next units are taken to belong
 *     receiver_land.c     what landed, datagram by datagram
 *     receiver_unit.c     a unit: whom it is for, and what becomes of it
 *     receiver_take.c     acknowledgements and requests that go out
 *     receiver_session.c  which sender this receiver is paired with
 *     receiver_timer.c    all policy of time */
#ifndef ZCRP_CORE_RECEIVER_STATE_H
#define ZCRP_CORE_RECEIVER_STATE_H

#include "control.h"
#include "intervals.h"
#include "messages_in.h"
#include "path_probe.h"
#include "prediction.h"
#include "receiver.h"

enum { CONFIRMATIONS_MOST = 8 }; /* of one close: a peer says it no more often */

enum receiver_phase {
    RECEIVER_OPEN,
    RECEIVER_CLOSING, /* says so until the peer confirms */
    RECEIVER_CLOSED,
};

struct receiver_session {
    struct pairing pairing; /* tag 0: no sender is bound */
    struct pairing left;    /* the session that the sender closed last */
    uint32_t confirmations; /* of that close, repeated */
    uint64_t message_base;  /* message number 0 of the session, in the table's numbers */
    uint64_t requested;     /* messages below were announced at least once, */
    uint64_t known;         /* and below this the sender has said so, or sent of them */
    bool has_units;         /* units of this session arrived */
};

/* What there is to be acknowledged. */
struct receiver_ack {
    struct intervals arrived; /* sequence numbers of the session */
    uint64_t newest;          /* the highest; meaningless while `arrived` is empty */
    instant newest_at;        /* when it came */
    uint32_t unsaid;          /* units that arrived since the last acknowledgement */
    uint64_t marks;           /* datagrams of the session that met congestion */
    bool has_ecn;             /* one of them could have said so */
    uint64_t credit;          /* bytes that acknowledgements may take unasked */
    instant at;               /* when it has to go out at the latest; NEVER: nothing new */
};

struct receiver_timers {
    instant heard;     /* of the peer, or when there was first something to be heard for */
    instant request;   /* when the request is repeated unless something is heard */
    instant closing;   /* when the close is said again */
    instant answered;  /* when a hello was last answered */
    uint32_t requests; /* repeated in a row */
    uint32_t closings;
};

struct receiver {
    struct receiver_config config;
    struct messages_in messages;
    struct receiver_session session;
    struct receiver_ack ack;
    struct receiver_timers timers;
    struct prediction prediction;
    struct receiver_counters counters;
    uint64_t steady; /* units that landed in place since one did not */
    uint64_t random;
    uint64_t next_request; /* the next request starts at this message */
    enum receiver_phase phase;
    struct path_probe probed; /* a probe of the path to be answered; its bytes are 0 if none is */
    bool request_due;
    bool closing_due;
    bool confirm_due; /* the close of session.left is to be confirmed */
    bool is_planned;  /* a plan is out */
    bool is_confirmed;
};

/* Wire number of a message of the session. */
static inline uint32_t receiver_wire_message(const struct receiver *r, uint64_t number)
{
    return (uint32_t)(number - r->session.message_base);
}

/* Starts a new session, with no sender bound. (session) */
void receiver_renew(struct receiver *r, instant now);

/* Is a unit with this pairing for the present session? */
static inline bool receiver_accepts(const struct receiver *r, struct pairing pairing)
{
    return pairing.tag != 0 && pairing.session == r->session.pairing.session &&
           pairing.tag == r->session.pairing.tag;
}

/* A unit on its way to its place. */
struct arrival {
    const struct segment *segment;
    const struct unit_trailer *trailer;
    struct message_in *message; /* NULL when that is over */
    uint64_t number;
    uint64_t seq;
    struct interval range; /* in the message */
};

/* A unit of the session landed: looks its message up, asks for the moves to its place and enters
 * it. True if that was done, or needs not be, and it will be acknowledged. (receiver_unit.c) */
bool receiver_on_unit(struct receiver *r, instant now, struct landing *landing, struct arrival *a);

/* So many units followed on the newest: each landed at its place and ends before what is missing
 * there does. `last` is the last of them, `range` what all brought. (receiver_unit.c) */
void receiver_on_row(struct receiver *r, instant now, const struct arrival *last, uint32_t units,
                     struct interval range);

/* Asks that the messages from `number` on are announced with the next take. (receiver_take.c) */
void receiver_announce(struct receiver *r, uint64_t number);

/* The first message that the sender may not know of, or the oldest if it knows all. */
uint64_t receiver_unknown(const struct receiver *r);

/* A hello arrived. (session) */
void receiver_on_hello(struct receiver *r, instant now, const struct hello *hello);

/* Facts for the timers. (receiver_timer.c) */
void receiver_timer_on_heard(struct receiver *r, instant now);
void receiver_timer_on_outstanding(struct receiver *r, instant now);
void receiver_timer_on_posted(struct receiver *r, instant now);
void receiver_timer_on_arrived(struct receiver *r, instant now, uint32_t units, uint64_t bytes);
void receiver_timer_on_asked(struct receiver *r, instant now);
void receiver_timer_on_disorder(struct receiver *r, instant now);
void receiver_timer_on_ack(struct receiver *r, uint64_t bytes);
void receiver_timer_on_request(struct receiver *r, instant now);
void receiver_timer_on_closing(struct receiver *r, instant now);
void receiver_timer_on_renew(struct receiver *r, instant now);

#endif
