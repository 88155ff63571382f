/* Looking a socket over before it becomes a channel: what it is, and what it can do. */
#include "socket.h"
#include "transport/aal5/aal5_channel.h"

#include <errno.h>
#include <limits.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/socket.h>

static const struct channel_methods socket_methods = {
    .send = socket_send,
    .receive = socket_receive,
};

static int get(int fd, int level, int name, int *value)
{
    socklen_t size = sizeof(*value);

    return getsockopt(fd, level, name, value, &size) == 0 ? 0 : -errno;
}

static bool set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* EBADF and ENOTSOCK come from the first call on the descriptor. */
static int check_type(int fd)
{
    int type;
    int error = get(fd, SOL_SOCKET, SO_TYPE, &type);

    if (error)
        return error;
    return type == SOCK_DGRAM || type == SOCK_RAW ? 0 : -EPROTOTYPE;
}

static bool has_protocol(int fd, int protocol)
{
    int found;

    return get(fd, SOL_SOCKET, SO_PROTOCOL, &found) == 0 && found == protocol;
}

/* A raw socket names no port, so it may have a peer that getpeername does not tell. One that has
 * knows its path. */
static int find_raw_kind(int fd, int domain, enum channel_kind *kind)
{
    int mtu;

    *kind = domain == AF_INET ? CHANNEL_RAW4 : CHANNEL_RAW6;
    return domain == AF_INET ? get(fd, IPPROTO_IP, IP_MTU, &mtu)
                             : get(fd, IPPROTO_IPV6, IPV6_MTU, &mtu);
}

/* The peer's address says which protocol its datagrams travel with. */
static int find_kind(int fd, enum channel_kind *kind)
{
    union {
        struct sockaddr any;
        struct sockaddr_in6 ip6;
        struct sockaddr_storage room;
    } peer = {0};
    socklen_t size = sizeof(peer);
    int domain;
    int error = get(fd, SOL_SOCKET, SO_DOMAIN, &domain);

    if (error)
        return error;
    bool is_ip = domain == AF_INET || domain == AF_INET6;
    if (is_ip && has_protocol(fd, AAL5_PROTOCOL))
        return find_raw_kind(fd, domain, kind);
    if (domain != AF_UNIX && !(is_ip && has_protocol(fd, IPPROTO_UDP)))
        return -EAFNOSUPPORT;
    if (getpeername(fd, &peer.any, &size) != 0)
        return -errno;
    if (domain == AF_UNIX)
        *kind = CHANNEL_UNIX;
    else if (domain == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&peer.ip6.sin6_addr))
        *kind = CHANNEL_UDP6;
    else
        *kind = CHANNEL_UDP4;
    return 0;
}

/* A privileged process may pass the system's limit. The kernel doubles what it grants; a buffer
 * that is that large already is left alone. */
static void grow_buffer(int fd, int force, int plain, uint32_t wanted)
{
    int size = wanted < INT_MAX / 2 ? (int)wanted : INT_MAX / 2;
    int granted;

    if (get(fd, SOL_SOCKET, plain, &granted) == 0 && granted >= 2 * size)
        return;
    if (!set(fd, SOL_SOCKET, force, size))
        (void)set(fd, SOL_SOCKET, plain, size);
}

static void set_buffers(struct channel *c, const struct channel_options *options)
{
    int granted;

    if (options->send_bytes)
        grow_buffer(c->fd, SO_SNDBUFFORCE, SO_SNDBUF, options->send_bytes);
    if (options->receive_bytes)
        grow_buffer(c->fd, SO_RCVBUFFORCE, SO_RCVBUF, options->receive_bytes);
    if (get(c->fd, SOL_SOCKET, SO_RCVBUF, &granted) == 0 && granted > 0)
        c->receive_buffer = (uint32_t)granted;
}

/* The socket's drops so far, which are not the channel's; 0 where the kernel cannot tell. */
static uint32_t drops_so_far(int fd)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t size = sizeof(info);

    (void)getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &size);
    return info[SK_MEMINFO_DROPS];
}

bool socket_is_set(const char *variable)
{
    const char *value = secure_getenv(variable);

    return value && *value && !(value[0] == '0' && !value[1]);
}

/* A kernel that knows an offload may still fail to use it: that shows in sending. */
static void find_offloads(struct channel *c, const struct channel_options *options)
{
    bool may =
        (c->kind == CHANNEL_UDP4 || c->kind == CHANNEL_UDP6) && !socket_is_set("ZCRP_NO_OFFLOAD");
    int segment;

    if (may && options->use_gso && !socket_is_set("ZCRP_NO_SEGMENT") &&
        get(c->fd, IPPROTO_UDP, UDP_SEGMENT, &segment) == 0)
        atomic_init(&c->gso_segments, BURST_CUT);
    if (may && options->use_gro && !socket_is_set("ZCRP_NO_GRO"))
        c->has_gro = set(c->fd, IPPROTO_UDP, UDP_GRO, 1);
}

int socket_open(struct channel *c, int fd, const struct channel_options *options)
{
    enum channel_kind kind = CHANNEL_UDP4;
    int error = check_type(fd);

    if (!error)
        error = find_kind(fd, &kind);
    if (error)
        return error;
    *c = (struct channel){.fd = fd, .kind = kind, .methods = &socket_methods, .gso_segments = 1};
    c->peer = address_of_peer(fd);
    c->has_leftovers = address_number(&c->peer) != 0;
    set_buffers(c, options);
    socket_path_begin(c);
    c->ecn_before = -1;
    if (options->aal5.is_wanted || kind == CHANNEL_RAW4 || kind == CHANNEL_RAW6) {
        error = aal5_open(c, &options->aal5);
        if (error)
            socket_path_end(c);
    } else {
        find_offloads(c, options);
        if (!socket_is_set("ZCRP_NO_ECN"))
            socket_ecn_begin(c, options);
    }
    c->drops_seen = drops_so_far(fd);
    (void)set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    return error;
}

void socket_restore(struct channel *c)
{
    if (c->aal5)
        aal5_close(c);
    if (c->has_gro)
        (void)set(c->fd, IPPROTO_UDP, UDP_GRO, 0);
    socket_ecn_end(c);
    socket_path_end(c);
}
