/* Packets with any source address, as an attacker off the path makes them: UDP over IPv4 or IPv6
 * with any bits of ECN, and ICMP that quotes a datagram of the victim's.
 *
 * They are sent in batches, and each batch waits until the victim has read most of the one before:
 * a sweep through all values of a field is one only if each of them was heard. raw_lost says so. */
#ifndef ZCRP_TESTS_ATTACK_RAW_H
#define ZCRP_TESTS_ATTACK_RAW_H

#include "place.h"
#include "stage.h"

#include <stddef.h>
#include <stdint.h>

enum {
    RAW_BATCH = 128,    /* packets in a system call */
    RAW_PACKET = 1500,  /* bytes of the largest, heads included */
    RAW_PAYLOAD = 1472, /* bytes of the largest datagram over IPv4; over IPv6 20 fewer */
    RAW_CONGESTED = 3,  /* type of service: the network was congested */
};

struct raw {
    int fd;
    int queues; /* the table of the UDP sockets on the victim's side */
    uint16_t port;
    unsigned count; /* of packets in the batch */
    unsigned size[RAW_BATCH];
    uint32_t to[RAW_BATCH];
    uint8_t packet[RAW_BATCH][RAW_PACKET];
    uint64_t sent;        /* packets */
    uint64_t lost_before; /* by the victim's socket, before this began */
};

struct raw_icmp {
    uint32_t from;             /* the router that complains */
    uint8_t type, code;        /* of ICMP, or ICMPv6 */
    uint32_t rest;             /* the second word of the head: of "too big" the MTU */
    struct raw_end said, for_; /* the quoted datagram's source and destination */
};

/* Sends from `side` to the other, where the victim's sockets have that local port. 0: waits for
 * nobody, as is right for ICMP, which waits in no queue. */
void raw_open(struct raw *raw, const struct stage *stage, enum stage_side side, uint16_t port);
void raw_close(struct raw *raw);

/* Adds a datagram to the batch, and sends the batch when it is full. */
void raw_udp(struct raw *raw, struct raw_end from, struct raw_end to, const uint8_t *payload,
             size_t bytes);
/* With a wrong checksum. */
void raw_damaged(struct raw *raw, struct raw_end from, struct raw_end to, const uint8_t *payload,
                 size_t bytes);
void raw_marked(struct raw *raw, struct raw_end from, struct raw_end to, const uint8_t *payload,
                size_t bytes, uint8_t service);
void raw_icmp(struct raw *raw, const struct raw_icmp *icmp);

/* Sends what the batch has, and waits until the victim has room for another, a second at most. */
void raw_flush(struct raw *raw);

/* Packets that the victim's socket had no room for, since raw_open. */
uint64_t raw_lost(const struct raw *raw);

#endif
