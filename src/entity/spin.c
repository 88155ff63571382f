#include "spin.h"

#include "core/check.h"

void spin_init(struct spin *spin, duration most)
{
    *spin = (struct spin){.most = most, .credit = SPIN_CREDIT, .spins = true};
}

duration spin_limit(const struct spin *spin)
{
    return spin->spins ? spin->most : 0;
}

static bool is_long(const struct spin *spin, duration waited)
{
    return spin->spins ? waited >= spin->most : waited / SPIN_ASLEEP >= spin->most;
}

void spin_learn(struct spin *spin, duration waited)
{
    int credit = spin->credit + (is_long(spin, waited) ? -SPIN_LONG_COST : 1);

    spin->credit = credit < 0 ? 0 : credit > SPIN_CREDIT ? SPIN_CREDIT : credit;
    if (spin->credit == 0)
        spin->spins = false;
    else if (spin->credit == SPIN_CREDIT)
        spin->spins = true;
}

void spin_check(const struct spin *spin)
{
    CHECK(spin->credit >= 0);
    CHECK(spin->credit <= SPIN_CREDIT);
    CHECK(!spin->spins || spin->credit > 0);
    CHECK(spin->spins || spin->credit < SPIN_CREDIT);
}
