#include "peers.h"

#include "connection.h"
#include "link/codes.h"
#include "sessions.h"
#include "waiting/changes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct waiting_peer {
    struct zcrp_connection *connection;
    uint64_t host; /* its number (address_host_number) */
    instant since;
};

/* Lock letters: (c) constant from create on, (m) the mutex, (a) atomic. */
struct peers {
    _Atomic uint32_t holders;  /* (a) */
    struct sessions *sessions; /* (c) */
    struct interrupt interrupt;
    _Atomic uint32_t changes; /* (a) a futex: something to take */
    struct mutex mutex;
    struct place place;        /* in a queue */
    struct wake wake;          /* (m) readable while there is something to take; -1: not in use */
    int lack;                  /* (m) an error number that the next take tells; 0: none */
    uint64_t admitted;         /* (m) so far, */
    uint64_t dropped;          /* (m) and times that one found no room, or waited for too long */
    uint32_t asked;            /* (m) times, for the oldest */
    struct waiting_peer *ring; /* (m) those that wait */
    uint32_t room;             /* (c) of the ring */
    uint32_t first, waiting;   /* (m) */
    uint32_t most;             /* (c) */
    uint32_t count;            /* (m) */
    struct peer {
        uint64_t number; /* (m) of its address */
        uint64_t host;   /* (m) of its host */
    } peer[];            /* in any order */
};

struct peers *peers_create(uint32_t most, uint32_t waiting)
{
    struct peers *p = calloc(1, sizeof(*p) + most * sizeof(p->peer[0]));
    struct waiting_peer *ring = calloc(waiting, sizeof(*ring));
    struct sessions *sessions = sessions_create(most);

    if (p == NULL || ring == NULL || sessions == NULL) {
        sessions_destroy(sessions, false);
        free(p);
        free(ring);
        return NULL;
    }
    p->sessions = sessions;
    p->holders = 1;
    p->wake.fd = -1;
    p->most = most;
    p->room = waiting;
    p->ring = ring;
    mutex_init(&p->mutex);
    return p;
}

static void let_go(struct peers *p, bool is_in_child)
{
    if (atomic_fetch_sub(&p->holders, 1) > 1)
        return;
    sessions_destroy(p->sessions, is_in_child);
    if (!is_in_child)
        mutex_fini(&p->mutex);
    free(p);
}

struct peers *peers_hold(struct peers *p)
{
    atomic_fetch_add(&p->holders, 1);
    return p;
}

static struct waiting_peer *waiting_at(struct peers *p, uint32_t place)
{
    return &p->ring[(p->first + place) % p->room];
}

void peers_close(struct peers *p, bool is_in_child)
{
    if (p == NULL)
        return;
    /* The parent's other thread may have been about to change the backlog: that is left. */
    uint32_t waiting = is_in_child && !mutex_is_free(&p->mutex) ? 0 : p->waiting;
    for (uint32_t i = 0; i < waiting; i++) {
        struct zcrp_connection *c = waiting_at(p, i)->connection;
        if (is_in_child)
            connection_abandon(c);
        else
            connection_turn_away(c);
    }
    if (p->wake.fd >= 0)
        wake_fini(&p->wake);
    free(p->ring);
    let_go(p, is_in_child);
}

/* Its place, or the count if it is not there. Under the mutex. */
static uint32_t find(const struct peers *p, uint64_t number)
{
    uint32_t i = 0;

    while (i < p->count && p->peer[i].number != number)
        i++;
    return i;
}

void peers_forget(struct peers *p, const union address *peer)
{
    mutex_lock(&p->mutex);
    uint32_t i = find(p, address_number(peer));
    if (i < p->count)
        p->peer[i] = p->peer[--p->count];
    mutex_unlock(&p->mutex);
}

void peers_leave(struct peers *p, const union address *peer, bool is_in_child)
{
    if (p == NULL)
        return;
    if (!is_in_child)
        peers_forget(p, peer);
    let_go(p, is_in_child);
}

/* ---- admitting ---- */

/* Is there room for another one of this host, here and among those that wait? Under the mutex. */
static bool has_room(struct peers *p, uint64_t host)
{
    uint32_t taken = 0, waiting = 0;

    for (uint32_t i = 0; i < p->count; i++)
        taken += p->peer[i].host == host;
    for (uint32_t i = 0; i < p->waiting; i++)
        waiting += waiting_at(p, i)->host == host;
    return peers_may_share(taken, p->most - p->count) &&
           peers_may_share(waiting, p->room - p->waiting);
}

/* Is it a new peer, and is there room for it? If there is none, it is counted. Under the mutex. */
static bool may_come(struct peers *p, const struct peer *peer)
{
    bool is_new = find(p, peer->number) == p->count, may = is_new && has_room(p, peer->host);

    p->dropped += is_new && !may;
    return may;
}

bool peers_have_room(struct peers *p, const union address *peer)
{
    const struct peer caller = {address_number(peer), address_host_number(peer)};

    mutex_lock(&p->mutex);
    bool may = may_come(p, &caller);
    mutex_unlock(&p->mutex);
    return may;
}

bool peers_reserve(struct peers *p, const union address *peer)
{
    const struct peer caller = {address_number(peer), address_host_number(peer)};

    mutex_lock(&p->mutex);
    bool may = may_come(p, &caller);
    if (may)
        p->peer[p->count++] = caller;
    mutex_unlock(&p->mutex);
    return may;
}

bool peers_move(struct peers *p, const union address *from, const union address *to)
{
    uint64_t number = address_number(to);

    mutex_lock(&p->mutex);
    uint32_t i = find(p, address_number(from));
    bool may = find(p, number) == p->count && i < p->count;
    if (may)
        p->peer[i] = (struct peer){number, address_host_number(to)};
    mutex_unlock(&p->mutex);
    return may;
}

struct sessions *peers_sessions(const struct peers *p)
{
    return p->sessions;
}

/* Would take say something? Under the mutex. */
static bool has_news(const struct peers *p)
{
    return p->waiting > 0 || p->lack != 0;
}

/* Ends a locked section in which a caller, or a lack, came. */
static void tell(struct peers *p)
{
    if (p->wake.fd >= 0 && has_news(p))
        wake_signal(&p->wake);
    bool is_in_queue = place_is_in_queue(&p->place); /* else who joins one counts this caller */
    mutex_unlock(&p->mutex);
    changes_tell(&p->changes);
    if (is_in_queue)
        place_note_callers(&p->place, 1);
}

void peers_admit(struct peers *p, struct zcrp_connection *connection, const union address *peer,
                 instant now)
{
    mutex_lock(&p->mutex);
    *waiting_at(p, p->waiting++) =
        (struct waiting_peer){connection, address_host_number(peer), now};
    p->admitted++;
    tell(p);
}

void peers_lack(struct peers *p, int error)
{
    mutex_lock(&p->mutex);
    p->lack = error;
    tell(p);
}

/* ---- taking ---- */

/* There is one. Under the mutex. */
static struct zcrp_connection *take_first(struct peers *p)
{
    struct zcrp_connection *connection = waiting_at(p, 0)->connection;

    p->first = (p->first + 1) % p->room;
    p->waiting--;
    return connection;
}

/* Ends a locked section in which something was taken. */
static void end_taking(struct peers *p)
{
    if (p->wake.fd >= 0 && !has_news(p))
        wake_clear(&p->wake);
    mutex_unlock(&p->mutex);
}

struct taking {
    struct peers *peers;
    struct zcrp_connection **connection;
};

/* BUSY: there is nothing. */
static int take(void *context)
{
    const struct taking *taking = context;
    struct peers *p = taking->peers;
    int code = ZCRP_ERROR_BUSY;

    mutex_lock(&p->mutex);
    if (p->waiting > 0) {
        *taking->connection = take_first(p);
        code = ZCRP_OK;
    } else if (p->lack != 0) {
        code = code_of_channel(p->lack);
        p->lack = 0;
    }
    int error = errno; /* the code's */
    end_taking(p);
    errno = error;
    return code;
}

int peers_take(struct peers *p, struct zcrp_connection **connection, instant deadline)
{
    struct taking taking = {p, connection};

    return changes_await(&p->changes, &p->interrupt, take, &taking, deadline);
}

struct zcrp_connection *peers_take_late(struct peers *p, instant before)
{
    struct zcrp_connection *connection = NULL;

    mutex_lock(&p->mutex);
    if (p->waiting > 0 && waiting_at(p, 0)->since <= before) {
        connection = take_first(p);
        p->dropped++;
    }
    end_taking(p);
    return connection;
}

uint32_t peers_oldest(struct peers *p, instant *since)
{
    mutex_lock(&p->mutex);
    *since = p->waiting > 0 ? waiting_at(p, 0)->since : NEVER;
    uint32_t asked = ++p->asked;
    mutex_unlock(&p->mutex);
    return asked;
}

void peers_interrupt(struct peers *p)
{
    interrupt_raise(&p->interrupt);
}

/* A caller that comes meanwhile waits for the mutex, so the queue is told of it afterwards. */
bool peers_join_queue(struct peers *p, struct completions *queue, void *context, void *owner)
{
    const struct place as = {.context = context, .owner = owner, .is_backlog = true};

    mutex_lock(&p->mutex);
    bool has_joined = completions_add(queue, &p->place, &as);
    uint32_t callers = p->waiting + (p->lack != 0);
    mutex_unlock(&p->mutex);
    if (has_joined)
        place_note_callers(&p->place, callers);
    return has_joined;
}

bool peers_leave_queue(struct peers *p, const struct completions *from)
{
    completions_lock();
    bool was_in = (from == NULL || atomic_load(&p->place.in) == from) && place_leave(&p->place);
    completions_unlock();
    return was_in;
}

int peers_descriptor(struct peers *p)
{
    mutex_lock(&p->mutex);
    int error = p->wake.fd < 0 ? wake_init(&p->wake) : 0;
    if (!error && has_news(p))
        wake_signal(&p->wake);
    int fd = error ? error : p->wake.fd;
    mutex_unlock(&p->mutex);
    return fd;
}

void peers_add_stats(struct peers *p, struct zcrp_listener_stats *stats)
{
    mutex_lock(&p->mutex);
    stats->admitted = p->admitted;
    stats->dropped += p->dropped;
    stats->connections = p->count;
    mutex_unlock(&p->mutex);
}
