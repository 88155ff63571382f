#include "zcrp-bench/recording/capture_file.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum {
    MAGIC_OF_NANOSECONDS = (int)0xa1b23c4d,
    SNAPSHOT_BYTES = 1 << 18, /* no packet is longer */
    TYPE_AAL5 = 4,
    FLAG_VARYING_LENGTH = 4,
    INTERFACE_IN = 1,
    PTI_LAST_CELL = 1 << 1, /* in the last byte of the cell's head */
    CELL_HEAD = 4,
};

static const uint64_t second_ns = 1000000000;

void capture_file_head(uint8_t out[CAPTURE_FILE_HEAD], enum capture_link link)
{
    const uint16_t version[2] = {2, 4};
    const uint32_t words[4] = {0, 0, SNAPSHOT_BYTES, (uint32_t)link};
    const uint32_t magic = (uint32_t)MAGIC_OF_NANOSECONDS;

    memcpy(out, &magic, sizeof magic);
    memcpy(out + 4, version, sizeof version);
    memcpy(out + 8, words, sizeof words);
}

void capture_packet_head(uint8_t out[CAPTURE_PACKET_HEAD], int64_t time_ns, uint32_t bytes)
{
    uint64_t ns = (uint64_t)time_ns;
    const uint32_t words[4] = {(uint32_t)(ns / second_ns), (uint32_t)(ns % second_ns), bytes,
                               bytes};

    memcpy(out, words, sizeof words);
}

static uint8_t *put16(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
    return out + 2;
}

/* Seconds and 2^-32 seconds, the one number in the record that is little-endian. */
static uint8_t *put_time(uint8_t *out, int64_t time_ns)
{
    uint64_t ns = (uint64_t)time_ns;
    uint64_t time = (ns / second_ns << 32) + (ns % second_ns << 32) / second_ns;

    for (int i = 0; i < 8; i++)
        *out++ = (uint8_t)(time >> 8 * i);
    return out;
}

void capture_pdu_head(uint8_t out[CAPTURE_PDU_HEAD], const struct capture_pdu *pdu)
{
    uint32_t cell = (uint32_t)pdu->vpi << 20 | (uint32_t)pdu->vci << 4 | PTI_LAST_CELL;

    out = put_time(out, pdu->time_ns);
    *out++ = TYPE_AAL5;
    *out++ = (uint8_t)(FLAG_VARYING_LENGTH | (pdu->is_outward ? 0 : INTERFACE_IN));
    out = put16(out, CAPTURE_PDU_HEAD + pdu->bytes);
    out = put16(out, 0); /* nothing was lost between */
    out = put16(out, CELL_HEAD + pdu->bytes);
    put16(put16(out, cell >> 16), cell & 0xffff);
}

enum { IP4_HEAD = 20, IP6_HEAD = 40, UDP_HEAD = 8, HOPS = 64 };

union name {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
};

/* An IPv4 address in an IPv6 socket is shown as what it is on the way. */
static int take_name(const union name *name, uint8_t address[16], uint16_t *port, bool *is_ip6)
{
    if (name->any.sa_family == AF_INET) {
        memcpy(address, &name->ip4.sin_addr, 4);
        *port = ntohs(name->ip4.sin_port);
        *is_ip6 = false;
        return 0;
    }
    if (name->any.sa_family != AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    *is_ip6 = !IN6_IS_ADDR_V4MAPPED(&name->ip6.sin6_addr);
    memcpy(address, name->ip6.sin6_addr.s6_addr + (*is_ip6 ? 0 : 12), *is_ip6 ? 16 : 4);
    *port = ntohs(name->ip6.sin6_port);
    return 0;
}

int flow_init(struct flow *flow, int descriptor)
{
    union name here = {0}, there = {0};
    socklen_t here_size = sizeof here, there_size = sizeof there;

    *flow = (struct flow){.descriptor = descriptor};
    if (getsockname(descriptor, &here.any, &here_size) < 0 ||
        getpeername(descriptor, &there.any, &there_size) < 0 ||
        take_name(&here, flow->here, &flow->here_port, &flow->is_ip6) < 0)
        return -1;
    return take_name(&there, flow->there, &flow->there_port, &flow->is_ip6);
}

/* The Internet checksum goes on over these bytes; `*at` counts them, for what is odd. */
static uint64_t sum(uint64_t so_far, const uint8_t *bytes, size_t count, size_t *at)
{
    for (size_t i = 0; i < count; i++, ++*at)
        so_far += *at % 2 == 0 ? (uint64_t)bytes[i] << 8 : bytes[i];
    return so_far;
}

static uint32_t fold(uint64_t sum)
{
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint32_t)(~sum & 0xffff);
}

static void put_ip4(uint8_t *out, const uint8_t *from, const uint8_t *to, uint32_t bytes)
{
    size_t at = 0;

    memset(out, 0, IP4_HEAD);
    out[0] = 0x45;
    put16(out + 2, IP4_HEAD + bytes);
    out[6] = 0x40; /* not to be cut */
    out[8] = HOPS;
    out[9] = IPPROTO_UDP;
    memcpy(out + 12, from, 4);
    memcpy(out + 16, to, 4);
    put16(out + 10, fold(sum(0, out, IP4_HEAD, &at)));
}

static void put_ip6(uint8_t *out, const uint8_t *from, const uint8_t *to, uint32_t bytes)
{
    memset(out, 0, IP6_HEAD);
    out[0] = 0x60;
    put16(out + 4, bytes);
    out[6] = IPPROTO_UDP;
    out[7] = HOPS;
    memcpy(out + 8, from, 16);
    memcpy(out + 24, to, 16);
}

/* IPv6 demands one (RFC 8200, 8.1), over addresses, UDP's head and the data. */
static uint32_t udp_checksum(const uint8_t *addresses, const uint8_t *udp,
                             const struct iovec *pieces, size_t count, uint32_t bytes)
{
    size_t at = 0;
    uint64_t total = sum(bytes + IPPROTO_UDP, addresses, 32, &at);

    total = sum(total, udp, UDP_HEAD, &at);
    for (size_t i = 0; i < count; i++)
        total = sum(total, pieces[i].iov_base, pieces[i].iov_len, &at);
    uint32_t checksum = fold(total);
    return checksum != 0 ? checksum : 0xffff;
}

size_t flow_head(const struct flow *flow, uint8_t out[FLOW_HEAD_MOST], bool is_outward,
                 const struct iovec *pieces, size_t count, uint32_t bytes)
{
    const uint8_t *from = is_outward ? flow->here : flow->there;
    const uint8_t *to = is_outward ? flow->there : flow->here;
    uint8_t *udp = out + (flow->is_ip6 ? IP6_HEAD : IP4_HEAD);

    put16(udp, is_outward ? flow->here_port : flow->there_port);
    put16(udp + 2, is_outward ? flow->there_port : flow->here_port);
    put16(udp + 4, UDP_HEAD + bytes);
    put16(udp + 6, 0); /* none, in IPv4 */
    if (flow->is_ip6) {
        put_ip6(out, from, to, UDP_HEAD + bytes);
        put16(udp + 6, udp_checksum(out + 8, udp, pieces, count, UDP_HEAD + bytes));
    } else {
        put_ip4(out, from, to, UDP_HEAD + bytes);
    }
    return (size_t)(udp - out) + UDP_HEAD;
}
