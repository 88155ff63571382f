/* wrap: ready_wait clock_now */
#include "transport/channel.h"

#include "../../support/mock.h"
#include "platform/sleep.h"
#include "platform/system.h"

enum { FD = 5, WAKE = 6 };

static struct channel c;
static struct pollfd asked[2];
static nfds_t asked_count;
static instant asked_deadline;
static short fd_ready, wake_ready; /* revents to answer with */

int __wrap_ready_wait(struct pollfd *set, nfds_t count, instant deadline)
{
    asked_count = count;
    asked_deadline = deadline;
    for (nfds_t i = 0; i < count; i++) {
        asked[i] = set[i];
        set[i].revents = set[i].fd == FD ? fd_ready : wake_ready;
    }
    return mock_type(int);
}

instant __wrap_clock_now(void)
{
    return SECOND;
}

static void setup(void)
{
    c = (struct channel){.fd = FD};
    fd_ready = wake_ready = 0;
}

FIXTURE(setup, NULL)

TEST(channel_wait__results)
{
    static const struct {
        short fd, wake;
        int ready, result, fault;
    } row[] = {
        {POLLIN, 0, 1, CHANNEL_READABLE, 0},
        {0, POLLIN, 1, CHANNEL_WOKEN, 0},
        {POLLIN, POLLIN, 2, CHANNEL_READABLE | CHANNEL_WOKEN, 0},
        {POLLERR, 0, 1, CHANNEL_READABLE, 0}, /* to be taken off by a receive */
        {POLLIN | POLLHUP, 0, 1, CHANNEL_READABLE, 0},
        {POLLHUP, 0, 1, CHANNEL_BROKEN, EPIPE},
        {POLLNVAL, 0, 1, CHANNEL_BROKEN, EBADF},
        {0, 0, 0, 0, 0},
        {0, 0, -ENOMEM, CHANNEL_BROKEN, ENOMEM},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fd_ready = row[i].fd;
        wake_ready = row[i].wake;
        will_return(__wrap_ready_wait, row[i].ready);
        assert_int_equal(channel_wait(&c, WAKE, 3 * SECOND), row[i].result);
        assert_int_equal(channel_fault(&c), row[i].fault);
        assert_int_equal(asked_deadline, 3 * SECOND);
        assert_int_equal(asked[0].fd, FD);
        assert_int_equal(asked[0].events, POLLIN);
        assert_int_equal(asked[1].fd, WAKE);
        assert_int_equal(asked[1].events, POLLIN);
    }
}

TEST(channel_nap__is_ended_by_nothing_that_arrives)
{
    static const struct {
        short wake;
        int ready, result;
    } row[] = {{POLLIN, 1, CHANNEL_WOKEN}, {0, 0, 0}, {0, -ENOMEM, CHANNEL_BROKEN}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fd_ready = POLLIN;
        wake_ready = row[i].wake;
        will_return(__wrap_ready_wait, row[i].ready);
        assert_int_equal(channel_nap(&c, WAKE, 3 * SECOND), row[i].result);
        assert_int_equal(asked_deadline, 3 * SECOND);
        assert_int_equal(asked_count, 1);
        assert_int_equal(asked[0].fd, WAKE);
    }
}

TEST(channel_wait_writable__blocked)
{
    static const struct {
        short fd, wake;
        int ready, result;
    } row[] = {
        {POLLOUT, 0, 1, 0},
        {0, POLLIN, 1, CHANNEL_WOKEN},
        {POLLOUT | POLLERR, POLLIN, 2, CHANNEL_WOKEN},
        {POLLNVAL, 0, 1, CHANNEL_BROKEN},
        {0, 0, 0, 0},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fd_ready = row[i].fd;
        wake_ready = row[i].wake;
        will_return(__wrap_ready_wait, row[i].ready);
        assert_int_equal(channel_wait_writable(&c, CHANNEL_BLOCKED, WAKE, NEVER), row[i].result);
        assert_int_equal(asked[0].events, POLLOUT);
        assert_true(asked_deadline == NEVER);
    }
}

/* A crowded socket is writable all the time: only time helps. */
TEST(channel_wait_writable__crowded)
{
    will_return(__wrap_ready_wait, 0);
    assert_int_equal(channel_wait_writable(&c, CHANNEL_CROWDED, WAKE, NEVER), 0);
    assert_int_equal(asked_count, 1);
    assert_int_equal(asked[0].fd, WAKE);
    assert_int_equal(asked_deadline, SECOND + CHANNEL_PAUSE);
    will_return(__wrap_ready_wait, 1);
    assert_int_equal(channel_wait_writable(&c, CHANNEL_CROWDED, WAKE, SECOND + 1), CHANNEL_WOKEN);
    assert_int_equal(asked_deadline, SECOND + 1);
    will_return(__wrap_ready_wait, -ENOMEM);
    assert_int_equal(channel_wait_writable(&c, CHANNEL_CROWDED, WAKE, NEVER), CHANNEL_BROKEN);
}
