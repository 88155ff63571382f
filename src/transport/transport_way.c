/* A transport's way: by the socket, or from memory to memory, and how it comes from one to the
 * other. */
#include "transport.h"

#include "core/check.h"
#include "platform/system.h"
#include "shm/shm.h"

#include <sodium/utils.h>
#include <string.h>

static const duration DRAINED_BY = 100 * MILLISECOND;
static const duration HEARD_OUT = 50 * MILLISECOND; /* a peer whose process has ended, and */
enum { PUT_OFF_MOST = 200 };                        /* so often again */

/* With keys a sender may know its session before the receiver does. */
static const duration MEETING_FIRST = MILLISECOND; /* and then ever more rarely */
static const duration MEETING_LAST = 512 * MILLISECOND;

_Static_assert(sizeof(((struct transport_errand *)0)->secret) == SHM_SECRET, "of a session");

/* The one place that moves it. */
static void move(struct transport *t, enum transport_way way)
{
    CHECK(way == WAY_SOCKET || way > t->way);
    t->way = way;
}

static bool is_clearing(const struct transport *t)
{
    return t->way == WAY_DRAINING && clock_now() - t->found < DRAINED_BY;
}

bool transport_holds_back(const struct transport *t)
{
    return t->is_sender ? is_clearing(t) : t->is_out_meeting && t->shm == NULL;
}

/* There was nobody to meet, and there may be somebody soon. */
static bool is_early(const struct transport *t)
{
    return t->is_sender && t->meeting.why == SHM_ELSEWHERE && t->meeting.patience < MEETING_LAST;
}

static uint32_t missed(const struct transport *t)
{
    return t->is_required ? TRANSPORT_MISSED : 0;
}

static bool is_same(struct pairing a, struct pairing b)
{
    return a.session == b.session && a.tag == b.tag;
}

bool transport_must_meet(const struct transport *t, struct pairing pairing)
{
    if (t->way != WAY_SOCKET || pairing.session == 0)
        return false;
    return !is_same(pairing, t->meeting.tried) || (is_early(t) && clock_now() >= t->meeting.again);
}

/* This thread meets the peer of that session once the mutex is free. */
static void begin_meeting(struct transport *t, struct pairing pairing,
                          struct transport_errand *errand)
{
    struct meeting *m = &t->meeting;

    errand->pairing = pairing;
    if (t->keyring != NULL)
        memcpy(errand->secret, t->keyring->near, sizeof(errand->secret));
    m->patience = is_same(pairing, m->tried) ? 2 * m->patience : MEETING_FIRST;
    m->again = clock_now() + m->patience;
    m->tried = pairing;
    m->is_watched = false;
    t->ended_at = NEVER;
    move(t, WAY_MEETING);
    errand->meets = t->is_out_meeting = true;
}

/* This thread looks how the meeting goes on, if it is time to. */
static void begin_look(struct transport *t, struct transport_errand *errand)
{
    instant at = shm_look_at(t->shm);

    if (at == NEVER || clock_now() < at)
        return;
    errand->pairing.session = 0;
    errand->meets = t->is_out_meeting = true;
}

struct transport_met transport_meet(struct transport *t, struct transport_errand *errand)
{
    struct transport_met met = {.peer_file = -1};
    struct channel *units = t->is_sender ? t->out : t->in;
    const struct shm_terms terms = {
        .pairing = errand->pairing,
        .secret = t->keyring != NULL ? errand->secret : NULL,
        .own = t->arena,
        .lets_read = t->lets_read,
    };

    if (errand->pairing.session == 0) {
        shm_put_off(t->shm, errand->is_early);
        if (shm_look(t->shm) == SHM_HERE) /* it stays while this thread looks */
            met.peer_file = shm_open_peer(t->shm);
        if (shm_must_wake(t->shm))
            channel_wake_peer(t->out);
        return met;
    }
    met.why = (uint32_t)shm_meet(&met.made, t->is_sender, units, &terms);
    if (met.made != NULL)
        shm_put_off(met.made, errand->is_early);
    if (t->is_sender && met.why == SHM_FINE)
        channel_wake_peer(t->out); /* somebody has connected */
    sodium_memzero(errand->secret, sizeof(errand->secret));
    return met;
}

uint32_t transport_met(struct transport *t, const struct transport_errand *errand,
                       struct transport_met met)
{
    t->is_out_meeting = false;
    t->meeting.is_watched |= met.peer_file >= 0;
    if (errand->pairing.session == 0)
        return 0;
    t->shm = met.made;
    t->meeting.why = met.why;
    if (met.made != NULL)
        return 0;
    move(t, WAY_SOCKET);
    return is_early(t) ? 0 : missed(t);
}

void transport_free(struct shm *gone)
{
    shm_free(gone);
}

uint32_t transport_leave(struct transport *t, bool is_used, struct transport_errand *errand)
{
    if (is_used || t->is_pushing || t->is_late)
        return 0;
    t->meeting.why = (uint32_t)shm_why(t->shm);
    t->meeting.patience = MEETING_LAST;
    t->bytes += shm_bytes(t->shm);
    errand->gone = t->shm;
    t->shm = NULL;
    move(t, WAY_SOCKET);
    return t->meeting.why != SHM_FINE ? missed(t) : 0;
}

/* As far as the other side allows. */
static uint32_t advance(struct transport *t, const struct transport_facts *facts)
{
    enum shm_state state = shm_state(t->shm);
    uint32_t changes = 0;

    if (state == SHM_AWAY || !shm_is_of(t->shm, facts->pairing)) {
        changes = transport_is_memory(t) ? TRANSPORT_LEFT : 0;
        move(t, WAY_LEAVING);
    } else if (state == SHM_HERE && t->way == WAY_MEETING) {
        changes = TRANSPORT_HERE;
        t->found = clock_now();
        move(t, WAY_DRAINING);
    }
    /* No unit overtakes another; but this lasts for some time at most. */
    if (t->way == WAY_DRAINING && t->is_sender && (facts->is_idle || !is_clearing(t))) {
        changes |= TRANSPORT_TAKEN;
        move(t, WAY_MEMORY);
    }
    return changes;
}

void transport_on_drained(struct transport *t)
{
    if (t->way == WAY_DRAINING)
        move(t, WAY_MEMORY);
}

uint32_t transport_tend(struct transport *t, const struct transport_facts *facts,
                        struct transport_errand *errand)
{
    uint32_t changes = 0;

    errand->meets = false;
    errand->gone = NULL;
    if (t->is_out_meeting)
        return 0;
    if (!is_same(facts->pairing, t->meeting.tried)) { /* whatever becomes of that process */
        t->meeting.is_watched = false;
        t->ended_at = NEVER;
    }
    errand->is_early = facts->is_early;
    if (facts->may_meet && transport_must_meet(t, facts->pairing)) {
        begin_meeting(t, facts->pairing, errand);
        return 0;
    }
    if (t->shm == NULL)
        return 0;
    if (t->way != WAY_LEAVING)
        changes = advance(t, facts);
    if (facts->may_meet && t->way != WAY_LEAVING)
        begin_look(t, errand);
    return changes;
}

instant transport_deadline(const struct transport *t)
{
    bool waits = t->is_required && !t->is_out_meeting && t->shm != NULL;

    return instant_earlier(instant_earlier(waits ? shm_look_at(t->shm) : NEVER, t->ended_at),
                           t->watch_at);
}

void transport_on_peer_ended(struct transport *t)
{
    bool is_here = t->shm != NULL && shm_state(t->shm) == SHM_HERE;

    if (is_here ? shm_has_lost_peer(t->shm) : t->meeting.is_watched)
        t->ended_at = clock_now() + HEARD_OUT;
    t->put_off = 0;
}

bool transport_put_off_peer_end(struct transport *t, instant now)
{
    if (now < t->ended_at || t->put_off == PUT_OFF_MOST)
        return false;
    t->put_off++;
    t->ended_at = now + HEARD_OUT;
    return true;
}

bool transport_take_peer_end(struct transport *t, instant now)
{
    bool is_over = now >= t->ended_at;

    if (is_over)
        t->ended_at = NEVER;
    return is_over;
}
