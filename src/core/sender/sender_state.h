/* The sender's state: its parts, and what is read from several of them together. Four files may
 * change it (sender.c, sender_take.c, sender_receive.c, sender_parting.c), by the verbs of the
 * parts, and the steps that they have in common (sender_steps.h). Each part has its own struct,
 * invariants and check; none knows the sender, but for the timer, which reads it.
 *
 *     sender.c   sender_take.c   sender_receive.c     messages in, bursts out, datagrams in
 *         \            |            /
 *          \     sender_steps.h    /                  what several parts do together
 *           \          |          /
 *         sender_timer.h  (reads all, decides what is due)
 *                      |
 *     recovery.h   sender_session.h   flow.h   sender_path.h   messages_out.h */
#ifndef ZCRP_CORE_SENDER_STATE_H
#define ZCRP_CORE_SENDER_STATE_H

#include "flow.h"
#include "messages_out.h"
#include "recovery.h"
#include "sender.h"
#include "sender_path.h"
#include "sender_session.h"
#include "sender_timer.h"

enum sender_phase {
    SENDER_OPEN,
    SENDER_CLOSING,   /* no submits; once idle, says so until the peer confirms */
    SENDER_CLOSED,    /* the peer did not confirm the close, */
    SENDER_CONFIRMED, /* or it did, or there was none to be told */
};

struct sender {
    struct sender_config config; /* (c) */
    uint8_t *far;                /* (c) the far block */
    struct messages_out messages;
    struct recovery recovery;
    struct flow flow;
    struct sender_path path;
    struct sender_session session;
    struct sender_timer timer;
    struct sender_counters counters;
    struct secret secret;
    uint64_t bytes_unasked;          /* sent since an acknowledgement was asked for, */
    uint64_t units_unasked;          /* and units */
    uint64_t burst_bytes;            /* of the present burst at most, */
    uint64_t burst_units;            /* and datagrams, */
    enum offload_path_burst leaving; /* and how it leaves */
    enum sender_phase phase;
    enum outcome ended; /* with which a sender that stays, or has keys, has lost its peer; OK: it
                           has not */
    uint32_t early;     /* units sent before the peer was heard, and not known to have arrived */
    uint64_t challenge; /* to be answered; 0: none */
    instant moves_from; /* when the peer can have moved again, at the earliest */
    bool has_ignored;   /* a request named messages too far ahead to be kept */
    bool is_blocked;    /* the channel took none of the last units */
    bool is_agreed;     /* both ends know of the end (sender_agree_close) */
};

static inline bool sender_is_over(const struct sender *s)
{
    return s->phase >= SENDER_CLOSED;
}

/* Closing, and nothing is left to be sent. */
static inline bool sender_has_finished(const struct sender *s)
{
    return s->phase != SENDER_OPEN && messages_out_is_idle(&s->messages);
}

/* Is there a unit that the peer is to acknowledge: in transit, or to be repeated? */
static inline bool sender_is_waiting(const struct sender *s)
{
    return s->recovery.in_transit.units > 0 || s->recovery.to_send.count > 0;
}

/* The unit that is to be sent next; false if there is none. */
static inline bool sender_head(struct sender *s, struct fragment *head)
{
    uint32_t data = s->path.size.data;
    if (s->session.is_early && data > EARLY_DATA)
        data = EARLY_DATA;
    return recovery_head(&s->recovery, data, head);
}

/* Bytes that may be in transit. */
static inline uint64_t sender_window(const struct sender *s)
{
    const uint64_t early = EARLY_UNITS * (EARLY_DATA + TRAILER_BYTES);
    uint64_t window = flow_window(&s->flow);
    return s->session.is_early && window > early ? early : window;
}

#endif
