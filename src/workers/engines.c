/* Which engines there are: the first member starts an engine's threads, the last one ends them. */
#include "engine_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Starting and ending threads, rare and slow, is one at a time. */
static struct mutex lifecycle;
static struct engine *engines[2]; /* by role; under `lifecycle` */

/* ---- starting and ending; within `lifecycle` ---- */

struct loop {
    const char *name;
    thread_run run;
};

static const struct loop loops[2][LOOPS_MOST] = {
    [ENGINE_SENDERS] = {{"zcrp-sending", engine_run_sending},
                        {"zcrp-update", engine_run_arriving},
                        {"zcrp-timeout", engine_run_timeout}},
    [ENGINE_RECEIVERS] = {{"zcrp-receiving", engine_run_arriving},
                          {"zcrp-timeout", engine_run_timeout}},
};

static void stop_threads(struct engine *engine)
{
    engine_end_threads(engine);
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
    engine->rings_at = ENGINE_AWAKE;
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

/* ---- members ---- */

/* A free place in the table, which grows; 0 if there is no memory. Within the mutex. */
static uint32_t find_slot(struct engine *engine)
{
    for (uint32_t i = 1; i < engine->slots; i++)
        if (engine->table[i].member == NULL)
            return i;
    uint32_t slots = engine->slots > 0 ? 2 * engine->slots : 16;
    struct slot *table = calloc(slots, sizeof(*table)), *old = engine->table;
    if (table == NULL)
        return 0;
    if (engine->slots > 0)
        memcpy(table, old, engine->slots * sizeof(*table));
    uint32_t found = engine->slots > 0 ? engine->slots : 1;
    engine->table = table;
    engine->slots = slots;
    free(old); /* last: a child of that moment has a table */
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

/* Destroys the engine if nobody is left in it: last, so that a child of that moment has none that
 * is gone. Within `lifecycle`. */
static void destroy_if_empty(struct engine *engine)
{
    if (engine->members > 0)
        return;
    engines[engine->role] = NULL;
    destroy(engine);
}

int engine_join(struct engine_member *m, enum engine_role role, const struct engine_duties *duties,
                void *client, int in, int out)
{
    *m = (struct engine_member){.duties = duties, .client = client};
    m->watch[WATCH_IN].fd = in >= 0 ? in : out;
    m->watch[WATCH_OUT].fd = in >= 0 && out != in ? out : -1;
    m->watch[WATCH_PEER].fd = -1;
    mutex_lock(&lifecycle);
    struct engine **engine = &engines[role];
    int error = *engine == NULL ? create(engine, role) : 0;
    if (!error) {
        error = enter(*engine, m);
        destroy_if_empty(*engine);
    }
    mutex_unlock(&lifecycle);
    return error;
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
        struct engine *engine = engines[role];
        if (engine == NULL)
            continue;
        close_epoll(engine);
        free(engine->deadlines.heap);
        free(engine->naps.heap);
        free(engine->table);
        free(engine);
        engines[role] = NULL;
    }
}
