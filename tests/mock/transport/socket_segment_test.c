/* wrap: sendmsg sendmmsg setsockopt */
/* socket_send with the offload in use: one call for all, cut by the kernel. */
#include "socket_send_rig.h"

FIXTURE(setup, NULL)

TEST(segmented__one_call)
{
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 1);
    expect_call(0, 0, 44, SEGMENT);
    expect_counter(CHANNEL_CALLS_OUT, 1);
}

TEST(segmented__single_datagram_is_not_cut)
{
    fill_burst(1, SEGMENT);
    will_return(__wrap_sendmsg, SEGMENT);
    expect_send(CHANNEL_OK, 1);
    expect_call(0, 0, 1, 0);
}

TEST(segmented__empty_burst)
{
    fill_burst(0, 0);
    expect_send(CHANNEL_OK, 0);
    assert_int_equal(calls, 0);
}

/* 45 x 1472 = 66,240 bytes are more than one IPv4 datagram. */
TEST(segmented__split_at_64_kib)
{
    fill_burst(45, SEGMENT);
    will_return(__wrap_sendmmsg, 2);
    expect_send(CHANNEL_OK, 45);
    expect_call(0, 0, 45, SEGMENT);
    assert_int_equal(calls, 1);
}

/* The kernel cuts 44 at once, and takes three such messages with one call. */
TEST(segmented__several_messages_a_call)
{
    fill_burst(128, SEGMENT);
    will_return(__wrap_sendmmsg, 3);
    expect_send(CHANNEL_OK, 128);
    expect_call(0, 0, 128, SEGMENT);
    expect_counter(CHANNEL_CALLS_OUT, 1);
}

TEST(segmented__units_as_large_as_the_call)
{
    c.path_bytes = 65507;
    fill_burst(2, 65504);
    will_return(__wrap_sendmmsg, 2);
    expect_send(CHANNEL_OK, 2);
    expect_call(0, 0, 2, 0);
}

TEST(segmented__interrupted)
{
    will_return_count(__wrap_sendmsg, -EINTR, 3);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 4);
}

TEST(segmented__blocked_in_the_middle)
{
    fill_burst(60, SEGMENT);
    will_return(__wrap_sendmmsg, 1);
    will_return(__wrap_sendmsg, -EAGAIN);
    expect_send(CHANNEL_BLOCKED, 44);
    expect_call(1, 44, 16, SEGMENT);
    expect_counter(CHANNEL_BLOCKS, 1);
}

TEST(segmented__eio_leaves_the_offload)
{
    will_return(__wrap_sendmsg, -EIO);
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
    expect_call(0, 0, 44, SEGMENT);
    expect_call(1, 0, 44, 0);
    expect_counter(CHANNEL_FALLBACKS, 1);
    will_return(__wrap_sendmmsg, 44); /* from then on */
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 3);
}

/* What went out before stays out, and nothing goes out twice. */
TEST(segmented__eio_in_the_middle)
{
    fill_burst(60, SEGMENT);
    will_return(__wrap_sendmmsg, 1);
    will_return(__wrap_sendmsg, -EIO);
    will_return(__wrap_sendmmsg, 10);
    will_return(__wrap_sendmmsg, -EAGAIN);
    expect_send(CHANNEL_BLOCKED, 54);
    expect_call(2, 44, 16, 0);
    expect_call(3, 54, 6, 0);
}

/* One datagram alone shows that it is not their size; the others are cut by 64. */
TEST(segmented__old_kernel_takes_64)
{
    fill_burst(128, 200);
    will_return(__wrap_sendmsg, -EINVAL);
    will_return(__wrap_sendmsg, 200);
    will_return(__wrap_sendmmsg, 2);
    expect_send(CHANNEL_OK, 128);
    expect_call(0, 0, 128, 200);
    expect_call(1, 0, 1, 0);
    expect_call(2, 1, 127, 200);
    assert_int_equal(atomic_load(&c.gso_segments), 64);
    expect_counter(CHANNEL_FALLBACKS, 1);
}

TEST(segmented__einval_twice_leaves_the_offload)
{
    fill_burst(128, 200);
    will_return(__wrap_sendmsg, -EINVAL);
    will_return(__wrap_sendmsg, 200);
    will_return(__wrap_sendmmsg, -EINVAL);
    will_return(__wrap_sendmsg, 200);
    will_return(__wrap_sendmmsg, 126);
    expect_send(CHANNEL_OK, 128);
    assert_int_equal(atomic_load(&c.gso_segments), 1);
    expect_counter(CHANNEL_FALLBACKS, 2);
}

/* Kernels differ in what they call a segment that the interface does not take; neither is a reason
 * to leave the offload. */
TEST(segmented__interface_became_narrower)
{
    will_return(__wrap_sendmsg, -EINVAL);
    will_return_count(__wrap_sendmsg, -EMSGSIZE, FAULT_LATE_MOST + 1); /* one alone */
    expect_send(CHANNEL_TOO_BIG, 0);
    expect_call(1, 0, 1, 0);
    expect_call(2, 0, 1, 0);
    assert_int_equal(atomic_load(&c.gso_segments), BURST_CUT);
    expect_counter(CHANNEL_FALLBACKS, 0);
    will_return_count(__wrap_sendmsg, -EMSGSIZE, FAULT_LATE_MOST + 2);
    expect_send(CHANNEL_TOO_BIG, 0);
    assert_int_equal(atomic_load(&c.gso_segments), BURST_CUT);
    expect_counter(CHANNEL_FALLBACKS, 0);
}

/* A router's complaint about a datagram of long ago, told to a burst that fits; or somebody who
 * pretends to be one. */
TEST(segmented__late_emsgsize)
{
    will_return_count(__wrap_sendmsg, -EMSGSIZE, FAULT_LATE_MOST);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(atomic_load(&c.gso_segments), BURST_CUT);
    expect_counter(CHANNEL_TOO_BIGS, FAULT_LATE_MOST);
}

/* It says so of every burst, and takes each datagram alone: it cannot cut. */
TEST(segmented__stubborn_emsgsize)
{
    will_return_count(__wrap_sendmsg, -EMSGSIZE, FAULT_LATE_MOST + 1);
    will_return(__wrap_sendmsg, SEGMENT);
    will_return(__wrap_sendmmsg, 43);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(atomic_load(&c.gso_segments), 1);
    expect_counter(CHANNEL_FALLBACKS, 1);
}

/* Memory that cannot be read is for the caller to find. */
TEST(segmented__fault)
{
    will_return(__wrap_sendmsg, -EFAULT);
    expect_send(CHANNEL_FAULT, 0);
    expect_counter(CHANNEL_FAULTS, 1);
}

TEST(segmented__crowded)
{
    will_return(__wrap_sendmsg, -ENOBUFS);
    expect_send(CHANNEL_CROWDED, 0);
    will_return(__wrap_sendmsg, -ENOMEM);
    expect_send(CHANNEL_CROWDED, 0);
    expect_counter(CHANNEL_CROWDS, 2);
    assert_int_equal(atomic_load(&c.gso_segments), BURST_CUT);
}

TEST(segmented__late_refusal)
{
    will_return(__wrap_sendmsg, -ECONNREFUSED);
    will_return(__wrap_sendmsg, 44 * SEGMENT);
    expect_send(CHANNEL_OK, 44);
    expect_counter(CHANNEL_REFUSALS, 1);
}

TEST(segmented__refused)
{
    will_return_count(__wrap_sendmsg, -ECONNREFUSED, FAULT_LATE_MOST + 1);
    expect_send(CHANNEL_REFUSED, 0);
    expect_counter(CHANNEL_REFUSALS, FAULT_LATE_MOST + 1);
}

TEST(segmented__broken)
{
    static const int error[] = {EBADF, ENOTSOCK, EPIPE};

    for (size_t i = 0; i < sizeof(error) / sizeof(error[0]); i++) {
        setup();
        will_return(__wrap_sendmsg, -error[i]);
        expect_send(CHANNEL_BROKEN, 0);
        assert_int_equal(calls, 1);
    }
}

/* The kernel's cuts do not arrive: it is to cut none. */
TEST(segmented__not_a_burst_of_singles)
{
    b.is_single = true;
    will_return(__wrap_sendmmsg, 44);
    expect_send(CHANNEL_OK, 44);
    assert_int_equal(calls, 1);
    expect_call(0, 0, 44, 0);
}
