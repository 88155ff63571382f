/* The simulator: runs every scenario, each in a process of its own, and prints a line for each.
 *
 *     sim [--seeds] N          N runs of a scenario that has a run for each seed; default 200
 *     sim --seed N             seeds from N on; also ZCRP_SEED=N
 *     sim --only NAME          scenarios whose name begins so
 *     sim --list               the names of all scenarios
 *     sim --only NAME --seed N --story      one run, and what happens in it */
#include "scenario.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct options {
    const char *program;
    const char *only;
    uint32_t seeds;
    uint64_t seed;
    bool is_story;
    bool is_list;
};

/* Where a scenario's process has come to; shared with it, so that a crash can be repeated. */
struct progress {
    uint64_t seed;
    struct figures figures;
};

static const struct scenario *const tables[] = {
    scenarios_of_loss,   scenarios_of_order, scenarios_of_endings, scenarios_of_everything,
    scenarios_of_paths,  scenarios_of_mtu,   scenarios_of_shared,  scenarios_of_pauses,
    scenarios_of_floods, scenarios_of_cells, scenarios_of_keys,    scenarios_of_offload,
    scenarios_of_moves,  scenarios_of_pieces};
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static void print_repeat(const struct options *options, const struct scenario *scenario,
                         uint64_t seed)
{
    fprintf(stderr, "repeat: %s --only '%s' --seed %" PRIu64 " --story\n", options->program,
            scenario->name, seed);
}

static bool is_tolerable(const struct scenario *scenario, const struct figures *figures)
{
    return (uint64_t)figures->failed * 100 <= (uint64_t)scenario->failed_percent * figures->runs;
}

/* All runs of a scenario; in its own process. */
static bool run_all(const struct options *options, const struct scenario *scenario,
                    struct progress *progress)
{
    uint32_t runs = options->is_story ? 1 : scenario_runs(scenario, options->seeds);
    uint64_t first = scenario->percent == 0 && !options->is_story ? 0 : options->seed;
    for (uint32_t i = 0; i < runs; i++) {
        progress->seed = first + i;
        bool is_right = scenario_run(scenario, progress->seed, &progress->figures,
                                     options->is_story ? stdout : NULL);
        if (!is_right && scenario->failed_percent == 0) {
            print_repeat(options, scenario, progress->seed);
            return false;
        }
    }
    return is_tolerable(scenario, &progress->figures);
}

/* True if the process ended well; says how it ended otherwise. */
static bool await(const struct options *options, const struct scenario *scenario, pid_t pid,
                  const struct progress *progress)
{
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: signal %d\n", scenario->name, WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_FAILURE)
        return WEXITSTATUS(status) == EXIT_SUCCESS;
    print_repeat(options, scenario, progress->seed);
    return false;
}

static bool run_apart(const struct options *options, const struct scenario *scenario,
                      struct progress *progress)
{
    fflush(stdout);
    memset(progress, 0, sizeof(*progress));
    pid_t pid = fork();
    if (pid == 0) {
        bool is_right = run_all(options, scenario, progress);
        fflush(stdout);
        _exit(is_right ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    bool is_right = pid > 0 && await(options, scenario, pid, progress);
    figures_print(&progress->figures, scenario->name);
    return is_right;
}

/* By its whole name where there is such a one, else by its beginning. */
static bool is_chosen(const struct options *options, const struct scenario *scenario)
{
    if (options->only == NULL)
        return true;
    for (size_t t = 0; t < TABLES; t++)
        for (const struct scenario *s = tables[t]; s->name != NULL; s++)
            if (strcmp(s->name, options->only) == 0)
                return s == scenario;
    return strncmp(scenario->name, options->only, strlen(options->only)) == 0;
}

static int run_tables(const struct options *options)
{
    int passed = 0;
    int failed = 0;
    uint32_t runs = 0;
    double hours = 0; /* of virtual time */
    struct progress *progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t t = 0; t < TABLES; t++) {
        for (const struct scenario *s = tables[t]; s->name != NULL; s++) {
            if (!is_chosen(options, s))
                continue;
            if (run_apart(options, s, progress))
                passed++;
            else
                failed++;
            runs += progress->figures.runs;
            hours += (double)progress->figures.time / (3600.0 * (double)SECOND);
        }
    }
    munmap(progress, sizeof(*progress));
    printf("%d passed, %d failed; %" PRIu32 " runs, %.1f hours of virtual time\n", passed, failed,
           runs, hours);
    return failed == 0 && passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int list_tables(void)
{
    for (size_t t = 0; t < TABLES; t++)
        for (const struct scenario *s = tables[t]; s->name != NULL; s++)
            puts(s->name);
    return EXIT_SUCCESS;
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s [[--seeds] N] [--seed N] [--only NAME] [--story] [--list]\n",
            program);
    return 2;
}

static bool read_options(struct options *options, int argc, char **argv)
{
    const char *seed = getenv("ZCRP_SEED");
    if (seed != NULL)
        options->seed = strtoull(seed, NULL, 0);
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--story") == 0)
            options->is_story = true;
        else if (strcmp(argv[i], "--list") == 0)
            options->is_list = true;
        else if (strcmp(argv[i], "--seed") == 0 && has_value)
            options->seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--only") == 0 && has_value)
            options->only = argv[++i];
        else if (strcmp(argv[i], "--seeds") == 0 && has_value)
            options->seeds = (uint32_t)strtoul(argv[++i], NULL, 0);
        else if (argv[i][0] >= '0' && argv[i][0] <= '9')
            options->seeds = (uint32_t)strtoul(argv[i], NULL, 0);
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {.program = argv[0], .seeds = 200, .seed = 1998};
    if (!read_options(&options, argc, argv))
        return usage(argv[0]);
    return options.is_list ? list_tables() : run_tables(&options);
}
