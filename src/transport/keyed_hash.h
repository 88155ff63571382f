/* The keyed hash of the library, SipHash-2-4, and the process's own key for it. */
#ifndef ZCRP_TRANSPORT_KEYED_HASH_H
#define ZCRP_TRANSPORT_KEYED_HASH_H

#include "core/wire/cookie.h"
#include "core/wire/secret.h"

/* SipHash-2-4 as libsodium has it. Pure; any thread. */
uint64_t keyed_hash_sip(const uint8_t key[SECRET_KEY_BYTES], const uint8_t *in, size_t size);

/* What makes the process's cookies. The first call draws its key, which stays. Any thread. */
struct cookie_jar keyed_hash_jar(void);

/* A new secret with a random key of its own. */
struct secret keyed_hash_secret(void);

#endif
