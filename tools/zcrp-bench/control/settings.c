#include "zcrp-bench/control/settings.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

enum {
#define SETTINGS_INDEX(name, most) INDEX_##name,
    SETTINGS(SETTINGS_INDEX)
#undef SETTINGS_INDEX
        COUNT
};

int settings_say(struct control *control, const struct settings *settings)
{
    const uint64_t values[COUNT] = {
#define SETTINGS_VALUE(name, most) settings->name,
        SETTINGS(SETTINGS_VALUE)
#undef SETTINGS_VALUE
    };
    char line[CONTROL_LINE] = "";
    size_t length = 0;

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
    *settings = (struct settings){
#define SETTINGS_TAKE(name, most) .name = values[INDEX_##name],
        SETTINGS(SETTINGS_TAKE)
#undef SETTINGS_TAKE
    };
    return settings->depth > 0 ? 0 : -1;
}
