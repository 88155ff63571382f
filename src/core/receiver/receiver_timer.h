/* All policy of time on the receiver. It is told facts, and says when something will be due and
 * what is due. It reads the rest of the receiver, changes nothing but itself, and does none of what
 * is due: that is the caller's.
 *
 *     silence  the peer was silent for too long, or for some seconds in which request after
 *              request was refused: what is posted fails
 *     ack      units arrived and nobody has said so yet
 *     request  the sender may not know what is posted, or may not be there
 *     closing  the close has not been confirmed
 *
 * The next of these, or of the acknowledgement's, is receiver_deadline (receiver.h).
 *
 * An acknowledgement that nobody asked for is paid for by what arrived: the way back may be far
 * slower than the way here, and has to carry what was asked for. */
#ifndef ZCRP_CORE_RECEIVER_TIMER_H
#define ZCRP_CORE_RECEIVER_TIMER_H

#include "core/instant.h"
#include "core/path/refusals.h"

#include <stdbool.h>
#include <stdint.h>

struct receiver;

struct receiver_timer {
    instant heard;     /* of the peer, or when there was first something to be heard for */
    instant ack;       /* when an acknowledgement has to go out at the latest; NEVER: no news */
    instant request;   /* when the request is repeated unless something is heard */
    instant posted;    /* when the first message was posted that is not announced */
    uint64_t oldest;   /* message that was not over when the last request left, */
    uint64_t expected; /* and the one that was to come next */
    instant closing;   /* when the close is repeated */
    instant answered;  /* when a hello was last answered */
    uint64_t credit;   /* bytes that acknowledgements may take unasked */
    uint32_t unsaid;   /* units that arrived since the last acknowledgement */
    uint32_t requests; /* repeated in a row */
    uint32_t closings; /* said in a row, since the last late unit */
    bool has_said;     /* often enough, once: a late unit does not undo that */
    instant put_off;   /* silence is not due before; 0: it was not put off */

    struct refusals refusals; /* of requests, which are the questions */

    instant given;       /* when the newest question, with this nonce, */
    uint64_t nonce;      /* was first given a cookie, which the sender brings back at once */
    instant asked;       /* when a request left that the sender answers at once; NEVER: none */
    uint64_t asked_for;  /* it has been answered when the sender knows of all messages below */
    duration round_trip; /* the shortest time that either took; 0: not known */

    uint64_t aging;      /* the message that shows how long they stay posted; */
    instant aging_since; /* when it was posted */
    duration age;        /* of the one before, when it ended */
};

/* Things that can be due, in the order in which they are to be done. Once done they are due no
 * more. */
enum receiver_due {
    RECEIVER_DUE_SILENT,  /* fail: the peer is silent */
    RECEIVER_DUE_REQUEST, /* announce what is posted */
    RECEIVER_DUE_CLOSING, /* say the close again, */
    RECEIVER_DUE_END,     /* or give it up: nobody confirms it */
    RECEIVER_DUE_NOTHING,
};

/* The first thing that is due by now; NOTHING if none is. An acknowledgement is due at `ack`. O(1).
 */
enum receiver_due receiver_timer_due(const struct receiver *r, instant now);

/* Both ends know of the end, and this side has said its close often enough, at some time: it needs
 * no confirmation, and only waits for what the peer may ask. */
bool receiver_timer_has_said_enough(const struct receiver *r);

/* The sender is silent. If the limit has passed for long this side was stopped, and what the sender
 * has sent meanwhile waits to be heard. Then the limit is put off, once until something is heard:
 * true. */
bool receiver_timer_put_off(struct receiver_timer *t, instant now, const struct receiver *r);

/* Is the request that is due a question, which the sender answers? It is one if it repeats what the
 * sender may know. */
bool receiver_timer_asks(const struct receiver *r, instant now);

/* May a hello that brings no news be answered now? At most once a millisecond. */
bool receiver_timer_allows_answer(const struct receiver_timer *t, instant now);

/* ---- facts ---- */

/* The session was left, or there is none yet. */
void receiver_timer_on_leave(struct receiver_timer *t, instant now);

/* There is a message where there was none. */
void receiver_timer_on_outstanding(struct receiver_timer *t, instant now);

/* Will the next message that is posted be timed? */
bool receiver_timer_times_post(const struct receiver *r);

/* A message was posted. */
void receiver_timer_on_posted(struct receiver_timer *t, instant now, const struct receiver *r);

/* Is what was posted to be announced at once? The sender knows of few messages, or there is much to
 * be announced together. While the sender uses none of the messages that it knows, and it knows of
 * more than one, three times as many are announced together, and at least 16: so a user who posts
 * many in a row needs few requests. */
bool receiver_timer_is_urgent(const struct receiver *r);

/* Has something been posted that waits for more, and that the sender may need soon, although it
 * uses none of what it knows? */
bool receiver_timer_gathers(const struct receiver *r);

/* Is it to be announced with an acknowledgement? It has waited for an eighth of the time that
 * messages have been posted when they arrive. */
bool receiver_timer_may_announce(const struct receiver *r, instant now);

/* A request is due at once, and repeated soon. */
void receiver_timer_on_ask(struct receiver_timer *t, instant now);

/* Something of the pairing arrived. */
void receiver_timer_on_heard(struct receiver_timer *t, instant now, const struct receiver *r);

/* `units` arrived, of `bytes` with their trailers; `intervals` are to be told. */
void receiver_timer_on_arrived(struct receiver_timer *t, instant now, uint32_t units,
                               uint64_t bytes, uint32_t intervals);

/* The sender asks for an acknowledgement; or what arrived was out of order. */
void receiver_timer_on_asked(struct receiver_timer *t, instant now);
void receiver_timer_on_disorder(struct receiver_timer *t, instant now, uint32_t intervals);

/* The question with this nonce is given a cookie; its sender is bound. A stranger's question in
 * between costs the sample of the round trip, and nothing else. */
void receiver_timer_on_cookie(struct receiver_timer *t, instant now, uint64_t nonce);
void receiver_timer_on_bound(struct receiver_timer *t, instant now, uint64_t nonce);

/* A datagram of the sender has come, and it knows of all messages below the session's `known`. So
 * the request that it answers is not repeated soon. */
void receiver_timer_on_known(struct receiver_timer *t, instant now, const struct receiver *r);

/* A hello was answered, an acknowledgement of `bytes` left, a request did (`is_answered`: at
 * once, because the sender knew of nothing to send), or the close. */
void receiver_timer_on_answer(struct receiver_timer *t, instant now);
void receiver_timer_on_ack(struct receiver_timer *t, uint64_t bytes);
void receiver_timer_on_request(struct receiver_timer *t, instant now, const struct receiver *r,
                               bool is_answered);
void receiver_timer_on_closing(struct receiver_timer *t, instant now);

/* A request left that names messages: the sender answers it. An empty one is not answered. */
void receiver_timer_on_question(struct receiver_timer *t, instant now, const struct receiver *r);

/* A close begins; or a unit came, which shows that the sender does not know of the close. */
void receiver_timer_on_close(struct receiver_timer *t, instant now);
void receiver_timer_on_late_unit(struct receiver_timer *t);

#endif
