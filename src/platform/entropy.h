/* Random numbers that nobody else knows. */
#ifndef ZCRP_PLATFORM_ENTROPY_H
#define ZCRP_PLATFORM_ENTROPY_H

#include <stddef.h>

/* Fills `size` bytes, 256 at most (CHECKed), with the kernel's random numbers. Waits only where the
 * kernel has none yet, early while it starts. Cannot fail: a system without them is no system to
 * run on (CHECKed). */
void entropy_fill(void *out, size_t size);

#endif
