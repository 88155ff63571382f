/* zcrp-top: what the library does in all processes that offer their statistics. See
 * docs/zcrp-top.1. */
#include "common/arguments.h"
#include "common/complain.h"
#include "screen.h"
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    int64_t delay_ns;
    uint64_t count; /* tables; 0: without end */
    bool is_batch, wants_json, wants_entities;
    uint64_t width; /* 0: the terminal's */
    struct folders folders;
};

static int add_folder(struct folders *folders, const char *where)
{
    if (where[0] == '\0')
        return complain("--directory: the name is empty");
    if (folders->count == SAMPLE_FOLDERS_MOST)
        return complain("more than %d directories", SAMPLE_FOLDERS_MOST);
    folders->where[folders->count++] = where;
    return 0;
}

static int read_folder(void *place, const char *text)
{
    return add_folder(place, text);
}

#define AT(field) offsetof(struct options, field)

static const struct argument_row rows[] = {
    ARGUMENT("delay", 'd', SECONDS, AT(delay_ns), 10, 86400000, "SECONDS",
             "time from one table to the next (1)"),
    ARGUMENT("count", 'n', NUMBER, AT(count), 1, UINT32_MAX, "N", "stop after N tables"),
    ARGUMENT_TRUE("entities", 'e', AT(wants_entities),
                  "a line for each sender and receiver, not for each peer of a process"),
    ARGUMENT("directory", 'D', OTHER, AT(folders), 0, 0, "DIRECTORY",
             "look there; may be given several times", .read = read_folder),
    ARGUMENT_HEADING("For scripts:"),
    ARGUMENT_TRUE("batch", 'b', AT(is_batch), "write one table below the other, all of its lines"),
    ARGUMENT("width", 'w', NUMBER, AT(width), TABLE_WIDTH_LEAST, TABLE_WIDTH_MOST, "COLUMNS",
             "fit lines into COLUMNS (a terminal's width; --batch: as wide as it gets)"),
    ARGUMENT_TRUE("json", 'j', AT(wants_json),
                  "write each table as one line of JSON, with all statistics"),
    ARGUMENT_USUAL,
};

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .usage = "[DIRECTORY...]",
    .about = "Shows what libzcrp does in the programs that offer their statistics: those with "
             "ZCRP_STATS=1 in the environment.\v"
             "Keys: q ends, e shows senders and receivers one by one.\n\n"
             "Exit status: 0 done; 1 something failed; 2 the command line is wrong.",
};

/* The lines of text that there is room for. */
static struct table_shape shape_of(const struct options *options, const struct screen *screen)
{
    struct table_shape shape = {.width = TABLE_WIDTH_MOST,
                                .rows = SIZE_MAX,
                                .end = screen->is_live ? SCREEN_LINE_END : "\n"};

    if (screen->is_live) {
        screen_size(&shape.width, &shape.rows);
        shape.rows -= shape.rows > 1; /* the cursor's */
    }
    if (options->width > 0)
        shape.width = options->width;
    return shape;
}

static int draw(const struct options *options, const struct screen *screen,
                const struct sample *before, const struct sample *now)
{
    struct table_shape shape = shape_of(options, screen);
    struct lines lines;

    if (options->wants_json) {
        table_write_json(stdout, before, now);
    } else {
        if (lines_make(&lines, before, now, options->wants_entities) < 0)
            return -1;
        fputs(screen->is_live ? SCREEN_BEGIN : "", stdout);
        if (now->processes == 0)
            table_explain(stdout, &shape, &options->folders);
        else
            table_write(stdout, &shape, now, &lines);
        fputs(screen->is_live ? SCREEN_END : "", stdout);
        lines_fini(&lines);
    }
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0
               : complain("cannot write to standard output: %s", strerror(errno));
}

/* Draws one table until it is time for the next. 0, 1 if it was the last one, or -1. */
static int show(struct options *options, struct screen *screen, const struct sample *before,
                const struct sample *now)
{
    for (;;) {
        if (draw(options, screen, before, now) < 0)
            return -1;
        if (options->count == 1)
            return 1;
        enum screen_event event = screen_wait(screen, now->at_ns + options->delay_ns);
        if (event == SCREEN_TIME || event == SCREEN_QUIT)
            return event == SCREEN_QUIT;
        options->wants_entities ^= event == SCREEN_TOGGLE;
    }
}

static int run(struct options *options, struct screen *screen)
{
    struct sample before = {0}, now;
    int status = 0;

    while (status == 0) {
        status = sample_take(&now, &options->folders);
        if (status == 0)
            status = show(options, screen, &before, &now);
        options->count -= options->count > 1;
        sample_fini(&before);
        before = now;
    }
    sample_fini(&before);
    return status < 0 ? -1 : 0;
}

/* How many of them cannot be looked into, each with a complaint. A folder that is not there may
 * come: the first program makes it. */
static size_t count_bad(const struct folders *folders)
{
    char path[PATH_MAX];
    size_t count = 0;

    for (size_t i = 0; i < folders->count; i++) {
        int fd = board_folder(folders->where[i], false, path);

        if (fd >= 0)
            (void)close(fd);
        else if (errno != ENOENT) {
            (void)complain("%s cannot be looked into: %s", path, strerror(errno));
            count++;
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    struct options options = {.delay_ns = 1000000000};
    struct screen screen;
    int next = argc;
    int status = arguments_read(&table, &options, argc, argv, &next);

    int count = status == 0 ? arguments_words(argv, next) : 0;
    if (count < 0)
        status = -1;
    for (int i = 0; status == 0 && i < count; i++)
        status = add_folder(&options.folders, argv[next + i]);
    if (status != 0)
        return arguments_status(status);
    if (options.folders.count == 0)
        options.folders.where[options.folders.count++] = "1";
    size_t bad = count_bad(&options.folders);
    if (bad == options.folders.count)
        return EXIT_FAILURE;
    bool is_live = !options.is_batch && !options.wants_json && isatty(STDOUT_FILENO);
    if (screen_open(&screen, is_live) < 0)
        return EXIT_FAILURE;
    status = run(&options, &screen);
    screen_close(&screen);
    return status < 0 || bad > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
