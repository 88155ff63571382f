/* Numbers on the wire: big-endian, of 16 to 64 bits, at any address. Compilers make one load or
 * store of the shifts. */
#ifndef ZCRP_CORE_WIRE_H
#define ZCRP_CORE_WIRE_H

#include <stdint.h>

/* The number at `b`, and a number to be there. */
static inline uint16_t wire_get_u16(const uint8_t b[2])
{
    return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t wire_get_u32(const uint8_t b[4])
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline uint64_t wire_get_u64(const uint8_t b[8])
{
    return (uint64_t)b[0] << 56 | (uint64_t)b[1] << 48 | (uint64_t)b[2] << 40 |
           (uint64_t)b[3] << 32 | (uint64_t)b[4] << 24 | (uint64_t)b[5] << 16 |
           (uint64_t)b[6] << 8 | b[7];
}

static inline void wire_put_u16(uint8_t b[2], uint16_t value)
{
    b[0] = (uint8_t)(value >> 8);
    b[1] = (uint8_t)value;
}

static inline void wire_put_u32(uint8_t b[4], uint32_t value)
{
    b[0] = (uint8_t)(value >> 24);
    b[1] = (uint8_t)(value >> 16);
    b[2] = (uint8_t)(value >> 8);
    b[3] = (uint8_t)value;
}

static inline void wire_put_u64(uint8_t b[8], uint64_t value)
{
    b[0] = (uint8_t)(value >> 56);
    b[1] = (uint8_t)(value >> 48);
    b[2] = (uint8_t)(value >> 40);
    b[3] = (uint8_t)(value >> 32);
    b[4] = (uint8_t)(value >> 24);
    b[5] = (uint8_t)(value >> 16);
    b[6] = (uint8_t)(value >> 8);
    b[7] = (uint8_t)value;
}

#endif
