/* Datagrams of version 2, written and read by the text of docs/protocol.md alone: nothing here is
 * the library's. Writers take any value, also one that breaks a rule; they return the bytes written
 * to `to`, which has room for WIRE_BYTES. */
#ifndef ZCRP_TESTS_ATTACK_WIRE_H
#define ZCRP_TESTS_ATTACK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WIRE_BYTES = 65536,
    WIRE_TRAILER = 32, /* of every datagram; of a unit behind its data */
    WIRE_GRAIN = 32,
    WIRE_VERSION = 2,
};

enum wire_type {
    WIRE_UNIT = 1,
    WIRE_ACK = 2, /* first interval positive, */
    WIRE_ACK_NEGATIVE = 3,
    WIRE_REQUEST = 4,
    WIRE_HELLO = 5,
    WIRE_PROBE = 6,
    WIRE_PROBE_ANSWER = 7,
    WIRE_COOKIE = 8,
    WIRE_VERSION_ANSWER = 15,
};

enum wire_flag { WIRE_IS_LAST = 2, WIRE_VOID = 4, WIRE_ANSWER = 8, WIRE_CLOSING = 16 };

/* What the last ten bytes name. */
struct wire_pairing {
    uint32_t session;
    uint32_t tag;
};

struct wire_unit {
    struct wire_pairing pairing;
    uint32_t message, unit, seq;
    uint16_t length; /* bytes of data */
    uint8_t flags;
};

struct wire_run {
    uint32_t first, count;
    uint64_t size;
};

struct wire_hello {
    struct wire_pairing pairing;
    uint64_t nonce, cookie;
    uint32_t requested;
    uint8_t flags;
};

/* `data` NULL: zeros. */
size_t wire_unit(uint8_t *to, const struct wire_unit *unit, const uint8_t *data);

/* `length` intervals, the last of them positive, between length + 1 bounds. */
size_t wire_ack(uint8_t *to, struct wire_pairing pairing, const uint32_t *bounds, uint16_t length,
                uint8_t flags);

/* The nonce of the question that it answers, or 0; `run` NULL: without runs, else one. */
size_t wire_request(uint8_t *to, struct wire_pairing pairing, uint64_t nonce,
                    const struct wire_run *run);

size_t wire_hello(uint8_t *to, const struct wire_hello *hello);
size_t wire_cookie(uint8_t *to, struct wire_pairing pairing, uint64_t nonce, uint64_t cookie);

/* A path probe with `length` bytes of padding of that value. */
size_t wire_probe(uint8_t *to, struct wire_pairing pairing, uint32_t number, uint16_t length,
                  uint8_t padding);
size_t wire_probe_answer(uint8_t *to, struct wire_pairing pairing, uint32_t number, uint32_t size);

/* ---- over AAL5, by the text of docs/aal5.md ---- */

enum {
    WIRE_AAL5_PORT = 6635,
    WIRE_AAL5_HEAD = 8,
    WIRE_CELL = 48,
    WIRE_LABEL = 16, /* of VPI 0 and VCI 32; those of other VCIs follow */
};

/* A packet of AAL5 as it is cut: which cells of the PDU are in it. */
struct wire_piece {
    uint32_t label;
    uint16_t number;
    uint32_t first, count; /* cells */
    bool is_end;
};

/* The head of a packet. */
void wire_aal5_head(uint8_t *to, const struct wire_piece *piece);

/* The PDU of a datagram; its length is another by `lie`, which the CRC vouches for. */
size_t wire_pdu(uint8_t *to, const uint8_t *datagram, size_t bytes, uint16_t lie);

/* The packet with a piece of that PDU. */
size_t wire_packet(uint8_t *to, const uint8_t *pdu, const struct wire_piece *piece);

/* A datagram in a packet of its own, as a sender would send it. */
size_t wire_wrap(uint8_t *to, uint32_t label, const uint8_t *datagram, size_t bytes);

/* A datagram as it was heard. */
struct wire_heard {
    unsigned version;
    enum wire_type type;
    struct wire_pairing pairing;
    uint8_t flags;
    uint64_t nonce, cookie;      /* hello, cookie; of a request the nonce */
    uint32_t message, unit, seq; /* unit */
    uint32_t length;             /* unit: bytes of data */
    uint32_t number;             /* path probe */
};

/* False if it is too short to be one of this version. */
bool wire_read(const uint8_t *datagram, size_t bytes, struct wire_heard *heard);

#endif
