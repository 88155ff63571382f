/* Entities on a machine that fails: every allocation, thread and descriptor once, and system calls
 * of the channel every few times. Calls that do not fail go through to the system. */
/* wrap: malloc calloc aligned_alloc posix_memalign pthread_create eventfd pipe2 */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg splice send */
/* sources: src/core/[a-z]*.c src/platform/[a-z]*.c src/channel/[a-z]*.c src/entity/[a-z]*.c */
/* sources: tests/support/loopback.c */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "../support/pattern.h"
#include "zcrp.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* ---- faults ---- */

/* Which calls of a kind fail, and how. */
struct fault {
    _Atomic int left;  /* calls until the next failure; 0: none fails */
    _Atomic int again; /* afterwards `left` becomes this */
    _Atomic int error;
    _Atomic int count; /* failures so far */
};

static struct fault memory, threads, descriptors, pipes, sends, receives;
static struct fault loans; /* what socket_lend.c does to the socket */

static void set_fault(struct fault *f, int first, int again, int error)
{
    f->again = again;
    f->error = error;
    f->count = 0;
    f->left = first;
}

/* True if this call is to fail; errno is set. */
static bool fails(struct fault *f)
{
    int left = atomic_load(&f->left);

    while (left > 0 &&
           !atomic_compare_exchange_weak(&f->left, &left, left > 1 ? left - 1 : f->again))
        ;
    if (left != 1)
        return false;
    f->count++;
    errno = f->error;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context);
int __real_eventfd(unsigned count, int flags);
int __real_pipe2(int fds[2], int flags);
ssize_t __real_splice(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags);
ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
int __real_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
int __real_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                    struct timespec *limit);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **at, size_t alignment, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_pipe2(int fds[2], int flags);
ssize_t __wrap_splice(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                    struct timespec *limit);

void *__wrap_malloc(size_t size)
{
    return fails(&memory) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(&memory) ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails(&memory) ? NULL : __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **at, size_t alignment, size_t size)
{
    return fails(&memory) ? ENOMEM : __real_posix_memalign(at, alignment, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context)
{
    return fails(&threads) ? EAGAIN : __real_pthread_create(thread, attributes, run, context);
}

int __wrap_eventfd(unsigned count, int flags)
{
    return fails(&descriptors) ? -1 : __real_eventfd(count, flags);
}

int __wrap_pipe2(int fds[2], int flags)
{
    return fails(&pipes) ? -1 : __real_pipe2(fds, flags);
}

ssize_t __wrap_splice(int in, off_t *in_at, int out, off_t *out_at, size_t size, unsigned flags)
{
    return fails(&loans) ? -1 : __real_splice(in, in_at, out, out_at, size, flags);
}

/* The library's only one: the end of a loan. The real kernel forgets the beginning when it fails,
 * this one cannot be made to, and so puts it on the way as rubbish. */
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    return fails(&loans) ? -1 : __real_send(fd, bytes, size, flags);
}

/* EIO and EINVAL are what the kernel says when it cannot cut a burst, and else never. */
static bool can_fail(const struct msghdr *message)
{
    return (sends.error != EIO && sends.error != EINVAL) || message->msg_controllen > 0;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return can_fail(message) && fails(&sends) ? -1 : __real_sendmsg(fd, message, flags);
}

int __wrap_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags)
{
    return can_fail(&message->msg_hdr) && fails(&sends)
               ? -1
               : __real_sendmmsg(fd, message, count, flags);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    return fails(&receives) ? -1 : __real_recvmsg(fd, message, flags);
}

int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                    struct timespec *limit)
{
    return fails(&receives) ? -1 : __real_recvmmsg(fd, message, count, flags, limit);
}

static int heal(void **state)
{
    (void)state;
    set_fault(&memory, 0, 0, ENOMEM);
    set_fault(&threads, 0, 0, EAGAIN);
    set_fault(&descriptors, 0, 0, EMFILE);
    set_fault(&pipes, 0, 0, EMFILE);
    set_fault(&loans, 0, 0, 0);
    set_fault(&sends, 0, 0, 0);
    set_fault(&receives, 0, 0, 0);
    return 0;
}

/* ---- open ---- */

static int count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

typedef int (*opener)(struct zcrp_entity **entity, const int fds[2],
                      const struct zcrp_options *options);

/* The first call of that kind in open fails, then only the second, ... until there are no more.
 * Each time there is `code`, no entity, and nothing left. */
static void open_with_each(struct fault *f, int error, int code, int least)
{
    static const opener openers[] = {zcrp_open_sender, zcrp_open_receiver};
    const struct zcrp_options options = {.linger_ns = 1000000};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int before = count_descriptors();

    for (int i = 0; i < 2; i++) {
        int n = 0;
        for (;;) {
            struct zcrp_entity *e = NULL;
            set_fault(f, ++n, 0, error);
            int result = openers[i](&e, i == 0 ? sockets.sender : sockets.receiver, &options);
            bool has_failed = f->count > 0;
            set_fault(f, 0, 0, error);
            assert_int_equal(result, has_failed ? code : ZCRP_OK);
            assert_int_equal(e == NULL, has_failed);
            (void)zcrp_close(e);
            assert_int_equal(count_descriptors(), before);
            if (!has_failed)
                break;
        }
        assert_true(n > least);
    }
    loopback_close(&sockets);
}

static void open__no_memory(void **state)
{
    (void)state;
    open_with_each(&memory, ENOMEM, ZCRP_ERROR_MEMORY, 3);
}

static void open__no_thread(void **state)
{
    (void)state;
    open_with_each(&threads, EAGAIN, ZCRP_ERROR_SYSTEM, 2);
}

static void open__no_descriptor(void **state)
{
    (void)state;
    open_with_each(&descriptors, EMFILE, ZCRP_ERROR_SYSTEM, 1);
}

/* Without a pipe nothing is lent, and all else is as ever. */
static void open__no_pipe(void **state)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    const struct zcrp_options options = {.linger_ns = 1000000};
    int before = count_descriptors();
    struct zcrp_entity *e;

    (void)state;
    for (int i = 0; i < 2; i++) {
        set_fault(&pipes, i == 0 ? 1 : 0, 0, EMFILE);
        assert_int_equal(zcrp_open_sender(&e, sockets.sender, &options), 0);
        assert_int_equal(pipes.count, i == 0);
        assert_true(count_descriptors() > before);
        (void)zcrp_close(e);
        assert_int_equal(count_descriptors(), before);
    }
    loopback_close(&sockets);
}

static void open__errno(void **state)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *e;

    (void)state;
    set_fault(&threads, 2, 0, EAGAIN);
    errno = 0;
    assert_int_equal(zcrp_open_sender(&e, sockets.sender, NULL), ZCRP_ERROR_SYSTEM);
    assert_int_equal(errno, EAGAIN);
    loopback_close(&sockets);
}

/* ---- what allocates later ---- */

static void descriptor__no_descriptor(void **state)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *e;

    (void)state;
    assert_int_equal(zcrp_open_sender(&e, sockets.sender, NULL), 0);
    set_fault(&descriptors, 1, 0, EMFILE);
    assert_int_equal(zcrp_descriptor(e), ZCRP_ERROR_SYSTEM);
    assert_int_equal(errno, EMFILE);
    assert_true(zcrp_descriptor(e) >= 0);
    (void)zcrp_close(e);
    loopback_close(&sockets);
}

static void alloc_msg__no_memory(void **state)
{
    nbyte byte;

    (void)state;
    for (int n = 1; n <= 2; n++) {
        set_fault(&memory, n, 0, ENOMEM);
        assert_null(zcrp_alloc_msg(100));
    }
    set_fault(&memory, 1, 0, ENOMEM);
    assert_null(zcrp_wrap_msg(&byte, 1));
    set_fault(&memory, 0, 0, ENOMEM);
    assert_null(zcrp_alloc_msg(UINT64_MAX));
}

/* ---- after open ---- */

struct ends {
    struct loopback sockets;
    struct zcrp_entity *sender, *receiver;
};

static struct ends ends_open(uint32_t unit_bytes, uint32_t flags)
{
    const struct zcrp_options options = {
        .unit_bytes = unit_bytes, .linger_ns = 200000000, .flags = flags};
    struct ends e = {.sockets = loopback_open(LOOPBACK_UDP4, false)};

    assert_int_equal(zcrp_open_sender(&e.sender, e.sockets.sender, &options), 0);
    assert_int_equal(zcrp_open_receiver(&e.receiver, e.sockets.receiver, &options), 0);
    return e;
}

static void ends_close(struct ends *e)
{
    (void)zcrp_close(e->sender);
    (void)zcrp_close(e->receiver);
    loopback_close(&e->sockets);
}

/* `count` messages, one after the other, that end with `code` on both sides. */
static void transfer(struct ends *e, int count, int code)
{
    const nlong size = 20000;
    struct zcrp_msg *in = zcrp_alloc_msg(size), *out = zcrp_alloc_msg(size);

    for (int i = 0; i < count; i++) {
        pattern_fill(out->buffer, size, (uint64_t)i);
        assert_int_equal(zcrp_submit(e->receiver, in, size), 0);
        assert_int_equal(zcrp_submit(e->sender, out, size), 0);
        assert_int_equal(zcrp_wait_for(in, 20000000000), code);
        assert_int_equal(zcrp_wait_for(out, 20000000000), code);
        assert_true(code != ZCRP_OK || pattern_holds(in->buffer, size, (uint64_t)i));
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* One message of 1 MB, in units large enough to be lent. How many were. */
static uint64_t transfer_large(struct ends *e, nbyte *to, nbyte *from)
{
    const nlong size = 1000000;
    struct zcrp_msg *in = zcrp_wrap_msg(to, size), *out = zcrp_wrap_msg(from, size);
    struct zcrp_stats stats;

    assert_int_equal(zcrp_submit(e->receiver, in, size), 0);
    assert_int_equal(zcrp_submit(e->sender, out, size), 0);
    assert_int_equal(zcrp_wait_for(in, 20000000000), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(out, 20000000000), ZCRP_OK);
    assert_true(pattern_holds(to, size, 9));
    assert_int_equal(zcrp_stats(e->sender, &stats), 0);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    return stats.units_lent;
}

/* Nothing allocates, starts threads or opens descriptors once both ends are open, whether units are
 * copied or lent. */
static void transfer__takes_nothing(void **state)
{
    enum { SIZE = 200000 };
    static nbyte to[SIZE], from[SIZE];
    struct zcrp_msg *in = zcrp_wrap_msg(to, SIZE), *out = zcrp_wrap_msg(from, SIZE);

    (void)state;
    for (uint32_t unit_bytes = 0; unit_bytes <= 1472; unit_bytes += 1472) {
        struct ends e = ends_open(unit_bytes, 0);
        set_fault(&memory, 1, 1, ENOMEM);
        set_fault(&threads, 1, 1, EAGAIN);
        set_fault(&descriptors, 1, 1, EMFILE);
        set_fault(&pipes, 1, 1, EMFILE);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(zcrp_submit(e.receiver, in, SIZE), 0);
            assert_int_equal(zcrp_submit(e.sender, out, SIZE), 0);
            assert_int_equal(zcrp_wait_for(in, -1), 0);
            assert_int_equal(zcrp_wait_for(out, -1), 0);
        }
        int taken = memory.count + threads.count + descriptors.count + pipes.count;
        heal(NULL);
        assert_int_equal(taken, 0);
        ends_close(&e);
    }
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* Lending fails: the network's errors do not end it, others do, and neither is seen. */
static void transfer__loans_fail(void **state)
{
    static const struct {
        int error;
        bool goes_on;
    } row[] = {{EAGAIN, true},  {ENOBUFS, true},   {ECONNREFUSED, true},
               {EINVAL, false}, {EMSGSIZE, false}, {EFAULT, false}};
    static nbyte to[1000000], from[1000000];

    (void)state;
    pattern_fill(from, sizeof(from), 9);
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct ends e = ends_open(0, 0);
        int before = count_descriptors();
        memset(to, 0, sizeof(to));
        set_fault(&loans, 5, 5, row[i].error); /* the third unit first; two calls each */
        uint64_t lent = transfer_large(&e, to, from);
        int failed = loans.count;
        set_fault(&loans, 0, 0, 0);
        assert_true(row[i].goes_on ? failed > 1 : failed == 1);
        assert_true(row[i].goes_on ? lent > 2 : lent == 2);
        assert_int_equal(count_descriptors(), before - (row[i].goes_on ? 0 : 2));
        ends_close(&e);
    }
}

/* What passes by itself, or that something can be done about, costs time and nothing else. */
static void transfer__sends_fail(void **state)
{
    static const int errors[] = {EAGAIN, EINTR,        ENOBUFS,      ENOMEM, EMSGSIZE,
                                 EPERM,  ECONNREFUSED, EHOSTUNREACH, EIO,    EINVAL};

    (void)state;
    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct ends e = ends_open(1472, 0);
        set_fault(&sends, 3, 5, errors[i]);
        transfer(&e, 10, ZCRP_OK);
        assert_true(sends.count > 0);
        set_fault(&sends, 0, 0, 0);
        ends_close(&e);
    }
}

static void transfer__receives_fail(void **state)
{
    static const int errors[] = {EAGAIN, EINTR, ENOMEM, ECONNREFUSED, EHOSTUNREACH};

    (void)state;
    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct ends e = ends_open(1472, 0);
        set_fault(&receives, 3, 5, errors[i]);
        transfer(&e, 10, ZCRP_OK);
        assert_true(receives.count > 0);
        set_fault(&receives, 0, 0, 0);
        ends_close(&e);
    }
}

/* Every datagram is too big, whatever its size: the unit shrinks to the least there is, and then
 * time goes by between attempts. */
static void transfer__nothing_fits(void **state)
{
    struct ends e = ends_open(1472, 0);
    struct zcrp_msg *m = zcrp_alloc_msg(100);

    (void)state;
    set_fault(&sends, 1, 1, EMSGSIZE);
    assert_int_equal(zcrp_submit(e.sender, m, 100), 0);
    assert_int_equal(zcrp_wait_for(m, 100000000), ZCRP_ERROR_TIMEOUT);
    assert_true(sends.count < 1000);
    assert_int_equal(zcrp_cancel(m), 0);
    zcrp_free_msg(m);
    ends_close(&e);
}

/* No call will do any more: messages fail, new ones are refused, close does not wait. */
static void transfer__broken(void **state)
{
    struct fault *const which[] = {&sends, &receives};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ends e = ends_open(1472, 0);
        struct zcrp_msg *m = zcrp_alloc_msg(10), *other = zcrp_alloc_msg(10);
        transfer(&e, 1, ZCRP_OK);
        /* The sender's unit breaks its sending, the receiver's request its receiving. */
        assert_int_equal(i == 0 ? zcrp_submit(e.receiver, other, 10) : 0, 0);
        set_fault(which[i], 1, 1, EBADF);
        int posted = i == 1 ? zcrp_submit(e.receiver, other, 10) : ZCRP_OK;
        int code = zcrp_submit(e.sender, m, 10);
        /* Either may have broken already. */
        assert_true(posted == ZCRP_OK || posted == ZCRP_ERROR_CHANNEL);
        if (code == ZCRP_OK)
            code = zcrp_wait_for(m, 20000000000);
        assert_int_equal(code, ZCRP_ERROR_CHANNEL);
        assert_int_equal(zcrp_submit(e.sender, m, 10), ZCRP_ERROR_CHANNEL);
        if (zcrp_error(other) == ZCRP_ERROR_BUSY)
            (void)zcrp_cancel(other);
        set_fault(which[i], 0, 0, 0);
        ends_close(&e);
        zcrp_free_msg(m);
        zcrp_free_msg(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open__no_memory, heal),
        cmocka_unit_test_setup(open__no_thread, heal),
        cmocka_unit_test_setup(open__no_descriptor, heal),
        cmocka_unit_test_setup(open__no_pipe, heal),
        cmocka_unit_test_setup(open__errno, heal),
        cmocka_unit_test_setup(descriptor__no_descriptor, heal),
        cmocka_unit_test_setup(alloc_msg__no_memory, heal),
        cmocka_unit_test_setup(transfer__takes_nothing, heal),
        cmocka_unit_test_setup(transfer__loans_fail, heal),
        cmocka_unit_test_setup(transfer__sends_fail, heal),
        cmocka_unit_test_setup(transfer__receives_fail, heal),
        cmocka_unit_test_setup(transfer__nothing_fits, heal),
        cmocka_unit_test_setup(transfer__broken, heal),
    };

    return cmocka_run_group_tests_name("entity", tests, NULL, NULL);
}
