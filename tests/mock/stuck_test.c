/* A call that reads from a peer's memory, or writes to it, and sleeps there: a peer that means harm
 * can bring that about. Cancel and close do not wait for it. */
/* wrap: process_vm_readv process_vm_writev */
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
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS ((int64_t)1000000)

enum { BYTES = 1 << 20, MANY = 4096 };

static const struct zcrp_options limits = {.linger_ns = 200 * MS, .spin_ns = 1000 * MS};

static _Atomic bool must_stick, is_stuck; /* in this process only */

static void stick(size_t bytes)
{
    if (bytes < MANY || !atomic_load(&must_stick))
        return;
    atomic_store(&is_stuck, true);
    while (atomic_load(&must_stick))
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

static void stick_and_end(bool is_sender, bool in_queue)
{
    struct user user = {.queue = NULL};
    pthread_t mover;

    (void)unsetenv("ZCRP_NO_MEMORY");
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
    stick_and_end(false, false);
}

TEST(stuck__pushing)
{
    if (!has_pidfd()) /* then nobody pushes */
        skip();
    stick_and_end(true, false);
}

TEST(stuck__reading_for_a_queue)
{
    stick_and_end(false, true);
}

TEST(stuck__pushing_for_a_queue)
{
    if (!has_pidfd())
        skip();
    stick_and_end(true, true);
}
