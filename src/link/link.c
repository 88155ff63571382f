#include "link.h"

#include <stdlib.h>

struct link *link_create(const struct zcrp_options *options, struct admission *admission)
{
    struct link *l = calloc(1, sizeof(*l));

    if (admission == NULL && options->keys != NULL)
        admission = admission_create();
    if (l == NULL || (admission == NULL && options->keys != NULL)) {
        admission_destroy(admission);
        free(l);
        return NULL;
    }
    l->admission = admission;
    mutex_init(&l->mutex);
    moderation_init(&l->rx.moderation);
    helm_init(&l->helm, options->spin_ns);
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
    admission_destroy(l->admission);
    free(l);
}

void link_abandon(struct link *l, enum machine_role role)
{
    if (!forget(l, role))
        return;
    admission_destroy(l->admission);
    free(l);
}
