/* What users call on a collection: its descriptor, and the next message. */
#include "entity.h"

#include <errno.h>

int zcrp_descriptor(struct zcrp_entity *entity)
{
    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (entity_is_forked(entity))
        return ZCRP_ERROR_FORKED;
    int fd = collection_descriptor(&entity->collection);
    if (fd < 0)
        errno = -fd;
    return fd < 0 ? ZCRP_ERROR_SYSTEM : fd;
}

struct zcrp_msg *zcrp_collect(struct zcrp_entity *entity)
{
    bool is_ours = entity != NULL && !entity_is_forked(entity);
    struct message *m = is_ours ? collection_take(&entity->collection) : NULL;

    return m == NULL ? NULL : &m->public;
}
