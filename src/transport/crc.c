#include "crc.h"

#ifdef ZCRP_ISAL

#include <isa-l/crc.h>

static uint32_t add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return crc32_ieee(crc, bytes, size);
}

crc32_function crc_best(void)
{
    return add;
}

#else

crc32_function crc_best(void)
{
    return crc32_add;
}

#endif
