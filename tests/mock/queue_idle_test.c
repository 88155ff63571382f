/* What it costs to ask a queue where nothing comes: one system call at most, however many links are
 * in it. */
/* wrap: epoll_wait recvmsg recvmmsg sendmsg sched_yield */
#include "../support/mock.h"
#include "platform/system.h"
#include "zcrp.h"

#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PEERS = 20, TAKES = 2000 };

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

/* Of the thread that asks. */
static _Thread_local bool counts;
static _Thread_local int calls;

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    calls += counts;
    return __real_epoll_wait(epoll, events, most, timeout);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    calls += counts;
    return __real_recvmsg(fd, message, flags);
}

int __wrap_recvmmsg(int fd, struct mmsghdr *message, unsigned count, int flags, struct timespec *t)
{
    calls += counts;
    return __real_recvmmsg(fd, message, count, flags, t);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    calls += counts;
    return __real_sendmsg(fd, message, flags);
}

int __wrap_sched_yield(void)
{
    calls += counts;
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
