/* Socket options that are set for as long as a socket is a channel, and given back: path discovery
 * and explicit congestion notification. */
#include "core/path/path_mtu.h"
#include "socket.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
    UDP4_HEADS = 28, /* bytes of IP and UDP before the data */
    UDP6_HEADS = 48,
    UDP4_MAX = 65535 - UDP4_HEADS,
    UDP6_MAX = 65535 - 8, /* IPv6 does not count its own head */
    IP4_HEAD = 20,
    IP6_HEAD = 40,
    RAW4_MAX = 65535 - IP4_HEAD,
    RAW6_MAX = 65535,
    UNIX_HEADS = 32,     /* what AF_UNIX keeps of the send buffer for itself */
    UNIX_MAX = UDP4_MAX, /* only so that all kinds are alike */
};

static int option(const struct channel *c, int level, int name)
{
    int value;
    socklen_t size = sizeof(value);

    return getsockopt(c->fd, level, name, &value, &size) == 0 ? value : -1;
}

static uint32_t kind_max(enum channel_kind kind)
{
    switch (kind) {
    case CHANNEL_UDP4:
        return UDP4_MAX;
    case CHANNEL_UDP6:
        return UDP6_MAX;
    case CHANNEL_RAW4:
        return RAW4_MAX;
    case CHANNEL_RAW6:
        return RAW6_MAX;
    case CHANNEL_UNIX:
        break;
    }
    return UNIX_MAX;
}

uint32_t socket_path_bytes(const struct channel *c)
{
    int bytes = 0;

    switch (c->kind) {
    case CHANNEL_UDP4:
        bytes = option(c, IPPROTO_IP, IP_MTU) - UDP4_HEADS;
        break;
    case CHANNEL_UDP6:
        bytes = option(c, IPPROTO_IPV6, IPV6_MTU) - UDP6_HEADS;
        break;
    case CHANNEL_RAW4:
        bytes = option(c, IPPROTO_IP, IP_MTU) - IP4_HEAD;
        break;
    case CHANNEL_RAW6:
        bytes = option(c, IPPROTO_IPV6, IPV6_MTU) - IP6_HEAD;
        break;
    case CHANNEL_UNIX:
        bytes = option(c, SOL_SOCKET, SO_SNDBUF) - UNIX_HEADS;
        break;
    }
    return bytes < PATH_MTU_BASE_BYTES ? PATH_MTU_BASE_BYTES : (uint32_t)bytes;
}

static void set_discovery(const struct channel *c, int value)
{
    if (c->kind == CHANNEL_UDP4 || c->kind == CHANNEL_RAW4)
        (void)setsockopt(c->fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, sizeof(value));
    else
        (void)setsockopt(c->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value, sizeof(value));
}

static int discovery(const struct channel *c)
{
    switch (c->kind) {
    case CHANNEL_UDP4:
    case CHANNEL_RAW4:
        return option(c, IPPROTO_IP, IP_MTU_DISCOVER);
    case CHANNEL_UDP6:
    case CHANNEL_RAW6:
        return option(c, IPPROTO_IPV6, IPV6_MTU_DISCOVER);
    case CHANNEL_UNIX:
        break;
    }
    return -1;
}

/* The MTU of the interface that has the socket's own address; 0 if none is found. */
static int interface_mtu(int fd)
{
    union address own = {.room = {.ss_family = AF_UNSPEC}};
    socklen_t size = sizeof(own);
    struct ifaddrs *list;
    struct ifreq request = {.ifr_mtu = 0};

    if (getsockname(fd, &own.any, &size) != 0 || getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next)
        if (i->ifa_addr && address_has_host(&own, i->ifa_addr))
            strncpy(request.ifr_name, i->ifa_name, IFNAMSIZ - 1);
    freeifaddrs(list);
    return request.ifr_name[0] && ioctl(fd, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

/* What the interface takes of a kind of datagrams; the path may be behind another one. */
static uint32_t interface_bytes(const struct channel *c)
{
    int heads = c->kind == CHANNEL_UDP4 ? UDP4_HEADS : UDP6_HEADS;
    int mtu = c->kind == CHANNEL_UDP4 || c->kind == CHANNEL_UDP6 ? interface_mtu(c->fd) : 0;

    return mtu > heads ? (uint32_t)(mtu - heads) : 0;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void socket_path_begin(struct channel *c)
{
    uint32_t told, interface;

    c->discovery_before = discovery(c);
    if (c->discovery_before >= 0)
        set_discovery(c, IP_PMTUDISC_PROBE); /* the same number for IPv6 */
    c->datagram_max = kind_max(c->kind);
    told = socket_path_bytes(c);
    interface = interface_bytes(c);
    c->path_bytes = lesser(told, c->datagram_max);
    c->path_most = lesser(interface > told ? interface : told, c->datagram_max);
}

void socket_path_end(struct channel *c)
{
    if (c->discovery_before >= 0)
        set_discovery(c, c->discovery_before);
}

struct names {
    int level, mark, tell;
};

static struct names names_of(const struct channel *c)
{
    if (c->kind == CHANNEL_UDP6)
        return (struct names){IPPROTO_IPV6, IPV6_TCLASS, IPV6_RECVTCLASS};
    return (struct names){IPPROTO_IP, IP_TOS, IP_RECVTOS};
}

static bool set(const struct channel *c, int level, int name, int value)
{
    return setsockopt(c->fd, level, name, &value, sizeof(value)) == 0;
}

void socket_ecn_begin(struct channel *c, const struct channel_options *options)
{
    struct names n = names_of(c);
    int before;
    socklen_t size = sizeof(before);

    c->ecn_before = -1;
    if (c->kind != CHANNEL_UDP4 && c->kind != CHANNEL_UDP6)
        return;
    if (options->reads_ecn)
        (void)set(c, n.level, n.tell, 1);
    if (!options->sends_ecn || getsockopt(c->fd, n.level, n.mark, &before, &size) != 0)
        return;
    if (set(c, n.level, n.mark, (before & ~IPTOS_ECN_MASK) | IPTOS_ECN_ECT0))
        c->ecn_before = before;
}

void socket_ecn_end(struct channel *c)
{
    struct names n = names_of(c);

    if (c->ecn_before >= 0)
        (void)set(c, n.level, n.mark, c->ecn_before);
    c->ecn_before = -1;
}

/* IPv4 says a byte, IPv6 an int. */
int socket_ecn_of(const struct cmsghdr *note)
{
    uint8_t byte = 0;
    int word = 0;

    if (note->cmsg_level == IPPROTO_IP && note->cmsg_type == IP_TOS) {
        memcpy(&byte, CMSG_DATA(note), sizeof(byte));
        word = byte;
    } else if (note->cmsg_level == IPPROTO_IPV6 && note->cmsg_type == IPV6_TCLASS) {
        memcpy(&word, CMSG_DATA(note), sizeof(word));
    }
    return word & IPTOS_ECN_MASK;
}
