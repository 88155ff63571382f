/* The CPCS-PDU of AAL5 (ITU-T I.363.5): what carries one unit, in cells of 48 bytes.
 *
 *     payload 1..65535 | PAD 0..47, zero | UU 1 | CPI 1 | length 2 | CRC 4
 *     |<---------------------- a multiple of 48 bytes ------------------->|
 *
 * All numbers are big-endian. The length is the payload's; 0 says that the PDU was given up on its
 * way (abort). The CRC is over everything before it (crc32.h). What follows the payload is the
 * tail: PAD and trailer. docs/aal5.md has vectors. */
#ifndef ZCRP_CORE_AAL5_H
#define ZCRP_CORE_AAL5_H

#include "crc32.h"

#include <stdint.h>

enum {
    AAL5_CELL = 48, /* bytes of a PDU in one cell */
    AAL5_TRAILER = 8,
    AAL5_TAIL_MOST = AAL5_CELL - 1 + AAL5_TRAILER,
    AAL5_PAYLOAD_MOST = 65535,
    AAL5_CELLS_MOST = 1366,
    AAL5_PDU_MOST = AAL5_CELLS_MOST * AAL5_CELL,
};

/* The first that holds is the verdict. */
enum aal5_verdict {
    AAL5_OK,
    AAL5_ABORTED, /* length 0 */
    AAL5_DAMAGED, /* the CRC says so */
    AAL5_LENGTH,  /* the length is not one for so many cells */
};

/* Cells of a PDU with so much payload. */
static inline uint32_t aal5_cells(uint32_t payload_bytes)
{
    return (payload_bytes + AAL5_TRAILER + AAL5_CELL - 1) / AAL5_CELL;
}

static inline uint32_t aal5_pdu_bytes(uint32_t payload_bytes)
{
    return aal5_cells(payload_bytes) * AAL5_CELL;
}

/* What an encoder has a choice of; ZCRP writes 0 for both. */
struct aal5_user {
    uint8_t uu;  /* user to user */
    uint8_t cpi; /* common part indicator; 0 is the only value that means anything */
};

/* Writes the tail of a payload of this size (at most AAL5_PAYLOAD_MOST) with this CRC to `out`,
 * which has room for it, AAL5_TAIL_MOST bytes being enough for any; returns the tail's bytes.
 * Cannot fail. */
uint32_t aal5_tail_encode(uint8_t *out, uint32_t payload_bytes, uint32_t payload_crc,
                          struct aal5_user user, crc32_function add);

/* Judges a PDU of `pdu_bytes` bytes by its last 8 and the CRC of all of them. On OK
 * `*payload_bytes` is set, else it means nothing. */
enum aal5_verdict aal5_judge(const uint8_t trailer[AAL5_TRAILER], uint32_t pdu_bytes,
                             uint32_t pdu_crc, uint32_t *payload_bytes);

#endif
