/* The receiver's state: its parts, and what is read from several of them together. Each part has
 * its own struct, invariants and check; none knows the receiver, but for the timer, which reads it.
 *
 *     receiver.c   receiver_plan.c   receiver_land.c   receiver_take.c    messages, plans, what
 *          \            |                 |              /              landed, what goes back
 *           \-----------+--------+--------+-------------/
 *                                |
 *                        receiver_steps.h             what several parts do together; hellos
 *                                |
 *                        receiver_timer.h             reads all, decides what is due
 *                                |
 *     messages_in.h   receiver_session.h   receiver_ack.h   prediction.h */
#ifndef ZCRP_CORE_RECEIVER_STATE_H
#define ZCRP_CORE_RECEIVER_STATE_H

#include "core/number.h"
#include "core/path/joined_path.h"
#include "messages_in.h"
#include "prediction.h"
#include "receiver.h"
#include "receiver_ack.h"
#include "receiver_session.h"
#include "receiver_timer.h"

enum {
    RECEIVER_COOKIES = 64, /* given between two takes */
    RECEIVER_ASKS = 8,     /* requests for one offer: later a hello brings the next */
};

enum receiver_phase {
    RECEIVER_OPEN,
    RECEIVER_CLOSING,   /* says so until the peer confirms */
    RECEIVER_CLOSED,    /* the peer did not confirm the close, */
    RECEIVER_CONFIRMED, /* or it did, or there was none to be told */
};

/* Replies that may be due with the next takes, the most urgent first; a set of them. */
enum receiver_reply {
    REPLY_NONE = 0,
    REPLY_CONFIRMS = 1,     /* the close of the session before */
    REPLY_CLOSES = 2,       /* this session, with an acknowledgement */
    REPLY_ACKNOWLEDGES = 4, /* by the timer; not in the set */
    REPLY_PROBE = 8,        /* a probe of the path arrived */
    REPLY_REQUESTS = 16,    /* messages that wait */
    REPLY_COOKIE = 32,      /* for a question; there may be several */
    REPLY_VERSION = 64,     /* a hello of another version arrived */
};

/* The replies that are due, and what they need. */
struct receiver_replies {
    uint32_t due;                                  /* set of enum receiver_reply */
    struct path_probe probed;                      /* the probe to be answered */
    struct pairing foreign;                        /* what the other version's hello ended with */
    struct cookie_answer cookie[RECEIVER_COOKIES]; /* to be given, */
    uint32_t cookies;                              /* their count */
    uint64_t next_request;                         /* the next request starts at this message */
};

/* What is known of the message that is posted next, before it has a buffer. */
struct receiver_offers {
    bool are_wanted;
    uint64_t wanted;   /* for this message, */
    instant wanted_at; /* when the user's last wish counted */
    bool is_known;     /* an offer came, */
    uint64_t number;   /* for this message, */
    uint64_t size;     /* which has this number of bytes */
    uint32_t asked;    /* requests that have asked in vain */
};

/* Runs of one request, at most. */
enum { RECEIVER_RUNS = (CONTROL_BYTES - TRAILER_BYTES) / REQUEST_RUN_BYTES };

struct receiver_opening;

struct receiver {
    struct receiver_config config;    /* (c) */
    struct receiver_opening *opening; /* (c) with keys; else NULL */
    uint8_t *far;                     /* (c) the far block */
    struct messages_in messages;
    struct receiver_session session;
    struct receiver_ack ack;
    struct receiver_timer timer;
    struct prediction prediction;
    struct receiver_replies replies;
    struct receiver_offers offers;
    struct joined_path joined;
    struct receiver_counters counters;
    struct secret secret;
    enum receiver_phase phase;
    bool has_credit;         /* the sender reads what is posted (receiver_set_credit) */
    bool is_replaced;        /* it stays, and its sender's place is another's */
    bool is_agreed;          /* both ends know of the end (receiver_agree_close) */
    enum outcome told;       /* it stays: see receiver_told */
    enum outcome ended;      /* with keys: how its only session was lost; OK: it was not */
    uint64_t over;           /* when it closed, all messages below were over */
    uint64_t steady;         /* units that landed in place since one did not */
    struct interval planned; /* messages that the newest plan points at */
    uint64_t plans;          /* its number, which no receiver at this place has had */
    bool is_planned;         /* a plan is out */
    bool is_held;            /* somebody writes to memory that was planned, for all that is known */
};

static inline bool receiver_is_over(const struct receiver *r)
{
    return r->phase >= RECEIVER_CLOSED;
}

static inline bool receiver_is_due(const struct receiver *r, enum receiver_reply reply)
{
    return (r->replies.due & (uint32_t)reply) != 0;
}

static inline void receiver_set_due(struct receiver *r, enum receiver_reply reply)
{
    r->replies.due |= (uint32_t)reply;
}

static inline void receiver_clear_due(struct receiver *r, enum receiver_reply reply)
{
    r->replies.due &= ~(uint32_t)reply;
}

/* Is the next request to ask for an offer, and to be repeated until there is one? */
static inline bool receiver_awaits_offer(const struct receiver *r)
{
    const struct receiver_offers *o = &r->offers;
    bool is_known = o->is_known && o->number == r->messages.next;
    return o->are_wanted && !is_known && o->asked < RECEIVER_ASKS;
}

/* Has the sender said that it knows of every message that was announced? */
static inline bool receiver_is_known(const struct receiver *r)
{
    return r->session.known >= r->session.requested && r->messages.withdrawn == 0;
}

/* Are units that land there sealed? */
static inline bool receiver_is_sealed(const struct receiver *r, const struct landing *landing)
{
    return r->config.keyring != NULL && !landing->is_near;
}

#endif
