/* A call that reads from a peer's memory, or writes to it, and sleeps there: a peer that means harm
 * can bring that about. Or a call that sends, and waits for pages of its message or for a
 * processor. Cancel and close do not wait for it. */
/* wrap: process_vm_readv process_vm_writev sendmsg sendmmsg */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "common/clock.h"
#include "zcrp.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS ((int64_t)1000000)

enum { BYTES = 1 << 20, MANY = 4096 };

static const struct zcrp_options limits = {.linger_ns = 200 * MS, .spin_ns = 1000 * MS};

/* What sticks. */
enum place { READING, PUSHING, SENDING };

static enum place place;
static _Atomic bool must_stick, is_stuck; /* in this process only */

/* Until the test says so; but who waits for this call waits in vain, and fails. */
static void stick(size_t bytes)
{
    int64_t limit = clock_now_ns() + 20000 * MS;

    if (bytes < MANY || !atomic_load(&must_stick))
        return;
    atomic_store(&is_stuck, true);
    while (atomic_load(&must_stick) && clock_now_ns() < limit)
        (void)usleep(1000);
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags)
{
    if (pid != getpid() && heres > 1)
        stick(here[1].iov_len);
    return __real_process_vm_readv(pid, here, heres, there, theres, flags);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *here, unsigned long heres,
                                 const struct iovec *there, unsigned long theres,
                                 unsigned long flags)
{
    if (pid != getpid())
        stick(here[0].iov_len);
    return __real_process_vm_writev(pid, here, heres, there, theres, flags);
}

static void stick_with(const struct msghdr *message)
{
    size_t bytes = 0;

    for (size_t i = 0; i < message->msg_iovlen; i++)
        bytes += message->msg_iov[i].iov_len;
    if (place == SENDING)
        stick(bytes);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    stick_with(message);
    return __real_sendmsg(fd, message, flags);
}

int __real_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    stick_with(&messages[0].msg_hdr);
    return __real_sendmmsg(fd, messages, count, flags);
}

static int open_end(struct zcrp_entity **e, const struct loopback *sockets, bool is_sender)
{
    return is_sender ? zcrp_open_sender(e, sockets->sender, &limits)
                     : zcrp_open_receiver(e, sockets->receiver, &limits);
}

/* The other process: sends or receives for as long as it lives. */
static void be_peer(const struct loopback *sockets, bool is_sender)
{
    struct zcrp_entity *e;
    int code = open_end(&e, sockets, is_sender);
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(m->buffer, 1, BYTES);
    while (code == 0 && (code = zcrp_submit(e, m, BYTES)) == 0)
        code = zcrp_wait_for(m, -1);
    for (;;)
        (void)pause();
}

/* Sends or receives by a thread of its own until a call sticks, and waits for each message, or
 * takes its completion. */
struct user {
    struct zcrp_entity *entity;
    struct zcrp_msg *message;
    struct zcrp_queue *queue; /* NULL: none */
};

static int await_message(const struct user *user)
{
    struct zcrp_completion completion;
    int taken;

    if (user->queue == NULL)
        return zcrp_wait_for(user->message, -1);
    do
        taken = zcrp_queue_take(user->queue, &completion, 1, 20 * MS);
    while (taken >= 0 && zcrp_error(user->message) == ZCRP_ERROR_BUSY);
    return zcrp_error(user->message);
}

static void *move_until_stuck(void *context)
{
    const struct user *user = context;
    int code = ZCRP_OK;

    while (!atomic_load(&is_stuck) && code == ZCRP_OK) {
        code = zcrp_submit(user->entity, user->message, BYTES);
        if (code == ZCRP_OK)
            code = await_message(user);
    }
    return NULL;
}

static void await_stuck(void)
{
    int64_t limit = clock_now_ns() + 20000 * MS;

    (void)usleep(50000); /* both have met, or meet soon */
    atomic_store(&must_stick, true);
    while (!atomic_load(&is_stuck)) {
        assert_true(clock_now_ns() < limit);
        (void)usleep(1000);
    }
}

static void stick_and_end(enum place where, bool in_queue)
{
    struct user user = {.queue = NULL};
    bool is_sender = where != READING;
    pthread_t mover;

    place = where;
    (void)unsetenv("ZCRP_NO_MEMORY");
    if (where == SENDING)
        (void)setenv("ZCRP_NO_MEMORY", "1", 1);
    atomic_store(&is_stuck, false);
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t peer = fork();
    if (peer == 0)
        be_peer(&sockets, !is_sender);
    assert_int_equal(open_end(&user.entity, &sockets, is_sender), ZCRP_OK);
    if (in_queue) {
        assert_int_equal(zcrp_queue_open(&user.queue), ZCRP_OK);
        assert_int_equal(zcrp_queue_add(user.queue, user.entity, NULL), ZCRP_OK);
    }
    user.message = zcrp_alloc_msg(BYTES);
    memset(user.message->buffer, 2, BYTES);
    assert_int_equal(pthread_create(&mover, NULL, move_until_stuck, &user), 0);
    await_stuck();
    int64_t began = clock_now_ns();
    assert_int_equal(zcrp_cancel(user.message), ZCRP_ERROR_BUSY);
    assert_int_equal(zcrp_close(user.entity), ZCRP_ERROR_BUSY);
    assert_int_equal(zcrp_close(user.entity), ZCRP_ERROR_BUSY);
    assert_true(clock_now_ns() - began < 5000 * MS);
    assert_int_equal(zcrp_error(user.message), ZCRP_ERROR_BUSY);
    atomic_store(&must_stick, false);
    assert_int_equal(pthread_join(mover, NULL), 0);
    assert_int_not_equal(zcrp_error(user.message), ZCRP_ERROR_BUSY);
    assert_int_not_equal(zcrp_close(user.entity), ZCRP_ERROR_BUSY);
    zcrp_free_msg(user.message);
    if (in_queue)
        assert_int_equal(zcrp_queue_close(user.queue), ZCRP_OK);
    (void)kill(peer, SIGKILL);
    (void)waitpid(peer, NULL, 0);
    loopback_close(&sockets);
}

TEST(stuck__reading)
{
    stick_and_end(READING, false);
}

TEST(stuck__pushing)
{
    if (!has_pidfd()) /* then nobody pushes */
        skip();
    stick_and_end(PUSHING, false);
}

TEST(stuck__reading_for_a_queue)
{
    stick_and_end(READING, true);
}

TEST(stuck__pushing_for_a_queue)
{
    if (!has_pidfd())
        skip();
    stick_and_end(PUSHING, true);
}

TEST(stuck__sending)
{
    stick_and_end(SENDING, false);
}

TEST(stuck__sending_for_a_queue)
{
    stick_and_end(SENDING, true);
}
