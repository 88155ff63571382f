#include "dimension.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit rates[] = {
    {"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0},
};
static const struct unit times[] = {
    {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {NULL, 0},
};
static const struct unit shares[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};

static const double most_rate = 1e12;
static const double most_time = 86400e9;

/* A number without a sign or exponent, and one of the units. */
static int parse(const char *text, const struct unit *units, double *value)
{
    size_t digits = strspn(text, "0123456789.");
    char *end;
    double number;

    if (digits == 0)
        return -1;
    number = strtod(text, &end);
    if (end != text + digits)
        return -1;
    for (; units->name != NULL; units++) {
        if (strcmp(end, units->name) == 0) {
            *value = number * units->factor;
            return 0;
        }
    }
    return -1;
}

int dimension_rate(const char *text, uint64_t *bits_per_second)
{
    double value;

    if (parse(text, rates, &value) < 0 || value < 1 || value > most_rate)
        return -1;
    *bits_per_second = (uint64_t)(value + 0.5);
    return 0;
}

int dimension_time(const char *text, int64_t *ns)
{
    double value = 0;

    if (strcmp(text, "0") != 0 && (parse(text, times, &value) < 0 || value > most_time))
        return -1;
    *ns = (int64_t)(value + 0.5);
    return 0;
}

int dimension_share(const char *text, double *share)
{
    double value;

    if (parse(text, shares, &value) < 0 || value > 1)
        return -1;
    *share = value;
    return 0;
}
