/* Making a channel of a socket: what the socket is, and what it can do; and giving it back. */
#include "platform/numbers.h"
#include "socket.h"
#include "transport/aal5/aal5_channel.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

/* EBADF and ENOTSOCK come from the first call on the descriptor. */
static int check_type(int fd)
{
    int type = socket_get(fd, SOL_SOCKET, SO_TYPE);

    if (type < 0)
        return type;
    return type == SOCK_DGRAM || type == SOCK_RAW ? 0 : -EPROTOTYPE;
}

/* A raw socket names no port, so it may have a peer that getpeername does not tell. One that has
 * knows its path. */
static int find_raw_kind(struct channel *c, int domain)
{
    int mtu = domain == AF_INET ? socket_get(c->fd, IPPROTO_IP, IP_MTU)
                                : socket_get(c->fd, IPPROTO_IPV6, IPV6_MTU);

    c->kind = domain == AF_INET ? CHANNEL_RAW4 : CHANNEL_RAW6;
    return mtu < 0 ? mtu : 0;
}

/* The peer's address says which protocol its datagrams travel with. */
static int find_kind(struct channel *c)
{
    int domain = socket_get(c->fd, SOL_SOCKET, SO_DOMAIN);
    int protocol = socket_get(c->fd, SOL_SOCKET, SO_PROTOCOL);
    bool is_ip = domain == AF_INET || domain == AF_INET6;

    if (domain < 0)
        return domain;
    if (is_ip && protocol == AAL5_PROTOCOL)
        return find_raw_kind(c, domain);
    if (domain != AF_UNIX && !(is_ip && protocol == IPPROTO_UDP))
        return -EAFNOSUPPORT;
    if (c->peer.any.sa_family == AF_UNSPEC)
        return -ENOTCONN;
    if (domain == AF_UNIX)
        c->kind = CHANNEL_UNIX;
    else if (c->peer.any.sa_family == AF_INET6)
        c->kind = CHANNEL_UDP6;
    return 0;
}

/* A privileged process may pass the system's limit. The kernel doubles what it grants; a buffer
 * that is that large already is left alone. */
static void grow_buffer(int fd, int force, int plain, uint32_t wanted)
{
    int size = wanted < INT_MAX / 2 ? (int)wanted : INT_MAX / 2;

    if (wanted > 0 && socket_get(fd, SOL_SOCKET, plain) < 2 * size &&
        !socket_set(fd, SOL_SOCKET, force, size))
        (void)socket_set(fd, SOL_SOCKET, plain, size);
}

static void set_buffers(struct channel *c, const struct channel_options *options)
{
    grow_buffer(c->fd, SO_SNDBUFFORCE, SO_SNDBUF, options->send_bytes);
    grow_buffer(c->fd, SO_RCVBUFFORCE, SO_RCVBUF, options->receive_bytes);
    int granted = socket_get(c->fd, SOL_SOCKET, SO_RCVBUF);
    c->receive_buffer = granted > 0 ? (uint32_t)granted : 0;
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

/* recvmsg copies a datagram to where it is to land, looks at its checksum behind that, and does not
 * say that there was one with a wrong sum. Where a socket has a filter the kernel looks before it
 * queues the datagram. So this one takes all; the user's own does as well. */
static bool look_before_landing(const struct channel *c)
{
    struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    struct sock_fprog program = {.len = 1, .filter = &all};
    socklen_t steps = 0;
    bool has_one = getsockopt(c->fd, SOL_SOCKET, SO_GET_FILTER, NULL, &steps) != 0 || steps > 0;

    return channel_is_udp(c) && !has_one &&
           setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

/* A kernel that knows an offload may still fail to use it: that shows in sending. */
static void find_offloads(struct channel *c, const struct channel_options *options)
{
    bool may = channel_is_udp(c) && !socket_is_set("ZCRP_NO_OFFLOAD");

    if (may && options->use_gso && !socket_is_set("ZCRP_NO_SEGMENT") &&
        socket_get(c->fd, IPPROTO_UDP, NUMBER_UDP_SEGMENT) >= 0)
        atomic_init(&c->gso_segments, BURST_CUT);
    if (may && options->use_gro && !socket_is_set("ZCRP_NO_GRO"))
        c->has_gro = socket_set(c->fd, IPPROTO_UDP, NUMBER_UDP_GRO, 1);
    if (!socket_is_set("ZCRP_NO_ECN"))
        socket_ecn_begin(c, options);
}

void channel_join(struct channel *c, bool joins)
{
    if (!c->has_gro || c->leaves_gro == !joins)
        return;
    c->leaves_gro = !joins;
    (void)socket_set(c->fd, IPPROTO_UDP, NUMBER_UDP_GRO, joins);
}

int channel_init(struct channel *c, int fd, const struct channel_options *options)
{
    int error = check_type(fd);

    if (error)
        return error;
    *c = (struct channel){.fd = fd,
                          .kind = CHANNEL_UDP4,
                          .tap = options->tap,
                          .peer = address_of_peer(fd),
                          .ecn_before = -1,
                          .gso_segments = 1};
    error = find_kind(c);
    if (error)
        return error;
    c->has_leftovers = address_number(&c->peer) != 0;
    set_buffers(c, options);
    socket_path_begin(c);
    if (!options->aal5.is_wanted && !channel_is_raw(c))
        find_offloads(c, options);
    else
        error = aal5_open(c, &options->aal5);
    if (error)
        socket_path_end(c);
    else if (c->aal5 != NULL) /* what takes no whole PDU would block amid each, and get none out */
        grow_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, aal5_send_bytes(c));
    c->drops_seen = drops_so_far(fd);
    (void)socket_set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    c->has_filter = error == 0 && look_before_landing(c);
    return error;
}

void channel_fini(struct channel *c)
{
    if (c->aal5)
        aal5_close(c);
    if (c->has_gro)
        (void)socket_set(c->fd, IPPROTO_UDP, NUMBER_UDP_GRO, 0);
    if (c->has_filter)
        (void)socket_set(c->fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
    socket_ecn_end(c);
    socket_path_end(c);
}

void channel_abandon(struct channel *c)
{
    aal5_free(c);
}
