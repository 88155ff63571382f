/* The capture of --capture: a file of every datagram that crossed this process's ZCRP channels, for
 * tshark and Wireshark (pcap). One a process; all its channels are UDP, or all AAL5. */
#ifndef BENCH_RECORDING_H
#define BENCH_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

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

/* The bytes of a capture file: pcap with times in nanoseconds, in this machine's byte order.
 *
 *      file head 24, then for each packet: packet head 16 | the packet's bytes
 *
 * All packets of a file begin alike, as the file's head says: with the head of IP, or with a record
 * that a whole PDU of AAL5 has (ERF, type 4): where it came from, the head of its cells without
 * HEC, and then the PDU, padding and trailer included. None of these functions can fail. */
enum {
    CAPTURE_FILE_HEAD = 24,
    CAPTURE_PACKET_HEAD = 16,
    CAPTURE_PDU_HEAD = 20,         /* bytes of a record before its PDU */
    CAPTURE_PDU_MOST = 65535 - 20, /* bytes of a PDU that a record can hold; the rest is cut off */
};

/* What packets begin with (LINKTYPE_...). */
enum capture_link {
    CAPTURE_IP = 101,  /* the head of IPv4 or IPv6 */
    CAPTURE_PDU = 197, /* a record of Endace's format (ERF) */
};

struct capture_pdu {
    int64_t time_ns; /* since 1970 */
    bool is_outward; /* shown as DTE to DCE, else the other way */
    uint8_t vpi;
    uint16_t vci;
    uint32_t bytes; /* at most CAPTURE_PDU_MOST */
};

void capture_file_head(uint8_t out[CAPTURE_FILE_HEAD], enum capture_link link);

/* Of a packet of `bytes` bytes at time_ns, since 1970. */
void capture_packet_head(uint8_t out[CAPTURE_PACKET_HEAD], int64_t time_ns, uint32_t bytes);

void capture_pdu_head(uint8_t out[CAPTURE_PDU_HEAD], const struct capture_pdu *pdu);

#endif
