#include "aal5_head.h"

#include "check.h"
#include "wire.h"

enum {
    VPI_MOST = 255,
    VCI_LEAST = 32,
    VCI_BITS = 12,
    LABEL_SHIFT = 12,
    BOTTOM = 1 << 8, /* S */
    TTL = 64,
    FRAMES = 0x80,
    END = 4,
    CONGESTED = 2,
    TAGGED = 1,
};

uint32_t aal5_label(struct aal5_circuit circuit)
{
    uint32_t vci = circuit.vci - VCI_LEAST;

    if (circuit.vpi > VPI_MOST || circuit.vci < VCI_LEAST || vci >> VCI_BITS != 0)
        return 0;
    uint32_t label = AAL5_LABEL_LEAST + (circuit.vpi << VCI_BITS | vci);
    return label <= AAL5_LABEL_MOST ? label : 0;
}

struct aal5_circuit aal5_circuit(uint32_t label)
{
    CHECK(label >= AAL5_LABEL_LEAST);
    CHECK(label <= AAL5_LABEL_MOST);
    uint32_t n = label - AAL5_LABEL_LEAST;
    return (struct aal5_circuit){.vpi = n >> VCI_BITS,
                                 .vci = VCI_LEAST + (n & ((1 << VCI_BITS) - 1))};
}

void aal5_head_encode(uint8_t out[AAL5_HEAD], const struct aal5_head *head)
{
    uint32_t flags = FRAMES | (head->is_end ? END : 0U) | (head->is_congested ? CONGESTED : 0U) |
                     (head->is_tagged ? TAGGED : 0U);

    wire_put_u32(out, head->label << LABEL_SHIFT | BOTTOM | TTL);
    wire_put_u32(out + 4, (uint32_t)head->number << 8 | flags);
}

bool aal5_head_decode(const uint8_t in[AAL5_HEAD], struct aal5_head *head)
{
    uint32_t entry = wire_get_u32(in);
    uint32_t word = wire_get_u32(in + 4);

    *head = (struct aal5_head){
        .label = entry >> LABEL_SHIFT,
        .number = (uint16_t)(word >> 8),
        .is_end = (word & END) != 0,
        .is_congested = (word & CONGESTED) != 0,
        .is_tagged = (word & TAGGED) != 0,
    };
    return (entry & BOTTOM) != 0 && head->label >= AAL5_LABEL_LEAST && word >> 28 == 0 &&
           (word & FRAMES) != 0;
}
