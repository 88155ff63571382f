/* What others have published: RFC 8448's key schedule, and AEADs as RFC 8439 and the collection
 * Wycheproof have them. */
#include "keys/chain.h"

#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

enum { TEXT_MOST = 256 };

static size_t from_hex(const char *text, uint8_t bytes[TEXT_MOST])
{
    size_t room = TEXT_MOST;
    const gnutls_datum_t hex = {(unsigned char *)text, (unsigned int)strlen(text)};
    if (hex.size == 0)
        return 0;
    ck_assert_int_eq(gnutls_hex_decode(&hex, bytes, &room), 0);
    return room;
}

/* RFC 8448, 3: the keys that follow from a traffic secret. */
static const struct {
    const char *secret, *label, *wanted;
} expansions[] = {
    {"b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21", "key",
     "dbfaa693d1762c5b666af5d950258d01"},
    {"b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21", "iv",
     "5bd3c71b836e0b76bb73265f"},
    {"b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38", "key",
     "3fce516009c21727d0f2e4e86ee403bc"},
    {"b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38", "iv",
     "5d313eb2671276ee13000b30"},
    {"b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38", "finished",
     "008d3b66f816ea559f96b537e885c31fc068bf492c652f01f288a1d8cdc19fc8"},
};

TEST(chain_expand__rfc_8448, .rows = ROWS(expansions))
{
    uint8_t secret[TEXT_MOST], wanted[TEXT_MOST], made[TEXT_MOST];
    ck_assert_uint_eq(from_hex(expansions[_i].secret, secret), CHAIN_SECRET_BYTES);
    size_t bytes = from_hex(expansions[_i].wanted, wanted);
    ck_assert(chain_expand(secret, expansions[_i].label, made, bytes));
    ck_assert_mem_eq(made, wanted, bytes);
}

/* The cipher, apart from where keys come from. */
static const struct {
    gnutls_cipher_algorithm_t cipher;
    const char *key, *nonce, *bound, *text, *sealed, *tag;
    bool is_valid;
} texts[] = {
    /* As in Wycheproof's aes_gcm_test.json: two cases, and the first with another tag. */
    {GNUTLS_CIPHER_AES_128_GCM, "5b9604fe14eadba931b0ccf34843dab9", "028318abc1824029138141a2", "",
     "001d0c231287c1182784554ca3a21908", "26073cc1d851beff176384dc9896d5ff",
     "0a3ea7a5487cb5f7d70fb6c58d038554", true},
    {GNUTLS_CIPHER_AES_128_GCM, "5b9604fe14eadba931b0ccf34843dab9", "921d2507fa8007b7bd067d34",
     "00112233445566778899aabbccddeeff", "001d0c231287c1182784554ca3a21908",
     "49d8b9783e911913d87094d1f63cc765", "1e348ba07cca2cf04c618cb4d43a5b92", true},
    {GNUTLS_CIPHER_AES_128_GCM, "5b9604fe14eadba931b0ccf34843dab9", "028318abc1824029138141a2", "",
     "001d0c231287c1182784554ca3a21908", "26073cc1d851beff176384dc9896d5ff",
     "0b3ea7a5487cb5f7d70fb6c58d038554", false},
    /* RFC 8439, 2.8.2, which is Wycheproof's case 1 of chacha20_poly1305_test.json */
    {GNUTLS_CIPHER_CHACHA20_POLY1305,
     "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
     "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a20496620"
     "4920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c"
     "2073756e73637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92"
     "728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b"
     "4831d7bc3ff4def08e4b7a9de576d26586cec64b6116",
     "1ae10b594f09e26a7e902ecbd0600691", true},
};

TEST(cipher__published, .rows = ROWS(texts))
{
    uint8_t key[TEXT_MOST], nonce[TEXT_MOST], bound[TEXT_MOST], text[TEXT_MOST];
    uint8_t sealed[TEXT_MOST], out[TEXT_MOST];
    const gnutls_datum_t datum = {key, (unsigned int)from_hex(texts[_i].key, key)};
    size_t bound_bytes = from_hex(texts[_i].bound, bound), bytes = from_hex(texts[_i].text, text);
    size_t sealed_bytes = from_hex(texts[_i].sealed, sealed), room = TEXT_MOST;
    gnutls_aead_cipher_hd_t handle;
    ck_assert_uint_eq(from_hex(texts[_i].nonce, nonce), CHAIN_IV_BYTES);
    ck_assert_uint_eq(from_hex(texts[_i].tag, sealed + sealed_bytes), SEAL_TAG_BYTES);
    ck_assert_int_eq(gnutls_aead_cipher_init(&handle, texts[_i].cipher, &datum), 0);
    int code = gnutls_aead_cipher_decrypt(handle, nonce, CHAIN_IV_BYTES, bound, bound_bytes,
                                          SEAL_TAG_BYTES, sealed, sealed_bytes + SEAL_TAG_BYTES,
                                          out, &room);
    ck_assert_int_eq(code == 0, texts[_i].is_valid);
    if (texts[_i].is_valid)
        ck_assert_mem_eq(out, text, bytes);
    gnutls_aead_cipher_deinit(handle);
}

/* A chain is the same at both ends, in any order of epochs that an opener lets come. */
static const enum chain_cipher ciphers[] = {CHAIN_AES_128_GCM, CHAIN_CHACHA20_POLY1305};

TEST(chain__epochs, .rows = ROWS(ciphers))
{
    const uint8_t secret[CHAIN_SECRET_BYTES] = {1};
    struct chain *out = chain_create(ciphers[_i], secret), *in = chain_create(ciphers[_i], secret);
    uint8_t sealed[4][40], opened[24];
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        struct seal_text t = {epoch, 7, secret, 9, secret, 24, sealed[epoch]};
        ck_assert(chain_cipher.seal(out, &t));
    }
    ck_assert_mem_ne(sealed[0], sealed[1], 24);
    static const uint64_t order[] = {1, 0, 2, 1, 3, 2};
    for (int i = 0; i < ROWS(order); i++) {
        struct seal_text t = {order[i], 7, secret, 9, sealed[order[i]], 24, opened};
        ck_assert(chain_cipher.open(in, &t));
        ck_assert_mem_eq(opened, secret, 24);
        t.epoch ^= 1;
        ck_assert(!chain_cipher.open(in, &t)); /* with the keys of another epoch */
    }
    chain_cipher.reach(out, 1000); /* at once, or bit by bit */
    chain_cipher.reach(in, 999);
    chain_cipher.reach(in, 7);
    struct seal_text far = {1000, 7, secret, 9, secret, 24, sealed[0]};
    ck_assert(chain_cipher.seal(out, &far));
    far = (struct seal_text){1000, 7, secret, 9, sealed[0], 24, opened};
    ck_assert(chain_cipher.open(in, &far));
    chain_cipher.forget(in, 3);
    struct seal_text old = {2, 7, secret, 9, sealed[2], 24, opened};
    ck_assert(!chain_cipher.open(in, &old));
    chain_destroy(in);
    chain_destroy(out);
}
#endif
