/* A sender or a receiver of NCCL's: one half of a connection, and its requests. A request is one
 * message over NCCL's memory. The n-th send lands in the n-th receive, in place, but for receives
 * that are watched: GPUs look at their memory before they end, and bytes may land in a wrong place
 * first. Such a receive lands beside that memory, and is brought there when it has ended.
 *
 * A comm is used by one thread at a time, as NCCL does. */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#include "plugin.h"

/* Makes a comm of the connection, which it owns from then on, also if it fails. */
int comm_make(struct zcrp_connection *connection, struct zcrp_entity *half, void **comm);

/* Sends, or posts to receive, these bytes, which may be none; `is_watched`: to receive, and nobody
 * waits for the end. `*request` is to be tested until it has ended; NULL: 32 are under way, so try
 * again later. */
int comm_submit(void *comm, void *memory, size_t size, bool is_watched, void **request);

/* Has the request ended? Then `*size` (if it is not NULL) is how many bytes crossed, and the
 * request is gone. An error ends it, too. A watched receive comes to its memory here. Receives for
 * its comm in this thread. */
int comm_test(void *request, int *is_done, int *size);

/* Cancels the requests that are left, tells the peer, and frees the comm. Takes a round trip, and
 * at most a second more than that for a peer that does not answer. NULL is fine. */
int comm_close(void *comm);

#endif
