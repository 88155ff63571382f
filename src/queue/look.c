/* Who looks at a queue's sockets: takers, or the engine. */
#include "queue.h"

#include "platform/system.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- the user's descriptor ---- */

/* While the engine looks at the sockets, they do not concern who polls. Within the mutex. */
static void show_sockets(struct zcrp_queue *q)
{
    bool must_show = atomic_load(&q->is_on) && lease_state(&q->lease) != LEASE_WORKERS;
    struct epoll_event event = {.events = EPOLLIN};

    if (must_show == q->has_sockets)
        return;
    int call = must_show ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
    if (epoll_ctl(q->descriptor, call, q->sockets.epoll, &event) == 0)
        q->has_sockets = must_show;
}

/* ---- the engine ---- */

/* Has anybody in the set something to do that no socket tells of: a nap to end, memory to glance
 * at?
 */
static bool has_more_to_do(struct zcrp_queue *q)
{
    return sockets_are_polled(&q->sockets) || sockets_due(&q->sockets) != NEVER;
}

/* The engine looks from now on. What no socket tells of has its turn there. */
static void hand_to_engine(struct zcrp_queue *q)
{
    engine_arm(&q->member);
    if (has_more_to_do(q))
        engine_arrive(&q->member);
}

/* Armed once more within the turn, the set is watched during a nap, too. A taker that fell asleep
 * meanwhile looks again: it does not know of a nap that has begun here, nor of memory that is to be
 * glanced at, and a wake-up that it was sent may have been cleared here. */
static instant on_arrival(void *client)
{
    struct zcrp_queue *q = client;

    mutex_lock(&q->mutex);
    bool is_looked_after = lease_on_disarmed(&q->lease);
    show_sockets(q);
    mutex_unlock(&q->mutex);
    if (is_looked_after)
        return ENGINE_LEAVE_BE;
    (void)sockets_look(&q->sockets, 0);
    instant due = sockets_rest(&q->sockets) ? sockets_due(&q->sockets) : 0;
    lease_wake(&q->lease);
    if (due == NEVER)
        return ENGINE_ARM;
    engine_arm(&q->member);
    return due;
}

/* Within the mutex: the engine is to look when the lease has been kept for long enough. The number
 * of the wish that says so; 0: it knows. */
static uint32_t wish(struct zcrp_queue *q, instant *at)
{
    *at = lease_returns_at(&q->lease);
    if (*at >= q->due)
        return 0;
    q->due = *at;
    q->wish += q->wish == UINT32_MAX ? 2 : 1;
    return q->wish;
}

/* Ends a section of the mutex in which the lease has changed, and hands the sockets to the engine
 * if that `must_hand`. */
static void leave_lease(struct zcrp_queue *q, bool must_hand)
{
    instant at;
    uint32_t wished = wish(q, &at);

    show_sockets(q);
    mutex_unlock(&q->mutex);
    if (wished != 0)
        engine_due(&q->member, at, wished);
    if (must_hand)
        hand_to_engine(q);
}

static void on_due(void *client)
{
    struct zcrp_queue *q = client;

    mutex_lock(&q->mutex);
    q->due = NEVER;
    leave_lease(q, lease_return_if_due(&q->lease, clock_now()));
}

static void on_nothing(void *client)
{
    (void)client;
}

static const struct engine_duties duties = {
    .arrive = on_arrival, .writable = on_nothing, .send = on_nothing, .expire = on_due};

/* ---- begin and end ---- */

static int open_descriptor(struct zcrp_queue *q)
{
    struct epoll_event event = {.events = EPOLLIN};
    int error = wake_init(&q->wake);

    if (error)
        return error;
    q->descriptor = epoll_create1(EPOLL_CLOEXEC);
    if (q->descriptor >= 0 &&
        epoll_ctl(q->descriptor, EPOLL_CTL_ADD, wake_fd(&q->wake), &event) == 0)
        return 0;
    error = -errno;
    if (q->descriptor >= 0)
        (void)close(q->descriptor);
    wake_fini(&q->wake);
    return error;
}

static void close_descriptor(struct zcrp_queue *q)
{
    (void)close(q->descriptor);
    wake_fini(&q->wake);
}

int queue_begin_looking(struct zcrp_queue *q)
{
    int error = open_descriptor(q);

    if (error)
        return error;
    error = sockets_init(&q->sockets);
    if (error) {
        close_descriptor(q);
        return error;
    }
    mutex_init(&q->mutex);
    lease_init(&q->lease, QUEUE_AT_ONCE);
    spinning_init(&q->spinning, QUEUE_SPIN);
    q->due = NEVER;
    error =
        engine_join(&q->member, ENGINE_RECEIVERS, &duties, q, q->sockets.epoll, q->sockets.epoll);
    if (error) {
        sockets_fini(&q->sockets);
        close_descriptor(q);
        mutex_fini(&q->mutex);
        return error;
    }
    engine_arm(&q->member);
    return 0;
}

void queue_end_looking(struct zcrp_queue *q)
{
    engine_leave(&q->member);
    sockets_fini(&q->sockets);
    close_descriptor(q);
    mutex_fini(&q->mutex);
}

void queue_abandon_looking(struct zcrp_queue *q)
{
    sockets_abandon(&q->sockets);
    close_descriptor(q);
}

/* ---- takers ---- */

/* What comes through memory makes no socket readable. So one that is armed stays so, and nobody
 * would keep the lease: it counts as disarmed. A taker that was away for long looks, however often
 * others have looked in vain: it may not be back soon. */
bool queue_take_lease(struct zcrp_queue *q)
{
    mutex_lock(&q->mutex);
    instant now = clock_now();
    bool is_ours = lease_take(&q->lease, &q->sockets.wake, now);
    if (is_ours) {
        if (now - q->lease.given >= QUEUE_LOOK_EVERY)
            q->vain = 0;
        spinning_begin(&q->spinning, WAITING_FOR_NEXT);
        if (sockets_are_polled(&q->sockets))
            (void)lease_on_disarmed(&q->lease);
        atomic_store(&q->sockets.is_users, true);
    }
    mutex_unlock(&q->mutex);
    if (is_ours)
        sockets_resume(&q->sockets);
    return is_ours;
}

/* Who polls the descriptor does not see the end of a nap: the engine does. */
void queue_give_lease(struct zcrp_queue *q)
{
    bool has_more = has_more_to_do(q);

    atomic_store(&q->sockets.is_users, false);
    mutex_lock(&q->mutex);
    bool must_hand = lease_give(&q->lease, clock_now()).must_arm;
    if (has_more && atomic_load(&q->is_on))
        must_hand |= lease_return(&q->lease);
    bool is_workers = lease_state(&q->lease) == LEASE_WORKERS;
    leave_lease(q, must_hand);
    if (!must_hand && is_workers && has_more)
        engine_arrive(&q->member);
    queue_ring_for_rest(q);
    if (atomic_load(&q->sleepers) > 0)
        queue_wake_takers(q); /* one of them takes it */
}

void queue_begin_showing(struct zcrp_queue *q)
{
    mutex_lock(&q->mutex);
    leave_lease(q, lease_return(&q->lease));
}

/* A kept lease ends LEASE_TERM after it was given. */
instant queue_was_looked_at(const struct zcrp_queue *q)
{
    return atomic_load(&q->lease.until) - LEASE_TERM;
}

bool queue_look(struct zcrp_queue *q)
{
    return sockets_look(&q->sockets, 0);
}

/* Whoever has news looks for a sleeper behind that, and the taker looks for news once it is known
 * as one: so one of them sees the other. */
void queue_sleep(struct zcrp_queue *q, uint32_t seen, instant deadline)
{
    if (!sockets_rest(&q->sockets))
        return;
    mutex_lock(&q->mutex);
    lease_set_asleep(&q->lease, deadline);
    mutex_unlock(&q->mutex);
    if (atomic_load(&q->news) == seen)
        (void)sockets_look(&q->sockets, deadline);
    mutex_lock(&q->mutex);
    lease_set_awake(&q->lease);
    mutex_unlock(&q->mutex);
}
