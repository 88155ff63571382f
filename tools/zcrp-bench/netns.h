/* Two network namespaces that a virtual ethernet pair joins: a network between two processes of one
 * machine, with an MTU that it is asked for.
 *
 *      netns_enter     this process gets a namespace of its own, the far one; then it listens there
 *      fork            the child stays in the far namespace
 *      netns_join      this process moves to another, the near one, and lays the link
 *
 *      near  zcrp0 198.18.0.1 ------ zcrp1 198.18.0.2  far
 *
 * Nothing has a name outside, and all of it is gone with the two processes, however they end. */
#ifndef BENCH_NETNS_H
#define BENCH_NETNS_H

#include <stdint.h>
#include <sys/types.h>

/* Where the far end listens: an address for connection_open. */
#define NETNS_FAR_HOST "198.18.0.2"

/* Each returns 0, or -1 with a complaint. */
int netns_enter(void);
int netns_join(pid_t child, uint64_t mtu);

#endif
