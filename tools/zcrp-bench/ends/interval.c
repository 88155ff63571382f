#include "zcrp-bench/ends/interval.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/results/report.h"

/* All that has happened so far, over all flows. */
struct reading {
    uint64_t bytes, repeated, cpu_ns;
};

static struct {
    pthread_t thread;
    sem_t over;               /* the job is */
    struct sending_end *ends; /* of the flows; NULL: no lines are wanted */
    int64_t start_ns, length_ns;
    struct reading last;
} interval;

enum { CELL = 40, TENTH_NS = 100000000, NS_A_SECOND = 1000000000 };

/* The state of things now; a mean over the flows where it is not a sum. */
struct state {
    bool is_known; /* all flows can be looked at */
    uint64_t window_bytes;
    double rtt_us;
};

static struct state look(struct reading *now)
{
    size_t count = interval.ends->options->parallel;
    struct state state = {.is_known = true};

    *now = (struct reading){.cpu_ns = (uint64_t)watch_read().cpu_ns};
    for (size_t i = 0; i < count; i++) {
        struct sending_end *end = &interval.ends[i];
        struct transport *transport = contender_transport(&end->contenders[end->which]);
        struct look look = {.is_known = false};

        if (transport->kind->look != NULL)
            look = transport->kind->look(transport);
        state.is_known = state.is_known && look.is_known;
        now->bytes += look.is_known ? look.bytes : atomic_load(&end->passed);
        now->repeated += look.repeated;
        state.window_bytes += look.window_bytes;
        state.rtt_us += (double)look.rtt_ns / 1e3 / (double)count;
    }
    return state;
}

static void write_cell(int width, bool is_known, const char *format, double value)
{
    char cell[CELL] = "-";

    if (is_known)
        snprintf(cell, sizeof cell, format, value);
    printf("  %*s", width, cell);
}

static void write_headings(const struct sending_end *end)
{
    static const char format[] = "%8s  %8s  %9s  %10s  %10s  %6s\n";
    char text[QUANTITY_ROOM];

    quantity_bytes(text, end->size);
    printf("%s, messages of %s\n", end->contenders[end->which].name, text);
    printf(format, "", "", "", "round trip", "window", "");
    printf(format, "seconds", "Gbit/s", "repeated", "us", "KiB", "CPU");
}

/* Line n, below headings. */
static void write_line(uint64_t n)
{
    const struct reading *last = &interval.last;
    double ns = (double)interval.length_ns;
    struct reading now;
    struct state state = look(&now);
    char rate[QUANTITY_ROOM];

    progress_clear();
    if (n == 1)
        write_headings(interval.ends);
    quantity_figure(rate, 8 * (double)(now.bytes - last->bytes) / ns);
    printf("%8.*f  %8s", interval.length_ns % TENTH_NS == 0 ? 1 : 3, (double)n * ns / 1e9, rate);
    write_cell(9, state.is_known, "%.0f", (double)(now.repeated - last->repeated));
    write_cell(10, state.is_known, "%.1f", state.rtt_us);
    write_cell(10, state.is_known, "%.0f", (double)state.window_bytes / 1024);
    write_cell(6, true, "%.0f %%", 100 * (double)(now.cpu_ns - last->cpu_ns) / ns);
    putchar('\n');
    fflush(stdout);
    interval.last = now;
}

/* Whether the job is over before that time. */
static bool is_over_by(int64_t ns)
{
    const struct timespec until = {.tv_sec = ns / NS_A_SECOND, .tv_nsec = ns % NS_A_SECOND};
    int status;

    do
        status = sem_clockwait(&interval.over, CLOCK_MONOTONIC, &until);
    while (status < 0 && errno == EINTR);
    return status == 0;
}

static void *run(void *argument)
{
    uint64_t n = 1;

    (void)argument;
    while (!is_over_by(interval.start_ns + (int64_t)n * interval.length_ns))
        write_line(n++);
    if (n > 1)
        putchar('\n');
    return NULL;
}

int interval_begin(struct sending_end *ends)
{
    interval.ends = NULL;
    if (ends->options->interval_ns == 0 || !options_have_output(ends->options))
        return 0;
    interval.ends = ends;
    interval.length_ns = ends->options->interval_ns;
    interval.start_ns = watch_now_ns();
    (void)look(&interval.last);
    sem_init(&interval.over, 0, 0);
    int error = pthread_create(&interval.thread, NULL, run, NULL);
    return error == 0 ? 0 : complain("cannot start a thread: %s", strerror(error));
}

void interval_end(void)
{
    if (interval.ends == NULL)
        return;
    sem_post(&interval.over);
    pthread_join(interval.thread, NULL);
    sem_destroy(&interval.over);
}
