/* What users call on a collection: its descriptor, and the next message. */
#include "entity.h"

#include <errno.h>

int zcrp_descriptor(struct zcrp_entity *entity)
{
    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int fd = collection_descriptor(&entity->collection);
    if (fd < 0)
        errno = -fd;
    return fd < 0 ? ZCRP_ERROR_SYSTEM : fd;
}

struct zcrp_msg *zcrp_collect(struct zcrp_entity *entity)
{
    struct message *m = entity == NULL ? NULL : collection_take(&entity->collection);

    return m == NULL ? NULL : &m->public;
}
