/* Messages of STREAM_BYTES bytes, for all streams of the process, with a limit for all together.
 *
 * A buffer that was never used, or has been cold, has no memory but its page tables: so a stream
 * that is idle may have large ones posted. One thread only. */
#ifndef ZCRP_TUNNEL_BUFFERS_H
#define ZCRP_TUNNEL_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp.h"

enum { STREAM_BYTES = 64 << 10 };

struct buffer {
    struct zcrp_msg *message; /* of STREAM_BYTES */
    struct buffer *next;
    uint32_t done; /* bytes of it that the TCP socket has taken, or given */
    bool is_extra; /* beyond what its stream cannot do without */
};

/* A row of buffers. All zero is empty. */
struct buffers {
    struct buffer *first, *last;
    unsigned count;
};

void buffers_add(struct buffers *buffers, struct buffer *buffer);
struct buffer *buffers_take(struct buffers *buffers); /* the first; NULL: none */

/* A buffer, or NULL: no memory; or the stream can do without it, and all streams together have as
 * many such as they may. */
struct buffer *buffer_create(bool is_needed);
void buffer_destroy(struct buffer *buffer);

/* The bytes of buffers that streams can do without: of all together at most, and now. */
void buffers_limit(uint64_t most);
uint64_t buffers_extra(void);

#endif
