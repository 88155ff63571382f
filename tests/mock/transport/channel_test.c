/* wrap: ready_wait */
#include "transport/channel.h"

#include "../../support/mock.h"
#include "platform/sleep.h"

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
        int ready, result;
    } row[] = {
        {POLLIN, 0, 1, CHANNEL_READABLE},
        {0, POLLIN, 1, CHANNEL_WOKEN},
        {POLLIN, POLLIN, 2, CHANNEL_READABLE | CHANNEL_WOKEN},
        {POLLERR, 0, 1, CHANNEL_READABLE}, /* to be taken off by a receive */
        {POLLIN | POLLHUP, 0, 1, CHANNEL_READABLE},
        {POLLHUP, 0, 1, CHANNEL_BROKEN},
        {POLLNVAL, 0, 1, CHANNEL_BROKEN},
        {0, 0, 0, 0},
        {0, 0, -ENOMEM, CHANNEL_BROKEN},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fd_ready = row[i].fd;
        wake_ready = row[i].wake;
        will_return(__wrap_ready_wait, row[i].ready);
        assert_int_equal(channel_wait(&c, WAKE, 3 * SECOND), row[i].result);
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
        assert_int_equal(channel_nap(WAKE, 3 * SECOND), row[i].result);
        assert_int_equal(asked_deadline, 3 * SECOND);
        assert_int_equal(asked_count, 1);
        assert_int_equal(asked[0].fd, WAKE);
    }
}
