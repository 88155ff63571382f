/* wrap: read write ppoll clock_gettime nanosleep prctl sched_setscheduler malloc */
#include "zcrp-link/relay.h"

#include "../../support/mock.h"
#include "common/complain.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { WIRE_A = 5, WIRE_B = 6, OTHER = 7, PACKETS_MOST = 400, MTU = 1500 };

/* Two wires and a clock: what comes when to A's wire, what went when to B's. */
static struct {
    instant now, other_at;
    instant comes_at[PACKETS_MOST], went_at[PACKETS_MOST];
    int to_come, came, went;
    int write_error, poll_errors, naps, polls, mallocs_left, scheduler_error;
} fake;

static struct relay relay;
static struct conditions conditions[ENDS];
static const int wires[ENDS] = {WIRE_A, WIRE_B};

void *__real_malloc(size_t size);

static bool has_come(void)
{
    return fake.came < fake.to_come && fake.comes_at[fake.came] <= fake.now;
}

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    assert_true(size >= 1000);
    if (fd != WIRE_A || !has_come()) {
        errno = EAGAIN;
        return -1;
    }
    fake.came++;
    memset(bytes, 0, 1000);
    return 1000;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    (void)bytes;
    assert_int_equal(fd, WIRE_B);
    if (fake.write_error != 0) {
        errno = fake.write_error;
        return -1;
    }
    fake.went_at[fake.went++] = fake.now;
    return (ssize_t)size;
}

/* Sleeps until the timeout, or something comes before. */
int __wrap_ppoll(struct pollfd *polled, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask)
{
    instant until = fake.now + timeout->tv_sec * SECOND + timeout->tv_nsec;

    (void)count;
    (void)mask;
    fake.polls++;
    if (fake.poll_errors > 0) {
        fake.poll_errors--;
        errno = EINTR;
        return -1;
    }
    if (fake.came < fake.to_come && (polled[END_A].events & POLLIN) != 0)
        until = instant_earlier(until, fake.comes_at[fake.came]);
    until = instant_earlier(until, fake.other_at);
    fake.now = until > fake.now ? until : fake.now;
    polled[END_A].revents = has_come() ? polled[END_A].events : 0;
    polled[END_B].revents = 0;
    polled[ENDS].revents = fake.now >= fake.other_at ? POLLIN : 0;
    return 1;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    *now = (struct timespec){.tv_sec = fake.now / SECOND, .tv_nsec = fake.now % SECOND};
    return 0;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *rest)
{
    (void)rest;
    fake.now += length->tv_nsec;
    fake.naps++;
    return 0;
}

int __wrap_prctl(int what, ...)
{
    assert_int_equal(what, PR_SET_TIMERSLACK);
    return 0;
}

int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    (void)pid;
    (void)param;
    assert_int_equal(policy, SCHED_FIFO | SCHED_RESET_ON_FORK);
    errno = fake.scheduler_error;
    return fake.scheduler_error != 0 ? -1 : 0;
}

void *__wrap_malloc(size_t size)
{
    return fake.mallocs_left-- > 0 ? __real_malloc(size) : NULL;
}

/* `count` packets of 1000 bytes come, `apart` from each other. */
static void begin(int count, duration apart, const struct conditions *of_a)
{
    memset(&fake, 0, sizeof fake);
    fake.other_at = NEVER;
    fake.to_come = count;
    fake.mallocs_left = 10000;
    for (int i = 0; i < count; i++)
        fake.comes_at[i] = MILLISECOND + i * apart;
    conditions[END_A] = *of_a;
    assert_int_equal(relay_init(&relay, wires, conditions, MTU, 1), 0);
}

FIXTURE(complain_silently, NULL)

TEST(relay_run__delivers_when_due)
{
    begin(10, 0, &(struct conditions){.rate = 8000000, .queue = 1e9, .delay = 5 * MILLISECOND});
    assert_false(relay_run(&relay, OTHER, SECOND));
    assert_int_equal(fake.went, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fake.went_at[i], (7 + i) * MILLISECOND);
    assert_int_equal(fake.now, SECOND);
    assert_true(fake.polls < 20);
    relay_fini(&relay);
}

TEST(relay_run__ends_when_there_is_something_else)
{
    begin(1, 0, &(struct conditions){.delay = 5 * MILLISECOND});
    fake.other_at = 3 * MILLISECOND;
    assert_true(relay_run(&relay, OTHER, NEVER));
    assert_int_equal(fake.now, 3 * MILLISECOND);
    assert_int_equal(fake.went, 0);
    relay_fini(&relay);
}

/* With many packets it naps, and none is more than a nap late. */
TEST(relay_run__several_at_a_time)
{
    begin(PACKETS_MOST, 12 * MICROSECOND, &(struct conditions){0});
    relay_run(&relay, OTHER, SECOND);
    assert_int_equal(fake.went, PACKETS_MOST);
    assert_true(fake.naps > 50);
    assert_true(fake.polls < PACKETS_MOST);
    for (int i = 0; i < PACKETS_MOST; i++)
        assert_true(fake.went_at[i] - fake.comes_at[i] <= 25 * MICROSECOND);
    relay_fini(&relay);
}

TEST(relay_run__each_at_its_time)
{
    begin(PACKETS_MOST, 77 * MICROSECOND, &(struct conditions){0});
    relay_run(&relay, OTHER, SECOND);
    assert_int_equal(fake.naps, 0);
    for (int i = 0; i < PACKETS_MOST; i++)
        assert_int_equal(fake.went_at[i], fake.comes_at[i]);
    relay_fini(&relay);
}

TEST(relay_run__counts_what_is_refused)
{
    static const int errors[] = {EINVAL, EIO, ENOBUFS, EAGAIN};
    for (int i = 0; i < 4; i++) {
        begin(3, 0, &(struct conditions){0});
        fake.write_error = errors[i];
        relay_run(&relay, OTHER, SECOND);
        assert_int_equal(relay.refused[END_A], 3);
        relay_fini(&relay);
    }
}

TEST(relay_run__interrupted)
{
    begin(3, 0, &(struct conditions){0});
    fake.poll_errors = 2;
    relay_run(&relay, OTHER, SECOND);
    assert_int_equal(fake.went, 3);
    relay_fini(&relay);
}

/* What has no place waits in the kernel until a packet has left. */
TEST(relay_run__without_memory)
{
    begin(3, 0, &(struct conditions){.delay = MILLISECOND});
    relay.packets.most = 1;
    relay_run(&relay, OTHER, SECOND);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fake.went_at[i], (2 + i) * MILLISECOND);
    relay_fini(&relay);
}

TEST(relay_init__without_memory)
{
    for (int n = 0; n < ENDS; n++) {
        fake.mallocs_left = n;
        assert_int_equal(relay_init(&relay, wires, conditions, MTU, 1), -1);
        assert_string_equal(complain_last(), "there is no memory for the link");
    }
}

/* Without the right to hurry it goes on. */
TEST(relay_hurry__refused)
{
    fake.scheduler_error = EPERM;
    relay_hurry();
    fake.scheduler_error = 0;
    relay_hurry();
}
