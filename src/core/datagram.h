/* What ends every datagram, and the unit's trailer. docs/protocol.md is the standard; the offsets
 * are there. A datagram is read from its end: the last byte says what it is, the last eight whom
 * it belongs to. All numbers are big-endian. */
#ifndef ZCRP_CORE_DATAGRAM_H
#define ZCRP_CORE_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROTOCOL_VERSION = 1,
    TRAILER_BYTES = 32, /* behind the data of a unit */
    GRAIN = 32,         /* unit numbers count the message in steps of this many bytes */
    UNIT_DATA_MAX = 65535 / GRAIN * GRAIN, /* bytes of data in one unit */
};

/* The largest message: unit numbers are 32 bits wide. */
#define MESSAGE_BYTES_MAX (((uint64_t)1 << 32) * GRAIN)

enum datagram_type {
    DATAGRAM_UNIT = 1,         /* sender to receiver: data */
    DATAGRAM_ACK_POSITIVE = 2, /* receiver to sender: block acknowledgement, first interval + */
    DATAGRAM_ACK_NEGATIVE = 3, /* the same, first interval - */
    DATAGRAM_REQUEST = 4,      /* receiver to sender: request to send */
    DATAGRAM_HELLO = 5,        /* sender to receiver: here I am, this I know */
    DATAGRAM_PATH_PROBE = 6,   /* sender to receiver: does this size arrive? */
    DATAGRAM_PATH_ANSWER = 7,  /* receiver to sender: it does */
};

enum datagram_flag {
    FLAG_HAS_NEXT = 1, /* unit: next message number, next unit number, next length are set */
    FLAG_IS_LAST = 2,  /* unit: the last of its message */
    FLAG_VOID = 4,     /* unit: the message will not come; the unit number says why */
    FLAG_ANSWER = 8,   /* unit: acknowledge at once */
    FLAG_CLOSING = 16, /* acknowledgement, hello: the last this side says */
    FLAG_ECN = 32,     /* acknowledgement: units arrive with ECN's field set */
};

/* Why a message will not come: the unit number of a unit with FLAG_VOID. */
enum void_reason {
    VOID_TOO_LARGE = 1,
    VOID_CANCELLED = 2,
};

/* Whom a datagram belongs to. The receiver draws the session, the sender the tag; 0 is none yet. */
struct pairing {
    uint32_t session;
    uint16_t tag;
};

/* The paper's trailer (1.6.1), decoded. */
struct unit_trailer {
    uint32_t message;      /* message number */
    uint32_t unit;         /* unit number: the place of the first byte, in grains */
    uint32_t seq;          /* sequence number: names this transmission */
    uint32_t next_message; /* what the sender sends next; 0 without FLAG_HAS_NEXT */
    uint32_t next_unit;
    uint16_t length; /* bytes of data before the trailer; a multiple of GRAIN unless last */
    uint16_t next_length;
    struct pairing pairing;
    uint8_t flags; /* enum datagram_flag, those of units */
};

/* What decoding found. Everything but OK is counted by name and dropped. */
enum verdict {
    VERDICT_OK,
    VERDICT_SHORT,     /* no room for what it claims to be */
    VERDICT_VERSION,   /* another version of the protocol */
    VERDICT_TYPE,      /* not of the type that was asked for */
    VERDICT_MALFORMED, /* lengths, flags or numbers that contradict each other */
};

/* Type of a datagram by its last byte, or 0 when the version is another. Types this version does
 * not know come back as they are. Cannot fail. */
enum datagram_type datagram_type(uint8_t last_byte);

/* The last byte of a datagram of this type and version. Cannot fail. */
uint8_t datagram_last_byte(enum datagram_type type);

/* The two judgements that every decode starts with: OK, VERSION or TYPE on a datagram that should
 * be of the types `lowest` to `highest`; OK, SHORT or MALFORMED (too long) on its size. */
enum verdict datagram_judge_type(uint8_t last_byte, enum datagram_type lowest,
                                 enum datagram_type highest);
enum verdict datagram_judge_size(size_t datagram_bytes, size_t claimed_bytes);

/* Writes the trailer's 32 bytes. `t` must be one that decode would accept. Cannot fail. */
void unit_trailer_encode(uint8_t out[TRAILER_BYTES], const struct unit_trailer *t);

/* Reads the last 32 bytes of a datagram of `datagram_bytes`. On OK `*t` is complete and
 * consistent: length + 32 == datagram_bytes; flags are known ones; length is a multiple of GRAIN
 * and not 0 unless IS_LAST; VOID has length 0, IS_LAST, and a known reason; the next fields are 0
 * without HAS_NEXT; neither length exceeds UNIT_DATA_MAX; session and tag are not 0. Otherwise
 * `*t` means nothing. Whatever is accepted encodes to the same bytes. `in` is not touched when
 * datagram_bytes is below 32. */
enum verdict unit_trailer_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                                 struct unit_trailer *t);

#endif
