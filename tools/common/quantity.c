#include "quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char suffixes[] = "KMG";

/* The power of 1024 that a suffix stands for, as a shift; 0 for none, -1 for nonsense. */
static int shift_of(const char *suffix)
{
    if (*suffix == '\0')
        return 0;
    const char *found = strchr(suffixes, toupper((unsigned char)*suffix));
    if (found == NULL || suffix[1] != '\0')
        return -1;
    return 10 * (int)(found - suffixes + 1);
}

int quantity_parse(const char *text, uint64_t *value)
{
    char *end;
    unsigned long long number;

    if (!isdigit((unsigned char)*text))
        return -1;
    errno = 0;
    number = strtoull(text, &end, 10);
    int shift = shift_of(end);
    if (errno != 0 || shift < 0 || number == 0 || number > UINT64_MAX >> shift)
        return -1;
    *value = (uint64_t)number << shift;
    return 0;
}

void quantity_bytes(char out[QUANTITY_ROOM], uint64_t bytes)
{
    size_t power = 0;

    while (power < sizeof suffixes - 1 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        power++;
    }
    if (power > 0)
        snprintf(out, QUANTITY_ROOM, "%llu%c", (unsigned long long)bytes, suffixes[power - 1]);
    else
        snprintf(out, QUANTITY_ROOM, "%llu", (unsigned long long)bytes);
}

void quantity_figure(char out[QUANTITY_ROOM], double value)
{
    static const char *const large[] = {"", " k", " M", " G", " T"};
    size_t power = 0;
    int decimals = 2;

    while (value >= 999.5 && power + 1 < sizeof large / sizeof *large) {
        value /= 1000;
        power++;
    }
    if (value >= 99.95)
        decimals = 0;
    else if (value >= 9.995)
        decimals = 1;
    else if (value < 0.0995 && value > 0)
        decimals = 4;
    else if (value < 0.995 && value > 0)
        decimals = 3;
    snprintf(out, QUANTITY_ROOM, "%.*f%s", decimals, value, large[power]);
}

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

    if (digits == 0)
        return -1;
    double number = strtod(text, &end);
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
