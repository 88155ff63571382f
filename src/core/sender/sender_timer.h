/* All policy of time on the sender. It is told facts, and says when something will be due and what
 * is due. It reads the rest of the sender, changes nothing but itself, and does none of what is
 * due: that is the caller's.
 *
 *     connect  no receiver was found in time, or hello after hello was refused: what is outstanding
 *              fails
 *     silence  the peer was silent for too long, or for some seconds in which question after
 *              question was refused: what is outstanding fails
 *     progress the peer is there, but has acknowledged nothing for too long: what
 *              is outstanding fails
 *     pace     the next burst may leave
 *     loss     a unit is late enough to count as lost
 *     probe    nothing came back for what was sent last: the oldest units go again (RFC 9002, 6.2)
 *     path     a larger datagram was sent to see if it arrives, and no answer came (path_mtu.h)
 *     hello    nothing is in transit, and something has to be heard from the peer; or the system
 *              says that it is gone
 *
 * When the next of these will be due is sender_deadline (sender.h). */
#ifndef ZCRP_CORE_SENDER_TIMER_H
#define ZCRP_CORE_SENDER_TIMER_H

#include "core/instant.h"
#include "core/path/refusals.h"

#include <stdbool.h>
#include <stdint.h>

struct sender;
struct sender_config;

struct sender_timer {
    instant heard;    /* of the peer, or when there was first something to be heard for */
    instant connect;  /* when a sender that is not paired fails; NEVER: it need not be */
    instant progress; /* when something in transit was acknowledged, or there was nothing */
    instant sent;     /* last burst */
    instant unsent;   /* the channel took nothing of a burst then, and nothing else was in transit;
                         0: it never was so */
    instant said;     /* last burst or hello, which the peer may have heard */
    instant hello;    /* when the next hello may be due */
    instant answered; /* when a hello last answered something */
    uint32_t probes;  /* probe timeouts in a row */
    uint32_t hellos;  /* hellos in a row without progress */
    instant resumed;  /* until then this side was stopped, the last time; 0: it never was */
    instant put_off;  /* no limit is due before; 0: none was put off (sender_timer_put_off) */
    bool was_eased;   /* the limit of progress was put off, since the last progress */

    struct refusals refusals; /* of hellos, which are the questions */
};

/* Things that can be due, in the order in which they are to be done. Once done they are due no
 * more. */
enum sender_due {
    DUE_UNPAIRED,        /* fail: no receiver was found, */
    DUE_PARTED,          /* the peer has closed, and has been asked for long enough what it has, */
    DUE_SILENT,          /* it is silent, */
    DUE_STALLED,         /* or acknowledges nothing */
    DUE_PACE,            /* the next burst need not wait any more */
    DUE_LOSS,            /* give up what is late */
    DUE_PROBE,           /* send the oldest units again */
    DUE_PATH,            /* the probe of the path was not answered */
    DUE_HELLO,           /* say hello, */
    DUE_QUESTION,        /* or ask for a receiver, */
    DUE_REST,            /* or say nothing, and wait as after a question, */
    DUE_END_UNCONFIRMED, /* or end the close: the peer does not answer, */
    DUE_END,             /* or there is none that would have to be told */
    DUE_NOTHING,
};

/* The first thing that is due by now; DUE_NOTHING if none is. O(1). */
enum sender_due sender_timer_due(const struct sender *s, instant now);

/* In what time what is sent now should be answered. */
duration sender_timer_round_trip(const struct sender *s);

/* Should the oldest units have gone again long ago? Then this side was stopped until now, with its
 * process or its host, and its clock does not tell how long the peer took for what left before. To
 * be called before anything is done that puts off when they go. */
void sender_timer_note_stop(struct sender_timer *t, instant now, const struct sender *s);

/* A limit is due: connect, silence or progress. If it has passed for long this side was stopped,
 * and what the peer has sent meanwhile waits to be heard. Then the limit is put off, once until
 * something is heard, and the limit of progress once until there is some: true. */
bool sender_timer_put_off(struct sender_timer *t, instant now, const struct sender *s,
                          enum sender_due due);

/* Has this side said something so lately that the peer does not miss it? */
bool sender_timer_has_spoken(const struct sender_timer *t, instant now,
                             const struct sender_config *config);

/* May something be answered by a hello now? At most once a millisecond, so that a flood is not
 * answered by another. It counts as answered then. */
bool sender_timer_allows_answer(struct sender_timer *t, instant now);

/* ---- facts ---- */

/* The session was left, or there is none yet. */
void sender_timer_on_leave(struct sender_timer *t, instant now);

/* There is a message where there was none; the sender `is_paired` already or not. */
void sender_timer_on_outstanding(struct sender_timer *t, instant now,
                                 const struct sender_config *config, bool is_paired);

/* The peer says that it takes only senders with keys, and this one has none: it fails soon, unless
 * it is paired before. */
void sender_timer_on_no_keys(struct sender_timer *t, instant now);

/* A close begins. */
void sender_timer_on_close(struct sender_timer *t, instant now);

/* Something of the pairing arrived; `has_finished`: there is only the close to be confirmed. */
void sender_timer_on_heard(struct sender_timer *t, instant now, const struct sender_config *config,
                           bool has_finished);

/* Something in transit was acknowledged. */
void sender_timer_on_progress(struct sender_timer *t, instant now);

/* A unit is in transit or waits to be repeated, and before there was none. */
void sender_timer_on_begin(struct sender_timer *t, instant now);

/* The path is another one: what was not answered so far says nothing of it. */
void sender_timer_on_moved(struct sender_timer *t, instant now);

/* A burst left. */
void sender_timer_on_sent(struct sender_timer *t, instant now);

/* The channel took nothing of that burst, and nothing else is in transit: until then the peer had
 * nothing to acknowledge. */
void sender_timer_on_unsent(struct sender_timer *t);

/* A probe timeout: the oldest units go again. True if nothing came back for so long that the
 * receiver may be another one by now. */
bool sender_timer_on_probe(struct sender_timer *t, instant now);

/* A hello left, an answer too. */
void sender_timer_on_said(struct sender_timer *t, instant now);

/* A hello of `s` left that waits for an answer. */
void sender_timer_on_hello(struct sender_timer *t, instant now, const struct sender *s);

/* A question whether the receiver is there has left, a hello or a handshake's datagram. */
void sender_timer_on_asked(struct sender_timer *t, instant now, const struct sender *s);

#endif
