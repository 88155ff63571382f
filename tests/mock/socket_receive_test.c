/* wrap: recvmsg recvmmsg */
/* socket_receive of what arrives, and of what the kernel says beside it. */
#include "socket_receive_rig.h"

/* ---- landing */

FIXTURE(setup, NULL)

TEST(receive__no_opening)
{
    l.openings = 0;
    assert_int_equal(socket_receive(&c, &l), 0);
    assert_int_equal(l.received, 0);
    assert_int_equal(calls, 0);
}

TEST(receive__one_datagram)
{
    arrival[0] = (struct arrival){.bytes = 1000};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    assert_int_equal(l.received, 1);
    expect_opening(0, 1000, 0);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
}

TEST(receive__joined)
{
    arrival[0] = (struct arrival){.bytes = 44 * 1472, .segment = 1472, .drops = 3};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 44 * 1472, 1472);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 3);
}

/* The byte of IPv4 or the word of IPv6 counts for each datagram that was joined; every note of the
 * kernel's finds room at once. */
TEST(receive__marked)
{
    static const struct {
        int segment, tos, class, ecn;
    } row[] = {
        {0, 0, 0, 0}, {0, 2, 0, 2},    {0, 3, 0, 3},    {0, 0xbb, 0, 3}, {0, 0, 0xbb, 3},
        {0, 0, 1, 1}, {1472, 3, 0, 3}, {1472, 0, 3, 3}, {1472, 2, 0, 2}, {0, 0xb8, 0xb8, 0},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        arrival[0] = (struct arrival){.bytes = 1000,
                                      .segment = row[i].segment,
                                      .drops = 3,
                                      .tos = row[i].tos,
                                      .class = row[i].class};
        l.ecn[0] = 9;
        will_return(__wrap_recvmsg, 0);
        assert_int_equal(socket_receive(&c, &l), 1);
        expect_opening(0, 1000, (uint32_t)row[i].segment);
        assert_int_equal(l.ecn[0], row[i].ecn);
    }
}

/* Until the socket was empty once, what comes from elsewhere was there before it was connected. */
TEST(receive__leftovers)
{
    c.has_leftovers = true;
    c.peer.room.ss_family = AF_INET;
    from_port = 7;
    arrival[0] = (struct arrival){.bytes = 1000};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
    assert_true(l.is_spoilt);
    assert_int_equal(channel_count(&c, CHANNEL_LEFTOVERS), 1);
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive_control(&c, buffer, sizeof(buffer)), 0);
    assert_int_equal(channel_count(&c, CHANNEL_LEFTOVERS), 2);
    from_port = 0;
    l.is_spoilt = false;
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 1000, 0);
    assert_false(l.is_spoilt);
    will_return(__wrap_recvmsg, -EAGAIN);
    assert_int_equal(socket_receive(&c, &l), 0);
    assert_false(c.has_leftovers);
}

TEST(receive__empty_datagram)
{
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
}

TEST(receive__truncated)
{
    arrival[0] = (struct arrival){.bytes = 500, .segment = 100, .flags = MSG_TRUNC};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 0, 0);
    assert_int_equal(channel_count(&c, CHANNEL_TRUNCATIONS), 1);
}

/* The user's own notes may leave no room for the kernel's. */
TEST(receive__notes_truncated)
{
    static const struct {
        bool has_gro;
        int segment;
        uint32_t bytes;
    } row[] = {{true, 0, 0}, {true, 250, 500}, {false, 0, 500}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        c.has_gro = row[i].has_gro;
        arrival[0] = (struct arrival){.bytes = 500, .segment = row[i].segment, .flags = MSG_CTRUNC};
        will_return(__wrap_recvmsg, 0);
        assert_int_equal(socket_receive(&c, &l), 1);
        expect_opening(0, row[i].bytes, (uint32_t)row[i].segment);
    }
}

TEST(receive__several)
{
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

TEST(receive__drops_wrap_around)
{
    c.drops_seen = UINT32_MAX - 1;
    arrival[0] = (struct arrival){.bytes = 1, .drops = 3};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 5);
}

/* ---- control */

TEST(receive_control__one)
{
    arrival[2] = (struct arrival){.bytes = 60, .drops = 2};
    will_return(__wrap_recvmsg, -EINTR);
    will_return(__wrap_recvmsg, -ECONNREFUSED);
    will_return(__wrap_recvmsg, 2);
    assert_int_equal(socket_receive_control(&c, buffer, sizeof(buffer)), 60);
    assert_int_equal(channel_count(&c, CHANNEL_DROPS), 2);
    assert_int_equal(channel_count(&c, CHANNEL_CALLS_IN), 1);
}

TEST(receive_control__truncated)
{
    arrival[0] = (struct arrival){.bytes = sizeof(buffer), .flags = MSG_TRUNC};
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive_control(&c, buffer, sizeof(buffer)), 0);
    assert_int_equal(channel_count(&c, CHANNEL_TRUNCATIONS), 1);
}
