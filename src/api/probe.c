#include "probe.h"

#include "link/rx.h"
#include "link/tx.h"

#include <sched.h>

enum {
    TURNS_A_HEARING = 32, /* of the socket too, beside memory */
    TURNS_A_YIELD = 8,    /* of the core, in vain */
    ASKS = 4,             /* in a row, before whoever asks receives */
};

#define PROBE_GAP (50 * MICROSECOND)

/* Does the user ask again and again, at least so often? */
static bool is_eager(struct rx *rx, instant now, duration gap)
{
    instant before = atomic_exchange_explicit(&rx->asked, now, memory_order_relaxed);
    bool is_soon = now - before < gap;
    uint32_t asks = atomic_load_explicit(&rx->asks, memory_order_relaxed);

    atomic_store_explicit(&rx->asks, is_soon ? asks + (asks < ASKS) : 0, memory_order_relaxed);
    return is_soon && asks >= ASKS;
}

static bool is_quiet(const struct zcrp_entity *reader, instant now)
{
    return now - atomic_load_explicit(&reader->link->rx.heard, memory_order_relaxed) >= LEASE_TERM;
}

/* A kept lease is nobody's: while it is kept nobody looks but whoever asks, also if that has other
 * things to do between. */
static bool is_worth_it(struct zcrp_entity *reader)
{
    enum lease_state state = lease_state(&reader->link->lease);
    instant now = clock_now();

    if (!is_eager(&reader->link->rx, now, state == LEASE_KEPT ? LEASE_TERM : PROBE_GAP))
        return false;
    return state == LEASE_KEPT || (state == LEASE_WORKERS && !is_quiet(reader, now));
}

static bool take_lease(struct zcrp_entity *reader, struct workspace *w, bool *is_memory)
{
    struct link *l = reader->link;

    mutex_lock(&l->mutex);
    bool is_ours = !l->is_broken && lease_take(&l->lease, &w->wake, clock_now());
    *is_memory = transport_is_memory(reader->transport);
    if (is_ours)
        rx_say_awake(reader);
    mutex_unlock(&l->mutex);
    return is_ours;
}

/* After a turn that found nothing there is nothing to tell either, if the engine looks at the time
 * before long. */
static void give_lease(struct zcrp_entity *reader, bool has_found)
{
    struct lease *lease = &reader->link->lease;
    instant now = clock_now();

    if (has_found)
        atomic_store_explicit(&reader->link->rx.heard, now, memory_order_relaxed);
    mutex_lock(&reader->link->mutex); /* a lease is no change of the half */
    struct handover over = lease_give(lease, now);
    if (is_quiet(reader, now))
        over.must_arm |= lease_return(lease);
    if (!has_found && over.chosen == NULL && !over.must_arm && reader->due <= now + LEASE_TERM) {
        mutex_unlock(&reader->link->mutex);
        return;
    }
    rx_hand_over(reader, over);
}

void probe_receive(struct zcrp_entity *e)
{
    struct zcrp_entity *reader = entity_reader(e);
    bool is_memory, must_yield = false;

    tx_end_gathering(e);
    if (!is_worth_it(reader))
        return;
    struct workspace *w = workspace_take();
    if (w == NULL)
        return;
    if (take_lease(reader, w, &is_memory)) {
        uint32_t turns = ++reader->link->rx.turns;
        bool hears = !is_memory || turns % TURNS_A_HEARING == 0;
        enum arrival found = rx_turn(reader, w, hears ? HEAR_ALL : HEAR_MEMORY);
        must_yield = found == ARRIVAL_NONE && turns % TURNS_A_YIELD == 0;
        if (flush_is_for(&reader->flush, FLUSH_ANSWER))
            rx_release(reader);
        give_lease(reader, found != ARRIVAL_NONE);
    }
    workspace_give(w);
    if (must_yield)
        sched_yield(); /* the peer may be waiting for this very core */
}
