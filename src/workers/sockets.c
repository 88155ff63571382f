#include "sockets.h"

#include "core/check.h"
#include "platform/sleep.h"
#include "platform/system.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EVENTS = 64,         /* taken from epoll at once */
    VAIN_A_LOOK = 8,     /* glances in vain, at the clock */
    GLANCES_A_LOOK = 32, /* looks in a row that only glance */
    SLOT_WAKE = 0,
    FEW = 2, /* that have something at once: the user hears of them at once, too */
};

/* ---- arming, within the set's mutex ---- */

static uint64_t name_of(const struct sockets *s, uint32_t slot)
{
    return (uint64_t)s->table[slot].generation << 32 | slot;
}

/* What is armed for nothing tells of an error once at most. False if the system has no room. */
static bool set_armed(struct sockets *s, struct sockets_member *m, uint32_t events, int call)
{
    struct epoll_event event = {.events = events != 0 ? events : EPOLLONESHOT,
                                .data.u64 = name_of(s, m->slot)};

    if (epoll_ctl(s->epoll, call, m->fd, &event) != 0)
        return false;
    m->events = events;
    return true;
}

static void arm(struct sockets *s, struct sockets_member *m)
{
    if (!m->is_leaving && m->events == 0)
        (void)set_armed(s, m, EPOLLIN, EPOLL_CTL_MOD);
}

static void disarm(struct sockets *s, struct sockets_member *m)
{
    if (!m->is_leaving && m->events != 0)
        (void)set_armed(s, m, 0, EPOLL_CTL_MOD);
}

static void nap_until(struct sockets *s, struct sockets_member *m, instant at)
{
    if (!m->is_leaving && (m->nap.place == 0 || at < m->nap.at))
        deadlines_set(&s->naps, &m->nap, at);
}

/* ---- those that are polled, within the mutex ---- */

/* Others only look. */
static void count_polled(struct sockets *s, uint32_t more)
{
    uint32_t polled = atomic_load_explicit(&s->polled, memory_order_relaxed);

    atomic_store_explicit(&s->polled, polled + more, memory_order_relaxed);
}

static void add_polled(struct sockets *s, struct sockets_member *m)
{
    m->is_polled = true;
    m->previous = s->last_polled;
    m->next = NULL;
    if (s->last_polled != NULL)
        s->last_polled->next = m;
    else
        s->first_polled = m;
    s->last_polled = m;
    count_polled(s, 1);
}

static void remove_polled(struct sockets *s, struct sockets_member *m)
{
    if (!m->is_polled)
        return;
    m->is_polled = false;
    if (m->previous != NULL)
        m->previous->next = m->next;
    else
        s->first_polled = m->next;
    if (m->next != NULL)
        m->next->previous = m->previous;
    else
        s->last_polled = m->previous;
    count_polled(s, UINT32_MAX);
}

static void poll_from_now(struct sockets *s, struct sockets_member *m)
{
    if (m->is_leaving)
        return;
    m->vain = 0;
    if (!m->is_polled)
        add_polled(s, m);
}

/* ---- turns, within the mutex, which they leave meanwhile ---- */

static bool hold(struct sockets_member *m)
{
    if (m == NULL || m->is_leaving || atomic_load(&m->turn) != 0)
        return false;
    atomic_store_explicit(&m->turn, TURN_RUNS, memory_order_relaxed);
    m->was_armed = false;
    return true;
}

/* The turn is over, unless more than that is to be done: then release does it, within the mutex.
 * The member may be gone when this returns true. */
static bool end_turn(struct sockets_member *m)
{
    uint32_t turn = TURN_RUNS;

    return atomic_compare_exchange_strong(&m->turn, &turn, 0);
}

static void forget_held(struct sockets *s, struct sockets_member *m)
{
    struct sockets_member *before = s->first_held;

    if (!m->has_held)
        return;
    m->has_held = false;
    if (before == m) {
        s->first_held = m->next_held;
        return;
    }
    while (before->next_held != m)
        before = before->next_held;
    before->next_held = m->next_held;
}

/* Nobody has its turn any more. The member may be gone when this returns. */
static void take_out(struct sockets *s, struct sockets_member *m)
{
    remove_polled(s, m);
    forget_held(s, m);
    s->table[m->slot].member = NULL;
    s->members--;
    atomic_store(&m->turn, 0);
    atomic_store(&m->set, NULL);
    condition_broadcast(&s->is_left);
}

/* A nap that ended meanwhile has its turn now: this one may have been a glance. The member may be
 * gone when this returns. While a turn runs its other bits are set within the mutex only. */
static void release(struct sockets *s, struct sockets_member *m)
{
    uint32_t turn = atomic_load(&m->turn);

    if (turn & TURN_IS_LAST) {
        mutex_unlock(&s->mutex);
        m->duties->left(m->client);
        mutex_lock(&s->mutex);
        take_out(s, m);
        return;
    }
    if (turn & TURN_IS_MISSED) {
        nap_until(s, m, 0);
        wake_signal(&s->wake);
    }
    atomic_store_explicit(&m->turn, 0, memory_order_release);
}

/* Notes that a nap has ended while a turn runs; false if none does. */
static bool miss(struct sockets_member *m)
{
    bool runs = atomic_fetch_or(&m->turn, TURN_IS_MISSED) & TURN_RUNS;

    if (!runs)
        atomic_fetch_and(&m->turn, ~(uint32_t)TURN_IS_MISSED);
    return runs;
}

/* Does what a turn wants next. */
static void follow(struct sockets *s, struct sockets_member *m, instant next)
{
    bool is_nap = next != SOCKETS_ARM && next != SOCKETS_LEAVE_BE && next != SOCKETS_POLL;

    if (is_nap)
        nap_until(s, m, next);
    if (next == SOCKETS_POLL)
        poll_from_now(s, m);
    if (next == SOCKETS_ARM || next == SOCKETS_POLL || m->was_armed)
        arm(s, m);
    else
        disarm(s, m);
}

static void note_held(struct sockets *s, struct sockets_member *m)
{
    if (m->is_leaving || m->has_held || !m->duties->holds(m->client))
        return;
    m->has_held = true;
    m->next_held = s->first_held;
    s->first_held = m;
}

static void arrive(struct sockets *s, struct sockets_member *m)
{
    if (!hold(m))
        return;
    mutex_unlock(&s->mutex);
    instant next = m->duties->arrive(m->client);
    mutex_lock(&s->mutex);
    follow(s, m, next);
    note_held(s, m);
    release(s, m);
}

static void on_event(struct sockets *s, const struct epoll_event *event)
{
    uint32_t slot = (uint32_t)event->data.u64;
    struct sockets_member *m = s->table[slot].member;

    if (s->table[slot].generation == (uint32_t)(event->data.u64 >> 32) && m != NULL &&
        m->events != 0)
        arrive(s, m);
}

static bool end_naps(struct sockets *s)
{
    bool any = false;

    if (deadlines_first(&s->naps) == NULL)
        return false;
    instant now = clock_now();
    for (struct deadline *d = deadlines_first(&s->naps); d != NULL && d->at <= now;
         d = deadlines_first(&s->naps)) {
        struct sockets_member *m =
            (struct sockets_member *)((char *)d - offsetof(struct sockets_member, nap));
        deadlines_remove(&s->naps, d);
        if (!miss(m))
            arrive(s, m);
        any = true;
    }
    return any;
}

/* Within a turn: has it been glanced at in vain for long enough? The clock is asked now and then:
 * what comes need not wait for that. */
static bool is_patience_over(struct sockets_member *m)
{
    if (m->vain++ % VAIN_A_LOOK != 0)
        return false;
    instant now = clock_now();
    if (m->vain == 1)
        m->polled_since = now;
    return now - m->polled_since >= m->patience;
}

/* A turn but for its end. True if memory had something. `rests`: it is not polled any more. */
static bool glance(struct sockets_member *m, bool *rests)
{
    bool any = m->duties->glance(m->client);
    if (any)
        m->vain = 0;
    *rests = !any && is_patience_over(m) && m->duties->rest(m->client);
    return any;
}

/* Ends a glance; within the mutex. */
static void end_glance(struct sockets *s, struct sockets_member *m, bool rests)
{
    if (rests)
        remove_polled(s, m);
    release(s, m);
}

/* The next to be glanced at goes to the end before its turn: so the list may change meanwhile. NULL
 * if another thread has its turn, or there is none. The glance before ends within the same section.
 */
static struct sockets_member *hold_polled(struct sockets *s, struct sockets_member *before,
                                          bool rests)
{
    mutex_lock(&s->mutex);
    if (before != NULL)
        end_glance(s, before, rests);
    struct sockets_member *m = s->first_polled;
    if (m != NULL && s->last_polled != m) {
        remove_polled(s, m);
        add_polled(s, m);
    }
    bool is_ours = hold(m);
    mutex_unlock(&s->mutex);
    return is_ours ? m : NULL;
}

/* ---- the set ---- */

static int open_epoll(struct sockets *s)
{
    struct epoll_event wake = {.events = EPOLLIN, .data.u64 = SLOT_WAKE};

    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0)
        return -errno;
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, wake_fd(&s->wake), &wake) == 0)
        return 0;
    int error = -errno;
    (void)close(s->epoll);
    return error;
}

int sockets_init(struct sockets *s)
{
    *s = (struct sockets){.epoll = -1};
    int error = wake_init(&s->wake);
    if (error)
        return error;
    error = open_epoll(s);
    if (error) {
        wake_fini(&s->wake);
        return error;
    }
    mutex_init(&s->mutex);
    condition_init(&s->is_left);
    return 0;
}

void sockets_fini(struct sockets *s)
{
    mutex_lock(&s->mutex);
    while (s->members > 0 || s->waiters > 0)
        (void)condition_wait(&s->is_left, &s->mutex, NEVER);
    mutex_unlock(&s->mutex);
    condition_fini(&s->is_left);
    mutex_fini(&s->mutex);
    sockets_abandon(s); /* nobody naps */
}

/* In a child the members that nap may be gone, or be on their way into the heap. */
void sockets_abandon(struct sockets *s)
{
    (void)close(s->epoll);
    wake_fini(&s->wake);
    free(s->naps.heap);
    free(s->table);
}

instant sockets_due(struct sockets *s)
{
    mutex_lock(&s->mutex);
    const struct deadline *first = deadlines_first(&s->naps);
    instant due = first != NULL ? first->at : NEVER;
    mutex_unlock(&s->mutex);
    return due;
}

/* Is it epoll's turn, which knows of the wake, too? */
static bool is_epolls_turn(struct sockets *s)
{
    return atomic_fetch_add(&s->looks, 1) % GLANCES_A_LOOK == 0;
}

/* Is it enough to have glanced? */
static bool is_deaf(struct sockets *s)
{
    return sockets_are_polled(s) && !is_epolls_turn(s);
}

/* Where nobody is polled a look asks epoll, or an only member itself. */
void sockets_hear(struct sockets *s)
{
    if (sockets_are_polled(s))
        atomic_store(&s->looks, 0);
}

bool sockets_glance(struct sockets *s)
{
    struct sockets_member *m = NULL;
    bool any = false, rests = false;

    for (uint32_t left = atomic_load(&s->polled); left > 0; left--) {
        m = hold_polled(s, m, rests);
        any |= m != NULL && glance(m, &rests);
    }
    if (m != NULL && (rests || !end_turn(m))) {
        mutex_lock(&s->mutex);
        end_glance(s, m, rests);
        mutex_unlock(&s->mutex);
    }
    return any;
}

/* Within the mutex. */
static void on_events(struct sockets *s, const struct epoll_event *event, int count)
{
    atomic_store_explicit(&s->is_alone, count <= FEW, memory_order_relaxed);
    for (int i = 0; i < count; i++)
        if (event[i].data.u64 != SLOT_WAKE)
            on_event(s, &event[i]);
        else
            wake_clear(&s->wake);
}

/* Within the mutex. The only member, if its socket is armed; else NULL, also if a set that was
 * large has it far behind. */
static struct sockets_member *find_only(const struct sockets *s)
{
    for (uint32_t i = SLOT_WAKE + 1; s->members == 1 && i < s->slots && i < EVENTS; i++)
        if (s->table[i].member != NULL)
            return s->table[i].member->events != 0 ? s->table[i].member : NULL;
    return NULL;
}

/* A user's thread that only asks has the turn of an only member, whether epoll knows of something
 * or not: that is a system call less if there is something, and none more if not. False: there is
 * no such member, or epoll is to be asked. A wake that is signalled stays so until then. */
static bool ask_only(struct sockets *s, bool *any)
{
    if (!atomic_load_explicit(&s->is_users, memory_order_relaxed) || sockets_are_polled(s) ||
        is_epolls_turn(s))
        return false;
    mutex_lock(&s->mutex);
    struct sockets_member *only = find_only(s);
    if (only != NULL) {
        atomic_store_explicit(&s->is_alone, true, memory_order_relaxed);
        arrive(s, only);
        *any |= end_naps(s);
    }
    mutex_unlock(&s->mutex);
    return only != NULL;
}

/* Where many have something epoll tells of some, and next of others. */
bool sockets_look(struct sockets *s, instant until)
{
    struct epoll_event event[EVENTS];
    bool any = sockets_glance(s);

    if (any)
        until = 0;
    bool asks = until <= 0;
    if (asks && (is_deaf(s) || ask_only(s, &any)))
        return any;
    int count =
        events_wait(s->epoll, event, EVENTS, asks ? 0 : instant_earlier(until, sockets_due(s)));
    mutex_lock(&s->mutex);
    uint32_t most = s->members / EVENTS;
    on_events(s, event, count);
    any |= end_naps(s);
    mutex_unlock(&s->mutex);
    any |= count > 0;
    for (uint32_t i = 0; i < most && count == EVENTS; i++) {
        count = events_wait(s->epoll, event, EVENTS, 0);
        mutex_lock(&s->mutex);
        on_events(s, event, count);
        mutex_unlock(&s->mutex);
    }
    return any;
}

/* One whose turn runs in another thread is left to that. */
void sockets_resume(struct sockets *s)
{
    if (atomic_load_explicit(&s->first_held, memory_order_relaxed) == NULL)
        return;
    mutex_lock(&s->mutex);
    while (s->first_held != NULL) {
        struct sockets_member *m = s->first_held;
        forget_held(s, m);
        if (!m->duties->holds(m->client) || !hold(m))
            continue;
        mutex_unlock(&s->mutex);
        m->duties->resume(m->client);
        mutex_lock(&s->mutex);
        release(s, m);
    }
    mutex_unlock(&s->mutex);
}

bool sockets_rest(struct sockets *s)
{
    bool all = true;

    if (!sockets_are_polled(s))
        return true;
    mutex_lock(&s->mutex);
    for (uint32_t left = atomic_load(&s->polled); left > 0 && s->first_polled != NULL; left--) {
        struct sockets_member *m = s->first_polled;
        remove_polled(s, m);
        if (!hold(m)) {
            add_polled(s, m); /* whoever has its turn may only glance */
            all = false;
            continue;
        }
        mutex_unlock(&s->mutex);
        bool rests = m->duties->rest(m->client);
        mutex_lock(&s->mutex);
        if (!rests)
            poll_from_now(s, m);
        all &= rests;
        release(s, m);
    }
    mutex_unlock(&s->mutex);
    return all;
}

/* ---- members ---- */

void sockets_member_init(struct sockets_member *m)
{
    *m = (struct sockets_member){.fd = -1};
    mutex_init(&m->mutex);
}

void sockets_member_fini(struct sockets_member *m)
{
    CHECK(!sockets_member_is_in(m));
    mutex_fini(&m->mutex);
}

/* A free place in the table, which grows; 0 if there is no memory. Within the mutex. */
static uint32_t find_slot(struct sockets *s)
{
    for (uint32_t i = s->members + 1; i < s->slots; i++)
        if (s->table[i].member == NULL)
            return i;
    for (uint32_t i = 1; i < s->slots; i++)
        if (s->table[i].member == NULL)
            return i;
    uint32_t slots = s->slots > 0 ? 2 * s->slots : 16;
    struct sockets_slot *table = calloc(slots, sizeof(*table)), *old = s->table;
    if (table == NULL)
        return 0;
    if (s->slots > 0)
        memcpy(table, old, s->slots * sizeof(*table));
    uint32_t found = s->slots > 0 ? s->slots : 1;
    s->table = table;
    s->slots = slots;
    free(old); /* last: a child of that moment has a table */
    return found;
}

/* Within both mutexes. */
static bool enter(struct sockets *s, struct sockets_member *m)
{
    if (!deadlines_reserve(&s->naps, s->members + 1))
        return false;
    m->slot = find_slot(s);
    if (m->slot == 0)
        return false;
    s->table[m->slot].generation++;
    if (!set_armed(s, m, EPOLLIN, EPOLL_CTL_ADD))
        return false;
    s->table[m->slot].member = m;
    s->members++;
    return true;
}

/* Within its own mutex. */
static bool join(struct sockets *s, struct sockets_member *m, const struct sockets_client *client)
{
    m->home = s;
    m->duties = client->duties;
    m->client = client->client;
    m->fd = client->fd;
    m->patience = client->patience;
    m->is_leaving = false;
    mutex_lock(&s->mutex);
    bool is_in = enter(s, m);
    mutex_unlock(&s->mutex);
    if (is_in)
        atomic_store(&m->set, s);
    return is_in;
}

bool sockets_add(struct sockets *s, struct sockets_member *m, const struct sockets_client *client)
{
    mutex_lock(&m->mutex);
    struct sockets *in = atomic_load(&m->set);
    bool is_in = in == NULL ? join(s, m, client) : in == s && m->users > 0;
    m->users += is_in;
    mutex_unlock(&m->mutex);
    return is_in;
}

/* Within the set's mutex, which it leaves while a turn runs. The set stays until all have left. */
static void leave(struct sockets *s, struct sockets_member *m)
{
    m->is_leaving = true;
    m->events = 0;
    (void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, m->fd, NULL);
    deadlines_remove(&s->naps, &m->nap);
    if (!(atomic_fetch_or(&m->turn, TURN_IS_LAST) & TURN_RUNS)) {
        take_out(s, m);
        return;
    }
    instant until = clock_now() + SOCKETS_AWAIT;
    s->waiters++;
    while (sockets_member_is_in(m) && clock_now() < until)
        (void)condition_wait(&s->is_left, &s->mutex, until);
    s->waiters--;
    condition_broadcast(&s->is_left);
}

/* While it leaves it has no users, and nobody can add it. */
bool sockets_remove(struct sockets *s, struct sockets_member *m)
{
    mutex_lock(&m->mutex);
    bool is_last = atomic_load(&m->set) == s && m->users > 0 && --m->users == 0;
    mutex_unlock(&m->mutex);
    if (!is_last)
        return false;
    mutex_lock(&s->mutex);
    leave(s, m);
    mutex_unlock(&s->mutex);
    return true;
}

/* The set that it is in, which stays while the member's mutex is held; NULL: none. */
static struct sockets *set_of(struct sockets_member *m)
{
    return m->users > 0 ? atomic_load(&m->set) : NULL;
}

bool sockets_arm(struct sockets_member *m)
{
    mutex_lock(&m->mutex);
    struct sockets *s = set_of(m);
    if (s != NULL) {
        mutex_lock(&s->mutex);
        m->was_armed = true;
        arm(s, m);
        mutex_unlock(&s->mutex);
    }
    mutex_unlock(&m->mutex);
    return s != NULL;
}

bool sockets_arrive(struct sockets_member *m)
{
    mutex_lock(&m->mutex);
    struct sockets *s = set_of(m);
    if (s != NULL) {
        mutex_lock(&s->mutex);
        nap_until(s, m, 0);
        mutex_unlock(&s->mutex);
        wake_signal(&s->wake);
    }
    mutex_unlock(&m->mutex);
    return s != NULL;
}
