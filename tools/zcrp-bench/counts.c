#include "counts.h"

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

static bool is_state(enum count which)
{
    return which == COUNT_window_bytes || which == COUNT_transit_bytes ||
           which == COUNT_rate_bytes_per_s || which == COUNT_rtt_smoothed_ns ||
           which == COUNT_rtt_lowest_ns;
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

const char *counts_name(enum count which)
{
    return names[which];
}

const char *counts_text(enum count which)
{
    return texts[which];
}
