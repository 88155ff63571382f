/* When an entity's row on a board is written. */
/* wrap: clock_now board_take board_write machine_add_stats ways_add_stats keyed_add_stats */
/* wrap: peer_move_add_stats channels_add_stats */
#include "link/entity.h"

#include "../support/mock.h"
#include "statsfile/board.h"

enum { PLACE = 3, ENTITY = 77 };

static struct zcrp_entity entity;
static struct transport transport;
static struct channel channel;
static instant now;
static int rows;
static struct board_row row; /* the last */

/* ---- what notice.c calls ---- */

instant __wrap_clock_now(void)
{
    return now;
}

int __wrap_board_take(const char *where, uint64_t *number)
{
    assert_string_equal(where, "/somewhere");
    *number = ENTITY;
    return PLACE;
}

void __wrap_board_write(int place, const struct board_row *written)
{
    assert_int_equal(place, PLACE);
    rows++;
    row = *written;
}

void __wrap_machine_add_stats(const struct machine *m, struct zcrp_stats *stats)
{
    (void)m;
    stats->units = 5;
}

void __wrap_ways_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    (void)e;
    (void)stats;
}

void __wrap_keyed_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    (void)e;
    (void)stats;
}

void __wrap_peer_move_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    (void)e;
    (void)stats;
}

void __wrap_channels_add_stats(const struct channels *c, struct zcrp_stats *stats)
{
    (void)c;
    (void)stats;
}

/* ---- the entity ---- */

static void begin(void)
{
    (void)unsetenv("ZCRP_STATS");
    rows = 0;
    now = 10 * NOTICE_EVERY + 5;
    entity = (struct zcrp_entity){.transport = &transport,
                                  .options.stats_directory = "/somewhere",
                                  .machine.role = MACHINE_RECEIVER,
                                  .messages = 2,
                                  .failures = 1};
    entity.channels.in = entity.channels.out = &channel;
    notice_init(&entity);
}

FIXTURE(begin, NULL)

TEST(notice_init__writes_the_first_row)
{
    assert_int_equal(rows, 1);
    assert_int_equal(row.entity, ENTITY);
    assert_int_equal(row.kind, BOARD_RECEIVER);
    assert_int_equal(row.opened_ns, now);
    assert_int_equal(row.written_ns, now);
    assert_true(entity.notice.due == NEVER); /* nothing has changed since */
}

/* A change is written when the clock next shows a multiple, and then not before the next change. */
TEST(notice_tend__once_in_a_while)
{
    for (int round = 11; round < 14; round++) {
        notice_tend(&entity);
        assert_int_equal(entity.notice.due, round * NOTICE_EVERY);
        now = entity.notice.due - 1;
        notice_tend(&entity); /* more has changed */
        notice_expire(&entity, now);
        assert_int_equal(entity.notice.due, round * NOTICE_EVERY);
        now++;
        notice_expire(&entity, now);
        notice_tend(&entity);
        assert_int_equal(rows, round - 9);
        assert_int_equal(row.written_ns, now);
        assert_true(entity.notice.due == NEVER);
        now += 5;
    }
    notice_expire(&entity, now);
    assert_true(entity.notice.due == NEVER);
}

TEST(notice_init__nobody_wants_it)
{
    (void)setenv("ZCRP_STATS", "0", 1); /* the environment overrules the program */
    entity.options.stats_directory = "/somewhere";
    notice_init(&entity);
    assert_int_equal(entity.notice.place, BOARD_NONE);
    assert_int_equal(rows, 1);
}
