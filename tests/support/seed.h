/* Where random tests start from: a fixed seed, so that a run can be compared with the last one, and
 * a fresh one, so that runs add up. ZCRP_SEED=n in the environment replaces both. */
#ifndef ZCRP_TESTS_SUPPORT_SEED_H
#define ZCRP_TESTS_SUPPORT_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SEEDS_MOST = 2 };

struct seeds {
    uint64_t seed[SEEDS_MOST];
    int count;
};

/* Chooses the seeds of this run. To be called once, before tests fork. */
static inline struct seeds seeds_choose(void)
{
    const char *wish = getenv("ZCRP_SEED");
    if (wish != NULL)
        return (struct seeds){.seed = {strtoull(wish, NULL, 0)}, .count = 1};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t fresh = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    return (struct seeds){.seed = {1998, fresh}, .count = 2};
}

#endif
