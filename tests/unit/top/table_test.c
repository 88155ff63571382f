#include "zcrp-top/table.h"

#include "../../support/suite.h"

#include <string.h>

static struct seen now[30];
static struct sample none, later;
static char text[100000];

static void setup(void)
{
    memset(now, 0, sizeof now);
    for (int i = 0; i < 30; i++) {
        now[i] = (struct seen){.pid = 1000000 + i,
                               .number = 1,
                               .kind = BOARD_SENDER,
                               .channel = (uint32_t)i,
                               .opened_ns = 1,
                               .written_ns = 2000000001,
                               .program = "example",
                               .peer = "[2001:db8::1234]:7000"};
        now[i].stats[LINE_STAT_bytes_arrived] = 1000000000 - (uint64_t)i;
        now[i].stats[LINE_STAT_rtt_smoothed_ns] = 40000000;
    }
    later = (struct sample){.at_ns = 2000000001, .seen = now, .count = 30, .processes = 30};
}

FIXTURE(setup, NULL)

/* The table, in `text`. */
static void draw(size_t width, size_t rows)
{
    struct table_shape shape = {.width = width, .rows = rows, .end = "\n"};
    FILE *out = fmemopen(text, sizeof text, "w");
    struct lines lines;

    ck_assert_int_eq(lines_make(&lines, &none, &later, false), 0);
    table_write(out, &shape, &later, &lines);
    fclose(out);
    lines_fini(&lines);
}

static size_t longest_line(void)
{
    size_t longest = 0, length = 0;

    for (const char *at = text; *at != '\0'; at++) {
        length = *at == '\n' ? 0 : length + 1;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static size_t count_lines(void)
{
    size_t count = 0;

    for (const char *at = text; *at != '\0'; at++)
        count += *at == '\n';
    return count;
}

TEST(table_write__all_columns)
{
    later.count = later.processes = 1;
    draw(TABLE_WIDTH_MOST, SIZE_MAX);
    ck_assert_ptr_nonnull(strstr(text, " 1 process, 1 entity   out 500MB/s   in 0B/s\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "    PID  PROGRAM  PEER                   WAY  CHANNEL  KEYS"));
    ck_assert_ptr_nonnull(
        strstr(text, "1000000  example  [2001:db8::1234]:7000  out  udp      no       500M"));
    ck_assert_ptr_nonnull(strstr(text, " 40ms "));
    ck_assert_uint_eq(count_lines(), 4);
}

TEST(table_write__fits_any_width)
{
    for (size_t width = TABLE_WIDTH_LEAST; width <= 300; width++) {
        draw(width, SIZE_MAX);
        ck_assert_uint_le(longest_line(), width);
        ck_assert_uint_eq(count_lines(), 33);
        ck_assert_ptr_nonnull(strstr(text, "PEER"));
    }
    draw(80, SIZE_MAX);
    ck_assert_ptr_nonnull(strstr(text, "OUT B/s"));
    ck_assert_ptr_null(strstr(text, "TOTAL"));
}

TEST(table_write__fits_any_height)
{
    for (size_t rows = 4; rows < 50; rows++) {
        draw(80, rows);
        ck_assert_uint_eq(count_lines(), rows < 33 ? rows : 33);
    }
    ck_assert_ptr_nonnull(strstr(text, "1000029"));
}

TEST(table_write__largest_figures)
{
    for (int i = 0; i < 30; i++)
        memset(now[i].stats, 0xFF, sizeof now[i].stats);
    later.left_out = UINT64_MAX;
    draw(TABLE_WIDTH_MOST, SIZE_MAX);
    ck_assert_ptr_nonnull(strstr(text, "18446744073709551615 more not shown\n"));
    ck_assert_uint_eq(count_lines(), 33);
}

TEST(table_write__channels)
{
    static const char *const names[] = {" udp ", " aal5 ", " memory ", " unix ", " ? "};

    draw(TABLE_WIDTH_MOST, SIZE_MAX);
    for (int i = 0; i < ROWS(names); i++)
        ck_assert_ptr_nonnull(strstr(text, names[i]));
}

TEST(table_explain__says_how)
{
    const struct folders folders = {.where = {"/no/such/folder"}, .count = 1};
    struct table_shape shape = {.width = 60, .end = "\n"};
    FILE *out = fmemopen(text, sizeof text, "w");

    table_explain(out, &shape, &folders);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "No program offers statistics in /no/such/folder.\n"));
    ck_assert_ptr_nonnull(strstr(text, "ZCRP_STATS=1"));
    ck_assert_uint_le(longest_line(), 60);
}

TEST(table_write_json__escapes)
{
    FILE *out = fmemopen(text, sizeof text, "w");

    later.count = 1;
    strcpy(now[0].peer, "a\"b\\c");
    now[0].flags = BOARD_KEYS;
    now[0].stats[LINE_STAT_units] = 77;
    table_write_json(out, &none, &later);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "\"peer\": \"a\\\"b\\\\c\""));
    ck_assert_ptr_nonnull(strstr(text, "\"keys\": true"));
    ck_assert_ptr_nonnull(strstr(text, "\"bytes_per_s\": 5e+08"));
    ck_assert_ptr_nonnull(strstr(text, "\"units\": 77"));
    ck_assert_uint_eq(count_lines(), 1);
}
