#include "ways.h"

#include "core/check.h"
#include "entity.h"
#include "rx.h"
#include "tx.h"
#include "wholes.h"

#include <string.h>

/* ---- letting go ---- */

/* The receiver could not read a unit, or so it says: each such word costs a look at one unit. */
static void on_fault(struct zcrp_entity *e, const struct released *x)
{
    if (!memory_is_accessible(x->data.iov_base, x->data.iov_len, MEMORY_READ))
        (void)sender_fault(e->machine.sender, x->message);
}

/* Memory has room (again). */
static void unblock(struct zcrp_entity *e)
{
    if (e->blocked != CHANNEL_CROWDED || !transport_sends_memory(e->transport) ||
        !transport_has_room(e->transport))
        return;
    e->blocked = CHANNEL_OK;
    e->unblock_at = NEVER;
}

static void on_released(struct zcrp_entity *e, const struct released *x)
{
    struct sender *s = e->machine.sender;

    if (x->has_faulted)
        on_fault(e, x);
    if (!x->is_whole)
        sender_let_go(s, x->message);
    else if (x->has_arrived)
        sender_whole_arrived(s, clock_tick(), x->message);
    else
        sender_whole_came_back(s, clock_now(), x->message);
}

/* True if there was anything. */
static bool reap(struct zcrp_entity *e)
{
    struct released released;
    bool any = wholes_reap(e);

    for (; transport_reap(e->transport, &released); any = true)
        on_released(e, &released);
    unblock(e);
    return any;
}

void ways_reap(struct zcrp_entity *e)
{
    if (reap(e))
        entity_touch(e);
}

void ways_reap_wholes(struct zcrp_entity *e)
{
    if (!transport_has_wholes(e->transport))
        return;
    (void)wholes_reap(e);
    if (e->blocked != CHANNEL_OK || transport_has_wholes(e->transport)) /* behind units */
        ways_reap(e);
}

void ways_reap_before_word(struct zcrp_entity *e)
{
    struct released released;

    ways_reap_wholes(e);
    if (!e->transport->is_pushing)
        return;
    while (transport_take_arrived(e->transport, &released)) {
        on_released(e, &released);
        entity_touch(e);
    }
}

void ways_take_back(struct zcrp_entity *e, uint64_t message)
{
    struct released released;

    while (transport_take_back(e->transport, message, &released))
        on_released(e, &released);
}

/* The peer reads nothing. What has gone as a whole goes in units. A message that is decided all the
 * same, because the peer has acknowledged or refused it, is held for it no longer. All others wait
 * on, and their limits run: a peer that is only slow need not be sent them again. */
static void take_back_unread(struct zcrp_entity *e)
{
    uint64_t message;

    ways_take_back(e, TRANSPORT_ANY_WHOLE);
    for (uint32_t ahead = 0; transport_find_held(e->transport, &ahead, &message);)
        if (sender_is_decided(e->machine.sender, message))
            ways_take_back(e, message);
}

/* ---- credit ---- */

bool ways_find_credit(const struct zcrp_entity *e)
{
    uint64_t next, size;

    return transport_takes_wholes(e->transport) && sender_lacks_buffer(e->machine.sender, &next) &&
           transport_find_credit(e->transport, next, &size);
}

/* The receiver may show one between the first look and the want, and send no request. The thread
 * that reads its answers may sleep already, so this one looks again. */
static bool find_or_want(struct zcrp_entity *e, uint64_t next, uint64_t *size)
{
    if (transport_find_credit(e->transport, next, size))
        return true;
    transport_want_credit(e->transport);
    return transport_find_credit(e->transport, next, size);
}

/* The sender reads what it needs next, and no more. */
static void take_credit(struct zcrp_entity *e)
{
    struct sender *s = e->machine.sender;
    uint64_t next, size, last = UINT64_MAX;

    while (transport_takes_wholes(e->transport) && sender_lacks_buffer(s, &next) && next != last) {
        last = next;
        if (!find_or_want(e, next, &size) || !sender_credit(s, next, size))
            return;
    }
}

/* The receiver shows what is posted. Much of it in memory of the program's it names in requests. */
static bool give_credit(struct zcrp_entity *e)
{
    struct receiver *r = e->machine.receiver;
    struct credit credit;
    bool is_wanted = receiver_set_credit(r, e->transport->way == WAY_MEMORY && entity_wraps_few(e));

    while (receiver_publish(r, TRANSPORT_CREDIT, &credit))
        is_wanted |= transport_show_credit(e->transport, credit.in_session, credit.size);
    return is_wanted;
}

bool ways_tend_credit(struct zcrp_entity *e)
{
    if (!entity_is_sender(e))
        return give_credit(e);
    take_credit(e);
    return false;
}

/* ---- the way ---- */

static struct pairing pairing_of(const struct zcrp_entity *e)
{
    return entity_is_sender(e) ? sender_pairing(e->machine.sender)
                               : receiver_pairing(e->machine.receiver);
}

bool ways_must_meet(const struct zcrp_entity *e)
{
    return e->transport->is_possible && transport_must_meet(e->transport, pairing_of(e));
}

static void apply(struct zcrp_entity *e, uint32_t changes)
{
    if (changes & (TRANSPORT_TAKEN | TRANSPORT_LEFT) && entity_is_sender(e))
        sender_set_near(e->machine.sender, changes & TRANSPORT_TAKEN);
    if (changes & TRANSPORT_TAKEN)
        unblock(e);
    if (changes & (TRANSPORT_HERE | TRANSPORT_LEFT) && !entity_is_sender(e))
        openings_init(&e->link->rx.openings, changes & TRANSPORT_HERE || e->transport->in->has_gro);
    if (changes & TRANSPORT_LEFT && !entity_is_sender(e)) /* of what was only shown there */
        receiver_call_soon(e->machine.receiver, clock_now());
    if (changes & TRANSPORT_MISSED)
        machine_fail(&e->machine, clock_now(), OUTCOME_APART);
}

void ways_tend(struct zcrp_entity *e, bool may_meet, struct ways_errand *errand)
{
    struct transport *t = e->transport;
    bool is_used = e->is_sending || e->link->rx.is_claimed;

    CHECK(mutex_is_held(&e->link->mutex));
    errand->begins = errand->transport.meets = false;
    errand->transport.gone = NULL;
    if (!t->is_possible || t->is_out_meeting)
        return;
    if (entity_is_sender(e))
        (void)reap(e);
    if (entity_is_sender(e) && transport_watch(t))
        take_back_unread(e);
    const struct transport_facts facts = {
        .pairing = pairing_of(e),
        .is_idle = entity_is_sender(e) && sender_gauges(e->machine.sender).in_transit == 0,
        .is_early = !entity_is_sender(e) && keyed_is_news(e), /* of a caller that waits for room */
        .may_meet = may_meet,
    };
    uint32_t changes = transport_tend(t, &facts, &errand->transport);
    errand->begins = changes & TRANSPORT_HERE;
    apply(e, changes);
    if (t->way != WAY_LEAVING)
        return;
    ways_take_back(e, TRANSPORT_ANY);
    apply(e, transport_leave(t, is_used, &errand->transport));
}

/* The peer may have written to memory, and woken somebody, before memory was known here: so
 * somebody looks now. */
bool ways_run(struct zcrp_entity *e, struct ways_errand *errand)
{
    struct transport_errand *x = &errand->transport;

    if (errand->begins) {
        lease_wake(&e->link->lease);
        rx_come(entity_reader(e));
    }
    if (x->gone != NULL)
        transport_free(x->gone);
    if (!x->meets)
        return false;
    struct transport_met met = transport_meet(e->transport, x);
    if (met.peer_file >= 0)
        engine_watch_peer(&entity_reader(e)->member, met.peer_file);
    entity_enter(e); /* the section that follows ends it */
    apply(e, transport_met(e->transport, x, met));
    if (!entity_is_sender(e))
        tx_drain(e, SENDING_BURSTS); /* what was held back */
    mutex_unlock(&e->link->mutex);
    return true;
}

/* ---- moving ---- */

void ways_push(struct zcrp_entity *e)
{
    uint64_t message;

    transport_push(e->transport);
    entity_enter(e);
    while (transport_pushed(e->transport, &message))
        if (sender_is_decided(e->machine.sender, message))
            ways_take_back(e, message);
    entity_leave(e);
}

bool ways_are_crossing(const struct zcrp_entity *e)
{
    return entity_is_sender(e) ? e->transport->is_pushing : e->link->rx.is_claimed;
}

void ways_look_late(struct zcrp_entity *e)
{
    receiver_hold(e->machine.receiver, transport_look_late(e->transport));
}

/* Is nobody to be told soon of messages that have ended? A user that waits has the lease, or sleeps
 * for it. Nothing else waits for room either. */
static bool is_idle(struct zcrp_entity *e)
{
    const struct lease *lease = &e->link->lease;

    return entity_is_sender(e) && e->life == ENTITY_OPEN && !lease_is_taken(lease) &&
           lease->sleepers == NULL && !collection_has_taker(&e->collection) && !bell_is_heard() &&
           e->options.trace == NULL && e->notice.place < 0 && e->wrapped == 0 &&
           e->blocked == CHANNEL_OK && backlog_is_empty(&e->backlog) &&
           !sender_has_burst(e->machine.sender);
}

void ways_say_awaited(struct zcrp_entity *e)
{
    if (!e->transport->is_idle)
        return;
    transport_say_awaited(e->transport);
    ways_reap_wholes(e);
}

/* A thread that receives now says so itself before it sleeps. */
bool ways_say_asleep(struct zcrp_entity *e)
{
    if (e->link->rx.is_claimed)
        return true;
    if (!(is_idle(e) ? transport_say_idle(e->transport) : transport_say_asleep(e->transport)))
        return false;
    if (!entity_is_sender(e) || !ways_find_credit(e))
        return true;
    (void)transport_say_awake(e->transport);
    return false;
}

void ways_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    stats->bytes_copied_once = transport_copied(e->transport);
    stats->memory_refused = e->transport->meeting.why;
}

/* ---- pages ---- */

static void on_pages(void *context)
{
    struct zcrp_entity *e = context;

    engine_ready(&e->member);
}

/* What is missing, and all that follows it in its message, to the end of the message's piece. */
static struct iovec rest_of_message(struct zcrp_entity *e)
{
    uint64_t message;
    struct iovec missing = transport_missing(e->transport, &message), piece;

    for (uint32_t i = 0; sender_piece(e->machine.sender, message, i, &piece); i++) {
        size_t before = (uintptr_t)missing.iov_base - (uintptr_t)piece.iov_base;
        if (before < piece.iov_len)
            return (struct iovec){missing.iov_base, piece.iov_len - before};
    }
    return missing;
}

void ways_fetch(struct zcrp_entity *e)
{
    struct iovec rest = rest_of_message(e);

    entity_leave(e);
    transport_fetch(e->transport, rest, on_pages, e);
    entity_enter(e);
}
