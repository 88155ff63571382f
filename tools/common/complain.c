#include "complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static _Thread_local char last[COMPLAIN_ROOM];
static bool is_silent;

/* What the other end says, or a file is called, is somebody else's, and goes to a terminal. */
static void replace_controls(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7F)
            *text = '?';
}

int complain(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(last, sizeof last, format, arguments);
    va_end(arguments);
    replace_controls(last);
    if (!is_silent)
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, last);
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
