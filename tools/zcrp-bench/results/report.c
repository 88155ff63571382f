#include "zcrp-bench/results/report.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"

static bool is_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* 0 with *file NULL if there is no path. */
static int open_file(FILE **file, const char *path)
{
    *file = NULL;
    if (path == NULL)
        return 0;
    *file = is_standard_output(path) ? stdout : fopen(path, "we");
    return *file != NULL ? 0 : complain("cannot write '%s': %s", path, strerror(errno));
}

static void close_file(FILE **file)
{
    if (*file != NULL && *file != stdout)
        fclose(*file);
    *file = NULL;
}

/* Closes a file that was written, and says whether all of it got there. */
static int finish_file(FILE **file, const char *path)
{
    bool is_written = true;

    if (*file != NULL)
        is_written = fflush(*file) == 0 && !ferror(*file);
    close_file(file);
    return is_written ? 0 : complain("cannot write '%s': %s", path, strerror(errno));
}

int report_open(struct report *report, const struct options *options)
{
    *report = (struct report){.options = options};
    return open_file(&report->json, options->json);
}

/* What verification came to, over all measurements. */
static const char *verdict_text(const struct results *results)
{
    enum verdict worst = VERDICT_NONE;

    for (size_t i = 0; i < results_count(results); i++) {
        if (results->runs[i].verdict > worst)
            worst = results->runs[i].verdict;
    }
    if (worst == VERDICT_DIFFERENT)
        return "; SOMETHING ARRIVED WRONG";
    return worst == VERDICT_SAME ? "; every byte verified, and the time that takes counted" : "";
}

static void write_conditions(const struct options *options, const struct results *results)
{
    char memory[QUANTITY_ROOM] = "of its own for every message";

    if (options->memory_bytes != OPTIONS_MEMORY_ALL)
        quantity_bytes(memory, options->memory_bytes);
    printf("\nMedians of %llu; memory: %s; GB: 10^9 bytes%s.\n",
           (unsigned long long)options->repeat, memory, verdict_text(results));
}

int report_write(struct report *report, const struct results *results)
{
    const struct options *options = report->options;
    int status = 0;

    if (report->json != NULL)
        json_write(report->json, results);
    if (options_have_output(options)) {
        table_write(stdout, results);
        write_conditions(options, results);
    }
    if (finish_file(&report->json, options->json) < 0)
        status = -1;
    if (fflush(stdout) != 0)
        status = complain("cannot write to standard output: %s", strerror(errno));
    return status;
}

void report_close(struct report *report)
{
    close_file(&report->json);
}

static bool is_seen;

void progress_init(bool is_quiet)
{
    is_seen = !is_quiet && isatty(STDERR_FILENO);
}

void progress_show(const char *format, ...)
{
    va_list arguments;

    if (!is_seen)
        return;
    fputs("\r\033[K", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
}

void progress_clear(void)
{
    if (is_seen)
        fputs("\r\033[K", stderr);
}
