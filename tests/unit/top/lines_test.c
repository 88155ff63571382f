#include "zcrp-top/lines.h"

#include "../../support/suite.h"

#include <math.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

static struct seen before[4], now[4];
static struct sample earlier, later;
static struct lines lines;

static struct seen entity(pid_t pid, uint64_t number, enum board_kind kind, const char *peer)
{
    struct seen seen = {.pid = pid, .number = number, .kind = kind, .made_ns = 1};

    strcpy(seen.peer, peer);
    strcpy(seen.program, "example");
    return seen;
}

/* Two processes, seen at 10 and 11 s; the first has a connection and one more sender. */
static void setup(void)
{
    now[0] = entity(1, 1, BOARD_RECEIVER, "a");
    now[1] = entity(1, 2, BOARD_SENDER, "a");
    now[2] = entity(1, 3, BOARD_SENDER, "b");
    now[3] = entity(2, 1, BOARD_SENDER, "a");
    for (int i = 0; i < 4; i++) {
        now[i].opened_ns = 4 * SECOND_NS;
        now[i].written_ns = 10 * SECOND_NS;
        before[i] = now[i];
        now[i].written_ns = 11 * SECOND_NS;
    }
    earlier = (struct sample){.at_ns = 10 * SECOND_NS, .seen = before, .count = 4, .processes = 2};
    later = (struct sample){.at_ns = 11 * SECOND_NS, .seen = now, .count = 4, .processes = 2};
}

static void teardown(void)
{
    lines_fini(&lines);
}

FIXTURE(setup, teardown)

static void make(bool wants_entities)
{
    ck_assert_int_eq(lines_make(&lines, &earlier, &later, wants_entities), 0);
}

static double bytes_of(size_t i, int64_t step_ns)
{
    return lines_rate(&before[i], &now[i], LINE_STAT_bytes_arrived, step_ns);
}

TEST(lines_stat_name__as_in_the_header)
{
    ck_assert_str_eq(lines_stat_name(0), "messages");
    ck_assert_str_eq(lines_stat_name(LINE_STAT_bytes_arrived), "bytes_arrived");
    ck_assert_str_eq(lines_stat_name(BOARD_STATS - 1), "moves");
}

/* ---- rates ---- */

TEST(lines_rate__between_the_writings)
{
    before[0].stats[LINE_STAT_bytes_arrived] = 1000;
    now[0].stats[LINE_STAT_bytes_arrived] = 3000;
    ck_assert_double_eq(bytes_of(0, SECOND_NS), 2000);
    now[0].written_ns -= SECOND_NS / 5;
    ck_assert_double_eq_tol(bytes_of(0, SECOND_NS), 2500, 1e-6);
}

/* One that was quiet for an hour had its bytes in the last second. */
TEST(lines_rate__after_a_pause)
{
    before[0].written_ns = now[0].written_ns - 3600 * SECOND_NS;
    now[0].stats[LINE_STAT_bytes_arrived] = 3000;
    ck_assert_double_eq(bytes_of(0, SECOND_NS), 3000);
    now[0].written_ns = before[0].written_ns;
    ck_assert_double_eq(bytes_of(0, SECOND_NS), 3000);
}

TEST(lines_rate__since_it_was_opened)
{
    now[0].stats[LINE_STAT_bytes_arrived] = 700;
    ck_assert_double_eq(lines_rate(NULL, &now[0], LINE_STAT_bytes_arrived, SECOND_NS), 100);
    now[0].opened_ns = now[0].written_ns;
    ck_assert_double_eq(lines_rate(NULL, &now[0], LINE_STAT_bytes_arrived, SECOND_NS), 0);
}

TEST(lines_rate__never_negative)
{
    before[0].stats[LINE_STAT_bytes_arrived] = UINT64_MAX;
    now[0].stats[LINE_STAT_bytes_arrived] = 5;
    ck_assert_double_eq(bytes_of(0, SECOND_NS), 0);
    before[0].stats[LINE_STAT_bytes_arrived] = 0;
    now[0].written_ns = 0;
    ck_assert_double_eq(bytes_of(0, 0), 0);
}

/* ---- lines ---- */

TEST(lines_make__a_peer_of_a_process)
{
    for (size_t i = 0; i < 4; i++)
        now[i].stats[LINE_STAT_bytes_arrived] = 1000 * (i + 1);
    now[1].stats[LINE_STAT_units] = 200;
    now[1].stats[LINE_STAT_units_repeated] = 2;
    now[0].stats[LINE_STAT_units] = 50;
    now[1].stats[LINE_STAT_rtt_smoothed_ns] = 40000000;
    now[0].stats[LINE_STAT_drop_short] = 1;
    now[1].stats[LINE_STAT_drop_replayed] = 2;
    now[1].stats[LINE_STAT_messages_failed] = 3;
    now[0].stats[LINE_STAT_messages] = 10;
    now[0].flags = now[1].flags = BOARD_KEYS;
    make(false);
    ck_assert_uint_eq(lines.count, 3);
    ck_assert_int_eq(lines.line[0].first->pid, 2); /* the fastest: 4000 */
    ck_assert_double_eq(lines.line[1].out_bytes + lines.line[1].in_bytes, 3000);
    const struct line *both =
        strcmp(lines.line[1].first->peer, "a") == 0 ? &lines.line[1] : &lines.line[2];
    ck_assert_uint_eq(both->entities, 2);
    ck_assert_uint_eq(both->ways, LINE_IN | LINE_OUT);
    ck_assert_double_eq(both->in_bytes, 1000);
    ck_assert_double_eq(both->out_bytes, 2000);
    ck_assert_double_eq(both->units, 250);
    ck_assert_double_eq(both->units_out, 200);
    ck_assert_double_eq(both->units_again, 2);
    ck_assert_double_eq(both->round_trip_ns, 40e6);
    ck_assert_double_eq(both->dropped, 3);
    ck_assert_double_eq(both->failed, 3);
    ck_assert_double_eq(both->messages, 10);
    ck_assert_double_eq(both->total_bytes, 3000);
    ck_assert_double_eq(both->age_s, 7);
    ck_assert(both->has_keys);
    ck_assert(!both->is_mixed);
    ck_assert(!lines.line[0].has_keys);
    ck_assert_double_eq(lines.out_bytes, 9000);
    ck_assert_double_eq(lines.in_bytes, 1000);
}

TEST(lines_make__entities_by_rate)
{
    static const uint64_t bytes[] = {20, 40, 10, 30};
    static const uint64_t order[] = {40, 30, 20, 10};

    for (size_t i = 0; i < 4; i++)
        now[i].stats[LINE_STAT_bytes_arrived] = bytes[i];
    make(true);
    ck_assert_uint_eq(lines.count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq(lines.line[i].out_bytes + lines.line[i].in_bytes, (double)order[i]);
}

/* Lines that are equally fast keep their places. */
TEST(lines_make__ties)
{
    make(true);
    for (size_t i = 0; i < 4; i++)
        ck_assert_ptr_eq(lines.line[i].first, &now[i]);
}

TEST(lines_make__some_keys_and_channels)
{
    now[0].flags = BOARD_KEYS;
    now[0].channel = BOARD_MEMORY;
    make(false);
    ck_assert(!lines.line[0].has_keys);
    ck_assert(lines.line[0].is_mixed);
}

/* The number of another entity, or another board: it is a new one. */
TEST(lines_make__new_entity)
{
    before[3].stats[LINE_STAT_bytes_arrived] = 690;
    now[3].stats[LINE_STAT_bytes_arrived] = 700;
    make(true);
    ck_assert_double_eq(lines.line[0].out_bytes, 10);
    lines_fini(&lines);
    now[3].made_ns = 2;
    make(true);
    ck_assert_double_eq(lines.line[0].out_bytes, 100);
}

TEST(lines_make__nothing)
{
    later = (struct sample){.at_ns = 1};
    make(false);
    ck_assert_uint_eq(lines.count, 0);
    ck_assert_double_eq(lines.out_bytes, 0);
}
