#include "link.h"

#include <stdlib.h>

struct link *link_create(duration spin)
{
    struct link *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    mutex_init(&l->mutex);
    moderation_init(&l->rx.moderation);
    helm_init(&l->helm, spin);
    return l;
}

void link_add(struct link *l, enum machine_role role, struct zcrp_entity *half)
{
    l->half[role] = half;
}

/* True if it was the last one. */
static bool forget(struct link *l, enum machine_role role)
{
    l->half[role] = NULL;
    return l->half[MACHINE_SENDER] == NULL && l->half[MACHINE_RECEIVER] == NULL;
}

void link_remove(struct link *l, enum machine_role role)
{
    if (!forget(l, role))
        return;
    mutex_fini(&l->mutex);
    free(l);
}

void link_abandon(struct link *l, enum machine_role role)
{
    if (forget(l, role))
        free(l);
}
