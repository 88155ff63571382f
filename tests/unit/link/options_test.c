#include "zcrp-link/options.h"

#include "../../support/suite.h"
#include "common/complain.h"
#include "common/environment.h"

#include <math.h>
#include <string.h>

enum { WORDS_MOST = 32, TEXT_MOST = 256 };

static char text[TEXT_MOST];
static char *words[WORDS_MOST];
static struct options options;

/* Parses a line, as a shell would cut it at its blanks. */
static int parse(const char *line)
{
    int count = 0;
    strcpy(text, line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    words[count] = NULL;
    complain_silently();
    return options_parse(&options, count, words);
}

TEST(options_parse__defaults)
{
    ck_assert_int_eq(parse("link -- a -- b"), 0);
    ck_assert_uint_eq(options.mtu, 1500);
    ck_assert_int_eq(options.wait, SECOND);
    ck_assert_int_eq(options.core, PIN_NONE);
    for (int end = 0; end < ENDS; end++) {
        ck_assert_uint_eq(options.conditions[end].rate, 0);
        ck_assert_int_eq(options.conditions[end].queue_unit, QUEUE_TIME);
        ck_assert_double_eq(options.conditions[end].queue, 50e6);
    }
}

TEST(options_parse__both_ways_and_each)
{
    const struct conditions *c = options.conditions;
    ck_assert_int_eq(parse("link --rate 250M/3M --delay 2ms --loss 1%/0 --queue 64K/10p "
                           "--jitter=1us/2us -- a -- b"),
                     0);
    ck_assert_uint_eq(c[END_A].rate, 250000000);
    ck_assert_uint_eq(c[END_B].rate, 3000000);
    ck_assert_int_eq(c[END_A].delay, 2 * MILLISECOND);
    ck_assert_int_eq(c[END_B].delay, 2 * MILLISECOND);
    ck_assert_double_eq_tol(c[END_A].loss, 0.01, 1e-9);
    ck_assert_double_eq(c[END_B].loss, 0);
    ck_assert_int_eq(c[END_A].queue_unit, QUEUE_BYTES);
    ck_assert_double_eq(c[END_A].queue, 65536);
    ck_assert_int_eq(c[END_B].queue_unit, QUEUE_PACKETS);
    ck_assert_double_eq(c[END_B].queue, 10);
    ck_assert_int_eq(c[END_B].jitter, 2 * MICROSECOND);
}

TEST(options_parse__the_rest)
{
    const struct conditions *c = options.conditions;
    ck_assert_int_eq(
        parse("link --loss 1%/0 --burst 4 --reorder 2% --reorder-by 63 --duplicate 0.5 "
              "--corrupt 100% --port 7000 -- a -- b"),
        0);
    ck_assert_double_eq(c[END_A].burst, 4);
    ck_assert_uint_eq(c[END_A].reorder_by, 63);
    ck_assert_double_eq(c[END_B].duplicate, 0.5);
    ck_assert_double_eq(c[END_B].corrupt, 1);
    ck_assert_uint_eq(options.port, 7000);
    ck_assert_int_eq(parse("link --mtu 9180 --seed 0 --wait 2s --linger 0 --pin 1 --spin --quiet "
                           "--json x -- a -- b"),
                     0);
    ck_assert_uint_eq(options.mtu, 9180);
    ck_assert_uint_eq(options.seed, 0);
    ck_assert_int_eq(options.wait, 2 * SECOND);
    ck_assert_int_eq(options.linger, 0);
    ck_assert_int_eq(options.core, 1);
    ck_assert(options.is_spinning && options.is_quiet);
    ck_assert_str_eq(options.json, "x");
}

TEST(options_parse__two_commands)
{
    ck_assert_int_eq(parse("link -- a --rate x -- b -c -- d"), 0);
    ck_assert_str_eq(options.command[END_A][0], "a");
    ck_assert_str_eq(options.command[END_A][2], "x");
    ck_assert_ptr_null(options.command[END_A][3]);
    ck_assert_str_eq(options.command[END_B][0], "b");
    ck_assert_str_eq(options.command[END_B][3], "d");
    ck_assert_ptr_null(options.command[END_B][4]);
}

TEST(options_parse__help_needs_no_commands)
{
    ck_assert_int_eq(parse("link --help"), 1);
}

static const struct {
    const char *line, *complaint;
} mistakes[] = {
    {"link", "two commands"},
    {"link a b", "two commands"},
    {"link -- a", "two commands"},
    {"link -- a --", "two commands"},
    {"link -- -- b", "two commands"},
    {"link --rate 5x -- a -- b", "--rate: '5x'"},
    {"link --rate 5M/ -- a -- b", "--rate: '5M/'"},
    {"link --rate /5M -- a -- b", "--rate: '/5M'"},
    {"link --delay 5 -- a -- b", "--delay: '5'"},
    {"link --jitter x -- a -- b", "--jitter"},
    {"link --queue 5x -- a -- b", "--queue"},
    {"link --queue p -- a -- b", "--queue"},
    {"link --queue -5p -- a -- b", "--queue: '-5p'"},
    {"link --seed 18446744073709551616 -- a -- b", "--seed"},
    {"link --loss 101% -- a -- b", "--loss"},
    {"link --loss 0.6 --burst 1 -- a -- b", "rows of 1"},
    {"link --burst 0.5 -- a -- b", "--burst"},
    {"link --burst x -- a -- b", "--burst"},
    {"link --burst 4 -- a -- b", "needs --loss"},
    {"link --burst 0/4 --loss 0 -- a -- b", "needs --loss"},
    {"link --reorder-by 3 -- a -- b", "needs --reorder"},
    {"link --reorder 2 -- a -- b", "--reorder"},
    {"link --reorder-by 64 -- a -- b", "--reorder-by"},
    {"link --reorder-by 0 -- a -- b", "--reorder-by"},
    {"link --duplicate -1 -- a -- b", "--duplicate"},
    {"link --corrupt x -- a -- b", "--corrupt"},
    {"link --mtu 575 -- a -- b", "from 576 to 65535"},
    {"link --mtu 65536 -- a -- b", "from 576 to 65535"},
    {"link --mtu -1 -- a -- b", "from 576 to 65535"},
    {"link --port 0 -- a -- b", "--port"},
    {"link --seed x -- a -- b", "--seed"},
    {"link --pin x -- a -- b", "--pin"},
    {"link --wait 1 -- a -- b", "--wait: '1' is not a time"},
    {"link --linger x -- a -- b", "--linger"},
    {"link --lose 1% -- a -- b", "unknown option '--lose'"},
    {"link --loss", "--loss needs a value"},
};

TEST(options_parse__mistakes, .rows = sizeof mistakes / sizeof *mistakes)
{
    ck_assert_int_eq(parse(mistakes[_i].line), -1);
    ck_assert_ptr_nonnull(strstr(complain_last(), mistakes[_i].complaint));
}
