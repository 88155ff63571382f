#include "zcrp-bench/job/counts.h"

#include <dlfcn.h>
#include <stddef.h>

static const char *const names[COUNTS] = {
#define COUNT_NAME(name, text) #name,
    ZCRP_STATS(COUNT_NAME)
#undef COUNT_NAME
};

static const char *const texts[COUNTS] = {
#define COUNT_TEXT(name, text) text,
    ZCRP_STATS(COUNT_TEXT)
#undef COUNT_TEXT
};

struct counts counts_of_stats(const struct zcrp_stats *stats)
{
    return (struct counts){
        .is_known = true,
        .value =
            {
#define COUNT_VALUE(name, text) stats->name,
                ZCRP_STATS(COUNT_VALUE)
#undef COUNT_VALUE
            },
    };
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

const char *counts_name(enum count which)
{
    return names[which];
}

const char *counts_text(enum count which)
{
    return texts[which];
}

void allocations_begin(void)
{
    void (*begin)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "zcrp_allocations_begin");

    if (begin != NULL)
        begin();
}

struct allocations allocations_read(void)
{
    void (*read)(uint64_t *, uint64_t *) =
        (void (*)(uint64_t *, uint64_t *))dlsym(RTLD_DEFAULT, "zcrp_allocations_read");
    struct allocations now = {.calls = ALLOCATIONS_UNKNOWN};

    if (read != NULL)
        read(&now.calls, &now.peak_bytes);
    return now;
}
