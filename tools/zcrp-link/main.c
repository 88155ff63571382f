/* zcrp-link: runs two commands at the two ends of a lossy link. See docs/zcrp-link.1.
 *
 * The link is laid, B starts, then A; packets are carried until A is over and B had its time.
 *
 *      B starts -> listens, or --wait is over -> A starts -> A is over -> --linger is over, or B ->
 *      B is asked to end (SIGTERM) -> grace is over, or B -> everything is killed
 *
 * A signal that asks zcrp-link to end asks both commands; then they have the same grace. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "commands.h"
#include "common/arguments.h"
#include "common/clock.h"
#include "common/complain.h"
#include "common/environment.h"
#include "common/quantity.h"
#include "ends.h"
#include "options.h"
#include "relay.h"

#define LOOK_EVERY (10 * MILLISECOND)
#define GRACE (2 * SECOND)

enum { EXIT_NO_LINK = 125 };

struct run {
    const struct options *options;
    struct ends ends;
    struct commands commands;
    struct relay relay;
    int signals;     /* a signalfd */
    int interrupted; /* the signal that asked for the end; 0: none */
    bool was_asked;  /* B was asked to end */
};

/* From now on these signals are read. */
static int open_signals(void)
{
    static const int awaited[] = {SIGCHLD, SIGINT, SIGTERM};
    struct sigaction hangup;
    sigset_t set;

    (void)signal(SIGCHLD, SIG_DFL); /* if it is ignored, nothing tells that a command is over */
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof awaited / sizeof *awaited; i++)
        sigaddset(&set, awaited[i]);
    /* nohup(1) has it ignored; one that is blocked would come all the same. */
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0 ? fd : complain("cannot wait for signals: %s", strerror(errno));
}

/* The first request is passed on, unless it came from the terminal, which has told all; the second
 * one is the last. */
static void on_request(struct run *run, const struct signalfd_siginfo *info)
{
    bool is_second = run->interrupted != 0;

    if (!is_second)
        run->interrupted = (int)info->ssi_signo;
    run->was_asked = true;
    for (int end = 0; end < ENDS; end++) {
        if (is_second)
            commands_signal(&run->commands, end, SIGKILL);
        else if (info->ssi_code != SI_KERNEL)
            commands_signal(&run->commands, end, run->interrupted);
    }
}

static void read_signals(struct run *run)
{
    struct signalfd_siginfo info;

    while (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            commands_notice(&run->commands);
        else
            on_request(run, &info);
    }
}

/* Carries packets until that time, or something has happened. */
static void carry(struct run *run, instant until)
{
    if (relay_run(&run->relay, run->signals, until))
        read_signals(run);
}

/* Until B listens. True if A may start: a B that failed before that has spoilt the run. */
static bool wait_for_b(struct run *run)
{
    const struct commands *c = &run->commands;
    instant until = clock_now_ns() + run->options->wait;

    while (run->interrupted == 0 && !c->is_over[END_B] && clock_now_ns() < until &&
           !ends_is_listening((unsigned)run->options->port))
        carry(run, instant_earlier(until, clock_now_ns() + LOOK_EVERY));
    if (run->interrupted != 0)
        return false;
    if (!c->is_over[END_B] || c->status[END_B] == 0)
        return true;
    complain("B ended with status %d before A was started", c->status[END_B]);
    return false;
}

/* Until both, or B alone, are over, or that time has come. */
static void wait_for_end(struct run *run, int first, instant until)
{
    const struct commands *c = &run->commands;

    while (clock_now_ns() < until && !(c->is_over[first] && c->is_over[END_B]))
        carry(run, until);
}

static void let_run(struct run *run)
{
    if (wait_for_b(run)) {
        commands_go(&run->commands);
        while (run->interrupted == 0 && !run->commands.is_over[END_A])
            carry(run, NEVER);
        if (run->interrupted == 0)
            wait_for_end(run, END_B, clock_now_ns() + run->options->linger);
    }
    if (run->interrupted == 0 && !run->commands.is_over[END_B]) {
        run->was_asked = true;
        commands_signal(&run->commands, END_B, SIGTERM);
    }
    wait_for_end(run, run->interrupted != 0 ? END_A : END_B, clock_now_ns() + GRACE);
}

static int status_of(const struct run *run)
{
    const struct commands *c = &run->commands;

    if (run->interrupted != 0)
        return 128 + run->interrupted;
    if (c->is_over[END_A] && c->status[END_A] != 0)
        return c->status[END_A];
    return c->is_over[END_B] && !run->was_asked ? c->status[END_B] : 0;
}

/* ---- what the link did: lines on standard error, and JSON ---- */

static const char *const way[ENDS] = {"A to B", "B to A"};
static const char *const key[ENDS] = {"a_to_b", "b_to_a"};

/* Microseconds of each of `count`. */
static double mean_us(duration sum, uint64_t count)
{
    return count == 0 ? 0 : (double)sum / (double)count / 1e3;
}

static double us(duration length)
{
    return (double)length / 1e3;
}

/* Packets that came out of the transmitter, lost or not. */
static uint64_t sent(const struct path_counts *c)
{
    return c->entered - c->dropped;
}

static void tell_count(const char *name, uint64_t count)
{
    if (count > 0)
        fprintf(stderr, ", %" PRIu64 " %s", count, name);
}

static void tell_way(const struct relay *relay, int end)
{
    const struct path_counts *c = &relay->path[end].counts;
    char bytes[QUANTITY_ROOM];

    if (c->entered_bytes < 1000)
        snprintf(bytes, sizeof bytes, "%" PRIu64 " ", c->entered_bytes);
    else
        quantity_figure(bytes, (double)c->entered_bytes);
    fprintf(stderr, "zcrp-link: %s: %" PRIu64 " packets, %sB: %" PRIu64 " arrived", way[end],
            c->entered, bytes, c->left);
    tell_count("dropped by the queue", c->dropped);
    tell_count("lost", c->lost);
    tell_count("corrupted", c->corrupted);
    tell_count("doubled", c->duplicated);
    tell_count("held back", c->reordered);
    tell_count("refused", relay->refused[end]);
    fprintf(stderr, "; %.0f us in the queue (at most %.0f), %.0f us late (at most %.0f)\n",
            mean_us(c->queued, sent(c)), us(c->queued_most), mean_us(c->late, c->left),
            us(c->late_most));
}

static void write_way(FILE *out, const struct relay *relay, int end)
{
    const struct path_counts *c = &relay->path[end].counts;
    const struct {
        const char *name;
        uint64_t value;
    } count[] = {
        {"packets", c->entered},      {"bytes", c->entered_bytes},
        {"dropped", c->dropped},      {"lost", c->lost},
        {"corrupted", c->corrupted},  {"duplicated", c->duplicated},
        {"reordered", c->reordered},  {"refused", relay->refused[end]},
        {"arrived_packets", c->left}, {"arrived_bytes", c->left_bytes},
    };

    fprintf(out, ",\n  \"%s\": {", key[end]);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        fprintf(out, "\"%s\": %" PRIu64 ", ", count[i].name, count[i].value);
    fprintf(out, "\"queue_us\": %.3f, \"queue_most_us\": %.3f", mean_us(c->queued, sent(c)),
            us(c->queued_most));
    fprintf(out, ", \"late_us\": %.3f, \"late_most_us\": %.3f}", mean_us(c->late, c->left),
            us(c->late_most));
}

/* null: it was not over when the run was. */
static void write_status(FILE *out, const char *name, const struct commands *commands, int end)
{
    if (commands->is_over[end])
        fprintf(out, ", \"%s\": %d", name, commands->status[end]);
    else
        fprintf(out, ", \"%s\": null", name);
}

static int write_json(const char *path, const struct options *options, const struct relay *relay,
                      const struct commands *commands)
{
    FILE *out = fopen(path, "we");

    if (out == NULL)
        return complain("cannot write %s: %s", path, strerror(errno));
    fprintf(out, "{\"seed\": %" PRIu64 ", \"mtu\": %" PRIu64, options->seed, options->mtu);
    write_status(out, "status_a", commands, END_A);
    write_status(out, "status_b", commands, END_B);
    for (int end = 0; end < ENDS; end++)
        write_way(out, relay, end);
    fputs("\n}\n", out);
    bool is_bad = fflush(out) != 0 || ferror(out) != 0;
    int error = errno;
    is_bad = fclose(out) != 0 || is_bad;
    return is_bad ? complain("cannot write %s: %s", path, strerror(error)) : 0;
}

/* Before the commands run, for theirs may be a long time: whether the JSON can be written where the
 * options want it. 0, or -1 with a complaint. */
static int check_json(const struct options *options)
{
    if (options->json == NULL)
        return 0;
    FILE *out = fopen(options->json, "ae");
    if (out == NULL)
        return complain("cannot write %s: %s", options->json, strerror(errno));
    fclose(out);
    return 0;
}

/* As the options want it. 0, or -1 with a complaint. */
static int tell(const struct options *options, const struct relay *relay,
                const struct commands *commands)
{
    if (!options->is_quiet) {
        for (int end = 0; end < ENDS; end++)
            tell_way(relay, end);
        fprintf(stderr, "zcrp-link: seed %" PRIu64 "\n", options->seed);
    }
    return options->json == NULL ? 0 : write_json(options->json, options, relay, commands);
}

/* ---- the program ---- */

static int run_commands(struct run *run)
{
    const struct options *options = run->options;
    int status = -1;

    if (commands_start(&run->commands, options->command, &run->ends) == 0 &&
        pin_to((int)options->core) == 0) {
        signal(SIGPIPE, SIG_IGN);
        if (!options->is_spinning) /* it would leave nothing to others */
            relay_hurry();
        let_run(run);
        status = status_of(run);
    }
    commands_end(&run->commands);
    return status;
}

/* A's status unless 0, else B's if it ended by itself; 128 + signal if one ended the run; -1 with a
 * complaint if there was no run. */
static int run_link(const struct options *options)
{
    struct run run = {.options = options};
    int status = -1;

    if (check_json(options) < 0 || ends_open(&run.ends, options->mtu) < 0)
        return -1;
    run.signals = open_signals();
    if (run.signals >= 0 && relay_init(&run.relay, run.ends.tun, options->conditions, options->mtu,
                                       options->seed) == 0) {
        run.relay.is_spinning = options->is_spinning;
        status = run_commands(&run);
        if (status >= 0 && tell(options, &run.relay, &run.commands) < 0)
            status = -1;
        relay_fini(&run.relay);
    }
    if (run.signals >= 0)
        close(run.signals);
    ends_close(&run.ends);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    int status = options_parse(&options, argc, argv);

    if (status != 0)
        return arguments_status(status);
    status = run_link(&options);
    return status < 0 ? EXIT_NO_LINK : status;
}
