/* The keys of one stream, epoch after epoch, and the cipher that uses them: what the core's
 * struct cipher (core/keys/seal.h) is made of. AES-128-GCM where the processor has AES, else
 * ChaCha20-Poly1305. All derivation is HKDF-Expand-Label with SHA-256 (RFC 8446, 7.1):
 *
 *     secret of a stream    expand(secret of its sender, "zcrp unit", 32), and others (tls.h)
 *     key of an epoch       expand(secret, "zcrp key", 16 or 32)
 *     IV of an epoch        expand(secret, "zcrp iv", 12); the nonce is the IV xor the number
 *     secret of the next    expand(secret, "zcrp ku", 32)
 *
 * A chain belongs to whoever seals or opens with it: one thread at a time. */
#ifndef ZCRP_KEYS_CHAIN_H
#define ZCRP_KEYS_CHAIN_H

#include "core/keys/seal.h"

enum { CHAIN_SECRET_BYTES = 32, CHAIN_IV_BYTES = 12, CHAIN_KEY_MOST = 32 };

enum chain_cipher { CHAIN_AES_128_GCM, CHAIN_CHACHA20_POLY1305 };

struct chain;

/* The contract's three functions, over chains. */
extern const struct cipher chain_cipher;

/* RFC 8446, 7.1, with an empty context. False only without memory. */
__attribute__((warn_unused_result)) bool chain_expand(const uint8_t secret[CHAIN_SECRET_BYTES],
                                                      const char *label, uint8_t *out,
                                                      size_t bytes);

/* The chain that begins with this secret; a copy is kept. NULL: no memory. */
struct chain *chain_create(enum chain_cipher cipher, const uint8_t secret[CHAIN_SECRET_BYTES]);

/* Wipes the keys and frees the chain. NULL is fine. */
void chain_destroy(struct chain *chain);

#endif
