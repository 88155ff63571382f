/* The library's threads: started with the entity, joined by its end. */
#ifndef ZCRP_ENTITY_WORKER_H
#define ZCRP_ENTITY_WORKER_H

#include "entity.h"

/* Starts the threads of the entity's role (ZCRP 1.7). 0, or the system's negative error number;
 * then none is left. */
__attribute__((warn_unused_result)) int worker_start_all(struct zcrp_entity *e);

/* Tells the threads to end, and joins them in the order in which they were started. */
void worker_stop_all(struct zcrp_entity *e);

#endif
