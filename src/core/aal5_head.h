/* What goes before each piece of a PDU in a packet: one MPLS label, which names the circuit
 * (RFC 3032), and the control word of a pseudowire in AAL5 PDU frame mode (RFC 4717).
 *
 *     0  label 20 | TC 3 | S 1 | TTL 8              S: the only label; TTL 64
 *     4  0 4 | reserved 4 | number 16 | M V r r r U E C
 *     8  k x 48 bytes of the PDU
 *
 * Numbers count the pieces of a circuit in one direction, from 1; 0 is left out, and stands for a
 * piece that is not numbered. M: frames, not cells. U: the PDU's last cell is in. E: congestion
 * experienced. C: cells that may go first when some have to (CLP).
 *
 * A circuit is named by VPI and VCI. Labels below 16 and VCIs below 32 are reserved, and there are
 * 2^20 labels, so a label is 16 + VPI x 4096 + VCI - 32, and a circuit's VCI is below 4128. */
#ifndef ZCRP_CORE_AAL5_HEAD_H
#define ZCRP_CORE_AAL5_HEAD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    AAL5_HEAD = 8,         /* bytes */
    AAL5_PROTOCOL = 137,   /* MPLS in IP (RFC 4023) */
    AAL5_UDP_PORT = 6635,  /* MPLS in UDP (RFC 7510) */
    AAL5_LABEL_LEAST = 16, /* of the labels that are not reserved */
    AAL5_LABEL_MOST = (1 << 20) - 1,
};

struct aal5_head {
    uint32_t label;    /* AAL5_LABEL_LEAST .. AAL5_LABEL_MOST */
    uint16_t number;   /* of the piece; 0: none */
    bool is_end;       /* U */
    bool is_congested; /* E */
    bool is_tagged;    /* C */
};

struct aal5_circuit {
    uint32_t vpi; /* 0 .. 255 */
    uint32_t vci; /* 32 .. 4127; for VPI 255 up to 4111 */
};

/* The circuit's label; 0 if there is none for it. */
uint32_t aal5_label(struct aal5_circuit circuit);

/* The circuit of a label that is not reserved (CHECKed). */
struct aal5_circuit aal5_circuit(uint32_t label);

/* Cannot fail. */
void aal5_head_encode(uint8_t out[AAL5_HEAD], const struct aal5_head *head);

/* False if it is another packet: more than one label, a reserved one, no control word, or cells.
 * What it does not understand beside that it passes over (TC, TTL, V, reserved bits). */
bool aal5_head_decode(const uint8_t in[AAL5_HEAD], struct aal5_head *head);

/* The number after this one. */
static inline uint16_t aal5_next_number(uint16_t number)
{
    return number == UINT16_MAX ? 1 : (uint16_t)(number + 1);
}

#endif
