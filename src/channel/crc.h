/* The fastest CRC-32 of AAL5 that the build has: ISA-L's where it was found, else the tables of
 * core/crc32.h. Either gives the same number; ISA-L costs about a hundredth. */
#ifndef ZCRP_CHANNEL_CRC_H
#define ZCRP_CHANNEL_CRC_H

#include "core/wire/crc32.h"

/* Never NULL. */
crc32_function crc_best(void);

#endif
