/* The first messages of a listener's connection: buffers that are posted before its program knows
 * of the caller, so that the caller's first message need not wait for a request.
 *
 *     handshake --credit: count, size--> caller        nothing is reserved
 *     caller admitted --make, post--> receiver         one set of buffers for each connection
 *
 * They are the connection's, and end with it. The user's program has pointers to them, and may
 * submit them again. */
#ifndef ZCRP_ACCEPT_FIRST_MESSAGES_H
#define ZCRP_ACCEPT_FIRST_MESSAGES_H

#include "link/entity.h"

/* All zero: none. */
struct first_messages {
    uint32_t count;
    struct message **message;
};

/* Makes `count` messages of `bytes` each. False if there is no memory: then there are none. */
__attribute__((warn_unused_result)) bool first_messages_make(struct first_messages *f,
                                                             uint32_t count, nlong bytes);

/* Posts them on the receiver, to which nothing was posted yet. */
void first_messages_post(struct first_messages *f, struct zcrp_entity *receiver);

/* Frees them. One that the user has in flight, with another entity, is the user's from now on. */
void first_messages_free(struct first_messages *f);

#endif
