/* Messages of one size from rank to rank, several of them at once; the receiver verifies each. */
#ifndef ZCRP_TESTS_NCCL_LOAD_H
#define ZCRP_TESTS_NCCL_LOAD_H

#include "driver.h"

struct load {
    size_t bytes;
    int messages, at_once;
    bool is_watched; /* a watcher takes them out of the receiver's memory, as a GPU does */
};

/* All messages through the comm, from the first submit to the last end. */
void load_send(const struct driver *d, void *sender, const struct load *l);
void load_receive(const struct driver *d, void *receiver, const struct load *l);

#endif
