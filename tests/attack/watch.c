#include "watch.h"

#include <arpa/inet.h>
#include <check.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IP_HEAD = 20, IP6_HEAD = 40, UDP_HEAD = 8 };

void watch_open(struct watch *watch, const struct stage *stage, enum stage_side side)
{
    int bytes = 32 << 20, yes = 1;
    uint16_t protocol = htons(place_is_ipv6() ? ETH_P_IPV6 : ETH_P_IP);

    stage_enter(stage, side);
    struct sockaddr_ll cable = {.sll_family = AF_PACKET,
                                .sll_protocol = protocol,
                                .sll_ifindex = (int)if_nametoindex("zcrp0")};
    watch->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    ck_assert_int_ge(watch->fd, 0);
    (void)setsockopt(watch->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    ck_assert_int_eq(setsockopt(watch->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)),
                     0);
    ck_assert_int_eq(bind(watch->fd, (struct sockaddr *)&cable, sizeof(cable)), 0);
}

void watch_close(struct watch *watch)
{
    close(watch->fd);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static bool is_udp(const uint8_t *ip, size_t bytes)
{
    if (place_is_ipv6())
        return bytes >= IP6_HEAD + UDP_HEAD && ip[6] == IPPROTO_UDP;
    return bytes >= IP_HEAD + UDP_HEAD && ip[0] == 0x45 && ip[9] == IPPROTO_UDP;
}

bool watch_next(struct watch *watch, struct watch_seen *seen)
{
    size_t head = place_is_ipv6() ? IP6_HEAD : IP_HEAD;
    const uint8_t *ip = watch->packet, *udp = ip + head;
    ssize_t bytes;

    do
        bytes = recv(watch->fd, watch->packet, sizeof(watch->packet), MSG_TRUNC);
    while (bytes >= 0 && !is_udp(ip, (size_t)bytes));
    if (bytes < 0)
        return false;
    uint32_t from = place_is_ipv6() ? place_get(ip + 8) : get32(ip + 12);
    uint32_t to = place_is_ipv6() ? place_get(ip + 24) : get32(ip + 16);
    *seen = (struct watch_seen){.from = {from, get16(udp)},
                                .to = {to, get16(udp + 2)},
                                .payload = udp + UDP_HEAD,
                                .bytes = (size_t)bytes - head - UDP_HEAD};
    return true;
}

uint64_t watch_count(struct watch *watch, struct watch_tally *tally)
{
    struct watch_seen seen;
    uint64_t count = 0;

    for (; watch_next(watch, &seen); count++) {
        uint32_t stranger = seen.to.address - STAGE_STRANGERS;
        if (stranger >= WATCH_STRANGERS)
            continue;
        tally->datagrams[stranger]++;
        tally->bytes[stranger] += (uint32_t)seen.bytes;
    }
    return count;
}
