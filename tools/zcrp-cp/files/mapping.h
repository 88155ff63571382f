/* Files as memory. A file may become shorter while it is mapped, or its disk may be full; whoever
 * touches the missing page then gets SIGBUS. The handler here puts pages of zeros over the hole,
 * and the mapping is torn: what was read or written there is worth nothing, and that file fails. No
 * other file notices. A SIGBUS from elsewhere ends the process as usual.
 *
 * Any thread may touch a mapping; one thread makes and ends them. */
#ifndef ZCRP_CP_MAPPING_H
#define ZCRP_CP_MAPPING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MAPPINGS_MOST = 4096 }; /* of the process, at once */

struct mapping {
    uint8_t *memory;  /* NULL: none */
    uint64_t bytes;   /* as the caller asked for; at least 1 */
    int slot;         /* in the handler's table */
    atomic_bool torn; /* set by the handler */
};

/* Installs the handler. Once, before the first mapping. */
void mapping_start(void);

/* Maps the file's first `bytes` bytes, shared, to read or also to write. 0, or -1 with errno;
 * ENFILE if there are MAPPINGS_MOST already. The descriptor may be closed afterwards. */
int mapping_init(struct mapping *mapping, int fd, uint64_t bytes, bool to_write);

/* Unmaps it. One that is all zero is fine. */
void mapping_fini(struct mapping *mapping);

bool mapping_is_torn(const struct mapping *mapping);

#endif
