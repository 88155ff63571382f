/* Two processes of one host, and what keeps one from reading the other's memory: users, namespaces,
 * seccomp, limits. UDP goes on in the same session, nothing is lost, both ends soon know why, and
 * no descriptor is left.
 *
 * As root both ends become nobody first, because nothing is forbidden to root. */
#include "../../support/ends.h"
#include "../../support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

LOAD(asleep)

enum {
    BYTES = 100000,
    LAST_BYTES = 1,
    MESSAGES = 60, /* at least, */
    NOBODY = 65534,
    FILES = 256, /* that this process can have open */
    STACK_BYTES = 512 << 10,
    SECONDS_MOST = 20,
};

/* Both ends are told why within this time. */
static const int64_t TOLD_BY = 4 * ENDS_SECOND;

enum side { SENDER, RECEIVER, SIDES };

/* What the ends tell of themselves, in memory that they share with the test. */
struct tale {
    _Atomic uint64_t why, copied;
    atomic_bool is_ready;
};

/* What an end does to itself. */
struct restriction {
    bool (*as_root)(void);
    bool (*as_user)(void);
    bool (*when_open)(void); /* the entity is, and the peer is not */
    bool (*when_met)(void);  /* bytes went from memory to memory */
    bool stays_root;
    bool has_two_threads; /* the first waits for `first_may_end` */
};

struct row {
    const char *name;
    struct restriction end[SIDES];
    uint64_t why[SIDES]; /* enum zcrp_memory_refusal */
    bool is_opened;      /* the sender has ZCRP_ALLOW_PTRACE */
};

static struct tale *tale; /* of each side */
static int filled;        /* descriptors that were opened so that there are no more */
static sem_t first_may_end;

/* ---- restrictions ---- */

static bool is_root(void)
{
    if (geteuid() != 0)
        puts("needs the rights of root");
    return geteuid() == 0;
}

static bool become_nobody(void)
{
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* The first process of a namespace of processes; the other waits for it. */
static bool enter_processes(void)
{
    int status = 1;

    if (unshare(CLONE_NEWPID) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static bool lose_proc(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/proc", NULL, MS_PRIVATE, NULL) == 0 &&
           mount("none", "/proc", "tmpfs", 0, NULL) == 0 && access("/proc/self", F_OK) != 0;
}

/* In all threads of this process and in those to come. */
static bool filter_process_vm(unsigned error)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static bool forbid_process_vm(void)
{
    return filter_process_vm(EPERM);
}

static bool lack_process_vm(void)
{
    return filter_process_vm(ENOSYS);
}

/* The kernel finds a process's memory at its first thread only. */
static bool end_first_thread(void)
{
    return sem_post(&first_may_end) == 0;
}

static bool hide_memory(void)
{
    return prctl(PR_SET_DUMPABLE, 0) == 0;
}

static bool limit(enum __rlimit_resource resource, rlim_t most)
{
    struct rlimit l;

    if (getrlimit(resource, &l) != 0)
        return false;
    l.rlim_cur = most;
    return setrlimit(resource, &l) == 0;
}

static bool limit_files_to_nothing(void)
{
    return limit(RLIMIT_FSIZE, 4096);
}

/* No descriptor is left but this many. */
static bool fill_descriptors(int left)
{
    int fd = -1, more;

    if (!limit(RLIMIT_NOFILE, FILES))
        return false;
    for (filled = 0; (more = dup(0)) >= 0; filled++)
        fd = more;
    for (; left > 0; left--, filled--, fd--)
        if (close(fd) != 0)
            return false;
    return errno == EMFILE;
}

static bool leave_no_descriptor(void)
{
    return fill_descriptors(0);
}

static bool leave_one_descriptor(void)
{
    return fill_descriptors(1);
}

/* A stack that cannot grow any more ends the process: it grows before. */
static __attribute__((noinline)) void grow_stack(void)
{
    volatile char room[STACK_BYTES];

    for (size_t i = 0; i < sizeof(room); i += 4096)
        room[i] = 0;
}

/* No page more than this process has. */
static bool leave_no_memory(void)
{
    unsigned long pages = 0;
    grow_stack();
    FILE *statm = fopen("/proc/self/statm", "re");

    if (statm == NULL)
        return false;
    bool is_read = fscanf(statm, "%lu", &pages) == 1; /* NOLINT */
    return fclose(statm) == 0 && is_read && limit(RLIMIT_AS, pages * 4096);
}

/* Sanitizers need memory of their own. And where tests share a process (CK_FORK=no), an earlier one
 * has left the library memory in which the two ends can begin to meet: then the other end is told
 * that this one lacks some, instead of that nobody is there. */
static bool memory_can_be_limited(void)
{
    const char *fork = getenv("CK_FORK");

    return !IS_SANITIZED && (fork == NULL || strcmp(fork, "no") != 0);
}

/* ---- an end ---- */

/* Without /proc. */
static int descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 4 * FILES; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static bool apply(bool (*restriction)(void))
{
    return restriction == NULL || restriction();
}

static bool is_told(enum side side)
{
    return tale[side].why != 0 || tale[side].copied != 0;
}

static bool has_failed(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return false;
}

static void tell(struct zcrp_entity *e, enum side side)
{
    struct zcrp_stats s;

    if (zcrp_stats(e, &s) == 0) {
        tale[side].copied = s.bytes_copied_once;
        tale[side].why = s.memory_refused;
    }
}

/* The sender's last message is a short one: once both ends know what they are to know, and some
 * more messages have come through; or late. */
static nlong size_of(const struct row *row, uint64_t i, int64_t began)
{
    bool is_over = i >= MESSAGES;

    for (enum side s = SENDER; s < SIDES; s++)
        is_over = is_over && is_told(s) && tale[s].why == row->why[s];
    return is_over || clock_now_ns() - began > TOLD_BY ? LAST_BYTES : BYTES;
}

static bool move(struct zcrp_entity *e, struct zcrp_msg *m, enum side side, uint64_t i, nlong size)
{
    if (side == SENDER)
        pattern_fill(m->buffer, BYTES, i);
    if (zcrp_submit(e, m, size) != 0 || ends_wait(m) != 0)
        return has_failed(zcrp_strerror(zcrp_error(m)));
    if (side == RECEIVER && m->length == BYTES && !pattern_holds(m->buffer, BYTES, i))
        return has_failed("other bytes came");
    return true;
}

static bool move_all(struct zcrp_entity *e, struct zcrp_msg *m, const struct row *row,
                     enum side side)
{
    bool (*when_met)(void) = row->end[side].when_met;
    int64_t began = clock_now_ns();
    nlong length = BYTES;

    for (uint64_t i = 0; length == BYTES; i++) {
        nlong size = side == SENDER ? size_of(row, i, began) : BYTES;
        if (!move(e, m, side, i, size))
            return false;
        length = m->length;
        tell(e, side);
        if (tale[side].copied != 0 && when_met != NULL) {
            if (!when_met())
                return has_failed("when met");
            when_met = NULL;
        }
        if (side == SENDER)
            usleep(2000);
    }
    return length == LAST_BYTES || has_failed("another length");
}

/* An end that changes once it is open has a peer only then: two that are open meet by themselves.
 */
static void wait_for_peer(const struct row *row, enum side side)
{
    const enum side peer = side == SENDER ? RECEIVER : SENDER;

    while (row->end[peer].when_open != NULL && !tale[peer].is_ready)
        usleep(1000);
}

static bool live(const struct row *row, enum side side, const struct loopback *sockets)
{
    const struct restriction *r = &row->end[side];
    const struct zcrp_options options = {.flags = row->is_opened ? ZCRP_ALLOW_PTRACE : 0};
    struct zcrp_entity *e;

    (void)alarm(SECONDS_MOST);
    if (!apply(r->as_root) || (geteuid() == 0 && !r->stays_root && !become_nobody()) ||
        !apply(r->as_user))
        return has_failed("restriction");
    wait_for_peer(row, side);
    int before = descriptors();
    if (ends_open_role(&e, sockets, side == SENDER, &options) != 0)
        return has_failed("open");
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES); /* later there may be no memory for it */
    if (m == NULL)
        return has_failed("message");
    int open = descriptors();
    if (!apply(r->when_open))
        return has_failed("restriction when open");
    tale[side].is_ready = true;
    if (!move_all(e, m, row, side))
        return false;
    zcrp_free_msg(m);
    if (descriptors() - filled > open + 1) /* one is of the peer's process */
        return has_failed("descriptors of a meeting are left");
    (void)zcrp_close(e);
    int left = descriptors() - filled - before; /* 1: the file that the library has in a process */
    return left == 0 || left == 1 || has_failed("descriptors are left");
}

struct life {
    const struct row *row;
    enum side side;
    const struct loopback *sockets;
};

static void *live_to_the_end(void *life)
{
    const struct life *l = life;

    _exit(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && live(l->row, l->side, l->sockets) ? 0 : 1);
}

/* The first thread ends alone, and what it has on its stack stays. */
static void live_in_second_thread(struct life *l)
{
    pthread_t second;

    if (sem_init(&first_may_end, 0, 0) != 0 ||
        pthread_create(&second, NULL, live_to_the_end, l) != 0)
        _exit(1);
    while (sem_wait(&first_may_end) != 0)
        ;
    (void)syscall(SYS_exit, 0);
}

static pid_t start(const struct row *row, enum side side, const struct loopback *sockets)
{
    struct life l = {row, side, sockets};
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0 && row->end[side].has_two_threads)
        live_in_second_thread(&l);
    else if (child == 0)
        (void)live_to_the_end(&l);
    return child;
}

/* ---- both ---- */

static void expect(const struct row *row)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t child[SIDES];
    int status;

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    tale = mmap(NULL, SIDES * sizeof(*tale), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                0);
    ck_assert_ptr_ne(tale, MAP_FAILED);
    for (enum side s = SENDER; s < SIDES; s++)
        child[s] = start(row, s, &sockets);
    for (enum side s = SENDER; s < SIDES; s++) {
        ck_assert_int_eq(waitpid(child[s], &status, 0), child[s]);
        ck_assert_msg(status == 0, "%s, side %d: status %#x", row->name, s, (unsigned)status);
    }
    for (enum side s = SENDER; s < SIDES; s++) {
        ck_assert_msg(tale[s].why == row->why[s], "%s, side %d: refused for %d, not %d, copied %lu",
                      row->name, s, (int)tale[s].why, (int)row->why[s],
                      (unsigned long)tale[s].copied);
        if (row->why[s] == ZCRP_MEMORY_FINE)
            ck_assert_uint_gt(tale[s].copied, 0);
    }
    loopback_close(&sockets);
}

/* clang-format off */
static const struct row rows[] = {
    {.name = "nothing is forbidden",
     .is_opened = true,
     .why = {ZCRP_MEMORY_FINE, ZCRP_MEMORY_FINE}},
    {.name = "a receiver under seccomp",
     .end[RECEIVER].as_user = forbid_process_vm,
     .why = {ZCRP_MEMORY_FORBIDDEN, ZCRP_MEMORY_FORBIDDEN}},
    {.name = "a receiver under seccomp, whom its sender opens",
     .end[RECEIVER].as_user = forbid_process_vm,
     .is_opened = true,
     .why = {ZCRP_MEMORY_FORBIDDEN, ZCRP_MEMORY_FORBIDDEN}},
    {.name = "a receiver that enters seccomp later",
     .end[RECEIVER].when_met = forbid_process_vm,
     .is_opened = true,
     .why = {ZCRP_MEMORY_FORBIDDEN, ZCRP_MEMORY_FORBIDDEN}},
    {.name = "a receiver that has no such call later",
     .end[RECEIVER].when_met = lack_process_vm,
     .is_opened = true,
     .why = {ZCRP_MEMORY_FORBIDDEN, ZCRP_MEMORY_FORBIDDEN}},
    {.name = "a sender whose first thread ends",
     .end[SENDER] = {.when_met = end_first_thread, .has_two_threads = true},
     .is_opened = true,
     .why = {ZCRP_MEMORY_FORBIDDEN, ZCRP_MEMORY_FINE}},
    {.name = "a sender under seccomp",
     .end[SENDER].as_user = forbid_process_vm,
     .is_opened = true,
     .why = {ZCRP_MEMORY_FINE, ZCRP_MEMORY_FINE}},
    {.name = "a sender that is not dumpable",
     .end[SENDER].as_user = hide_memory,
     .why = {ZCRP_MEMORY_FORBIDDEN, ZCRP_MEMORY_FORBIDDEN}},
    {.name = "a sender that is not dumpable any more",
     .end[SENDER].when_met = hide_memory,
     .is_opened = true,
     .why = {ZCRP_MEMORY_FORBIDDEN, ZCRP_MEMORY_FORBIDDEN}},
    {.name = "a receiver that is not dumpable",
     .end[RECEIVER].as_user = hide_memory,
     .is_opened = true,
     .why = {ZCRP_MEMORY_FINE, ZCRP_MEMORY_FINE}},
    {.name = "a sender without descriptors",
     .end[SENDER].when_open = leave_no_descriptor,
     .why = {ZCRP_MEMORY_LIMITED, ZCRP_MEMORY_ELSEWHERE}},
    {.name = "a sender with one descriptor",
     .end[SENDER].when_open = leave_one_descriptor,
     .why = {ZCRP_MEMORY_LIMITED, ZCRP_MEMORY_ELSEWHERE}},
    {.name = "a receiver without descriptors",
     .end[RECEIVER].when_open = leave_no_descriptor,
     .why = {ZCRP_MEMORY_ELSEWHERE, ZCRP_MEMORY_LIMITED}},
    {.name = "a receiver with one descriptor",
     .end[RECEIVER].when_open = leave_one_descriptor,
     .why = {ZCRP_MEMORY_ELSEWHERE, ZCRP_MEMORY_LIMITED}},
    {.name = "a sender that cannot make a file",
     .end[SENDER].as_user = limit_files_to_nothing,
     .why = {ZCRP_MEMORY_LIMITED, ZCRP_MEMORY_ELSEWHERE}},
};

static const struct row rows_of_memory[] = {
    {.name = "a sender without memory",
     .end[SENDER].when_open = leave_no_memory,
     .why = {ZCRP_MEMORY_LIMITED, ZCRP_MEMORY_ELSEWHERE}},
    {.name = "a receiver without memory",
     .end[RECEIVER].when_open = leave_no_memory,
     .why = {ZCRP_MEMORY_ELSEWHERE, ZCRP_MEMORY_LIMITED}},
};

static const struct row rows_of_root[] = {
    {.name = "a sender of another user",
     .end[RECEIVER].stays_root = true,
     .why = {ZCRP_MEMORY_STRANGER, ZCRP_MEMORY_STRANGER}},
    {.name = "a receiver of another user",
     .end[SENDER].stays_root = true,
     .is_opened = true,
     .why = {ZCRP_MEMORY_STRANGER, ZCRP_MEMORY_STRANGER}},
    {.name = "a receiver in another namespace of processes",
     .end[RECEIVER].as_root = enter_processes,
     .why = {ZCRP_MEMORY_STRANGER, ZCRP_MEMORY_STRANGER}},
    {.name = "both, in two of them",
     .end[SENDER].as_root = enter_processes,
     .end[RECEIVER].as_root = enter_processes,
     .is_opened = true,
     .why = {ZCRP_MEMORY_STRANGER, ZCRP_MEMORY_STRANGER}},
    {.name = "no /proc",
     .end[SENDER].as_root = lose_proc,
     .end[RECEIVER].as_root = lose_proc,
     .is_opened = true,
     .why = {ZCRP_MEMORY_FINE, ZCRP_MEMORY_FINE}},
};
/* clang-format on */

TEST(refusal__of_memory_rights_and_descriptors, .rows = ROWS(rows))
{
    expect(&rows[_i]);
}

TEST(refusal__no_memory, .rows = ROWS(rows_of_memory), .needs = memory_can_be_limited)
{
    expect(&rows_of_memory[_i]);
}

TEST(refusal__users_and_namespaces, .rows = ROWS(rows_of_root), .needs = is_root)
{
    expect(&rows_of_root[_i]);
}
