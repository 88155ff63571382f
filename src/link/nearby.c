#include "nearby.h"

#include "core/check.h"
#include "entity.h"
#include "platform/nofault.h"

#include <sodium/utils.h>
#include <string.h>

static const duration BEGIN_BY = 100 * MILLISECOND;

/* With keys a sender may know its session before the receiver does. */
static const duration KNOCK_FIRST = MILLISECOND; /* and then ever more slowly */
static const duration KNOCK_LAST = 512 * MILLISECOND;

static bool is_sender(const struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER;
}

int nearby_init(struct zcrp_entity *e)
{
    e->nearby.is_required = e->options.channel == ZCRP_CHANNEL_MEMORY;
    e->nearby.is_possible = !(e->options.flags & ZCRP_NO_MEMORY) &&
                            neighbour_is_possible(channels_of_units(&e->channels));
    if (e->nearby.is_possible)
        nofault_begin();
    return e->nearby.is_required && !e->nearby.is_possible ? ZCRP_ERROR_APART : ZCRP_OK;
}

void nearby_fini(struct zcrp_entity *e)
{
    if (e->nearby.neighbour != NULL)
        neighbour_free(e->nearby.neighbour);
}

void nearby_abandon(struct zcrp_entity *e)
{
    if (e->nearby.neighbour != NULL)
        neighbour_abandon(e->nearby.neighbour);
}

/* ---- meeting ---- */

static bool is_same(struct pairing a, struct pairing b)
{
    return a.session == b.session && a.tag == b.tag;
}

/* There is no neighbour. */
static void miss(struct zcrp_entity *e)
{
    if (e->nearby.is_required)
        machine_fail(&e->machine, clock_now(), OUTCOME_APART);
}

/* There was no door, and there may be one soon. */
static bool is_early(const struct zcrp_entity *e)
{
    return is_sender(e) && e->nearby.why == NEIGHBOUR_ELSEWHERE && e->nearby.patience < KNOCK_LAST;
}

static bool must_meet(const struct zcrp_entity *e, struct pairing pairing)
{
    const struct nearby *b = &e->nearby;

    if (b->neighbour != NULL || pairing.session == 0)
        return false;
    return !is_same(pairing, b->tried) || (is_early(e) && clock_now() >= b->again);
}

/* This thread meets the neighbour of that session once the mutex is free. */
static void begin_meeting(struct zcrp_entity *e, struct pairing pairing,
                          struct nearby_errand *errand)
{
    struct nearby *b = &e->nearby;

    errand->pairing = pairing;
    errand->has_secret = e->keyed.keyring != NULL;
    if (errand->has_secret)
        memcpy(errand->secret, e->keyed.keyring->near, sizeof(errand->secret));
    b->patience = is_same(pairing, b->tried) ? 2 * b->patience : KNOCK_FIRST;
    b->again = clock_now() + b->patience;
    b->tried = pairing;
    errand->meets = b->is_meeting = true;
}

/* This thread looks how the meeting goes on, if it is time to. */
static void begin_look(struct zcrp_entity *e, struct nearby_errand *errand)
{
    instant at = neighbour_look_at(e->nearby.neighbour);

    if (at == NEVER || clock_now() < at)
        return;
    errand->pairing.session = 0;
    errand->meets = e->nearby.is_meeting = true;
}

/* What can be done of it without the mutex. */
static struct neighbour *meet(struct zcrp_entity *e, const struct nearby_errand *errand,
                              enum neighbour_refusal *why)
{
    struct channel *units = channels_of_units(&e->channels);
    struct neighbour *made = NULL;
    const struct neighbour_terms terms = {
        .pairing = errand->pairing,
        .secret = errand->has_secret ? errand->secret : NULL,
        .own = e->nearby.commons,
        .lets_read = e->options.flags & ZCRP_ALLOW_PTRACE,
    };

    *why = is_sender(e) ? neighbour_knock(&made, units, &terms)
                        : neighbour_open_door(&made, units, &terms);
    if (is_sender(e) && *why == NEIGHBOUR_FINE)
        channel_call(e->channels.out); /* somebody is at the door */
    return made;
}

void nearby_meet(struct zcrp_entity *e, struct nearby_errand *errand)
{
    struct nearby *b = &e->nearby;
    struct neighbour *made = NULL;
    enum neighbour_refusal why = NEIGHBOUR_FINE;
    bool begins = errand->pairing.session != 0;

    if (begins)
        made = meet(e, errand, &why);
    else
        (void)neighbour_look(b->neighbour); /* it stays while this thread looks */
    if (begins)
        sodium_memzero(errand->secret, sizeof(errand->secret));
    entity_enter(e); /* the section that follows ends it */
    b->is_meeting = false;
    if (begins) {
        b->neighbour = made;
        b->why = why;
    }
    if (begins && made == NULL && !is_early(e))
        miss(e);
    mutex_unlock(&e->link->mutex);
}

static void begin(struct zcrp_entity *e)
{
    e->nearby.is_here = true;
    e->nearby.is_first = false;
    e->nearby.takes_units = false;
    e->nearby.found = clock_now();
    if (!is_sender(e))
        openings_init(&e->link->rx.openings, true); /* bursts come joined */
}

bool nearby_is_clearing(const struct zcrp_entity *e)
{
    return is_sender(e) && e->nearby.is_here && !e->nearby.takes_units &&
           clock_now() - e->nearby.found < BEGIN_BY;
}

/* A sender begins to send when nothing is in transit, so that no unit overtakes another, or after
 * some time. */
static bool may_send(struct zcrp_entity *e)
{
    return sender_gauges(e->machine.sender).in_transit == 0 || !nearby_is_clearing(e);
}

/* Nothing is asked of the neighbour from now on, and what it has not read does not count. */
static void leave(struct zcrp_entity *e)
{
    struct nearby *b = &e->nearby;

    if (b->is_here && is_sender(e))
        sender_set_near(e->machine.sender, false);
    else if (b->is_here)
        openings_init(&e->link->rx.openings, e->channels.in->has_gro);
    b->is_here = false;
    b->is_left = true;
}

/* The neighbour that nobody uses any more, to be freed; NULL if somebody does. */
static struct neighbour *take_left(struct zcrp_entity *e)
{
    struct nearby *b = &e->nearby;
    struct neighbour *gone = b->neighbour;

    nearby_take_back(e, NEIGHBOUR_ANY);
    if (e->is_sending || e->link->rx.is_claimed || b->is_pushing || b->is_late)
        return NULL;
    b->why = neighbour_why(b->neighbour);
    b->patience = KNOCK_LAST;
    b->bytes += neighbour_bytes(b->neighbour);
    b->neighbour = NULL;
    b->is_left = false;
    if (b->why != NEIGHBOUR_FINE)
        miss(e);
    return gone;
}

/* ---- tending ---- */

/* The receiver could not read a unit, or so it says. */
static void on_fault(struct zcrp_entity *e, uint64_t message)
{
    struct iovec buffer = sender_buffer(e->machine.sender, message);

    if (buffer.iov_len > 0 && !memory_is_accessible(buffer.iov_base, buffer.iov_len, MEMORY_READ))
        (void)sender_fault(e->machine.sender, message);
}

void nearby_reap(struct zcrp_entity *e)
{
    struct neighbour *n = e->nearby.neighbour;
    uint64_t message;
    bool has_faulted;

    while (neighbour_reap(n, &message, &has_faulted)) {
        if (has_faulted)
            on_fault(e, message);
        sender_let_go(e->machine.sender, message);
    }
    if (e->blocked == CHANNEL_CROWDED && neighbour_has_room(n)) {
        e->blocked = CHANNEL_OK;
        e->unblock_at = NEVER;
    }
}

/* Where the meeting with the neighbour stands. True if it is here just now. */
static bool tend(struct zcrp_entity *e, struct pairing pairing)
{
    struct nearby *b = &e->nearby;
    enum neighbour_state state = neighbour_state(b->neighbour);

    if (is_sender(e))
        nearby_reap(e);
    if (!b->is_left && (state == NEIGHBOUR_AWAY || !neighbour_is_of(b->neighbour, pairing)))
        leave(e);
    bool begins = state == NEIGHBOUR_HERE && !b->is_here && !b->is_left;
    if (begins)
        begin(e);
    if (b->is_here && is_sender(e) && !b->takes_units && may_send(e)) {
        b->takes_units = true;
        sender_set_near(e->machine.sender, true);
    }
    return begins;
}

void nearby_tend(struct zcrp_entity *e, bool may_meet, struct nearby_errand *errand)
{
    struct nearby *b = &e->nearby;

    CHECK(mutex_is_held(&e->link->mutex));
    errand->meets = errand->begins = false;
    errand->gone = NULL;
    if (!b->is_possible || b->is_meeting)
        return;
    struct pairing pairing =
        is_sender(e) ? sender_pairing(e->machine.sender) : receiver_pairing(e->machine.receiver);
    if (may_meet && must_meet(e, pairing)) {
        begin_meeting(e, pairing, errand);
        return;
    }
    if (b->neighbour == NULL)
        return;
    errand->begins = tend(e, pairing);
    if (b->is_left)
        errand->gone = take_left(e);
    else if (may_meet)
        begin_look(e, errand);
}

instant nearby_deadline(const struct zcrp_entity *e)
{
    const struct nearby *b = &e->nearby;
    bool waits = b->is_required && !b->is_meeting && b->neighbour != NULL;

    return waits ? neighbour_look_at(b->neighbour) : NEVER;
}

struct neighbour *nearby_of(const struct zcrp_entity *e)
{
    return e->nearby.is_here ? e->nearby.neighbour : NULL;
}

struct neighbour *nearby_to_send(const struct zcrp_entity *e)
{
    return is_sender(e) && !e->nearby.takes_units ? NULL : nearby_of(e);
}

void nearby_take_back(struct zcrp_entity *e, uint64_t message)
{
    uint64_t of;

    if (e->nearby.neighbour == NULL || !is_sender(e))
        return;
    while (neighbour_take_back(e->nearby.neighbour, message, &of))
        sender_let_go(e->machine.sender, of);
}

/* ---- moving ---- */

enum channel_verdict nearby_send(struct zcrp_entity *e, struct neighbour *n,
                                 const struct burst *burst, uint32_t *sent, bool *held)
{
    enum channel_verdict verdict = CHANNEL_BLOCKED;
    bool calls = false;

    *held = false;
    if (n != NULL && is_sender(e) && !burst->is_control)
        verdict = neighbour_send(n, burst, sent, held, &calls);
    if (n != NULL && !is_sender(e) && neighbour_reply(n, burst, &calls)) {
        *sent = 1;
        verdict = CHANNEL_OK;
    }
    if (calls)
        e->nearby.must_call = true;
    return verdict;
}

bool nearby_claim(struct zcrp_entity *e)
{
    struct neighbour *n = is_sender(e) ? nearby_to_send(e) : NULL;
    bool is_ours = n != NULL && !e->nearby.is_pushing && neighbour_claim(n);

    e->nearby.is_pushing |= is_ours;
    e->nearby.crossings += is_ours;
    if (is_ours)
        atomic_store_explicit(&e->nearby.has_pushed, true, memory_order_relaxed);
    return is_ours;
}

void nearby_push(struct zcrp_entity *e)
{
    struct neighbour *n = e->nearby.neighbour; /* it stays while this is claimed */
    uint64_t message;

    neighbour_push(n);
    entity_enter(e);
    while (neighbour_let_go(n, &message))
        if (sender_is_decided(e->machine.sender, message))
            nearby_take_back(e, message);
    e->nearby.is_pushing = false;
    entity_leave(e);
}

bool nearby_is_crossing(const struct zcrp_entity *e)
{
    return is_sender(e) ? e->nearby.is_pushing : e->link->rx.is_claimed;
}

void nearby_look_late(struct zcrp_entity *e)
{
    e->nearby.is_late = e->nearby.neighbour != NULL && neighbour_is_late(e->nearby.neighbour);
    receiver_hold(e->machine.receiver, e->nearby.is_late);
}

/* A thread that receives now looks here before it sleeps. */
bool nearby_sleep(struct zcrp_entity *e)
{
    return e->link->rx.is_claimed || e->nearby.is_late || !e->nearby.is_here ||
           neighbour_sleep(e->nearby.neighbour);
}

bool nearby_wake(struct zcrp_entity *e)
{
    if (e->nearby.is_here)
        neighbour_wake(e->nearby.neighbour);
    return e->nearby.is_here;
}

void nearby_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    const struct nearby *b = &e->nearby;

    stats->bytes_copied_once = b->bytes + (b->neighbour ? neighbour_bytes(b->neighbour) : 0);
    stats->memory_refused = b->why;
}
