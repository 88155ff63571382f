/* wrap: sendmsg sendmmsg setsockopt */
/* socket_send without the offload: one call for several datagrams. */
#include "socket_send_rig.h"

static int setup_plain(void **state)
{
    (void)setup(state);
    atomic_store(&c.gso_segments, 1);
    return 0;
}

static void several__one_call(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 1);
}

static void several__short_counts(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, 20);
    will_return(__wrap_sendmmsg, 1);
    will_return(__wrap_sendmmsg, 22);
    will_return(__wrap_sendmsg, SEGMENT); /* one is left */
    expect_send(CHANNEL_OK, 44);
    expect_call(1, 20, 24, 0);
    expect_call(2, 21, 23, 0);
    expect_call(3, 43, 1, 0);
}

static void several__nothing_taken_and_no_error(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, 0);
    expect_send(CHANNEL_BLOCKED, 0);
}

/* Each error after 20 datagrams; one that may be late is forgiven a number of times. */
static void several__errors(void **state)
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
        {EINVAL, 1, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        (void)setup_plain(state);
        will_return(__wrap_sendmmsg, 20);
        will_return_count(__wrap_sendmmsg, -row[i].error, row[i].times);
        expect_send(row[i].verdict, 20);
        assert_int_equal(calls, 1 + row[i].times);
        assert_int_equal(channel_fault(&c), row[i].verdict == CHANNEL_BROKEN ? row[i].error : 0);
        if (row[i].counter != CHANNEL_COUNTERS)
            expect_counter(row[i].counter, (uint64_t)row[i].times);
    }
}

static void several__interrupted(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, -EINTR);
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
}

static void several__late_refusal_then_blocked(void **state)
{
    (void)state;
    will_return(__wrap_sendmmsg, -ECONNREFUSED);
    will_return(__wrap_sendmmsg, 5);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect_send(CHANNEL_BLOCKED, 5);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(several__one_call, setup_plain),
        cmocka_unit_test_setup(several__short_counts, setup_plain),
        cmocka_unit_test_setup(several__nothing_taken_and_no_error, setup_plain),
        cmocka_unit_test_setup(several__errors, setup_plain),
        cmocka_unit_test_setup(several__interrupted, setup_plain),
        cmocka_unit_test_setup(several__late_refusal_then_blocked, setup_plain),
    };
    return cmocka_run_group_tests_name("socket_send", test, NULL, NULL);
}
