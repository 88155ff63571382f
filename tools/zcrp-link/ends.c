#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"

static const char *const name[ENDS] = {"zcrp0", "zcrp1"};
static const char *const address[ENDS] = {"198.18.0.1", "198.18.0.2"};

const char *ends_address(int end)
{
    return address[end];
}

/* What the kernel sends waits so many packets for the relay, besides the link's own queue. In a
 * user namespace this may not be changed; then it is the kernel's 500. */
enum { BACKLOG_PACKETS = 10000 };

static struct ifreq request_for(const char *interface)
{
    struct ifreq request = {0};

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    return request;
}

static void set_address(struct sockaddr *where, const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};

    inet_pton(AF_INET, text, &in.sin_addr);
    memcpy(where, &in, sizeof in);
}

/* One change to an interface, through any socket. */
static int change(int any, unsigned long what, struct ifreq *request)
{
    if (ioctl(any, what, request) == 0)
        return 0;
    return complain("cannot set up the interface %s: %s", request->ifr_name, strerror(errno));
}

static int bring_up(int any, const char *interface)
{
    struct ifreq request = request_for(interface);

    if (change(any, SIOCGIFFLAGS, &request) < 0)
        return -1;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    return change(any, SIOCSIFFLAGS, &request);
}

static int configure(int any, int end, uint64_t bytes)
{
    struct ifreq where = request_for(name[end]);
    struct ifreq mask = request_for(name[end]);
    struct ifreq mtu = request_for(name[end]);
    struct ifreq backlog = request_for(name[end]);

    set_address(&where.ifr_addr, address[end]);
    set_address(&mask.ifr_netmask, "255.255.255.252");
    mtu.ifr_mtu = (int)bytes;
    backlog.ifr_qlen = BACKLOG_PACKETS;
    (void)ioctl(any, SIOCSIFTXQLEN, &backlog);
    if (change(any, SIOCSIFMTU, &mtu) < 0 || change(any, SIOCSIFADDR, &where) < 0 ||
        change(any, SIOCSIFNETMASK, &mask) < 0)
        return -1;
    return bring_up(any, "lo") < 0 || bring_up(any, name[end]) < 0 ? -1 : 0;
}

/* The link speaks IPv4. The kernel's own greetings in IPv6 would be packets that nobody sent. Where
 * there is no IPv6, there is nothing to forbid. */
static void forbid_ipv6(void)
{
    int file = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return;
    if (write(file, "1", 1) < 0)
        complain("cannot switch IPv6 off, so expect some packets of the kernel's own");
    close(file);
}

static int open_device(void)
{
    int fd = open(ENDS_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0)
        return fd;
    if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
        return complain("there is no " ENDS_DEVICE
                        " (modprobe tun; in a container give it the device, or as root "
                        "mkdir -p /dev/net && mknod " ENDS_DEVICE " c 10 200)");
    return complain("cannot open " ENDS_DEVICE ": %s", strerror(errno));
}

/* The interface, in the network namespace of this process: its wire, or -1 with a complaint. */
static int open_tun(int end, uint64_t mtu)
{
    struct ifreq request = request_for(name[end]);
    int fd = open_device();
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int status = -1;

    forbid_ipv6();
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (any < 0)
        complain("cannot make a socket: %s", strerror(errno));
    else if (fd >= 0 && ioctl(fd, TUNSETIFF, &request) < 0)
        complain("cannot make the interface %s: %s", name[end], strerror(errno));
    else if (fd >= 0)
        status = configure(any, end, mtu);
    if (any >= 0)
        close(any);
    if (status < 0 && fd >= 0)
        close(fd);
    return status < 0 ? -1 : fd;
}

static int enter_new_namespace(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return 0;
    if (errno == EPERM)
        return complain("this needs the rights of root (CAP_SYS_ADMIN, CAP_NET_ADMIN); "
                        "`unshare -rn true` says whether `unshare -r zcrp-link ...` lends them");
    return complain("cannot make a network namespace: %s", strerror(errno));
}

static int open_end(struct ends *ends, int end, uint64_t mtu)
{
    if (enter_new_namespace() < 0)
        return -1;
    ends->namespace[end] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (ends->namespace[end] < 0)
        return complain("cannot open /proc/self/ns/net: %s", strerror(errno));
    ends->tun[end] = open_tun(end, mtu);
    return ends->tun[end] < 0 ? -1 : 0;
}

int ends_open(struct ends *ends, uint64_t mtu)
{
    *ends = (struct ends){.tun = {-1, -1}, .namespace = {-1, -1}};
    if (open_end(ends, END_A, mtu) == 0 && open_end(ends, END_B, mtu) == 0)
        return 0;
    ends_close(ends);
    return -1;
}

void ends_close(struct ends *ends)
{
    for (int end = 0; end < ENDS; end++) {
        if (ends->tun[end] >= 0)
            close(ends->tun[end]);
        if (ends->namespace[end] >= 0)
            close(ends->namespace[end]);
    }
}

enum { TCP_LISTENS = 0x0A, LINE_ROOM = 512 };

/* A line: "0: 0100007F:1F90 00000000:0000 0A ...", with more digits in IPv6. */
static bool is_ready(const char *line, bool is_tcp, unsigned port)
{
    unsigned local, state;

    if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local, &state) != 2)
        return false;
    return (!is_tcp || state == TCP_LISTENS) && (port == 0 || local == port);
}

bool ends_table_has(FILE *table, bool is_tcp, unsigned port)
{
    char line[LINE_ROOM];

    while (fgets(line, sizeof line, table) != NULL) {
        if (is_ready(line, is_tcp, port))
            return true;
    }
    return false;
}

bool ends_is_listening(unsigned port)
{
    static const struct {
        const char *path;
        bool is_tcp;
    } tables[] = {
        {"/proc/self/net/tcp", true},
        {"/proc/self/net/tcp6", true},
        {"/proc/self/net/udp", false},
        {"/proc/self/net/udp6", false},
    };
    bool is_there = false;

    for (size_t i = 0; i < sizeof tables / sizeof *tables && !is_there; i++) {
        FILE *table = fopen(tables[i].path, "re");
        if (table == NULL)
            continue;
        is_there = ends_table_has(table, tables[i].is_tcp, port);
        fclose(table);
    }
    return is_there;
}
