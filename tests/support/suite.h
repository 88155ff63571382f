/* The main program of a test with libcheck. */
#ifndef ZCRP_TESTS_SUPPORT_SUITE_H
#define ZCRP_TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Rows of a truth table, as the end of a loop test. */
#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* Runs all test cases of the suite; returns the exit status for main. */
static inline int suite_run_all(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The same with one test case, which becomes the suite's. */
static inline int suite_run(const char *name, TCase *tcase)
{
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tcase);
    return suite_run_all(suite);
}

#endif
