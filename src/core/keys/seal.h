/* Sealing and opening: which number a datagram is sealed under, with the key of which epoch, and
 * which numbers are opened. The cipher itself is handed in (struct cipher), because the core has no
 * cryptography. docs/protocol.md, "Keys".
 *
 *     unit      data, sealed | tag 16 | trailer 32                 number: the sequence number
 *     control   body and 22 bytes of the trailer, sealed | tag 16 | number 8 | last 10 bytes
 *
 * What is not sealed is authenticated with the rest. Each stream of datagrams has keys of its own,
 * one after the other: number n belongs to the epoch n / 2^epoch_bits. So both ends change keys
 * without a word, and no message can fail because of it.
 *
 * Units that cross through memory (transport/shm/shm.h) are not sealed, but have numbers,
 * too. Both ends skip those, so that they agree on number and epoch when units are sealed again.
 *
 * I1  a sealer's numbers only grow: no number is sealed twice, whatever becomes of the datagram.
 * I2  an opener opens each number at most once.
 * I3  nothing but a drop counter changes before the tag has been verified. */
#ifndef ZCRP_CORE_SEAL_H
#define ZCRP_CORE_SEAL_H

#include "core/wire/burst.h"

enum {
    SEAL_TAG_BYTES = 16,
    SEAL_NUMBER_BYTES = 8,
    SEAL_UNIT_BYTES = SEAL_TAG_BYTES,                        /* more than a plain unit has, */
    SEAL_CONTROL_BYTES = SEAL_TAG_BYTES + SEAL_NUMBER_BYTES, /* and a plain control datagram */
    SEAL_EPOCH_BITS = 22, /* numbers of an epoch, as a power of two: RFC 9001, 6.6 allows 2^23 */
    SEAL_EPOCH_FLAGS = 64 | 128, /* the epoch modulo 4, in the datagram's flags */
    SEAL_WINDOW = 8192,          /* numbers below the newest that may still come */
    SEAL_STAGING = 65536 + BURST_UNITS * SEAL_CONTROL_BYTES, /* what a burst may have, sealed */
};

/* One text to be sealed or opened. `in` and `out` may be the same place, else they do not overlap.
 */
struct seal_text {
    uint64_t epoch, number;
    const uint8_t *bound; /* is authenticated, and stays as it is, */
    size_t bound_bytes;
    const uint8_t *in; /* sealing: the text; opening: the text, then its tag */
    size_t bytes;      /* of the text, without a tag */
    uint8_t *out;      /* sealing: bytes + SEAL_TAG_BYTES; opening: bytes */
};

/* The cipher, and the keys of one stream. Each epoch's keys follow from the last epoch's. */
struct cipher {
    /* False if there is no key of this epoch (any more), or no memory for one. */
    bool (*seal)(void *keys, const struct seal_text *text);
    /* False also if the text was not sealed by somebody with the keys. Then `out` may have been
     * written. */
    bool (*open)(void *keys, const struct seal_text *text);
    /* Keys of epochs below are needed no more. */
    void (*forget)(void *keys, uint64_t epoch);
    /* Makes the keys of this epoch, however far it is from the one before. */
    void (*reach)(void *keys, uint64_t epoch);
};

/* ---- one stream ---- */

struct sealer {
    const struct cipher *cipher; /* (c) */
    void *keys;                  /* (c) */
    uint32_t epoch_bits;         /* (c) SEAL_EPOCH_BITS; a test has fewer */
    uint64_t next;               /* numbers below are burnt */
};

struct opener {
    const struct cipher *cipher;     /* (c) */
    void *keys;                      /* (c) */
    uint32_t epoch_bits;             /* (c) */
    uint64_t end;                    /* above the newest number that was opened */
    uint64_t seen[SEAL_WINDOW / 64]; /* of the numbers below, a bit each, at number % SEAL_WINDOW */
    uint64_t forged;                 /* texts that nobody with the keys has sealed */
    uint64_t replayed;               /* numbers that were opened before, or are too old */
};

/* Seals the text under its number, which is not below `next` (CHECKed), and burns that. The text's
 * epoch follows from the number. False as the cipher says. */
bool sealer_seal(struct sealer *s, struct seal_text *text);

/* Burns the numbers below `next`: what has them crosses unsealed, through memory (below). */
void sealer_skip(struct sealer *s, uint64_t next);

/* May a datagram with this number still be opened? */
bool opener_admits(const struct opener *o, uint64_t number);

/* Opens the text, and remembers its number. False, and nothing but a counter has changed, if it is
 * replayed or forged; `out` may have been written. */
bool opener_open(struct opener *o, struct seal_text *text);

/* Was the text sealed by somebody with the keys, and its number not opened yet? Remembers nothing
 * but what is forged or replayed: the number can be opened later. `out` may have been written. */
bool opener_verify(struct opener *o, struct seal_text *text);

/* Numbers below `end` came unsealed, through memory. What is sealed goes on from there. */
void opener_skip(struct opener *o, uint64_t end);

/* The epoch of a number, as flags of the datagram. */
static inline uint8_t seal_epoch_flags(uint64_t number, uint32_t epoch_bits)
{
    return (uint8_t)((number >> epoch_bits & 3) << 6);
}

/* ---- the keys of one half ---- */

enum { KEYRING_NEAR_BYTES = 32 };

/* What a sender, or a receiver, seals and opens with. Each of the four streams has keys of its own;
 * a sender opens no units, and a receiver seals none. */
struct keyring {
    struct pairing pairing; /* follows from the keys; both 0 until the handshake is over */
    uint8_t near[KEYRING_NEAR_BYTES]; /* from the keys, too; only the two ends know it */
    struct sealer units_out, control_out;
    struct opener units_in, control_in;
};

static inline bool keyring_is_ready(const struct keyring *k)
{
    return pairing_is_complete(k->pairing);
}

/* Seals a burst into `staging`, SEAL_STAGING bytes, and points its pieces there, one behind the
 * other. Data that lie in several pieces are copied there first. Sizes are those that cross from
 * now on. False if there is no key: then it is lost. */
bool keyring_seal(struct keyring *k, struct burst *burst, uint8_t *staging);

/* What a sealed datagram is. */
enum sealed {
    SEALED_GOOD,
    SEALED_SHORT,
    SEALED_FOREIGN, /* of another pairing */
    SEALED_FORGED,  /* or replayed; it has been counted */
};

/* Opens a sealed control datagram of `size` bytes into `out`, which has as much room. With GOOD
 * `*plain_bytes` are there: what was sealed. */
enum sealed keyring_open_control(struct keyring *k, const uint8_t *datagram, size_t size,
                                 uint8_t *out, size_t *plain_bytes);

/* A sealed datagram, a unit or control, that came from another address than the peer's. */
struct sealed_stray {
    bool is_unit;
    uint64_t number, end; /* its own; above the newest that was opened of its stream */
    size_t plain_bytes;   /* at `out`: of control, as it was sealed */
};

/* Verifies it, and remembers nothing of it (opener_verify); `out` has room for its bytes. */
enum sealed keyring_verify(struct keyring *k, const uint8_t *datagram, size_t size, uint8_t *out,
                           struct sealed_stray *stray);

/* The two steps in which a unit is opened, because only its trailer says where it belongs. */
struct sealed_unit {
    uint8_t wire[TRAILER_BYTES];  /* as it came: it is authenticated, */
    uint8_t plain[TRAILER_BYTES]; /* and without the epoch */
    uint64_t number;
};

/* Looks at the trailer of a sealed unit. Nothing of it is to be believed yet. */
enum sealed keyring_look_at_unit(const struct keyring *k, const uint8_t trailer[TRAILER_BYTES],
                                 struct sealed_unit *unit);

/* Opens its `bytes` bytes of data, which stand at `in` with their tag behind them, to `out`. False
 * if it is forged or replayed: then nothing is left at `out`, which is set to 0. */
bool keyring_open_unit(struct keyring *k, const struct sealed_unit *unit, const uint8_t *in,
                       size_t bytes, uint8_t *out);

#endif
