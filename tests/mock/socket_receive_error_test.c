/* wrap: recvmsg recvmmsg */
/* socket_receive where the kernel refuses: what is tried again, and what ends the channel. */
#include "socket_receive_rig.h"

/* What each error does to a receive of one opening, of several, and of control. */
static const struct {
    int error, times; /* until the receive gives up */
    int result;
    enum channel_counter counter;
} errors[] = {
    {EAGAIN, 1, 0, CHANNEL_COUNTERS},
    {ECONNREFUSED, 2, 0, CHANNEL_REFUSALS},
    {ECONNRESET, 2, 0, CHANNEL_REFUSALS},
    {EHOSTUNREACH, 2, 0, CHANNEL_REFUSALS},
    {EMSGSIZE, 2, 0, CHANNEL_TOO_BIGS},
    {ENOBUFS, 2, 0, CHANNEL_CROWDS},
    {ENOMEM, 2, 0, CHANNEL_CROWDS},
    {EBADF, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    {ENOTSOCK, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    {EFAULT, 1, CHANNEL_FAULT, CHANNEL_FAULTS},
    {EINVAL, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

static void expect_error(int i, int result)
{
    assert_int_equal(result, errors[i].result);
    assert_int_equal(calls, errors[i].times);
    assert_int_equal(channel_fault(&c), errors[i].result == CHANNEL_BROKEN ? errors[i].error : 0);
    assert_int_equal(channel_count(&c, CHANNEL_BLOCKS), 0);
    if (errors[i].counter != CHANNEL_COUNTERS)
        assert_int_equal(channel_count(&c, errors[i].counter), errors[i].times);
}

FIXTURE(setup, NULL)

TEST(receive__errors)
{
    for (int i = 0; i < ERRORS; i++) {
        setup();
        will_return_count(__wrap_recvmsg, -errors[i].error, errors[i].times);
        expect_error(i, socket_receive(&c, &l));
        assert_int_equal(l.received, 0);
    }
}

TEST(receive__errors_of_several)
{
    for (int i = 0; i < ERRORS; i++) {
        setup();
        plan(8);
        will_return_count(__wrap_recvmmsg, -errors[i].error, errors[i].times);
        expect_error(i, socket_receive(&c, &l));
        assert_int_equal(l.received, 0);
    }
}

TEST(receive__interrupted)
{
    will_return_count(__wrap_recvmsg, -EINTR, 3);
    will_return(__wrap_recvmsg, 0);
    assert_int_equal(socket_receive(&c, &l), 1);
}

/* The error stood in front of a datagram that waits. */
TEST(receive__late_refusal)
{
    plan(2);
    arrival[0] = (struct arrival){.bytes = 77};
    will_return(__wrap_recvmmsg, -ECONNREFUSED);
    will_return(__wrap_recvmmsg, 1);
    assert_int_equal(socket_receive(&c, &l), 1);
    expect_opening(0, 77, 0);
}

TEST(receive_control__errors)
{
    for (int i = 0; i < ERRORS; i++) {
        setup();
        will_return_count(__wrap_recvmsg, -errors[i].error, errors[i].times);
        expect_error(i, socket_receive_control(&c, buffer, sizeof(buffer)));
    }
}
