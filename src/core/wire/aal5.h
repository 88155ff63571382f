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

#include "core/instant.h"
#include "crc32.h"

#include <stdbool.h>
#include <stddef.h>
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
    AAL5_LENGTH,  /* the length does not fit the number of cells */
};

/* Cells of a PDU with this payload in bytes. */
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

/* ---- aal5 head ---- */

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

/* ---- aal5 packet ---- */

/* A PDU that one packet carries whole. A hello and the answer to it do, so whoever waits for hellos
 * needs no reassembly, and keeps nothing of a stranger's between two packets. */

struct aal5_packet {
    uint32_t label; /* AAL5_LABEL_LEAST .. AAL5_LABEL_MOST */
    const uint8_t *payload;
    uint32_t payload_bytes; /* 1 .. AAL5_PAYLOAD_MOST */
};

/* Writes the packet, whose piece has no number, to `out`, which has room for it; returns its bytes.
 * Cannot fail. */
uint32_t aal5_packet_encode(uint8_t *out, const struct aal5_packet *packet, crc32_function add);

/* False unless the `size` bytes are a head and one whole PDU that is good. The payload lies in them
 * then. O(size). */
bool aal5_packet_decode(const uint8_t *in, size_t size, crc32_function add,
                        struct aal5_packet *packet);

/* ---- aal5 reassembly ---- */

/* The reassembly of a circuit's PDUs from pieces: where each piece belongs, and what can never be
 * whole. It keeps no bytes; those are the channel's.
 *
 * A PDU larger than a packet is cut at cell boundaries into pieces with consecutive numbers, of
 * which only the last has U. After a gap nobody knows whether the next piece begins a PDU. It is
 * taken to; if it is not, the CRC says so in the end.
 *
 * I1  bytes is a multiple of AAL5_CELL, and at most AAL5_PDU_MOST. */

#define AAL5_PATIENCE SECOND /* the next piece of a PDU comes within that, or never */

struct aal5_reassembly {
    uint32_t bytes;    /* of the PDU under way so far; 0: the next piece begins one */
    uint16_t expected; /* number of the next piece; 0: any */
    bool is_skipping;  /* the PDU is given up: pieces are dropped to its end */
    instant latest;    /* when the last piece came */

    /* PDUs given up, since init. */
    uint64_t gaps;     /* a piece is missing */
    uint64_t overlong; /* more than AAL5_CELLS_MOST cells */
    uint64_t stalled;  /* nothing came for AAL5_PATIENCE */
    uint64_t odd;      /* pieces that are no whole cells */
};

/* What became of a piece. */
struct aal5_step {
    uint32_t offset; /* of the piece in its PDU; 0 also says that what came before is given up */
    bool is_taken;   /* else the piece is to be dropped, and what came before it, too */
    bool is_whole;   /* it was the last piece */
};

/* Nothing under way, nothing counted. Cannot fail. */
void aal5_reassembly_init(struct aal5_reassembly *r);

/* Takes the next piece that arrived, of `bytes` bytes. Cannot fail. */
struct aal5_step aal5_reassembly_take(struct aal5_reassembly *r, instant now,
                                      const struct aal5_head *head, uint32_t bytes);

/* CHECKs I1. */
void aal5_reassembly_check(const struct aal5_reassembly *r);

#endif
