/* Numbers on the wire: got and put again, and taken for 64-bit numbers near another. And packets of
 * AAL5, as a listener gets them from anybody: what is taken lies within, and is taken again. */
#include "script.h"

#include "core/check.h"
#include "core/number.h"
#include "core/wire/aal5.h"
#include "core/wire/wire.h"

#include <string.h>

static void expand(struct script *s)
{
    const uint64_t half = UINT64_C(1) << 31;
    uint32_t wire = (uint32_t)script_number(s, 4);
    uint64_t near = script_number(s, 8) >> 1;
    uint64_t number = number_expand(wire, near);
    CHECK((uint32_t)number == wire);
    if (near < half)
        CHECK(number == wire);
    else
        CHECK(number - near + half < 2 * half);
}

static void copy(const uint8_t *in, size_t size)
{
    uint8_t out[8];
    if (size < sizeof out)
        return;
    wire_put_u64(out, wire_get_u64(in));
    CHECK(memcmp(out, in, 8) == 0);
    wire_put_u32(out, wire_get_u32(in + 1));
    CHECK(memcmp(out, in + 1, 4) == 0);
    wire_put_u16(out, wire_get_u16(in + 3));
    CHECK(memcmp(out, in + 3, 2) == 0);
}

enum { PACKET_MOST = 2048 };

static void unpack(const uint8_t *in, size_t size)
{
    uint8_t again[PACKET_MOST];
    struct aal5_packet found, second;

    if (!aal5_packet_decode(in, size, crc32_add, &found))
        return;
    CHECK(found.payload == in + AAL5_HEAD);
    CHECK(found.payload_bytes > 0);
    CHECK(AAL5_HEAD + aal5_pdu_bytes(found.payload_bytes) == size);
    uint32_t bytes = aal5_packet_encode(again, &found, crc32_add);
    CHECK(bytes == size);
    CHECK(aal5_packet_decode(again, bytes, crc32_add, &second));
    CHECK(second.label == found.label);
    CHECK(second.payload_bytes == found.payload_bytes);
    CHECK(memcmp(second.payload, found.payload, found.payload_bytes) == 0);
}

/* As it is, and with a CRC that is right, which no chance would bring. */
static void unpack_both(const uint8_t *in, size_t size)
{
    uint8_t packet[PACKET_MOST];

    if (size > sizeof packet)
        return;
    unpack(in, size);
    if (size < AAL5_HEAD + AAL5_TRAILER)
        return;
    memcpy(packet, in, size);
    wire_put_u32(packet + size - 4, crc32_add(0, packet + AAL5_HEAD, size - AAL5_HEAD - 4));
    unpack(packet, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    struct script s = script_of(in, size);
    expand(&s);
    copy(in, size);
    unpack_both(in, size);
    return 0;
}
