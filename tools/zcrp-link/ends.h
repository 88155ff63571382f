/* The two ends of the link: a network namespace each, with one interface.
 *
 *      A  zcrp0 198.18.0.1 === the relay === 198.18.0.2 zcrp1  B
 *
 * They have no name outside, and are gone with the last process in them and the descriptors. */
#ifndef LINK_ENDS_H
#define LINK_ENDS_H

#include <stdint.h>

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

#endif
