#include "arguments.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "quantity.h"
#include "zcrp.h"

enum { FIRST_KEY = 256, VALUE_ROOM = 64, WANTED_ROOM = 96, EXIT_USAGE = 2 };

/* One command line. */
struct reading {
    const struct argument_table *table;
    void *options;
    bool has_complained;
    bool wants_help, wants_version;
};

static int key_of(const struct argument_table *table, const struct argument_row *row)
{
    return row->letter != '\0' ? row->letter : FIRST_KEY + (int)(row - table->rows);
}

static const struct argument_row *find(const struct argument_table *table, int key)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct argument_row *row = &table->rows[i];

        if (row->kind != ARGUMENT_TITLE && key_of(table, row) == key)
            return row;
    }
    return NULL;
}

/* ---- values */

static int read_number(const struct argument_row *row, uint64_t *place, const char *text)
{
    uint64_t number = 0;

    if ((strcmp(text, "0") != 0 && quantity_parse(text, &number) < 0) || number < row->least ||
        number > row->most)
        return -1;
    *place = number;
    return 0;
}

static int read_rate(const struct argument_row *row, uint64_t *place, const char *text)
{
    if (row->least > 0 || strcmp(text, "0") != 0)
        return dimension_rate(text, place);
    *place = 0;
    return 0;
}

static int read_seconds(const struct argument_row *row, int64_t *place, const char *text)
{
    size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    double seconds = digits > 0 ? strtod(text, &end) : 0;

    if (digits == 0 || end != text + digits || *end != '\0' || seconds < (double)row->least / 1e3 ||
        seconds > (double)row->most / 1e3)
        return -1;
    *place = (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

static int read_name(const struct argument_row *row, uint64_t *place, const char *text)
{
    for (uint64_t i = 0; row->names[i] != NULL; i++) {
        if (strcmp(text, row->names[i]) == 0) {
            *place = i;
            return 0;
        }
    }
    return -1;
}

/* 0 or -1, without a complaint unless `read` makes one. */
static int read_value(const struct argument_row *row, void *place, const char *text)
{
    switch (row->kind) {
    case ARGUMENT_FLAG:
        *(bool *)place = true;
        return 0;
    case ARGUMENT_NUMBER:
        return read_number(row, place, text);
    case ARGUMENT_RATE:
        return read_rate(row, place, text);
    case ARGUMENT_SECONDS:
        return read_seconds(row, place, text);
    case ARGUMENT_TIME:
        return dimension_time(text, place);
    case ARGUMENT_SHARE:
        return dimension_share(text, place);
    case ARGUMENT_TEXT:
        *(const char **)place = text;
        return 0;
    case ARGUMENT_NAME:
        return read_name(row, place, text);
    case ARGUMENT_OTHER:
        return row->read(place, text);
    case ARGUMENT_TITLE:
    case ARGUMENT_HELP:
    case ARGUMENT_VERSION:
        break;
    }
    return -1;
}

/* "A/B" into two places, "A" into both. */
static int read_both(const struct argument_row *row, char *place, const char *text)
{
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    char first[VALUE_ROOM];

    if (length >= sizeof first)
        return -1;
    memcpy(first, text, length);
    first[length] = '\0';
    if (read_value(row, place, first) < 0)
        return -1;
    return read_value(row, place + row->again, slash != NULL ? slash + 1 : first);
}

/* ---- complaints */

static void list_names(const struct argument_row *row, char text[WANTED_ROOM])
{
    size_t length = 0;

    for (size_t i = 0; row->names[i] != NULL && length < WANTED_ROOM; i++) {
        const char *between = i == 0 ? "" : row->names[i + 1] != NULL ? ", " : " or ";

        length +=
            (size_t)snprintf(&text[length], WANTED_ROOM - length, "%s%s", between, row->names[i]);
    }
}

static void describe(const struct argument_row *row, char text[WANTED_ROOM])
{
    const char *plain = row->wanted;

    if (plain == NULL && row->kind == ARGUMENT_RATE)
        plain = "a rate, as 64k, 155M or 2.5G";
    if (plain == NULL && row->kind == ARGUMENT_TIME)
        plain = "a time, as 50us, 1.5ms or 2s";
    if (plain == NULL && row->kind == ARGUMENT_SHARE)
        plain = "a share, as 1% or 0.01";
    if (plain != NULL)
        snprintf(text, WANTED_ROOM, "%s", plain);
    else if (row->kind == ARGUMENT_NAME)
        list_names(row, text);
    else if (row->kind == ARGUMENT_SECONDS)
        snprintf(text, WANTED_ROOM, "a number of seconds from %.10g to %.10g",
                 (double)row->least / 1e3, (double)row->most / 1e3);
    else if (row->most > UINT32_MAX)
        snprintf(text, WANTED_ROOM, "a number from %" PRIu64 " on, as 64, 16K or 1M", row->least);
    else
        snprintf(text, WANTED_ROOM, "a number from %" PRIu64 " to %" PRIu64, row->least, row->most);
}

static void complain_of(const struct argument_row *row, const char *text)
{
    char wanted[WANTED_ROOM];

    if (row->kind == ARGUMENT_OTHER && row->wanted == NULL)
        return; /* `read` did */
    describe(row, wanted);
    complain("--%s: '%s' is not %s", row->name, text, wanted);
}

/* Whether a word is an option that lacks its value, and not one that is unknown. */
static bool lacks_value(const struct argument_table *table, const char *word)
{
    size_t dashes = strspn(word, "-");

    for (size_t i = 0; i < table->count; i++) {
        const struct argument_row *row = &table->rows[i];

        if (row->kind == ARGUMENT_TITLE || row->value == NULL || row->is_optional)
            continue;
        if (dashes == 1 ? strchr(word, row->letter) != NULL && row->letter != '\0'
                        : strcmp(word + dashes, row->name) == 0)
            return true;
    }
    return false;
}

/* Whether a word has letters, as -ab, of which one is no option. */
static bool has_unknown_letter(const struct argument_table *table, const char *word)
{
    if (word == NULL || word[0] != '-' || word[1] == '-')
        return false;
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct argument_row *row = find(table, *letter);

        if (row == NULL || row->value != NULL)
            return row == NULL; /* a value takes the rest of the word */
    }
    return false;
}

/* Whether a word, as --ab or --ab=c, is no option, nor the beginning of one. */
static bool has_unknown_name(const struct argument_table *table, const char *word)
{
    if (strncmp(word, "--", 2) != 0)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const struct argument_row *row = &table->rows[i];

        if (row->kind != ARGUMENT_TITLE &&
            strncmp(row->name, word + 2, strcspn(word + 2, "=")) == 0)
            return false;
    }
    return true;
}

/* argp goes on to the next word only behind the last letter of a word as -ab. */
static void explain(struct reading *reading, const struct argp_state *state)
{
    const struct argument_table *table = reading->table;
    const char *word = state->argv[state->next - 1], *next = state->argv[state->next];

    if (reading->has_complained)
        return;
    if (!has_unknown_letter(table, word) && !has_unknown_name(table, word) &&
        has_unknown_letter(table, next))
        complain("unknown option '%s'", next);
    else if (!has_unknown_letter(table, word) && lacks_value(table, word))
        complain("%s needs a value", word);
    else
        complain("unknown option '%s'", word);
}

/* ---- argp */

/* The value of an option that may do without one: the next word, unless that is an option. */
static const char *optional_value(const char *value, struct argp_state *state)
{
    const char *next = state->next < state->argc ? state->argv[state->next] : NULL;

    if (value != NULL || next == NULL || (next[0] == '-' && next[1] != '\0'))
        return value;
    state->next++;
    return next;
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct reading *reading = state->input;
    const struct argument_row *row = find(reading->table, key);
    const char *value = argument;
    char *place;

    if (key == ARGP_KEY_ERROR)
        explain(reading, state);
    if (row == NULL)
        return ARGP_ERR_UNKNOWN;
    reading->wants_help |= row->kind == ARGUMENT_HELP;
    reading->wants_version |= row->kind == ARGUMENT_VERSION;
    if (row->kind == ARGUMENT_HELP || row->kind == ARGUMENT_VERSION)
        return 0;
    if (row->is_optional)
        value = optional_value(argument, state);
    if (reading->table->seen != NULL)
        reading->table->seen(reading->options, row);
    place = (char *)reading->options + row->place;
    int status = row->again != 0 ? read_both(row, place, value) : read_value(row, place, value);
    if (status == 0)
        return 0;
    if (status != ARGUMENT_COMPLAINED)
        complain_of(row, value);
    reading->has_complained = true;
    return EINVAL;
}

static void describe_to_argp(const struct argument_table *table, struct argp_option *options)
{
    int group = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct argument_row *row = &table->rows[i];
        bool is_title = row->kind == ARGUMENT_TITLE;

        group += is_title;
        options[i] = (struct argp_option){
            .name = row->name,
            .key = is_title ? 0 : key_of(table, row),
            .arg = row->value,
            .flags = row->is_optional ? OPTION_ARG_OPTIONAL : 0,
            .doc = row->help,
            .group = group,
        };
    }
    options[table->count] = (struct argp_option){0};
}

static void print_help(const struct argp *argp)
{
    setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
    argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
              program_invocation_short_name);
}

int arguments_read(const struct argument_table *table, void *options, int argc, char **argv,
                   int *next)
{
    const unsigned flags = ARGP_NO_ARGS | ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP;
    struct argp_option *described = calloc(table->count + 1, sizeof *described);
    struct argp argp = {described, take, table->usage, table->about, NULL, NULL, NULL};
    struct reading reading = {.table = table, .options = options};

    if (described == NULL)
        return complain("no memory: %s", strerror(ENOMEM));
    describe_to_argp(table, described);
    error_t error = argp_parse(&argp, argc, argv, flags, next, &reading);
    if (error == 0 && reading.wants_help)
        print_help(&argp);
    else if (error == 0 && reading.wants_version)
        printf("%s " ZCRP_VERSION_TEXT "\n", program_invocation_short_name);
    free(described);
    if (error != 0)
        return -1;
    return reading.wants_help || reading.wants_version ? 1 : 0;
}

int arguments_words(char **argv, int next)
{
    bool are_names = next > 0 && strcmp(argv[next - 1], "--") == 0;
    int count = 0;

    for (char **word = &argv[next]; *word != NULL; word++) {
        if (!are_names && strcmp(*word, "--") == 0) {
            are_names = true;
            continue;
        }
        if (!are_names && (*word)[0] == '-' && (*word)[1] != '\0')
            return complain(
                "'%s' is behind the first word: options come first, and \"--\" in front "
                "of a name that begins with a dash",
                *word);
        argv[next + count++] = *word;
    }
    argv[next + count] = NULL;
    return count;
}

int arguments_read_all(const struct argument_table *table, void *options, int argc, char **argv)
{
    int next = argc;
    int status = arguments_read(table, options, argc, argv, &next);

    return status == 0 && next < argc ? complain("unexpected argument '%s'", argv[next]) : status;
}

int arguments_status(int read)
{
    if (read >= 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "Try '%s --help'.\n", program_invocation_short_name);
    return EXIT_USAGE;
}
