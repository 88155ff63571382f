/* Loss by the receiving socket: the kernel throws packets away before they enter it, so that a loss
 * costs nothing but itself. A burst that the kernel keeps together as one packet, cut or gathered
 * with an offload, is lost as one.
 *
 * Without a seed which ones is the kernel's chance, and no rights are needed. With one the n-th
 * packet that comes to a socket is always lost, or never; that takes CAP_BPF. */
#ifndef BENCH_LOSS_H
#define BENCH_LOSS_H

#include <stdint.h>

enum { LOSS_WHOLE = 1000000 };

/* From now on `fd`, a socket, loses so many of LOSS_WHOLE packets that come; seed 0: by chance. 0,
 * or -1 with a complaint. */
int loss_begin(int fd, uint64_t parts, uint64_t seed);

#endif
