/* Congestion control, behind an interface: facts go in; a window, a rate and so the size of bursts
 * come out.
 *
 *     acknowledged, with a sample of the delivery rate  \               / window, bytes in transit
 *     lost, marked, persistently lost                    -> [ a kind ] -
 *     spurious: was not lost after all                  /               \ rate, bytes a second
 *
 *     none    a link that is nobody else's: the largest window, no pacing
 *     reno    RFC 5681 and RFC 9002, 7: enough to be harmless
 *     cubic   RFC 9438, with HyStart++ (RFC 9406): fills a buffer, and takes each loss for one
 *     bbr     draft-ietf-ccwg-bbr: a model of the path; loss that is not congestion is borne
 *
 * An acknowledgement is one fact, however many units it names. Facts come in the order of time.
 *
 * I1  least <= window <= most; window == most for `none`.
 * I2  rate is 0 for `none`, and where no round trip is known. */
#ifndef ZCRP_CORE_CONGESTION_H
#define ZCRP_CORE_CONGESTION_H

#include "bbr.h"
#include "cubic.h"
#include "delivery.h"
#include "hystart.h"

enum congestion_kind { CONGESTION_RENO, CONGESTION_NONE, CONGESTION_CUBIC, CONGESTION_BBR };

/* What one block acknowledgement tells. Bytes count whole datagrams. */
struct congestion_ack {
    instant now;
    instant sent;        /* the newest of what is acknowledged */
    uint64_t bytes;      /* newly acknowledged */
    uint64_t recent;     /* of those, sent since `recovery` */
    uint64_t in_transit; /* still */
    uint64_t delivered;  /* acknowledged since the beginning */
    duration round_trip; /* measured with it; 0: none was */
    duration smoothed;   /* round trip; 0: not known yet */
    duration lowest;
    bool was_limited; /* the window or the rate held the sender back, not the application */
    struct delivery_sample sample;
};

/* One unit that was given up. */
struct congestion_loss {
    instant now;
    instant sent;
    uint64_t bytes;
    struct delivery_sample sample; /* without a rate */
};

/* What a reduction changed, so that it can be undone. */
struct congestion_undo {
    instant since; /* what was sent before that is an earlier reduction's */
    uint64_t window, threshold;
    struct cubic cubic;
    uint32_t lost;     /* units given up that were sent from then on, and before it */
    uint32_t spurious; /* of those, that had arrived */
    bool is_collapsed; /* down to `least` since, because of persistent congestion */
};

struct congestion {
    enum congestion_kind kind;
    uint64_t window;  /* bytes that may be in transit */
    uint64_t rate;    /* bytes a second to pace at; 0: as fast as the window lets */
    uint64_t least;   /* window never falls below: two units */
    uint64_t most;    /* nor rises above; never below `least` */
    uint64_t unit;    /* bytes of a full unit with its trailer */
    instant recovery; /* what was sent before tells only of the time before the last reduction */
    struct congestion_undo undo;

    /* reno and cubic */
    uint64_t threshold; /* slow start below */
    uint64_t credit;    /* bytes acknowledged towards the next unit of growth */
    struct hystart hystart;
    struct cubic cubic;

    struct bbr bbr;
};

/* `unit` bytes a full unit, `most` bytes the largest window (raised to least if smaller); `seed`
 * for what is done at random times. */
void congestion_init(struct congestion *c, enum congestion_kind kind, uint64_t unit, uint64_t most,
                     uint64_t seed);

/* Something is sent, and nothing was in transit before. */
void congestion_on_begin(struct congestion *c);

/* The window grows only if it was what held the sender back (RFC 9002, 7.8), and not for what was
 * sent before the last reduction (7.3.2). */
void congestion_on_acknowledged(struct congestion *c, const struct congestion_ack *ack);

/* One reduction a round trip (RFC 9002, 7.3.2). */
void congestion_on_lost(struct congestion *c, const struct congestion_loss *loss);

/* The network says that a queue is building up, by ECN or by a mark of AAL5, on what was sent at
 * `sent`: as a loss, but nothing is lost. */
void congestion_on_marked(struct congestion *c, instant now, instant sent);

/* A unit that was given up and sent at `sent` has arrived. Once that is true of all that led to the
 * last reduction, it is undone. */
void congestion_on_spurious(struct congestion *c, instant sent);

/* All of a long time was lost, up to what was sent at `sent`: down to `least` (RFC 9002, 7.6). The
 * threshold is the one of the reduction for these losses. */
void congestion_on_persistent(struct congestion *c, instant now, instant sent);

/* Not all of it was, as acknowledgements say that come late: only the loss counts. */
void congestion_on_not_persistent(struct congestion *c);

/* The largest window is now `most` bytes; the current one is cut if it has to be. */
void congestion_limit(struct congestion *c, uint64_t most);

/* A full unit has `unit` bytes from now on, because the path's MTU is another. What is in bytes
 * stays what it is, but `least` follows, and CUBIC's curve begins anew. */
void congestion_set_unit(struct congestion *c, uint64_t unit);

/* Is the path's rate being looked for by trains, which acknowledgements have to tell apart? */
bool congestion_is_starting(const struct congestion *c);

/* The lowest round trip of late; 0: the kind does not know. */
static inline duration congestion_lowest(const struct congestion *c)
{
    return c->kind == CONGESTION_BBR && c->bbr.lowest != NEVER ? c->bbr.lowest : 0;
}

/* The rate that the path is known to carry, bytes a second; 0: the kind does not know. */
uint64_t congestion_path(const struct congestion *c);

/* CHECKs I1 and the kind's own. */
void congestion_check(const struct congestion *c);

#endif
