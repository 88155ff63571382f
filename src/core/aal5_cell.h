/* Real cells of ATM (ITU-T I.361), of 53 bytes: for files, and for those who want to see them. The
 * channel itself carries no cells; between machines without ATM their heads would say nothing.
 *
 *     GFC 4 | VPI 8 | VCI 16 | PTI 3 | CLP 1 | HEC 8 | 48 bytes of a PDU
 *
 * PTI bit 0 marks the last cell of a PDU, bit 1 congestion experienced. HEC is the CRC-8
 * x^8 + x^2 + x + 1 of the four bytes before it, xor 55h (ITU-T I.432.1). It could correct a
 * flipped bit; this one only detects. */
#ifndef ZCRP_CORE_AAL5_CELL_H
#define ZCRP_CORE_AAL5_CELL_H

#include "aal5.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    AAL5_CELL_HEAD = 5,
    AAL5_CELL_WHOLE = AAL5_CELL_HEAD + AAL5_CELL,
    AAL5_PTI_LAST = 1,
    AAL5_PTI_CONGESTED = 2,
};

struct aal5_cell_head {
    uint8_t gfc; /* 0 .. 15 */
    uint8_t vpi;
    uint16_t vci;
    uint8_t pti; /* 0 .. 7 */
    bool is_tagged;
};

/* Writes the cell's head. Cannot fail. */
void aal5_cell_encode(uint8_t out[AAL5_CELL_HEAD], const struct aal5_cell_head *head);

/* False if the HEC does not fit; then `*head` means nothing. */
bool aal5_cell_decode(const uint8_t in[AAL5_CELL_HEAD], struct aal5_cell_head *head);

/* Cuts a PDU of `cells` cells into cells with this head, the last of them marked as that. `out` has
 * room for `cells` x AAL5_CELL_WHOLE. Cannot fail. */
void aal5_cell_cut(uint8_t *out, const uint8_t *pdu, uint32_t cells,
                   const struct aal5_cell_head *head);

#endif
