#include "aal5.h"

#include "core/check.h"
#include "wire.h"

#include <string.h>

enum { TRAILER_AT_CPI = 1, TRAILER_AT_LENGTH = 2, TRAILER_AT_CRC = 4 };

uint32_t aal5_tail_encode(uint8_t *out, uint32_t payload_bytes, uint32_t payload_crc,
                          struct aal5_user user, crc32_function add)
{
    CHECK(payload_bytes <= AAL5_PAYLOAD_MOST);
    uint32_t tail = aal5_pdu_bytes(payload_bytes) - payload_bytes;
    uint8_t *trailer = out + tail - AAL5_TRAILER;
    memset(out, 0, tail - AAL5_TRAILER);
    trailer[0] = user.uu;
    trailer[TRAILER_AT_CPI] = user.cpi;
    wire_put_u16(trailer + TRAILER_AT_LENGTH, (uint16_t)payload_bytes);
    wire_put_u32(trailer + TRAILER_AT_CRC, add(payload_crc, out, tail - TRAILER_AT_CRC));
    return tail;
}

enum aal5_verdict aal5_judge(const uint8_t trailer[AAL5_TRAILER], uint32_t pdu_bytes,
                             uint32_t pdu_crc, uint32_t *payload_bytes)
{
    *payload_bytes = wire_get_u16(trailer + TRAILER_AT_LENGTH);
    if (*payload_bytes == 0)
        return AAL5_ABORTED;
    if (pdu_crc != CRC32_WHOLE)
        return AAL5_DAMAGED;
    return aal5_pdu_bytes(*payload_bytes) == pdu_bytes ? AAL5_OK : AAL5_LENGTH;
}

/* ---- aal5 head ---- */

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

/* ---- aal5 packet ---- */

uint32_t aal5_packet_encode(uint8_t *out, const struct aal5_packet *packet, crc32_function add)
{
    const struct aal5_head head = {.label = packet->label, .is_end = true};
    uint32_t bytes = packet->payload_bytes;
    uint8_t *pdu = out + AAL5_HEAD;

    aal5_head_encode(out, &head);
    memcpy(pdu, packet->payload, bytes);
    return AAL5_HEAD + bytes +
           aal5_tail_encode(pdu + bytes, bytes, add(0, pdu, bytes), (struct aal5_user){0}, add);
}

bool aal5_packet_decode(const uint8_t *in, size_t size, crc32_function add,
                        struct aal5_packet *packet)
{
    const uint8_t *pdu = in + AAL5_HEAD;
    struct aal5_head head;

    if (size <= AAL5_HEAD || size > AAL5_HEAD + AAL5_PDU_MOST || (size - AAL5_HEAD) % AAL5_CELL)
        return false;
    if (!aal5_head_decode(in, &head) || !head.is_end)
        return false;
    uint32_t bytes = (uint32_t)(size - AAL5_HEAD);
    packet->label = head.label;
    packet->payload = pdu;
    return aal5_judge(pdu + bytes - AAL5_TRAILER, bytes, add(0, pdu, bytes),
                      &packet->payload_bytes) == AAL5_OK;
}

/* ---- aal5 reassembly ---- */

void aal5_reassembly_init(struct aal5_reassembly *r)
{
    *r = (struct aal5_reassembly){.bytes = 0};
}

/* Forgets the PDU under way if the piece cannot be its next. */
static void look_back(struct aal5_reassembly *r, instant now, const struct aal5_head *head)
{
    bool is_next = head->number == 0 || r->expected == 0 || head->number == r->expected;
    bool is_late = now - r->latest > AAL5_PATIENCE;

    if (is_next && !is_late)
        return;
    if (r->bytes > 0 && is_next)
        r->stalled++;
    else if (r->bytes > 0)
        r->gaps++;
    r->bytes = 0;
    r->is_skipping = false;
}

/* The PDU under way will never be whole. */
static void give_up(struct aal5_reassembly *r, uint64_t *counter)
{
    (*counter)++;
    r->bytes = 0;
    r->is_skipping = true;
}

static struct aal5_step place(struct aal5_reassembly *r, uint32_t bytes)
{
    if (bytes == 0 || bytes % AAL5_CELL != 0)
        give_up(r, &r->odd);
    else if (!r->is_skipping && bytes > AAL5_PDU_MOST - r->bytes)
        give_up(r, &r->overlong);
    if (r->is_skipping)
        return (struct aal5_step){.is_taken = false};
    struct aal5_step step = {.offset = r->bytes, .is_taken = true};
    r->bytes += bytes;
    return step;
}

struct aal5_step aal5_reassembly_take(struct aal5_reassembly *r, instant now,
                                      const struct aal5_head *head, uint32_t bytes)
{
    look_back(r, now, head);
    r->expected = head->number == 0 ? 0 : aal5_next_number(head->number);
    r->latest = now;
    struct aal5_step step = place(r, bytes);
    if (!head->is_end)
        return step;
    step.is_whole = step.is_taken;
    r->bytes = 0;
    r->is_skipping = false;
    return step;
}

void aal5_reassembly_check(const struct aal5_reassembly *r)
{
    CHECK(r->bytes % AAL5_CELL == 0);
    CHECK(r->bytes <= AAL5_PDU_MOST);
}
