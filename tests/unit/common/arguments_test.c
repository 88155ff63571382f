#include "common/arguments.h"

#include "../../support/suite.h"
#include "common/complain.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct options {
    bool flag;
    uint64_t number, rate, name;
    int64_t seconds, time;
    double share[2];
    const char *text;
    const char *other;
    unsigned marks; /* of the rows that were seen */
};

static int read_other(void *place, const char *text)
{
    *(const char **)place = text != NULL ? text : "none";
    return text != NULL && strcmp(text, "bad") == 0 ? -1 : 0;
}

static void note_marks(void *place, const struct argument_row *row)
{
    struct options *options = place;

    options->marks |= row->marks;
}

static const char *const names[] = {"red", "green", "blue", NULL};

#define AT(field) offsetof(struct options, field)

static const struct argument_row rows[] = {
    ARGUMENT_HEADING("All kinds:"),
    ARGUMENT_TRUE("flag", 'f', AT(flag), "a flag", .marks = 1),
    ARGUMENT("number", 'n', NUMBER, AT(number), 2, 4096, "N", "a number", .marks = 2),
    ARGUMENT("rate", 0, RATE, AT(rate), 1, 0, "RATE", "a rate"),
    ARGUMENT("seconds", 0, SECONDS, AT(seconds), 1, 86400000, "S", "seconds"),
    ARGUMENT("time", 0, TIME, AT(time), 0, 0, "T", "a time"),
    ARGUMENT("share", 0, SHARE, AT(share), 0, 0, "S", "shares", .again = sizeof(double)),
    ARGUMENT("text", 0, TEXT, AT(text), 0, 0, "TEXT", "a text"),
    ARGUMENT("name", 0, NAME, AT(name), 0, 0, "NAME", "a name", .names = names),
    ARGUMENT("other", 'o', OTHER, AT(other), 0, 0, "X", "a value", .read = read_other,
             .wanted = "what it should be", .is_optional = true),
    ARGUMENT_USUAL,
};

static const struct argument_table table = {rows, sizeof rows / sizeof *rows, "", "", note_marks};

enum { WORDS_MOST = 32, TEXT_MOST = 256 };

static char line_text[TEXT_MOST];
static char *words[WORDS_MOST];
static int word_count;
static struct options options;

/* Cuts a line at its blanks, as a shell does. */
static void cut(const char *line)
{
    word_count = 0;
    options = (struct options){0};
    strcpy(line_text, line);
    for (char *word = strtok(line_text, " "); word != NULL; word = strtok(NULL, " "))
        words[word_count++] = word;
    words[word_count] = NULL;
    complain_silently();
}

static int parse(const char *line)
{
    cut(line);
    return arguments_read_all(&table, &options, word_count, words);
}

TEST(arguments_read_all__each_kind)
{
    ck_assert_int_eq(parse("x --flag --number 4K --rate 2.5G --seconds 0.5 --time 1.5ms --text t "
                           "--name blue --share 1%/0.5 --other y"),
                     0);
    ck_assert(options.flag);
    ck_assert_uint_eq(options.number, 4096);
    ck_assert_uint_eq(options.rate, 2500000000);
    ck_assert_int_eq(options.seconds, 500000000);
    ck_assert_int_eq(options.time, 1500000);
    ck_assert_str_eq(options.text, "t");
    ck_assert_uint_eq(options.name, 2);
    ck_assert_double_eq_tol(options.share[0], 0.01, 1e-9);
    ck_assert_double_eq_tol(options.share[1], 0.5, 1e-9);
    ck_assert_str_eq(options.other, "y");
}

TEST(arguments_read_all__short_and_joined)
{
    ck_assert_int_eq(parse("x -fn7 --time=0 --share=0.5"), 0);
    ck_assert(options.flag);
    ck_assert_uint_eq(options.number, 7);
    ck_assert_double_eq(options.share[0], options.share[1]);
    ck_assert_uint_eq(options.marks, 3);
}

TEST(arguments_read_all__a_value_may_be_left_out)
{
    ck_assert_int_eq(parse("x --other"), 0);
    ck_assert_str_eq(options.other, "none");
    ck_assert_int_eq(parse("x --other -f"), 0);
    ck_assert_str_eq(options.other, "none");
    ck_assert(options.flag);
    ck_assert_int_eq(parse("x -o -"), 0);
    ck_assert_str_eq(options.other, "-");
}

TEST(arguments_read__stops_at_the_first_other_word)
{
    char *argv[] = {(char[]){"x"}, (char[]){"-f"}, (char[]){"word"}, (char[]){"-n"}, NULL};
    int next = 0;

    options = (struct options){0};
    ck_assert_int_eq(arguments_read(&table, &options, 4, argv, &next), 0);
    ck_assert_int_eq(next, 2);
    ck_assert(options.flag);
}

TEST(arguments_read_all__help_and_version)
{
    ck_assert_int_eq(parse("x --flag --help"), 1);
    ck_assert_int_eq(parse("x --version"), 1);
    ck_assert_int_eq(arguments_status(1), 0);
    ck_assert_int_eq(parse("x --help --bogus"), -1);
    ck_assert_int_eq(arguments_status(-1), 2);
}

static const struct {
    const char *line, *left; /* NULL: a complaint */
} words_behind[] = {
    {"x", ""},
    {"x a b", "a b"},
    {"x -f a -", "a -"},
    {"x a --help", NULL},
    {"x a b -f", NULL},
    {"x a -- --help", "a --help"},
    {"x -- -a --", "-a --"},
    {"x a -- --", "a --"},
};

TEST(arguments_words__names_and_options, .rows = sizeof words_behind / sizeof *words_behind)
{
    const char *left = words_behind[_i].left;
    char found[TEXT_MOST] = "";
    int next = 0;

    cut(words_behind[_i].line);
    ck_assert_int_eq(arguments_read(&table, &options, word_count, words, &next), 0);
    int count = arguments_words(words, next);
    for (int i = 0; i < count; i++)
        snprintf(&found[strlen(found)], sizeof found - strlen(found), "%s%s", i > 0 ? " " : "",
                 words[next + i]);
    ck_assert_int_eq(count < 0, left == NULL);
    ck_assert_str_eq(found, left != NULL ? left : "");
}

static const struct {
    const char *line, *complaint;
} mistakes[] = {
    {"x --number 1", "--number: '1' is not a number from 2 to 4096"},
    {"x --number 5K", "--number: '5K' is not a number from 2 to 4096"},
    {"x --number x", "--number: 'x' is not"},
    {"x --number -3", "--number: '-3' is not"},
    {"x -n 1", "--number: '1' is not"},
    {"x --rate fast", "--rate: 'fast' is not a rate, as 64k, 155M or 2.5G"},
    {"x --rate 0", "--rate: '0' is not a rate"},
    {"x --seconds 0", "--seconds: '0' is not a number of seconds from 0.001 to 86400"},
    {"x --seconds 1x", "--seconds: '1x' is not"},
    {"x --seconds 1..2", "--seconds: '1..2' is not"},
    {"x --seconds nan", "--seconds: 'nan' is not"},
    {"x --time 5", "--time: '5' is not a time, as 50us, 1.5ms or 2s"},
    {"x --share 101%", "--share: '101%' is not a share, as 1% or 0.01"},
    {"x --share 0/x", "--share: '0/x' is not a share"},
    {"x --share 0/", "--share: '0/' is not a share"},
    {"x --name pink", "--name: 'pink' is not red, green or blue"},
    {"x --other bad", "--other: 'bad' is not what it should be"},
    {"x --bogus", "unknown option '--bogus'"},
    {"x -z", "unknown option '-z'"},
    {"x -fz", "unknown option '-fz'"},
    {"x -zf", "unknown option '-zf'"},
    {"x -f -zf", "unknown option '-zf'"},
    {"x --number", "--number needs a value"},
    {"x -n", "-n needs a value"},
    {"x word", "unexpected argument 'word'"},
};

TEST(arguments_read_all__mistakes, .rows = sizeof mistakes / sizeof *mistakes)
{
    ck_assert_int_eq(parse(mistakes[_i].line), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), mistakes[_i].complaint));
}
