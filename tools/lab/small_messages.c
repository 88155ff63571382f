/* Small messages between two processes of this machine. Run by `make small-messages`.
 *
 *      library's   messages of zcrp_alloc_msg
 *      program's   the same in memory that the program brought (zcrp_wrap_msg): at each end the
 *                  kernel copies them
 *      pipe's      a pipe each way: one write for each message, one read for what is there
 *
 * They take turns, so their ratio means something where a rate does not. A round trip begins when
 * the buffer for its answer is posted; a stream of ZCRP has up to 128 messages under way. Each end
 * has a core of its own, if there are two. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/environment.h"
#include "lab/turns.h"
#include "zcrp.h"

enum { TURNS = 7, TRIPS = 20000, STREAM = 200000, DEPTH = 128, BYTES = 64, READ_BYTES = 65536 };
enum kind { LIBRARY, PROGRAM, PIPE, KINDS };

static const char *const kinds[] = {"library's memory", "program's memory", "pipe"};

/* What one end has: messages of its own making, for each kind of ZCRP's. */
struct end {
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *in[PIPE][DEPTH], *out[PIPE][DEPTH];
    int read_fd, write_fd; /* of pipes */
};

static void must(int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "small_messages: %s\n", zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static struct zcrp_msg *make(enum kind kind)
{
    struct zcrp_msg *m =
        kind == LIBRARY ? zcrp_alloc_msg(BYTES) : zcrp_wrap_msg(calloc(1, BYTES), BYTES);

    must(m != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
    memset(m->buffer, 0, BYTES);
    return m;
}

static struct end end_of(struct zcrp_connection *c, const int *in, const int *out)
{
    struct end e = {.sender = zcrp_connection_sender(c),
                    .receiver = zcrp_connection_receiver(c),
                    .read_fd = in[0],
                    .write_fd = out[1]};

    for (enum kind kind = LIBRARY; kind < PIPE; kind++)
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

static void write_one(const struct end *e)
{
    static const uint8_t bytes[BYTES];

    must(write(e->write_fd, bytes, BYTES) == BYTES ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
}

/* Messages of so many, or the one that there is. How many bytes. */
static size_t read_some(const struct end *e, size_t size)
{
    static uint8_t bytes[READ_BYTES];
    ssize_t got = read(e->read_fd, bytes, size);

    must(got > 0 ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
    return (size_t)got;
}

/* One message there, one back. */
static void round_trips_by_pipe(const struct end *e, bool begins)
{
    for (int i = 0; i < TRIPS; i++) {
        if (begins)
            write_one(e);
        (void)read_some(e, BYTES);
        if (!begins)
            write_one(e);
    }
}

static void round_trips(struct end *e, enum kind kind, bool begins)
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
static void stream_out(struct end *e, enum kind kind)
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

static void stream_in(struct end *e, enum kind kind)
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

static void stream_by_pipe(const struct end *e, bool is_sender)
{
    for (int i = 0; is_sender && i < STREAM; i++)
        write_one(e);
    for (size_t bytes = 0; !is_sender && bytes < (size_t)STREAM * BYTES;)
        bytes += read_some(e, READ_BYTES);
    if (is_sender)
        (void)read_some(e, BYTES);
    else
        write_one(e);
}

static void trips(struct end *e, enum kind kind, bool is_caller)
{
    if (kind == PIPE)
        round_trips_by_pipe(e, is_caller);
    else
        round_trips(e, kind, is_caller);
}

static void stream(struct end *e, enum kind kind, bool is_caller)
{
    if (kind == PIPE)
        stream_by_pipe(e, is_caller);
    else if (is_caller)
        stream_out(e, kind);
    else
        stream_in(e, kind);
}

static void measure(struct end *e, bool is_caller)
{
    double trip_ns[KINDS][TURNS], message_ns[KINDS][TURNS];

    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < KINDS; i++) {
            enum kind kind = (enum kind)((turn + i) % KINDS);
            double began = now_s();
            trips(e, kind, is_caller);
            trip_ns[kind][turn] = (now_s() - began) / TRIPS / 2 * 1e9;
            began = now_s();
            stream(e, kind, is_caller);
            message_ns[kind][turn] = (now_s() - began) / STREAM * 1e9;
        }
    for (int kind = 0; is_caller && kind < KINDS; kind++)
        printf("%-17s half a round trip %5.0f ns, a message of a stream %5.0f ns\n", kinds[kind],
               median(trip_ns[kind], TURNS), median(message_ns[kind], TURNS));
}

static void run_on(int core)
{
    bool is_there = core < sysconf(_SC_NPROCESSORS_ONLN);

    must(pin_to(is_there ? core : PIN_NONE) == 0 ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
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
    int there[2], back[2];
    char port[8];

    must(pipe(there) == 0 && pipe(back) == 0 ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
    run_on(0); /* before there are threads */
    must(zcrp_listen(&listener, "127.0.0.1", "0", NULL));
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    pid_t child = fork();
    if (child == 0) {
        run_on(1);
        must(zcrp_connect(&c, "127.0.0.1", port, NULL, -1));
        e = end_of(c, back, there);
        measure(&e, true);
        close_all(c);
        exit(0);
    }
    must(zcrp_accept(listener, &c, -1));
    e = end_of(c, there, back);
    measure(&e, false);
    (void)zcrp_connection_close(c);
    (void)zcrp_listener_close(listener);
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
