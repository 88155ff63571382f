#include "vaes.h"

#ifdef ZCRP_IPSEC_MB

#include <gnutls/gnutls.h>
#include <intel-ipsec-mb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct vaes_key {
    _Alignas(ALIGNMENT) struct gcm_key_data data;
};

/* Of the process: its functions, which do not change any more. NULL: the processor lacks the
 * instructions. Never freed. */
static IMB_MGR *manager;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_functions(void)
{
    static const uint64_t wanted = IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;
    IMB_MGR *found = alloc_mb_mgr(0);

    if (found == NULL)
        return;
    init_mb_mgr_auto(found, NULL);
    if (imb_get_errno(found) == 0 && (found->features & wanted) == wanted)
        manager = found;
    else
        free_mb_mgr(found);
}

struct vaes_key *vaes_key_create(const uint8_t key[VAES_KEY_BYTES])
{
    (void)pthread_once(&once, find_functions);
    struct vaes_key *k = manager != NULL ? aligned_alloc(ALIGNMENT, sizeof(*k)) : NULL;

    if (k != NULL)
        IMB_AES128_GCM_PRE(manager, key, &k->data);
    return k;
}

void vaes_key_destroy(struct vaes_key *key)
{
    if (key == NULL)
        return;
    explicit_bzero(key, sizeof(*key));
    free(key);
}

void vaes_seal(const struct vaes_key *key, const uint8_t nonce[VAES_NONCE_BYTES],
               const struct seal_text *t)
{
    struct gcm_context_data context;

    IMB_AES128_GCM_ENC(manager, &key->data, &context, t->out, t->in, t->bytes, nonce, t->bound,
                       t->bound_bytes, t->out + t->bytes, SEAL_TAG_BYTES);
}

/* In place the tag stands behind the text, so it is still there. */
bool vaes_open(const struct vaes_key *key, const uint8_t nonce[VAES_NONCE_BYTES],
               const struct seal_text *t)
{
    struct gcm_context_data context;
    uint8_t tag[SEAL_TAG_BYTES];

    IMB_AES128_GCM_DEC(manager, &key->data, &context, t->out, t->in, t->bytes, nonce, t->bound,
                       t->bound_bytes, tag, sizeof(tag));
    return gnutls_memcmp(tag, t->in + t->bytes, sizeof(tag)) == 0;
}

#else

struct vaes_key *vaes_key_create(const uint8_t key[VAES_KEY_BYTES])
{
    (void)key;
    return NULL;
}

void vaes_key_destroy(struct vaes_key *key)
{
    (void)key;
}

void vaes_seal(const struct vaes_key *key, const uint8_t nonce[VAES_NONCE_BYTES],
               const struct seal_text *t)
{
    (void)key;
    (void)nonce;
    (void)t;
}

bool vaes_open(const struct vaes_key *key, const uint8_t nonce[VAES_NONCE_BYTES],
               const struct seal_text *t)
{
    (void)key;
    (void)nonce;
    (void)t;
    return false;
}

#endif
