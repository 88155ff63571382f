/* Numbers on the wire: got and put again, and taken for 64-bit numbers near another. And packets of
 * AAL5, as a listener gets them from anybody: what is taken lies within, and is taken again. */
#include "script.h"

#include "../support/wire_rules.h"

enum { PACKET_MOST = 2048 };

static void unpack(const uint8_t *in, size_t size)
{
    uint8_t again[PACKET_MOST];
    struct aal5_packet found, second;

    if (!wire_rule_of_packet(in, size, crc32_add, &found))
        return;
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
    uint32_t wire = (uint32_t)script_number(&s, 4);
    wire_rule_of_expand(wire, script_number(&s, 8) >> 1);
    if (size >= 8)
        wire_rule_of_copies(in);
    unpack_both(in, size);
    return 0;
}
