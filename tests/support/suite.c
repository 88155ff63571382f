/* The main program of every suite of libcheck.
 *
 *     PROGRAM                all tests
 *     PROGRAM NAME...        those of these folders, files, or single tests
 *     PROGRAM ... --seed N   random tests start from N, as with ZCRP_SEED=N in the environment
 *     PROGRAM --list         the files, and how each loads the machine
 *
 * The tests are of what crosses the network: ZCRP_NO_MEMORY is 1, unless it is set.
 *
 * Exit status 0 if all passed, 1 if not, 2 if there is no such test, 77 if all were skipped. */
#include "suite.h"
#include "seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_UNKNOWN = 2, STATUS_SKIPPED = 77, TIMEOUT_S = 60, NAME_CHARS = 200 };

static struct suite_case *cases; /* by name */
static struct seeds seeds;

void suite_add(struct suite_case *file, struct suite_test *test)
{
    struct suite_case **place = &cases;
    struct suite_test **behind = &file->tests;
    if (file->tests == NULL) {
        while (*place != NULL && strcmp((*place)->file, file->file) < 0)
            place = &(*place)->next;
        file->next = *place;
        *place = file;
    }
    while (*behind != NULL && (*behind)->test.line < test->test.line)
        behind = &(*behind)->next;
    test->next = *behind;
    *behind = test;
}

uint64_t suite_seed(int row)
{
    return seeds.seed[row];
}

/* tests/unit/adt/arena_test.c is adt/arena. */
static const char *name_of(const struct suite_case *file)
{
    static char name[NAME_CHARS];
    const char *start = strncmp(file->file, "tests/", 6) == 0 ? strchr(file->file + 6, '/') : NULL;
    snprintf(name, sizeof(name), "%s", start != NULL ? start + 1 : file->file);
    char *end = strstr(name, "_test.c");
    if (end != NULL)
        *end = '\0';
    return name;
}

/* Does `wish` name this file, by its whole name or the last part of it, or a folder of it? */
static bool is_file(const char *wish, const struct suite_case *file)
{
    const char *name = name_of(file), *slash = strrchr(name, '/');
    size_t length = strlen(wish);
    return strcmp(name, wish) == 0 || (slash != NULL && strcmp(slash + 1, wish) == 0) ||
           (strncmp(name, wish, length) == 0 && name[length] == '/');
}

static bool is_wanted(char **wishes, const struct suite_case *file, const struct suite_test *test)
{
    if (*wishes == NULL)
        return true;
    for (; *wishes != NULL; wishes++)
        if (is_file(*wishes, file) || strcmp(*wishes, test->test.name) == 0)
            return true;
    return false;
}

/* A test is a TCase of libcheck, because a failure names only that. Its name is how to repeat it.
 */
static void add_rows(Suite *suite, const struct suite_case *file, const struct suite_test *test,
                     const char *name, int first, int end)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, TIMEOUT_S);
    if (file->setup != NULL || file->teardown != NULL)
        tcase_add_checked_fixture(tcase, file->setup, file->teardown);
    tcase_add_loop_test_raise_signal(tcase, &test->test, test->signal, first, end);
    suite_add_tcase(suite, tcase);
}

static void add_seeds(Suite *suite, const struct suite_case *file, struct suite_test *test)
{
    for (int i = 0; i < seeds.count; i++) {
        snprintf(test->repeat[i], sizeof(test->repeat[i]), "%s --seed %llu", test->test.name,
                 (unsigned long long)seeds.seed[i]);
        add_rows(suite, file, test, test->repeat[i], i, i + 1);
    }
}

/* Without processes of their own (CK_FORK=no) tests cannot end by a signal. */
static bool can_run(const struct suite_test *test)
{
    const char *fork = getenv("CK_FORK");
    return (test->signal == 0 || fork == NULL || strcmp(fork, "no") != 0) &&
           (test->needs == NULL || test->needs());
}

/* Adds the tests of a file that are wanted; returns how many were wanted. */
static int add_file(Suite *suite, const struct suite_case *file, char **wishes)
{
    int wanted = 0;
    for (const struct suite_test *t = file->tests; t != NULL; t = t->next)
        wanted += is_wanted(wishes, file, t);
    if (wanted == 0 || (file->needs != NULL && !file->needs()))
        return wanted;
    for (struct suite_test *t = file->tests; t != NULL; t = t->next) {
        if (!is_wanted(wishes, file, t) || !can_run(t))
            continue;
        if (t->is_random)
            add_seeds(suite, file, t);
        else
            add_rows(suite, file, t, t->test.name, 0, t->rows > 0 ? t->rows : 1);
    }
    return wanted;
}

static void print_repeats(SRunner *runner, const char *program)
{
    TestResult **failure = srunner_failures(runner);
    const char *last = "";
    for (int i = 0; i < srunner_ntests_failed(runner); i++) {
        if (strcmp(last, tr_tcname(failure[i])) != 0)
            printf("repeat: %s %s\n", program, tr_tcname(failure[i]));
        last = tr_tcname(failure[i]);
    }
    free(failure);
}

static int run(const char *program, char **wishes)
{
    Suite *suite = suite_create(program);
    SRunner *runner = srunner_create(suite);
    int wanted = 0;
    for (const struct suite_case *c = cases; c != NULL; c = c->next)
        wanted += add_file(suite, c, wishes);
    if (wanted == 0) {
        fprintf(stderr, "%s: no such test; --list lists the files\n", program);
        srunner_free(runner);
        return STATUS_UNKNOWN;
    }
    srunner_run_all(runner, CK_ENV);
    print_repeats(runner, program);
    int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return run == 0 ? STATUS_SKIPPED : failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int list(void)
{
    for (const struct suite_case *c = cases; c != NULL; c = c->next)
        printf("%s %s\n", name_of(c), c->load != NULL ? c->load : "busy");
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    setenv("ZCRP_NO_MEMORY", "1", 0);
    if (argc > 2 && strcmp(argv[argc - 2], "--seed") == 0) {
        setenv("ZCRP_SEED", argv[argc - 1], 1);
        argv[argc - 2] = NULL;
    }
    seeds = seeds_choose();
    return run(argv[0], argv + 1);
}
