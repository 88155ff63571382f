#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/pin.h"
#include "zcrp-bench/control/connection.h"
#include "zcrp-bench/ends/ends.h"

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

/* RFC 2544 keeps 198.18.0.0/15 for measurements. */
static const char near_side[] =
    "link add zcrp0 mtu %llu type veth peer name zcrp1 mtu %llu netns %d\n"
    "address add 198.18.0.1/30 dev zcrp0\n"
    "link set zcrp0 up\n"
    "link set lo up\n";
static const char far_side[] = "address add " NETNS_FAR_HOST "/30 dev zcrp1\n"
                               "link set zcrp1 up\n"
                               "link set lo up\n";

static int netns_enter(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return 0;
    if (errno == EPERM)
        return complain("--netns needs the rights of root (CAP_SYS_ADMIN); `unshare -rn true` says "
                        "whether `unshare -r zcrp-bench ...` lends them");
    return complain("cannot make a network namespace: %s", strerror(errno));
}

enum { NOT_FOUND = 127 }; /* a shell's status for a program that it does not find */

/* Gives commands to ip(8), in the namespace where this process is. */
static int run_ip(const char *commands)
{
    /* Without ip the shell reads what is meant for it: nobody gets SIGPIPE. */
    FILE *ip = popen("command -v ip >/dev/null || { while read -r line; do :; done; exit 127; }\n"
                     "exec ip -batch -",
                     "we");

    if (ip == NULL)
        return complain("cannot run ip: %s", strerror(errno));
    fputs(commands, ip);
    int status = pclose(ip);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return complain("needs ip: apt install iproute2");
    return status == 0 ? 0 : complain("ip (of iproute2) cannot lay a link between namespaces");
}

/* The same in another process's namespace; comes back. */
static int run_ip_at(pid_t process, const char *commands)
{
    char path[64];
    int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    bool is_there = false;
    int status = -1;

    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)process);
    int there = open(path, O_RDONLY | O_CLOEXEC);
    if (here >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
        is_there = true;
        status = run_ip(commands);
        if (setns(here, CLONE_NEWNET) < 0)
            status = complain("cannot leave %s: %s", path, strerror(errno));
    }
    if (!is_there)
        complain("cannot enter %s: %s", path, strerror(errno));
    if (here >= 0)
        close(here);
    if (there >= 0)
        close(there);
    return status;
}

static int netns_join(pid_t child, uint64_t mtu)
{
    char commands[sizeof near_side + 64];

    snprintf(commands, sizeof commands, near_side, (unsigned long long)mtu, (unsigned long long)mtu,
             (int)child);
    if (netns_enter() < 0 || run_ip(commands) < 0)
        return -1;
    return run_ip_at(child, far_side);
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
static int send_to(const struct options *options, const struct address *address, pid_t child)
{
    uint64_t mtu = options->mtu != 0 ? options->mtu : OPTIONS_USUAL_MTU;

    if (options->is_netns && netns_join(child, mtu) < 0)
        return -1;
    if (pin_to(options->cores[0]) < 0)
        return -1;
    return sending_end_run(options, address);
}

static int run_with_child(const struct options *options, const struct address *address, pid_t child)
{
    int result = send_to(options, address, child);
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

int alone_run(const struct options *options)
{
    struct address address;
    int listener = listen_for(options, &address);
    pid_t parent = getpid();
    pid_t child;

    if (listener < 0)
        return -1;
    /* Before there is a child, whose complaints nobody hears; it inherits the core. */
    if (pin_to(options->cores[1]) < 0)
        return -1;
    child = fork();
    if (child < 0)
        return complain("cannot start a process: %s", strerror(errno));
    if (child == 0)
        receive(options, listener, parent);
    close(listener);
    return run_with_child(options, &address, child);
}
