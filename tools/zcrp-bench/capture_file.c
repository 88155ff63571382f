#include "capture_file.h"

#include <string.h>

enum {
    MAGIC_OF_NANOSECONDS = (int)0xa1b23c4d,
    SNAPSHOT_BYTES = 1 << 18, /* no packet is longer */
    TYPE_AAL5 = 4,
    FLAG_VARYING_LENGTH = 4,
    INTERFACE_IN = 1,
    PTI_LAST_CELL = 1 << 1, /* in the last byte of the cell's head */
    CELL_HEAD = 4,
};

static const uint64_t second_ns = 1000000000;

void capture_file_head(uint8_t out[CAPTURE_FILE_HEAD], enum capture_link link)
{
    const uint16_t version[2] = {2, 4};
    const uint32_t words[4] = {0, 0, SNAPSHOT_BYTES, (uint32_t)link};
    const uint32_t magic = (uint32_t)MAGIC_OF_NANOSECONDS;

    memcpy(out, &magic, sizeof magic);
    memcpy(out + 4, version, sizeof version);
    memcpy(out + 8, words, sizeof words);
}

void capture_packet_head(uint8_t out[CAPTURE_PACKET_HEAD], int64_t time_ns, uint32_t bytes)
{
    uint64_t ns = (uint64_t)time_ns;
    const uint32_t words[4] = {(uint32_t)(ns / second_ns), (uint32_t)(ns % second_ns), bytes,
                               bytes};

    memcpy(out, words, sizeof words);
}

static uint8_t *put16(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
    return out + 2;
}

/* Seconds and 2^-32 seconds, the one number in the record that is little-endian. */
static uint8_t *put_time(uint8_t *out, int64_t time_ns)
{
    uint64_t ns = (uint64_t)time_ns;
    uint64_t time = (ns / second_ns << 32) + (ns % second_ns << 32) / second_ns;

    for (int i = 0; i < 8; i++)
        *out++ = (uint8_t)(time >> 8 * i);
    return out;
}

void capture_pdu_head(uint8_t out[CAPTURE_PDU_HEAD], const struct capture_pdu *pdu)
{
    uint32_t cell = (uint32_t)pdu->vpi << 20 | (uint32_t)pdu->vci << 4 | PTI_LAST_CELL;

    out = put_time(out, pdu->time_ns);
    *out++ = TYPE_AAL5;
    *out++ = (uint8_t)(FLAG_VARYING_LENGTH | (pdu->is_outward ? 0 : INTERFACE_IN));
    out = put16(out, CAPTURE_PDU_HEAD + pdu->bytes);
    out = put16(out, 0); /* nothing was lost between */
    out = put16(out, CELL_HEAD + pdu->bytes);
    put16(put16(out, cell >> 16), cell & 0xffff);
}
