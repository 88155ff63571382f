/* The capture of --capture: a file of every datagram that crossed this process's ZCRP channels, for
 * tshark and Wireshark (pcap). One a process; all its channels are UDP, or all AAL5. */
#ifndef BENCH_RECORDING_H
#define BENCH_RECORDING_H

#include <stdint.h>
#include <stdio.h>

#include "zcrp.h"

/* Starts the file; NULL: nothing is captured, and the other functions do nothing. 0, or -1 with a
 * complaint. */
int capture_open(const char *path);

/* Writes to the file what has crossed so far. 0, or -1 with a complaint. */
int capture_flush(void);

/* Ends it. 0, or -1 with a complaint when not all could be written. */
int capture_close(void);

/* Makes an entity on this channel be captured: fills in the tap, once `options` name the channel.
 * To be called again when the descriptor is another socket. 0, or -1 with a complaint. */
int capture_channel(int descriptor, struct zcrp_options *options);

/* The file of --trace: the life of ZCRP's transfers as JSON lines, as the sending end sees it. A
 * line with "measurement" begins each; the others are what has changed, when it did (see
 * docs/zcrp-bench.1). Nothing of this is done where no file is open. */

/* Opens the file, unless `path` is NULL. 0, or -1 with a complaint. */
int trace_open(const char *path);

/* 0, or -1 with a complaint if the file is not complete. All channels are closed by then. */
int trace_close(void);

/* A sender is about to be opened with these options: it is the next flow, counted from 0. 0, or -1
 * with a complaint. */
int trace_channel(struct zcrp_options *options);

/* A measurement of messages of `size` begins; what happens before and between is not written. */
void trace_begin(uint64_t size, uint64_t flows);
void trace_end(void);

/* The file of either. Each returns 0, or -1 with a complaint. */
struct recording {
    FILE *file; /* NULL: nothing is recorded */
    const char *path;
};

/* With a NULL path nothing is opened, and that is fine. */
int recording_open(struct recording *recording, const char *path);

/* Fine if nothing is open. What could not be written before shows here. */
int recording_close(struct recording *recording);

/* Complains that the file cannot be written. -1. */
int recording_failed(const struct recording *recording);

#endif
