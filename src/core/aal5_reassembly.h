/* The reassembly of a circuit's PDUs from pieces: where each piece belongs, and what can never be
 * whole. It keeps no bytes; those are the channel's.
 *
 * A PDU larger than a packet is cut at cell boundaries into pieces with consecutive numbers, of
 * which only the last has U. After a gap nobody knows whether the next piece begins a PDU. It is
 * taken to; if it is not, the CRC says so in the end.
 *
 * I1  bytes is a multiple of AAL5_CELL, and at most AAL5_PDU_MOST. */
#ifndef ZCRP_CORE_AAL5_REASSEMBLY_H
#define ZCRP_CORE_AAL5_REASSEMBLY_H

#include "aal5.h"
#include "aal5_head.h"
#include "instant.h"

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
