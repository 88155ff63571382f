/* A secret: a key, and numbers drawn from it that nobody without the key can compute, not even with
 * all earlier ones known. Session numbers, tags, nonces and left-out sequence numbers come from
 * here.
 *
 *     number n = hash(key, n)
 *
 * The core has no cryptography of its own: the hash is handed in. The library's is SipHash
 * (transport/keyed_hash.h); a test brings one that is only good enough to spread numbers. */
#ifndef ZCRP_CORE_SECRET_H
#define ZCRP_CORE_SECRET_H

#include <stddef.h>
#include <stdint.h>

enum { SECRET_KEY_BYTES = 16 };

/* A keyed hash of `size` bytes at `in`. Pure; cannot fail. */
typedef uint64_t (*keyed_hash)(const uint8_t key[SECRET_KEY_BYTES], const uint8_t *in, size_t size);

/* Where a secret comes from. The key is random and known to nobody else. */
struct secret {
    keyed_hash hash;
    uint8_t key[SECRET_KEY_BYTES];
    uint64_t drawn; /* numbers so far; 0 at first */
};

/* The next number. Cannot fail. */
uint64_t secret_draw(struct secret *s);

/* The same, of 32 and 64 bits, and never 0. */
uint32_t secret_draw_name(struct secret *s);
uint64_t secret_draw_nonce(struct secret *s);

/* A number of [least, most], each about equally likely. least <= most (CHECKed). */
uint64_t secret_draw_between(struct secret *s, uint64_t least, uint64_t most);

#endif
