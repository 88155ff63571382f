/* Tests that register themselves, over libcheck. All files of a suite become one program, whose
 * main is in suite.c; a file is a test case there, named by its path without "_test.c".
 *
 *     FIXTURE(setup, teardown)
 *
 *     TEST(arena_take__aligns) { ... }
 *     TEST(arena_take__sizes, .rows = ROWS(sizes)) { ... sizes[_i] ... }
 *     TEST(arena_check__fires, .signal = SIGABRT) { ... }
 *
 * Each test runs in a process of its own. */
#ifndef ZCRP_TESTS_SUPPORT_SUITE_H
#define ZCRP_TESTS_SUPPORT_SUITE_H

#include "seed.h"

#include "asserts.h"
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Is this built with the address or the thread sanitizer? */
#if defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* Rows of a truth table. */
#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

struct suite_test {
    TTest test;
    int rows;                     /* runs once for each _i in [0, rows); 0: once */
    int signal;                   /* the signal that has to end the test; 0: none */
    bool is_random;               /* runs from each seed of the suite: suite_seed(_i) */
    bool (*needs)(void);          /* left out where this is false; NULL: never */
    char repeat[SEEDS_MOST][160]; /* how to repeat a random test from each seed */
    struct suite_test *next;
};

/* The tests of one file, and what holds for all of them. */
struct suite_case {
    const char *file;
    void (*setup)(void), (*teardown)(void); /* before and after each test; NULL: nothing */
    bool (*needs)(void);                    /* skipped where this is false, which says why */
    const char *load;                       /* of run-tests: busy, asleep or alone; NULL: busy */
    struct suite_test *tests;               /* by line */
    struct suite_case *next;
};

__attribute__((unused)) static struct suite_case suite_case = {.file = __BASE_FILE__};

/* Adds a test to its file, and the file to the program. Before main. */
void suite_add(struct suite_case *file, struct suite_test *test);

/* Where the run `row` of a random test starts from. Row 0 has a fixed seed, so that runs can be
 * compared, row 1 a fresh one, so that they add up. ZCRP_SEED=n in the environment replaces both.
 */
uint64_t suite_seed(int row);

/* A test, followed by its body. Further arguments initialize fields of struct suite_test. */
#define TEST(name, ...)                                                                            \
    static void name(int _i);                                                                      \
    __attribute__((constructor)) static void name##_add(void)                                      \
    {                                                                                              \
        static struct suite_test test = {.test = {#name, name, __FILE__, __LINE__}, __VA_ARGS__};  \
        suite_add(&suite_case, &test);                                                             \
    }                                                                                              \
    static void name(__attribute__((unused)) int _i)

/* What surrounds each test of this file. */
#define FIXTURE(setup_function, teardown_function)                                                 \
    __attribute__((constructor)) static void suite_fixture(void)                                   \
    {                                                                                              \
        suite_case.setup = setup_function;                                                         \
        suite_case.teardown = teardown_function;                                                   \
    }

/* What all tests of this file need. */
#define NEEDS(function)                                                                            \
    __attribute__((constructor)) static void suite_needs(void)                                     \
    {                                                                                              \
        suite_case.needs = function;                                                               \
    }

/* How the tests of this file load the machine. */
#define LOAD(how)                                                                                  \
    __attribute__((constructor)) static void suite_load(void)                                      \
    {                                                                                              \
        suite_case.load = #how;                                                                    \
    }

#endif
