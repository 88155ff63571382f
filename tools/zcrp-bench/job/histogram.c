#include "zcrp-bench/job/histogram.h"

enum { TOGETHER = HISTOGRAM_PART / 8 }; /* buckets that are shown as one */

static unsigned bucket_of(uint64_t ns)
{
    unsigned power = 0;

    while (ns >> power >= 2 * (uint64_t)HISTOGRAM_PART)
        power++;
    if (ns < HISTOGRAM_PART)
        return (unsigned)ns;
    if (power + 1 >= HISTOGRAM_POWERS)
        return HISTOGRAM_BUCKETS - 1;
    return (power + 1) * HISTOGRAM_PART + (unsigned)((ns >> power) - HISTOGRAM_PART);
}

/* The shortest duration in a bucket. */
static uint64_t start_of(unsigned bucket)
{
    unsigned power = bucket / HISTOGRAM_PART;
    uint64_t within = bucket % HISTOGRAM_PART;

    return power == 0 ? within : (within + HISTOGRAM_PART) << (power - 1);
}

static uint64_t middle_of(unsigned bucket)
{
    return (start_of(bucket) + start_of(bucket + 1)) / 2;
}

void histogram_init(struct histogram *histogram)
{
    *histogram = (struct histogram){.least = UINT64_MAX};
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
    histogram->count++;
    histogram->bucket[bucket_of(ns)]++;
    if (ns < histogram->least)
        histogram->least = ns;
    if (ns > histogram->most)
        histogram->most = ns;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
    uint64_t before = (uint64_t)(share * (double)histogram->count);
    uint64_t seen = 0;
    unsigned bucket = 0;

    while (bucket < HISTOGRAM_BUCKETS - 1 && (seen += histogram->bucket[bucket]) <= before)
        bucket++;
    return middle_of(bucket);
}

bool histogram_next(const struct histogram *histogram, struct histogram_part *part)
{
    while (part->bucket < HISTOGRAM_BUCKETS) {
        part->from = start_of(part->bucket);
        part->count = 0;
        for (unsigned i = 0; i < TOGETHER; i++)
            part->count += histogram->bucket[part->bucket++];
        part->to = start_of(part->bucket);
        if (part->count > 0)
            return true;
    }
    return false;
}
