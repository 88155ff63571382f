#include "raw.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    IP_HEAD = 20,
    IP6_HEAD = 40,
    UDP_HEAD = 8,
    UDP_CHECKSUM = 6, /* where it is in the head */
    ICMP_HEAD = 8,
    ICMP_CHECKSUM = 2,
    TTL = 64,
    FEW = 16 << 10, /* bytes that may wait, by the kernel's own account, while more are sent */
};

/* ---- the victim's queue ---- */

/* One line of /proc/net/udp, or udp6: what waits, and what was lost. */
static bool read_socket(const char *line, uint16_t port, uint64_t *waiting, uint64_t *lost)
{
    unsigned local = 0, queued = 0, drops = 0;
    int fields = sscanf(line, "%*d: %*x:%x %*x:%*x %*x %*x:%x %*x:%*x %*x %*u %*u %*u %*u %*x %u",
                        &local, &queued, &drops);

    if (fields != 3 || local != port)
        return false;
    *waiting += queued;
    *lost += drops;
    return true;
}

static void read_queues(const struct raw *raw, uint64_t *waiting, uint64_t *lost)
{
    char table[8192], *rest = NULL;
    ssize_t bytes = pread(raw->queues, table, sizeof(table) - 1, 0);

    *waiting = *lost = 0;
    table[bytes < 0 ? 0 : bytes] = '\0';
    for (char *line = strtok_r(table, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        (void)read_socket(line, raw->port, waiting, lost);
}

uint64_t raw_lost(const struct raw *raw)
{
    uint64_t waiting, lost;

    read_queues(raw, &waiting, &lost);
    return lost - raw->lost_before;
}

static void wait_until_read(const struct raw *raw)
{
    uint64_t waiting = raw->port == 0 ? 0 : FEW, lost;

    for (int i = 0; i < 20000 && waiting >= FEW; i++) {
        read_queues(raw, &waiting, &lost);
        if (waiting >= FEW)
            usleep(50);
    }
}

/* ---- open and close ---- */

void raw_open(struct raw *raw, const struct stage *stage, enum stage_side side, uint16_t port)
{
    int bytes = 4 << 20;

    *raw = (struct raw){.port = port};
    stage_enter(stage, stage_other(side));
    raw->queues = open(place_is_ipv6() ? "/proc/thread-self/net/udp6" : "/proc/thread-self/net/udp",
                       O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(raw->queues, 0);
    stage_enter(stage, side);
    raw->fd = socket(place_family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    ck_assert_int_ge(raw->fd, 0);
    (void)setsockopt(raw->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
    raw->lost_before = raw_lost(raw);
}

void raw_close(struct raw *raw)
{
    raw_flush(raw);
    close(raw->fd);
    close(raw->queues);
}

/* ---- packets ---- */

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value & 0xFFFF);
}

static size_t ip_head(void)
{
    return place_is_ipv6() ? IP6_HEAD : IP_HEAD;
}

/* The head's checksum is the kernel's to fill in, where it sends it. */
static void put_ip4(uint8_t *ip, uint32_t from, uint32_t to, uint8_t protocol, size_t size)
{
    ip[0] = 0x45;
    put16(ip + 2, (unsigned)(IP_HEAD + size));
    put16(ip + 6, 0x4000); /* not to be cut */
    ip[8] = TTL;
    ip[9] = protocol;
    put32(ip + 12, from);
    put32(ip + 16, to);
}

static void put_ip6(uint8_t *ip, uint32_t from, uint32_t to, uint8_t protocol, size_t size)
{
    ip[0] = 0x60;
    put16(ip + 4, (unsigned)size);
    ip[6] = protocol;
    ip[7] = TTL;
    place_put(ip + 8, from);
    place_put(ip + 24, to);
}

/* In front of `size` bytes. */
static void put_ip(uint8_t *ip, uint32_t from, uint32_t to, uint8_t protocol, size_t size)
{
    memset(ip, 0, ip_head());
    if (place_is_ipv6())
        put_ip6(ip, from, to, protocol, size);
    else
        put_ip4(ip, from, to, protocol, size);
}

/* Marks of ECN. */
static void put_service(uint8_t *ip, uint8_t service)
{
    if (!place_is_ipv6()) {
        ip[1] = service;
        return;
    }
    ip[0] |= (uint8_t)(service >> 4);
    ip[1] |= (uint8_t)(service << 4);
}

/* Without a checksum, as IPv4 permits it. */
static void put_udp(uint8_t *udp, uint16_t from, uint16_t to, size_t size)
{
    put16(udp, from);
    put16(udp + 2, to);
    put16(udp + 4, (unsigned)size);
    put16(udp + 6, 0);
}

static unsigned sum_of(const uint8_t *bytes, size_t size, unsigned sum)
{
    for (size_t i = 0; i < size; i++)
        sum += (unsigned)bytes[i] << (i % 2 == 0 ? 8 : 0);
    return sum;
}

static unsigned folded(unsigned sum)
{
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return ~sum & 0xFFFF;
}

static unsigned checksum(const uint8_t *bytes, size_t size)
{
    return folded(sum_of(bytes, size, 0));
}

/* IPv6 has none of its own, and both addresses are in those of what it carries (RFC 8200, 8.1). */
static void put_checksum6(uint8_t *ip, uint8_t protocol, size_t at, size_t size)
{
    uint8_t *payload = ip + IP6_HEAD;
    unsigned sum = sum_of(ip + 8, 32, (unsigned)size + protocol);

    put16(payload + at, 0);
    sum = folded(sum_of(payload, size, sum));
    put16(payload + at, sum == 0 ? 0xFFFF : sum);
}

/* The packet's place in the batch is taken. */
static void add(struct raw *raw, uint32_t to, size_t size)
{
    raw->to[raw->count] = to;
    raw->size[raw->count++] = (unsigned)size;
    if (raw->count == RAW_BATCH)
        raw_flush(raw);
}

static void add_udp(struct raw *raw, struct raw_end from, struct raw_end to, const uint8_t *payload,
                    size_t bytes, uint8_t service, bool is_damaged)
{
    uint8_t *packet = raw->packet[raw->count], *udp = packet + ip_head();

    ck_assert_uint_le(ip_head() + UDP_HEAD + bytes, RAW_PACKET);
    put_ip(packet, from.address, to.address, IPPROTO_UDP, UDP_HEAD + bytes);
    put_service(packet, service);
    put_udp(udp, from.port, to.port, UDP_HEAD + bytes);
    if (bytes > 0)
        memcpy(udp + UDP_HEAD, payload, bytes);
    if (place_is_ipv6())
        put_checksum6(packet, IPPROTO_UDP, UDP_CHECKSUM, UDP_HEAD + bytes);
    if (is_damaged)
        udp[UDP_CHECKSUM] ^= 0x5A; /* where IPv4 had none it has one now */
    add(raw, to.address, ip_head() + UDP_HEAD + bytes);
}

void raw_marked(struct raw *raw, struct raw_end from, struct raw_end to, const uint8_t *payload,
                size_t bytes, uint8_t service)
{
    add_udp(raw, from, to, payload, bytes, service, false);
}

void raw_damaged(struct raw *raw, struct raw_end from, struct raw_end to, const uint8_t *payload,
                 size_t bytes)
{
    add_udp(raw, from, to, payload, bytes, 0, true);
}

void raw_udp(struct raw *raw, struct raw_end from, struct raw_end to, const uint8_t *payload,
             size_t bytes)
{
    raw_marked(raw, from, to, payload, bytes, 0);
}

/* Quotes the head of the datagram, and eight bytes of it, as routers do. */
void raw_icmp(struct raw *raw, const struct raw_icmp *icmp)
{
    enum { SAID = 1472 };
    uint8_t *packet = raw->packet[raw->count], *head = packet + ip_head();
    uint8_t *quoted = head + ICMP_HEAD;
    size_t size = ICMP_HEAD + ip_head() + UDP_HEAD;

    put_ip(packet, icmp->from, icmp->said.address, place_is_ipv6() ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
           size);
    memset(head, 0, ICMP_HEAD);
    head[0] = icmp->type;
    head[1] = icmp->code;
    put32(head + 4, icmp->rest);
    put_ip(quoted, icmp->said.address, icmp->for_.address, IPPROTO_UDP, UDP_HEAD + SAID);
    if (!place_is_ipv6())
        put16(quoted + 10, checksum(quoted, IP_HEAD));
    put_udp(quoted + ip_head(), icmp->said.port, icmp->for_.port, UDP_HEAD + SAID);
    if (place_is_ipv6())
        put_checksum6(packet, IPPROTO_ICMPV6, ICMP_CHECKSUM, size);
    else
        put16(head + ICMP_CHECKSUM, checksum(head, size));
    add(raw, icmp->said.address, ip_head() + size);
}

static void send_batch(struct raw *raw)
{
    struct mmsghdr message[RAW_BATCH];
    struct iovec piece[RAW_BATCH];
    union place_address to[RAW_BATCH];
    unsigned sent = 0;

    for (unsigned i = 0; i < raw->count; i++) {
        socklen_t size;
        to[i] = place_address_of((struct raw_end){raw->to[i], 0}, &size);
        piece[i] = (struct iovec){.iov_base = raw->packet[i], .iov_len = raw->size[i]};
        message[i] = (struct mmsghdr){
            .msg_hdr = {
                .msg_name = &to[i], .msg_namelen = size, .msg_iov = &piece[i], .msg_iovlen = 1}};
    }
    while (sent < raw->count) {
        int count = sendmmsg(raw->fd, message + sent, raw->count - sent, 0);
        ck_assert_msg(count > 0 || errno == ENOBUFS || errno == EINTR, "%s", strerror(errno));
        sent += count > 0 ? (unsigned)count : 0;
    }
}

void raw_flush(struct raw *raw)
{
    if (raw->count == 0)
        return;
    send_batch(raw);
    raw->sent += raw->count;
    raw->count = 0;
    wait_until_read(raw);
}
