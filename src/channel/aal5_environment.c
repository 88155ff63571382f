#include "aal5_environment.h"

#include <stdlib.h>
#include <string.h>

static bool set(struct channel_aal5 *o, const char *name, size_t length, uint32_t value)
{
    struct {
        const char *name;
        uint32_t *number;
    } const row[] = {
        {"mtu", &o->mtu},
        {"loss", &o->faults.loss},
        {"tagged", &o->faults.tagged},
        {"tagged_loss", &o->faults.tagged_loss},
        {"swapped", &o->faults.swapped},
        {"merged", &o->faults.merged},
        {"congested", &o->faults.congested},
    };

    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        if (strlen(row[i].name) == length && strncmp(row[i].name, name, length) == 0) {
            *row[i].number = value;
            return true;
        }
    if (length == 7 && strncmp(name, "discard", length) == 0)
        o->faults.discard = (enum aal5_discard)value;
    else if (length == 4 && strncmp(name, "seed", length) == 0)
        o->faults.seed = value;
    else
        return false;
    return true;
}

bool aal5_environment(struct channel_aal5 *options)
{
    const char *p = getenv("ZCRP_AAL5");

    while (p && *p) {
        size_t length = strcspn(p, "=,");
        char *end;
        if (p[length] != '=')
            return false;
        unsigned long value = strtoul(p + length + 1, &end, 10);
        if (end == p + length + 1 || (*end && *end != ',') || value > UINT32_MAX)
            return false;
        if (!set(options, p, length, (uint32_t)value))
            return false;
        p = *end ? end + 1 : end;
    }
    return true;
}
