#include "core/sender/flow.h"

#include "../../support/suite.h"
#include "../../support/tables.h"
#include "core/sender/sender_path.h"

enum { UNIT = 1024, WINDOW = 64 * UNIT };

static struct delivery_note notes[DELIVERY_NOTES];
static struct flow f;

static void setup(void)
{
    const struct flow_config config = {.congestion = CONGESTION_NONE,
                                       .unit = UNIT,
                                       .window = WINDOW,
                                       .seed = 1,
                                       .notes = TABLE_OF(notes)};
    flow_init(&f, &config, 0);
}

FIXTURE(setup, NULL)

TEST(window__is_the_least_of_both)
{
    ck_assert_uint_eq(flow_window(&f), WINDOW);
    f.capacity = 1000;
    ck_assert_uint_eq(flow_window(&f), 1000);
}

/* BBR knows the lowest round trip of late, and the path holds what that one says. */
TEST(room__of_a_path_that_got_longer)
{
    f.congestion.kind = CONGESTION_BBR;
    f.congestion.bbr.lowest = SECOND;
    f.pacing.rate = 1;
    f.capacity = 1000;
    f.delivery.fastest = 1000000;
    f.rtt.lowest = 10 * MILLISECOND;
    ck_assert_uint_ge(flow_room(&f), 1000 + 2 * 1000000);
}

/* On a short path a burst waits until a part of the window is free. */
TEST(has_room__truth_table)
{
    static const struct {
        bool has_sample, is_paced;
        uint32_t credit;
        uint64_t in_transit;
        bool has_room;
    } row[] = {
        {false, false, 0, WINDOW - 1, true}, /* nothing is known of the path */
        {true, false, 0, 0, true},
        {true, false, 0, WINDOW - WINDOW / 4, true},
        {true, false, 0, WINDOW - WINDOW / 4 + 1, false},
        {true, false, 0, 2 * WINDOW, false},
        {true, false, 1, 2 * WINDOW, true},
        {true, true, 0, WINDOW, true},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        f.rtt.has_sample = row[i].has_sample;
        f.pacing.rate = row[i].is_paced;
        f.credit = row[i].credit;
        ck_assert_int_eq(flow_has_room(&f, WINDOW, row[i].in_transit, WINDOW), row[i].has_room);
    }
}

/* The path looks no slower than it is while there is too little to send. */
TEST(on_limit__only_the_application_limits_the_samples)
{
    static const struct {
        bool is_full, is_open, is_sample_limited;
    } row[] = {
        {true, false, false}, {false, true, false}, {true, true, false}, {false, false, true}};
    for (int i = 0; i < ROWS(row); i++) {
        flow_on_limit(&f, row[i].is_full, row[i].is_open, UNIT);
        ck_assert_int_eq(f.is_limited, row[i].is_full);
        ck_assert_int_eq(f.delivery.limited_until != 0, row[i].is_sample_limited);
    }
}

TEST(on_hello_answered__one_hello_is_a_sample)
{
    flow_on_hello_answered(&f, 2 * SECOND, 3); /* too long ago to be believed */
    ck_assert_int_eq(f.rtt.smoothed, 100 * MILLISECOND);
    flow_on_hello_answered(&f, 300 * MILLISECOND, 3);
    ck_assert_int_eq(f.rtt.smoothed, 300 * MILLISECOND);
    flow_on_hello_answered(&f, 60 * SECOND, 1); /* this side was stopped meanwhile */
    ck_assert_int_eq(f.rtt.smoothed, 300 * MILLISECOND);
    ck_assert(!f.rtt.has_sample);
    flow_on_hello_answered(&f, 7 * MILLISECOND, 1);
    ck_assert(f.rtt.has_sample);
    flow_on_hello_answered(&f, MILLISECOND, 1);
    ck_assert_int_eq(f.rtt.smoothed, 7 * MILLISECOND);
}

TEST(flow_check__fires, .signal = SIGABRT)
{
    f.congestion.window = 0;
    flow_check(&f);
}

/* ---- the path ---- */

TEST(path__refused_size_is_no_fall)
{
    struct sender_path p;
    enum path_change change = PATH_STAYS;
    sender_path_init(&p, 4096, 4096, false, 0);
    ck_assert(!sender_path_on_refused(&p, 0, TRAILER_BYTES, &change));
    ck_assert_int_eq(change, PATH_STAYS);
    ck_assert(sender_path_on_refused(&p, 0, 4096, &change));
    ck_assert_int_eq(change, PATH_CHANGES);
    ck_assert_uint_lt(sender_path_unit(&p), 4096);
    sender_path_check(&p);
}

/* What went missing is the whole datagram, not only its data. */
TEST(path__suspects_the_datagram, .rows = 2)
{
    struct sender_path p;
    sender_path_init(&p, 4096, 4096, false, 0);
    uint32_t data = p.size.data;
    enum path_change change = _i == 0 ? sender_path_on_timeout(&p, SECOND, data)
                                      : sender_path_on_lost(&p, SECOND, SECOND, data);
    ck_assert_int_eq(change, PATH_STAYS);
    ck_assert_uint_eq(p.mtu.suspect, data + TRAILER_BYTES);
}

TEST(path__check_fires, .signal = SIGABRT)
{
    struct sender_path p;
    sender_path_init(&p, 4096, 4096, false, 0);
    unit_size_limit(&p.size, 1024);
    sender_path_check(&p);
}
