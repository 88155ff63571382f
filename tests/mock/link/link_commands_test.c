/* wrap: pipe2 open unshare fork setns close write waitpid kill */
#include "zcrp-link/commands.h"

#include "../../support/mock.h"
#include "common/complain.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_FD = 10, INIT = 100, CHILDREN = 3 };

/* Who is over, in this order; and a kernel whose n-th call fails. */
static struct {
    int calls, fails_at, opened, closed, forked;
    pid_t over[CHILDREN];
    int status[CHILDREN], over_count, reaped;
    pid_t killed[4];
    int signals[4], kills;
} fake;

static struct commands commands;
static char *words[] = {"true", NULL};
static char **const pair[ENDS] = {words, words};
static const struct ends ends;

static int answer(int result)
{
    if (++fake.calls != fake.fails_at)
        return result;
    errno = EMFILE;
    return -1;
}

const char *ends_address(int end)
{
    return end == END_A ? "A" : "B";
}

int __wrap_pipe2(int fd[2], int flags)
{
    (void)flags;
    if (answer(0) < 0)
        return -1;
    fd[0] = FIRST_FD + fake.opened++;
    fd[1] = FIRST_FD + fake.opened++;
    return 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    (void)flags;
    assert_string_equal(path, "/proc/self/ns/pid");
    return answer(0) < 0 ? -1 : FIRST_FD + fake.opened++;
}

int __wrap_unshare(int flags)
{
    assert_int_equal(flags, CLONE_NEWPID);
    return answer(0);
}

pid_t __wrap_fork(void)
{
    return answer(INIT + fake.forked++);
}

int __wrap_setns(int fd, int kind)
{
    (void)fd;
    assert_int_equal(kind, CLONE_NEWPID);
    return answer(0);
}

int __wrap_close(int fd)
{
    assert_true(fd >= FIRST_FD && fd < FIRST_FD + fake.opened);
    fake.closed++;
    return 0;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    (void)bytes;
    assert_int_equal(fd, commands.go);
    return answer((int)size);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    (void)pid;
    (void)options;
    if (fake.reaped == fake.over_count) {
        errno = ECHILD;
        return -1;
    }
    if (status != NULL)
        *status = fake.status[fake.reaped];
    return fake.over[fake.reaped++];
}

int __wrap_kill(pid_t pid, int signal)
{
    fake.killed[fake.kills] = pid;
    fake.signals[fake.kills++] = signal;
    return 0;
}

static int begin(int fails_at)
{
    memset(&fake, 0, sizeof fake);
    fake.fails_at = fails_at;
    return commands_start(&commands, pair, &ends);
}

static void is_over(pid_t pid, int status)
{
    fake.over[fake.over_count] = pid;
    fake.status[fake.over_count++] = status;
}

FIXTURE(complain_silently, NULL)

TEST(commands_start__three_processes)
{
    assert_int_equal(begin(0), 0);
    assert_int_equal(commands.init, INIT);
    assert_int_equal(commands.pid[END_A], INIT + 1);
    assert_int_equal(commands.pid[END_B], INIT + 2);
    commands_end(&commands);
    assert_int_equal(fake.killed[0], INIT);
    assert_int_equal(fake.signals[0], SIGKILL);
    assert_int_equal(fake.closed, fake.opened);
}

/* Whichever call fails: a complaint; what has been started is killed, what was opened is closed. */
TEST(commands_start__each_call_fails)
{
    int calls;

    begin(0);
    calls = fake.calls;
    assert_int_equal(calls, 8);
    for (int n = 1; n <= calls; n++) {
        bool is_last = n == calls; /* the way back, which need not be */
        assert_int_equal(begin(n), is_last ? 0 : -1);
        assert_true(is_last || strstr(complain_last(), strerror(EMFILE)) != NULL);
        commands_end(&commands);
        assert_int_equal(fake.closed, fake.opened);
        assert_int_equal(fake.kills, n > 5);
    }
}

TEST(commands_go__a_is_gone)
{
    assert_int_equal(begin(9), 0);
    commands_go(&commands);
    assert_non_null(strstr(complain_last(), "A ended before its start"));
}

TEST(commands_notice__as_a_shell_says_it)
{
    begin(0);
    commands_notice(&commands);
    assert_false(commands.is_over[END_A] || commands.is_over[END_B]);
    is_over(INIT + 1, 3 << 8);
    commands_notice(&commands);
    assert_true(commands.is_over[END_A] && !commands.is_over[END_B]);
    assert_int_equal(commands.status[END_A], 3);
    is_over(INIT + 2, SIGKILL);
    is_over(INIT, SIGKILL);
    commands_notice(&commands);
    assert_int_equal(commands.status[END_B], 128 + SIGKILL);
    assert_int_equal(commands.init, -1);
    commands_end(&commands);
    assert_int_equal(fake.kills, 0);
}

TEST(commands_signal__only_who_is_there)
{
    begin(0);
    is_over(INIT + 1, 0);
    commands_notice(&commands);
    commands_signal(&commands, END_A, SIGTERM);
    assert_int_equal(fake.kills, 0);
    commands_signal(&commands, END_B, SIGTERM);
    assert_int_equal(fake.killed[0], INIT + 2);
    assert_int_equal(fake.signals[0], SIGTERM);
}
