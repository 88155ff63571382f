/* wrap: sendmsg sendmmsg setsockopt */
/* socket_send without the offload: one call for several datagrams. */
#include "socket_send_rig.h"

static void setup_plain(void)
{
    setup();
    atomic_store(&c.gso_segments, 1);
}

FIXTURE(setup_plain, NULL)

TEST(several__one_call)
{
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 1);
}

TEST(several__short_counts)
{
    will_return(__wrap_sendmmsg, 20);
    will_return(__wrap_sendmmsg, 1);
    will_return(__wrap_sendmmsg, 22);
    will_return(__wrap_sendmsg, SEGMENT); /* one is left */
    expect_send(CHANNEL_OK, 44);
    expect_call(1, 20, 24, 0);
    expect_call(2, 21, 23, 0);
    expect_call(3, 43, 1, 0);
}

TEST(several__nothing_taken_and_no_error)
{
    will_return(__wrap_sendmmsg, 0);
    expect_send(CHANNEL_BLOCKED, 0);
}

/* Each error after 20 datagrams; one that may be late is forgiven a number of times. */
TEST(several__errors)
{
    static const struct {
        int error, times;
        enum channel_verdict verdict;
        enum channel_counter counter;
    } row[] = {
        {EAGAIN, 1, CHANNEL_BLOCKED, CHANNEL_BLOCKS},
        {ENOBUFS, 1, CHANNEL_CROWDED, CHANNEL_CROWDS},
        {ENOMEM, 1, CHANNEL_CROWDED, CHANNEL_CROWDS},
        {EMSGSIZE, FAULT_LATE_MOST + 1, CHANNEL_TOO_BIG, CHANNEL_TOO_BIGS},
        {ECONNREFUSED, FAULT_LATE_MOST + 1, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {EHOSTUNREACH, FAULT_LATE_MOST + 1, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {ENETUNREACH, FAULT_LATE_MOST + 1, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {EPERM, FAULT_LATE_MOST + 1, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {EFAULT, 1, CHANNEL_FAULT, CHANNEL_FAULTS},
        {EBADF, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
        {EIO, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
        {EINVAL, FAULT_LATE_MOST + 1, CHANNEL_REFUSED, CHANNEL_REFUSALS},
        {ENOKEY, FAULT_LATE_MOST + 1, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup_plain();
        will_return(__wrap_sendmmsg, 20);
        will_return_count(__wrap_sendmmsg, -row[i].error, row[i].times);
        expect_send(row[i].verdict, 20);
        assert_int_equal(calls, 1 + row[i].times);
        if (row[i].counter != CHANNEL_COUNTERS)
            expect_counter(row[i].counter, (uint64_t)row[i].times);
    }
}

TEST(several__interrupted)
{
    will_return(__wrap_sendmmsg, -EINTR);
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
}

TEST(several__late_refusal_then_blocked)
{
    will_return(__wrap_sendmmsg, -ECONNREFUSED);
    will_return(__wrap_sendmmsg, 5);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect_send(CHANNEL_BLOCKED, 5);
}
