#include "zcrp-bench/command/options.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/environment.h"
#include "zcrp-bench/ends/ends.h"
#include "zcrp-bench/transports/carrier.h"
#include "zcrp.h"

enum {
    WORD = 64,
    STATUS_LINE = 256,
    WANTED_BUFFER = 4 << 20, /* what the library asks for */
    WHOLE_LOOPBACK = 65535,  /* an MTU that carries any datagram whole */
    AAL5_PROTOCOL = 137,     /* MPLS in IP */
};

/* ---- how findings are written ---- */

/* A line of advice below a finding: a command that a shell takes as it is, remark included, or
 * words. */
static void advise(const char *command)
{
    printf("%-18s%s\n", "", command);
}

/* One finding: "ok" or "could be better", and what is meant. Below what could be better is the
 * advice, if there is any. */
__attribute__((format(printf, 3, 4))) static void say(bool is_ok, const char *advice,
                                                      const char *format, ...)
{
    va_list arguments;

    printf("%s  ", is_ok ? "ok              " : "could be better ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    if (!is_ok && advice != NULL)
        advise(advice);
}

/* The first word of a file, in brackets if any is; "" if there is none. */
static void read_word(const char *path, char word[WORD])
{
    FILE *file = fopen(path, "re");
    char line[4 * WORD] = "";
    const char *start;

    word[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(line, sizeof line, file) != NULL) {
        start = strchr(line, '[') != NULL ? strchr(line, '[') + 1 : line;
        snprintf(word, WORD, "%.*s", (int)strcspn(start, "] \n"), start);
    }
    fclose(file);
}

/* ---- two processes, the library between them: does UDP work, and may one read the other's memory?
 * ---- */

/* The namespace of processes that the system started with has this number. */
static const ino_t first_pid_namespace = 0xEFFFFFFCu;

/* A short measurement of ZCRP between two processes of this user, the one that receives a child of
 * the one that sends. Its units are for an MTU of 1500, so that the kernel has to cut bursts, if
 * `cuts`. False, with the reason in `why`, if it failed. */
static bool try_channel(char *channel, bool cuts, struct run *run, char why[COMPLAIN_ROOM])
{
    enum { OF_UNIT = 2 }; /* words */
    char *words[] = {"doctor", "--transport", "zcrp",   "--size",    "64K",   "--duration",
                     "0.2",    "--repeat",    "1",      "--channel", channel, "--timeout",
                     "2",      "--quiet",     "--unit", "1472",      NULL};
    int count = (int)(sizeof words / sizeof *words) - 1 - (cuts ? 0 : OF_UNIT);
    struct options options;

    words[count] = NULL;
    return options_parse(&options, count, words) == 0 && alone_try(&options, run, why) == 0;
}

/* Was the kernel asked to cut several units out of a larger datagram, and did it? */
static bool were_cut(const struct run *run)
{
    const uint64_t *count = run->sender.counts.value;

    return !environment_is_set("ZCRP_NO_OFFLOAD") && !environment_is_set("ZCRP_NO_SEGMENT") &&
           count[COUNT_offload_fallbacks] == 0 && 2 * count[COUNT_unit_bytes] <= WHOLE_LOOPBACK &&
           count[COUNT_bytes_copied_once] == 0;
}

static void say_of_cuts(const struct run *run, const char *where)
{
    bool arrive = run->sender.counts.value[COUNT_offload_failures] == 0;
    bool joined = run->receiver.counts.value[COUNT_offload_failures] == 0;

    if (!were_cut(run))
        return;
    say(arrive, NULL, "UDP_SEGMENT: bursts that the kernel cuts %s %s",
        arrive ? "arrive" : "do not arrive", where);
    if (!arrive) {
        advise("the library cuts none there, and tries again every 20 seconds. A newer kernel");
        advise("or driver may cut well. Or let this kernel cut, and not the network card:");
        advise("ethtool -K DEVICE tx-udp-segmentation off");
    }
    say(joined, NULL, "UDP_GRO: what the receiving kernel joins comes in %s",
        joined ? "well" : "wrong");
}

static bool try_udp(void)
{
    char why[COMPLAIN_ROOM];
    struct run run;

    if (try_channel("udp", true, &run, why)) {
        say(true, NULL, "UDP: a message came from one process to another");
        say_of_cuts(&run, "over loopback");
        return true;
    }
    say(false, "ip link set lo up   # and see whether a firewall drops UDP to 127.0.0.1",
        "UDP: no message came from one process to another: %s", why);
    return false;
}

static void advise_on_yama(char scope)
{
    if (scope == '1') {
        advise("sysctl -w kernel.yama.ptrace_scope=0");
        advise("# or, for one program, ZCRP_ALLOW_PTRACE in its zcrp_options.flags");
    } else if (scope == '2') {
        advise("sysctl -w kernel.yama.ptrace_scope=1   # and ZCRP_ALLOW_PTRACE in programs");
    } else if (scope == '3') {
        advise("the system allows it again only after a restart, with another value");
    }
}

/* Is a process of this user that is no ancestor's forbidden to read by Yama? */
static void check_yama(void)
{
    char scope[WORD];

    read_word("/proc/sys/kernel/yama/ptrace_scope", scope);
    bool is_ok = scope[0] == '\0' || scope[0] == '0';
    say(is_ok || geteuid() == 0, NULL, "kernel.yama.ptrace_scope: %s",
        scope[0] == '\0' ? "the kernel has no Yama"
        : is_ok          ? "0, which lets processes of one user read each other's memory"
                         : scope);
    if (!is_ok)
        advise_on_yama(scope[0]);
}

static void check_seccomp(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[STATUS_LINE];
    int mode = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "Seccomp: %d", &mode);
    if (file != NULL)
        fclose(file);
    say(true, NULL, "seccomp: %s", mode == 2 ? "a filter is set" : "no filter is set");
}

static void check_pid_namespace(void)
{
    struct stat file;

    if (stat("/proc/self/ns/pid", &file) < 0)
        say(true, NULL, "PID namespace: not known, /proc is not there");
    else if (file.st_ino == first_pid_namespace)
        say(true, NULL, "PID namespace: the system's");
    else
        say(true, NULL,
            "PID namespace: not the system's, as in a container; "
            "only peers in it are reached by memory");
}

static void advise_on_refusal(uint64_t why)
{
    if (why == ZCRP_MEMORY_FORBIDDEN) {
        advise("see Yama and seccomp below; for a container: docker run --cap-add SYS_PTRACE");
        advise("# messages of zcrp_connection_alloc_msg need no right");
    } else if (why == ZCRP_MEMORY_LIMITED) {
        advise("ulimit -n; ulimit -v; ulimit -f   # which of them is low?");
    }
}

static const char *const reasons[] = {
    [ZCRP_MEMORY_FINE] = "ZCRP_NO_MEMORY is set, or they did not meet",
    [ZCRP_MEMORY_ELSEWHERE] = "they did not find each other",
    [ZCRP_MEMORY_STRANGER] = "the kernel takes them for strangers",
    [ZCRP_MEMORY_FORBIDDEN] = "the kernel forbids it",
    [ZCRP_MEMORY_LIMITED] = "memory or descriptors are missing",
    [ZCRP_MEMORY_FALSE] = "what one handed to the other was wrong",
};

static void try_memory(void)
{
    char why[COMPLAIN_ROOM];
    struct run run;

    if (!try_channel("auto", false, &run, why)) {
        say(false, NULL, "memory: %s", why);
        return;
    }
    const uint64_t *count = run.sender.counts.value;
    if (count[COUNT_bytes_copied_once] > 0) {
        say(true, NULL, "memory: a process of this user may read another's");
        return;
    }
    uint64_t refusal = count[COUNT_memory_refused];
    say(false, NULL, "memory: no process of this user reads another's: %s",
        reasons[refusal < sizeof reasons / sizeof *reasons ? refusal : ZCRP_MEMORY_FINE]);
    advise_on_refusal(refusal);
}

/* Moves messages between two processes, over UDP and from memory to memory, and says how that went.
 * False if UDP does not work.  */
static bool try_library(void)
{
    bool is_well = try_udp();

    if (is_well)
        try_memory();
    check_yama();
    check_seccomp();
    check_pid_namespace();
    return is_well;
}

/* ---- the machine ---- */

/* Whether a UDP socket takes this value of an option. */
static bool udp_takes(int level, int name, int value)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_taken = fd >= 0 && setsockopt(fd, level, name, &value, sizeof value) == 0;

    if (fd >= 0)
        close(fd);
    return is_taken;
}

/* What a UDP socket gets that asks for as much as the library does, as the kernel counts: twice. */
static int granted(int force, int plain)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int bytes = WANTED_BUFFER;
    socklen_t length = sizeof bytes;

    if (fd < 0)
        return 0;
    udp_grow(fd, plain, force, 0);
    if (getsockopt(fd, SOL_SOCKET, plain, &bytes, &length) < 0)
        bytes = 0;
    close(fd);
    return bytes / 2;
}

static void check_buffer(const char *name, int force, int plain)
{
    char path[WORD];
    char limit[WORD];
    char command[2 * WORD];
    int bytes = granted(force, plain);
    bool is_ok = bytes >= WANTED_BUFFER;

    snprintf(path, sizeof path, "/proc/sys/net/core/%s", name);
    read_word(path, limit);
    snprintf(command, sizeof command, "sysctl -w net.core.%s=%d", name, WANTED_BUFFER);
    say(is_ok, command, "net.core.%s is %s: of %d bytes that the library asks for it gets %d", name,
        limit, WANTED_BUFFER, bytes);
    if (is_ok && atol(limit) < WANTED_BUFFER) {
        advise(command);
        advise("# for processes that are not privileged as this one is");
    }
}

static void check_offload(const char *name, int option, const char *without)
{
    bool is_there = udp_takes(IPPROTO_UDP, option, option == UDP_GRO ? 1 : 0);

    say(is_there, "a kernel of Linux 5.0 or later", "%s: %s", name,
        is_there ? "the kernel has it" : without);
}

/* Marks of congestion, and whether the kernel tells them of what arrives. */
static void check_ecn(void)
{
    bool is_there = udp_takes(IPPROTO_IP, IP_RECVTOS, 1);

    say(is_there, NULL, "ECN: the kernel %s", is_there ? "tells marks of congestion" : "hides it");
}

/* Linux 7.0 to 7.1.4 sends datagrams with wrong headers where all of a burst have one size, as
 * ZCRP's have. */
static bool is_known_to_miscut(const char *release)
{
    int major = 0, minor = 0, patch = 0;

    (void)sscanf(release, "%d.%d.%d", &major, &minor, &patch);
    return major == 7 && (minor == 0 || (minor == 1 && patch < 5));
}

static void check_kernel(void)
{
    struct utsname name;

    if (uname(&name) < 0)
        return;
    bool is_ok = !is_known_to_miscut(name.release);
    say(is_ok, "Linux 7.1.5 or later", "%s %s, %s%s", name.sysname, name.release, name.machine,
        is_ok ? "" : ": it is known to cut bursts wrongly (UDP_SEGMENT)");
}

static void check_interface(const char *name, bool is_loopback)
{
    char path[WORD], word[WORD], command[2 * WORD];
    int enough = is_loopback ? WHOLE_LOOPBACK : 9000;

    snprintf(path, sizeof path, "/sys/class/net/%s/mtu", name);
    read_word(path, word);
    int mtu = atoi(word);
    snprintf(command, sizeof command, "ip link set %s mtu %d%s", name,
             is_loopback ? WHOLE_LOOPBACK + 1 : enough,
             is_loopback ? "" : "   # if the network behind it carries that");
    say(mtu >= enough, command, "%s carries datagrams of %d bytes (MTU)", name, mtu);
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
    say(count >= 2, "two ends on one machine share it: expect half the speed",
        "%d core%s for this process", count, count == 1 ? "" : "s");
}

static void check_huge_pages(void)
{
    static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    char word[WORD];

    read_word(path, word);
    bool is_ok = strcmp(word, "always") == 0 || strcmp(word, "madvise") == 0;
    say(is_ok, word[0] != '\0' ? "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled" : NULL,
        "transparent huge pages: %s", word[0] != '\0' ? word : "the kernel has none");
}

/* Nothing of ZCRP's, but what it is measured beside. */
static void check_tcp(void)
{
    char word[WORD];

    read_word("/proc/sys/net/ipv4/tcp_congestion_control", word);
    say(true, NULL,
        "TCP's congestion control is %s by default (zcrp-bench takes the best there is)", word);
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
    say(status == 0, "run zcrp-bench as root, or `unshare -r zcrp-bench --netns ...`",
        "--netns: this process %s make network namespaces", status == 0 ? "may" : "may not");
}

/* What AAL5 over IP needs, but not AAL5 over UDP. */
static void check_raw_sockets(void)
{
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, AAL5_PROTOCOL);

    say(fd >= 0, "run zcrp-bench as root, or with --channel aal5-udp, which needs no right",
        "--channel aal5: this process %s open raw sockets", fd >= 0 ? "may" : "may not");
    if (fd >= 0)
        close(fd);
}

static void check_gnuplot(void)
{
    bool is_there = system("command -v gnuplot >/dev/null 2>&1") == 0;

    say(is_there, "apt-get install gnuplot-nox", "zcrp-plot: gnuplot %s",
        is_there ? "is there" : "is not there");
}

static void check_peers(void)
{
    char command[2 * WORD];

    for (size_t i = 0; i < PEERS; i++) {
        bool is_there = peers[i].kind != NULL;

        say(true, NULL, "%s (%s): %s", peers[i].name, peers[i].what,
            is_there ? "built in, to compare with" : "not built in");
        snprintf(command, sizeof command, "apt-get install %s   # and build again",
                 peers[i].packages);
        if (!is_there)
            advise(command);
    }
}

/* ---- a path to another machine ---- */

enum { NS_PER_US = 1000 };

/* Sends for a second to the zcrp-bench that listens there. False if that failed. */
static bool try_path(char *there)
{
    char *words[] = {"doctor", "--connect", there,        "--transport", "zcrp",
                     "--size", "1M",        "--duration", "1",           "--repeat",
                     "1",      "--channel", "udp",        "--quiet",     NULL};
    struct options options;
    struct run run = {.transport = NULL};
    const struct results results = {
        .sizes = 1, .repeats = 1, .transports = 1, .options = &options, .runs = &run};

    if (options_parse(&options, sizeof words / sizeof *words - 1, words) != 0 ||
        sending_end_measure(&options.address, &results) < 0)
        return false;
    const uint64_t *count = run.sender.counts.value;
    say(true, NULL, "%s: %.3g Gbit/s, a round trip of %.3g ms", there,
        8e-9 * (double)run.bytes / run.seconds,
        (double)count[COUNT_rtt_lowest_ns] / (NS_PER_US * 1e3));
    say(count[COUNT_path_falls] == 0,
        "a router or a tunnel there has a smaller MTU, and its ICMP messages are dropped",
        "%s: datagrams of %llu bytes arrive%s", there, (unsigned long long)count[COUNT_path_bytes],
        count[COUNT_path_falls] == 0 ? "" : ", larger ones vanish without a word");
    say_of_cuts(&run, "there");
    run_fini(&run);
    return true;
}

int doctor_run(char *there)
{
    if (there != NULL)
        return try_path(there) ? 0 : -1;
    check_kernel();
    bool is_well = try_library();
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
