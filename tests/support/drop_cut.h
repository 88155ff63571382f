/* A path that carries no burst which the kernel is to cut (UDP_SEGMENT), and does not say so: over
 * loopback such a burst reaches the receiver's socket in one piece, and a filter there drops it. */
#ifndef ZCRP_TESTS_SUPPORT_DROP_CUT_H
#define ZCRP_TESTS_SUPPORT_DROP_CUT_H

#include <stdbool.h>
#include <stdint.h>

/* The socket drops whatever is longer than `bytes`, its UDP header included. False, with errno, if
 * the kernel does not allow it. */
bool drop_cut(int socket, uint32_t bytes);

#endif
