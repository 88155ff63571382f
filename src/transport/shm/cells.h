/* Memory for the ends of connections that share memory (ends.h), side by side: so idle ones share
 * pages. It is not the heap's, because threads of the library ask for it, and each that asks the
 * heap gets one of its own. What was given back is used again, and stays the process's.
 *
 * Any thread, also in a child of the process; no lock. */
#ifndef ZCRP_TRANSPORT_SHM_CELLS_H
#define ZCRP_TRANSPORT_SHM_CELLS_H

#include <stddef.h>

enum { CELL_BYTES = 1536 };

/* A cell, all zero, at the start of a cache line. NULL: no memory. */
void *cells_take(void);

/* Gives it back. */
void cells_give(void *cell);

#endif
