/* Loss by the receiving socket: the kernel throws packets away at random before they enter it, so
 * that a loss costs nothing but itself. No rights are needed. A burst that the kernel keeps
 * together as one packet, cut or gathered with an offload, is lost as one. */
#ifndef BENCH_LOSS_H
#define BENCH_LOSS_H

#include <stdint.h>

enum { LOSS_WHOLE = 1000000 };

/* From now on `fd`, a socket, loses so many of LOSS_WHOLE packets that come. 0, or -1 with a
 * complaint. */
int loss_begin(int fd, uint64_t parts);

#endif
