/* Memory for the state of ends that share memory (ends.h), in cells side by side, so that idle ends
 * share pages. It is not the heap's: threads of the library take cells, and malloc gives each
 * thread that asks an arena of its own. A cell that was given back is used again, and its memory
 * stays with the process.
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
