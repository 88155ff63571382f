/* Datagrams that wait for the thread that does their handshake. */
#include "handshake/datagram_queue.h"

#include "../../support/suite.h"

static const uint8_t datagram[2 * HANDSHAKE_BYTES] = {1, 2, 3};

TEST(datagram_queue_add__is_bounded)
{
    static struct datagram_queue queue, taken;

    for (int i = 0; i < 3 * DATAGRAM_QUEUE_MOST; i++)
        datagram_queue_add(&queue, datagram, HANDSHAKE_BYTES);
    ck_assert_uint_eq(queue.count, DATAGRAM_QUEUE_MOST);
    datagram_queue_take_all(&queue, &taken);
    ck_assert_uint_eq(queue.count, 0);
    ck_assert_uint_eq(taken.count, DATAGRAM_QUEUE_MOST);
    ck_assert_mem_eq(taken.datagram[DATAGRAM_QUEUE_MOST - 1].bytes, datagram, HANDSHAKE_BYTES);
}

TEST(datagram_queue_add__drops_what_is_too_large)
{
    static struct datagram_queue queue;

    datagram_queue_add(&queue, datagram, HANDSHAKE_BYTES + 1);
    ck_assert_uint_eq(queue.count, 0);
}

TEST(datagram_copy_set__is_empty_if_that_is_too_large)
{
    struct datagram_copy copy;

    datagram_copy_set(&copy, datagram, 3);
    ck_assert_uint_eq(copy.size, 3);
    datagram_copy_set(&copy, datagram, HANDSHAKE_BYTES + 1);
    ck_assert_uint_eq(copy.size, 0);
}
