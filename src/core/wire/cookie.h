/* Cookies: a receiver gives one to whoever asks, and believes only those who bring it back. Only
 * somebody who reads what is sent to an address can do that. The receiver keeps nothing meanwhile:
 * a cookie is a keyed hash of what it was given for.
 *
 *     cookie = hash(key, peer | nonce | tag | session | slot)        slot = now / COOKIE_SLOT
 *
 * A cookie is good in its slot and in the next one. docs/protocol.md, "Cookies". */
#ifndef ZCRP_CORE_COOKIE_H
#define ZCRP_CORE_COOKIE_H

#include "core/instant.h"
#include "datagram.h"
#include "secret.h"

#define COOKIE_SLOT (10 * SECOND)

/* What makes cookies. Everybody in a process who may verify another's has the same. */
struct cookie_jar {
    keyed_hash hash;
    uint8_t key[SECRET_KEY_BYTES];
};

/* The peer that a cookie is for. */
struct cookie_owner {
    uint64_t peer;          /* stands for the address that the hello came from */
    uint64_t nonce;         /* of the hello */
    struct pairing pairing; /* its tag, and the session that the cookie datagram names */
};

/* A cookie, never 0. Cannot fail. */
uint64_t cookie_make(const struct cookie_jar *jar, const struct cookie_owner *owner, instant now);

/* Was this cookie made for this owner, in this slot or the one before? 0 never was. */
bool cookie_is_good(const struct cookie_jar *jar, const struct cookie_owner *owner, instant now,
                    uint64_t cookie);

/* ---- listening ---- */

/* What a socket that listens for its peer does with a datagram: it answers hellos with cookies, and
 * knows the one that brings a cookie back. It keeps nothing: no list, no state, no timer.
 *
 *     hello, no cookie or a wrong one    ANSWERS with a cookie, as many bytes as came
 *     hello of another version           ANSWERS with this version, ten bytes
 *     hello with a good cookie           ACCEPTS: a receiver takes the same datagram in
 *     anything else                      DROPS                                                  */

enum listening {
    LISTENING_DROPS,
    LISTENING_ANSWERS,
    LISTENING_ACCEPTS,
};

/* Judges a datagram from `peer` (cookie.h). With ANSWERS `*answer_bytes` bytes of `answer` are to
 * be sent to it. Looks at the last TRAILER_BYTES only. Cannot fail. */
enum listening listening_hear(const struct cookie_jar *jar, uint64_t peer, instant now,
                              const uint8_t *datagram, size_t size, uint8_t answer[TRAILER_BYTES],
                              size_t *answer_bytes);

#endif
