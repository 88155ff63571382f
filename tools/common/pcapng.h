/* The blocks of a capture file (pcapng, draft-ietf-opsawg-pcapng), as bytes: little-endian, times
 * in nanoseconds. A file is a section, then its interfaces, then packets:
 *
 *     packet head 28 | the packet's bytes | packet tail: 0..3 zeros, direction, end */
#ifndef COMMON_PCAPNG_H
#define COMMON_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PCAPNG_SECTION = 28,
    PCAPNG_INTERFACE = 32,
    PCAPNG_HEAD = 28,
    PCAPNG_TAIL_MOST = 19,
};

/* What the packets of an interface begin with (LINKTYPE_...). */
enum pcapng_link {
    PCAPNG_RAW_IP = 101, /* an IPv4 or IPv6 head */
    PCAPNG_ERF = 197,    /* a record of Endace's format */
};

struct pcapng_packet {
    uint32_t interface; /* counted from 0 in the order of the file */
    int64_t time_ns;    /* since 1970 */
    uint32_t bytes;     /* of the packet itself, below 2^31 */
    bool is_outward;
};

/* None of these can fail. */
void pcapng_section(uint8_t out[PCAPNG_SECTION]);
void pcapng_interface(uint8_t out[PCAPNG_INTERFACE], enum pcapng_link link);
void pcapng_head(uint8_t out[PCAPNG_HEAD], const struct pcapng_packet *packet);

/* Returns the tail's bytes. */
size_t pcapng_tail(uint8_t out[PCAPNG_TAIL_MOST], const struct pcapng_packet *packet);

#endif
