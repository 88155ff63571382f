/* How much may be in transit, and how fast it leaves: congestion control, the delivery rate, pacing
 * and the round trip, which have to agree, and the capacity that the receiver announces.
 *
 *     acknowledged, lost, marked ---> [ congestion ] ---> window, rate
 *     acknowledged, sent, lost -----> [ delivery ] ------> rate of the path
 *     sent, rate -------------------> [ pacing ] --------> when the next burst may leave
 *
 * It knows bytes and times, and neither units nor messages.
 *
 * I1  the invariants of congestion.h and delivery.h. */
#ifndef ZCRP_CORE_FLOW_H
#define ZCRP_CORE_FLOW_H

#include "core/congestion/congestion.h"
#include "core/congestion/pacing.h"
#include "core/congestion/rtt.h"
#include "core/number.h"

struct flow {
    struct rtt rtt;
    struct congestion congestion;
    struct delivery delivery;
    struct pacing pacing;
    uint64_t capacity; /* bytes that the receiver's socket holds, as it says */
    uint32_t credit;   /* units that may leave in spite of window and pace */
    bool is_limited;   /* the congestion window or its pace held the last burst back */
    bool is_near;      /* there is no path, see sender_set_near, */
    uint64_t nearby;   /* and this many bytes may be in transit */
};

/* What a flow begins with. */
struct flow_config {
    enum congestion_kind congestion;
    uint64_t unit;      /* bytes */
    uint64_t window;    /* bytes at most; the receiver's capacity until that says otherwise */
    uint64_t seed;      /* of what congestion control does at random times */
    struct table notes; /* delivery.h */
};

/* The arrivals that one acknowledgement reports. Bytes count whole datagrams. */
struct flow_ack {
    uint64_t bytes;
    uint64_t recent;     /* of those, sent since the last reduction of the window */
    uint64_t newest;     /* the highest sequence number of those, */
    uint64_t oldest;     /* and the lowest; both meaningless while bytes is 0 */
    uint64_t first;      /* what is still in transit has numbers from here on */
    instant sent;        /* when `newest` was sent */
    duration round_trip; /* measured with this acknowledgement; 0: none was */
};

/* Nothing was sent. Cannot fail. */
void flow_init(struct flow *f, const struct flow_config *config, instant now);

/* The lowest round trip; of a path that has become longer the one that it has now. */
static inline duration flow_lowest(const struct flow *f)
{
    duration of_late = congestion_lowest(&f->congestion);
    return of_late > f->rtt.lowest ? of_late : f->rtt.lowest;
}

/* Bytes that the path and the receiver hold. The receiver's socket holds `capacity`. A longer path,
 * on which units arrive at their pace and not all at once, itself holds twice the rate seen so far
 * times the round trip. */
static inline uint64_t flow_room(const struct flow *f)
{
    if (f->pacing.rate == 0 || flow_lowest(f) < PACING_BURST_TIME)
        return f->capacity;
    uint64_t rate = greater(f->delivery.fastest, congestion_path(&f->congestion));
    return f->capacity + 2 * (rate / 1000 * (uint64_t)(flow_lowest(f) / MICROSECOND) / 1000);
}

/* Bytes that may be in transit now. */
static inline uint64_t flow_window(const struct flow *f)
{
    if (f->is_near)
        return f->nearby;
    return lesser(f->congestion.window, flow_room(f));
}

/* Does this window, with `in_transit` bytes of it in use, have room for a burst of up to `burst`
 * bytes that is worth its system call? */
bool flow_has_room(const struct flow *f, uint64_t window, uint64_t in_transit, uint64_t burst);

/* The congestion window, and not the application or the receiver, holds back what follows; or it is
 * neither (`is_open`: something could leave at once). */
void flow_on_limit(struct flow *f, bool is_full, bool is_open, uint64_t in_transit);

/* A burst of `bytes` left, its units numbered from `first_seq` on; `in_transit` bytes in
 * `units` are in transit with it. */
void flow_on_sent(struct flow *f, instant now, uint64_t first_seq, uint64_t bytes,
                  uint64_t in_transit, uint32_t units);

/* Units arrived; `in_transit` bytes still are. */
void flow_on_acknowledged(struct flow *f, instant now, const struct flow_ack *ack,
                          uint64_t in_transit);

/* The unit with this number, of `bytes` sent at `sent`, was given up. */
void flow_on_lost(struct flow *f, instant now, uint64_t seq, instant sent, uint64_t bytes);

/* Congestion control forgets the path and begins anew. `seed` is for what it does at random times.
 * The round trip stays known. */
void flow_forget_path(struct flow *f, instant now, uint64_t seed);
void flow_begin_anew(struct flow *f, instant now, uint64_t seed);

/* The first answer to a hello arrived, `taken` after the first of `hellos` that asked. Only the
 * answer to a single hello is a round trip. */
void flow_on_hello_answered(struct flow *f, duration taken, uint32_t hellos);

/* A full unit has `bytes` from now on. Nothing changes if it had before. */
void flow_set_unit(struct flow *f, uint64_t bytes);

/* There is no path, or there is one again. */
void flow_set_near(struct flow *f, bool is_near);

/* CHECKs I1. */
void flow_check(const struct flow *f);

#endif
