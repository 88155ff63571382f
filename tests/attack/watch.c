#include "watch.h"

#include <arpa/inet.h>
#include <check.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IP_HEAD = 20, HEADS = 28 };

void watch_open(struct watch *watch, const struct stage *stage, enum stage_side side)
{
    int bytes = 32 << 20, yes = 1;

    stage_enter(stage, side);
    struct sockaddr_ll cable = {.sll_family = AF_PACKET,
                                .sll_protocol = htons(ETH_P_IP),
                                .sll_ifindex = (int)if_nametoindex("zcrp0")};
    watch->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_IP));
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

bool watch_next(struct watch *watch, struct watch_seen *seen)
{
    const uint8_t *ip = watch->packet, *udp = ip + IP_HEAD;
    ssize_t bytes;

    do
        bytes = recv(watch->fd, watch->packet, sizeof(watch->packet), MSG_TRUNC);
    while (bytes >= 0 && (bytes < HEADS || ip[0] != 0x45 || ip[9] != IPPROTO_UDP));
    if (bytes < 0)
        return false;
    *seen = (struct watch_seen){.from = {get32(ip + 12), get16(udp)},
                                .to = {get32(ip + 16), get16(udp + 2)},
                                .payload = ip + HEADS,
                                .bytes = (size_t)bytes - HEADS};
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
