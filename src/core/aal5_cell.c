#include "aal5_cell.h"

#include "wire.h"

#include <string.h>

enum { HEC_POLYNOMIAL = 0x07, HEC_COSET = 0x55 };

static uint8_t hec(const uint8_t head[4])
{
    unsigned crc = 0;

    for (int i = 0; i < 4; i++) {
        crc ^= head[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc << 1 ^ (crc & 0x80 ? HEC_POLYNOMIAL : 0)) & 0xFF;
    }
    return (uint8_t)(crc ^ HEC_COSET);
}

void aal5_cell_encode(uint8_t out[AAL5_CELL_HEAD], const struct aal5_cell_head *head)
{
    wire_put_u32(out, (uint32_t)head->gfc << 28 | (uint32_t)head->vpi << 20 |
                          (uint32_t)head->vci << 4 | (uint32_t)head->pti << 1 |
                          (head->is_tagged ? 1U : 0U));
    out[4] = hec(out);
}

bool aal5_cell_decode(const uint8_t in[AAL5_CELL_HEAD], struct aal5_cell_head *head)
{
    uint32_t word = wire_get_u32(in);

    *head = (struct aal5_cell_head){
        .gfc = (uint8_t)(word >> 28),
        .vpi = (uint8_t)(word >> 20),
        .vci = (uint16_t)(word >> 4),
        .pti = (uint8_t)(word >> 1 & 7),
        .is_tagged = (word & 1) != 0,
    };
    return in[4] == hec(in);
}

void aal5_cell_cut(uint8_t *out, const uint8_t *pdu, uint32_t cells,
                   const struct aal5_cell_head *head)
{
    struct aal5_cell_head each = *head;

    for (uint32_t i = 0; i < cells; i++) {
        if (i == cells - 1)
            each.pti |= AAL5_PTI_LAST;
        aal5_cell_encode(out, &each);
        memcpy(out + AAL5_CELL_HEAD, pdu, AAL5_CELL);
        out += AAL5_CELL_WHOLE;
        pdu += AAL5_CELL;
    }
}
