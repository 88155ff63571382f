/* Entities that are opened on a machine that has too little: of memory, threads, descriptors. */
/* wrap: malloc calloc aligned_alloc posix_memalign mmap pthread_create eventfd */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg */
#include "../support/loopback.h"
#include "../support/own.h"
#include "entity_faults.h"

#include "zcrp.h"

#include <unistd.h>

typedef int (*opener)(struct zcrp_entity **entity, const int fds[2],
                      const struct zcrp_options *options, size_t size);

/* The first call of that kind in open fails, then only the second, ... until there are no more.
 * Each time there is `code`, no entity, and nothing left. */
static void open_channel_with_each(struct fault *f, int error, int code, int least,
                                   const struct zcrp_options *options)
{
    static const opener openers[] = {zcrp_open_sender_sized, zcrp_open_receiver_sized};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int before = own_descriptors();

    for (int i = 0; i < 2; i++) {
        int n = 0;
        for (;;) {
            struct zcrp_entity *e = NULL;
            set_fault(f, ++n, 0, error);
            int result = openers[i](&e, i == 0 ? sockets.sender : sockets.receiver, options,
                                    sizeof(*options));
            bool has_failed = f->count > 0;
            set_fault(f, 0, 0, error);
            assert_int_equal(result, has_failed ? code : ZCRP_OK);
            assert_int_equal(e == NULL, has_failed);
            (void)zcrp_close(e);
            assert_int_equal(own_descriptors(), before);
            if (!has_failed)
                break;
        }
        assert_true(n > least);
    }
    loopback_close(&sockets);
}

/* Over UDP and over AAL5, which has stages of its own. */
static void open_with_each(struct fault *f, int error, int code, int least)
{
    struct zcrp_options options = {.linger_ns = 1000000};

    open_channel_with_each(f, error, code, least, &options);
    options.channel = ZCRP_CHANNEL_AAL5;
    options.aal5.faults.loss = 1;
    open_channel_with_each(f, error, code, f == &memory ? least + 1 : least, &options);
}

FIXTURE(heal, NULL)

TEST(open__no_memory)
{
    open_with_each(&memory, ENOMEM, ZCRP_ERROR_MEMORY, 3);
}

TEST(open__no_thread)
{
    open_with_each(&threads, EAGAIN, ZCRP_ERROR_SYSTEM, 2);
}

TEST(open__no_descriptor)
{
    open_with_each(&descriptors, EMFILE, ZCRP_ERROR_SYSTEM, 1);
}

TEST(open__errno)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *e;

    set_fault(&threads, 2, 0, EAGAIN);
    errno = 0;
    assert_int_equal(zcrp_open_sender(&e, sockets.sender, NULL), ZCRP_ERROR_SYSTEM);
    assert_int_equal(errno, EAGAIN);
    loopback_close(&sockets);
}

/* There is a descriptor left for the first of two sockets only. */
TEST(open__errno_of_the_second_descriptor)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, true);
    struct zcrp_entity *e;

    assert_int_not_equal(sockets.sender[0], sockets.sender[1]);
    struct rlimit before = own_leave_descriptors(1);
    errno = 0;
    int code = zcrp_open_sender(&e, sockets.sender, NULL), error = errno;
    own_limit_descriptors(before);
    assert_int_equal(code, ZCRP_ERROR_SYSTEM);
    assert_int_equal(error, EMFILE);
    loopback_close(&sockets);
}

/* ---- what allocates later ---- */

TEST(descriptor__no_descriptor)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *e;

    assert_int_equal(zcrp_open_sender(&e, sockets.sender, NULL), 0);
    set_fault(&descriptors, 1, 0, EMFILE);
    assert_int_equal(zcrp_descriptor(e), ZCRP_ERROR_SYSTEM);
    assert_int_equal(errno, EMFILE);
    assert_true(zcrp_descriptor(e) >= 0);
    (void)zcrp_close(e);
    loopback_close(&sockets);
}

TEST(alloc_msg__no_memory)
{
    nbyte byte;

    for (int n = 1; n <= 2; n++) {
        set_fault(&memory, n, 0, ENOMEM);
        assert_null(zcrp_alloc_msg(100));
    }
    set_fault(&memory, 1, 0, ENOMEM);
    assert_null(zcrp_wrap_msg(&byte, 1));
    set_fault(&memory, 0, 0, ENOMEM);
    assert_null(zcrp_alloc_msg(UINT64_MAX));
}
