#include "complain.h"
#include "character.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last[COMPLAIN_ROOM];
static bool is_silent;

/* The other end's words and the names of files are somebody else's, and go to a terminal. */
static void replace_controls(char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        size_t shown = character_shown(text, left);

        if (shown == 0)
            *text = '?';
        text += shown > 0 ? shown : 1;
        left -= shown > 0 ? shown : 1;
    }
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
