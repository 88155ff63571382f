/* A machine that fails, for tests of entities: every allocation, thread and descriptor once, and
 * system calls of the channel every few times, or by chance. Calls that do not fail go through to
 * the system. Included by one file of a program, which wraps these calls. */
#ifndef ZCRP_TESTS_MOCK_ENTITY_FAULTS_H
#define ZCRP_TESTS_MOCK_ENTITY_FAULTS_H

#include "../support/mock.h"
#include "../support/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Which calls of a kind fail, and how. */
struct fault {
    _Atomic int left;  /* calls until the next failure; 0: none fails */
    _Atomic int again; /* afterwards `left` becomes this */
    _Atomic int error;
    _Atomic int count; /* failures so far */
};

static struct fault memory, threads, descriptors, sends, receives;

static void set_fault(struct fault *f, int first, int again, int error)
{
    f->again = again;
    f->error = error;
    f->count = 0;
    f->left = first;
}

/* With `one_in` any call fails, once in so many, with any of these errors. */
struct chances {
    _Atomic unsigned one_in; /* 0: none fails */
    _Atomic uint64_t random;
    const int *error;
    unsigned errors;
};

static struct chances chances;

/* The next number of one stream, whichever thread asks. */
static uint64_t draw(void)
{
    uint64_t state = atomic_fetch_add(&chances.random, UINT64_C(0x9e3779b97f4a7c15));

    return random_next(&state);
}

/* EIO is what the kernel says when it cannot cut a burst, and else never. */
static bool fails_by_chance(struct fault *f, bool is_cut)
{
    unsigned one_in = atomic_load(&chances.one_in);

    if (one_in == 0 || (f != &sends && f != &receives) || draw() % one_in != 0)
        return false;
    int error = chances.error[draw() % chances.errors];
    if (error == EIO && !is_cut)
        return false;
    f->count++;
    errno = error;
    return true;
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
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *context);
int __real_eventfd(unsigned count, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
int __real_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
int __real_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
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

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails(&memory) ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
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

/* Datagrams of more bytes than this are too big; 0: none is. */
static _Atomic size_t carried;

/* The bytes of the call's first datagram. */
static size_t first_bytes(const struct msghdr *message)
{
    size_t bytes = 0;
    uint16_t segment = 0;

    for (size_t i = 0; i < message->msg_iovlen; i++)
        bytes += message->msg_iov[i].iov_len;
    if (message->msg_controllen > 0)
        memcpy(&segment, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof(segment));
    return segment > 0 && segment < bytes ? segment : bytes;
}

static bool is_too_big(const struct msghdr *message)
{
    if (carried == 0 || first_bytes(message) <= carried)
        return false;
    sends.count++;
    errno = EMSGSIZE;
    return true;
}

/* EIO and EINVAL are what the kernel says when it cannot cut a burst, and else never. */
static bool send_fails(const struct msghdr *message)
{
    bool is_cut = message->msg_controllen > 0;

    if (is_too_big(message) || fails_by_chance(&sends, is_cut))
        return true;
    return ((sends.error != EIO && sends.error != EINVAL) || is_cut) && fails(&sends);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return send_fails(message) ? -1 : __real_sendmsg(fd, message, flags);
}

int __wrap_sendmmsg(int fd, struct mmsghdr *message, unsigned count, int flags)
{
    return send_fails(&message->msg_hdr) ? -1 : __real_sendmmsg(fd, message, count, flags);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    return fails_by_chance(&receives, false) || fails(&receives)
               ? -1
               : __real_recvmsg(fd, message, flags);
}

int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags,
                    struct timespec *limit)
{
    return fails_by_chance(&receives, false) || fails(&receives)
               ? -1
               : __real_recvmmsg(fd, message, count, flags, limit);
}

static void heal(void)
{
    set_fault(&memory, 0, 0, ENOMEM);
    set_fault(&threads, 0, 0, EAGAIN);
    set_fault(&descriptors, 0, 0, EMFILE);
    set_fault(&sends, 0, 0, 0);
    set_fault(&receives, 0, 0, 0);
    chances.one_in = 0;
    carried = 0;
}

#endif
