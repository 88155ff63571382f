/* What a message of 64 bytes costs, in instructions: both ends are in this process, and one thread
 * uses them in turns, so that a count means the same on each machine. Run by `make instructions`,
 * under callgrind.
 *
 *      instructions stream|trips|spins memory|udp BYTES MESSAGES
 *
 * A stream has 64 messages under way. A trip is a message there, and one back; the same by two
 * queues, whose takers spin, if it is `spins`. The four functions below are what callgrind shows
 * the parts of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "zcrp.h"

enum { DEPTH = 64, SLOWER = 50 };

struct end {
    struct zcrp_connection *connection;
    struct zcrp_queue *queue; /* NULL: none */
    int untold;               /* messages that are submitted, and the queue has not told of */
    struct zcrp_msg *in[DEPTH], *out[DEPTH];
};

static size_t bytes;

static void must(int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "instructions: %s\n", zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static struct zcrp_msg *make(void)
{
    struct zcrp_msg *m = zcrp_alloc_msg(bytes);

    must(m != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
    memset(m->buffer, 1, bytes);
    return m;
}

/* ---- time ----
 *
 * callgrind makes a program much slower, and the library would find that its users come
 * back late. So its time passes as much slower. */

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static int64_t started;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);

    if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE)
        return failed;
    if (started == 0)
        started = ns_of(now);
    *now = timespec_of(started + (ns_of(now) - started) / SLOWER);
    return failed;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *before)
{
    struct itimerspec slower = *at;
    int64_t ns = ns_of(&at->it_value);

    if (ns != 0 && ns > started)
        slower.it_value = timespec_of(started + (ns - started) * SLOWER);
    return (int)syscall(SYS_timerfd_settime, fd, flags, &slower, before);
}

/* ---- the parts ---- */

__attribute__((noinline)) static void part_post(struct end *e, int i)
{
    must(zcrp_submit(zcrp_connection_receiver(e->connection), e->in[i], bytes));
    e->untold++;
}

__attribute__((noinline)) static void part_submit(struct end *e, int i)
{
    must(zcrp_submit(zcrp_connection_sender(e->connection), e->out[i], bytes));
    e->untold++;
}

__attribute__((noinline)) static void part_receive(struct end *e, int i)
{
    must(zcrp_wait_for(e->in[i], -1));
}

__attribute__((noinline)) static void part_finish(struct end *e, int i)
{
    must(zcrp_wait_for(e->out[i], -1));
}

/* Some of what has ended, if anything has. */
static void take(struct end *e)
{
    struct zcrp_completion told[4];
    int count = zcrp_queue_take(e->queue, told, 4, 0);

    must(count < 0 ? count : ZCRP_OK);
    for (int i = 0; i < count; i++)
        e->untold -= told[i].kind == ZCRP_MESSAGE_ENDED;
}

/* Until all has ended but so many. */
__attribute__((noinline)) static void part_receive_by_queue(struct end *e, int untold)
{
    while (e->untold > untold)
        take(e);
}

/* ---- what is measured ---- */

static void stream(struct end *from, struct end *to, int messages)
{
    for (int done = 0; done < messages; done += DEPTH) {
        for (int i = 0; i < DEPTH; i++)
            part_post(to, i);
        for (int i = 0; i < DEPTH; i++)
            part_submit(from, i);
        for (int i = 0; i < DEPTH; i++)
            part_receive(to, i);
        for (int i = 0; i < DEPTH; i++)
            part_finish(from, i);
    }
}

static void one_way(struct end *from, struct end *to)
{
    part_submit(from, 0);
    part_receive(to, 0);
    part_post(to, 0);
}

static void trips(struct end *from, struct end *to, int messages)
{
    part_post(from, 0);
    part_post(to, 0);
    for (int done = 0; done < messages; done += 2) {
        one_way(from, to);
        one_way(to, from);
        part_finish(from, 0);
        part_finish(to, 0);
    }
    must(zcrp_cancel(from->in[0]));
    must(zcrp_cancel(to->in[0]));
}

/* The caller submits at once when it has the answer, and what it sent before: so does the other. */
static void spins(struct end *from, struct end *to, int messages)
{
    part_post(from, 0);
    part_post(to, 0);
    for (int done = 0; done < messages; done += 2) {
        part_submit(from, 0);
        part_receive_by_queue(to, 0);
        part_post(to, 0);
        part_submit(to, 0);
        part_receive_by_queue(from, 0);
        part_post(from, 0);
        part_receive_by_queue(to, 1);
    }
    must(zcrp_cancel(from->in[0]));
    must(zcrp_cancel(to->in[0]));
}

static void open_queue(struct end *e)
{
    must(zcrp_queue_open(&e->queue));
    must(zcrp_queue_add_connection(e->queue, e->connection, NULL));
}

static void open_end(struct end *e, struct zcrp_connection *c)
{
    e->connection = c;
    for (int i = 0; i < DEPTH; i++) {
        e->in[i] = make();
        e->out[i] = make();
    }
}

static void close_end(struct end *e)
{
    (void)zcrp_connection_close(e->connection);
    (void)zcrp_queue_close(e->queue);
    for (int i = 0; i < DEPTH; i++) {
        zcrp_free_msg(e->in[i]);
        zcrp_free_msg(e->out[i]);
    }
}

static void show(struct end *e)
{
    struct zcrp_stats stats;

    must(zcrp_stats(zcrp_connection_sender(e->connection), &stats));
    fprintf(stderr, "%llu of %llu messages went as a whole\n",
            (unsigned long long)stats.messages_whole, (unsigned long long)stats.messages);
}

int main(int argc, char **argv)
{
    struct zcrp_options options = {0};
    struct zcrp_listener *listener;
    struct zcrp_connection *caller, *called;
    struct end from = {.queue = NULL}, to = from;
    char port[8];

    if (argc != 5)
        return EXIT_FAILURE;
    bytes = strtoul(argv[3], NULL, 10);
    int messages = atoi(argv[4]);
    options.flags = strcmp(argv[2], "udp") == 0 ? ZCRP_NO_MEMORY : 0;
    must(zcrp_listen(&listener, "127.0.0.1", "0", &options));
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    must(zcrp_connect(&caller, "127.0.0.1", port, &options, -1));
    must(zcrp_accept(listener, &called, -1));
    open_end(&from, caller);
    open_end(&to, called);
    if (strcmp(argv[1], "spins") == 0) {
        open_queue(&from);
        open_queue(&to);
        spins(&from, &to, messages);
    } else {
        (argv[1][0] == 's' ? stream : trips)(&from, &to, messages);
    }
    show(&from);
    close_end(&from);
    close_end(&to);
    (void)zcrp_listener_close(listener);
    return 0;
}
