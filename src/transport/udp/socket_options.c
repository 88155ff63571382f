/* Socket options that are set for as long as a socket is a channel, and given back: path discovery
 * and explicit congestion notification. */
#include "core/path/path_mtu.h"
#include "socket.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What a kind of socket calls things, and what goes before its data. A name of 0: it has no such
 * option. */
static const struct traits {
    int level;      /* of these options: */
    int room;       /* bytes of a datagram that the path takes, with its heads */
    int discovery;  /* of the path's MTU */
    int mark, tell; /* ECN of what is sent, and whether that of arrivals is told */
    int heads;      /* bytes; of AF_UNIX what it keeps of the send buffer for itself */
    int most;       /* bytes of data; IPv6 does not count its own head */
} traits[] = {
    [CHANNEL_UDP4] = {IPPROTO_IP, IP_MTU, IP_MTU_DISCOVER, IP_TOS, IP_RECVTOS, 28, 65535 - 28},
    [CHANNEL_UDP6] = {IPPROTO_IPV6, IPV6_MTU, IPV6_MTU_DISCOVER, IPV6_TCLASS, IPV6_RECVTCLASS, 48,
                      65535 - 8},
    [CHANNEL_UNIX] = {SOL_SOCKET, SO_SNDBUF, 0, 0, 0, 32, 65535 - 28},
    [CHANNEL_RAW4] = {IPPROTO_IP, IP_MTU, IP_MTU_DISCOVER, 0, 0, 20, 65535 - 20},
    [CHANNEL_RAW6] = {IPPROTO_IPV6, IPV6_MTU, IPV6_MTU_DISCOVER, 0, 0, 40, 65535},
};

int socket_get(int fd, int level, int name)
{
    int value;
    socklen_t size = sizeof(value);

    return getsockopt(fd, level, name, &value, &size) == 0 ? value : -errno;
}

bool socket_set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* ---- path discovery ---- */

/* What another socket to the channel's peer says of the path. */
static int room_of_another(const struct channel *c)
{
    const struct traits *t = &traits[c->kind];
    int fd = socket(c->peer.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_connected = fd >= 0 && connect(fd, &c->peer.any, address_bytes(&c->peer)) == 0;
    int room = is_connected ? socket_get(fd, t->level, t->room) : -ENOTCONN;

    if (fd >= 0)
        close(fd);
    return room;
}

/* The kernel forgets what a socket knew of its path when its type of service changes. */
uint32_t socket_path_bytes(const struct channel *c)
{
    const struct traits *t = &traits[c->kind];
    int room = socket_get(c->fd, t->level, t->room);
    if (room == -ENOTCONN && channel_is_udp(c))
        room = room_of_another(c);
    int bytes = room - t->heads;

    return bytes < PATH_MTU_BASE_BYTES ? PATH_MTU_BASE_BYTES : (uint32_t)bytes;
}

/* The MTU of the interface that has the socket's own address; 0 if none is found. */
static int interface_mtu(int fd)
{
    union address own = address_of_socket(fd);
    struct ifaddrs *list;
    struct ifreq request = {.ifr_mtu = 0};

    if (own.any.sa_family == AF_UNSPEC || getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next)
        if (i->ifa_addr && address_has_host(&own, i->ifa_addr))
            strncpy(request.ifr_name, i->ifa_name, IFNAMSIZ - 1);
    freeifaddrs(list);
    return request.ifr_name[0] && ioctl(fd, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

/* What the interface takes of a datagram; the path may be behind another one. */
static uint32_t interface_bytes(const struct channel *c)
{
    int heads = traits[c->kind].heads;
    int mtu = channel_is_udp(c) ? interface_mtu(c->fd) : 0;

    return mtu > heads ? (uint32_t)(mtu - heads) : 0;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void socket_path_find(struct channel *c)
{
    const struct traits *t = &traits[c->kind];

    c->datagram_max = (uint32_t)t->most;
    uint32_t told = socket_path_bytes(c);
    uint32_t interface = interface_bytes(c);
    c->path_bytes = lesser(told, c->datagram_max);
    c->path_most = lesser(interface > told ? interface : told, c->datagram_max);
}

void socket_path_begin(struct channel *c)
{
    const struct traits *t = &traits[c->kind];

    c->discovery_before = t->discovery ? socket_get(c->fd, t->level, t->discovery) : -1;
    if (c->discovery_before >= 0) /* the same number for IPv6 */
        (void)socket_set(c->fd, t->level, t->discovery, IP_PMTUDISC_PROBE);
    socket_path_find(c);
}

void socket_path_end(struct channel *c)
{
    const struct traits *t = &traits[c->kind];

    if (c->discovery_before >= 0)
        (void)socket_set(c->fd, t->level, t->discovery, c->discovery_before);
}

/* ---- explicit congestion notification ---- */

/* As ECT(0), beside the user's DSCP. */
static int capable(int type_of_service)
{
    return (type_of_service & ~IPTOS_ECN_MASK) | IPTOS_ECN_ECT0;
}

/* The kernel derives a priority from IPv4's type of service: the user's stays. */
static bool set_mark(const struct channel *c, int type_of_service)
{
    const struct traits *t = &traits[c->kind];
    int priority = socket_get(c->fd, SOL_SOCKET, SO_PRIORITY);
    bool is_set = socket_set(c->fd, t->level, t->mark, type_of_service);

    if (priority >= 0)
        (void)socket_set(c->fd, SOL_SOCKET, SO_PRIORITY, priority);
    return is_set;
}

void socket_ecn_begin(struct channel *c, const struct channel_options *options)
{
    const struct traits *t = &traits[c->kind];

    if (!channel_is_udp(c))
        return;
    if (options->reads_ecn)
        (void)socket_set(c->fd, t->level, t->tell, 1);
    int before = options->sends_ecn ? socket_get(c->fd, t->level, t->mark) : -1;
    if (before >= 0 && set_mark(c, capable(before)))
        c->ecn_before = before;
}

void channel_mark(struct channel *c, bool may)
{
    if (c->ecn_before < 0 || c->leaves_ecn == !may)
        return;
    c->leaves_ecn = !may;
    (void)set_mark(c, may ? capable(c->ecn_before) : c->ecn_before);
}

void socket_ecn_end(struct channel *c)
{
    channel_mark(c, false);
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
