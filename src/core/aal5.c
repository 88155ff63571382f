#include "aal5.h"

#include "check.h"
#include "wire.h"

#include <string.h>

enum { AT_CPI = 1, AT_LENGTH = 2, AT_CRC = 4 };

uint32_t aal5_tail_encode(uint8_t *out, uint32_t payload_bytes, uint32_t payload_crc,
                          struct aal5_user user, crc32_function add)
{
    CHECK(payload_bytes <= AAL5_PAYLOAD_MOST);
    uint32_t tail = aal5_pdu_bytes(payload_bytes) - payload_bytes;
    uint8_t *trailer = out + tail - AAL5_TRAILER;
    memset(out, 0, tail - AAL5_TRAILER);
    trailer[0] = user.uu;
    trailer[AT_CPI] = user.cpi;
    wire_put_u16(trailer + AT_LENGTH, (uint16_t)payload_bytes);
    wire_put_u32(trailer + AT_CRC, add(payload_crc, out, tail - AT_CRC));
    return tail;
}

enum aal5_verdict aal5_judge(const uint8_t trailer[AAL5_TRAILER], uint32_t pdu_bytes,
                             uint32_t pdu_crc, uint32_t *payload_bytes)
{
    *payload_bytes = wire_get_u16(trailer + AT_LENGTH);
    if (*payload_bytes == 0)
        return AAL5_ABORTED;
    if (pdu_crc != CRC32_WHOLE)
        return AAL5_DAMAGED;
    return aal5_pdu_bytes(*payload_bytes) == pdu_bytes ? AAL5_OK : AAL5_LENGTH;
}
