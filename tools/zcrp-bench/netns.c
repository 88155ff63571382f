#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"

/* RFC 2544 keeps 198.18.0.0/15 for measurements. */
static const char near_side[] =
    "link add zcrp0 mtu %llu type veth peer name zcrp1 mtu %llu netns %d\n"
    "address add 198.18.0.1/30 dev zcrp0\n"
    "link set zcrp0 up\n"
    "link set lo up\n";
static const char far_side[] = "address add " NETNS_FAR_HOST "/30 dev zcrp1\n"
                               "link set zcrp1 up\n"
                               "link set lo up\n";

int netns_enter(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return 0;
    if (errno == EPERM)
        return complain("--netns needs the rights of root (CAP_SYS_ADMIN); `unshare -rn true` says "
                        "whether `unshare -r zcrp-bench ...` lends them");
    return complain("cannot make a network namespace: %s", strerror(errno));
}

/* Gives commands to ip(8), in the namespace where this process is. */
static int run_ip(const char *commands)
{
    FILE *ip = popen("ip -batch -", "we");
    int status;

    if (ip == NULL)
        return complain("cannot run ip: %s", strerror(errno));
    fputs(commands, ip);
    status = pclose(ip);
    return status == 0 ? 0 : complain("ip (of iproute2) cannot lay a link between namespaces");
}

/* The same in another process's namespace; comes back. */
static int run_ip_at(pid_t process, const char *commands)
{
    char path[64];
    int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int there;
    int status = -1;

    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)process);
    there = open(path, O_RDONLY | O_CLOEXEC);
    if (here >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
        status = run_ip(commands);
        if (setns(here, CLONE_NEWNET) < 0)
            status = -1;
    }
    if (here >= 0)
        close(here);
    if (there >= 0)
        close(there);
    return status < 0 ? complain("cannot set up the far network namespace") : 0;
}

int netns_join(pid_t child, uint64_t mtu)
{
    char commands[sizeof near_side + 64];

    snprintf(commands, sizeof commands, near_side, (unsigned long long)mtu, (unsigned long long)mtu,
             (int)child);
    if (netns_enter() < 0 || run_ip(commands) < 0)
        return -1;
    return run_ip_at(child, far_side);
}
