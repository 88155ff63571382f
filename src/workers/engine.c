#include "engine.h"

#include "core/check.h"
#include "platform/system.h"
#include "platform/thread.h"
#include "platform/waking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS = 16,   /* taken from epoll at once */
    SLOT_WAKE = 0, /* in the table: nobody; its event only wakes the arriving thread */
    WATCH_IN = 0,  /* of a member's descriptors */
    WATCH_OUT = 1,
    WATCH_PEER = 2,
    WATCH_BITS = 2,
    LOOPS_MOST = 3,
};

#define AWAKE INT64_MIN

/* A place in the table. An event names the place and its generation, so that one which was taken
 * from epoll before its member left finds nobody. */
struct slot {
    struct engine_member *member; /* NULL: free */
    uint32_t generation;
};

struct engine {
    enum engine_role role;
    int epoll;
    struct wake wake; /* of the arriving thread; in epoll, as slot 0 */
    struct thread threads[LOOPS_MOST];
    int thread_count;

    struct mutex mutex;
    struct slot *table;                             /* (e) */
    uint32_t slots;                                 /* (e) */
    uint32_t members;                               /* (e), and changed within `lifecycle` only */
    bool is_stopping;                               /* (e) */
    struct condition is_left;                       /* a turn ended while its member leaves */
    struct deadlines deadlines;                     /* (e) of `expire` */
    struct alarm alarm;                             /* (e) that the timeout thread waits for, */
    instant rings_at;                               /* (e) or AWAKE: it does not wait */
    struct deadlines naps;                          /* (e) of `arrive` */
    struct engine_member *first_ready, *last_ready; /* (e) */
    struct condition has_ready;
    bool sending_sleeps; /* (e) */
};

/* Starting and ending threads, rare and slow, is one at a time. */
static struct mutex lifecycle = {.handle = PTHREAD_MUTEX_INITIALIZER};
static struct engine *engines[2][ENGINES_MOST]; /* under `lifecycle` */

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

/* What stays armed calls for a turn more. */
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

/* Does what `arrive` wants next. Within the mutex. */
static void follow(struct engine_member *m, instant next)
{
    if (next == ENGINE_ARM || m->was_armed) {
        (void)arm(m, WATCH_IN, EPOLLIN);
        return;
    }
    disarm(m, WATCH_IN, EPOLLIN);
    if (next != ENGINE_LEAVE_BE)
        nap_until(m, next, EPOLLIN);
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

/* The same, once. */
static void tell_of_peer(struct engine *engine, struct engine_member *m)
{
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

/* Kernels before Linux 5.11 have no epoll_pwait2, and wake up to a millisecond late. */
static int wait_for_events(struct engine *engine, struct epoll_event event[EVENTS], instant until)
{
    if (until == NEVER)
        return epoll_wait(engine->epoll, event, EVENTS, -1);
    duration left = until - clock_now();
    struct timespec limit = clock_timespec(left > 0 ? left : 0);
    int count = epoll_pwait2(engine->epoll, event, EVENTS, &limit, NULL);
    if (count < 0 && errno == ENOSYS)
        count =
            epoll_wait(engine->epoll, event, EVENTS, left > 0 ? (int)(left / MILLISECOND) + 1 : 0);
    return count;
}

static void run_arriving(void *context)
{
    struct engine *engine = context;
    struct epoll_event event[EVENTS];

    mutex_lock(&engine->mutex);
    while (!engine->is_stopping) {
        const struct deadline *nap = deadlines_first(&engine->naps);
        instant until = nap != NULL ? nap->at : NEVER;
        mutex_unlock(&engine->mutex);
        int count = wait_for_events(engine, event, until);
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

static void run_sending(void *context)
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
    bool is_silent = engine->rings_at == AWAKE && at == NEVER;

    if (at == engine->rings_at)
        return;
    engine->rings_at = at;
    if (!is_silent)
        alarm_set(&engine->alarm, at);
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
        deadlines_set(&engine->deadlines, &m->deadline, at);
    if (engine->rings_at != AWAKE)
        set_alarm(engine, first_deadline(engine));
    mutex_unlock(&engine->mutex);
}

static void run_timeout(void *context)
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
            engine->rings_at = AWAKE;
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

/* ---- starting and ending; within `lifecycle` ---- */

struct loop {
    const char *name;
    thread_run run;
};

static const struct loop loops[2][LOOPS_MOST] = {
    [ENGINE_SENDERS] = {{"zcrp-sending", run_sending},
                        {"zcrp-update", run_arriving},
                        {"zcrp-timeout", run_timeout}},
    [ENGINE_RECEIVERS] = {{"zcrp-receiving", run_arriving}, {"zcrp-timeout", run_timeout}},
};

static void stop_threads(struct engine *engine)
{
    mutex_lock(&engine->mutex);
    engine->is_stopping = true;
    set_alarm(engine, 0);
    mutex_unlock(&engine->mutex);
    wake_signal(&engine->wake);
    condition_signal(&engine->has_ready);
    for (int i = 0; i < engine->thread_count; i++)
        thread_join(&engine->threads[i]);
    engine->thread_count = 0;
}

static int start_threads(struct engine *engine)
{
    const struct loop *loop = loops[engine->role];

    for (int i = 0; i < LOOPS_MOST && loop[i].run != NULL; i++) {
        int error = thread_start(&engine->threads[i], loop[i].name, loop[i].run, engine);
        if (error) {
            stop_threads(engine);
            return error;
        }
        engine->thread_count = i + 1;
    }
    return 0;
}

static int open_epoll(struct engine *engine)
{
    struct epoll_event wake = {.events = EPOLLIN, .data.u64 = SLOT_WAKE};
    int error = wake_init(&engine->wake);

    if (error)
        return error;
    error = alarm_init(&engine->alarm);
    if (error)
        goto err1;
    engine->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (engine->epoll >= 0 &&
        epoll_ctl(engine->epoll, EPOLL_CTL_ADD, wake_fd(&engine->wake), &wake) == 0)
        return 0;
    error = -errno;
    if (engine->epoll >= 0)
        (void)close(engine->epoll);
    alarm_fini(&engine->alarm);
err1:
    wake_fini(&engine->wake);
    return error;
}

static void close_epoll(struct engine *engine)
{
    (void)close(engine->epoll);
    alarm_fini(&engine->alarm);
    wake_fini(&engine->wake);
}

static void free_memory(struct engine *engine)
{
    condition_fini(&engine->has_ready);
    condition_fini(&engine->is_left);
    mutex_fini(&engine->mutex);
    deadlines_fini(&engine->deadlines);
    deadlines_fini(&engine->naps);
    free(engine->table);
    free(engine);
}

static int create(struct engine **made, enum engine_role role)
{
    struct engine *engine = calloc(1, sizeof(*engine));

    if (engine == NULL)
        return -ENOMEM;
    engine->role = role;
    engine->rings_at = AWAKE;
    mutex_init(&engine->mutex);
    condition_init(&engine->is_left);
    condition_init(&engine->has_ready);
    int error = open_epoll(engine);
    if (!error) {
        error = start_threads(engine);
        if (error)
            close_epoll(engine);
    }
    if (error)
        free_memory(engine);
    else
        *made = engine;
    return error;
}

static void destroy(struct engine *engine)
{
    stop_threads(engine);
    close_epoll(engine);
    free_memory(engine);
}

/* How many engines of a role there shall be. */
static uint32_t engines_wanted(void)
{
    const char *text = secure_getenv("ZCRP_ENGINES");
    long wanted = text != NULL ? strtol(text, NULL, 10) : 1;

    return wanted < 1 ? 1 : wanted > ENGINES_MOST ? ENGINES_MOST : (uint32_t)wanted;
}

/* The engine with the fewest members; one that is not there yet has none. */
static struct engine **least_busy(enum engine_role role)
{
    struct engine **best = &engines[role][0];

    for (uint32_t i = 0; i < engines_wanted(); i++) {
        struct engine **e = &engines[role][i];
        if (*e == NULL)
            return *best != NULL && (*best)->members == 0 ? best : e;
        if ((*e)->members < (*best)->members)
            best = e;
    }
    return best;
}

/* ---- members ---- */

/* A free place in the table, which grows; 0 if there is no memory. Within the mutex. */
static uint32_t find_slot(struct engine *engine)
{
    for (uint32_t i = 1; i < engine->slots; i++)
        if (engine->table[i].member == NULL)
            return i;
    uint32_t slots = engine->slots > 0 ? 2 * engine->slots : 16;
    struct slot *table = realloc(engine->table, slots * sizeof(*table));
    if (table == NULL)
        return 0;
    memset(table + engine->slots, 0, (slots - engine->slots) * sizeof(*table));
    uint32_t found = engine->slots > 0 ? engine->slots : 1;
    engine->table = table;
    engine->slots = slots;
    return found;
}

static int enter(struct engine *engine, struct engine_member *m)
{
    int error = -ENOMEM;

    mutex_lock(&engine->mutex);
    if (deadlines_reserve(&engine->deadlines, engine->members + 1) &&
        deadlines_reserve(&engine->naps, engine->members + 1)) {
        m->slot = find_slot(engine);
        error = m->slot == 0 ? -ENOMEM : 0;
    }
    if (!error) {
        engine->table[m->slot].member = m;
        engine->table[m->slot].generation++;
        engine->members++;
        m->engine = engine;
    }
    mutex_unlock(&engine->mutex);
    return error;
}

int engine_join(struct engine_member *m, enum engine_role role, const struct engine_duties *duties,
                void *client, int in, int out)
{
    *m = (struct engine_member){.duties = duties, .client = client};
    m->watch[WATCH_IN].fd = in >= 0 ? in : out;
    m->watch[WATCH_OUT].fd = in >= 0 && out != in ? out : -1;
    m->watch[WATCH_PEER].fd = -1;
    mutex_lock(&lifecycle);
    struct engine **engine = least_busy(role);
    int error = *engine == NULL ? create(engine, role) : 0;
    if (!error) {
        error = enter(*engine, m);
        if (error && (*engine)->members == 0) {
            destroy(*engine);
            *engine = NULL;
        }
    }
    mutex_unlock(&lifecycle);
    return error;
}

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

/* Destroys the engine if nobody is left in it. Within `lifecycle`. */
static void destroy_if_empty(struct engine *engine)
{
    struct engine **e = engines[engine->role];

    if (engine->members > 0)
        return;
    while (*e != engine)
        e++;
    *e = NULL;
    destroy(engine);
}

/* Whoever joins or leaves counts the members within `lifecycle`: so nobody joins an engine that is
 * about to go, and only one destroys it. */
void engine_leave(struct engine_member *m)
{
    struct engine *engine = m->engine;

    if (engine == NULL)
        return;
    engine_stop(m);
    m->engine = NULL;
    mutex_lock(&lifecycle);
    mutex_lock(&engine->mutex);
    engine->table[m->slot].member = NULL;
    engine->members--;
    mutex_unlock(&engine->mutex);
    destroy_if_empty(engine);
    mutex_unlock(&lifecycle);
}

/* The child has the descriptors and the memory, but not the threads, and locks may be held. */
void engine_after_fork(void)
{
    mutex_init(&lifecycle);
    for (int role = 0; role < 2; role++) {
        for (uint32_t i = 0; i < ENGINES_MOST; i++) {
            struct engine *engine = engines[role][i];
            if (engine == NULL)
                continue;
            close_epoll(engine);
            free(engine->deadlines.heap);
            free(engine->naps.heap);
            free(engine->table);
            free(engine);
            engines[role][i] = NULL;
        }
    }
}
