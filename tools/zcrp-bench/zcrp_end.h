/* One end of a ZCRP channel through the library's public API: the entity on the duplex channel
 * transport->fd, and `depth` messages that walk over the memory of a job. All that can fail return
 * 0, or -1 with a complaint. */
#ifndef BENCH_ZCRP_END_H
#define BENCH_ZCRP_END_H

#include "transport.h"

/* Opens a sender or a receiver. */
int zcrp_end_open(struct transport *transport, bool is_sender);

/* Fine without, and after a failed, zcrp_end_open. */
void zcrp_end_close(struct transport *transport);

/* Makes all messages, and points each at its first memory. */
int zcrp_end_prepare(struct transport *transport, const struct job *job);

/* Sends or posts the job's message n, which is at `buffer`. */
int zcrp_end_submit(struct transport *transport, const struct job *job, uint64_t n, void *buffer);

/* Waits for message n to end well; looks now and then whether the other end is still there. */
int zcrp_end_wait(struct transport *transport, const struct job *job, uint64_t n);

struct look zcrp_end_look(struct transport *transport);
void zcrp_end_count(struct transport *transport, struct counts *counts);

#endif
