/* Memory whose pages do not come: a message that is sent from there, and a buffer that a message is
 * to land in. The owner is another process. Waits, cancels, closes and other connections of this
 * one keep their limits. A region of userfaultfd stands for a file of a network file system that
 * does not answer. */
#include "../../support/house.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

LOAD(asleep)

enum {
    BYTES = 4 << 20,
    FIRST = 65536,     /* bytes of the messages that both connections begin with */
    LIFE_SECONDS = 20, /* of the owner: a failing test ends, too */
};

/* Calls have this limit, and take so long at most, beside other tests. */
#define LIMIT_NS (200 * ENDS_MILLISECOND)
#define LATE_NS (5 * ENDS_SECOND)

/* A descriptor whose missing pages nobody fills in; -1: this process may have none. */
static int open_faults(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

    if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0)
        return fd;
    return -1;
}

static bool can_be_absent(void)
{
    int fd = open_faults();

    if (fd >= 0)
        (void)close(fd);
    else
        puts("no right to userfaultfd");
    return fd >= 0 && !loopback_is_aal5();
}

static void setup(void)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
}

FIXTURE(setup, NULL)

/* Memory whose second half is absent. */
static void *half_absent(size_t bytes, int *faults)
{
    uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {
        .range = {.start = (uintptr_t)at + bytes / 2, .len = bytes / 2},
        .mode = UFFDIO_REGISTER_MODE_MISSING,
    };

    ck_assert_ptr_ne(at, MAP_FAILED);
    memset(at, 1, bytes / 2);
    *faults = open_faults();
    ck_assert_int_eq(ioctl(*faults, UFFDIO_REGISTER, &range), 0);
    return at;
}

/* ---- the owner ---- */

/* One row of the test. */
struct way {
    bool owner_sends, is_required, is_small;
};

static const struct way ways[] = {
    {.owner_sends = true},
    {.owner_sends = true, .is_required = true},
    {.owner_sends = true, .is_small = true},
    {.owner_sends = false},
    {.owner_sends = false, .is_required = true},
};

static struct zcrp_options options_of(const struct way *way)
{
    return (struct zcrp_options){
        .channel = way->is_required ? ZCRP_CHANNEL_MEMORY : ZCRP_CHANNEL_AUTO,
        .linger_ns = LIMIT_NS,
        .spin_ns = LIMIT_NS, /* who waits is awake, and pushes */
    };
}

static nlong bytes_of(const struct way *way)
{
    return way->is_small ? FIRST : BYTES;
}

static void answer(struct zcrp_connection *c, struct zcrp_msg *m)
{
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(c), m, FIRST), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(m, -1), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), m, FIRST), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(m, -1), ZCRP_OK);
}

/* Answers once on its first connection, brings absent memory there, and answers on its second one.
 */
static void own(const struct way *way, int gate)
{
    struct zcrp_options options = options_of(way);
    struct house house = {.listener = NULL};
    struct zcrp_connection *with, *other;
    int faults;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(LIFE_SECONDS);
    ck_assert_int_eq(read(gate, house.port, sizeof(house.port)), sizeof(house.port));
    ck_assert_int_eq(house_connect(&house, &with, &options, LATE_NS), ZCRP_OK);
    ck_assert_int_eq(house_connect(&house, &other, &options, LATE_NS), ZCRP_OK);
    struct zcrp_msg *m = zcrp_alloc_msg(FIRST);
    answer(with, m);
    nlong bytes = bytes_of(way);
    struct zcrp_msg *wrapped = zcrp_wrap_msg(half_absent(bytes, &faults), bytes);
    ck_assert_int_eq(zcrp_submit(way->owner_sends ? zcrp_connection_sender(with)
                                                  : zcrp_connection_receiver(with),
                                 wrapped, bytes),
                     ZCRP_OK);
    ck_assert_int_eq(write(gate, "g", 1), 1);
    for (;;)
        answer(other, m);
}

/* ---- the peer ---- */

struct peer {
    pid_t owner;
    struct house house;
    struct zcrp_connection *with, *other;
    struct zcrp_msg *in, *out;
    struct zcrp_msg *stuck; /* goes to the owner's absent memory, or comes from there */
};

/* Sees a message end without a call that waits. */
static bool ends_by_itself(struct zcrp_msg *m, int64_t limit_ns)
{
    const struct timespec nap = {.tv_nsec = ENDS_MILLISECOND};

    for (int64_t until = clock_now_ns() + limit_ns; !zcrp_probe(m) && clock_now_ns() < until;)
        nanosleep(&nap, NULL);
    return zcrp_probe(m);
}

/* A message to the owner and back, while only threads of the library look. */
static void ask(struct peer *p, struct zcrp_connection *c)
{
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(c), p->in, FIRST), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), p->out, FIRST), ZCRP_OK);
    ck_assert(ends_by_itself(p->in, LATE_NS));
    ck_assert(ends_by_itself(p->out, LATE_NS));
    ck_assert_int_eq(zcrp_error(p->in), ZCRP_OK);
    ck_assert_int_eq(zcrp_error(p->out), ZCRP_OK);
}

static void stop(pid_t child)
{
    int status;

    ck_assert_int_eq(kill(child, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert(WIFSTOPPED(status));
}

/* Both connections have met over memory, and the first one has a message that gets stuck. An owner
 * that receives finds all of it at once, so that it lets its sender push. */
static struct peer begin(const struct way *way)
{
    struct zcrp_options options = options_of(way);
    struct peer p = {.owner = -1};
    int gate[2];
    char go;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, gate), 0);
    p.owner = fork(); /* before this process has threads */
    ck_assert_int_ge(p.owner, 0);
    if (p.owner == 0)
        own(way, gate[0]);
    p.house = house_open("127.0.0.1", &options);
    ck_assert_int_eq(write(gate[1], p.house.port, sizeof(p.house.port)), sizeof(p.house.port));
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.with, LATE_NS), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(p.house.listener, &p.other, LATE_NS), ZCRP_OK);
    p.in = ends_empty(FIRST);
    p.out = ends_filled(FIRST, 1);
    ask(&p, p.with);
    ck_assert_int_eq(read(gate[1], &go, 1), 1);
    stop(p.owner);
    p.stuck = way->owner_sends ? ends_empty(bytes_of(way)) : ends_filled(bytes_of(way), 2);
    ck_assert_int_eq(zcrp_submit(way->owner_sends ? zcrp_connection_receiver(p.with)
                                                  : zcrp_connection_sender(p.with),
                                 p.stuck, bytes_of(way)),
                     ZCRP_OK);
    ck_assert_int_eq(kill(p.owner, SIGCONT), 0);
    (void)close(gate[0]);
    (void)close(gate[1]);
    return p;
}

static void finish(struct peer *p)
{
    ends_kill_peer(p->owner);
    (void)zcrp_connection_close(p->other);
    (void)zcrp_listener_close(p->house.listener);
    zcrp_free_msg(p->in);
    zcrp_free_msg(p->out);
    zcrp_free_msg(p->stuck);
}

TEST(absent__keeps_limits, .rows = ROWS(ways), .needs = can_be_absent)
{
    const struct way *way = &ways[_i];
    struct peer p = begin(way);

    if (way->owner_sends)
        ask(&p, p.other);
    int64_t began = clock_now_ns();
    ck_assert_int_eq(zcrp_wait_for(p.stuck, LIMIT_NS), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    ask(&p, p.other);
    began = clock_now_ns();
    ck_assert_int_eq(zcrp_cancel(p.stuck), ZCRP_OK);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    ask(&p, p.other);
    began = clock_now_ns();
    ck_assert_int_ne(zcrp_connection_close(p.with), ZCRP_ERROR_BUSY);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    ask(&p, p.other);
    finish(&p);
}

/* ---- the owner's own limits ---- */

enum { SILENCE_MS = 3000 };

/* Both ends are here, and have met over memory; the sender's message is of half absent memory. */
struct owner {
    struct house house;
    struct both ends;
    struct zcrp_msg *out, *in;
    uint8_t *at;
    int faults;
};

static struct owner own_here(void)
{
    const struct zcrp_options options = {
        .channel = ZCRP_CHANNEL_MEMORY,
        .linger_ns = LIMIT_NS,
        .silence_ns = SILENCE_MS * ENDS_MILLISECOND,
        .progress_ns = ENDS_SECOND,
    };
    struct owner o = {.house = house_open("127.0.0.1", &options)};

    o.ends = house_meet(&o.house, &options);
    house_pass(o.ends.there, o.ends.here, FIRST, 1);
    o.at = half_absent(BYTES, &o.faults);
    o.out = zcrp_wrap_msg(o.at, BYTES);
    o.in = ends_empty(BYTES);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(o.ends.here), o.in, BYTES), ZCRP_OK);
    int64_t began = clock_now_ns();
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(o.ends.there), o.out, BYTES), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(o.out, LIMIT_NS), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    return o;
}

/* In the end whoever waits for pages is let go: the search for leaks stops all threads, and could
 * not stop one that sleeps there. */
static void end_here(struct owner *o)
{
    int64_t began = clock_now_ns();

    house_part(&o->ends);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    (void)zcrp_listener_close(o->house.listener);
    (void)close(o->faults);
    zcrp_free_msg(o->out);
    zcrp_free_msg(o->in);
}

/* Much later than the silence that the peer bears, and than it may acknowledge nothing. */
TEST(absent__comes_late, .needs = can_be_absent)
{
    struct owner o = own_here();
    struct uffdio_zeropage rest = {
        .range = {.start = (uintptr_t)o.at + BYTES / 2, .len = BYTES / 2}};

    ck_assert_int_eq(zcrp_wait_for(o.in, 2L * SILENCE_MS * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(ioctl(o.faults, UFFDIO_ZEROPAGE, &rest), 0);
    ck_assert_int_eq(ends_wait(o.out), ZCRP_OK);
    ck_assert_int_eq(ends_wait(o.in), ZCRP_OK);
    ck_assert_mem_eq(o.in->buffer, o.at, BYTES);
    end_here(&o);
}

/* What follows a message that was cancelled goes on without its pages. */
TEST(absent__is_cancelled, .needs = can_be_absent)
{
    struct owner o = own_here();

    ck_assert_int_eq(zcrp_cancel(o.out), ZCRP_OK);
    ck_assert_int_eq(ends_wait(o.in), ZCRP_ERROR_PEER_CANCELLED);
    for (uint64_t seed = 2; seed < 5; seed++)
        house_pass(o.ends.there, o.ends.here, BYTES, seed);
    end_here(&o);
}

TEST(absent__is_closed, .needs = can_be_absent)
{
    struct owner o = own_here();

    end_here(&o);
}
