/* Memory for a machine of the core: both blocks in one, which its user frees. */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include "core/receiver/receiver.h"
#include "core/sender/sender.h"

#include <stdlib.h>
#include <string.h>

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

/* What is not in use after a rest is overwritten. */
static inline void memory_spoil(void *machine, struct arena_bytes bytes, size_t used)
{
    if (used < bytes.far)
        memset((uint8_t *)machine + bytes.near + used, 0xA5, bytes.far - used);
}

static inline void memory_rest_sender(struct sender *s, const struct sender_config *config)
{
    memory_spoil(s, sender_bytes(config), sender_rest(s));
}

static inline void memory_rest_receiver(struct receiver *r, const struct receiver_config *config)
{
    memory_spoil(r, receiver_bytes(config), receiver_rest(r));
}

#endif
