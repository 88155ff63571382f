/* Which system calls a small message costs on one host. A child has both ends, and one thread that
 * uses them in turns, as two would that spin and find each message at once. Its parent is told of
 * each call of each of its threads, and counts calls by their numbers.
 *
 *     reads     the kernel copies from the program's memory, for the end that sends
 *     writes    it copies to the program's memory, for the end that receives
 *     waits     a thread sleeps, wakes another, or looks at a socket or at the time
 *     others    all else
 *
 * A copy belongs to a message, whichever thread makes it, and however slow the machine is: so
 * copies are bounded, and so are others, of which a message needs none. How often threads wait and
 * wake each other is decided by who has a processor when, and a thread that is traced is slow: that
 * is told only. A sanitizer makes calls of its own. */
#include "../../support/ends.h"
#include "../../support/suite.h"

#include "platform/calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(alone)

enum {
    BYTES = 64,
    WARM = 100,      /* trips, once both ends have met */
    MESSAGES = 4000, /* that are counted, or as many as COUNT_FOR is enough for */
    NUMBERS = 1024,  /* of calls; what is beyond counts as the last one */
    UNIT_CALLS = 4,  /* that a unit may cost, of each kind */
    FEW = 50,        /* of each kind, for what the library does by the clock */
    STOPS = PTRACE_O_TRACECLONE | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL,
};

/* A busy machine takes milliseconds for each call that is traced. */
static const int64_t MEET_FOR = 20 * ENDS_SECOND;
static const int64_t COUNT_FOR = 10 * ENDS_SECOND;

/* What the child tells its parent. */
struct tale {
    atomic_bool is_counted; /* what is called now */
    uint64_t messages;      /* that were passed meanwhile, */
    uint64_t units;         /* and what was sent of those that did not cross as a whole, repeats
                               included */
};

static struct tale *tale;

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

/* Each call of this thread, and of those that it creates, stops the thread and tells the parent its
 * number. */
static void be_traced(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_TRACE),
        BPF_STMT(BPF_RET | BPF_A, 0),
    };
    const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};

    must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP); /* until the parent has said what stops this process */
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
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

/* One message: there is none beside it on its way, which a copy could take along. */
static void pass(const struct end *from, const struct end *to)
{
    must(zcrp_submit(to->receiver, to->in, BYTES) == ZCRP_OK);
    must(zcrp_submit(from->sender, from->out, BYTES) == ZCRP_OK);
    must(zcrp_wait_for(to->in, -1) == ZCRP_OK);
    must(zcrp_wait_for(from->out, -1) == ZCRP_OK);
}

static void make_trip(const struct end *a, const struct end *b)
{
    pass(a, b);
    pass(b, a);
}

static struct zcrp_stats sent_by(const struct end *e)
{
    struct zcrp_stats s;

    must(zcrp_stats(e->sender, &s) == ZCRP_OK);
    return s;
}

static uint64_t units_of(const struct end *a, const struct end *b)
{
    return sent_by(a).units + sent_by(b).units;
}

/* Until messages cross as a whole, both ways. */
static void meet(const struct end *a, const struct end *b)
{
    int64_t until = clock_now_ns() + MEET_FOR;

    while (sent_by(a).messages_whole == 0 || sent_by(b).messages_whole == 0) {
        must(clock_now_ns() < until);
        make_trip(a, b);
    }
    for (int i = 0; i < WARM && clock_now_ns() < until; i++)
        make_trip(a, b);
}

static void be_counted(const struct end *a, const struct end *b)
{
    int64_t until = clock_now_ns() + COUNT_FOR;
    uint64_t before = units_of(a, b), messages = 0;

    atomic_store(&tale->is_counted, true);
    for (; messages < MESSAGES && clock_now_ns() < until; messages += 2)
        make_trip(a, b);
    atomic_store(&tale->is_counted, false);
    tale->messages = messages;
    tale->units = units_of(a, b) - before;
}

static _Noreturn void run(bool is_wrapped)
{
    const struct zcrp_options patient = {.connect_ns = MEET_FOR};
    struct zcrp_connection *here, *there;
    struct zcrp_listener *listener;
    char port[8];

    must(zcrp_listen(&listener, "127.0.0.1", "0", NULL) == ZCRP_OK);
    (void)snprintf(port, sizeof port, "%d", zcrp_listener_port(listener));
    must(zcrp_connect(&here, "127.0.0.1", port, &patient, -1) == ZCRP_OK);
    must(zcrp_accept(listener, &there, -1) == ZCRP_OK);
    struct end a = end_of(here, is_wrapped), b = end_of(there, is_wrapped);
    meet(&a, &b);
    be_counted(&a, &b);
    _exit(EXIT_SUCCESS);
}

/* ---- the parent ---- */

static pid_t start(bool is_wrapped)
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        be_traced();
        run(is_wrapped);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSTOPPED(status));
    ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(intptr_t)STOPS), 0);
    ck_assert_int_eq(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
    return pid;
}

/* If it is a call that has stopped the thread. */
static void note_call(pid_t thread, int status, uint64_t calls[NUMBERS])
{
    const int call = SIGTRAP | (PTRACE_EVENT_SECCOMP << 8);
    unsigned long number = 0;

    if (status >> 8 != call || !atomic_load(&tale->is_counted))
        return;
    ck_assert_int_eq(ptrace(PTRACE_GETEVENTMSG, thread, NULL, &number), 0);
    calls[number < NUMBERS ? number : NUMBERS - 1]++;
}

/* A thread begins with SIGSTOP, and SIGTRAP is of this test, too: the child gets neither. One that
 * ends with its process at this moment cannot go on. */
static void go_on(pid_t thread, int status)
{
    int cause = WSTOPSIG(status);
    bool is_own = cause == SIGTRAP || cause == SIGSTOP;

    (void)ptrace(PTRACE_CONT, thread, NULL, (void *)(intptr_t)(is_own ? 0 : cause));
}

/* All threads of the process, until it has ended; how. Its first thread is told of last. */
static int follow(pid_t pid, uint64_t calls[NUMBERS])
{
    for (;;) {
        int status = 0;
        pid_t thread = waitpid(-1, &status, __WALL);

        ck_assert_int_gt(thread, 0);
        if (WIFSTOPPED(status)) {
            note_call(thread, status, calls);
            go_on(thread, status);
        } else if (thread == pid) {
            return status;
        }
    }
}

/* ---- what the calls are for ---- */

enum kind { KIND_READ, KIND_WRITE, KIND_WAIT, KIND_OTHER, KINDS };

/* Younger processors have one call for both. */
#ifndef SYS_epoll_wait
#define SYS_epoll_wait SYS_epoll_pwait
#endif
#ifndef SYS_poll
#define SYS_poll SYS_ppoll
#endif

/* The process's own memory, or its file (src/platform/nofault.c). */
static const int reads[] = {SYS_process_vm_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2};
static const int writes[] = {SYS_process_vm_readv, SYS_pread64, SYS_preadv, SYS_preadv2};
static const int waits[] = {
    SYS_futex,           SYS_futex_waitv, SYS_epoll_wait,    SYS_epoll_pwait,
    SYS_epoll_pwait2,    SYS_epoll_ctl,   SYS_poll,          SYS_ppoll,
    SYS_sendto,          SYS_sendmsg,     SYS_sendmmsg,      SYS_recvfrom,
    SYS_recvmsg,         SYS_recvmmsg,    SYS_read,          SYS_write,
    SYS_timerfd_settime, SYS_sched_yield, SYS_clock_gettime, SYS_restart_syscall,
};

static bool is_among(int number, const int *set, int count)
{
    for (int i = 0; i < count; i++)
        if (set[i] == number)
            return true;
    return false;
}

static enum kind kind_of(int number)
{
    if (is_among(number, reads, ROWS(reads)))
        return KIND_READ;
    if (is_among(number, writes, ROWS(writes)))
        return KIND_WRITE;
    return is_among(number, waits, ROWS(waits)) ? KIND_WAIT : KIND_OTHER;
}

/* ---- both ---- */

struct count {
    uint64_t messages, units;
    uint64_t calls[KINDS];
};

static double each(const struct count *c, uint64_t calls)
{
    return (double)calls / (double)c->messages;
}

/* Which numbers, if a message in a hundred has made such a call. */
static void tell(const struct count *c, const uint64_t calls[NUMBERS])
{
    printf("%llu messages, %llu units; calls a message: reads %.3f, writes %.3f, waits %.3f, "
           "others %.3f; by number:",
           (unsigned long long)c->messages, (unsigned long long)c->units,
           each(c, c->calls[KIND_READ]), each(c, c->calls[KIND_WRITE]),
           each(c, c->calls[KIND_WAIT]), each(c, c->calls[KIND_OTHER]));
    for (int i = 0; i < NUMBERS; i++)
        if (100 * calls[i] >= c->messages)
            printf(" %d: %.2f", i, each(c, calls[i]));
    puts("");
}

static struct count count_calls(bool is_wrapped)
{
    uint64_t calls[NUMBERS] = {0};
    struct count c = {.messages = 0};

    tale = mmap(NULL, sizeof(*tale), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(tale, MAP_FAILED);
    int status = follow(start(is_wrapped), calls);
    ck_assert_msg(status == 0, "the child's status is %#x", (unsigned)status);
    c.messages = tale->messages;
    c.units = tale->units;
    for (int i = 0; i < NUMBERS; i++)
        c.calls[kind_of(i)] += calls[i];
    printf("%s memory: ", is_wrapped ? "the program's" : "the library's");
    tell(&c, calls);
    ck_assert_uint_gt(c.messages, 0);
    return c;
}

/* A process that gets no processor for 100 ms has a message sent in units, which the kernel had
 * copied as a whole; it copies each unit, too, however often that is sent. There may be any number
 * of these, but there are no more copies than belong to them. */
static uint64_t most(const struct count *c, uint64_t of_each_message)
{
    return of_each_message * c->messages + UNIT_CALLS * c->units + FEW;
}

/* May a child be traced so? */
static bool may_trace(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        bool is_traced = ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
        bool has_filters = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno == EFAULT;
        _exit(is_traced && has_filters ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool can_count(void)
{
    if (IS_SANITIZED) {
        puts("sanitizers make system calls");
        return false;
    }
    bool may = may_trace();
    if (!may)
        puts("processes may not be traced, or there is no seccomp");
    return may;
}

/* The environment of the suites says no. */
static void setup(void)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
}

FIXTURE(setup, NULL)

TEST(calls__messages_of_the_librarys_memory_need_no_copy, .needs = can_count)
{
    struct count c = count_calls(false);

    ck_assert_uint_le(c.calls[KIND_READ], most(&c, 0));
    ck_assert_uint_le(c.calls[KIND_WRITE], most(&c, 0));
    ck_assert_uint_le(c.calls[KIND_OTHER], most(&c, 0) + c.messages / 10);
}

/* The kernel reads and writes what may be gone: once at each end, and no call beside it prepares
 * that. What took the socket it has not copied so, but then there are units. */
TEST(calls__messages_of_the_programs_memory_need_one_copy_at_each_end, .needs = can_count)
{
    struct count c = count_calls(true);

    ck_assert_uint_ge(c.calls[KIND_READ] + c.units, c.messages);
    ck_assert_uint_ge(c.calls[KIND_WRITE] + c.units, c.messages);
    ck_assert_uint_le(c.calls[KIND_READ], most(&c, 1));
    ck_assert_uint_le(c.calls[KIND_WRITE], most(&c, 1));
    ck_assert_uint_le(c.calls[KIND_OTHER], most(&c, 0) + c.messages / 10);
}
