#include <stdarg.h>
#include <unistd.h>

#include "zcrp-bench/results/report.h"

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
