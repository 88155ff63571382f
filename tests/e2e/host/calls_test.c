/* How many system calls a small message costs on one host. A child has both ends, and one thread
 * that uses them in turns, as two would that spin and find each message at once. Its parent counts
 * the calls of that thread, while nothing runs beside: a thread that waits for long sleeps, which
 * is a call. A sanitizer makes calls of its own. */
#include "../../support/ends.h"
#include "../../support/suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(alone)

enum { BYTES = 64, WARM = 2000, TRIPS = 2000 };

/* ---- the child ---- */

struct end {
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *in, *out;
};

static void must(bool holds)
{
    if (!holds)
        _exit(EXIT_FAILURE);
}

static struct end end_of(struct zcrp_connection *c, bool is_wrapped)
{
    static uint8_t memory[4][BYTES];
    static int used;
    struct end e = {.sender = zcrp_connection_sender(c), .receiver = zcrp_connection_receiver(c)};

    e.in = is_wrapped ? zcrp_wrap_msg(memory[used++], BYTES) : zcrp_alloc_msg(BYTES);
    e.out = is_wrapped ? zcrp_wrap_msg(memory[used++], BYTES) : zcrp_alloc_msg(BYTES);
    return e;
}

static void pass(const struct end *from, const struct end *to)
{
    must(zcrp_submit(to->receiver, to->in, BYTES) == ZCRP_OK);
    must(zcrp_submit(from->sender, from->out, BYTES) == ZCRP_OK);
    must(zcrp_wait_for(to->in, -1) == ZCRP_OK);
    must(zcrp_wait_for(from->out, -1) == ZCRP_OK);
}

static void go(const struct end *a, const struct end *b, int trips)
{
    for (int i = 0; i < trips; i++) {
        pass(a, b);
        pass(b, a);
    }
}

static _Noreturn void run(bool is_wrapped)
{
    struct zcrp_connection *here, *there;
    struct zcrp_listener *listener;
    char port[8];

    must(zcrp_listen(&listener, "127.0.0.1", "0", NULL) == ZCRP_OK);
    (void)snprintf(port, sizeof port, "%d", zcrp_listener_port(listener));
    must(zcrp_connect(&here, "127.0.0.1", port, NULL, -1) == ZCRP_OK);
    must(zcrp_accept(listener, &there, -1) == ZCRP_OK);
    struct end a = end_of(here, is_wrapped), b = end_of(there, is_wrapped);
    go(&a, &b, WARM); /* they meet in memory */
    must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP);
    go(&a, &b, TRIPS);
    raise(SIGSTOP);
    _exit(EXIT_SUCCESS);
}

/* ---- the parent ---- */

/* Between the child's two stops; each call stops it twice. -1: processes may not be traced. */
static int count_calls(pid_t pid)
{
    int status = 0, stops = 0;

    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return -1;
    do {
        ck_assert_int_eq(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSTOPPED(status));
        stops++;
    } while (WSTOPSIG(status) == SIGTRAP);
    ck_assert_int_eq(WSTOPSIG(status), SIGSTOP);
    return stops / 2;
}

/* Calls for each message. Load may add some. */
static double calls_each(bool is_wrapped)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        run(is_wrapped);
    int calls = count_calls(pid);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    double each = (double)calls / (2 * TRIPS);
    printf("%s memory: %.3f system calls a message, both ends\n",
           is_wrapped ? "the program's" : "the library's", each);
    return each;
}

static bool counts_for_itself(void)
{
    if (IS_SANITIZED)
        puts("sanitizers make system calls, and waits longer");
    return !IS_SANITIZED;
}

static double least_calls(bool is_wrapped, double enough)
{
    double least = calls_each(is_wrapped);

    for (int i = 0; i < 9 && least > enough; i++)
        least = fmin(least, calls_each(is_wrapped));
    return least;
}

TEST(calls__messages_of_the_librarys_memory_need_none, .needs = counts_for_itself)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    ck_assert_double_le(least_calls(false, 0.01), 0.01);
}

/* The kernel reads and writes what may be gone: once at each end. A waiter that a busy machine puts
 * to sleep makes a call more; were there one more for each message, it would be 3. */
TEST(calls__messages_of_the_programs_memory_need_one_at_each_end, .needs = counts_for_itself)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    ck_assert_double_le(least_calls(true, 2.5), 2.5);
}
