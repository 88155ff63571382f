/* What must hold of any numbers on the wire, and of any bytes that are offered as a packet of
 * AAL5. The fuzzer tries them, and a proof shows them. */
#ifndef ZCRP_TESTS_SUPPORT_WIRE_RULES_H
#define ZCRP_TESTS_SUPPORT_WIRE_RULES_H

#include "core/check.h"
#include "core/number.h"
#include "core/wire/aal5.h"
#include "core/wire/wire.h"

#include <string.h>

/* `near` is below 2^63, as all numbers are. */
static inline void wire_rule_of_expand(uint32_t wire, uint64_t near)
{
    const uint64_t half = UINT64_C(1) << 31;
    uint64_t number = number_expand(wire, near);
    CHECK((uint32_t)number == wire);
    if (near < half)
        CHECK(number == wire);
    else
        CHECK(number - near + half < 2 * half);
}

/* Numbers at any address are put as they were got. */
static inline void wire_rule_of_copies(const uint8_t in[8])
{
    uint8_t out[8];
    wire_put_u64(out, wire_get_u64(in));
    CHECK(memcmp(out, in, 8) == 0);
    wire_put_u32(out, wire_get_u32(in + 1));
    CHECK(memcmp(out, in + 1, 4) == 0);
    wire_put_u16(out, wire_get_u16(in + 3));
    CHECK(memcmp(out, in + 3, 2) == 0);
}

/* What is taken for a packet lies within. False if it is not taken. */
static inline bool wire_rule_of_packet(const uint8_t *in, size_t size, crc32_function add,
                                       struct aal5_packet *found)
{
    if (!aal5_packet_decode(in, size, add, found))
        return false;
    CHECK(found->payload == in + AAL5_HEAD);
    CHECK(found->payload_bytes > 0);
    CHECK(AAL5_HEAD + aal5_pdu_bytes(found->payload_bytes) == size);
    return true;
}

#endif
