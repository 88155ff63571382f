#include "complain.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static char last[COMPLAIN_ROOM];
static bool is_silent;

int complain(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(last, sizeof last, format, arguments);
    va_end(arguments);
    if (!is_silent)
        fprintf(stderr, "zcrp-bench: %s\n", last);
    return -1;
}

void complain_silently(void)
{
    is_silent = true;
}

const char *complain_last(void)
{
    return last;
}
