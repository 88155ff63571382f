/* The sender's parts, shared by the files that make it up; nobody else includes this.
 *
 *     sender.c          create, submit, cancel, events, close: the life of a message
 *     sender_room.c     what may go: the window, the tables, the burst
 *     sender_take.c     cutting bursts out of the units to send
 *     sender_receive.c  acknowledgements and requests
 *     sender_loss.c     what is lost, and what only came late
 *     sender_path.c     how large units may be
 *     sender_session.c  which receiver this sender is paired with
 *     sender_timer.c    all policy of time */
#ifndef ZCRP_CORE_SENDER_STATE_H
#define ZCRP_CORE_SENDER_STATE_H

#include "core/adt/intervals.h"
#include "core/congestion/congestion.h"
#include "core/congestion/pacing.h"
#include "core/congestion/rtt.h"
#include "core/path/ecn_path.h"
#include "core/path/path_mtu.h"
#include "core/path/unit_size.h"
#include "core/wire/control.h"
#include "left_out.h"
#include "messages_out.h"
#include "persistence.h"
#include "sender.h"
#include "tolerance.h"
#include "units_given_up.h"
#include "units_in_transit.h"
#include "units_to_send.h"

enum { CONFIRMATIONS_MOST = 8 }; /* of one close: a peer says it no more often */

enum sender_phase {
    SENDER_OPEN,
    SENDER_CLOSING, /* no submits; once idle, says so until the peer confirms */
    SENDER_CLOSED,
};

/* The question whether a receiver is there. What answers it carries its tag and its nonce. */
struct sender_question {
    uint32_t tag; /* 0: nothing is asked */
    uint64_t nonce;
    uint64_t cookie;  /* that the receiver gave, and */
    uint32_t session; /* the session that it named with it; 0: none */
    uint32_t hellos;  /* that have asked, */
    instant asked_at; /* when the first of them left, */
    uint32_t at_once; /* and how many answered a cookie since the timer sent one */
    bool is_due;      /* the next hello asks */
};

struct sender_session {
    struct pairing pairing; /* session 0: not paired */
    struct pairing left;    /* the session that ended last: its peer's close is still confirmed */
    struct sender_question question;
    uint32_t confirmations; /* of that close, repeated */
    uint64_t message_base;  /* message number 0 of the session, in the table's numbers */
    uint64_t seq_base;      /* the same of sequence numbers */
    uint16_t marks;         /* of congestion in this session, as the receiver counts them */
    bool has_sent;          /* a unit was sent in this session */
    bool has_closed;        /* the peer was told of the close in this session */
    bool has_shown_cookie;  /* a receiver may have bound the tag */
    bool is_confirming;     /* the next hello confirms the close of `left` */
};

struct sender_timers {
    instant heard;    /* of the peer, or when there was first something to be heard for */
    instant connect;  /* when a sender that is not paired fails; NEVER: it need not be */
    instant progress; /* when something in transit was acknowledged, or there was nothing */
    instant sent;     /* last burst */
    instant loss;     /* when the next unit in transit is late enough to be lost */
    instant hello;    /* when the next hello may be due */
    instant answered; /* when a hello last answered something */
    uint32_t probes;  /* probe timeouts in a row */
    uint32_t hellos;  /* hellos in a row without progress */
};

struct sender {
    struct sender_config config;
    struct messages_out messages;
    struct units_to_send to_send;
    struct units_in_transit in_transit;
    struct rtt rtt;
    struct congestion congestion;
    struct delivery delivery;
    struct pacing pacing;
    struct unit_size unit_size;
    struct path_mtu path;
    struct ecn_path ecn;
    struct tolerance tolerance;
    struct units_given_up given_up;
    struct persistence persistence;
    struct left_out left_out;
    struct sender_session session;
    struct sender_timers timers;
    struct sender_counters counters;
    struct secret secret;
    uint64_t newest;             /* highest sequence number that was acknowledged */
    uint64_t capacity;           /* bytes the receiver's socket holds, as it says */
    uint64_t since_answer;       /* bytes sent since an acknowledgement was asked for, */
    uint64_t units_since_answer; /* and units */
    uint32_t probe_credit;       /* units that may leave in spite of the window */
    enum sender_phase phase;
    enum outcome unpaired; /* why a sender that is never paired fails, as far as is known */
    bool was_paired;       /* once, in any session */
    bool is_limited;       /* the congestion window or its pace held the last burst back */
    bool hello_due;        /* one goes out with the next take */
    bool has_ignored;      /* a request named messages too far ahead to be kept */
    bool is_confirmed;     /* the peer confirmed the close, or there was none */
};

/* Wire numbers of the session. */
static inline uint32_t sender_wire_message(const struct sender *s, uint64_t number)
{
    return (uint32_t)(number - s->session.message_base);
}

static inline uint32_t sender_wire_seq(const struct sender *s, uint64_t seq)
{
    return (uint32_t)(seq - s->session.seq_base);
}

static inline bool sender_is_paired(const struct sender *s)
{
    return s->session.pairing.session != 0;
}

static inline bool sender_has_pairing(const struct sender *s, struct pairing pairing)
{
    return pairing.session == s->session.pairing.session && pairing.tag == s->session.pairing.tag;
}

/* Closing, and nothing is left to be sent. */
static inline bool sender_has_finished(const struct sender *s)
{
    return s->phase != SENDER_OPEN && messages_out_is_idle(&s->messages);
}

/* A closing sender whose last LIVE message is over does not wait for buffers to tell the receiver
 * of those that will not come. To be called when either may have become true. (sender.c) */
void sender_finish(struct sender *s);

/* Bytes that may be in transit. (sender_room.c) */
uint64_t sender_window(const struct sender *s);

/* Has this window room for a burst that is worth its call? */
bool sender_has_room(const struct sender *s, uint64_t window);

/* May this unit go, in a burst; and may one begin with it? */
bool sender_may_send(const struct sender *s, const struct fragment *f);
bool sender_may_begin(const struct sender *s, const struct fragment *f);

/* Has the burst room for another datagram, all of one size but the last (burst.h, I2)? */
bool sender_burst_fits(const struct sender *s, const struct burst *b, const struct fragment *f);

/* How many units of the row of `f`, which itself may go, can go with this burst: what
 * sender_may_send and sender_burst_fits would say of one after the other, said at once. */
uint32_t sender_row_length(const struct sender *s, const struct burst *b, const struct fragment *f);

/* Looks at a LIVE message whose buffer may just have become known: refuses it if it was taken back
 * or does not fit. (sender.c) */
void sender_match(struct sender *s, uint64_t number);

/* The LIVE message turns VOID, and the receiver will be told. (sender.c) */
void sender_refuse(struct sender *s, struct message_out *message, uint8_t reason,
                   enum outcome outcome);

/* Moves a unit that never left from transit to the units to send. (sender_loss.c) */
void sender_requeue(struct sender *s, uint64_t seq);

/* The same with one that left, to have it answered; its acknowledgement is still waited for. */
void sender_probe_unit(struct sender *s, uint64_t seq);

/* What an acknowledgement settles, for congestion control. */
struct settled {
    uint64_t bytes;
    uint64_t recent; /* of those, sent since the last reduction */
    instant sent;    /* the newest */
    uint64_t newest; /* highest sequence number, */
    uint64_t oldest; /* and lowest; both meaningless while bytes is 0 */
};

/* All units in transit in [first, last) have arrived at the peer; adds them. (sender_receive.c) */
void sender_acknowledge(struct sender *s, uint64_t first, uint64_t last, struct settled *settled);

/* So many units less of a message are out: they are known to have arrived. (sender_receive.c) */
void sender_settle(struct sender *s, uint64_t number, bool is_void, uint32_t units);

/* Gives up what is in transit, older than `newest`, and late by the tolerance; sets the loss timer
 * for the rest. (sender_loss.c) */
void sender_detect_losses(struct sender *s, instant now, uint64_t newest);

/* These transmissions have arrived: those that were given up widen the tolerance.
 * (sender_loss.c) */
void sender_notice_late(struct sender *s, instant now, uint64_t newest, struct interval arrived);

/* What repeats transmissions that were noticed to be late need not; adds it. (sender_loss.c) */
void sender_settle_late(struct sender *s, struct settled *settled);

/* What an acknowledgement of `newest` may say of persistent congestion, and, behind the losses,
 * which have reduced the window already, what it has said: its first interval begins at `first`.
 * (sender_loss.c) */
struct persistence_look sender_look_for_persistence(const struct sender *s, instant now,
                                                    uint64_t newest);
void sender_judge_persistence(struct sender *s, instant now, const struct persistence_look *look,
                              uint64_t first);

/* Asks for a receiver with the next hello, or goes on asking: with the cookie that it has, which
 * may be a dead receiver's; a live one then gives another. (sender_session.c) */
void sender_ask(struct sender *s);
void sender_stop_asking(struct sender *s);

/* A cookie arrived: false if it answers no question of this sender's. */
bool sender_on_cookie(struct sender *s, instant now, const struct cookie_answer *answer);

/* A request arrived that is not of the present pairing: true if it answers the question; then its
 * session is entered. */
bool sender_enters(struct sender *s, instant now, const struct request *request);

/* An acknowledgement arrived that is not of the present pairing: if it closes the session that was
 * left, that is confirmed again. */
void sender_confirm_again(struct sender *s, const struct block_ack *ack);

/* A listener of another version answered. */
void sender_on_version_answer(struct sender *s, struct pairing echoed);

/* Leaves the session: everything in transit is forgotten, an open sender asks for another. */
void sender_leave(struct sender *s, instant now);

/* Writes the hello that is due. */
void sender_say_hello(struct sender *s, instant now, struct burst *burst);

/* Bytes of data in the largest unit that such a datagram holds. (sender_path.c) */
uint32_t sender_unit_data(uint32_t unit_bytes);

/* A probe of the path was answered, or not in time. (sender_path.c) */
void sender_path_on_answer(struct sender *s, instant now, const struct path_probe *answer);
void sender_path_expire(struct sender *s, instant now);

/* A unit was given up, or nothing came back in time: of these bytes, its trailer included. */
void sender_path_on_lost(struct sender *s, instant now, instant sent, uint32_t bytes);
void sender_path_on_timeout(struct sender *s, instant now, uint32_t bytes);

/* Writes the probe that is wanted; false if it would be of no use. */
bool sender_path_probe(struct sender *s, instant now, struct burst *burst);

/* The channel took `sent` datagrams of a control burst, which may be a probe. */
void sender_path_on_sent(struct sender *s, const struct burst *burst, uint32_t sent);

enum { PROBE_UNITS = 2 }; /* RFC 9002, 6.2.4; with a probe of the path one of them */

/* The oldest units in transit go again, whatever the window says; so an acknowledgement comes back,
 * and tells what became of the others. Returns the largest one's bytes of data. (sender_timer.c) */
uint32_t sender_timer_repeat_oldest(struct sender *s, uint32_t units);

/* In what time what is sent now should be answered. (sender_timer.c) */
duration sender_timer_round_trip(const struct sender *s);

/* Facts for the timers. (sender_timer.c) */
void sender_timer_on_heard(struct sender *s, instant now);
void sender_timer_on_progress(struct sender *s, instant now);
void sender_timer_on_begin(struct sender *s, instant now);
void sender_timer_on_sent(struct sender *s, instant now);
void sender_timer_on_hello(struct sender *s, instant now);
void sender_timer_on_outstanding(struct sender *s, instant now);
void sender_timer_on_leave(struct sender *s, instant now);

#endif
