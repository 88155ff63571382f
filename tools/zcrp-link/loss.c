#include "loss.h"

bool loss_is_possible(double share, double burst)
{
    if (burst == 0)
        return share >= 0 && share <= 1;
    return burst >= 1 && share >= 0 && share <= burst / (burst + 1);
}

void loss_init(struct loss *loss, double share, double burst, uint64_t seed)
{
    *loss = (struct loss){.enter = share, .leave = 1 - share, .random = seed};
    if (burst == 0)
        return;
    loss->leave = 1 / burst;
    loss->enter = share / (burst * (1 - share));
}

bool loss_next(struct loss *loss)
{
    double share = loss->is_in_burst ? 1 - loss->leave : loss->enter;

    loss->is_in_burst = dice(&loss->random, share);
    return loss->is_in_burst;
}
