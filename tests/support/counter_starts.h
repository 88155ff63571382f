/* Where counters are started in tests: at nothing, and just short of each width at which a counter
 * kept in too narrow a type would wrap or turn negative. */
#ifndef ZCRP_TESTS_SUPPORT_COUNTER_STARTS_H
#define ZCRP_TESTS_SUPPORT_COUNTER_STARTS_H

#include <stdint.h>

enum { COUNTER_STARTS = 4 };

static inline uint64_t counter_start(int index)
{
    static const uint64_t start[COUNTER_STARTS] = {
        0,
        (UINT64_C(1) << 16) - 3,
        (UINT64_C(1) << 31) - 3,
        (UINT64_C(1) << 32) - 3,
    };
    return start[index];
}

#endif
