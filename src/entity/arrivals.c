#include "arrivals.h"

#include <stdlib.h>

void openings_init(struct openings *o, bool has_gro)
{
    *o = (struct openings){.has_gro = has_gro};
}

void openings_learn(struct openings *o, const struct landing *l)
{
    for (uint32_t opening = 0; opening < l->received; opening++) {
        if (l->segment[opening] != 0)
            o->alone = 0;
        else if (o->alone < OPENINGS_ALONE)
            o->alone++;
    }
}

struct openings_choice openings_choose(const struct openings *o, uint32_t recent_bytes)
{
    bool are_large = recent_bytes > LANDING_DATAGRAM / 2;

    if (!o->has_gro)
        return (struct openings_choice){LANDING_OPENINGS, 1};
    if (are_large)
        return (struct openings_choice){OPENINGS_LARGE, LANDING_UNITS};
    if (o->alone == OPENINGS_ALONE)
        return (struct openings_choice){LANDING_OPENINGS, 1};
    return (struct openings_choice){1, LANDING_UNITS};
}

bool arrivals_init(struct arrivals *a, bool is_sender, bool has_gro)
{
    a->bytes = is_sender ? LANDING_DATAGRAM : landing_memory(LANDING_OPENINGS);
    a->memory = malloc(a->bytes);
    if (a->memory != NULL && !is_sender)
        landing_init(&a->landing, a->memory, LANDING_OPENINGS);
    openings_init(&a->openings, has_gro);
    return a->memory != NULL;
}

void arrivals_fini(struct arrivals *a)
{
    free(a->memory);
}
