/* The capture of --capture: a file of every datagram that crossed this process's ZCRP channels, for
 * tshark and Wireshark (pcap). One a process; all its channels are UDP, or all AAL5. */
#ifndef BENCH_CAPTURE_H
#define BENCH_CAPTURE_H

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

#endif
