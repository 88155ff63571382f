/* The fastest CRC-32 of AAL5 in this build: ISA-L's if the build found it, else the tables of
 * core/wire/crc32.h. Both give the same number; ISA-L costs about a hundredth. */
#ifndef ZCRP_TRANSPORT_CRC_H
#define ZCRP_TRANSPORT_CRC_H

#include "core/wire/crc32.h"

/* Never NULL. */
crc32_function crc_best(void);

#endif
