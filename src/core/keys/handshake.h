/* The handshake that makes keys: how the bytes of TLS's handshake cross before there is a session.
 * It knows fragments, order, loss and time; what the bytes mean is for whoever reads them.
 *
 *     connecting side                                listening side
 *       hello (tag t, nonce n)              ------>
 *       <------                   cookie (t, n, c)         nothing is kept so far
 *       first bytes (t, n, c)               ------>        a caller: bytes are read
 *       <------   first bytes (t, n), second bytes (t, n, number, sealed)
 *       second bytes (t, n, number, sealed) ------>        both have the keys of the session
 *       <------   anything that is sealed with them        the connecting side is through
 *
 * There are two streams of bytes each way, one for each level of TLS: the first in the clear, the
 * second sealed with the handshake's own keys. A stream is cut at multiples of
 * HANDSHAKE_FRAGMENT. Every datagram says how many bytes of each stream its sender has. What the
 * other side does not have is repeated by the timer. An answer is never sent before the cookie has
 * come back, which is for the caller of hear to see to.
 *
 * Whoever reads the path can forge datagrams of the first level. What they say of the second level
 * does not count, and a connecting side that has the keys drops them, also refusals.
 *
 * A listening side that has forgotten a handshake says so with one more cookie. For a connecting
 * side that has the keys two of them count, DOUBT_LEAST to DOUBT_MOST apart (handshake.c): one may
 * only be late, from before the listening side was through.
 *
 * I1  acknowledged <= written <= room, of each stream out;
 * I2  read <= there <= room, of each stream in;
 * I3  only a handshake that has ended, of a connecting side, is doubted or forgotten. */
#ifndef ZCRP_CORE_HANDSHAKE_H
#define ZCRP_CORE_HANDSHAKE_H

#include "core/instant.h"
#include "core/wire/control.h"
#include "core/wire/cookie.h"
#include "seal.h"

enum {
    HANDSHAKE_FRAGMENT = 1024,
    HANDSHAKE_ROOM = 12 * HANDSHAKE_FRAGMENT, /* bytes of one stream: a chain of certificates */
    HANDSHAKE_PIECES = HANDSHAKE_ROOM / HANDSHAKE_FRAGMENT,
    HANDSHAKE_BYTES = HANDSHAKE_FRAGMENT + SEAL_TAG_BYTES + TRAILER_BYTES, /* of a datagram */
};

/* ---- the datagram ---- */

enum handshake_flag {
    HANDSHAKE_SECOND = 1,  /* sealed, with a number in place of the cookie */
    HANDSHAKE_ANSWERS = 2, /* from the listening side */
    HANDSHAKE_REFUSES = 4, /* the sender of this takes no keys, or not these; no bytes */
};

struct handshake_datagram {
    uint32_t tag;     /* of the connecting side; never 0. The session is 0 */
    uint64_t nonce;   /* of its hello; never 0 */
    uint64_t cookie;  /* first, connecting: the cookie; second: the number; else 0 */
    uint16_t at;      /* where the bytes begin in their stream */
    uint16_t have[2]; /* bytes of each of the other's streams that are there, without a gap */
    uint8_t flags;    /* enum handshake_flag */
};

/* Writes the trailer of a datagram. Cannot fail. */
void handshake_encode(uint8_t out[TRAILER_BYTES], const struct handshake_datagram *d);

/* Reads the trailer of a datagram of `size` bytes. OK means: type 9, known flags, session 0, tag
 * and nonce not 0; at most HANDSHAKE_FRAGMENT bytes, and room for the tag if they are sealed; they
 * begin at a multiple of that, within the room; none with REFUSES. `*bytes` is how many
 * there are, without a tag. */
enum verdict handshake_decode(const uint8_t *in, size_t size, struct handshake_datagram *d,
                              size_t *bytes);

/* Does this datagram begin a handshake, or go on with one, and bring back a cookie of the jar's
 * that was given to `peer` (wire/cookie.h)? */
bool handshake_has_cookie(const struct cookie_jar *jar, uint64_t peer, instant now,
                          const uint8_t *datagram, size_t size);

/* Writes a cookie that tells the sender of this datagram: its handshake is not known here, or no
 * more. It has fewer bytes than the datagram. False unless that is of the second level, from the
 * side that connects: this side may have keys already, and has no other way to learn it. */
bool handshake_disown(const struct cookie_jar *jar, uint64_t peer, instant now,
                      const struct handshake_datagram *d, uint8_t out[TRAILER_BYTES]);

/* Writes what refuses the sender of a hello, which has no keys. False if it is no hello. */
bool handshake_refuse_hello(const uint8_t *hello, size_t size, uint8_t out[TRAILER_BYTES]);

/* Writes what puts off the sender of this first datagram: there is no room for its handshake now,
 * and nothing is kept of it. It has no more bytes than the datagram. */
void handshake_put_off(const struct handshake_datagram *d, uint8_t out[TRAILER_BYTES]);

/* ---- one handshake ---- */

enum handshake_level { HANDSHAKE_LEVEL_FIRST, HANDSHAKE_LEVEL_SECOND, HANDSHAKE_LEVELS };

enum handshake_phase {
    HANDSHAKE_ASKS,    /* connecting: says hello, until a cookie comes */
    HANDSHAKE_TALKS,   /* bytes go both ways */
    HANDSHAKE_ENDS,    /* connecting: there are keys; the other side may not know it */
    HANDSHAKE_OVER,    /* nothing is sent any more */
    HANDSHAKE_REFUSED, /* the other side has refused, and so it was its word; or this side has */
};

struct handshake_out {
    uint8_t bytes[HANDSHAKE_ROOM];
    uint32_t written, acknowledged;
    uint32_t next; /* to be sent; what is below has been, since the timer said so */
};

struct handshake_in {
    uint8_t bytes[HANDSHAKE_ROOM];
    uint16_t piece[HANDSHAKE_PIECES]; /* bytes that are there of each piece, from its start */
    uint32_t read;
};

struct handshake {
    bool is_connecting; /* (c) */
    uint32_t tag;       /* (c) */
    uint64_t nonce;     /* (c) */
    uint64_t cookie;    /* connecting: 0 until it has come */
    enum handshake_phase phase;
    struct handshake_out out[HANDSHAKE_LEVELS];
    struct handshake_in in[HANDSHAKE_LEVELS];
    struct sealer second_out; /* cipher NULL: there are no keys yet */
    struct opener second_in;
    bool is_hello_due;
    bool is_refusal_due;
    instant timer;    /* when what was not answered goes again */
    uint32_t repeats; /* since anything new came */
    instant refusal;  /* an unproven word that it is refused counts from then on; NEVER: none */
    instant doubted;  /* since then the other side may have forgotten it; NEVER: it has not */
    bool is_forgotten;
    bool is_put_off;  /* connecting: the other side has answered, and has no room for it so far */
    uint64_t proven;  /* datagrams that the other side has sealed, also once it is over */
    uint64_t dropped; /* datagrams that were none of this handshake, or forged */
};

/* Begins. The connecting side says hello first; tag and nonce are random, and name it. */
void handshake_init(struct handshake *h, bool is_connecting, uint32_t tag, uint64_t nonce,
                    instant now);

/* A cookie came. True if the connecting side now has one, and had none: its bytes may be written.
 * If there are keys it says that the other side does not know this handshake (is_forgotten). */
bool handshake_on_cookie(struct handshake *h, instant now, const struct cookie_answer *answer);

/* The keys of the second level, in both directions. */
void handshake_use_keys(struct handshake *h, const struct cipher *cipher, void *out, void *in);

/* Bytes for the other side. False if there is no room. */
bool handshake_write(struct handshake *h, instant now, enum handshake_level level,
                     const uint8_t *bytes, size_t count);

/* The bytes of a level that came next, and are there without a gap; reading them takes them. */
size_t handshake_read(struct handshake *h, enum handshake_level level, const uint8_t **bytes);

/* Hears a handshake datagram. False if it was dropped: then only counters have changed. */
bool handshake_hear(struct handshake *h, instant now, const uint8_t *datagram, size_t size);

/* Writes the next datagram to be sent. Its bytes; 0 if there is none. */
size_t handshake_take(struct handshake *h, uint8_t out[HANDSHAKE_BYTES]);
bool handshake_has_datagram(const struct handshake *h);

/* There are keys for the session: the handshake is over for the listening side. */
void handshake_end(struct handshake *h);

/* This side takes the other one for wrong: it is told, now and whenever it is heard. */
void handshake_refuse(struct handshake *h);

void handshake_expire(struct handshake *h, instant now);
instant handshake_deadline(const struct handshake *h);

/* CHECKs I1 to I3. */
void handshake_check(const struct handshake *h);

#endif
