#include "zcrp-bench/control/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/complain.h"

/* A struct of numbers is an array of them. */
enum { COUNT = sizeof(struct settings) / sizeof(uint64_t) };

int settings_draw_key(struct settings *settings)
{
    uint64_t words[SETTINGS_KEY_BYTES / WORD_BYTES];

    if (getrandom(words, sizeof words, 0) != (ssize_t)sizeof words)
        return complain("cannot draw a key: %s", strerror(errno));
    settings->key_0 = words[0];
    settings->key_1 = words[1];
    settings->key_2 = words[2];
    settings->key_3 = words[3];
    return 0;
}

void settings_write_key(const struct settings *settings, uint8_t key[SETTINGS_KEY_BYTES])
{
    word_store(key, settings->key_0);
    word_store(key + WORD_BYTES, settings->key_1);
    word_store(key + 2 * WORD_BYTES, settings->key_2);
    word_store(key + 3 * WORD_BYTES, settings->key_3);
}

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
