#include "contender.h"

#include <string.h>

static int open_lane(struct transport *lane, const struct choice *choice, struct control *control,
                     const struct settings *settings, const struct manner *manner)
{
    *lane = (struct transport){
        .kind = choice->kind,
        .settings = settings,
        .control = control,
        .manner = *manner,
    };
    return transport_open(lane);
}

static int open_lanes(struct contender *contender, const struct choice *choice,
                      struct control *control, const struct settings *settings, size_t most)
{
    struct manner manners[MANNERS_MAX] = {0};
    size_t count = choice->kind == &transport_tcp ? manner_list(choice->variant, manners) : 1;

    for (size_t i = 0; i < count && i < most; i++) {
        contender->lane_count++;
        if (open_lane(&contender->lanes[i], choice, control, settings, &manners[i]) < 0)
            return -1;
    }
    return 0;
}

int contender_open(struct contender *contender, const struct choice *choice,
                   struct control *control, const struct settings *settings, size_t *number)
{
    *contender = (struct contender){.name = choice->name, .first_number = *number};
    if (open_lanes(contender, choice, control, settings, MANNERS_MAX) < 0)
        return -1;
    *number += contender->lane_count;
    return 0;
}

int contender_open_for_ping(struct contender *contender, const struct choice *choice,
                            struct control *control, const struct settings *settings,
                            size_t *number)
{
    bool is_best = strcmp(choice->variant, MANNER_BEST) == 0;
    struct choice plain = *choice;

    if (is_best)
        plain.variant = MANNER_DEFAULT;
    *contender = (struct contender){.name = choice->name, .first_number = *number};
    if (open_lanes(contender, &plain, control, settings, 1) < 0)
        return -1;
    ++*number;
    if (!choice->kind->is_simplex)
        return 0;
    contender->back = (struct transport){
        .kind = choice->kind,
        .settings = settings,
        .control = control,
        .is_back = true,
    };
    ++*number;
    return transport_open(&contender->back);
}

void contender_close(struct contender *contender)
{
    for (size_t i = 0; i < contender->lane_count; i++)
        transport_close(&contender->lanes[i]);
    transport_close(&contender->back);
}

bool contender_has_use(const struct contender *contender, size_t lane, uint64_t size)
{
    return contender->lanes[lane].manner.write_bytes < size;
}
