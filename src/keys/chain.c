#include "chain.h"

#include "vaes.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 4,      /* epochs that there are keys of at a time */
    LEAPS_MOST = 4, /* epochs at once */
    LABEL_MOST = 64,
};

/* The key of one epoch. */
struct slot {
    struct vaes_key *vaes; /* one of them has the key; both NULL: there is none */
    gnutls_aead_cipher_hd_t handle;
    uint64_t epoch;
    uint8_t iv[CHAIN_IV_BYTES];
};

struct chain {
    enum chain_cipher cipher;
    uint8_t secret[CHAIN_SECRET_BYTES]; /* of the newest epoch */
    uint64_t newest;
    uint64_t forgotten;      /* no key of an epoch below is made again */
    struct slot slot[SLOTS]; /* of epoch n at n % SLOTS */
};

/* ---- deriving ---- */

/* struct HkdfLabel of RFC 8446, 7.1. */
static unsigned int write_label(uint8_t out[LABEL_MOST], const char *label, size_t bytes)
{
    static const char prefix[] = "tls13 ";
    size_t first = strlen(prefix), second = strlen(label);

    out[0] = (uint8_t)(bytes >> 8);
    out[1] = (uint8_t)bytes;
    out[2] = (uint8_t)(first + second);
    memcpy(out + 3, prefix, first);
    memcpy(out + 3 + first, label, second);
    out[3 + first + second] = 0;
    return (unsigned int)(4 + first + second);
}

bool chain_expand(const uint8_t secret[CHAIN_SECRET_BYTES], const char *label, uint8_t *out,
                  size_t bytes)
{
    uint8_t text[LABEL_MOST];
    const gnutls_datum_t info = {text, write_label(text, label, bytes)};
    const gnutls_datum_t key = {(unsigned char *)secret, CHAIN_SECRET_BYTES};

    return gnutls_hkdf_expand(GNUTLS_MAC_SHA256, &key, &info, out, bytes) == 0;
}

static bool has_key(const struct slot *slot)
{
    return slot->vaes != NULL || slot->handle != NULL;
}

/* The slot is empty first: a child of that moment does not free the key again. */
static void drop_key(struct slot *slot)
{
    struct slot dropped = *slot;

    explicit_bzero(slot, sizeof(*slot));
    vaes_key_destroy(dropped.vaes);
    if (dropped.handle != NULL)
        gnutls_aead_cipher_deinit(dropped.handle);
    explicit_bzero(&dropped, sizeof(dropped));
}

/* Nor does a child free a key that is half made. */
static bool use_key(struct slot *slot, enum chain_cipher cipher, uint8_t *bytes)
{
    bool is_aes = cipher == CHAIN_AES_128_GCM;
    const gnutls_datum_t key = {bytes, is_aes ? VAES_KEY_BYTES : CHAIN_KEY_MOST};
    gnutls_aead_cipher_hd_t handle;

    slot->vaes = is_aes ? vaes_key_create(bytes) : NULL;
    if (slot->vaes == NULL && gnutls_aead_cipher_init(&handle,
                                                      is_aes ? GNUTLS_CIPHER_AES_128_GCM
                                                             : GNUTLS_CIPHER_CHACHA20_POLY1305,
                                                      &key) == 0)
        slot->handle = handle;
    return has_key(slot);
}

/* Makes the key of the newest epoch. */
static bool make_key(struct chain *c)
{
    struct slot *slot = &c->slot[c->newest % SLOTS];
    uint8_t bytes[CHAIN_KEY_MOST];
    size_t size = c->cipher == CHAIN_AES_128_GCM ? VAES_KEY_BYTES : CHAIN_KEY_MOST;

    drop_key(slot);
    slot->epoch = c->newest;
    bool is_made = chain_expand(c->secret, "zcrp key", bytes, size) &&
                   chain_expand(c->secret, "zcrp iv", slot->iv, CHAIN_IV_BYTES) &&
                   use_key(slot, c->cipher, bytes);
    explicit_bzero(bytes, sizeof(bytes));
    return is_made;
}

static bool make_next_secret(struct chain *c)
{
    uint8_t next[CHAIN_SECRET_BYTES];
    bool is_made = chain_expand(c->secret, "zcrp ku", next, sizeof(next));

    if (is_made) {
        memcpy(c->secret, next, sizeof(next));
        c->newest++;
    }
    explicit_bzero(next, sizeof(next));
    return is_made;
}

static bool make_next(struct chain *c)
{
    return make_next_secret(c) && make_key(c);
}

/* If there was no memory for the newest key, it is made now. */
static const struct slot *slot_of(struct chain *c, uint64_t epoch)
{
    struct slot *slot = &c->slot[epoch % SLOTS];

    for (int i = 0; i < LEAPS_MOST && c->newest < epoch; i++)
        if (!make_next(c))
            return NULL;
    if (epoch == c->newest && epoch >= c->forgotten && !has_key(slot))
        (void)make_key(c);
    return has_key(slot) && slot->epoch == epoch ? slot : NULL;
}

struct chain *chain_create(enum chain_cipher cipher, const uint8_t secret[CHAIN_SECRET_BYTES])
{
    struct chain *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->cipher = cipher;
    memcpy(c->secret, secret, CHAIN_SECRET_BYTES);
    if (make_key(c))
        return c;
    chain_destroy(c);
    return NULL;
}

static void forget(void *keys, uint64_t epoch)
{
    struct chain *c = keys;

    if (c->forgotten < epoch)
        c->forgotten = epoch;
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &c->slot[i];
        if (has_key(slot) && slot->epoch < epoch)
            drop_key(slot);
    }
}

void chain_destroy(struct chain *chain)
{
    if (chain == NULL)
        return;
    forget(chain, UINT64_MAX);
    explicit_bzero(chain, sizeof(*chain));
    free(chain);
}

/* ---- sealing and opening ---- */

static void write_nonce(uint8_t nonce[CHAIN_IV_BYTES], const struct slot *slot, uint64_t number)
{
    memcpy(nonce, slot->iv, CHAIN_IV_BYTES);
    for (int i = 0; i < 8; i++)
        nonce[CHAIN_IV_BYTES - 1 - i] ^= (uint8_t)(number >> 8 * i);
}

static bool seal(void *keys, const struct seal_text *t)
{
    const struct slot *slot = slot_of(keys, t->epoch);
    size_t out = t->bytes + SEAL_TAG_BYTES;
    uint8_t nonce[CHAIN_IV_BYTES];

    if (slot == NULL)
        return false;
    write_nonce(nonce, slot, t->number);
    if (slot->vaes != NULL) {
        vaes_seal(slot->vaes, nonce, t);
        return true;
    }
    return gnutls_aead_cipher_encrypt(slot->handle, nonce, sizeof(nonce), t->bound, t->bound_bytes,
                                      SEAL_TAG_BYTES, t->bytes > 0 ? t->in : nonce, t->bytes,
                                      t->out, &out) == 0;
}

static bool open(void *keys, const struct seal_text *t)
{
    const struct slot *slot = slot_of(keys, t->epoch);
    uint8_t nonce[CHAIN_IV_BYTES], nothing[1];
    size_t out = t->bytes;

    if (slot == NULL)
        return false;
    write_nonce(nonce, slot, t->number);
    if (slot->vaes != NULL)
        return vaes_open(slot->vaes, nonce, t);
    return gnutls_aead_cipher_decrypt(slot->handle, nonce, sizeof(nonce), t->bound, t->bound_bytes,
                                      SEAL_TAG_BYTES, t->in, t->bytes + SEAL_TAG_BYTES,
                                      t->bytes > 0 ? t->out : nothing, &out) == 0;
}

static void reach(void *keys, uint64_t epoch)
{
    struct chain *c = keys;
    bool is_made = c->newest < epoch;

    while (is_made && c->newest + 1 < epoch)
        is_made = make_next_secret(c);
    if (is_made)
        (void)make_next(c);
}

const struct cipher chain_cipher = {.seal = seal, .open = open, .forget = forget, .reach = reach};
