/* Loss at the receiving socket. The kernel drops packets before they enter the socket, so a loss
 * costs nothing but itself. It picks them at random, and no rights are needed. A burst that the
 * kernel keeps as one packet (cut or gathered by an offload) is lost as one. For losses that can be
 * repeated from a seed, use zcrp-link. */
#ifndef BENCH_LOSS_H
#define BENCH_LOSS_H

#include <stdint.h>

enum { LOSS_WHOLE = 1000000 };

/* From now on the socket `fd` loses `parts` of LOSS_WHOLE packets that arrive. 0, or -1 with a
 * complaint. */
int loss_begin(int fd, uint64_t parts);

#endif
