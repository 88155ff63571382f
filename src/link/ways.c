#include "ways.h"

#include "core/check.h"
#include "entity.h"
#include "platform/nofault.h"
#include "tx.h"

#include <string.h>

enum {
    WHOLES = 64,            /* messages that land in one go, at most, */
    WHOLE_BYTES = 16 << 10, /* or so many bytes; */
    WHOLES_TOGETHER = 16,   /* with one call of the kernel's */
};

static bool is_sender(const struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER;
}

/* ---- letting go ---- */

/* The receiver could not read a unit, or so it says. */
static void on_fault(struct zcrp_entity *e, uint64_t message)
{
    struct iovec buffer = sender_buffer(e->machine.sender, message);

    if (buffer.iov_len > 0 && !memory_is_accessible(buffer.iov_base, buffer.iov_len, MEMORY_READ))
        (void)sender_fault(e->machine.sender, message);
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
        on_fault(e, x->message);
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
    bool any = false;

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
    if (transport_has_wholes(e->transport))
        ways_reap(e);
}

void ways_take_back(struct zcrp_entity *e, uint64_t message)
{
    struct released released;

    while (transport_take_back(e->transport, message, &released))
        on_released(e, &released);
}

/* ---- credit ---- */

bool ways_find_credit(const struct zcrp_entity *e)
{
    uint64_t next, size;

    return transport_takes_wholes(e->transport) && sender_lacks_buffer(e->machine.sender, &next) &&
           transport_find_credit(e->transport, next, &size);
}

/* The sender reads what it needs next, and no more. */
static void take_credit(struct zcrp_entity *e)
{
    struct sender *s = e->machine.sender;
    uint64_t next, size;

    while (transport_takes_wholes(e->transport) && sender_lacks_buffer(s, &next)) {
        if (!transport_find_credit(e->transport, next, &size)) {
            transport_want_credit(e->transport);
            return;
        }
        if (!sender_credit(s, next, size))
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
    if (!e->transport->is_possible)
        return false;
    if (!is_sender(e))
        return give_credit(e);
    take_credit(e);
    return false;
}

/* ---- whole messages ---- */

/* It has landed, if its bytes are at their place. Or it is declined: then it comes in units, which
 * show why. Locked. */
static void end_whole(struct zcrp_entity *e, const struct whole_arrived *w, enum whole_use use,
                      const struct whole_place *place, bool is_copied)
{
    struct receiver *r = e->machine.receiver;
    bool lands = use == WHOLE_LANDS;
    bool counts = transport_end_whole(e->transport, use == WHOLE_OVER || (lands && is_copied));

    if (lands && is_copied && counts)
        receiver_whole_landed(r, place->number, w->size);
    else if (lands)
        receiver_whole_revoked(r, place->number, w->size);
    if (lands && !is_copied && !memory_is_accessible(place->buffer, w->size, MEMORY_WRITE))
        (void)receiver_fault(r, place->number);
}

static enum whole_use place_of(struct zcrp_entity *e, const struct whole_arrived *w,
                               struct whole_place *place)
{
    return receiver_whole(e->machine.receiver, w->in_session, w->size, place);
}

static bool is_wrapped(const struct whole_place *place)
{
    const struct message *m = place->user;

    return m != NULL && m->is_wrapped;
}

/* The next. False: there is none, or it goes to memory that may be gone. Locked. */
static bool land_whole(struct zcrp_entity *e, uint64_t *bytes)
{
    struct whole_arrived w;
    struct whole_place place;

    if (!transport_whole(e->transport, 0, &w))
        return false;
    enum whole_use use = place_of(e, &w, &place);
    if (use == WHOLE_LANDS && w.size > 0 && is_wrapped(&place))
        return false;
    if (use == WHOLE_LANDS && w.size > 0)
        memcpy(place.buffer, w.bytes, w.size);
    end_whole(e, &w, use, &place, true);
    *bytes += w.size;
    return true;
}

/* Messages that one call copies to memory that may be gone. */
struct together {
    uint32_t count;
    size_t bytes;
    struct whole_arrived whole[WHOLES_TOGETHER];
    struct iovec from[WHOLES_TOGETHER], to[WHOLES_TOGETHER];
};

static void gather(struct zcrp_entity *e, struct together *t)
{
    struct whole_arrived *w = t->whole;
    struct whole_place place;

    t->bytes = t->count = 0;
    for (; t->count < WHOLES_TOGETHER && transport_whole(e->transport, t->count, w); w++) {
        if (place_of(e, w, &place) != WHOLE_LANDS || w->size == 0 || !is_wrapped(&place))
            return;
        t->from[t->count] = (struct iovec){(void *)w->bytes, w->size};
        t->to[t->count++] = (struct iovec){place.buffer, w->size};
        t->bytes += w->size;
    }
}

/* Lands them. Nobody waits for the lock while the kernel copies, and no message ends. Locked. */
static void land_together(struct zcrp_entity *e, const struct together *t)
{
    size_t behind = 0;

    receiver_whole_begin(e->machine.receiver);
    e->link->rx.is_claimed = true;
    mutex_unlock(&e->link->mutex);
    ssize_t copied = nofault_write(t->to, t->count, t->from, t->count, t->bytes);
    entity_enter(e);
    e->link->rx.is_claimed = false;
    receiver_whole_end(e->machine.receiver);
    for (uint32_t i = 0; i < t->count; i++) {
        struct whole_place place;
        behind += t->whole[i].size;
        enum whole_use use = place_of(e, &t->whole[i], &place); /* it may be over by now */
        end_whole(e, &t->whole[i], use, &place, copied >= (ssize_t)behind);
    }
}

/* Those that go to memory that may be gone, as many as one call copies. How many. Locked. */
static uint32_t land_wrapped(struct zcrp_entity *e, uint64_t *bytes)
{
    struct together t;

    gather(e, &t);
    if (t.count > 0)
        land_together(e, &t);
    *bytes += t.bytes;
    return t.count;
}

bool ways_land_wholes(struct zcrp_entity *e)
{
    uint64_t bytes = 0;
    uint32_t landed = 0;

    while (landed < WHOLES && bytes < WHOLE_BYTES) {
        uint32_t wrapped = e->wrapped > 0 ? land_wrapped(e, &bytes) : 0;
        if (wrapped == 0 && !land_whole(e, &bytes))
            break;
        landed += wrapped > 0 ? wrapped : 1;
    }
    return landed > 0;
}

/* ---- the way ---- */

static struct pairing pairing_of(const struct zcrp_entity *e)
{
    return is_sender(e) ? sender_pairing(e->machine.sender) : receiver_pairing(e->machine.receiver);
}

bool ways_must_meet(const struct zcrp_entity *e)
{
    return e->transport->is_possible && transport_must_meet(e->transport, pairing_of(e));
}

static void apply(struct zcrp_entity *e, uint32_t changes)
{
    if (changes & (TRANSPORT_TAKEN | TRANSPORT_LEFT) && is_sender(e))
        sender_set_near(e->machine.sender, changes & TRANSPORT_TAKEN);
    if (changes & TRANSPORT_TAKEN)
        unblock(e);
    if (changes & (TRANSPORT_HERE | TRANSPORT_LEFT) && !is_sender(e))
        openings_init(&e->link->rx.openings, changes & TRANSPORT_HERE || e->transport->in->has_gro);
    if (changes & TRANSPORT_LEFT && !is_sender(e)) /* of what was only shown there */
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
    if (is_sender(e))
        (void)reap(e);
    if (is_sender(e) && transport_watch(t))
        ways_take_back(e, TRANSPORT_ANY_WHOLE);
    const struct transport_facts facts = {
        .pairing = pairing_of(e),
        .is_idle = is_sender(e) && sender_gauges(e->machine.sender).in_transit == 0,
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
        engine_arrive(&entity_reader(e)->member);
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
    if (!is_sender(e))
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
    return is_sender(e) ? e->transport->is_pushing : e->link->rx.is_claimed;
}

void ways_look_late(struct zcrp_entity *e)
{
    receiver_hold(e->machine.receiver, transport_look_late(e->transport));
}

/* A thread that receives now says so itself before it sleeps. */
bool ways_say_asleep(struct zcrp_entity *e)
{
    if (e->link->rx.is_claimed)
        return true;
    if (!transport_say_asleep(e->transport))
        return false;
    if (!is_sender(e) || !ways_find_credit(e))
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

/* The missing piece, and all that follows it in its message. */
static struct iovec rest_of_message(struct zcrp_entity *e)
{
    uint64_t message;
    struct iovec missing = transport_missing(e->transport, &message);
    struct iovec buffer = sender_buffer(e->machine.sender, message);
    size_t before = (size_t)((uint8_t *)missing.iov_base - (uint8_t *)buffer.iov_base);

    if (before >= buffer.iov_len)
        return missing;
    return (struct iovec){missing.iov_base, buffer.iov_len - before};
}

void ways_fetch(struct zcrp_entity *e)
{
    struct iovec rest = rest_of_message(e);

    entity_leave(e);
    transport_fetch(e->transport, rest, on_pages, e);
    entity_enter(e);
}
