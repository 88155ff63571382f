/* What shared memory reports to its two ends about messages and units (shm/shm.h). */
#ifndef ZCRP_TRANSPORT_WHOLE_H
#define ZCRP_TRANSPORT_WHOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* A message that has come as a whole. The sender may change its bytes at any time. */
struct whole_arrived {
    uint64_t in_session; /* its number there */
    const uint8_t *bytes;
    uint32_t size;
};

/* A note that the receiver is done with: of a unit that held its message, or of a whole message. */
struct released {
    uint64_t message;
    bool is_whole;
    bool has_arrived; /* a whole message: the receiver has it; if not, it comes back */
    bool has_faulted; /* a unit: the receiver could not read it, or says so. It is here: */
    struct iovec data;
};

#endif
