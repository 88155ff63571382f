/* The two ends of the link: a network namespace each, with one interface.
 *
 *      A  zcrp0 198.18.0.1 === the relay === 198.18.0.2 zcrp1  B
 *
 * They have no name outside, and are gone with the last process in them and the descriptors. */
#ifndef LINK_ENDS_H
#define LINK_ENDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { END_A, END_B, ENDS };

struct ends {
    int tun[ENDS];       /* the wires */
    int namespace[ENDS]; /* for setns */
};

/* The end's address: RFC 2544 keeps 198.18.0.0/15 for measurements. */
const char *ends_address(int end);

/* Makes them; this process is then in B's namespace. 0, or -1 with a complaint. */
int ends_open(struct ends *ends, uint64_t mtu);
void ends_close(struct ends *ends);

/* Whether a program at B can be called: a TCP socket listens, or a UDP socket has a port. With
 * `port` > 0 only that one counts, with 0 any. */
bool ends_is_listening(unsigned port);

/* The same for one table of the kernel, as in /proc/net/tcp. */
bool ends_table_has(FILE *table, bool is_tcp, unsigned port);

/* A network interface whose wire is a descriptor: what the kernel sends through it is read, packet
 * by packet, and what is written comes in. */

#define TUN_DEVICE "/dev/net/tun"

struct tun_settings {
    const char *name;
    const char *address; /* IPv4; the two ends of the link share a network of four addresses */
    uint64_t mtu;
};

/* Makes the interface in the network namespace of this process, and brings it and loopback up. It
 * is gone when the descriptor is closed. The descriptor does not block and is closed by exec. -1
 * with a complaint. */
int tun_open(const struct tun_settings *settings);

#endif
