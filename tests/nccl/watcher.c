#include "watcher.h"

#include "driver.h"

#include <sched.h>
#include <time.h>

enum { LIMIT_S = 40 };

static uint64_t half_of(int step, size_t line, int half)
{
    uint32_t flag = (uint32_t)step + 1;
    uint32_t datum = (flag * 0x9E3779B9u + (uint32_t)(2 * line) + (uint32_t)half) * 0x85EBCA6Bu;

    return (uint64_t)flag << 32 | datum;
}

void watcher_fill(struct watcher_line *memory, size_t lines, int step)
{
    for (size_t i = 0; i < lines; i++)
        for (int half = 0; half < 2; half++)
            atomic_store_explicit(&memory[i].half[half], half_of(step, i, half),
                                  memory_order_relaxed);
}

/* Is the line there? */
static bool look(struct watcher_line *l, int step, size_t number)
{
    uint64_t halves[2];

    for (int i = 0; i < 2; i++) {
        halves[i] = atomic_load_explicit(&l->half[i], memory_order_acquire);
        if (halves[i] >> 32 != (uint64_t)step + 1)
            return false;
    }
    must(halves[0] == half_of(step, number, 0) && halves[1] == half_of(step, number, 1));
    return true;
}

static size_t look_at_all(struct watcher *w, int step)
{
    struct watcher_line *lines = w->memory + (size_t)(step % w->at_once) * w->lines;
    size_t found = 0;

    for (size_t i = 0; i < w->lines; i++)
        if (!w->is_taken[i] && look(&lines[i], step, i)) {
            w->is_taken[i] = 1;
            found++;
        }
    return found;
}

static void *run(void *watcher)
{
    struct watcher *w = watcher;

    for (int step = 0; step < w->steps; step++) {
        for (size_t left = w->lines; left > 0; (void)sched_yield())
            left -= look_at_all(w, step);
        for (size_t i = 0; i < w->lines; i++)
            w->is_taken[i] = 0;
        atomic_store(&w->taken, step + 1);
    }
    return NULL;
}

void watcher_start(struct watcher *w)
{
    atomic_store(&w->taken, 0);
    w->is_taken = calloc(w->lines, 1);
    must(w->is_taken != NULL && pthread_create(&w->thread, NULL, run, w) == 0);
}

void watcher_await(struct watcher *w, int step)
{
    time_t began = time(NULL);

    while (atomic_load(&w->taken) <= step) {
        must(time(NULL) <= began + LIMIT_S);
        (void)sched_yield();
    }
}

void watcher_finish(struct watcher *w)
{
    must(pthread_join(w->thread, NULL) == 0);
    free(w->is_taken);
}
