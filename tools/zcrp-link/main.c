/* zcrp-link: runs two commands at the two ends of a lossy link. See docs/zcrp-link.1.
 *
 * The link is laid, B starts, then A; packets are carried until A is over and B had its time.
 *
 *      B starts -> listens, or --wait is over -> A starts -> A is over -> --linger is over, or B ->
 *      B is asked to end (SIGTERM) -> grace is over, or B -> everything is killed
 *
 * A signal that asks zcrp-link to end asks both commands; then they have the same grace. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "commands.h"
#include "common/arguments.h"
#include "common/complain.h"
#include "common/pin.h"
#include "ends.h"
#include "options.h"
#include "relay.h"
#include "summary.h"

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
    static const int awaited[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof awaited / sizeof *awaited; i++)
        sigaddset(&set, awaited[i]);
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
    instant until = relay_now() + run->options->wait;

    while (run->interrupted == 0 && !c->is_over[END_B] && relay_now() < until &&
           !ends_is_listening((unsigned)run->options->port))
        carry(run, instant_earlier(until, relay_now() + LOOK_EVERY));
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

    while (relay_now() < until && !(c->is_over[first] && c->is_over[END_B]))
        carry(run, until);
}

static void wait_for_a(struct run *run)
{
    while (run->interrupted == 0 && !run->commands.is_over[END_A])
        carry(run, NEVER);
}

static instant after(duration length)
{
    return relay_now() + length;
}

static void let_run(struct run *run)
{
    if (wait_for_b(run)) {
        commands_go(&run->commands);
        wait_for_a(run);
        if (run->interrupted == 0)
            wait_for_end(run, END_B, after(run->options->linger));
    }
    if (run->interrupted == 0 && !run->commands.is_over[END_B]) {
        run->was_asked = true;
        commands_signal(&run->commands, END_B, SIGTERM);
    }
    wait_for_end(run, run->interrupted != 0 ? END_A : END_B, after(GRACE));
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

static int run_between(struct run *run)
{
    const struct options *options = run->options;

    if (relay_init(&run->relay, run->ends.tun, options->conditions, options->mtu, options->seed) <
        0)
        return -1;
    run->relay.is_spinning = options->is_spinning;
    int status = run_commands(run);
    if (status >= 0 && summary_tell(options, &run->relay, &run->commands) < 0)
        status = -1;
    relay_fini(&run->relay);
    return status;
}

/* A's status unless 0, else B's if it ended by itself; 128 + signal if one ended the run; -1 with a
 * complaint if there was no run. */
static int run_link(const struct options *options)
{
    struct run run = {.options = options};

    if (summary_check(options) < 0 || ends_open(&run.ends, options->mtu) < 0)
        return -1;
    run.signals = open_signals();
    int status = run.signals < 0 ? -1 : run_between(&run);
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
