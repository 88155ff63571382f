#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/environment.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/ends/ends.h"
#include "zcrp-bench/results/report.h"

/* Two network namespaces that a virtual ethernet pair joins: a network between two processes of
 * this machine, with an MTU of one's own.
 *
 *      netns_enter     this process gets a namespace of its own, the far one, and listens there
 *      fork            the child stays in the far namespace
 *      netns_join      this process moves to another one, the near one, and lays the link
 *
 *      near  zcrp0 198.18.0.1 ------ zcrp1 198.18.0.2  far
 *
 * They have no name outside, and are gone with the two processes, however these end. */
#define NETNS_FAR_HOST "198.18.0.2"

/* For a shell: the MTU, and the process at the far end. RFC 2544 keeps 198.18.0.0/15 for
 * measurements. */
static const char lay_link[] =
    "command -v ip >/dev/null || exit 127\n"
    "ip -batch - <<END || exit 1\n"
    "link add zcrp0 mtu %1$llu type veth peer name zcrp1 mtu %1$llu netns %2$d\n"
    "address add 198.18.0.1/30 dev zcrp0\n"
    "link set zcrp0 up\n"
    "link set lo up\n"
    "END\n"
    "exec nsenter -t %2$d -n ip -batch - <<END\n"
    "address add " NETNS_FAR_HOST "/30 dev zcrp1\n"
    "link set zcrp1 up\n"
    "link set lo up\n"
    "END\n";

static int netns_enter(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return 0;
    if (errno == EPERM)
        return complain("--netns needs the rights of root (CAP_SYS_ADMIN); `unshare -rn true` says "
                        "whether `unshare -r zcrp-bench ...` lends them");
    return complain("cannot make a network namespace: %s", strerror(errno));
}

enum { NOT_FOUND = 127 };

static int netns_join(pid_t child, uint64_t mtu)
{
    char command[sizeof lay_link + 64];

    snprintf(command, sizeof command, lay_link, (unsigned long long)mtu, (int)child);
    if (netns_enter() < 0)
        return -1;
    int status = system(command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return complain("needs ip: apt install iproute2");
    return status == 0 ? 0 : complain("ip (of iproute2) cannot lay a link between namespaces");
}

enum { STEP_NS = 10000000, STEPS_AFTER_FAILURE = 20, STEPS_TO_CLOSE = 1000 };

/* The child: ends with its parent, and leaves complaints to it. */
static _Noreturn void receive(const struct options *options, int listener, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* gone already */
        exit(EXIT_FAILURE);
    complain_silently();
    int fd = connection_accept(listener, (int64_t)options->settings.limit_ns);
    exit(fd < 0 || receiving_end_serve(options, listener, fd) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Waits for the child to end, for `steps` at most; then kills it. Whether it ended by itself, and
 * with what status. */
static bool reap(pid_t child, int steps, int *status)
{
    struct timespec step = {.tv_nsec = STEP_NS};

    for (int i = 0; i < steps; i++) {
        if (waitpid(child, status, WNOHANG) == child)
            return true;
        nanosleep(&step, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, status, 0);
    return false;
}

/* Sends, from the near side of the link if there is one. */
static int send_to(const struct results *results, const struct address *address, pid_t child)
{
    const struct options *options = results->options;
    uint64_t mtu = options->mtu != 0 ? options->mtu : OPTIONS_USUAL_MTU;

    if (options->is_netns && netns_join(child, mtu) < 0)
        return -1;
    if (pin_to(options->cores[0]) < 0)
        return -1;
    return sending_end_measure(address, results);
}

static int run_with_child(const struct results *results, const struct address *address, pid_t child)
{
    int result = send_to(results, address, child);
    int status;

    if (!reap(child, result < 0 ? STEPS_AFTER_FAILURE : STEPS_TO_CLOSE, &status))
        return result < 0 ? -1 : complain("the receiving process did not end");
    if (WIFSIGNALED(status))
        return complain("the receiving process was killed: %s", strsignal(WTERMSIG(status)));
    if (result == 0 && WEXITSTATUS(status) != EXIT_SUCCESS)
        return complain("the receiving process failed");
    return result;
}

/* A socket that listens where the child will be; *address is how the other end reaches it. */
static int listen_for(const struct options *options, struct address *address)
{
    const struct address loopback = {.host = "127.0.0.1", .port = "0"};
    const struct address any = {.host = "0.0.0.0", .port = "0"};

    if (options->is_netns && netns_enter() < 0)
        return -1;
    int listener = connection_listen(options->is_netns ? &any : &loopback);
    if (listener < 0 || address_local(listener, address) < 0)
        return -1;
    if (options->is_netns)
        memcpy(address->host, NETNS_FAR_HOST, sizeof NETNS_FAR_HOST);
    return listener;
}

int alone_measure(const struct results *results)
{
    const struct options *options = results->options;
    struct address address;
    int listener = listen_for(options, &address);
    pid_t parent = getpid();
    pid_t child;

    if (listener < 0)
        return -1;
    /* Before there is a child, whose complaints nobody hears; it inherits the core. */
    if (pin_to(options->cores[1]) < 0)
        return -1;
    fflush(stdout);
    child = fork();
    if (child < 0)
        return complain("cannot start a process: %s", strerror(errno));
    if (child == 0)
        receive(options, listener, parent);
    close(listener);
    return run_with_child(results, &address, child);
}

/* ---- measurements apart ---- */

/* In memory that both processes have. */
struct attempt {
    int status;
    char complaint[COMPLAIN_ROOM];
    struct run run;
};

/* The child, which takes its channels along when it ends. */
static _Noreturn void attempt_all(const struct options *options, struct attempt *attempt,
                                  pid_t parent)
{
    const struct results results = {
        .sizes = 1, .repeats = 1, .transports = 1, .options = options, .runs = &attempt->run};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    complain_silently();
    attempt->status = alone_measure(&results);
    snprintf(attempt->complaint, sizeof attempt->complaint, "%s", complain_last());
    _exit(EXIT_SUCCESS);
}

int alone_try(const struct options *options, struct run *run, char complaint[COMPLAIN_ROOM])
{
    struct attempt *attempt =
        mmap(NULL, sizeof *attempt, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid();

    snprintf(complaint, COMPLAIN_ROOM, "cannot start a process: %s", strerror(errno));
    if (attempt == MAP_FAILED)
        return -1;
    *attempt = (struct attempt){.status = -1, .complaint = "the sending process was killed"};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        attempt_all(options, attempt, parent);
    int status = -1;
    if (child > 0 && waitpid(child, NULL, 0) == child) {
        status = attempt->status;
        snprintf(complaint, COMPLAIN_ROOM, "%s", attempt->complaint);
        *run = attempt->run;
    }
    munmap(attempt, sizeof *attempt);
    return status;
}

enum { PAGE = 4096 };

/* What is left of the options for a measurement of one transport and size. */
static struct options narrow(const struct options *options, size_t size, size_t transport)
{
    struct options one = *options;
    struct settings *settings = &one.settings;
    uint64_t bytes = options->sizes[size];
    uint64_t slots = options_slots(options, options->peers * bytes, UINT64_MAX);

    one.transports[0] = options->transports[transport];
    one.sizes[0] = bytes;
    one.transport_count = one.size_count = one.repeat = 1;
    one.wants_stats = false;
    settings->depth = slots < settings->depth ? slots : settings->depth;
    settings->mapped_bytes = 2 * settings->depth * (bytes + PAGE);
    return one;
}

int alone_measure_peers(const struct results *results)
{
    const struct options *options = results->options;
    char complaint[COMPLAIN_ROOM];
    size_t done = 0;

    for (size_t size = 0; size < results->sizes; size++) {
        for (size_t repeat = 0; repeat < results->repeats; repeat++) {
            for (size_t i = 0; i < results->transports; i++) {
                const struct options one = narrow(options, size, i);
                struct run *run = results_run(results, size, repeat, i);

                progress_show("%zu of %zu", done++, results_count(results));
                if (alone_try(&one, run, complaint) < 0)
                    return complain("--peers: %s", complaint);
                run->transport = options->transports[i].name;
                details_write(options, run, repeat);
            }
        }
    }
    progress_clear();
    return 0;
}
