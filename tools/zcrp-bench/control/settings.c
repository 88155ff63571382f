#include "zcrp-bench/control/settings.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A struct of numbers is an array of them. */
enum { COUNT = sizeof(struct settings) / sizeof(uint64_t) };

int settings_say(struct control *control, const struct settings *settings)
{
    uint64_t values[COUNT];
    char line[CONTROL_LINE] = "";
    size_t length = 0;

    memcpy(values, settings, sizeof values);
    for (size_t i = 0; i < COUNT; i++)
        length += (size_t)snprintf(&line[length], sizeof line - length, " %" PRIu64, values[i]);
    if (control_say(control, "settings%s", line) < 0)
        return -1;
    return control_expect(control, "settled") != NULL ? 0 : -1;
}

int settings_read(const char *arguments, struct settings *settings)
{
    static const uint64_t most[COUNT] = {
#define SETTINGS_MOST(name, most) most,
        SETTINGS(SETTINGS_MOST)
#undef SETTINGS_MOST
    };
    uint64_t values[COUNT];

    if (control_figures(arguments, values, COUNT) < 0)
        return -1;
    for (size_t i = 0; i < COUNT; i++) {
        if (values[i] > most[i])
            return -1;
    }
    memcpy(settings, values, sizeof values);
    return settings->depth > 0 ? 0 : -1;
}
