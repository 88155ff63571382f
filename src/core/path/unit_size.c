#include "unit_size.h"
#include "core/number.h"

#include "core/check.h"
#include "core/wire/datagram.h"

static uint32_t size_after(uint32_t most, uint32_t halvings)
{
    return (most >> halvings) / GRAIN * GRAIN;
}

static void set_size(struct unit_size *u, uint32_t halvings)
{
    u->halvings = halvings;
    u->data = size_after(u->most, halvings);
    u->excess = 0;
    u->calm = 0;
}

void unit_size_init(struct unit_size *u, uint32_t most, bool is_cut)
{
    CHECK(most > 0 && most % GRAIN == 0);
    *u = (struct unit_size){.most = most, .patience = UNIT_SIZE_PATIENCE, .is_cut = is_cut};
    set_size(u, 0);
}

void unit_size_limit(struct unit_size *u, uint32_t most)
{
    CHECK(most > 0 && most % GRAIN == 0);
    uint32_t halvings = u->halvings;
    u->most = most;
    while (halvings > 0 && size_after(most, halvings) < UNIT_SIZE_LEAST)
        halvings--;
    set_size(u, halvings);
}

static bool is_counted(const struct unit_size *u, uint32_t data)
{
    return u->is_cut && data > u->data / 2;
}

void unit_size_on_arrived(struct unit_size *u, uint32_t data, uint32_t units)
{
    if (!is_counted(u, data))
        return;
    u->excess -= (uint32_t)lesser(u->excess, units);
    u->calm += (uint32_t)lesser(units, UNIT_SIZE_PATIENCE_MOST);
    if (u->calm < u->patience)
        return;
    if (u->halvings > 0)
        set_size(u, u->halvings - 1);
    else
        u->patience = UNIT_SIZE_PATIENCE;
    u->calm = 0;
}

static void note_lost(struct unit_size *u, uint32_t data, uint32_t weight)
{
    if (!is_counted(u, data))
        return;
    u->excess += weight;
    u->calm -= (uint32_t)lesser(u->calm, weight * UNIT_SIZE_RARE);
    if (u->excess < UNIT_SIZE_EXCESS)
        return;
    u->excess = UNIT_SIZE_EXCESS;
    if (size_after(u->most, u->halvings + 1) < UNIT_SIZE_LEAST)
        return;
    set_size(u, u->halvings + 1);
    u->patience = (uint32_t)lesser(2 * u->patience, UNIT_SIZE_PATIENCE_MOST);
}

void unit_size_on_lost(struct unit_size *u, uint32_t data)
{
    note_lost(u, data, 1);
}

void unit_size_on_silence(struct unit_size *u, uint32_t data)
{
    note_lost(u, data, UNIT_SIZE_SILENT);
}

void unit_size_check(const struct unit_size *u)
{
    CHECK(u->most > 0 && u->most % GRAIN == 0);
    CHECK(u->data > 0 && u->data % GRAIN == 0);
    CHECK(u->data <= u->most);
    CHECK(u->data == u->most || u->data >= UNIT_SIZE_LEAST);
    CHECK(u->calm < u->patience);
}
