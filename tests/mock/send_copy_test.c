/* A copy, and a message of several pieces, for which there is no memory. */
/* wrap: malloc calloc aligned_alloc posix_memalign mmap pthread_create eventfd */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "entity_faults.h"

#include "zcrp.h"

FIXTURE(heal, NULL)

TEST(wrap_iov__without_memory)
{
    struct iovec pieces[] = {{"one", 3}, {"two", 3}};

    set_fault(&memory, 1, 0, ENOMEM);
    errno = 0;
    assert_null(zcrp_wrap_iov(pieces, 2));
    assert_int_equal(errno, ENOMEM);
    heal();
    zcrp_free_msg(zcrp_wrap_iov(pieces, 2));
}

/* Nothing was sent, and the next one is. */
TEST(send_copy__without_memory)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *s, *r;
    struct zcrp_msg *m = zcrp_alloc_msg(10);

    assert_int_equal(zcrp_open_receiver(&r, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&s, sockets.sender, NULL), ZCRP_OK);
    assert_int_equal(zcrp_submit(r, m, 10), ZCRP_OK);
    set_fault(&memory, 1, 0, ENOMEM);
    assert_int_equal(zcrp_send_copy(s, "lost", 4), ZCRP_ERROR_MEMORY);
    heal();
    assert_int_equal(zcrp_send_copy(s, "found", 5), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(m, 10 * INT64_C(1000000000)), ZCRP_OK);
    assert_int_equal(m->length, 5);
    assert_memory_equal(m->buffer, "found", 5);
    assert_int_equal(zcrp_close(s), ZCRP_OK);
    assert_int_equal(zcrp_close(r), ZCRP_OK);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}
