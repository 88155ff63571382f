/* Pairs of connected sockets on this machine. A failing call ends the program.
 *
 * ZCRP_TEST_CHANNEL in the environment says what they carry: `aal5` makes them raw sockets of IP
 * protocol 137, `aal5-udp` UDP sockets of port 6635, whatever the kind asked for. So every
 * end-to-end test is one of each channel. Each such socket has an address of its own in 127/8. */
#ifndef ZCRP_TESTS_SUPPORT_LOOPBACK_H
#define ZCRP_TESTS_SUPPORT_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>

enum loopback_kind { LOOPBACK_UDP4, LOOPBACK_UDP6, LOOPBACK_UNIX };

/* What zcrp_open_sender and zcrp_open_receiver take. */
struct loopback {
    int sender[2];
    int receiver[2];
};

/* One duplex socket for each end; or, simplex, two: one for each direction. */
struct loopback loopback_open(enum loopback_kind kind, bool is_simplex);

void loopback_close(const struct loopback *l);

/* Two sockets connected to each other. */
void loopback_pair(enum loopback_kind kind, int pair[2]);

/* A UDP socket bound to 127.0.0.1 and any port, connected to nobody, with a large receive buffer.
 */
int loopback_bind(void);

/* Connects `fd` to where `to` is bound. */
void loopback_connect(int fd, int to);

/* Are the sockets raw ones? Then each has a filter for its circuit in the kernel. */
bool loopback_is_raw(void);

/* Do the sockets carry AAL5? Then there are no offloads. */
bool loopback_is_aal5(void);

/* Do they carry ZCRP's datagrams as they are? */
bool loopback_is_udp(void);

/* Does AAL5 lose cells, by ZCRP_AAL5 in the environment? Then messages may end in any order, and
 * all takes longer. */
bool loopback_is_lossy(void);

/* Can such sockets be opened? Raw ones take a right. */
bool loopback_is_permitted(void);

/* Bytes that reading such a socket puts before what was written: IP's head, on a raw one. */
size_t loopback_head(void);

#endif
