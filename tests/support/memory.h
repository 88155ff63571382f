/* Memory for a machine of the core: both blocks in one, which its user frees. */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include "core/receiver/receiver.h"
#include "core/sender/sender.h"

#include <stdlib.h>

/* A machine lies at the start of the block: free(machine) frees it. */
static inline uint8_t *memory_of(struct arena_bytes bytes)
{
    return aligned_alloc(ARENA_ALIGNMENT, bytes.near + bytes.far);
}

static inline struct sender *memory_of_sender(const struct sender_config *config, instant now)
{
    struct arena_bytes bytes = sender_bytes(config);
    uint8_t *memory = memory_of(bytes);
    return sender_init(memory, memory + bytes.near, config, now);
}

static inline struct receiver *memory_of_receiver(const struct receiver_config *config, instant now)
{
    struct arena_bytes bytes = receiver_bytes(config);
    uint8_t *memory = memory_of(bytes);
    return receiver_init(memory, memory + bytes.near, config, now);
}

#endif
