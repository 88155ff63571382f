/* Whether a program can be called: what listens in the network namespace of this process. */
#ifndef LINK_READY_H
#define LINK_READY_H

#include <stdbool.h>
#include <stdio.h>

/* Is there a TCP socket that listens, or a UDP socket with a port? With `port` > 0 only that one
 * counts, with 0 any. */
bool ready_listens(unsigned port);

/* The same for one table of the kernel, as in /proc/net/tcp. */
bool ready_has_port(FILE *table, bool is_tcp, unsigned port);

#endif
