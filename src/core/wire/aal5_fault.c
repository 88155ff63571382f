#include "aal5_fault.h"

#include "core/adt/random.h"
#include "core/check.h"

#include <string.h>

/* A PDU on its way. */
struct passage {
    uint8_t *pdu;
    uint32_t cells; /* it had */
    uint32_t left;  /* of them that are through, moved together */
    uint32_t lost;
    uint32_t chance; /* of each cell to be lost */
};

bool aal5_fault_is_none(const struct aal5_faults *faults)
{
    return faults->loss == 0 && faults->tagged == 0 && faults->swapped == 0 &&
           faults->merged == 0 && faults->congested == 0;
}

bool aal5_fault_is_sane(const struct aal5_faults *faults)
{
    const uint32_t chances[] = {faults->loss,    faults->tagged, faults->tagged_loss,
                                faults->swapped, faults->merged, faults->congested};

    for (unsigned i = 0; i < sizeof(chances) / sizeof(chances[0]); i++)
        if (chances[i] > AAL5_CERTAIN)
            return false;
    return faults->discard >= AAL5_DISCARD_CELLS && faults->discard <= AAL5_DISCARD_EARLY;
}

void aal5_fault_init(struct aal5_network *n, const struct aal5_faults *faults)
{
    CHECK(aal5_fault_is_sane(faults));
    *n = (struct aal5_network){.faults = *faults, .random = faults->seed};
}

static bool happens(struct aal5_network *n, uint32_t chance)
{
    return chance > 0 && random_next(&n->random) % AAL5_CERTAIN < chance;
}

/* Passes cell i, or loses it. The last one survives a partial discard. */
static void pass_cell(struct aal5_network *n, struct passage *p, uint32_t i)
{
    bool is_last = i == p->cells - 1;
    bool is_discarded = n->faults.discard == AAL5_DISCARD_PARTIAL && p->lost > 0 && !is_last;

    if (is_discarded || happens(n, p->chance)) {
        p->lost++;
        return;
    }
    memmove(p->pdu + p->left * AAL5_CELL, p->pdu + i * AAL5_CELL, AAL5_CELL);
    p->left++;
}

static void swap_cells(uint8_t *a, uint8_t *b)
{
    uint8_t kept[AAL5_CELL];

    memcpy(kept, a, AAL5_CELL);
    memcpy(a, b, AAL5_CELL);
    memcpy(b, kept, AAL5_CELL);
}

/* The last cell keeps its place, because it ends the PDU wherever it is. */
static uint32_t swap_some(struct aal5_network *n, const struct passage *p)
{
    uint32_t swapped = 0;

    for (uint32_t i = 0; i + 2 < p->left; i++) {
        if (!happens(n, n->faults.swapped))
            continue;
        swap_cells(p->pdu + i * AAL5_CELL, p->pdu + (i + 1) * AAL5_CELL);
        swapped++;
    }
    return swapped;
}

/* Passes all cells; whether the last one is through. */
static bool pass_cells(struct aal5_network *n, struct passage *p)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < p->cells; i++) {
        left = p->left;
        pass_cell(n, p, i);
    }
    bool has_end = p->left > left;
    if (has_end && happens(n, n->faults.merged)) {
        p->left--;
        p->lost++;
        has_end = false;
    }
    return has_end;
}

struct aal5_fate aal5_fault_pass(struct aal5_network *n, uint8_t *pdu, uint32_t cells)
{
    bool is_tagged = happens(n, n->faults.tagged);
    bool is_congested = happens(n, n->faults.congested);
    struct passage p = {.pdu = pdu,
                        .cells = cells,
                        .chance = n->faults.loss + (is_tagged ? n->faults.tagged_loss : 0)};
    bool has_end = pass_cells(n, &p);
    if (p.lost > 0 && n->faults.discard == AAL5_DISCARD_EARLY) {
        p.lost = cells;
        p.left = 0;
        has_end = false;
    }
    uint32_t swapped = swap_some(n, &p);
    n->cells_lost += p.lost;
    n->cells_swapped += swapped;
    n->pdus_hit += p.lost + swapped > 0 ? 1 : 0;
    return (struct aal5_fate){
        .cells = p.left, .has_end = has_end, .is_congested = is_congested, .is_tagged = is_tagged};
}
