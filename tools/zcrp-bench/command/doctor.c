#include "zcrp-bench/command/doctor.h"
#include "zcrp-bench/command/options.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/quantity.h"
#include "zcrp-bench/transports/transport.h"

enum {
    WANTED_BUFFER = 4 << 20, /* what the library asks for */
    WHOLE_LOOPBACK = 65535,  /* an MTU that carries any datagram whole */
    AAL5_PROTOCOL = 137,     /* MPLS in IP */
};

/* What a UDP socket gets that asks for as much as the library does, as the kernel counts: twice. */
static int granted(int force, int plain)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int bytes = WANTED_BUFFER;
    socklen_t length = sizeof bytes;

    if (fd < 0)
        return 0;
    if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof bytes);
    if (getsockopt(fd, SOL_SOCKET, plain, &bytes, &length) < 0)
        bytes = 0;
    close(fd);
    return bytes / 2;
}

static void check_buffer(const char *name, int force, int plain)
{
    char path[DOCTOR_WORD];
    char limit[DOCTOR_WORD];
    char command[2 * DOCTOR_WORD];
    int bytes = granted(force, plain);
    bool is_ok = bytes >= WANTED_BUFFER;

    snprintf(path, sizeof path, "/proc/sys/net/core/%s", name);
    doctor_read_word(path, limit);
    snprintf(command, sizeof command, "sysctl -w net.core.%s=%d", name, WANTED_BUFFER);
    doctor_say(is_ok, "net.core.%s is %s: of %d bytes that the library asks for it gets %d", name,
               limit, WANTED_BUFFER, bytes);
    if (!is_ok || atol(limit) < WANTED_BUFFER)
        doctor_advise(command);
    if (is_ok && atol(limit) < WANTED_BUFFER)
        doctor_advise("# for processes that are not privileged as this one is");
}

static bool has_udp_option(int name)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int value = name == UDP_GRO ? 1 : 0;
    bool is_there = fd >= 0 && setsockopt(fd, IPPROTO_UDP, name, &value, sizeof value) == 0;

    if (fd >= 0)
        close(fd);
    return is_there;
}

static void check_offload(const char *name, int option, const char *without)
{
    bool is_there = has_udp_option(option);

    doctor_say(is_there, "%s: %s", name, is_there ? "the kernel has it" : without);
    if (!is_there)
        doctor_advise("a kernel of Linux 5.0 or later");
}

/* Marks of congestion, and whether the kernel tells them of what arrives. */
static void check_ecn(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    bool is_there = fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &yes, sizeof yes) == 0;

    if (fd >= 0)
        close(fd);
    doctor_say(is_there, "ECN: the kernel %s", is_there ? "tells marks of congestion" : "hides it");
}

static void check_kernel(void)
{
    struct utsname name;

    if (uname(&name) == 0)
        doctor_say(true, "%s %s, %s", name.sysname, name.release, name.machine);
}

static int mtu_of(const char *interface)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int mtu = -1;

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0)
        mtu = request.ifr_mtu;
    if (fd >= 0)
        close(fd);
    return mtu;
}

static void check_interface(const char *name, bool is_loopback)
{
    char command[2 * DOCTOR_WORD];
    int mtu = mtu_of(name);
    int enough = is_loopback ? WHOLE_LOOPBACK : 9000;

    doctor_say(mtu >= enough, "%s carries datagrams of %d bytes (MTU)", name, mtu);
    if (mtu >= enough)
        return;
    snprintf(command, sizeof command, "ip link set %s mtu %d%s", name,
             is_loopback ? WHOLE_LOOPBACK + 1 : enough,
             is_loopback ? "" : "   # if the network behind it carries that");
    doctor_advise(command);
}

/* Each interface that is up, once. */
static void check_interfaces(void)
{
    struct ifaddrs *first;

    if (getifaddrs(&first) < 0)
        return;
    for (const struct ifaddrs *i = first; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_PACKET && (i->ifa_flags & IFF_UP))
            check_interface(i->ifa_name, (i->ifa_flags & IFF_LOOPBACK) != 0);
    }
    freeifaddrs(first);
}

static void check_cores(void)
{
    cpu_set_t set;
    int count = 1;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
    doctor_say(count >= 2, "%d core%s for this process", count, count == 1 ? "" : "s");
    if (count < 2)
        doctor_advise("two ends on one machine share it: expect half the speed");
}

static void check_huge_pages(void)
{
    static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    char word[DOCTOR_WORD];

    doctor_read_word(path, word);
    bool is_ok = strcmp(word, "always") == 0 || strcmp(word, "madvise") == 0;
    doctor_say(is_ok, "transparent huge pages: %s", word[0] != '\0' ? word : "the kernel has none");
    if (!is_ok && word[0] != '\0')
        doctor_advise("echo madvise >/sys/kernel/mm/transparent_hugepage/enabled");
}

/* Nothing of ZCRP's, but what it is measured beside. */
static void check_tcp(void)
{
    char word[DOCTOR_WORD];

    doctor_read_word("/proc/sys/net/ipv4/tcp_congestion_control", word);
    doctor_say(true,
               "TCP's congestion control is %s by default (zcrp-bench takes the best there is)",
               word);
}

/* In a child, as a namespace cannot be left again without being root. */
static void check_netns(void)
{
    int status = -1;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWNET) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    if (child > 0)
        waitpid(child, &status, 0);
    doctor_say(status == 0, "--netns: this process %s make network namespaces",
               status == 0 ? "may" : "may not");
    if (status != 0)
        doctor_advise("run zcrp-bench as root, or `unshare -r zcrp-bench --netns ...`");
}

/* What AAL5 over IP needs, but not AAL5 over UDP. */
static void check_raw_sockets(void)
{
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, AAL5_PROTOCOL);

    doctor_say(fd >= 0, "--channel aal5: this process %s open raw sockets",
               fd >= 0 ? "may" : "may not");
    if (fd < 0)
        doctor_advise("run zcrp-bench as root, or with --channel aal5-udp, which needs no right");
    else
        close(fd);
}

static void check_gnuplot(void)
{
    bool is_there = system("command -v gnuplot >/dev/null 2>&1") == 0;

    doctor_say(is_there, "zcrp-plot: gnuplot %s", is_there ? "is there" : "is not there");
    if (!is_there)
        doctor_advise("apt-get install gnuplot-nox");
}

static void check_peers(void)
{
    char command[2 * DOCTOR_WORD];

    for (size_t i = 0; i < PEERS; i++) {
        bool is_there = peers[i].kind != NULL;

        doctor_say(true, "%s (%s): %s", peers[i].name, peers[i].what,
                   is_there ? "built in, to compare with" : "not built in");
        snprintf(command, sizeof command, "apt-get install %s   # and build again",
                 peers[i].packages);
        if (!is_there)
            doctor_advise(command);
    }
}

int doctor_run(void)
{
    check_kernel();
    bool is_well = doctor_try();
    check_buffer("rmem_max", SO_RCVBUFFORCE, SO_RCVBUF);
    check_buffer("wmem_max", SO_SNDBUFFORCE, SO_SNDBUF);
    check_offload("UDP_SEGMENT", UDP_SEGMENT, "each datagram is handed over one by one");
    check_offload("UDP_GRO", UDP_GRO, "each datagram is received one by one");
    check_ecn();
    check_interfaces();
    check_cores();
    check_huge_pages();
    check_tcp();
    check_netns();
    check_raw_sockets();
    check_gnuplot();
    check_peers();
    if (fflush(stdout) != 0)
        return complain("cannot write to standard output: %s", strerror(errno));
    return is_well ? 0 : complain("doctor: UDP does not work here");
}
