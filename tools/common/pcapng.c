#include "pcapng.h"

#include <string.h>

enum {
    SECTION_BLOCK = 0x0a0d0d0a,
    INTERFACE_BLOCK = 1,
    PACKET_BLOCK = 6,
    BYTE_ORDER = 0x1a2b3c4d,
    OPTION_TIME_RESOLUTION = 9,
    NANOSECONDS = 9, /* 10^-9 s */
    OPTION_FLAGS = 2,
    INWARD = 1,
    OUTWARD = 2,
    TAIL_LEAST = 16, /* flags 8, end of options 4, length 4 */
};

static uint8_t *put16(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    return out + 2;
}

static uint8_t *put32(uint8_t *out, uint32_t value)
{
    return put16(put16(out, value & 0xffff), value >> 16);
}

/* The head of an option. */
static uint8_t *put_option(uint8_t *out, uint32_t code, uint32_t bytes)
{
    return put16(put16(out, code), bytes);
}

void pcapng_section(uint8_t out[PCAPNG_SECTION])
{
    out = put32(put32(put32(out, SECTION_BLOCK), PCAPNG_SECTION), BYTE_ORDER);
    out = put16(put16(out, 1), 0); /* version */
    memset(out, 0xff, 8);          /* the section's length is not known */
    put32(out + 8, PCAPNG_SECTION);
}

void pcapng_interface(uint8_t out[PCAPNG_INTERFACE], enum pcapng_link link)
{
    out = put32(put32(out, INTERFACE_BLOCK), PCAPNG_INTERFACE);
    out = put16(put16(out, (uint32_t)link), 0);
    out = put_option(put32(out, 0), OPTION_TIME_RESOLUTION, 1); /* 0: nothing is cut off */
    out = put_option(put32(out, NANOSECONDS), 0, 0);
    put32(out, PCAPNG_INTERFACE);
}

static size_t padding(const struct pcapng_packet *packet)
{
    return (4 - packet->bytes % 4) % 4;
}

static uint32_t block_bytes(const struct pcapng_packet *packet)
{
    return PCAPNG_HEAD + packet->bytes + (uint32_t)padding(packet) + TAIL_LEAST;
}

void pcapng_head(uint8_t out[PCAPNG_HEAD], const struct pcapng_packet *packet)
{
    uint64_t time = (uint64_t)packet->time_ns;

    out = put32(put32(out, PACKET_BLOCK), block_bytes(packet));
    out = put32(put32(put32(out, packet->interface), (uint32_t)(time >> 32)), (uint32_t)time);
    put32(put32(out, packet->bytes), packet->bytes);
}

size_t pcapng_tail(uint8_t out[PCAPNG_TAIL_MOST], const struct pcapng_packet *packet)
{
    size_t zeros = padding(packet);

    memset(out, 0, zeros);
    out = put_option(out + zeros, OPTION_FLAGS, 4);
    out = put_option(put32(out, packet->is_outward ? OUTWARD : INWARD), 0, 0);
    put32(out, block_bytes(packet));
    return zeros + TAIL_LEAST;
}
