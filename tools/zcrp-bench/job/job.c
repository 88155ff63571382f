#include "zcrp-bench/job/job.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"

bool job_is_sane(const struct job *job)
{
    if (job->size == 0 || job->count == 0 || job->count > (uint64_t)INT64_MAX / job->size)
        return false;
    if (job->total > job->count * job->size || job->total <= (job->count - 1) * job->size)
        return false;
    return job->depth > 0 && job->depth <= job->memory.slots;
}

uint64_t job_length(const struct job *job, uint64_t n)
{
    return n + 1 == job->count ? job->total - n * job->size : job->size;
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

uint8_t *job_bytes(const struct job *job, uint64_t n)
{
    uint8_t *slot = memory_slot(&job->memory, n);

    if (job->content == JOB_FILE)
        return job->input->bytes + n * job->size;
    if (job->content == JOB_PATTERN)
        pattern_fill(slot, job_length(job, n), job->seed, n);
    return slot;
}

uint8_t *job_outgoing(struct job *job, uint64_t n)
{
    course_before(&job->course, job, n);
    if (job->passed != NULL)
        atomic_fetch_add_explicit(job->passed, job_length(job, n), memory_order_relaxed);
    return job_bytes(job, n);
}

static size_t difference(const uint8_t *a, const uint8_t *b, size_t size)
{
    size_t at = 0;

    if (memcmp(a, b, size) == 0)
        return SAME;
    while (a[at] == b[at])
        at++;
    return at;
}

static void note_difference(struct job *job, uint64_t n, uint64_t offset)
{
    if (job->is_different)
        return;
    job->is_different = true;
    job->message = n;
    job->offset = offset;
}

static void verify(struct job *job, uint64_t n, const uint8_t *bytes)
{
    uint64_t length = job_length(job, n);
    size_t at = SAME;

    switch (job->content) {
    case JOB_ANY:
        break;
    case JOB_PATTERN:
        at = pattern_difference(bytes, length, job->seed, n);
        break;
    case JOB_FILE:
        at = difference(bytes, job->input->bytes + n * job->size, length);
        break;
    }
    if (at != SAME)
        note_difference(job, n, at);
}

static int write_out(const struct job *job, uint64_t n, const uint8_t *bytes)
{
    uint64_t length = job_length(job, n);
    uint64_t done = 0;

    while (done < length) {
        ssize_t wrote =
            pwrite(job->output, bytes + done, length - done, (off_t)(n * job->size + done));

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return complain("cannot write the output: %s", strerror(errno));
        done += (uint64_t)wrote;
    }
    return 0;
}

int job_incoming(struct job *job, uint64_t n, const uint8_t *bytes)
{
    verify(job, n, bytes);
    if (job->output >= 0 && write_out(job, n, bytes) < 0)
        return -1;
    return course_after(&job->course, job, n);
}

enum verdict job_verdict(const struct job *job)
{
    if (job->content == JOB_ANY)
        return VERDICT_NONE;
    return job->is_different ? VERDICT_DIFFERENT : VERDICT_SAME;
}

void job_complain(const struct job *job, const char *transport)
{
    unsigned long long n = job->message;
    unsigned long long first = n * job->size;

    complain("%s: message %llu arrived wrong, first at byte %llu of %llu (%llu of all)", transport,
             n, (unsigned long long)job->offset, (unsigned long long)job_length(job, job->message),
             (unsigned long long)(first + job->offset));
}
