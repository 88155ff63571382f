/* wrap: recvmsg recvmmsg */
/* sources: src/channel/socket_ecn.c */
/* sources: src/channel/socket_receive.c src/channel/fault.c src/platform/check.c */
/* sources: src/platform/clock.c */
/* socket_receive of what arrives, and of what the kernel says beside it. */
#include "socket_receive_rig.h"

/* ---- landing */

static void receive__no_opening(void **state)
{
    (void)state;
    l.openings = 0;
    assert_int_equal(socket_receive(&c, &l), 0);
    assert_int_equal(l.received, 0);
    assert_int_equal(calls, 0);
}

static void receive__one_datagram(void **state)
{
    (void)state;
    arrival[0] = (struct arrival){.bytes = 1000};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    assert_int_equal(l.received, 1);
    expect_opening(0, 1000, 0);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
}

static void receive__joined(void **state)
{
    (void)state;
    arrival[0] = (struct arrival){.bytes = 44 * 1472, .segment = 1472, .drops = 3};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 44 * 1472, 1472);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 3);
}

/* The byte of IPv4 or the word of IPv6 counts for each datagram that was joined; every note of the
 * kernel's finds room at once. */
static void receive__marked(void **state)
{
    static const struct {
        unsigned bytes;
        int segment, tos, class;
        uint32_t marked;
    } row[] = {
        {1000, 0, 0, 0, 0},    {1000, 0, 2, 0, 0},        {1000, 0, 3, 0, 1},
        {1000, 0, 0xbb, 0, 1}, {1000, 0, 0, 0xb8 | 3, 1}, {1000, 0, 0, 1, 0},
        {4416, 1472, 3, 0, 3}, {4417, 1472, 0, 3, 4},     {4415, 1472, 3, 0, 3},
        {4416, 1472, 2, 0, 0}, {0, 0, 3, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        uint64_t before = channel_count(&c, CHANNEL_MARKS);

        arrival[0] = (struct arrival){.bytes = row[i].bytes,
                                      .segment = row[i].segment,
                                      .drops = 3,
                                      .tos = row[i].tos,
                                      .class = row[i].class};
        l.marked = 0;
        l.has_ecn = false;
        will_return(__wrap_recvmsg, 0);
        assert_int_equal(socket_receive(&c, &l), 1);
        expect_opening(0, row[i].bytes, (uint32_t)row[i].segment);
        assert_int_equal(l.marked, row[i].marked);
        assert_int_equal(l.has_ecn, (row[i].tos & 3) != 0 || (row[i].class & 3) != 0);
        assert_int_equal(channel_count(&c, CHANNEL_MARKS) - before, row[i].marked);
    }
}

static void receive__empty_datagram(void **state)
{
    (void)state;
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
}

static void receive__truncated(void **state)
{
    (void)state;
    arrival[0] = (struct arrival){.bytes = 500, .segment = 100, .flags = MSG_TRUNC};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
    assert_int_equal(channel_count(&c, CHANNEL_TRUNCATIONS), 1);
}

/* The user's own notes may leave no room for the kernel's. */
static void receive__notes_truncated(void **state)
{
    static const struct {
        bool has_gro;
        int segment;
        uint32_t bytes;
    } row[] = {{true, 0, 0}, {true, 250, 500}, {false, 0, 500}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup(state);
        c.has_gro = row[i].has_gro;
        arrival[0] = (struct arrival){.bytes = 500, .segment = row[i].segment, .flags = MSG_CTRUNC};
        will_return(__wrap_recvmsg, 0);
        assert_int_equal(socket_receive(&c, &l), 1);
        expect_opening(0, row[i].bytes, (uint32_t)row[i].segment);
    }
}

static void receive__several(void **state)
{
    (void)state;
    plan(LANDING_OPENINGS);
    arrival[0] = (struct arrival){.bytes = 100};
    arrival[1] = (struct arrival){.bytes = 3000, .segment = 1472, .drops = 7};
    arrival[2] = (struct arrival){.bytes = 200, .drops = 9, .flags = MSG_TRUNC};
    arrival[3] = (struct arrival){.bytes = 300, .drops = 9};
    will_return(__wrap_recvmmsg, 4);
    assert_int_equal(socket_receive(&c, &l), 4);
    assert_int_equal(l.received, 4);
    expect_opening(0, 100, 0);
    expect_opening(1, 3000, 1472);
    expect_opening(2, 0, 0);
    expect_opening(3, 300, 0);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 9);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
}

static void receive__drops_wrap_around(void **state)
{
    (void)state;
    c.drops_seen = UINT32_MAX - 1;
    arrival[0] = (struct arrival){.bytes = 1, .drops = 3};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 5);
}

/* ---- control */

static void receive_control__one(void **state)
{
    (void)state;
    arrival[2] = (struct arrival){.bytes = 60, .drops = 2};
    will_return(__wrap_recvmsg, -EINTR);
    will_return(__wrap_recvmsg, -ECONNREFUSED);
    will_return(__wrap_recvmsg, 2);
    assert_int_equal(socket_receive_control(&c, buffer, sizeof(buffer)), 60);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 2);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
}

static void receive_control__truncated(void **state)
{
    (void)state;
    arrival[0] = (struct arrival){.bytes = sizeof(buffer), .flags = MSG_TRUNC};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive_control(&c, buffer, sizeof(buffer)), 0);
    assert_int_equal(channel_count(&c, CHANNEL_TRUNCATIONS), 1);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(receive__no_opening, setup),
        cmocka_unit_test_setup(receive__one_datagram, setup),
        cmocka_unit_test_setup(receive__joined, setup),
        cmocka_unit_test_setup(receive__marked, setup),
        cmocka_unit_test_setup(receive__empty_datagram, setup),
        cmocka_unit_test_setup(receive__truncated, setup),
        cmocka_unit_test_setup(receive__notes_truncated, setup),
        cmocka_unit_test_setup(receive__several, setup),
        cmocka_unit_test_setup(receive__drops_wrap_around, setup),
        cmocka_unit_test_setup(receive_control__one, setup),
        cmocka_unit_test_setup(receive_control__truncated, setup),
    };
    return cmocka_run_group_tests_name("socket_receive", test, NULL, NULL);
}
