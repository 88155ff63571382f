/* What BBR believes of the path. */
#include "bbr_state.h"

enum {
    LOSS_UNITS = 2,       /* are chance */
    LOSS_PARTS = 50,      /* more than one part in so many is too much, with a queue, */
    BLIND_PARTS = 10,     /* or in so many without */
    QUEUE_PARTS = 8,      /* a queue: the round trip is longer by such a part */
    CHANCE_PERMILLE = 10, /* of what is sent may be lost by chance: more is not made up for */
    BETA_PARTS = 10,
    BETA = 7, /* of ten: what loss leaves */
    HEADROOM_PARTS = 100,
    HEADROOM = 15,   /* of a hundred left to others */
    NEAR_PARTS = 64, /* round trips longer by such a part and what threads add are near, */
    LATE_PARTS = 16, /* of which such a part counts at most */
    LUMP_ROUNDS = 5,
    A_SECOND_HAS_QUANTA = 1000,
    A_SECOND_HAS_LUMPS = 10,
};

static const duration LOWEST_KEPT = 10 * SECOND;
static const duration PROBE_KEPT = 5 * SECOND;          /* unless seen again, */
static const duration PROBE_EVERY = 10 * SECOND;        /* and then */
static const duration STARTUP_QUEUE = 16 * MILLISECOND; /* is one at once: RFC 9406, 4.2 */
static const duration LATE = MILLISECOND;               /* threads wake so late */

uint64_t bbr_rate_high(const struct bbr *b)
{
    return greater(b->rate_high[0], b->rate_high[1]);
}

uint64_t bbr_rate(const struct bbr *b)
{
    return lesser(bbr_rate_high(b), b->rate_low);
}

uint64_t bbr_product(const struct bbr *b, uint64_t rate, uint32_t percent)
{
    if (b->lowest == NEVER)
        return BBR_UNKNOWN;
    return rate / 1000 * (uint64_t)(b->lowest / MICROSECOND) / 1000 * percent / 100;
}

uint64_t bbr_full(const struct bbr *b)
{
    uint64_t rate = bbr_rate_high(b);
    uint64_t product = bbr_product(b, rate, 100);
    return product == BBR_UNKNOWN ? BBR_UNKNOWN : product + rate / A_SECOND_HAS_QUANTA;
}

uint64_t bbr_queued(const struct bbr *b)
{
    uint64_t full = bbr_full(b);
    uint64_t lumps = greater(b->lumps.extra[0], b->lumps.extra[1]);
    return full == BBR_UNKNOWN ? BBR_UNKNOWN : full + full / QUEUE_PARTS + lumps;
}

uint64_t bbr_headroom(const struct bbr *b)
{
    if (b->inflight_high == BBR_UNKNOWN)
        return BBR_UNKNOWN;
    uint64_t room = greater(b->inflight_high / HEADROOM_PARTS * HEADROOM, b->unit);
    return greater(b->inflight_high - lesser(room, b->inflight_high), bbr_least(b));
}

bool bbr_has_queue(const struct bbr *b)
{
    duration longer = b->lowest / QUEUE_PARTS;
    if (b->lowest == NEVER)
        return false;
    if (b->phase == BBR_STARTUP && longer > STARTUP_QUEUE)
        longer = STARTUP_QUEUE;
    return b->latest - b->lowest > (longer > MILLISECOND ? longer : MILLISECOND);
}

bool bbr_is_near(const struct bbr *b)
{
    uint64_t late = lesser((uint64_t)LATE, (uint64_t)b->lowest / LATE_PARTS);
    return b->lowest != NEVER && b->latest - b->lowest <= b->lowest / NEAR_PARTS + (duration)late;
}

bool bbr_is_too_much(const struct bbr *b, uint64_t lost, uint64_t sent)
{
    if (lost <= LOSS_UNITS * b->unit)
        return false;
    return lost > sent / BLIND_PARTS || (lost > sent / LOSS_PARTS && bbr_has_queue(b));
}

/* ---- rates */

void bbr_forget_rate(struct bbr *b)
{
    if (b->rate_high[1] == 0)
        return;
    b->rate_high[0] = b->rate_high[1];
    b->rate_high[1] = 0;
}

void bbr_forget_low(struct bbr *b)
{
    b->rate_low = BBR_UNKNOWN;
    b->inflight_low = BBR_UNKNOWN;
}

static void note_rate(struct bbr *b, const struct delivery_sample *sample)
{
    if (sample->rate > b->rate_latest)
        b->rate_latest = sample->rate;
    if (sample->bytes > b->inflight_latest)
        b->inflight_latest = sample->bytes;
    if (sample->rate > b->rate_high[1] && (!sample->is_limited || sample->rate >= bbr_rate_high(b)))
        b->rate_high[1] = sample->rate;
}

/* A round of loss while nothing is probed: what came through is what there is at present. */
static void lower_bounds(struct bbr *b)
{
    bool is_probing = b->phase == BBR_STARTUP || b->phase == BBR_REFILL || b->phase == BBR_UP;
    if (is_probing || (!b->is_marked && !bbr_is_too_much(b, b->lost, b->lost + b->delivered)))
        return;
    if (b->rate_low == BBR_UNKNOWN)
        b->rate_low = bbr_rate_high(b);
    if (b->inflight_low == BBR_UNKNOWN)
        b->inflight_low = b->window;
    b->rate_low = greater(b->rate_latest, b->rate_low / BETA_PARTS * BETA);
    b->inflight_low =
        greater(greater(b->inflight_latest, bbr_least(b)), b->inflight_low / BETA_PARTS * BETA);
}

/* ---- acknowledgements in lumps */

/* What a late thread makes up for is a lump as well, and a starved one's are tens of milliseconds
 * apart: none is more than fills the path, or a hundred milliseconds. */
static void note_lumps(struct bbr *b, const struct congestion_ack *ack)
{
    struct bbr_lumps *l = &b->lumps;
    uint64_t expected = bbr_rate(b) / 1000 * (uint64_t)((ack->now - l->since) / MICROSECOND) / 1000;
    if (b->is_round_start && ++l->rounds >= LUMP_ROUNDS) {
        l->rounds = 0;
        l->extra[1] = l->extra[0];
        l->extra[0] = 0;
    }
    if (l->bytes <= expected) {
        *l = (struct bbr_lumps){
            .extra = {l->extra[0], l->extra[1]}, .since = ack->now, .rounds = l->rounds};
        expected = 0;
    }
    l->bytes += ack->bytes;
    uint64_t most = greater(bbr_product(b, bbr_rate(b), 100), bbr_rate(b) / A_SECOND_HAS_LUMPS);
    uint64_t extra = lesser(l->bytes - expected, lesser(b->window, most));
    if (extra > l->extra[0])
        l->extra[0] = extra;
}

void bbr_model_on_acknowledged(struct bbr *b, const struct congestion_ack *ack)
{
    const struct delivery_sample *sample = &ack->sample;
    b->delivered += ack->bytes;
    b->is_round_start = sample->is_valid && sample->prior >= b->round_end;
    if (b->is_round_start) {
        b->round_end = ack->delivered;
        b->rounds++;
    }
    note_rate(b, sample);
    note_lumps(b, ack);
    if (sample->is_valid && sample->prior >= b->loss_round_end)
        lower_bounds(b);
}

void bbr_model_end(struct bbr *b, const struct congestion_ack *ack)
{
    const struct delivery_sample *sample = &ack->sample;
    if (!sample->is_valid || sample->prior < b->loss_round_end)
        return;
    b->loss_round_end = ack->delivered;
    uint64_t all = b->lost + b->delivered + ack->bytes;
    b->lost_permille = (uint32_t)lesser(b->lost * 1000 / all, CHANCE_PERMILLE);
    b->rate_latest = sample->rate;
    b->inflight_latest = sample->bytes;
    b->lost = 0;
    b->delivered = 0;
    b->is_marked = false;
}

bool bbr_model_on_round_trip(struct bbr *b, const struct congestion_ack *ack)
{
    bool is_stale = b->probe_lowest != NEVER && (ack->now > b->probe_lowest_at + PROBE_KEPT ||
                                                 ack->now > b->probed_at + PROBE_EVERY);
    if (ack->round_trip == 0)
        return false;
    bool has_rested = b->has_rested;
    b->has_rested = false;
    b->latest = ack->round_trip;
    if (b->latest < b->lowest || is_stale)
        b->probed_at = ack->now;
    if (b->latest < b->probe_lowest || is_stale) {
        b->probe_lowest = b->latest;
        b->probe_lowest_at = ack->now;
    }
    if (bbr_is_near(b))
        b->probe_lowest_at = b->lowest_at = ack->now;
    if (b->probe_lowest <= b->lowest || ack->now > b->lowest_at + LOWEST_KEPT) {
        b->lowest = b->probe_lowest;
        b->lowest_at = b->probe_lowest_at;
    }
    return is_stale && !has_rested;
}
