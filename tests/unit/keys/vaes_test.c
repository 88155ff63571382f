/* Several blocks at a time give what one at a time gives. Where the processor or the build has no
 * such keys nothing is tested. */
#include "keys/vaes.h"

#include "../../support/random.h"
#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 70000, BOUND = 32 };

static uint8_t key[VAES_KEY_BYTES], nonce[VAES_NONCE_BYTES], bound[BOUND];
static uint8_t text[TEXT_MOST], sealed[TEXT_MOST + SEAL_TAG_BYTES], opened[TEXT_MOST];
static struct vaes_key *vaes;
static uint64_t state;

static void fill(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)random_next(&state);
}

static void set_up(void)
{
    state = 7;
    fill(key, sizeof key);
    fill(nonce, sizeof nonce);
    fill(bound, sizeof bound);
    fill(text, sizeof text);
    vaes = vaes_key_create(key);
}

static void tear_down(void)
{
    vaes_key_destroy(vaes);
}

FIXTURE(set_up, tear_down)

static struct seal_text of(const uint8_t *in, size_t bytes, uint8_t *out)
{
    return (struct seal_text){
        .bound = bound, .bound_bytes = BOUND, .in = in, .bytes = bytes, .out = out};
}

static void seal_otherwise(size_t bytes, uint8_t *out)
{
    const gnutls_datum_t datum = {key, sizeof key};
    gnutls_aead_cipher_hd_t handle;
    size_t room = bytes + SEAL_TAG_BYTES;
    ck_assert_int_eq(gnutls_aead_cipher_init(&handle, GNUTLS_CIPHER_AES_128_GCM, &datum), 0);
    ck_assert_int_eq(gnutls_aead_cipher_encrypt(handle, nonce, sizeof nonce, bound, BOUND,
                                                SEAL_TAG_BYTES, text, bytes, out, &room),
                     0);
    gnutls_aead_cipher_deinit(handle);
}

static void check_size(size_t bytes)
{
    static uint8_t other[TEXT_MOST + SEAL_TAG_BYTES];
    struct seal_text t = of(text, bytes, sealed);
    if (vaes == NULL)
        return;
    vaes_seal(vaes, nonce, &t);
    seal_otherwise(bytes, other);
    ck_assert_int_eq(memcmp(sealed, other, bytes + SEAL_TAG_BYTES), 0);
    t = of(sealed, bytes, opened);
    memset(opened, 0, sizeof opened);
    ck_assert(vaes_open(vaes, nonce, &t));
    ck_assert_int_eq(memcmp(opened, text, bytes), 0);
}

TEST(vaes_seal__as_otherwise)
{
    for (size_t bytes = 0; bytes <= 1100; bytes++)
        check_size(bytes);
    for (size_t bytes = 1101; bytes <= TEXT_MOST; bytes += 997)
        check_size(bytes);
}

TEST(vaes_seal__in_place)
{
    static uint8_t place[TEXT_MOST + SEAL_TAG_BYTES];
    for (size_t bytes = 0; bytes <= 2000 && vaes != NULL; bytes += 37) {
        memcpy(place, text, bytes);
        struct seal_text t = of(place, bytes, place);
        vaes_seal(vaes, nonce, &t);
        seal_otherwise(bytes, sealed);
        ck_assert_int_eq(memcmp(place, sealed, bytes + SEAL_TAG_BYTES), 0);
        ck_assert(vaes_open(vaes, nonce, &t));
        ck_assert_int_eq(memcmp(place, text, bytes), 0);
    }
}

TEST(vaes_open__each_bit_counts)
{
    enum { BYTES = 100 };
    struct seal_text t = of(text, BYTES, sealed);
    if (vaes == NULL)
        return;
    vaes_seal(vaes, nonce, &t);
    t = of(sealed, BYTES, opened);
    for (size_t bit = 0; bit < 8 * (BYTES + SEAL_TAG_BYTES); bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!vaes_open(vaes, nonce, &t));
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < (size_t)8 * BOUND; bit++) {
        bound[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!vaes_open(vaes, nonce, &t));
        bound[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert(vaes_open(vaes, nonce, &t));
}

TEST(vaes_open__writes_no_byte_beyond)
{
    for (size_t bytes = 0; bytes <= 300 && vaes != NULL; bytes++) {
        uint8_t *out = malloc(bytes + 64);
        ck_assert_ptr_nonnull(out);
        memset(out, 0xAA, bytes + 64);
        struct seal_text t = of(text, bytes, sealed);
        vaes_seal(vaes, nonce, &t);
        t = of(sealed, bytes, out);
        ck_assert(vaes_open(vaes, nonce, &t));
        for (size_t i = bytes; i < bytes + 64; i++)
            ck_assert_uint_eq(out[i], 0xAA);
        free(out);
    }
}
#endif
