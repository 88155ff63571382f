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

#define ENDS_DEVICE "/dev/net/tun"

enum { END_A, END_B, ENDS };

struct ends {
    int tun[ENDS]; /* the wires: what the kernel sends through the interface is read, packet by
                      packet, and what is written comes in; they do not block */
    int namespace[ENDS]; /* for setns */
};

/* The end's address: RFC 2544 keeps 198.18.0.0/15 for measurements. */
const char *ends_address(int end);

/* Makes them, and brings the interfaces and loopback up; this process is then in B's namespace. All
 * is gone when the descriptors are closed, which exec does. 0, or -1 with a complaint. */
int ends_open(struct ends *ends, uint64_t mtu);
void ends_close(struct ends *ends);

/* Whether a program at B can be called: a TCP socket listens, or a UDP socket has a port. With
 * `port` > 0 only that one counts, with 0 any. */
bool ends_is_listening(unsigned port);

/* The same for one table of the kernel, as in /proc/net/tcp. */
bool ends_table_has(FILE *table, bool is_tcp, unsigned port);

#endif
