/* A path that loses every burst which the kernel cuts (UDP_SEGMENT), beside one on which the kernel
 * is not asked to. Run by `make cut-bursts`.
 *
 *      lost     a filter at the receiver's socket drops what comes in one piece
 *      uncut    neither end uses an offload (ZCRP_NO_SEGMENT, ZCRP_NO_GRO)
 *
 * They take turns. Messages of 1 MiB go from one process to another over UDP, in units for an MTU
 * of 1500, on a core of their own each, if there are two. The rate counts from the moment on when
 * the sender knows that cut bursts are lost. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/environment.h"
#include "lab/drop_cut.h"
#include "lab/turns.h"
#include "zcrp.h"

enum { TURNS = 7, MESSAGES = 200, SIZE = 1 << 20, DEPTH = 4, UNIT = 1472, LOOK_NS = 100000 };
enum path { LOST, UNCUT };

struct result {
    double found_s; /* from the first message on */
    double rate;    /* MB/s from then on */
    uint64_t lost;  /* units */
};

static void must(int code)
{
    if (code >= ZCRP_OK)
        return;
    fprintf(stderr, "cut_bursts: %s\n", zcrp_explain(code));
    exit(EXIT_FAILURE);
}

static struct zcrp_options options_of(enum path path)
{
    uint32_t offloads = path == UNCUT ? ZCRP_NO_SEGMENT | ZCRP_NO_GRO : 0;

    return (struct zcrp_options){.unit_bytes = UNIT, .flags = ZCRP_NO_MEMORY | offloads};
}

static void make(struct zcrp_msg *m[DEPTH])
{
    for (int i = 0; i < DEPTH; i++) {
        m[i] = zcrp_alloc_msg(SIZE);
        must(m[i] != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
        memset(m[i]->buffer, 0, SIZE);
    }
}

static void receive_all(int socket, enum path path)
{
    const int both[2] = {socket, socket};
    const struct zcrp_options options = options_of(path);
    struct zcrp_entity *receiver;
    struct zcrp_msg *in[DEPTH];

    must(zcrp_udp_accept(socket, -1));
    must(zcrp_open_receiver(&receiver, both, &options));
    must(path == UNCUT || drop_cut(socket, UNIT + 100) ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
    make(in);
    for (int i = 0; i < MESSAGES + DEPTH; i++) {
        if (i >= DEPTH)
            must(zcrp_wait_for(in[i % DEPTH], -1));
        if (i < MESSAGES)
            must(zcrp_submit(receiver, in[i % DEPTH], SIZE));
    }
    (void)zcrp_close(receiver);
}

static uint64_t failures_of(struct zcrp_entity *sender)
{
    struct zcrp_stats stats;

    must(zcrp_stats(sender, &stats));
    return stats.offload_failures;
}

/* The message ends; meanwhile it is looked when the sender has found the path out. */
static void await(struct zcrp_entity *sender, struct zcrp_msg *m, double *found_at)
{
    int code;

    do {
        code = zcrp_wait_for(m, *found_at == 0 ? LOOK_NS : -1);
        if (*found_at == 0 && failures_of(sender) > 0)
            *found_at = now_s();
    } while (code == ZCRP_ERROR_TIMEOUT);
    must(code);
}

static struct result send_all(const char *port, enum path path)
{
    int socket = zcrp_udp_connect("127.0.0.1", port);
    const int both[2] = {socket, socket};
    const struct zcrp_options options = options_of(path);
    struct zcrp_entity *sender;
    struct zcrp_stats stats, before;
    struct zcrp_msg *out[DEPTH];

    must(socket);
    must(zcrp_open_sender(&sender, both, &options));
    make(out);
    double began = now_s(), found_at = path == UNCUT ? began : 0;
    must(zcrp_stats(sender, &before));
    for (int i = 0; i < MESSAGES + DEPTH; i++) {
        bool was_found = found_at != 0;
        if (i >= DEPTH)
            await(sender, out[i % DEPTH], &found_at);
        if (!was_found && found_at != 0)
            must(zcrp_stats(sender, &before));
        if (i < MESSAGES)
            must(zcrp_submit(sender, out[i % DEPTH], SIZE));
    }
    double ended = now_s();
    must(found_at != 0 ? ZCRP_OK : ZCRP_ERROR_STALLED);
    must(zcrp_stats(sender, &stats));
    (void)zcrp_close(sender);
    (void)close(socket);
    double bytes = (double)(stats.bytes_arrived - before.bytes_arrived);
    return (struct result){found_at - began, bytes / (ended - found_at) / 1e6, stats.units_lost};
}

static void run_on(int core)
{
    bool is_there = core < sysconf(_SC_NPROCESSORS_ONLN);

    must(pin_to(is_there ? core : PIN_NONE) == 0 ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
}

static struct result run(enum path path)
{
    int socket = zcrp_udp_listen("127.0.0.1", "0");
    char port[8];

    must(socket);
    (void)snprintf(port, sizeof port, "%d", zcrp_udp_port(socket));
    pid_t child = fork();
    if (child == 0) {
        run_on(1);
        receive_all(socket, path);
        exit(0);
    }
    struct result result = send_all(port, path);
    int status;
    (void)close(socket);
    must(waitpid(child, &status, 0) == child && status == 0 ? ZCRP_OK : ZCRP_ERROR_SYSTEM);
    return result;
}

int main(void)
{
    double ratio[TURNS], found_ms[TURNS];

    run_on(0); /* before there are threads */
    for (int turn = 0; turn < TURNS; turn++) {
        struct result lost = run(LOST);
        struct result uncut = run(UNCUT);
        ratio[turn] = lost.rate / uncut.rate;
        found_ms[turn] = lost.found_s * 1e3;
        printf("found after %6.1f ms and %3llu units, then %6.0f MB/s; uncut %6.0f MB/s\n",
               found_ms[turn], (unsigned long long)lost.lost, lost.rate, uncut.rate);
        (void)fflush(stdout);
    }
    printf("median: found after %.1f ms, then %.2f of the rate without offloads\n",
           median(found_ms, TURNS), median(ratio, TURNS));
    return 0;
}
