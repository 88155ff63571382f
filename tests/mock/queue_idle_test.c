/* What it costs to ask a queue where nothing comes: one system call at most, however many links are
 * in it. And where something comes: none to find out that it is there, nor that there is no more.
 */
/* wrap: epoll_wait recvmsg recvmmsg sendmsg sched_yield */
#include "../support/mock.h"
#include "platform/system.h"
#include "zcrp.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PEERS = 20, TAKES = 2000, MESSAGES = 100, BYTES = 64, PAUSE_US = 300 };

int __real_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout);
ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
int __real_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags, struct timespec *t);
int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags, struct timespec *t);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __real_sched_yield(void);
int __wrap_sched_yield(void);

/* Of the thread that asks: all, those of epoll, those that receive, those that send, and those that
 * give the core away. */
static _Thread_local bool counts;
static _Thread_local int calls, asks, receives, sends, yields;

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    calls += counts;
    asks += counts;
    return __real_epoll_wait(epoll, events, most, timeout);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    calls += counts;
    receives += counts;
    return __real_recvmsg(fd, message, flags);
}

int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags, struct timespec *t)
{
    calls += counts;
    receives += counts;
    return __real_recvmmsg(fd, message, count, flags, t);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    calls += counts;
    sends += counts;
    return __real_sendmsg(fd, message, flags);
}

int __wrap_sched_yield(void)
{
    calls += counts;
    yields += counts;
    return __real_sched_yield();
}

TEST(queue_take__idle)
{
    struct zcrp_listener *l;
    struct zcrp_connection *there[PEERS], *here[PEERS];
    struct zcrp_completion c;
    struct zcrp_queue *q;
    char port[8];

    assert_int_equal(zcrp_listen(&l, "127.0.0.1", "0", NULL), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(l));
    assert_int_equal(zcrp_queue_open(&q), ZCRP_OK);
    for (int i = 0; i < PEERS; i++) {
        assert_int_equal(zcrp_connect(&there[i], "127.0.0.1", port, NULL, 5 * SECOND), ZCRP_OK);
        assert_int_equal(zcrp_accept(l, &here[i], 5 * SECOND), ZCRP_OK);
        assert_int_equal(zcrp_queue_add_connection(q, here[i], NULL), ZCRP_OK);
    }
    while (zcrp_queue_take(q, &c, 1, 300 * MILLISECOND) != 0)
        continue; /* until all have met, and are quiet */
    counts = true;
    for (int i = 0; i < TAKES; i++)
        assert_int_equal(zcrp_queue_take(q, &c, 1, 0), 0);
    counts = false;
    assert_in_range(calls, 1, TAKES * 3 / 2); /* some say meanwhile that they are there */
    for (int i = 0; i < PEERS; i++) {
        (void)zcrp_connection_close(there[i]);
        (void)zcrp_connection_close(here[i]);
    }
    assert_int_equal(zcrp_queue_close(q), ZCRP_OK);
    assert_int_equal(zcrp_listener_close(l), ZCRP_OK);
}

/* ---- one connection over UDP ---- */

static struct zcrp_listener *listener;
static struct zcrp_connection *caller, *called;
static struct zcrp_queue *queue;

static void open_two(void)
{
    const struct zcrp_options options = {.flags = ZCRP_NO_MEMORY};
    struct zcrp_completion c;
    char port[8];

    calls = asks = receives = yields = 0;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&caller, "127.0.0.1", port, &options, 5 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_accept(listener, &called, 5 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_queue_open(&queue), ZCRP_OK);
    assert_int_equal(zcrp_queue_add_connection(queue, called, NULL), ZCRP_OK);
    while (zcrp_queue_take(queue, &c, 1, 100 * MILLISECOND) != 0)
        continue;
}

static void close_two(void)
{
    (void)zcrp_connection_close(caller);
    (void)zcrp_connection_close(called);
    assert_int_equal(zcrp_queue_close(queue), ZCRP_OK);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}

/* The socket itself is asked, and epoll now and then; or while the engine's thread has the turn. */
TEST(queue_take__idle_with_one)
{
    struct zcrp_completion c;

    open_two();
    counts = true;
    for (int i = 0; i < TAKES; i++)
        assert_int_equal(zcrp_queue_take(queue, &c, 1, 0), 0);
    counts = false;
    assert_in_range(asks, 1, TAKES / 2);
    assert_in_range(receives, 1, TAKES);
    assert_in_range(calls, 1, TAKES + TAKES / 8);
    close_two();
}

/* A program that takes now and then receives each time. One that takes again and again, in vain,
 * leaves the core to others now and then. */
TEST(queue_take__idle_now_and_then)
{
    struct zcrp_completion c;

    open_two();
    counts = true;
    for (int i = 0; i < MESSAGES; i++) {
        usleep(PAUSE_US);
        assert_int_equal(zcrp_queue_take(queue, &c, 1, 0), 0);
    }
    assert_int_equal(yields, 0);
    for (int i = 0; i < TAKES; i++)
        assert_int_equal(zcrp_queue_take(queue, &c, 1, 0), 0);
    counts = false;
    assert_in_range(yields, 1, TAKES / 9);
    close_two();
}

/* A message by itself: one call receives it, and no other one receives, or asks; unless the machine
 * is so busy that the engine's thread was faster. */
TEST(queue_take__one_message)
{
    struct zcrp_msg *in = zcrp_alloc_msg(BYTES), *out = zcrp_alloc_msg(BYTES);
    struct zcrp_completion c;
    int straight = 0;

    open_two();
    memset(out->buffer, 0, BYTES);
    for (int i = 0; i < MESSAGES; i++) {
        assert_int_equal(zcrp_submit(zcrp_connection_receiver(called), in, BYTES), ZCRP_OK);
        assert_int_equal(zcrp_queue_take(queue, &c, 1, 0), 0);
        assert_int_equal(zcrp_submit(zcrp_connection_sender(caller), out, BYTES), ZCRP_OK);
        counts = true;
        do
            asks = receives = 0;
        while (zcrp_queue_take(queue, &c, 1, 0) == 0);
        counts = false;
        assert_ptr_equal(c.message, in);
        straight += asks == 0 && receives == 1;
        assert_int_equal(zcrp_wait_for(out, 5 * SECOND), ZCRP_OK);
    }
    assert_in_range(straight, MESSAGES / 10, MESSAGES);
    close_two();
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* Takes until it is told that this message has ended, and counts the calls of the last take. */
static void take_until(const struct zcrp_msg *m)
{
    struct zcrp_completion c = {.message = NULL};

    counts = true;
    while (c.message != m) {
        asks = receives = sends = 0;
        c.message = NULL;
        assert_true(zcrp_queue_take(queue, &c, 1, 0) >= 0);
    }
    counts = false;
}

/* A user that usually answers, if only after a look for something else, is told before its message
 * is acknowledged. The peer waits for the answer; the look acknowledges. */
TEST(queue_take__one_message_that_is_answered)
{
    struct zcrp_msg *in = zcrp_alloc_msg(BYTES), *out = zcrp_alloc_msg(BYTES);
    struct zcrp_msg *question = zcrp_alloc_msg(BYTES), *answer = zcrp_alloc_msg(BYTES);
    struct zcrp_completion c;
    int held = 0;

    open_two();
    memset(out->buffer, 0, BYTES);
    memset(question->buffer, 0, BYTES);
    for (int i = 0; i < MESSAGES; i++) {
        assert_int_equal(zcrp_submit(zcrp_connection_receiver(called), in, BYTES), ZCRP_OK);
        assert_int_equal(zcrp_submit(zcrp_connection_receiver(caller), answer, BYTES), ZCRP_OK);
        assert_int_equal(zcrp_submit(zcrp_connection_sender(caller), question, BYTES), ZCRP_OK);
        take_until(in);
        held += receives > 0 && sends == 0;
        assert_int_equal(zcrp_queue_take(queue, &c, 1, 0), 0);
        assert_int_equal(zcrp_submit(zcrp_connection_sender(called), out, BYTES), ZCRP_OK);
        assert_int_equal(zcrp_wait_for(answer, 5 * SECOND), ZCRP_OK);
        assert_int_equal(zcrp_wait_for(question, 5 * SECOND), ZCRP_OK);
        take_until(out);
    }
    assert_in_range(held, MESSAGES / 10, MESSAGES);
    close_two();
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    zcrp_free_msg(question);
    zcrp_free_msg(answer);
}
