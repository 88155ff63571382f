/* The main program of a property test: one test, run from each seed, repeatable when it fails.
 *
 * The test is a libcheck loop test that starts with `uint64_t random = property_seed(_i);`. It may
 * fail by an assertion of libcheck or by a CHECK in the code under test. */
#ifndef ZCRP_TESTS_SUPPORT_PROPERTY_H
#define ZCRP_TESTS_SUPPORT_PROPERTY_H

#include "seed.h"

#include <check.h>

enum { PROPERTY_TIMEOUT_S = 120 }; /* sanitizers and valgrind are slow */

static struct seeds property_seeds;

static inline uint64_t property_seed(int index)
{
    return property_seeds.seed[index];
}

/* Each seed is a test case of its own, named by it, so that the result tells which one failed. */
static inline void property_print_repeats(SRunner *runner, const char *program)
{
    TestResult **failure = srunner_failures(runner);
    for (int i = 0; i < srunner_ntests_failed(runner); i++)
        seed_print_repeat(program, strtoull(tr_tcname(failure[i]), NULL, 10));
    free(failure);
}

/* Runs `test`; returns the exit status for main. `program` is how the user called it. */
static inline int property_run(const char *name, const TTest *test, const char *program)
{
    char seed_name[SEEDS_MOST][24];
    Suite *suite = suite_create(name);
    property_seeds = seeds_choose();
    for (int i = 0; i < property_seeds.count; i++) {
        snprintf(seed_name[i], sizeof(seed_name[i]), "%llu",
                 (unsigned long long)property_seeds.seed[i]);
        TCase *tcase = tcase_create(seed_name[i]);
        tcase_set_timeout(tcase, PROPERTY_TIMEOUT_S);
        tcase_add_loop_test(tcase, test, i, i + 1);
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    property_print_repeats(runner, program);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
