/* Half a round trip of 64 bytes between two processes of this machine, by zcrp_wait_for, and by a
 * spin on zcrp_queue_take that only asks. Both ends do the same. Run by `make queue-trips`.
 *
 * Through memory and over UDP; the two ways of waiting take turns, so their ratio means something
 * where a time does not. Each end has a core of its own, if there are two. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/environment.h"
#include "lab/turns.h"
#include "zcrp.h"

enum { TURNS = 11, BYTES = 64, TOLD = 4 };
enum way { MEMORY, UDP, WAYS };
enum kind { WAITS, SPINS, KINDS };

static const char *const ways[] = {"memory", "UDP"};
static const int trips[] = {20000, 4000};

struct end {
    struct zcrp_connection *connection;
    struct zcrp_msg *in, *out;
    struct zcrp_queue *queue;
    bool in_ended, out_ended; /* as the queue has told */
};

static void must(int code)
{
    if (code == ZCRP_OK)
        return;
    fprintf(stderr, "queue_trips: %s\n", zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static struct zcrp_msg *make(void)
{
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);

    must(m != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
    memset(m->buffer, 0, BYTES);
    return m;
}

/* ---- the ways of waiting ---- */

static void wait_for(struct end *e, struct zcrp_msg *m)
{
    (void)e;
    must(zcrp_wait_for(m, -1));
}

/* The queue may tell of the other one first. */
static void spin_for(struct end *e, struct zcrp_msg *m)
{
    struct zcrp_completion told[TOLD];
    bool *has_ended = m == e->in ? &e->in_ended : &e->out_ended;

    while (!*has_ended) {
        int count = zcrp_queue_take(e->queue, told, TOLD, 0);
        must(count < 0 ? count : ZCRP_OK);
        for (int i = 0; i < count; i++) {
            if (told[i].kind != ZCRP_MESSAGE_ENDED) /* the peer may be through */
                continue;
            must(told[i].code);
            e->in_ended |= told[i].message == e->in;
            e->out_ended |= told[i].message == e->out;
        }
    }
    *has_ended = false;
}

typedef void (*wait_fn)(struct end *e, struct zcrp_msg *m);
static const wait_fn waits[] = {wait_for, spin_for};

/* ---- a turn ---- */

static void begin(struct zcrp_entity *entity, struct zcrp_msg *m)
{
    must(zcrp_submit(entity, m, BYTES));
}

static void round_trips(struct end *e, wait_fn finish, int count, bool begins)
{
    struct zcrp_entity *sender = zcrp_connection_sender(e->connection);
    struct zcrp_entity *receiver = zcrp_connection_receiver(e->connection);

    for (int i = 0; i < count; i++) {
        begin(receiver, e->in);
        if (begins)
            begin(sender, e->out);
        finish(e, e->in);
        if (!begins)
            begin(sender, e->out);
        finish(e, e->out);
    }
}

/* Nanoseconds of half a round trip. */
static double turn(struct end *e, enum way way, enum kind kind, bool begins)
{
    if (kind == SPINS)
        must(zcrp_queue_add_connection(e->queue, e->connection, NULL));
    double began = now_s();
    round_trips(e, waits[kind], trips[way], begins);
    double ended = now_s();
    if (kind == SPINS)
        must(zcrp_queue_remove_connection(e->queue, e->connection));
    return (ended - began) / trips[way] / 2 * 1e9;
}

static void measure(struct end *end, bool begins)
{
    double ns[KINDS][TURNS], ratio[TURNS];

    for (enum way way = MEMORY; way < WAYS; way++) {
        for (int i = 0; i < TURNS; i++) {
            for (int k = 0; k < KINDS; k++) {
                enum kind kind = (enum kind)((i + k) % KINDS);
                ns[kind][i] = turn(&end[way], way, kind, begins);
            }
            ratio[i] = ns[SPINS][i] / ns[WAITS][i];
        }
        if (begins)
            printf("%-7s half a round trip: %6.0f ns by zcrp_wait_for, %6.0f ns by a spin on a "
                   "queue, ratio %.2f\n",
                   ways[way], median(ns[WAITS], TURNS), median(ns[SPINS], TURNS),
                   median(ratio, TURNS));
    }
}

/* ---- two processes ---- */

static void run_on(int core)
{
    bool is_there = core < sysconf(_SC_NPROCESSORS_ONLN);

    must(pin_to(is_there ? core : PIN_NONE) == 0 ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
}

static struct end end_of(struct zcrp_connection *c)
{
    struct end e = {.connection = c, .in = make(), .out = make()};

    must(zcrp_queue_open(&e.queue));
    return e;
}

static void close_all(struct end *end)
{
    for (enum way way = MEMORY; way < WAYS; way++) {
        (void)zcrp_connection_close(end[way].connection);
        (void)zcrp_queue_close(end[way].queue);
        zcrp_free_msg(end[way].in);
        zcrp_free_msg(end[way].out);
    }
}

static void call(const char *port)
{
    struct zcrp_options options = {.flags = 0};
    struct zcrp_connection *c;
    struct end end[WAYS];

    for (enum way way = MEMORY; way < WAYS; way++) {
        options.flags = way == UDP ? ZCRP_NO_MEMORY : 0;
        must(zcrp_connect(&c, "127.0.0.1", port, &options, -1));
        end[way] = end_of(c);
    }
    measure(end, true);
    close_all(end);
}

static void answer(struct zcrp_listener *listener)
{
    struct zcrp_connection *c;
    struct end end[WAYS];

    for (enum way way = MEMORY; way < WAYS; way++) {
        must(zcrp_accept(listener, &c, -1));
        end[way] = end_of(c);
    }
    measure(end, false);
    close_all(end);
}

int main(void)
{
    struct zcrp_listener *listener;
    char port[8];
    int status;

    run_on(0); /* before there are threads */
    must(zcrp_listen(&listener, "127.0.0.1", "0", NULL));
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    pid_t child = fork();
    if (child == 0) {
        run_on(1);
        call(port);
        exit(0);
    }
    answer(listener);
    (void)zcrp_listener_close(listener);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
