/* Runs of small messages and rows of units, step by step: what they take, and what they leave to be
 * read in full. That saves time and changes no result, so only here is it seen. */
#include "core/receiver/receiver_land.h"
#include "receiver_rig.h"

#include "../../support/suite.h"

enum { SMALL = 40, OPENINGS = 4 };

static uint8_t *memory;
static struct landing_walk walk;
static struct landing_run run;
static struct landing_row row;
static struct unit_trailer trailer; /* of the unit that was read last */
static struct segment segment;

static void setup(void)
{
    receiver_rig_init();
    memory = malloc(landing_memory(OPENINGS));
    landing_init(&rig.landing, memory, OPENINGS);
    walk = (struct landing_walk){.opening = 0};
    run = (struct landing_run){.length = 0};
    row = (struct landing_row){.bytes = 0};
}

static void teardown(void)
{
    receiver_rig_fini();
    free(memory);
}

FIXTURE(setup, teardown)

/* What was put together lands in the next opening. */
static void fill(void)
{
    scatter(&rig.landing, rig.wire, rig.bytes, rig.segment);
    rig.bytes = 0;
}

static struct arrival read_next(void)
{
    ck_assert(landing_next(&rig.landing, &walk, &segment));
    ck_assert_int_eq(unit_trailer_decode(segment.tail, segment.bytes, &trailer), VERDICT_OK);
    return receiver_arrival(rig.r, &segment, &trailer);
}

/* All has been read by the test. */
static void finish(void)
{
    landing_move_all(&rig.landing);
    rig.landing.received = 0;
    receiver_rig_landed();
}

/* Message `n`, under this number, in a stream of messages of `length` bytes. */
static void put_message(uint32_t seq, uint32_t n, uint16_t length, bool asks)
{
    struct unit_trailer t = receiver_rig_last(seq, n, 0, length);
    t.flags |= FLAG_HAS_NEXT | (asks ? FLAG_ANSWER : 0);
    t.next_step = 1;
    t.next_length = length;
    receiver_rig_put_unit(&t);
}

static void put_messages(uint32_t first, uint32_t last, uint16_t length)
{
    for (uint32_t n = first; n < last; n++)
        put_message(n, n, length, false);
}

/* The next message is read in full, and a run begins behind it. */
static bool open_run(void)
{
    struct arrival a = read_next();
    bool is_accepted = receiver_enter(rig.r, rig.now, &rig.landing, &a);
    if (is_accepted)
        receiver_run_open(rig.r, &run, &a);
    return is_accepted;
}

static uint32_t run_on(void)
{
    return receiver_run_on(rig.r, &run, &rig.landing, &walk);
}

static void expect_messages(uint32_t first, uint32_t last, uint64_t length)
{
    for (uint32_t n = first; n < last; n++)
        receiver_rig_expect_message(n, length);
    receiver_rig_expect_no_event();
}

/* ---- runs ---- */

static const uint16_t lengths[] = {1, SMALL, RIG_DATA};

TEST(run__takes_all_that_follows, .rows = ROWS(lengths))
{
    uint16_t length = lengths[_i];
    receiver_rig_start(6, length);
    receiver_rig_plan();
    put_messages(0, 6, length);
    fill();
    ck_assert(open_run());
    ck_assert_uint_eq(run_on(), 5u * (length + (uint32_t)TRAILER_BYTES));
    ck_assert_uint_eq(run_on(), 0);
    receiver_run_close(rig.r, rig.now, &run);
    ck_assert_uint_eq(run_on(), 0); /* it is closed */
    finish();
    expect_messages(0, 6, length);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, 6);
    receiver_rig_wait(MILLISECOND);
    receiver_rig_expect("+ 0 6");
}

/* Each in an opening of its own; and none when it is closed. */
TEST(run__takes_one_by_one, .rows = ROWS(lengths))
{
    receiver_rig_start(OPENINGS, lengths[_i]);
    receiver_plan(rig.r, &rig.landing, OPENINGS, 1);
    for (uint32_t n = 0; n < OPENINGS; n++) {
        put_message(n, n, lengths[_i], false);
        fill();
    }
    ck_assert(open_run());
    for (uint32_t n = 1; n < OPENINGS; n++) {
        ck_assert(landing_next(&rig.landing, &walk, &segment));
        ck_assert_int_eq(receiver_run_take(rig.r, &run, &segment), n + 1 < OPENINGS);
        if (n + 2 == OPENINGS)
            receiver_run_close(rig.r, rig.now, &run);
    }
    finish();
    expect_messages(0, OPENINGS - 1, lengths[_i]);
}

/* The message at the base of the table is the first that the run takes. */
TEST(run__behind_a_message_that_is_over)
{
    receiver_rig_start(3, SMALL);
    put_message(0, 0, SMALL, false);
    receiver_rig_land();
    expect_messages(0, 1, SMALL);
    receiver_rig_plan();
    put_message(1, 0, SMALL, false); /* again, under another number */
    put_message(2, 1, SMALL, false);
    put_message(3, 2, SMALL, false);
    fill();
    struct arrival a = read_next();
    ck_assert(receiver_enter(rig.r, rig.now, &rig.landing, &a));
    receiver_run_open(rig.r, &run, &a);
    struct segment next = {.bytes = SMALL + TRAILER_BYTES,
                           .data = rig.buffer[1],
                           .is_contiguous = true,
                           .is_as_planned = true};
    (void)read_next();
    memcpy(next.tail, segment.tail, TRAILER_BYTES);
    ck_assert(receiver_run_take(rig.r, &run, &next));
    receiver_run_close(rig.r, rig.now, &run);
    finish();
}

/* It is no unit: it is longer than its trailer says. Or its data lie elsewhere, or the trailer
 * does, or only the data's first piece lies there.
 */
TEST(run__does_not_take_what_is_not_as_planned, .rows = 5)
{
    receiver_rig_start(2, SMALL);
    receiver_rig_plan();
    put_messages(0, 2, SMALL);
    fill();
    ck_assert(open_run());
    ck_assert(landing_next(&rig.landing, &walk, &segment));
    segment.bytes += _i == 0;
    segment.bytes -= _i == 1;
    segment.data += _i == 2;
    segment.is_as_planned = _i != 3;
    segment.is_contiguous = _i != 4;
    ck_assert(!receiver_run_take(rig.r, &run, &segment));
    receiver_run_close(rig.r, rig.now, &run);
    finish();
    expect_messages(0, 1, SMALL);
}

/* What is not accepted is nothing to go on behind. */
TEST(run__not_behind_what_counts_as_never_received)
{
    receiver_rig_start(2, SMALL);
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_plan();
    put_messages(0, 2, SMALL);
    fill();
    ck_assert(!open_run());
    finish();
    receiver_rig_expect_end(OUTCOME_CANCELLED);
}

/* Where two runs are in one landing each mark counts once. */
TEST(run__marks_of_two, .rows = 2)
{
    receiver_rig_start(8, SMALL);
    receiver_rig_plan();
    put_messages(0, 4, SMALL);
    put_message(4, 4, SMALL, true); /* it is read in full */
    put_messages(5, 8, SMALL);
    fill();
    rig.landing.ecn[0] = _i == 0 ? LANDING_ECN_CONGESTED : 1;
    receiver_rig_landed();
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, _i == 0 ? 8 : 0);
    expect_messages(0, 8, SMALL);
}

/* Of openings with a message each, some have met congestion. */
TEST(run__marks_of_openings)
{
    receiver_rig_start(OPENINGS, SMALL);
    receiver_plan(rig.r, &rig.landing, OPENINGS, 1);
    for (uint32_t n = 0; n < OPENINGS; n++) {
        put_message(n, n, SMALL, false);
        fill();
        rig.landing.ecn[n] = n == 1 || n == 3 ? LANDING_ECN_CONGESTED : 2;
    }
    receiver_rig_landed();
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, 2);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, OPENINGS);
    ck_assert_uint_eq(receiver_counters(rig.r)->drop_duplicate, 0);
    expect_messages(0, OPENINGS, SMALL);
}

/* What comes behind a run lands in place, too: it says what comes next. */
TEST(run__foretells)
{
    receiver_rig_start(8, SMALL);
    for (uint32_t n = 0; n < 8; n += 4) {
        put_messages(n, n + 4, SMALL);
        receiver_rig_land();
    }
    ck_assert_uint_eq(receiver_counters(rig.r)->in_place, 8);
    expect_messages(0, 8, SMALL);
}

/* The message that it begins behind asks for an answer; the newest does not. */
TEST(run__behind_one_that_asks)
{
    receiver_rig_start(4, SMALL);
    put_message(0, 0, SMALL, true);
    put_messages(1, 3, SMALL);
    receiver_rig_land();
    ck_assert_uint_eq(receiver_expected(rig.r), SMALL);
    receiver_rig_expect("+ 0 3");
}

/* Its messages fill their buffers, so one in a larger buffer is taken to go on behind what is
 * foretold of it. */
TEST(run__says_how_long_messages_are)
{
    enum { LARGE = 2 * RIG_DATA };
    for (int i = 0; i < 6; i++)
        receiver_rig_post(i < 2 || i > 3 ? LARGE : SMALL);
    receiver_rig_bind("request 0*2=128 2*2=40 4*2=128");
    put_message(0, 0, SMALL, false);
    receiver_rig_land();
    put_messages(1, 4, SMALL);
    receiver_rig_land();
    expect_messages(0, 4, SMALL);
    receiver_plan(rig.r, &rig.landing, 2, 16);
    ck_assert_ptr_eq(rig.landing.iov[0].iov_base, rig.buffer[4]);
    ck_assert_ptr_eq(rig.landing.iov[rig.landing.first[1]].iov_base, rig.buffer[4] + SMALL);
    finish();
}

/* Behind a loss a run of units that land in place brings openings back. */
TEST(run__is_steady)
{
    receiver_rig_start(40, SMALL);
    put_message(1, 1, SMALL, false); /* where message 0 is planned */
    receiver_rig_land();
    receiver_plan(rig.r, &rig.landing, OPENINGS, 64);
    ck_assert_uint_eq(rig.landing.openings, 1);
    put_messages(2, 34, SMALL);
    fill();
    receiver_rig_landed();
    receiver_plan(rig.r, &rig.landing, OPENINGS, 64);
    ck_assert_uint_eq(rig.landing.openings, 3);
    finish();
}

/* ---- rows ---- */

static void put_units(uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        struct unit_trailer t = receiver_rig_unit(i, 0, i * RIG_DATA);
        receiver_rig_put_unit(&t);
    }
}

/* A row leaves the unit that fills what is missing, or more, to be read in full. */
static const struct {
    uint32_t size; /* of the buffer */
    uint32_t most; /* units in a row */
} ends[] = {
    {6 * RIG_DATA, 5}, {5 * RIG_DATA + 1, 5}, {5 * RIG_DATA + RIG_DATA - 1, 5},
    {5 * RIG_DATA, 4}, {2 * RIG_DATA, 1},     {RIG_DATA + 1, 1},
};

TEST(row__takes_all_but_the_last, .rows = ROWS(ends))
{
    receiver_rig_start(1, ends[_i].size);
    receiver_rig_plan();
    put_units(0, 6);
    fill();
    struct arrival a = read_next();
    ck_assert(receiver_row_open(rig.r, &row, &a));
    for (uint32_t i = 1; i < ends[_i].most; i++) {
        ck_assert(landing_next(&rig.landing, &walk, &segment));
        ck_assert(receiver_row_take(&row, &segment));
    }
    ck_assert(landing_next(&rig.landing, &walk, &segment));
    segment.is_as_planned = true;
    segment.data = row.place;
    ck_assert(!receiver_row_take(&row, &segment));
    receiver_row_close(rig.r, rig.now, &rig.landing, &row);
    ck_assert(!receiver_row_take(&row, &segment)); /* it is closed */
    finish();
    ck_assert_uint_eq(receiver_counters(rig.r)->units, ends[_i].most);
    ck_assert_uint_eq(receiver_counters(rig.r)->bytes, ends[_i].most * RIG_DATA);
}

/* Over AAL5 a unit may have come in pieces, of which only the first lies in its slot: the others
 * have to be moved. */
TEST(row__not_of_pieces_from_elsewhere, .rows = 2)
{
    receiver_rig_start(1, RIG_BUFFER);
    receiver_rig_plan();
    put_units(0, 3);
    fill();
    struct arrival a = read_next();
    struct segment first = *a.segment;
    first.is_contiguous = _i != 0;
    a.segment = &first;
    ck_assert_int_eq(receiver_row_open(rig.r, &row, &a), _i != 0);
    ck_assert(landing_next(&rig.landing, &walk, &segment));
    segment.is_contiguous = false;
    ck_assert(_i == 0 || !receiver_row_take(&row, &segment));
    receiver_row_close(rig.r, rig.now, &rig.landing, &row);
    finish();
}

/* A buffer's only unit is no row. */
TEST(row__not_of_one_that_fills_the_buffer)
{
    receiver_rig_start(1, RIG_DATA);
    receiver_rig_plan();
    put_units(0, 1);
    fill();
    struct arrival a = read_next();
    ck_assert(!receiver_row_open(rig.r, &row, &a));
    finish();
}

TEST(row__marks, .rows = 2)
{
    receiver_rig_start(1, RIG_BUFFER);
    receiver_rig_plan();
    put_units(0, 5);
    fill();
    rig.landing.ecn[0] = _i == 0 ? LANDING_ECN_CONGESTED : 2;
    receiver_rig_landed();
    ck_assert_uint_eq(receiver_counters(rig.r)->marks, _i == 0 ? 5 : 0);
    ck_assert_uint_eq(receiver_counters(rig.r)->units, 5);
}

/* A sender that names one number twice: what comes behind is acknowledged under its own. */
TEST(row__behind_a_number_that_comes_twice)
{
    receiver_rig_start(1, RIG_BUFFER);
    put_units(0, 1);
    receiver_rig_land();
    for (uint32_t i = 1; i < 5; i++) {
        struct unit_trailer t = receiver_rig_unit(i - 1, 0, i * RIG_DATA);
        receiver_rig_put_unit(&t);
    }
    receiver_rig_land();
    rig.now += MILLISECOND;
    receiver_rig_expect("+ 0 4");
}
