#include "victim.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void victim_start(struct victim *v, const struct stage *stage, enum stage_side side)
{
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    fflush(stdout);
    v->pid = fork();
    ck_assert_int_ge(v->pid, 0);
    if (v->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stage_enter(stage, side);
        close(pair[0]);
        victim_work(pair[1]);
    }
    close(pair[1]);
    v->orders = pair[0];
}

void victim_kill(struct victim *v)
{
    ck_assert_int_eq(kill(v->pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(v->pid, NULL, 0), v->pid);
    close(v->orders);
}

uint64_t victim_memory(const struct victim *v)
{
    char path[64], line[128];
    unsigned long kilobytes = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)v->pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "VmRSS: %lu", &kilobytes) == 1)
            break;
    fclose(file);
    return (uint64_t)kilobytes << 10;
}

/* ---- orders and reports ---- */

static void begin(const struct victim *v, const struct victim_order *order)
{
    ck_assert_msg(send(v->orders, order, sizeof(*order), MSG_NOSIGNAL) == sizeof(*order),
                  "the victim is dead");
}

void victim_report(const struct victim *v, struct victim_report *report)
{
    ck_assert_msg(recv(v->orders, report, sizeof(*report), 0) == sizeof(*report),
                  "the victim died");
}

bool victim_has_report(const struct victim *v)
{
    struct pollfd set = {.fd = v->orders, .events = POLLIN};

    return poll(&set, 1, 0) > 0;
}

static struct victim_report give(const struct victim *v, const struct victim_order *order)
{
    struct victim_report report;

    begin(v, order);
    victim_report(v, &report);
    return report;
}

static struct zcrp_options options_or_none(const struct zcrp_options *options)
{
    return options ? *options : (struct zcrp_options){0};
}

int victim_bind(const struct victim *v, struct raw_end own)
{
    return give(v, &(struct victim_order){.task = VICTIM_BIND, .end = own}).code;
}

int victim_connect(const struct victim *v, bool is_sender, struct raw_end peer,
                   const struct zcrp_options *options)
{
    const struct victim_order order = {.task = VICTIM_CONNECT, .end = peer};
    int code = give(v, &order).code;

    return code ? code : victim_open_accepted(v, is_sender, options);
}

int victim_open(const struct victim *v, bool is_sender, struct raw_end own, struct raw_end peer,
                const struct zcrp_options *options)
{
    int code = victim_bind(v, own);

    return code ? code : victim_connect(v, is_sender, peer, options);
}

int victim_listen(const struct victim *v, struct raw_end own)
{
    return give(v, &(struct victim_order){.task = VICTIM_LISTEN, .end = own}).code;
}

void victim_begin_accept(const struct victim *v, int64_t timeout_ns)
{
    begin(v, &(struct victim_order){.task = VICTIM_ACCEPT, .timeout_ns = timeout_ns});
}

int victim_open_accepted(const struct victim *v, bool is_sender, const struct zcrp_options *options)
{
    const struct victim_order order = {
        .task = VICTIM_OPEN, .is_sender = is_sender, .options = options_or_none(options)};

    return give(v, &order).code;
}

int victim_submit(const struct victim *v, unsigned number, uint64_t bytes, uint64_t seed)
{
    const struct victim_order order = {
        .task = VICTIM_SUBMIT, .number = number, .bytes = bytes, .seed = seed};

    return give(v, &order).code;
}

void victim_begin_wait(const struct victim *v, unsigned number, int64_t timeout_ns)
{
    begin(v,
          &(struct victim_order){.task = VICTIM_WAIT, .number = number, .timeout_ns = timeout_ns});
}

int victim_wait(const struct victim *v, unsigned number, int64_t timeout_ns)
{
    struct victim_report report;

    victim_begin_wait(v, number, timeout_ns);
    victim_report(v, &report);
    return report.code;
}

void victim_refill(const struct victim *v, unsigned number, uint8_t value)
{
    (void)give(v, &(struct victim_order){.task = VICTIM_REFILL, .number = number, .value = value});
}

uint64_t victim_count(const struct victim *v, unsigned number, uint8_t value)
{
    const struct victim_order order = {.task = VICTIM_COUNT, .number = number, .value = value};

    return give(v, &order).bytes;
}

bool victim_holds(const struct victim *v, unsigned number, uint64_t seed)
{
    const struct victim_order order = {.task = VICTIM_HOLDS, .number = number, .seed = seed};

    return give(v, &order).code == 0;
}

void victim_begin_stream(const struct victim *v, uint64_t bytes, int64_t pause_ns)
{
    begin(v, &(struct victim_order){.task = VICTIM_STREAM, .bytes = bytes, .timeout_ns = pause_ns});
}

void victim_end_stream(const struct victim *v, struct victim_flow *flow)
{
    *flow = give(v, &(struct victim_order){.task = VICTIM_END_STREAM}).flow;
}

void victim_stats(const struct victim *v, struct zcrp_stats *stats)
{
    *stats = give(v, &(struct victim_order){.task = VICTIM_STATS}).stats;
}

int victim_close(const struct victim *v)
{
    return give(v, &(struct victim_order){.task = VICTIM_CLOSE}).code;
}
