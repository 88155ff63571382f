#include "zcrp-bench/job/record.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/transports/transport.h"

/* ---- the watch ---- */

enum { NS_A_SECOND = 1000000000 };

static int64_t ns_of_timeval(struct timeval t)
{
    return (int64_t)t.tv_sec * NS_A_SECOND + (int64_t)t.tv_usec * 1000;
}

void watch_sleep_until(int64_t ns)
{
    struct timespec until = {.tv_sec = ns / NS_A_SECOND, .tv_nsec = ns % NS_A_SECOND};

    if (ns <= clock_now_ns())
        return;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

struct watch watch_read(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (struct watch){
        .wall_ns = clock_now_ns(),
        .cpu_ns = ns_of_timeval(usage.ru_utime) + ns_of_timeval(usage.ru_stime),
    };
}

struct watch watch_since(struct watch start)
{
    struct watch now = watch_read();

    return (struct watch){
        .wall_ns = now.wall_ns - start.wall_ns,
        .cpu_ns = now.cpu_ns - start.cpu_ns,
    };
}

/* ---- counts ---- */

const char *const counts_names[COUNTS] = {
#define COUNT_NAME(name, text) #name,
    ZCRP_STATS(COUNT_NAME)
#undef COUNT_NAME
};

const char *const counts_texts[COUNTS] = {
#define COUNT_TEXT(name, text) text,
    ZCRP_STATS(COUNT_TEXT)
#undef COUNT_TEXT
};

struct counts counts_of_stats(const struct zcrp_stats *stats)
{
    struct counts counts = {.is_known = true};

    _Static_assert(sizeof *stats == sizeof counts.value, "statistics are counts, in their order");
    memcpy(counts.value, stats, sizeof counts.value);
    return counts;
}

/* The same for all flows between two ends. */
static bool is_of_path(enum count which)
{
    return which == COUNT_path_bytes || which == COUNT_unit_bytes ||
           which == COUNT_rtt_smoothed_ns || which == COUNT_rtt_lowest_ns ||
           which == COUNT_memory_refused;
}

static bool is_state(enum count which)
{
    return is_of_path(which) || which == COUNT_window_bytes || which == COUNT_transit_bytes ||
           which == COUNT_rate_bytes_per_s;
}

struct counts counts_since(const struct counts *now, const struct counts *before)
{
    struct counts since = *now;

    for (unsigned i = 0; i < COUNTS; i++) {
        if (!is_state((enum count)i))
            since.value[i] -= before->value[i];
    }
    return since;
}

void counts_add(struct counts *sum, const struct counts *counts)
{
    for (unsigned i = 0; i < COUNTS; i++) {
        if (!is_of_path((enum count)i))
            sum->value[i] += counts->value[i];
    }
}

/* Starts to count from 0. */
static void allocations_begin(void)
{
    void (*begin)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "zcrp_allocations_begin");

    if (begin != NULL)
        begin();
}

static struct allocations allocations_read(void)
{
    void (*read)(uint64_t *, uint64_t *) =
        (void (*)(uint64_t *, uint64_t *))dlsym(RTLD_DEFAULT, "zcrp_allocations_read");
    struct allocations now = {.calls = ALLOCATIONS_UNKNOWN};

    if (read != NULL)
        read(&now.calls, &now.peak_bytes);
    return now;
}

/* ---- what connections cost ---- */

double fairness_index(const double *values, size_t count)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    return squares > 0 ? sum * sum / ((double)count * squares) : 0;
}

static uint64_t resident_bytes(void)
{
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file != NULL && fscanf(file, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t count_threads(void)
{
    DIR *directory = opendir("/proc/self/task");
    uint64_t count = 0;

    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count > 2 ? count - 2 : 0; /* without . and .. */
}

static uint64_t before_bytes;

void record_mark(void)
{
    before_bytes = resident_bytes();
}

static void note_peers(struct record *record, struct transport *transport, const struct job *job)
{
    uint64_t others = before_bytes + job->memory.area_bytes;
    uint64_t now = resident_bytes();

    record->threads = count_threads() - 1;
    record->peer_bytes = now > others ? (now - others) / transport->settings->peers : 0;
}

/* ---- the record ---- */

void record_begin(struct record *record, struct transport *transport)
{
    *record = (struct record){.counts = flows_count(transport)};
    allocations_begin();
    record->watch = watch_read();
}

void record_end(struct record *record, struct transport *transport, const struct job *job)
{
    record->watch = watch_since(record->watch);
    record->allocations = allocations_read();
    struct counts after = flows_count(transport);
    record->counts = counts_since(&after, &record->counts);
    if (transport->kind->fairness != NULL)
        note_peers(record, transport, job);
    record->verdict = job_verdict(job);
    record->message = job->message;
    record->offset = job->offset;
}

_Static_assert(sizeof(struct record) % WORD_BYTES == 0, "a record is an array of words");

int record_hear(struct control *control, struct record *record)
{
    if (control_expect_numbers(control, "result", record, sizeof *record) < 0)
        return -1;
    return record->verdict < VERDICTS ? 0 : complain("the listening end says nonsense");
}
