/* Message numbers and sequence numbers are 64 bits wide inside and 32 on the wire. A wire number
 * is read against a number known to be near: peers never differ by 2^31 or more, because both the
 * message table and the units in transit are far smaller. */
#ifndef ZCRP_CORE_NUMBER_H
#define ZCRP_CORE_NUMBER_H

#include <stdint.h>

/* The 64-bit number nearest to `near` whose low 32 bits are `wire`. Below 2^31 there are no
 * negative numbers to be near to: the result is then simply the wire's. */
static inline uint64_t number_expand(uint32_t wire, uint64_t near)
{
    const uint64_t half = UINT64_C(1) << 31;
    uint64_t base = near < half ? 0 : near - half;
    return base + (uint32_t)(wire - (uint32_t)base);
}

/* The lesser and the greater of two numbers of any kind: sizes, rates, counts. */
static inline uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
