/* The main program of a unit test: one suite of one test case. */
#ifndef ZCRP_TESTS_SUPPORT_SUITE_H
#define ZCRP_TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the test case, which becomes the suite's; returns the exit status for main. */
static inline int suite_run(const char *name, TCase *tcase)
{
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
