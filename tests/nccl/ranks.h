/* Two ranks, each a process that loads the plugin by itself: the test's own, and a child. A pair of
 * sockets is NCCL's bootstrap network. */
#ifndef ZCRP_TESTS_NCCL_RANKS_H
#define ZCRP_TESTS_NCCL_RANKS_H

#include "../support/suite.h"
#include "driver.h"

#include <sys/types.h>

struct ranks {
    struct driver driver; /* the test's own */
    int bootstrap;
    pid_t child;
};

typedef void (*ranks_part)(const struct driver *d, int bootstrap);

/* The interface lo, over UDP or, if they may, from memory to memory. */
void ranks_choose(bool is_memory);

/* Starts the child, which loads the plugin, does this part, and ends. */
struct ranks ranks_begin(int version, ranks_part of_child);

/* The same, and loads the plugin here. */
struct ranks ranks_start(int version, ranks_part of_child);

/* The child must have ended well. */
void ranks_finish(struct ranks *r);

/* A handle, or anything else, crosses the bootstrap network. */
void ranks_give(int bootstrap, const void *bytes, size_t size);
void ranks_get(int bootstrap, void *bytes, size_t size);

/* The two ends of one comm, made as NCCL makes them. */
void *ranks_receiver(const struct driver *d, int bootstrap);
void *ranks_sender(const struct driver *d, int bootstrap);

/* Sends or receives one message, and waits for its end; the result. */
int ranks_send(const struct driver *d, void *sender, void *memory, size_t size);
int ranks_receive(const struct driver *d, void *receiver, void *memory, size_t room, int *size);

#endif
