/* What all datagrams have in common, and the unit's trailer. docs/protocol.md is the standard; the
 * offsets are there. A datagram is read from its end: the last ten bytes are the same in every
 * type, and of these the last says which it is. All numbers are big-endian.
 *
 *     body or data     trailer, 32 bytes
 *     =============|-----------------------|---------|-----|-------|------|
 *                   22 bytes of the type    session   tag   flags   type
 *                                          tail, 10 bytes
 *
 * control.h has the other types. */
#ifndef ZCRP_CORE_DATAGRAM_H
#define ZCRP_CORE_DATAGRAM_H

#include "wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PROTOCOL_VERSION = 2,
    TRAILER_BYTES = 32, /* behind data or body, in every type but the version answer */
    TAIL_BYTES = 10,    /* of the trailer: the same in every type */
    TAIL_AT = TRAILER_BYTES - TAIL_BYTES,
    GRAIN = 32, /* unit numbers count the message in steps of this many bytes */
    UNIT_DATA_MAX = 65535 / GRAIN * GRAIN, /* bytes of data in one unit */
};

/* The largest message: unit numbers are 32 bits wide. */
#define MESSAGE_BYTES_MAX (((uint64_t)1 << 32) * GRAIN)

enum datagram_type {
    DATAGRAM_UNIT = 1,         /* sender to receiver: data */
    DATAGRAM_ACK_POSITIVE = 2, /* receiver to sender: block acknowledgement, first interval + */
    DATAGRAM_ACK_NEGATIVE = 3, /* the same, first interval - */
    DATAGRAM_REQUEST = 4,      /* receiver to sender: request to send */
    DATAGRAM_HELLO = 5,        /* sender to receiver: a question, or a sign of life */
    DATAGRAM_PATH_PROBE = 6,   /* sender to receiver: does this size arrive? */
    DATAGRAM_PATH_ANSWER = 7,  /* receiver to sender: it does */
    DATAGRAM_COOKIE = 8,       /* receiver to sender: proves an address when it is brought back */
    DATAGRAM_HANDSHAKE = 9,    /* either way: a piece of the TLS handshake of two ends with keys */
    DATAGRAM_OFFER = 10,       /* sender to receiver: how large a message without a buffer is */
    DATAGRAM_CHALLENGE = 11,   /* receiver to sender: is this where you are? or: I send there now */
    DATAGRAM_CHALLENGE_ANSWER = 12, /* sender to receiver: it is */
    DATAGRAM_VERSION_ANSWER = 15,   /* receiver to sender: its version; the same in any version */
};

enum datagram_flag {
    FLAG_HAS_NEXT = 1, /* unit: next step, next unit number, next length are set */
    FLAG_IS_LAST = 2,  /* unit: the last of its message */
    FLAG_VOID = 4, /* unit: the message will not come; the unit number says why. Hello that closes:
                      messages that the sender had will not come */
    FLAG_ANSWER = 8,   /* unit: acknowledge at once; request: say how large the next message is */
    FLAG_CLOSING = 16, /* acknowledgement, hello: the last this side says */
    FLAG_ECN = 32,     /* acknowledgement: units arrive with ECN's field set */
};

/* Why a message will not come: the unit number of a unit with FLAG_VOID. */
enum void_reason {
    VOID_TOO_LARGE = 1, /* for the buffer that was posted */
    VOID_CANCELLED = 2, /* by the sender's user */
    VOID_FAULT = 3,     /* the sender cannot read its memory */
};

/* The two numbers that say to which pairing a datagram belongs. */
struct pairing {
    uint32_t session; /* drawn by the receiver; 0: none known yet */
    uint32_t tag;     /* drawn by the sender; never 0 in a datagram */
};

/* Neither number is 0. */
static inline bool pairing_is_complete(struct pairing p)
{
    return p.session != 0 && p.tag != 0;
}

/* The last ten bytes of a datagram, decoded. */
struct datagram_tail {
    struct pairing pairing;
    uint8_t flags;     /* enum datagram_flag */
    uint8_t last_byte; /* version and type */
};

/* The paper's trailer (1.6.1), decoded. */
struct unit_trailer {
    uint32_t message;     /* message number */
    uint32_t unit;        /* unit number: the place of the first byte, in grains */
    uint32_t seq;         /* sequence number: names this transmission */
    uint32_t next_unit;   /* what the sender sends next; the three are 0 without FLAG_HAS_NEXT,
                             but for VOID_TOO_LARGE (unit_trailer_set_size) */
    uint16_t length;      /* bytes of data before the trailer; a multiple of GRAIN unless last */
    uint16_t next_length; /* bytes of data in the next unit */
    int16_t next_step;    /* from this message's number to the next unit's */
    struct pairing pairing;
    uint8_t flags; /* enum datagram_flag, of units */
};

/* How large the message is that is too large, which its VOID unit says in the place of what comes
 * next. */
static inline uint64_t unit_trailer_size(const struct unit_trailer *t)
{
    return (uint64_t)t->next_length << 32 | t->next_unit;
}

static inline void unit_trailer_set_size(struct unit_trailer *t, uint64_t size)
{
    t->next_length = (uint16_t)(size >> 32);
    t->next_unit = (uint32_t)size;
}

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

/* Does this last byte end a hello of another version? Cannot fail. */
bool datagram_is_foreign_hello(uint8_t last_byte);

/* The trailer of a datagram of `size` bytes, or NULL if it has no room for one. */
static inline const uint8_t *datagram_trailer(const uint8_t *in, size_t size)
{
    return size < TRAILER_BYTES ? NULL : in + (size - TRAILER_BYTES);
}

/* The verdicts that every decode starts with, in their order: first of a datagram that should be
 * of the types `lowest` to `highest`, by its trailer (OK, SHORT, VERSION or TYPE; the trailer is
 * not touched when `datagram_bytes` is below 32), then of its size (OK, SHORT or MALFORMED: too
 * long). */
enum verdict datagram_verdict(const uint8_t trailer[TRAILER_BYTES], size_t datagram_bytes,
                              enum datagram_type lowest, enum datagram_type highest);
enum verdict datagram_size_verdict(size_t datagram_bytes, size_t claimed_bytes);

/* Parts of these: on the last byte alone (OK, VERSION or TYPE), and both on a whole datagram that
 * should be a bare trailer of this type. */
enum verdict datagram_type_verdict(uint8_t last_byte, enum datagram_type lowest,
                                   enum datagram_type highest);
enum verdict datagram_bare_verdict(const uint8_t *in, size_t size, enum datagram_type type);

/* Writes and reads the last ten bytes, and checks nothing. Cannot fail. */
void datagram_tail_encode(uint8_t out[TAIL_BYTES], struct pairing pairing, int flags,
                          enum datagram_type type);
struct datagram_tail datagram_tail_decode(const uint8_t in[TAIL_BYTES]);

/* Are the trailer's bytes [from, to), which are reserved, 0? */
bool datagram_is_clear(const uint8_t trailer[TRAILER_BYTES], size_t from, size_t to);

/* Writes the trailer's 32 bytes. `t` must be one that decode would accept. Cannot fail. */
void unit_trailer_encode(uint8_t out[TRAILER_BYTES], const struct unit_trailer *t);

/* Reads the last 32 bytes of a datagram of `datagram_bytes`. On OK `*t` is complete and
 * consistent: length + 32 == datagram_bytes; flags are known ones; length is a multiple of GRAIN
 * and not 0 unless IS_LAST; VOID has length 0, IS_LAST, and a known reason; the next fields are 0
 * without HAS_NEXT, but for VOID_TOO_LARGE, which has a size there and no HAS_NEXT; neither length
 * exceeds UNIT_DATA_MAX; session and tag are not 0. Otherwise
 * `*t` means nothing. Whatever is accepted encodes to the same bytes. `in` is not touched when
 * datagram_bytes is below 32. */
enum verdict unit_trailer_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                                 struct unit_trailer *t);

/* ---- trailer row ---- */

/* Trailers of units in a row, told by comparing. Where units of one size follow on each other in a
 * message, or are whole messages that follow on each other, their trailers differ by the same step
 * each time: so the next one is known beforehand, byte for byte, and need not be decoded and
 * checked.
 *
 * The 32 bytes are four words, high byte first. Words 0 and 1 change from unit to unit, by what is
 * written below them; words 2 and 3 stay.
 *
 *     word 0             word 1               word 2                    word 3
 *     message, unit      seq, next unit       both lengths, step,       session's low half,
 *              + grains    + 1  + grains      session's high half       tag, flags, type
 *     + 1                 + 1                                           of whole messages
 */

enum { TRAILER_WORDS = TRAILER_BYTES / 8 };

struct trailer_row {
    uint64_t word[TRAILER_WORDS]; /* of the trailer that continues the row */
    uint64_t grains;              /* of each unit; 0: each is a message, */
    uint64_t messages;            /* then 1 */
};

/* The row goes on with this trailer, which is legal, and whose next unit continues it. */
void trailer_row_begin(struct trailer_row *row, const struct unit_trailer *t);

/* The row goes on behind the unit with this legal trailer, with units of the same size that have
 * HAS_NEXT and no other flag. False if it foresees something else. */
bool trailer_row_behind(struct trailer_row *row, const struct unit_trailer *t);

/* The same of a unit that is a whole message, with whole messages of the same size, not 0. */
void trailer_row_begin_messages(struct trailer_row *row, const struct unit_trailer *t);
bool trailer_row_behind_message(struct trailer_row *row, const struct unit_trailer *t);

/* Adds to the two numbers of 32 bits in a word. Neither carries into the other. */
static inline uint64_t trailer_row_sum(uint64_t word, uint64_t high, uint64_t low)
{
    return ((word >> 32) + high) << 32 | (uint32_t)(word + low);
}

/* Of whole messages the low numbers stay, so what is added cannot carry. */
static inline void trailer_row_step(struct trailer_row *row)
{
    if (row->grains == 0) {
        row->word[0] += row->messages << 32;
        row->word[1] += UINT64_C(1) << 32;
        return;
    }
    row->word[0] = trailer_row_sum(row->word[0], row->messages, row->grains);
    row->word[1] = trailer_row_sum(row->word[1], 1, row->grains);
}

/* Is this just the trailer that continues the row? */
static inline bool trailer_row_foresees(const struct trailer_row *row,
                                        const uint8_t in[TRAILER_BYTES])
{
    return wire_get_u64(in) == row->word[0] && wire_get_u64(in + 8) == row->word[1] &&
           wire_get_u64(in + 16) == row->word[2] && wire_get_u64(in + 24) == row->word[3];
}

/* Takes the trailer, if it is that one. */
static inline bool trailer_row_take(struct trailer_row *row, const uint8_t in[TRAILER_BYTES])
{
    if (!trailer_row_foresees(row, in))
        return false;
    trailer_row_step(row);
    return true;
}

/* Writes the trailer that continues the row, which goes on behind it. */
static inline void trailer_row_put(struct trailer_row *row, uint8_t out[TRAILER_BYTES])
{
    wire_put_u64(out, row->word[0]);
    wire_put_u64(out + 8, row->word[1]);
    wire_put_u64(out + 16, row->word[2]);
    wire_put_u64(out + 24, row->word[3]);
    trailer_row_step(row);
}

#endif
