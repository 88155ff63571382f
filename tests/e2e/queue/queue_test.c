/* Completion queues: what they tell, whose it is, in which order; and what leaves them. */
#include "../../support/asleep.h"
#include "../../support/house.h"
#include "../../support/lonely.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE = 10000, MANY = 100, ROOM = 16 };

static struct zcrp_queue *q;

static void begin(void)
{
    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
}

static void end(void)
{
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
}

FIXTURE(begin, end)

/* The next completion, within ten seconds. */
static struct zcrp_completion next(void)
{
    struct zcrp_completion c;

    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 10 * ENDS_SECOND), 1);
    return c;
}

static void nothing_is_left(void)
{
    struct zcrp_completion c;

    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 0), 0);
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};

    return poll(&set, 1, timeout_ms) == 1;
}

/* ---- arguments ---- */

TEST(queue__arguments)
{
    struct zcrp_completion c;
    struct lonely l = lonely_open(true);

    ck_assert_int_eq(zcrp_queue_open(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_close(NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(NULL, l.entity, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add(q, NULL, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add_connection(NULL, NULL, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add_connection(q, NULL, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add_listener(NULL, NULL, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add_listener(q, NULL, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_remove(NULL, l.entity), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_remove(q, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_remove_connection(q, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_remove_listener(q, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_descriptor(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_interrupt(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_take(NULL, &c, 1, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_take(q, NULL, 1, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_take(q, &c, 0, 0), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "most is 0; it has to be 1 or more");
    ck_assert_int_eq(zcrp_queue_remove(q, l.entity), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "entity is not in this queue");
    ck_assert_int_eq(zcrp_queue_add(q, l.entity, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, l.entity, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "entity is in a queue already");
    (void)zcrp_close(l.entity);
    loopback_close(&l.sockets);
}

/* ---- messages ---- */

/* Each message of both ends is told once, with its context, those of one end in their order. */
TEST(queue_take__messages_in_order)
{
    enum { COUNT = 200 };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in[COUNT], *out[COUNT];
    unsigned received = 0, sent = 0;
    char of_sender, of_receiver;

    ck_assert_int_eq(zcrp_queue_add(q, e.sender, &of_sender), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, e.receiver, &of_receiver), ZCRP_OK);
    for (unsigned i = 0; i < COUNT; i++) {
        in[i] = ends_empty(2000);
        out[i] = ends_filled(2000, i);
        in[i]->context = out[i]->context = (void *)(uintptr_t)i;
        ends_submit(&e, in[i], out[i], 2000);
    }
    while (received + sent < 2 * COUNT) {
        struct zcrp_completion c[ROOM];
        int count = zcrp_queue_take(q, c, ROOM, 10 * ENDS_SECOND);
        ck_assert_int_gt(count, 0);
        for (int i = 0; i < count; i++) {
            bool is_in = c[i].entity == e.receiver;
            unsigned n = (unsigned)(uintptr_t)c[i].message->context;
            ck_assert_int_eq(c[i].kind, ZCRP_MESSAGE_ENDED);
            ck_assert_int_eq(c[i].code, ZCRP_OK);
            ck_assert_ptr_eq(c[i].context, is_in ? &of_receiver : &of_sender);
            ck_assert_ptr_null(c[i].connection);
            ck_assert_ptr_null(c[i].listener);
            ck_assert_ptr_eq(c[i].message, is_in ? in[n] : out[n]);
            if (is_in && !loopback_is_lossy())
                ck_assert_uint_eq(n, received);
            if (is_in)
                ck_assert(pattern_holds(in[n]->buffer, 2000, n));
            *(is_in ? &received : &sent) += 1;
        }
    }
    ck_assert_uint_eq(received, COUNT);
    nothing_is_left();
    ends_close(&e);
    for (unsigned i = 0; i < COUNT; i++) {
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
}

/* One that is taken has ended for good: it may be freed, or submitted again, at once. */
TEST(queue_take__submit_again)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(100), *out = ends_filled(100, 1);

    ck_assert_int_eq(zcrp_queue_add(q, e.sender, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, e.receiver, NULL), ZCRP_OK);
    for (int i = 0; i < 500; i++) {
        ends_submit(&e, in, out, 100);
        struct zcrp_completion a = next(), b = next();
        ck_assert(a.message == in || b.message == in);
        ck_assert(a.message == out || b.message == out);
        ck_assert_uint_eq(zcrp_probe(in) + zcrp_probe(out), 2);
    }
    nothing_is_left();
    ends_close(&e);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* Messages that fail say why. */
TEST(queue_take__failures)
{
    struct lonely l = lonely_open(false);
    struct zcrp_msg *m[6];

    ck_assert_int_eq(zcrp_queue_add(q, l.entity, &l), ZCRP_OK);
    for (int i = 0; i < 6; i++) {
        m[i] = ends_empty(10);
        ck_assert_int_eq(zcrp_submit(l.entity, m[i], 10), ZCRP_OK);
    }
    for (int i = 5; i >= 0; i--)
        ck_assert_int_eq(zcrp_cancel(m[i]), ZCRP_OK);
    for (int i = 5; i >= 0; i--) {
        struct zcrp_completion c = next();
        ck_assert_ptr_eq(c.message, m[i]);
        ck_assert_int_eq(c.code, ZCRP_ERROR_CANCELLED);
        ck_assert_ptr_eq(c.context, &l);
        zcrp_free_msg(m[i]);
    }
    (void)zcrp_close(l.entity);
    loopback_close(&l.sockets);
}

/* Three messages that have ended, and nobody took. */
struct pending {
    struct lonely lonely;
    struct zcrp_msg *m[3];
};

static struct pending end_three(bool has_descriptor)
{
    struct pending p = {.lonely = lonely_open(false)};

    if (has_descriptor)
        ck_assert_int_ge(zcrp_descriptor(p.lonely.entity), 0);
    ck_assert_int_eq(zcrp_queue_add(q, p.lonely.entity, NULL), ZCRP_OK);
    for (int i = 0; i < 3; i++) {
        p.m[i] = ends_empty(10);
        ck_assert_int_eq(zcrp_submit(p.lonely.entity, p.m[i], 10), ZCRP_OK);
        ck_assert_int_eq(zcrp_cancel(p.m[i]), ZCRP_OK);
    }
    return p;
}

static void free_three(struct pending *p)
{
    (void)zcrp_close(p->lonely.entity);
    for (int i = 0; i < 3; i++)
        zcrp_free_msg(p->m[i]);
    loopback_close(&p->lonely.sockets);
}

/* What is freed, or submitted again, is not told. */
TEST(queue_take__withdrawn)
{
    struct pending p = end_three(false);

    zcrp_free_msg(p.m[0]);
    ck_assert_int_eq(zcrp_submit(p.lonely.entity, p.m[1], 10), ZCRP_OK);
    ck_assert_ptr_eq(next().message, p.m[2]);
    nothing_is_left();
    ck_assert_int_eq(zcrp_cancel(p.m[1]), ZCRP_OK);
    ck_assert_ptr_eq(next().message, p.m[1]);
    p.m[0] = zcrp_alloc_msg(1);
    free_three(&p);
}

/* A message is told once, by the queue or by collect. */
TEST(queue_take__or_collect, .rows = 2)
{
    struct pending p = end_three(_i == 1);

    ck_assert_ptr_eq(zcrp_collect(p.lonely.entity), p.m[0]);
    ck_assert_ptr_eq(next().message, p.m[1]);
    ck_assert_ptr_eq(zcrp_collect(p.lonely.entity), p.m[2]);
    ck_assert_ptr_null(zcrp_collect(p.lonely.entity));
    nothing_is_left();
    free_three(&p);
}

/* Removing forgets what was not taken; but who has called zcrp_descriptor collects it. */
TEST(queue_remove__with_pending, .rows = 2)
{
    struct pending p = end_three(_i == 1);

    ck_assert_ptr_eq(next().message, p.m[0]);
    ck_assert_int_eq(zcrp_queue_remove(q, p.lonely.entity), ZCRP_OK);
    nothing_is_left();
    if (_i == 1) {
        ck_assert_ptr_eq(zcrp_collect(p.lonely.entity), p.m[1]);
        ck_assert_ptr_eq(zcrp_collect(p.lonely.entity), p.m[2]);
    }
    ck_assert_ptr_null(zcrp_collect(p.lonely.entity));
    ck_assert_int_eq(zcrp_queue_remove(q, p.lonely.entity), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_queue_add(q, p.lonely.entity, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(p.lonely.entity, p.m[0], 10), ZCRP_OK);
    ck_assert_int_eq(zcrp_cancel(p.m[0]), ZCRP_OK);
    ck_assert_ptr_eq(next().message, p.m[0]);
    free_three(&p);
}

/* Closing the entity, or the queue, forgets it, too. */
TEST(queue_close__with_pending, .rows = 2)
{
    struct pending p = end_three(false);

    if (_i == 0) {
        (void)zcrp_close(p.lonely.entity);
        p.lonely.entity = NULL;
        nothing_is_left();
    } else {
        end();
        begin();
        ck_assert_int_eq(zcrp_queue_add(q, p.lonely.entity, NULL), ZCRP_OK);
        nothing_is_left();
    }
    ck_assert_int_eq(zcrp_error(p.m[2]), ZCRP_ERROR_CANCELLED);
    free_three(&p);
}

/* What ended before it was added is told, where it was kept for collect. */
TEST(queue_add__after_the_end)
{
    struct lonely l = lonely_open(false);
    struct zcrp_msg *m = ends_empty(10);

    ck_assert_int_ge(zcrp_descriptor(l.entity), 0);
    ck_assert_int_eq(zcrp_submit(l.entity, m, 10), ZCRP_OK);
    ck_assert_int_eq(zcrp_cancel(m), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, l.entity, NULL), ZCRP_OK);
    ck_assert_ptr_eq(next().message, m);
    nothing_is_left();
    (void)zcrp_close(l.entity);
    zcrp_free_msg(m);
    loopback_close(&l.sockets);
}

/* A program that was built with an older header has smaller completions, one with a newer larger
 * ones. */
TEST(queue_take__size_of_a_completion, .rows = 2)
{
    struct pending p = end_three(false);
    size_t size =
        _i == 0 ? offsetof(struct zcrp_completion, entity) : sizeof(struct zcrp_completion) + 8;
    char room[4 * sizeof(struct zcrp_completion)];

    memset(room, 0x77, sizeof room);
    ck_assert_int_eq(zcrp_queue_take_sized(q, (void *)room, 3, 0, size), 3);
    for (size_t i = 0; i < 3; i++) {
        struct zcrp_completion c = {.kind = 0};
        memcpy(&c, room + i * size, _i == 0 ? size : sizeof c);
        ck_assert_int_eq(c.kind, ZCRP_MESSAGE_ENDED);
        ck_assert_ptr_eq(c.message, p.m[i]);
        ck_assert_ptr_eq(c.entity, _i == 0 ? NULL : p.lonely.entity);
        if (_i == 1)
            ck_assert_int_eq(room[i * size + size - 1], 0);
    }
    ck_assert_int_eq(room[3 * size], 0x77);
    free_three(&p);
}

/* An entity that always has something does not keep another one waiting. */
TEST(queue_take__nobody_starves)
{
    enum { CROWD = 100 };
    struct lonely busy = lonely_open(false), other = lonely_open(false);
    struct zcrp_msg *m[CROWD], *alone = ends_empty(1);

    ck_assert_int_eq(zcrp_queue_add(q, busy.entity, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, other.entity, NULL), ZCRP_OK);
    for (int i = 0; i < CROWD; i++) {
        m[i] = ends_empty(1);
        ck_assert_int_eq(zcrp_submit(busy.entity, m[i], 1), ZCRP_OK);
        ck_assert_int_eq(zcrp_cancel(m[i]), ZCRP_OK);
    }
    ck_assert_int_eq(zcrp_submit(other.entity, alone, 1), ZCRP_OK);
    ck_assert_int_eq(zcrp_cancel(alone), ZCRP_OK);
    int taken = 0;
    for (struct zcrp_completion c = next(); c.message != alone; c = next()) {
        ck_assert_int_lt(++taken, CROWD);
        ck_assert_int_eq(zcrp_submit(busy.entity, c.message, 1), ZCRP_OK);
        ck_assert_int_eq(zcrp_cancel(c.message), ZCRP_OK);
    }
    (void)zcrp_close(busy.entity);
    (void)zcrp_close(other.entity);
    for (int i = 0; i < CROWD; i++)
        zcrp_free_msg(m[i]);
    zcrp_free_msg(alone);
    loopback_close(&busy.sockets);
    loopback_close(&other.sockets);
}

/* ---- waiting ---- */

TEST(queue_take__time)
{
    struct zcrp_completion c;
    int64_t before = clock_now_ns();

    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 20 * ENDS_MILLISECOND), 0);
    ck_assert_int_ge(clock_now_ns() - before, 20 * ENDS_MILLISECOND);
}

/* The interrupt ends the take that is under way, or else the next one that finds nothing; what is
 * there comes first. */
TEST(queue_interrupt__next_take)
{
    struct zcrp_completion c;
    struct pending p = end_three(false);

    ck_assert_int_eq(zcrp_queue_interrupt(q), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 0), 1);
    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 0), 1);
    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 0), 1);
    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, -1), ZCRP_ERROR_INTERRUPTED);
    nothing_is_left();
    free_three(&p);
}

struct taker {
    pthread_t thread;
    _Atomic pid_t number;
    int result;
};

static void *take_for_ever(void *context)
{
    struct taker *t = context;
    struct zcrp_completion c;

    atomic_store(&t->number, (pid_t)syscall(SYS_gettid));
    t->result = zcrp_queue_take(q, &c, 1, -1);
    return NULL;
}

static void interrupt_queue(int signal)
{
    (void)signal;
    (void)zcrp_queue_interrupt(q);
}

/* All that wait: by a call, or from a signal handler, or because the queue is closed. */
TEST(queue_take__ended_by_others, .rows = 3)
{
    enum { TAKERS = 3 };
    struct lonely l = lonely_open(false);
    struct taker taker[TAKERS] = {{.result = 0}};

    ck_assert_int_eq(zcrp_queue_add(q, l.entity, NULL), ZCRP_OK);
    for (int i = 0; i < TAKERS; i++)
        ck_assert_int_eq(pthread_create(&taker[i].thread, NULL, take_for_ever, &taker[i]), 0);
    for (int i = 0; i < TAKERS; i++)
        asleep_await(&taker[i].number);
    (void)signal(SIGUSR1, interrupt_queue);
    if (_i == 0)
        ck_assert_int_eq(zcrp_queue_interrupt(q), ZCRP_OK);
    else if (_i == 1)
        ck_assert_int_eq(raise(SIGUSR1), 0);
    else
        end();
    for (int i = 0; i < TAKERS; i++) {
        ck_assert_int_eq(pthread_join(taker[i].thread, NULL), 0);
        ck_assert_int_eq(taker[i].result, _i == 2 ? ZCRP_ERROR_CLOSED : ZCRP_ERROR_INTERRUPTED);
    }
    if (_i == 2)
        begin();
    (void)zcrp_close(l.entity);
    loopback_close(&l.sockets);
}

TEST(queue_descriptor__readable_while_something_is_there)
{
    int fd = zcrp_queue_descriptor(q);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(zcrp_queue_descriptor(q), fd);
    nothing_is_left();
    ck_assert(!is_readable(fd, 0));
    struct pending p = end_three(false);
    for (int i = 0; i < 3; i++) {
        ck_assert(is_readable(fd, 0));
        ck_assert_ptr_eq(next().message, p.m[i]);
    }
    nothing_is_left();
    ck_assert(!is_readable(fd, 20));
    ck_assert_int_eq(zcrp_queue_interrupt(q), ZCRP_OK);
    ck_assert(is_readable(fd, 0));
    struct zcrp_completion c;
    ck_assert_int_eq(zcrp_queue_take(q, &c, 1, 0), ZCRP_ERROR_INTERRUPTED);
    nothing_is_left();
    ck_assert(!is_readable(fd, 0));
    free_three(&p);
}

/* A loop that does nothing but poll the descriptor hears of all that arrives, also where receivers
 * nap amid a large message. */
TEST(queue_descriptor__of_what_arrives, .rows = 2)
{
    const nlong size = _i == 0 ? MESSAGE : 40 * MESSAGE;
    enum { COUNT = 100 };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(size), *out = ends_filled(size, 1);
    int fd = zcrp_queue_descriptor(q);

    ck_assert_int_eq(zcrp_queue_add(q, e.receiver, NULL), ZCRP_OK);
    for (int i = 0; i < COUNT; i++) {
        struct zcrp_completion c;
        int count = 0;
        ends_submit(&e, in, out, size);
        while (count == 0) {
            ck_assert(is_readable(fd, 10000));
            count = zcrp_queue_take(q, &c, 1, 0);
        }
        ck_assert_int_eq(count, 1);
        ck_assert_ptr_eq(c.message, in);
        ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    }
    ends_close(&e);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* Who takes a few times, and then no more, leaves the rest to the library's threads, amid a message
 * or between two. */
TEST(queue_take__then_leaves, .rows = 2)
{
    const nlong size = _i == 0 ? 100 : 100 * MESSAGE;
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    struct zcrp_msg *in = ends_empty(size), *out = ends_filled(size, 1);
    struct zcrp_completion c;

    ck_assert_int_eq(zcrp_queue_add(q, e.receiver, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add(q, e.sender, NULL), ZCRP_OK);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < i; k++) /* the lease is kept for this thread */
            ck_assert_int_ge(zcrp_queue_take(q, &c, 1, 0), 0);
        ends_submit(&e, in, out, size);
        for (int k = 0; k < i % 5; k++)
            ck_assert_int_ge(zcrp_queue_take(q, &c, 1, 0), 0);
        for (int k = 0;
             k < 10000 && (zcrp_error(in) == ZCRP_ERROR_BUSY || zcrp_error(out) == ZCRP_ERROR_BUSY);
             k++)
            usleep(1000);
        ck_assert_int_eq(zcrp_error(in), ZCRP_OK);
        ck_assert_int_eq(zcrp_error(out), ZCRP_OK);
    }
    ends_close(&e);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* ---- forks ---- */

static int child_calls(struct zcrp_entity *e)
{
    struct zcrp_completion c;
    struct zcrp_queue *own;

    if (zcrp_queue_take(q, &c, 1, 0) != ZCRP_ERROR_FORKED ||
        zcrp_queue_add(q, e, NULL) != ZCRP_ERROR_FORKED ||
        zcrp_queue_remove(q, e) != ZCRP_ERROR_FORKED ||
        zcrp_queue_descriptor(q) != ZCRP_ERROR_FORKED ||
        zcrp_queue_interrupt(q) != ZCRP_ERROR_FORKED)
        return 1;
    if (zcrp_queue_open(&own) != ZCRP_OK || zcrp_queue_add(own, e, NULL) != ZCRP_ERROR_FORKED ||
        zcrp_queue_take(own, &c, 1, ENDS_MILLISECOND) != 0 || zcrp_queue_close(own) != ZCRP_OK)
        return 2;
    if (zcrp_queue_close(q) != ZCRP_OK || zcrp_close(e) != ZCRP_OK)
        return 3;
    return 0;
}

TEST(queue__in_a_child)
{
    struct pending p = end_three(false);
    int status;

    if (!ends_live_in_a_child())
        return;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(child_calls(p.lonely.entity));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_ptr_eq(next().message, p.m[0]);
    free_three(&p);
}
