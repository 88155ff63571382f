/* Cookies: a receiver gives one to whoever asks, and believes only those who bring it back. Only
 * somebody who reads what is sent to an address can do that. The receiver keeps nothing meanwhile:
 * a cookie is a keyed hash of what it was given for.
 *
 *     cookie = hash(key, peer | nonce | tag | session | slot)        slot = now / COOKIE_SLOT
 *
 * A cookie is good in its slot and in the next one. docs/protocol.md, "Cookies". */
#ifndef ZCRP_CORE_COOKIE_H
#define ZCRP_CORE_COOKIE_H

#include "datagram.h"
#include "instant.h"
#include "secret.h"

#define COOKIE_SLOT (10 * SECOND)

/* What makes cookies. Everybody in a process who may verify another's has the same. */
struct cookie_jar {
    keyed_hash hash;
    uint8_t key[SECRET_KEY_BYTES];
};

/* Whom a cookie is for. */
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

#endif
