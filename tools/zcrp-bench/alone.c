#include "alone.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/pin.h"
#include "connection.h"
#include "netns.h"
#include "receiving_end.h"
#include "sending_end.h"

enum { STEP_NS = 10000000, STEPS_AFTER_FAILURE = 20, STEPS_TO_CLOSE = 1000 };

/* The child: ends with its parent, and leaves complaints to it. */
static _Noreturn void receive(const struct options *options, int listener, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* gone already */
        exit(EXIT_FAILURE);
    complain_silently();
    exit(receiving_end_serve(options, listener, (int64_t)options->settings.limit_ns) < 0
             ? EXIT_FAILURE
             : EXIT_SUCCESS);
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
    int listener;

    if (options->is_netns && netns_enter() < 0)
        return -1;
    listener = connection_listen(options->is_netns ? &any : &loopback);
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
