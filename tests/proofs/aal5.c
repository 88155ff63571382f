/* What comes in packets of AAL5, from anybody: the reassembly (I1), heads, and a packet that is
 * taken for a whole PDU.
 *
 * bound: any pieces and heads; a packet of any size below 64 KiB, with any CRC
 * sources: core/wire/aal5.c
 * unwind: 10
 * stage: quick
 */
#include "proof.h"

#include "tests/support/wire_rules.h"

/* Any CRC: who sends the packet chooses it. */
static uint32_t any_crc(uint32_t crc, const uint8_t *bytes, size_t size)
{
    (void)crc;
    SHOW(__CPROVER_r_ok(bytes, size));
    return nondet_u32();
}

/* The reassembly is any that keeps I1. A channel keeps the piece at `offset` of AAL5_PDU_MOST
 * bytes. */
static void show_reassembly(void)
{
    struct aal5_reassembly r;
    struct aal5_head head = {.label = nondet_u32(),
                             .number = nondet_u16(),
                             .is_end = nondet_bool(),
                             .is_congested = nondet_bool(),
                             .is_tagged = nondet_bool()};
    uint32_t bytes = nondet_u32();
    instant now = (instant)(nondet_u64() >> 1);

    ASSUME(r.bytes % AAL5_CELL == 0 && r.bytes <= AAL5_PDU_MOST);
    ASSUME(r.latest >= 0); /* of a clock that began at 0 */
    const uint32_t before = r.bytes;
    struct aal5_step step = aal5_reassembly_take(&r, now, &head, bytes);
    aal5_reassembly_check(&r);
    if (step.is_taken) {
        SHOW(bytes > 0 && bytes % AAL5_CELL == 0);
        SHOW((uint64_t)step.offset + bytes <= AAL5_PDU_MOST);
        SHOW(step.offset == before || step.offset == 0);
    }
    SHOW(!step.is_whole || (step.is_taken && head.is_end && r.bytes == 0));
}

static void show_heads(void)
{
    uint8_t in[AAL5_HEAD], out[AAL5_HEAD];
    struct aal5_head head, same;

    if (aal5_head_decode(in, &head)) {
        struct aal5_circuit circuit = aal5_circuit(head.label);
        SHOW(circuit.vpi <= 255 && circuit.vci >= 32 && circuit.vci <= 4127);
        SHOW(aal5_label(circuit) == head.label);
        aal5_head_encode(out, &head);
        SHOW(aal5_head_decode(out, &same));
        SHOW(same.label == head.label && same.number == head.number);
        SHOW(same.is_end == head.is_end && same.is_congested == head.is_congested);
        SHOW(same.is_tagged == head.is_tagged);
    }
}

/* A tail is read as it was written. */
static void show_tail(void)
{
    uint8_t out[AAL5_TAIL_MOST];
    uint32_t payload = any_below(AAL5_PAYLOAD_MOST) + 1, found;
    uint32_t tail = aal5_tail_encode(out, payload, nondet_u32(), (struct aal5_user){0}, any_crc);

    SHOW(tail >= AAL5_TRAILER && tail <= sizeof out);
    SHOW((payload + tail) % AAL5_CELL == 0);
    SHOW(aal5_judge(out + tail - AAL5_TRAILER, payload + tail, CRC32_WHOLE, &found) == AAL5_OK);
    SHOW(found == payload);
}

int main(void)
{
    size_t size = nondet_size();
    struct aal5_packet packet;

    show_reassembly();
    show_heads();
    show_tail();
    ASSUME(size <= UINT16_MAX);
    const uint8_t *in = any_bytes(size);
    if (wire_rule_of_packet(in, size, any_crc, &packet))
        SHOW(packet.payload + packet.payload_bytes <= in + size);
    REACHED();
}
