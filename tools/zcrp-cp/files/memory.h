/* Files as memory, and the threads that work on it.
 *
 * A file may become shorter while it is mapped, or its disk may be full; whoever
 * touches the missing page then gets SIGBUS. The handler here puts pages of zeros over the hole,
 * and the mapping is torn: what was read or written there is worth nothing, and that file fails. No
 * other file notices. A SIGBUS from elsewhere ends the process as usual.
 *
 * Any thread may touch a mapping; one thread makes and ends them. */
#ifndef ZCRP_CP_MEMORY_H
#define ZCRP_CP_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/crew.h"
#include "zcrp-cp/wire/record.h"

enum {
    MAPPINGS_MOST = 4096, /* of the process, at once */
    CREW_THREADS = 2,
};

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

/* A job of a copy's crew, beside the transfer: to hash a block, or to touch the pages that data
 * will land in. */
struct task {
    struct crew_job job;
    uint8_t *memory;
    size_t bytes;
    size_t leaf;     /* bytes that one hash is of; 0: do not hash, make the pages writable */
    uint8_t *hashes; /* HASH_BYTES for each leaf */
    int file;        /* leaf 0: where these pages are to be taken first; 0: they have been */
    uint64_t offset; /* ... and where they are in it */
    bool lets_go;    /* afterwards these pages of a mapped file are not needed here any more */
};

/* A task that hashes; one hash is of `leaf` bytes. */
static inline struct task task_of_hash(uint8_t *memory, size_t bytes, size_t leaf, uint8_t *hashes)
{
    return (struct task){.memory = memory, .bytes = bytes, .leaf = leaf, .hashes = hashes};
}

/* Waited for by crew_wait. */
void task_start(struct crew *crew, struct task *task);

/* XXH3-128 of some bytes, as it is written in files and messages everywhere. */
void task_hash(const void *bytes, size_t length, uint8_t hash[HASH_BYTES]);

#endif
