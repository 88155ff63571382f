#include "zcrp-bench/job/histogram.h"

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

static uint64_t middle_of(unsigned bucket)
{
    unsigned power = bucket / HISTOGRAM_PART;
    uint64_t within = bucket % HISTOGRAM_PART;

    if (power == 0)
        return within;
    power--;
    return ((within + HISTOGRAM_PART) << power) + (((uint64_t)1 << power) >> 1);
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
