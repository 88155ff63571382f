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

#include "core/adt/intervals.h"
#include "core/wire/control.h"
#include "messages_in.h"
#include "prediction.h"
#include "receiver.h"

enum {
    RECEIVER_COOKIES = 64, /* given between two takes */
};

enum receiver_phase {
    RECEIVER_OPEN,
    RECEIVER_CLOSING, /* says so until the peer confirms */
    RECEIVER_CLOSED,
};

struct receiver_session {
    struct pairing pairing; /* both 0: no sender is bound */
    uint64_t nonce;      /* of the hello that bound it; 0 once its sender has been heard of since */
    struct pairing left; /* the session that the sender closed last */
    uint64_t message_base; /* message number 0 of the session, in the table's numbers */
    uint64_t requested;    /* messages below were announced at least once, */
    uint64_t known;        /* and below this the sender has said so, or sent of them */
    bool has_units;        /* units of this session arrived */
};

enum { ACK_REPORTS = 3 }; /* acknowledgements that each interval is reported in */

/* What there is to be acknowledged. */
struct receiver_ack {
    struct intervals arrived;   /* sequence numbers of the session */
    uint64_t newest;            /* the highest; meaningless while `arrived` is empty */
    instant newest_at;          /* when it came */
    uint64_t said[ACK_REPORTS]; /* the last acknowledgements, oldest first, told all below these */
    bool is_trimmed;            /* lower intervals were forgotten, because they had been told */
    uint32_t unsaid;            /* units that arrived since the last acknowledgement */
    uint64_t marks;             /* datagrams of the session that met congestion */
    bool has_ecn;               /* one of them could have said so */
    uint64_t credit;            /* bytes that acknowledgements may take unasked */
    instant at;                 /* when it has to go out at the latest; NEVER: nothing new */
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
    struct secret secret;
    uint64_t next_request; /* the next request starts at this message */
    enum receiver_phase phase;
    struct path_probe probed; /* a probe of the path to be answered; its bytes are 0 if none is */
    struct cookie_answer cookie[RECEIVER_COOKIES]; /* to be given with the next takes */
    uint32_t cookies;
    struct pairing foreign;  /* what a hello of another version ended with */
    struct interval planned; /* messages that the newest plan points at */
    bool request_due;
    bool closing_due;
    bool confirm_due; /* the close of session.left is to be confirmed */
    bool is_planned;  /* a plan is out */
    bool version_due; /* that hello is to be answered */
    bool was_bound;   /* once, in any session */
    bool is_confirmed;
};

/* Wire number of a message of the session. */
static inline uint32_t receiver_wire_message(const struct receiver *r, uint64_t number)
{
    return (uint32_t)(number - r->session.message_base);
}

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
void receiver_timer_on_unbind(struct receiver *r, instant now);

/* Leaves the session: no sender is bound. (session) */
void receiver_unbind(struct receiver *r, instant now);

/* Is a unit with this pairing for the present session? */
static inline bool receiver_accepts(const struct receiver *r, struct pairing pairing)
{
    return pairing.session == r->session.pairing.session && pairing.session != 0 &&
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
    bool is_in_place;      /* something of it was missing, and lies where it belongs */
};

/* A unit of the session landed: looks its message up, asks for the moves to its place and enters
 * it. True if that was done, or needs not be, and it will be acknowledged. (receiver_unit.c) */
bool receiver_on_unit(struct receiver *r, instant now, struct landing *landing, struct arrival *a);

/* So many units followed on the newest: each landed at its place and ends before what is missing
 * there does. `last` is the last of them, `range` what all brought. (receiver_unit.c) */
void receiver_on_row(struct receiver *r, instant now, const struct arrival *last, uint32_t units,
                     struct interval range);

/* A number below the newest arrived: what lies around it is told again. (receiver_take.c) */
void receiver_ack_late(struct receiver_ack *ack, uint64_t seq);

/* Asks that the messages from `number` on are announced with the next take. (receiver_take.c) */
void receiver_announce(struct receiver *r, uint64_t number);

/* The first message that the sender may not know of, or the oldest if it knows all. */
uint64_t receiver_unknown(const struct receiver *r);

/* A hello arrived; or one of another version, of which only the numbers at its end are known.
 * (session) */
void receiver_on_hello(struct receiver *r, instant now, const struct hello *hello);
void receiver_on_foreign_hello(struct receiver *r, struct pairing echoed);

/* Something of the present pairing arrived. */
static inline void receiver_on_partner(struct receiver *r, instant now)
{
    r->session.nonce = 0;
    receiver_timer_on_heard(r, now);
}

#endif
