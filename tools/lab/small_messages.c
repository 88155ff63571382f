/* Small messages between two processes of this machine. Run by `make small-messages`.
 *
 *      library's   messages of zcrp_alloc_msg, which cross shared memory as a whole
 *      program's   the same in memory that the program brought (zcrp_wrap_msg): they go in units
 *
 * The two take turns over one connection, so their ratio means something where a rate does not. A
 * round trip begins when the buffer for its answer is posted; a stream has up to 128 messages under
 * way. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "zcrp.h"

enum { TURNS = 7, TRIPS = 20000, STREAM = 200000, DEPTH = 128, BYTES = 64 };

static const char *const kinds[] = {"library's", "program's"};

/* What one end has: messages of its own making, for each kind. */
struct end {
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *in[2][DEPTH], *out[2][DEPTH];
};

/* Seconds of a clock that does not jump. */
static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "small_messages: %s\n", zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static struct zcrp_msg *make(int kind)
{
    struct zcrp_msg *m = kind == 0 ? zcrp_alloc_msg(BYTES) : zcrp_wrap_msg(calloc(1, BYTES), BYTES);

    must(m != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
    memset(m->buffer, 0, BYTES);
    return m;
}

static struct end end_of(struct zcrp_connection *c)
{
    struct end e = {zcrp_connection_sender(c), zcrp_connection_receiver(c), {{NULL}}, {{NULL}}};

    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < DEPTH; i++) {
            e.in[kind][i] = make(kind);
            e.out[kind][i] = make(kind);
        }
    return e;
}

static void begin(struct zcrp_entity *entity, struct zcrp_msg *m)
{
    must(zcrp_submit(entity, m, BYTES));
}

static void finish(struct zcrp_msg *m)
{
    must(zcrp_wait_for(m, -1));
}

/* One message there, one back. */
static void round_trips(struct end *e, int kind, bool begins)
{
    struct zcrp_msg *in = e->in[kind][0], *out = e->out[kind][0];

    for (int i = 0; i < TRIPS; i++) {
        begin(e->receiver, in);
        if (begins)
            begin(e->sender, out);
        finish(in);
        if (!begins)
            begin(e->sender, out);
        finish(out);
    }
}

/* All one way. The receiver says when its buffers are posted, and when it has all. */
static void stream_out(struct end *e, int kind)
{
    begin(e->receiver, e->in[kind][0]);
    finish(e->in[kind][0]);
    for (int i = 0; i < STREAM; i++) {
        if (i >= DEPTH)
            finish(e->out[kind][i % DEPTH]);
        begin(e->sender, e->out[kind][i % DEPTH]);
    }
    for (int i = 0; i < DEPTH; i++)
        finish(e->out[kind][i]);
}

static void stream_in(struct end *e, int kind)
{
    for (int i = 0; i < DEPTH; i++)
        begin(e->receiver, e->in[kind][i]);
    begin(e->sender, e->out[kind][0]);
    finish(e->out[kind][0]);
    for (int i = 0; i < STREAM; i++) {
        finish(e->in[kind][i % DEPTH]);
        if (i + DEPTH < STREAM)
            begin(e->receiver, e->in[kind][i % DEPTH]);
    }
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *of)
{
    qsort(of, TURNS, sizeof *of, compare);
    return of[TURNS / 2];
}

static void measure(struct end *e, bool is_caller)
{
    double trip_ns[2][TURNS], message_ns[2][TURNS];

    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < 2; i++) {
            int kind = (turn + i) % 2;
            double began = now_s();
            round_trips(e, kind, is_caller);
            trip_ns[kind][turn] = (now_s() - began) / TRIPS / 2 * 1e9;
            began = now_s();
            if (is_caller)
                stream_out(e, kind);
            else
                stream_in(e, kind);
            message_ns[kind][turn] = (now_s() - began) / STREAM * 1e9;
        }
    for (int kind = 0; is_caller && kind < 2; kind++)
        printf("%s memory: half a round trip %.0f ns, a message of a stream %.0f ns\n", kinds[kind],
               median(trip_ns[kind]), median(message_ns[kind]));
}

static void close_all(struct zcrp_connection *c)
{
    struct zcrp_stats stats;

    must(zcrp_stats(zcrp_connection_sender(c), &stats));
    printf("%llu of %llu messages went as a whole\n", (unsigned long long)stats.messages_whole,
           (unsigned long long)stats.messages);
    (void)zcrp_connection_close(c);
}

int main(void)
{
    struct zcrp_listener *listener;
    struct zcrp_connection *c;
    struct end e;
    char port[8];

    must(zcrp_listen(&listener, "127.0.0.1", "0", NULL));
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    pid_t child = fork();
    if (child == 0) {
        must(zcrp_connect(&c, "127.0.0.1", port, NULL, -1));
        e = end_of(c);
        measure(&e, true);
        close_all(c);
        exit(0);
    }
    must(zcrp_accept(listener, &c, -1));
    e = end_of(c);
    measure(&e, false);
    (void)zcrp_connection_close(c);
    (void)zcrp_listener_close(listener);
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
