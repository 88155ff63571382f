/* The bytes of a capture file: pcap with times in nanoseconds, in this machine's byte order.
 *
 *      file head 24, then for each packet: packet head 16 | the packet's bytes
 *
 * All packets of a file begin alike, as the file's head says: with the head of IP, or with a record
 * that a whole PDU of AAL5 has (ERF, type 4): where it came from, the head of its cells without
 * HEC, and then the PDU, padding and trailer included. None of these functions can fail. */
#ifndef BENCH_CAPTURE_FILE_H
#define BENCH_CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

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

/* The head of IP and UDP that a datagram of a connected socket travels behind, made up again for a
 * capture. */

enum { FLOW_HEAD_MOST = 48 };

/* A socket's two ends. */
struct flow {
    int descriptor;
    bool is_ip6;
    uint8_t here[16], there[16]; /* addresses; IPv4 has the first 4 bytes of each */
    uint16_t here_port, there_port;
};

/* Asks the socket. 0, or -1 with errno: not a connected UDP socket. */
int flow_init(struct flow *flow, int descriptor);

/* Writes the heads of a datagram in these pieces, `bytes` bytes all together (at most what UDP
 * carries). Returns the bytes of the heads. Cannot fail. */
size_t flow_head(const struct flow *flow, uint8_t out[FLOW_HEAD_MOST], bool is_outward,
                 const struct iovec *pieces, size_t count, uint32_t bytes);

#endif
