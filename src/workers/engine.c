#include "engine_state.h"

#include "platform/sleep.h"
#include "platform/system.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

enum { EVENTS = 16 }; /* taken from epoll at once */

/* ---- turns ---- */

static bool hold(struct engine_member *m)
{
    if (m == NULL || m->is_leaving)
        return false;
    m->turns++;
    return true;
}

/* Within the mutex. The member may be gone when this returns. */
static void release(struct engine *engine, struct engine_member *m)
{
    m->turns--;
    if (m->is_leaving && m->turns == 0)
        condition_broadcast(&engine->is_left);
}

/* ---- arming ---- */

static uint64_t name_of(const struct engine *engine, const struct engine_member *m, int which)
{
    return (uint64_t)engine->table[m->slot].generation << 32 | (uint64_t)m->slot << WATCH_BITS |
           (uint64_t)which;
}

/* Tells epoll what the descriptor is armed for from now on. One that is armed for nothing tells of
 * an error once at most. False if the system has no room for it. Within the mutex. */
static bool set_armed(struct engine_member *m, int which, uint32_t events)
{
    struct engine *engine = m->engine;
    struct engine_watch *w = &m->watch[which];
    struct epoll_event event = {.events = events != 0 ? events : EPOLLONESHOT,
                                .data.u64 = name_of(engine, m, which)};

    if (m->is_leaving || w->fd < 0 || events == w->events)
        return true;
    int call = w->is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(engine->epoll, call, w->fd, &event) != 0)
        return false;
    w->is_known = true;
    w->events = events;
    return true;
}

/* At that instant the arriving thread does the turn for these events. Within the mutex. */
static void nap_until(struct engine_member *m, instant at, uint32_t events)
{
    if (m->is_leaving)
        return;
    m->awaited |= events;
    if (m->nap.place == 0 || at < m->nap.at)
        deadlines_set(&m->engine->naps, &m->nap, at);
}

/* What epoll cannot watch is looked at by time, until it can. False if the arriving thread has to
 * learn of that. Within the mutex. */
static bool arm(struct engine_member *m, int which, uint32_t events)
{
    if (set_armed(m, which, m->watch[which].events | events))
        return true;
    atomic_fetch_add(&m->unwatched, 1);
    nap_until(m, clock_now() + ENGINE_LOOK, events);
    return false;
}

/* What stays armed costs a turn more. */
static void disarm(struct engine_member *m, int which, uint32_t events)
{
    (void)set_armed(m, which, m->watch[which].events & ~events);
}

static int watch_to_send(const struct engine_member *m)
{
    return m->watch[WATCH_OUT].fd >= 0 ? WATCH_OUT : WATCH_IN;
}

void engine_arm(struct engine_member *m)
{
    struct engine *engine = m->engine;

    mutex_lock(&engine->mutex);
    m->was_armed = true;
    bool is_armed = arm(m, WATCH_IN, EPOLLIN);
    mutex_unlock(&engine->mutex);
    if (!is_armed)
        wake_signal(&engine->wake);
}

void engine_arm_writable(struct engine_member *m)
{
    struct engine *engine = m->engine;

    mutex_lock(&engine->mutex);
    bool is_armed = arm(m, watch_to_send(m), EPOLLOUT);
    mutex_unlock(&engine->mutex);
    if (!is_armed)
        wake_signal(&engine->wake);
}

/* Within the mutex. */
static void forget(struct engine_member *m, int which)
{
    if (m->watch[which].is_known)
        (void)epoll_ctl(m->engine->epoll, EPOLL_CTL_DEL, m->watch[which].fd, NULL);
    m->watch[which].is_known = false;
}

static void close_peer(struct engine_member *m)
{
    if (m->watch[WATCH_PEER].fd >= 0)
        (void)close(m->watch[WATCH_PEER].fd);
    m->watch[WATCH_PEER].fd = -1;
}

void engine_watch_peer(struct engine_member *m, int file)
{
    mutex_lock(&m->engine->mutex);
    forget(m, WATCH_PEER);
    close_peer(m);
    m->watch[WATCH_PEER] = (struct engine_watch){.fd = file};
    (void)set_armed(m, WATCH_PEER, EPOLLIN); /* or else its silence tells */
    if (m->is_leaving)
        close_peer(m);
    mutex_unlock(&m->engine->mutex);
}

void engine_abandon(struct engine_member *m)
{
    close_peer(m);
}

/* ---- the arriving thread ---- */

void engine_arrive(struct engine_member *m)
{
    struct engine *engine = m->engine;

    mutex_lock(&engine->mutex);
    nap_until(m, 0, EPOLLIN);
    mutex_unlock(&engine->mutex);
    wake_signal(&engine->wake);
}

/* Does what `arrive` wants next. A nap is taken also if somebody has armed the socket meanwhile:
 * see engine.h. One that is over already ends now: other members have their turns first. Within the
 * mutex. */
static void follow(struct engine_member *m, instant next)
{
    if (next == ENGINE_ARM || m->was_armed)
        (void)arm(m, WATCH_IN, EPOLLIN);
    else
        disarm(m, WATCH_IN, EPOLLIN);
    if (next != ENGINE_ARM && next != ENGINE_LEAVE_BE)
        nap_until(m, instant_later(next, clock_now()), EPOLLIN);
}

/* A turn of a member that is held. Within the mutex, which it leaves meanwhile. */
static void arrive(struct engine *engine, struct engine_member *m)
{
    m->was_armed = false;
    mutex_unlock(&engine->mutex);
    instant next = m->duties->arrive(m->client);
    mutex_lock(&engine->mutex);
    follow(m, next);
}

/* The turns of a member that is held. Within the mutex, which they leave meanwhile. */
static void take_turns(struct engine *engine, struct engine_member *m, uint32_t events)
{
    if (events & EPOLLOUT) {
        mutex_unlock(&engine->mutex);
        m->duties->writable(m->client);
        mutex_lock(&engine->mutex);
    }
    if (events & EPOLLIN)
        arrive(engine, m);
}

static bool is_readable(int file)
{
    struct pollfd set = {.fd = file, .events = POLLIN};

    return poll(&set, 1, 0) > 0;
}

/* The same, once. Since epoll told of the descriptor another one may have replaced it. */
static void tell_of_peer(struct engine *engine, struct engine_member *m)
{
    if (!is_readable(m->watch[WATCH_PEER].fd))
        return;
    forget(m, WATCH_PEER);
    close_peer(m);
    mutex_unlock(&engine->mutex);
    m->duties->peer_ended(m->client);
    mutex_lock(&engine->mutex);
}

/* Within the mutex. An error of the socket's is told by receiving. */
static void on_event(struct engine *engine, const struct epoll_event *event)
{
    uint32_t slot = (uint32_t)event->data.u64 >> WATCH_BITS;
    int which = (int)(event->data.u64 & ((1U << WATCH_BITS) - 1));
    struct engine_member *m = engine->table[slot].member;

    if (engine->table[slot].generation != (uint32_t)(event->data.u64 >> 32) || !hold(m))
        return;
    uint32_t armed = m->watch[which].events;
    uint32_t fired = event->events & (EPOLLERR | EPOLLHUP) ? armed : event->events & armed;
    if (fired & EPOLLOUT)
        disarm(m, which, EPOLLOUT);
    if (which != WATCH_PEER)
        take_turns(engine, m, fired);
    else if (fired != 0)
        tell_of_peer(engine, m);
    release(engine, m);
}

/* Turns of those whose naps are over. Within the mutex. */
static void end_naps(struct engine *engine)
{
    instant now = clock_now();

    for (;;) {
        struct deadline *first = deadlines_first(&engine->naps);
        if (first == NULL || first->at > now)
            return;
        deadlines_remove(&engine->naps, first);
        struct engine_member *m =
            (struct engine_member *)((char *)first - offsetof(struct engine_member, nap));
        uint32_t awaited = m->awaited;
        m->awaited = 0;
        if (hold(m)) {
            take_turns(engine, m, awaited);
            release(engine, m);
        }
    }
}

void engine_run_arriving(void *context)
{
    struct engine *engine = context;
    struct epoll_event event[EVENTS];

    mutex_lock(&engine->mutex);
    while (!engine->is_stopping) {
        const struct deadline *nap = deadlines_first(&engine->naps);
        instant until = nap != NULL ? nap->at : NEVER;
        mutex_unlock(&engine->mutex);
        int count = events_wait(engine->epoll, event, EVENTS, until);
        mutex_lock(&engine->mutex);
        for (int i = 0; i < count; i++)
            if (event[i].data.u64 != SLOT_WAKE)
                on_event(engine, &event[i]);
            else
                wake_clear(&engine->wake);
        end_naps(engine);
    }
    mutex_unlock(&engine->mutex);
}

/* ---- the sending thread ---- */

void engine_ready(struct engine_member *m)
{
    struct engine *engine = m->engine;

    mutex_lock(&engine->mutex);
    if (!m->is_ready && !m->is_leaving) {
        m->is_ready = true;
        m->next_ready = NULL;
        if (engine->last_ready != NULL)
            engine->last_ready->next_ready = m;
        else
            engine->first_ready = m;
        engine->last_ready = m;
    }
    bool must_wake = engine->sending_sleeps;
    engine->sending_sleeps = false;
    mutex_unlock(&engine->mutex);
    if (must_wake)
        condition_signal(&engine->has_ready);
}

static struct engine_member *take_ready(struct engine *engine)
{
    struct engine_member *m = engine->first_ready;

    engine->first_ready = m->next_ready;
    if (engine->first_ready == NULL)
        engine->last_ready = NULL;
    m->is_ready = false;
    return m;
}

static void forget_ready(struct engine *engine, struct engine_member *m)
{
    struct engine_member *before = NULL;

    if (!m->is_ready)
        return;
    for (struct engine_member *at = engine->first_ready; at != m; at = at->next_ready)
        before = at;
    if (before != NULL)
        before->next_ready = m->next_ready;
    else
        engine->first_ready = m->next_ready;
    if (engine->last_ready == m)
        engine->last_ready = before;
    m->is_ready = false;
}

void engine_run_sending(void *context)
{
    struct engine *engine = context;

    mutex_lock(&engine->mutex);
    while (!engine->is_stopping) {
        if (engine->first_ready == NULL) {
            engine->sending_sleeps = true;
            (void)condition_wait(&engine->has_ready, &engine->mutex, NEVER);
            engine->sending_sleeps = false;
            continue;
        }
        struct engine_member *m = take_ready(engine);
        if (!hold(m))
            continue;
        mutex_unlock(&engine->mutex);
        m->duties->send(m->client);
        mutex_lock(&engine->mutex);
        release(engine, m);
    }
    mutex_unlock(&engine->mutex);
}

/* ---- the timeout thread ---- */

static instant first_deadline(const struct engine *engine)
{
    const struct deadline *first = deadlines_first(&engine->deadlines);

    return first != NULL ? first->at : NEVER;
}

/* One that has rung rings no more unless it is set. Within the mutex. */
static void set_alarm(struct engine *engine, instant at)
{
    bool is_silent = engine->rings_at == ENGINE_AWAKE && at == NEVER;

    if (at == engine->rings_at)
        return;
    engine->rings_at = at;
    if (!is_silent)
        alarm_set(&engine->alarm, at);
}

/* While the thread does turns, a deadline that is over already is over now: other members have
 * their turns first, as with naps. Within the mutex. */
static instant in_turn(const struct engine *engine, instant at)
{
    return engine->rings_at == ENGINE_AWAKE ? instant_later(at, clock_now()) : at;
}

void engine_due(struct engine_member *m, instant at, uint32_t wish)
{
    struct engine *engine = m->engine;

    mutex_lock(&engine->mutex);
    if (m->is_leaving || (int32_t)(wish - m->wish) <= 0) {
        mutex_unlock(&engine->mutex);
        return;
    }
    m->wish = wish;
    if (at == NEVER)
        deadlines_remove(&engine->deadlines, &m->deadline);
    else
        deadlines_set(&engine->deadlines, &m->deadline, in_turn(engine, at));
    if (engine->rings_at != ENGINE_AWAKE)
        set_alarm(engine, first_deadline(engine));
    mutex_unlock(&engine->mutex);
}

void engine_run_timeout(void *context)
{
    struct engine *engine = context;

    mutex_lock(&engine->mutex);
    while (!engine->is_stopping) {
        struct deadline *first = deadlines_first(&engine->deadlines);
        if (first == NULL || first->at > clock_now()) {
            set_alarm(engine, first_deadline(engine));
            mutex_unlock(&engine->mutex);
            alarm_wait(&engine->alarm);
            mutex_lock(&engine->mutex);
            engine->rings_at = ENGINE_AWAKE;
            continue;
        }
        deadlines_remove(&engine->deadlines, first);
        struct engine_member *m =
            (struct engine_member *)((char *)first - offsetof(struct engine_member, deadline));
        if (!hold(m))
            continue;
        mutex_unlock(&engine->mutex);
        m->duties->expire(m->client);
        mutex_lock(&engine->mutex);
        release(engine, m);
    }
    mutex_unlock(&engine->mutex);
}

/* ---- the end ---- */

void engine_stop(struct engine_member *m)
{
    struct engine *engine = m->engine;

    mutex_lock(&engine->mutex);
    m->is_leaving = true;
    forget_ready(engine, m);
    deadlines_remove(&engine->deadlines, &m->deadline);
    deadlines_remove(&engine->naps, &m->nap);
    for (int i = 0; i <= WATCH_PEER; i++)
        forget(m, i);
    close_peer(m);
    while (m->turns > 0)
        (void)condition_wait(&engine->is_left, &engine->mutex, NEVER);
    mutex_unlock(&engine->mutex);
}

void engine_end_threads(struct engine *engine)
{
    mutex_lock(&engine->mutex);
    engine->is_stopping = true;
    set_alarm(engine, 0);
    mutex_unlock(&engine->mutex);
    wake_signal(&engine->wake);
    condition_signal(&engine->has_ready);
}
