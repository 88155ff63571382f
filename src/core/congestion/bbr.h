/* BBR, after draft-ietf-ccwg-bbr (version 3): a model of the path, and a way to keep it fresh.
 *
 *     startup -> drain -> [ down -> cruise -> refill -> up ] -> down ...   and now and then
 * probe_rtt
 *
 * The model: the highest delivery rate of the last two cycles, the lowest round trip of the last
 * ten seconds, and bounds that congestion taught: `inflight_high` what the path holds without too
 * much loss, `rate_low` and `inflight_low` what it carries at present.
 *
 * What differs from the draft, because here is user space, and because paths lose at random:
 *  - loss is congestion if it is more than one part in fifty *and* comes with a queue (the round
 *    trip has grown), or is more than one in ten. Without a queue loss is not too fast a sender's.
 *    Two units lost in a round trip are chance.
 *  - a probe for more lasts four of the lowest round trips, and is made after 600 to 900 ms, or
 *    four round trips if that is more: flows that share a path come to the same rate by it, and
 *    hold their own beside cubic.
 *  - what drains the queue behind it also does when one builds up without a probe: threads that
 * wake late make the path look a little faster than it is. If it never drains it is others' queue,
 * and only what was carried of late counts.
 *  - after a search for the lowest round trip a probe for more follows at once.
 *  - a rate that stays without a queue ends startup later: it may be a late thread's.
 *  - on a long path startup is by trains (bbr_phase.c), and loss ends it within the
 *    round.
 *  - while round trips near the lowest are seen, the search is every ten seconds, not five; and
 *    what the path is sent in CRUISE is what came back and what chance took.
 *  - a millisecond of data more is let into transit, and a path of a shorter round trip is never
 *    drained to measure it: threads are scheduled no finer.
 *
 * I1  window >= 4 units.
 * I2  inflight_high and inflight_low are UINT64_MAX (not known) or >= 4 units. */
#ifndef ZCRP_CORE_CONGESTION_BBR_H
#define ZCRP_CORE_CONGESTION_BBR_H

#include "bbr_train.h"
#include "core/instant.h"

#include <stdbool.h>
#include <stdint.h>

struct congestion_ack;
struct congestion_loss;

enum bbr_phase {
    BBR_STARTUP,
    BBR_DRAIN,
    BBR_DOWN,
    BBR_CRUISE,
    BBR_REFILL,
    BBR_UP,
    BBR_PROBE_RTT,
};

/* What is known of acknowledgements of the last probe for more. */
enum bbr_feedback {
    BBR_FEEDBACK_NONE,
    BBR_FEEDBACK_STARTS, /* the probe is sent, nothing of it is back */
    BBR_FEEDBACK_COMES,  /* it comes back */
    BBR_FEEDBACK_STOPS,  /* the last of it comes back */
};

/* Acknowledged beyond what the rate explains: acknowledgements come in lumps. */
struct bbr_lumps {
    uint64_t extra[2]; /* bytes, most in the present round and the rounds before */
    uint64_t bytes;    /* acknowledged in this lump */
    instant since;     /* it began */
    uint32_t rounds;
};

struct bbr {
    enum bbr_phase phase;
    uint64_t unit;   /* bytes */
    uint64_t window; /* bytes; what comes out */
    uint64_t rate;   /* bytes a second; what comes out */
    uint64_t random;

    uint64_t round_end; /* bytes delivered in all when the round trip ends */
    bool is_round_start;

    uint64_t rate_high[2];    /* highest of the last cycle and of this one */
    uint64_t rate_low;        /* UINT64_MAX: not known */
    uint64_t rate_latest;     /* highest of this round */
    uint64_t inflight_high;   /* bytes */
    uint64_t inflight_low;    /* bytes */
    uint64_t inflight_latest; /* most delivered within a round trip, in this round */
    uint64_t undo_high;       /* inflight_high before the last loss */
    uint64_t undo_window;     /* window before persistent congestion */
    uint64_t lost, delivered; /* bytes, in this round */
    uint64_t loss_round_end;
    uint32_t lost_permille; /* in the last round, 10 at most */
    bool is_marked;         /* the network marked something of this round */

    duration lowest; /* round trip; NEVER: not known */
    instant lowest_at;
    duration probe_lowest; /* the same of the last five seconds */
    instant probe_lowest_at;
    instant probed_at; /* the lowest was found, or looked for */
    bool has_rested;   /* nothing was in transit before what is acknowledged next */
    duration latest;   /* round trip */

    uint64_t full_rate;   /* to be exceeded by a quarter, or startup is over */
    uint32_t full_rounds; /* in which it was not */
    bool is_full;         /* startup is over */

    struct bbr_train train;
    uint64_t proven; /* rate that a train came back at; 0: none did */
    uint64_t
        squeezed;     /* the rate of one that came back less densely than it was sent; UINT64_MAX */
    instant round_at; /* when the round began */

    instant phase_at; /* when the phase began */
    instant cycle_at; /* when the last probe for more ended */
    duration wait;    /* between two */
    uint32_t rounds;  /* since then */
    uint32_t up_rounds;
    uint64_t up_bytes; /* acknowledged towards the next unit of inflight_high */
    uint64_t up_step;  /* bytes for each unit */
    enum bbr_feedback feedback;
    bool is_sampling; /* loss tells of what the probe put in transit */
    instant rtt_done; /* when probe_rtt may end; NEVER: it has not drained yet */
    bool rtt_round;   /* a round has passed since */

    struct bbr_lumps lumps;
};

/* Starts with this window, in units of this size in bytes. */
void bbr_init(struct bbr *b, uint64_t unit, uint64_t window, uint64_t seed);

/* Units have this size in bytes from now on. The path's model is in bytes, and stays. */
void bbr_set_unit(struct bbr *b, uint64_t unit);

/* Something is sent, and nothing was in transit: the path has drained by itself. */
void bbr_on_begin(struct bbr *b);

void bbr_on_acknowledged(struct bbr *b, const struct congestion_ack *ack);
void bbr_on_lost(struct bbr *b, const struct congestion_loss *loss);
void bbr_on_marked(struct bbr *b);

/* What was taken for lost had arrived. */
void bbr_on_spurious(struct bbr *b);

/* All of a long time was lost: down to the least window, which what comes back opens again. Or not
 * all of it was, then it is as it was before. */
void bbr_on_persistent(struct bbr *b);
void bbr_on_not_persistent(struct bbr *b);

/* The rate that the path is known to carry, as trains have shown or what was delivered. */
uint64_t bbr_path(const struct bbr *b);

void bbr_check(const struct bbr *b);

#endif
