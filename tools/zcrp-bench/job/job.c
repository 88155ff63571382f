#include "zcrp-bench/job/job.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/job/record.h"

/* ---- memory ---- */

enum { CACHE_LINE = 64 };

static int no_memory(struct memory *memory, uint64_t slots, uint64_t size)
{
    char bytes[QUANTITY_ROOM];

    *memory = (struct memory){0};
    quantity_bytes(bytes, size);
    return complain("no memory for %llu message%s of %s: %s", (unsigned long long)slots,
                    slots == 1 ? "" : "s", bytes, strerror(ENOMEM));
}

/* What the machine has; asking for more would not fail, but end in the kernel's killing somebody.
 */
static uint64_t physical_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int memory_refit(struct memory *memory, uint64_t slots, uint64_t size)
{
    uint64_t slot_bytes = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;

    if (memory->slots == slots && memory->slot_bytes == slot_bytes)
        return 0;
    memory_fini(memory);
    if (slot_bytes < size || slots > physical_bytes() / slot_bytes)
        return no_memory(memory, slots, size);
    size_t bytes = (size_t)(slots * slot_bytes);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return no_memory(memory, slots, size);
    madvise(base, bytes, MADV_HUGEPAGE);
    memset(base, 0x5a, bytes);
    *memory = (struct memory){base, bytes, slot_bytes, slots};
    return 0;
}

void memory_fini(struct memory *memory)
{
    if (memory->base != NULL)
        munmap(memory->base, memory->area_bytes);
    *memory = (struct memory){0};
}

/* ---- the course of a job ---- */

/* The messages that the receiving end is told of beforehand take about this long, at most a part of
 * the whole: more than a round trip, for a buffer has to be known to the sending end before it can
 * be filled. Of them, a part passes between two decisions. */
static const double ahead_ns = 200e6;

enum { PARTS = 8 };

struct course course_make(struct control *control, uint64_t size, double bits_per_s,
                          int64_t duration_ns)
{
    return (struct course){
        .control = control,
        .interval_ns = bits_per_s > 0 ? 8e9 * (double)size / bits_per_s : 0,
        .duration_ns = duration_ns,
        .look = duration_ns > 0 ? 0 : COURSE_FIXED,
    };
}

/* A message is due when its last byte would have been made at the rate. What was slept too long is
 * made up for: the schedule counts from the beginning. */
static void await(const struct course *course, uint64_t n)
{
    watch_sleep_until(course->start_ns + (int64_t)((double)(n + 1) * course->interval_ns));
}

static void set(struct job *job, uint64_t count, uint64_t look)
{
    job->count = count;
    job->course.look = look;
}

/* How many messages are to be known of beforehand, by the rate so far. */
static uint64_t messages_ahead(const struct job *job, uint64_t n, int64_t elapsed_ns)
{
    double time_ns = fmin(ahead_ns, (double)job->course.duration_ns / PARTS);
    double ahead = (double)n * time_ns / (double)(elapsed_ns + 1);
    uint64_t under_way = job->ways * job->depth;
    uint64_t most = under_way > 1 ? under_way : 2;

    if (ahead < 2)
        return 2;
    return ahead < (double)most ? (uint64_t)ahead : most;
}

/* More messages; none behind the end of the time. */
static void decide(struct job *job, uint64_t n)
{
    struct course *course = &job->course;
    int64_t elapsed_ns = clock_now_ns() - course->start_ns;
    uint64_t ahead = messages_ahead(job, n, elapsed_ns);
    uint64_t look = n + (ahead - 1) / PARTS + 1;
    uint64_t count = look + ahead > job->count ? look + ahead : job->count;

    if (elapsed_ns >= course->duration_ns)
        set(job, job->count, COURSE_FIXED);
    else
        set(job, count, look);
    const uint64_t told[] = {course->flow, job->count, course->look};
    pthread_mutex_lock(&course->news->mutex);
    if (control_say_numbers(course->control, "more", told, sizeof told) < 0)
        course->look = COURSE_FIXED;
    pthread_mutex_unlock(&course->news->mutex);
}

void job_due(struct job *job, uint64_t n)
{
    if (job->course.interval_ns > 0)
        await(&job->course, n);
    if (n == job->course.look)
        decide(job, n);
    if (job->passed != NULL)
        atomic_fetch_add_explicit(job->passed, job->size, memory_order_relaxed);
}

/* Hears until there is something of this flow, which it takes. What is heard of others waits for
 * them; the latest is enough. 0, or -1 with a complaint. */
static int hear_more(const struct course *course, uint64_t *count, uint64_t *look)
{
    struct news *news = course->news;

    while (news->of[course->flow].look == 0) {
        uint64_t said[3]; /* flow, count, look */

        if (control_expect_numbers(course->control, "more", said, sizeof said) < 0)
            return -1;
        if (said[0] >= FLOWS_MAX || said[2] == 0)
            return complain("the sending end says nonsense");
        news->of[said[0]].count = said[1];
        news->of[said[0]].look = said[2];
    }
    *count = news->of[course->flow].count;
    *look = news->of[course->flow].look;
    news->of[course->flow].look = 0;
    return 0;
}

int job_arrived(struct job *job, uint64_t n)
{
    uint64_t count = 0, look = 0;

    if (n != job->course.look)
        return 0;
    pthread_mutex_lock(&job->course.news->mutex);
    int status = hear_more(&job->course, &count, &look);
    pthread_mutex_unlock(&job->course.news->mutex);
    if (status < 0)
        return -1;
    if (count < job->count || look <= n || (look >= count && look != COURSE_FIXED) ||
        count > (uint64_t)INT64_MAX / job->size)
        return complain("the sending end says nonsense");
    set(job, count, look);
    return 0;
}

/* ---- a job ---- */

bool job_is_sane(const struct job *job)
{
    return job->size > 0 && job->count > 0 && job->count <= (uint64_t)INT64_MAX / job->size &&
           job->ways > 0 && job->depth > 0 && job->depth <= job->memory.slots / job->ways;
}

/* The first difference of what does not differ. */
#define SAME SIZE_MAX

/* Pseudo-random content: every message of every measurement has its own, and both ends can compute
 * it. Displaced, swapped, stale and missing bytes all show. */
static const uint64_t golden = 0x9e3779b97f4a7c15u;

/* Where the words of a message start; far apart for neighbours. */
static uint64_t first_word(uint64_t seed, uint64_t message)
{
    uint64_t key = (seed + message * golden) * 0xbf58476d1ce4e5b9u;

    return key ^ key >> 32;
}

static uint64_t scramble(uint64_t word)
{
    return word ^ word >> 29;
}

/* Fills a message of `size` bytes. */
static void pattern_fill(uint8_t *bytes, size_t size, uint64_t seed, uint64_t message)
{
    uint64_t word = first_word(seed, message);
    uint8_t tail[WORD_BYTES];
    size_t at = 0;

    for (; size - at >= WORD_BYTES; at += WORD_BYTES, word += golden)
        word_store(bytes + at, scramble(word));
    word_store(tail, scramble(word));
    for (size_t i = 0; at + i < size; i++)
        bytes[at + i] = tail[i];
}

/* The first byte from `at` on, within one word, that differs. */
static size_t difference_within(const uint8_t *bytes, size_t at, size_t size, uint64_t word)
{
    uint8_t expected[WORD_BYTES];

    word_store(expected, word);
    for (size_t i = 0; i < WORD_BYTES && at + i < size; i++) {
        if (bytes[at + i] != expected[i])
            return at + i;
    }
    return SAME;
}

/* The first byte that is not the pattern's, or SAME. */
static size_t pattern_difference(const uint8_t *bytes, size_t size, uint64_t seed, uint64_t message)
{
    uint64_t word = first_word(seed, message);
    size_t at = 0;

    for (; size - at >= WORD_BYTES; at += WORD_BYTES, word += golden) {
        if (word_load(bytes + at) != scramble(word))
            return difference_within(bytes, at, size, scramble(word));
    }
    return difference_within(bytes, at, size, scramble(word));
}

uint8_t *job_outgoing(struct job *job, uint64_t n)
{
    uint8_t *slot = memory_slot(&job->memory, n);

    job_due(job, n);
    if (job->is_verified)
        pattern_fill(slot, job->size, job->seed, n);
    return slot;
}

int job_incoming(struct job *job, uint64_t n, const uint8_t *bytes)
{
    size_t at = job->is_verified ? pattern_difference(bytes, job->size, job->seed, n) : SAME;

    if (at != SAME && !job->is_different) {
        job->is_different = true;
        job->message = n;
        job->offset = at;
    }
    return job_arrived(job, n);
}

enum verdict job_verdict(const struct job *job)
{
    if (!job->is_verified)
        return VERDICT_NONE;
    return job->is_different ? VERDICT_DIFFERENT : VERDICT_SAME;
}

void job_complain(const struct job *job, const char *transport)
{
    complain("%s: message %" PRIu64 " arrived wrong, first at byte %" PRIu64 " of %" PRIu64,
             transport, job->message, job->offset, job->size);
}
