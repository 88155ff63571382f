/* Where seeds come from. They keep old peers and new ones apart; they guard no secret. */
#ifndef ZCRP_PLATFORM_ENTROPY_H
#define ZCRP_PLATFORM_ENTROPY_H

#include <stdint.h>

/* 64 bits that another call, process or machine does not draw: the kernel's, or where it has none
 * to give (yet), a mixture of clocks, process and stack. Never blocks, cannot fail. */
uint64_t entropy_seed(void);

#endif
