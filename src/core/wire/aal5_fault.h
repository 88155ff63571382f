/* What an ATM network does to the cells of a PDU, from a seed: for tests, and for those who want to
 * see what their program does then.
 *
 *     cells lost            each by its own chance; tagged cells (CLP) by a greater one
 *     partial discard       behind the first lost cell all go but the last, which ends the PDU
 *     early discard         a PDU that would lose a cell goes as a whole
 *     swapped               a cell changes places with the one behind it
 *     merged                the last cell is lost, so that the next PDU is taken for the rest
 *     congestion            the PDU is marked, and nothing else */
#ifndef ZCRP_CORE_AAL5_FAULT_H
#define ZCRP_CORE_AAL5_FAULT_H

#include "aal5.h"

#include <stdbool.h>
#include <stdint.h>

enum aal5_discard {
    AAL5_DISCARD_CELLS = 0,   /* only what is lost */
    AAL5_DISCARD_PARTIAL = 1, /* the rest of its PDU, too */
    AAL5_DISCARD_EARLY = 2,   /* the whole PDU */
};

enum { AAL5_CERTAIN = 1000000 };

/* Chances are in a million, at most AAL5_CERTAIN. All zero: no faults. */
struct aal5_faults {
    uint32_t loss;        /* of each cell */
    uint32_t tagged;      /* of each PDU to be sent as one whose cells may go first */
    uint32_t tagged_loss; /* of each cell of such a PDU, beside `loss` */
    uint32_t swapped;     /* of each cell */
    uint32_t merged;      /* of each PDU */
    uint32_t congested;   /* of each PDU */
    enum aal5_discard discard;
    uint64_t seed;
};

struct aal5_network {
    struct aal5_faults faults;
    uint64_t random;
    uint64_t cells_lost; /* so far, for whatever reason */
    uint64_t cells_swapped;
    uint64_t pdus_hit; /* that lost or swapped a cell */
};

/* What is left of a PDU. */
struct aal5_fate {
    uint32_t cells;    /* 0: nothing */
    bool has_end;      /* its last cell is there, and ends it */
    bool is_congested; /* to be marked so */
    bool is_tagged;
};

/* Are all chances 0? */
bool aal5_fault_is_none(const struct aal5_faults *faults);

/* Is no chance above AAL5_CERTAIN, and the discard one of those above? */
bool aal5_fault_is_sane(const struct aal5_faults *faults);

/* A network with these faults, which are sane. Cannot fail. */
void aal5_fault_init(struct aal5_network *n, const struct aal5_faults *faults);

/* Lets the `cells` cells of a PDU pass; those that are left are moved together. Cannot fail. */
struct aal5_fate aal5_fault_pass(struct aal5_network *n, uint8_t *pdu, uint32_t cells);

#endif
