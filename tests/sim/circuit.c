#include "circuit.h"

#include <stdlib.h>
#include <string.h>

struct circuit *circuit_create(const struct aal5_faults *faults)
{
    struct circuit *c = calloc(1, sizeof(*c));
    aal5_fault_init(&c->network, faults);
    return c;
}

/* Are the cells that came a PDU with these bytes? */
static bool is_good(struct circuit *c, const uint8_t *bytes, uint32_t size)
{
    uint32_t length = c->cells * AAL5_CELL;
    uint32_t payload;
    if (length == 0 || c->cells > AAL5_CELLS_MOST)
        return false;
    uint32_t crc = crc32_add(0, c->pdu, length);
    if (aal5_judge(c->pdu + length - AAL5_TRAILER, length, crc, &payload) != AAL5_OK)
        return false;
    if (payload == size && memcmp(c->pdu, bytes, size) == 0)
        return true;
    c->has_passed_others = true;
    return false;
}

bool circuit_pass(struct circuit *c, const uint8_t *bytes, uint32_t size, bool *is_marked)
{
    uint8_t *pdu = c->pdu + c->cells * AAL5_CELL;
    memcpy(pdu, bytes, size);
    aal5_tail_encode(pdu + size, size, crc32_add(0, bytes, size), (struct aal5_user){0}, crc32_add);
    struct aal5_fate fate = aal5_fault_pass(&c->network, pdu, aal5_cells(size));
    c->cells += fate.cells;
    c->is_marked |= fate.is_congested;
    if (!fate.has_end && c->cells <= AAL5_CELLS_MOST)
        return false;
    bool has_passed = fate.has_end && is_good(c, bytes, size);
    *is_marked = c->is_marked;
    c->is_marked = false;
    c->cells = 0;
    return has_passed;
}
