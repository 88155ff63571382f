/* AES-128-GCM with several blocks at a time: three times as fast as otherwise, where the processor
 * has the instructions (VAES, VPCLMULQDQ) and the build has found IPSec-MB. Elsewhere no key can be
 * made, and chain.c does without. */
#ifndef ZCRP_KEYS_VAES_H
#define ZCRP_KEYS_VAES_H

#include "core/keys/seal.h"

enum { VAES_KEY_BYTES = 16, VAES_NONCE_BYTES = 12 };

struct vaes_key;

/* A key that is ready to be used. NULL: this processor or this build has none, or no memory. */
struct vaes_key *vaes_key_create(const uint8_t key[VAES_KEY_BYTES]);

/* Overwrites and frees it. NULL is fine. */
void vaes_key_destroy(struct vaes_key *key);

/* As the functions of struct cipher, whose epochs are the caller's. A key may be used by several
 * threads at once. */
void vaes_seal(const struct vaes_key *key, const uint8_t nonce[VAES_NONCE_BYTES],
               const struct seal_text *t);
bool vaes_open(const struct vaes_key *key, const uint8_t nonce[VAES_NONCE_BYTES],
               const struct seal_text *t);

#endif
