#include "listen.h"

#include "core/wire/aal5.h"
#include "core/wire/control.h"
#include "platform/system.h"
#include "transport/crc.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

enum {
    LARGEST = 2048,          /* bytes; a larger datagram is no hello of any version */
    HEARD_BY_A_CHILD = 1024, /* datagrams: more than a socket has room for */
};

/* Room for the notes that say where a datagram arrived, or whence it is to be sent. */
union place_note {
    struct cmsghdr head; /* aligns */
    uint8_t room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

/* What was read from a socket. */
struct arrival {
    struct caller caller;
    uint8_t bytes[LARGEST];
    size_t size; /* more than there is room for: no hello */
};

static bool set(int fd, int level, int name)
{
    int on = 1;

    return setsockopt(fd, level, name, &on, sizeof(on)) == 0;
}

int listen_begin(const struct listen_socket *l)
{
    if (!set(l->fd, IPPROTO_IP, IP_PKTINFO) && !set(l->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO))
        return -errno;
    (void)set(l->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
    return set(l->fd, SOL_SOCKET, SO_REUSEPORT) ? 0 : -errno;
}

/* ---- reading ---- */

static void read_place(const struct cmsghdr *note, union address *here)
{
    if (note->cmsg_level == IPPROTO_IP && note->cmsg_type == IP_PKTINFO) {
        struct in_pktinfo place;
        memcpy(&place, CMSG_DATA(note), sizeof(place));
        struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_addr = place.ipi_addr};
        memcpy(here, &ip4, sizeof(ip4));
    } else if (note->cmsg_level == IPPROTO_IPV6 && note->cmsg_type == IPV6_PKTINFO) {
        struct in6_pktinfo place;
        memcpy(&place, CMSG_DATA(note), sizeof(place));
        struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_addr = place.ipi6_addr};
        if (IN6_IS_ADDR_LINKLOCAL(&place.ipi6_addr))
            ip6.sin6_scope_id = place.ipi6_ifindex;
        memcpy(here, &ip6, sizeof(ip6));
    }
}

/* 1: it was; 0: it was an error, which the network makes the socket say; or as listen_receive. */
static int read_one(int fd, struct arrival *a)
{
    union place_note notes[2];
    struct iovec piece = {a->bytes, sizeof(a->bytes)};
    struct msghdr message = {.msg_name = &a->caller.from,
                             .msg_namelen = sizeof(a->caller.from),
                             .msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = notes,
                             .msg_controllen = sizeof(notes)};
    ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);

    if (size < 0)
        return errno == EBADF || errno == ENOTSOCK || errno == EAGAIN ? -errno : 0;
    a->size = (size_t)size;
    a->caller.from_size = message.msg_namelen;
    a->caller.here = (union address){.room = {.ss_family = AF_UNSPEC}};
    for (struct cmsghdr *n = CMSG_FIRSTHDR(&message); n != NULL; n = CMSG_NXTHDR(&message, n))
        read_place(n, &a->caller.here);
    return 1;
}

/* ---- answering ---- */

_Static_assert(TRAILER_BYTES + AAL5_TRAILER <= AAL5_CELL, "an answer is no larger than any PDU");

/* Writes the note that has an answer leave from where the hello arrived. */
static size_t write_place(const union address *here, union place_note *note)
{
    memset(note, 0, sizeof(*note));
    if (here->any.sa_family == AF_INET) {
        const struct sockaddr_in *ip4 = (const struct sockaddr_in *)here;
        struct in_pktinfo place = {.ipi_spec_dst = ip4->sin_addr};
        note->head.cmsg_level = IPPROTO_IP;
        note->head.cmsg_type = IP_PKTINFO;
        note->head.cmsg_len = CMSG_LEN(sizeof(place));
        memcpy(CMSG_DATA(&note->head), &place, sizeof(place));
        return CMSG_SPACE(sizeof(place));
    }
    if (here->any.sa_family == AF_INET6) {
        const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)here;
        struct in6_pktinfo place = {.ipi6_addr = ip6->sin6_addr,
                                    .ipi6_ifindex = ip6->sin6_scope_id};
        note->head.cmsg_level = IPPROTO_IPV6;
        note->head.cmsg_type = IPV6_PKTINFO;
        note->head.cmsg_len = CMSG_LEN(sizeof(place));
        memcpy(CMSG_DATA(&note->head), &place, sizeof(place));
        return CMSG_SPACE(sizeof(place));
    }
    return 0;
}

/* Of the packet of AAL5 that carries a datagram of a handshake: cells, and what goes before. */
enum {
    PACKET_MOST =
        AAL5_HEAD + (HANDSHAKE_BYTES + AAL5_TRAILER + AAL5_CELL - 1) / AAL5_CELL * AAL5_CELL,
};

void listen_tell(const struct listen_socket *l, const struct caller *caller,
                 const uint8_t *datagram, size_t size)
{
    uint8_t packet[PACKET_MOST];
    const struct aal5_packet wrapped = {l->label_out, datagram, (uint32_t)size};
    union place_note note;
    struct iovec piece = {(void *)datagram, size};
    struct msghdr message = {.msg_name = (void *)&caller->from,
                             .msg_namelen = caller->from_size,
                             .msg_iov = &piece,
                             .msg_iovlen = 1};

    if (l->label_out != 0)
        piece = (struct iovec){packet, aal5_packet_encode(packet, &wrapped, crc_best())};
    message.msg_controllen = (socklen_t)write_place(&caller->here, &note);
    message.msg_control = message.msg_controllen > 0 ? &note : NULL;
    (void)sendmsg(l->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What a datagram says; over AAL5 that is what the PDU in it carries. */
struct content {
    const uint8_t *bytes;
    size_t size; /* 0: it is larger than any hello, or not a PDU of our circuit */
};

static struct content content_of(const struct listen_socket *l, const struct arrival *a)
{
    struct aal5_packet packet;

    if (a->size > sizeof(a->bytes))
        return (struct content){.size = 0};
    if (l->label_in == 0)
        return (struct content){a->bytes, a->size};
    if (!aal5_packet_decode(a->bytes, a->size, crc_best(), &packet) || packet.label != l->label_in)
        return (struct content){.size = 0};
    return (struct content){packet.payload, packet.payload_bytes};
}

/* Nothing can be sent to port 0. */
static void hear_arrival(const struct listen_socket *l, const struct arrival *a, listen_hear hear,
                         void *context)
{
    struct content said = content_of(l, a);

    if (said.size > 0 && address_port(&a->caller.from) != 0)
        hear(context, &a->caller, said.bytes, said.size);
}

int listen_receive(const struct listen_socket *l, listen_hear hear, void *context)
{
    struct arrival a;
    int result = read_one(l->fd, &a);

    if (result == 1)
        hear_arrival(l, &a, hear, context);
    return result < 0 ? result : 0;
}

/* ---- admitting ---- */

/* Where a child is bound: where the caller connected to, with the listening socket's port. A caller
 * by IPv4 has a child of IPv4, also at a listening socket of IPv6. */
static int place_for_child(int fd, const struct caller *caller, union address *place)
{
    union address own = {.room = {.ss_family = AF_UNSPEC}};
    socklen_t size = sizeof(own);

    if (getsockname(fd, &own.any, &size) != 0)
        return -errno;
    *place = caller->here.any.sa_family != AF_UNSPEC ? caller->here : own;
    address_unmap(place);
    if (place->any.sa_family == AF_INET)
        place->ip4.sin_port = htons(address_port(&own));
    else
        place->ip6.sin6_port = htons(address_port(&own));
    return 0;
}

/* All that the child heard before it was connected. The caller may send faster than this reads.
 * What is left of others is dropped by the channel. */
static void hear_strays(const struct listen_socket *l, const struct caller *caller, int child,
                        listen_hear hear, void *context)
{
    struct arrival a;
    int result = 0;

    for (int i = 0; i < HEARD_BY_A_CHILD && result >= 0; i++) {
        result = read_one(child, &a);
        a.caller.here = caller->here;
        if (result == 1)
            hear_arrival(l, &a, hear, context);
    }
}

int listen_admit(const struct listen_socket *l, const struct caller *caller, int *child,
                 listen_hear hear, void *context)
{
    union address place = {.room = {.ss_family = AF_UNSPEC}}, from = caller->from;
    int error = place_for_child(l->fd, caller, &place);

    *child = -1;
    if (error)
        return error;
    int made = socket(place.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
    if (made < 0)
        return -errno;
    if (place.any.sa_family == AF_INET)
        address_unmap(&from);
    if (set(made, SOL_SOCKET, SO_REUSEPORT) && bind(made, &place.any, address_bytes(&place)) == 0 &&
        connect(made, &from.any, address_bytes(&from)) == 0) {
        hear_strays(l, caller, made, hear, context);
        *child = made;
        return 0;
    }
    error = -errno;
    (void)close(made);
    return error;
}
