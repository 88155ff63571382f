/* Threads that do what takes time beside the transfer: hashing blocks, and touching the pages that
 * data will land in. Tasks begin in the order in which they were added. */
#ifndef ZCRP_CP_CREW_H
#define ZCRP_CP_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-cp/wire/record.h"

enum { CREW_THREADS = 2 };

/* The caller's, from crew_add until crew_wait has returned. */
struct task {
    uint8_t *memory;
    size_t bytes;
    size_t leaf;     /* bytes that one hash is of; 0: do not hash, make the pages writable */
    uint8_t *hashes; /* HASH_BYTES for each leaf */
    int file;        /* leaf 0: where these pages are to be taken first; 0: they have been */
    uint64_t offset; /* ... and where they are in it */
    bool lets_go;    /* afterwards these pages of a mapped file are not needed here any more */
    bool is_done;    /* under the crew's lock */
    struct task *next;
};

/* A task that hashes; one hash is of `leaf` bytes. */
static inline struct task task_of_hash(uint8_t *memory, size_t bytes, size_t leaf, uint8_t *hashes)
{
    return (struct task){.memory = memory, .bytes = bytes, .leaf = leaf, .hashes = hashes};
}

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t added, done;
    struct task *first, **last; /* not begun yet */
    pthread_t threads[CREW_THREADS];
    int thread_count;
    bool is_over;
};

/* 0, or -1 with errno. */
int crew_init(struct crew *crew);

/* Waits for what is under way; what has not begun never does. */
void crew_fini(struct crew *crew);

void crew_add(struct crew *crew, struct task *task);

/* Waits until the task is done. Again is fine. */
void crew_wait(struct crew *crew, struct task *task);

/* XXH3-128 of some bytes, as it is written in files and messages everywhere. */
void crew_hash(const void *bytes, size_t length, uint8_t hash[HASH_BYTES]);

#endif
