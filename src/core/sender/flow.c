#include "flow.h"

static const duration INITIAL_RTT = 100 * MILLISECOND;

enum {
    WINDOW_PARTS = 4,       /* one is free before a burst leaves that is not whole */
    NEAR_WINDOW = 12 << 20, /* bytes: not quite what a ring holds. Beside other work an end has a
                               core for milliseconds at a time, and then reads on alone */
};

void flow_init(struct flow *f, const struct flow_config *config, instant now)
{
    f->capacity = config->window;
    f->credit = 0;
    f->is_limited = f->is_near = false;
    f->nearby = lesser(config->window, NEAR_WINDOW);
    rtt_init(&f->rtt, INITIAL_RTT);
    congestion_init(&f->congestion, config->congestion, config->unit, config->window, config->seed);
    delivery_init(&f->delivery, config->notes, now);
    pacing_init(&f->pacing, now);
}

/* On a short path, where bursts are not paced, a window that is nearly full waits until a whole
 * burst, or a part of the window, is free. Otherwise small bursts are acknowledged one by one, and
 * small ones follow for ever: the silly window (RFC 9293, 3.8.6.2.1). */
bool flow_has_room(const struct flow *f, uint64_t window, uint64_t in_transit, uint64_t burst)
{
    uint64_t unused = window - lesser(in_transit, window);
    bool is_short = f->rtt.has_sample && f->pacing.rate == 0;
    return in_transit == 0 || f->credit > 0 || !is_short ||
           unused >= lesser(burst, window / WINDOW_PARTS);
}

/* Only the congestion window grows on being too small. When the application or the receiver holds
 * back, the path may carry more than is seen of it. */
void flow_on_limit(struct flow *f, bool is_full, bool is_open, uint64_t in_transit)
{
    f->is_limited = is_full;
    if (!is_full && !is_open)
        delivery_on_limited(&f->delivery, in_transit);
}

void flow_on_sent(struct flow *f, instant now, uint64_t first_seq, uint64_t bytes,
                  uint64_t in_transit, uint32_t units)
{
    delivery_on_sent(&f->delivery, now, first_seq, in_transit, units);
    pacing_on_sent(&f->pacing, now, bytes);
}

void flow_on_acknowledged(struct flow *f, instant now, const struct flow_ack *ack,
                          uint64_t in_transit)
{
    /* Others fill the path's queue, and have no room there for long bursts. */
    bool is_bbr = f->congestion.kind == CONGESTION_BBR;
    /* Before a round trip is known nobody knows whether acknowledgements came together; or whether
     * what arrived is what has just been sent again, behind a move. */
    duration least = f->rtt.has_sample ? f->rtt.lowest : NEVER;
    struct congestion_ack fact = {
        .now = now,
        .sent = ack->sent,
        .bytes = ack->bytes,
        .recent = ack->recent,
        .in_transit = in_transit,
        .round_trip = ack->round_trip,
        .smoothed = f->rtt.has_sample ? f->rtt.smoothed : 0,
        .lowest = f->rtt.lowest,
        .was_limited = f->is_limited,
    };
    fact.sample = delivery_on_acknowledged(&f->delivery, now, ack->bytes, ack->newest, least);
    fact.delivered = f->delivery.delivered;
    delivery_forget(&f->delivery, ack->first);
    congestion_on_acknowledged(&f->congestion, &fact);
    pacing_set(&f->pacing, f->is_near ? 0 : f->congestion.rate, f->congestion.unit, flow_lowest(f),
               is_bbr ? PACING_BURST_MOST : PACING_BURST_TIME);
}

void flow_on_lost(struct flow *f, instant now, uint64_t seq, instant sent, uint64_t bytes)
{
    struct congestion_loss fact = {.now = now, .sent = sent, .bytes = bytes};
    fact.sample = delivery_on_lost(&f->delivery, bytes, seq);
    congestion_on_lost(&f->congestion, &fact);
}

void flow_begin_anew(struct flow *f, instant now, uint64_t seed)
{
    congestion_init(&f->congestion, f->congestion.kind, f->congestion.unit, f->congestion.most,
                    seed);
    pacing_init(&f->pacing, now);
}

void flow_forget_path(struct flow *f, instant now, uint64_t seed)
{
    rtt_init(&f->rtt, INITIAL_RTT);
    flow_begin_anew(f, now, seed);
}

/* Of several hellos nobody knows which was answered. It is taken to be the first, unless that was
 * very long ago. A single one was answered before it was time for the next: if that was very long
 * ago, too, this side was stopped meanwhile. */
void flow_on_hello_answered(struct flow *f, duration taken, uint32_t hellos)
{
    if (f->rtt.has_sample || taken > SECOND)
        return;
    if (hellos == 1)
        rtt_sample(&f->rtt, taken, 0);
    else if (taken > f->rtt.smoothed)
        rtt_init(&f->rtt, taken);
}

void flow_set_unit(struct flow *f, uint64_t bytes)
{
    if (bytes != f->congestion.unit)
        congestion_set_unit(&f->congestion, bytes);
}

void flow_set_near(struct flow *f, bool is_near)
{
    f->is_near = is_near;
    if (is_near)
        pacing_set(&f->pacing, 0, f->congestion.unit, f->rtt.lowest, PACING_BURST_TIME);
}

void flow_check(const struct flow *f)
{
    congestion_check(&f->congestion);
    delivery_check(&f->delivery);
}
