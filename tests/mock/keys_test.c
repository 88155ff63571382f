/* Keys and handshakes while memory is short: each allocation fails once, and each call of GnuTLS
 * that allocates. Whoever asked is told that it was memory. */
/* wrap: malloc calloc gnutls_priority_init gnutls_certificate_allocate_credentials */
/* wrap: gnutls_privkey_init gnutls_privkey_import_x509_raw gnutls_pubkey_init */
/* wrap: gnutls_pubkey_import_privkey gnutls_pubkey_export2 gnutls_pubkey_import_x509 */
/* wrap: gnutls_certificate_set_rawpk_key_mem gnutls_certificate_set_x509_trust_mem */
/* wrap: gnutls_certificate_set_x509_key_mem gnutls_certificate_get_x509_crt */
/* wrap: gnutls_init gnutls_session_ext_register gnutls_priority_set gnutls_credentials_set */
/* wrap: gnutls_psk_allocate_client_credentials gnutls_psk_allocate_server_credentials */
/* wrap: gnutls_psk_set_client_credentials gnutls_hkdf_expand gnutls_aead_cipher_init */
/* wrap: gnutls_pubkey_export_rsa_raw2 gnutls_pubkey_export_ecc_raw2 */
#include "../support/mock.h"

#ifdef ZCRP_KEYS
#include "keys/identity.h"
#include "keys/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- what fails ---- */

static int left; /* calls until the one that fails; 0: none does */

static bool fails(void)
{
    return left > 0 && --left == 0;
}

#define WRAP(type, lack, name, parameters, arguments)                                              \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails() ? lack : __real_##name arguments;                                           \
    }
#define GNUTLS(name, parameters, arguments)                                                        \
    WRAP(int, GNUTLS_E_MEMORY_ERROR, gnutls_##name, parameters, arguments)

WRAP(void *, NULL, malloc, (size_t size), (size))
WRAP(void *, NULL, calloc, (size_t count, size_t size), (count, size))

GNUTLS(priority_init, (gnutls_priority_t * p, const char *text, const char **where),
       (p, text, where))
GNUTLS(certificate_allocate_credentials, (gnutls_certificate_credentials_t * c), (c))
GNUTLS(privkey_init, (gnutls_privkey_t * key), (key))
GNUTLS(privkey_import_x509_raw,
       (gnutls_privkey_t key, const gnutls_datum_t *text, gnutls_x509_crt_fmt_t format,
        const char *password, unsigned int flags),
       (key, text, format, password, flags))
GNUTLS(pubkey_init, (gnutls_pubkey_t * key), (key))
GNUTLS(pubkey_import_privkey,
       (gnutls_pubkey_t key, gnutls_privkey_t own, unsigned int usage, unsigned int flags),
       (key, own, usage, flags))
GNUTLS(pubkey_export2, (gnutls_pubkey_t key, gnutls_x509_crt_fmt_t format, gnutls_datum_t *text),
       (key, format, text))
GNUTLS(pubkey_export_rsa_raw2,
       (gnutls_pubkey_t key, gnutls_datum_t *modulus, gnutls_datum_t *exponent, unsigned int flags),
       (key, modulus, exponent, flags))
GNUTLS(pubkey_export_ecc_raw2,
       (gnutls_pubkey_t key, gnutls_ecc_curve_t *curve, gnutls_datum_t *x, gnutls_datum_t *y,
        unsigned int flags),
       (key, curve, x, y, flags))
GNUTLS(pubkey_import_x509, (gnutls_pubkey_t key, gnutls_x509_crt_t of, unsigned int flags),
       (key, of, flags))
GNUTLS(certificate_set_rawpk_key_mem,
       (gnutls_certificate_credentials_t c, const gnutls_datum_t *info, const gnutls_datum_t *own,
        gnutls_x509_crt_fmt_t format, const char *password, unsigned int usage, const char **names,
        unsigned int count, unsigned int flags),
       (c, info, own, format, password, usage, names, count, flags))
GNUTLS(certificate_set_x509_trust_mem,
       (gnutls_certificate_credentials_t c, const gnutls_datum_t *text,
        gnutls_x509_crt_fmt_t format),
       (c, text, format))
GNUTLS(certificate_set_x509_key_mem,
       (gnutls_certificate_credentials_t c, const gnutls_datum_t *text, const gnutls_datum_t *own,
        gnutls_x509_crt_fmt_t format),
       (c, text, own, format))
GNUTLS(init, (gnutls_session_t * session, unsigned int flags), (session, flags))
GNUTLS(session_ext_register,
       (gnutls_session_t session, const char *name, int number, gnutls_ext_parse_type_t when,
        gnutls_ext_recv_func hear, gnutls_ext_send_func say, gnutls_ext_deinit_data_func end,
        gnutls_ext_pack_func pack, gnutls_ext_unpack_func unpack, unsigned int flags),
       (session, name, number, when, hear, say, end, pack, unpack, flags))
GNUTLS(priority_set, (gnutls_session_t session, gnutls_priority_t p), (session, p))
GNUTLS(credentials_set, (gnutls_session_t session, gnutls_credentials_type_t type, void *c),
       (session, type, c))
GNUTLS(psk_allocate_client_credentials, (gnutls_psk_client_credentials_t * c), (c))
GNUTLS(psk_allocate_server_credentials, (gnutls_psk_server_credentials_t * c), (c))
GNUTLS(psk_set_client_credentials,
       (gnutls_psk_client_credentials_t c, const char *name, const gnutls_datum_t *key,
        gnutls_psk_key_flags flags),
       (c, name, key, flags))
GNUTLS(hkdf_expand,
       (gnutls_mac_algorithm_t mac, const gnutls_datum_t *key, const gnutls_datum_t *info,
        void *out, size_t bytes),
       (mac, key, info, out, bytes))
GNUTLS(aead_cipher_init,
       (gnutls_aead_cipher_hd_t * handle, gnutls_cipher_algorithm_t cipher,
        const gnutls_datum_t *key),
       (handle, cipher, key))

/* Where it fails, it has told the number already. */
int __real_gnutls_certificate_get_x509_crt(gnutls_certificate_credentials_t c, unsigned int index,
                                           gnutls_x509_crt_t **chain, unsigned int *count);
int __wrap_gnutls_certificate_get_x509_crt(gnutls_certificate_credentials_t c, unsigned int index,
                                           gnutls_x509_crt_t **chain, unsigned int *count)
{
    if (!fails())
        return __real_gnutls_certificate_get_x509_crt(c, index, chain, count);
    *chain = NULL;
    *count = 1;
    return GNUTLS_E_MEMORY_ERROR;
}

/* ---- keys ---- */

static const uint8_t secret[ZCRP_KEYS_PSK_LEAST] = {1};

static const char own_key[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEIOx8w9tcvJUr3fb9DaCqYqlR6TTPjj7j3naBO9PYM4sL\n"
                              "-----END PRIVATE KEY-----\n";

static char folder[] = "/tmp/zcrp-keys-XXXXXX";
enum { ROOM = sizeof(folder) + 16 };
static char key_path[ROOM], certificate_path[ROOM], shared_path[ROOM];

static void write_file(char path[ROOM], const char *name, const char *text)
{
    snprintf(path, ROOM, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(fclose(file), 0);
}

/* A certificate of this key, that has signed itself. It is made here, so no day comes on which it
 * has ended. */
static void write_certificate(gnutls_x509_privkey_t key)
{
    static const unsigned char serial = 1;
    gnutls_x509_crt_t crt;
    gnutls_datum_t text;

    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_set_version(crt, 3), 0);
    assert_int_equal(gnutls_x509_crt_set_serial(crt, &serial, 1), 0);
    assert_int_equal(gnutls_x509_crt_set_activation_time(crt, time(NULL) - 86400), 0);
    assert_int_equal(gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 86400), 0);
    assert_int_equal(gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "a", 1), 0);
    assert_int_equal(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "a", 1, 0), 0);
    assert_int_equal(gnutls_x509_crt_set_basic_constraints(crt, 1, -1), 0);
    assert_int_equal(gnutls_x509_crt_set_key(crt, key), 0);
    assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_UNKNOWN, 0), 0);
    assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &text), 0);
    write_file(certificate_path, "certificate", (const char *)text.data);
    gnutls_free(text.data);
    gnutls_x509_crt_deinit(crt);
}

/* The files of a new key of this kind, instead of those that there were. */
static void write_new_key(gnutls_pk_algorithm_t kind, unsigned int bits)
{
    gnutls_x509_privkey_t key;
    gnutls_datum_t text;

    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_generate(key, kind, bits, 0), 0);
    assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text), 0);
    write_file(key_path, "key", (const char *)text.data);
    write_certificate(key);
    gnutls_free(text.data);
    gnutls_x509_privkey_deinit(key);
}

static void write_own_key(void)
{
    const gnutls_datum_t pem = {(unsigned char *)own_key, sizeof(own_key) - 1};
    gnutls_x509_privkey_t key;

    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_import(key, &pem, GNUTLS_X509_FMT_PEM), 0);
    write_file(key_path, "key", own_key);
    write_certificate(key);
    gnutls_x509_privkey_deinit(key);
}

static void setup(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    write_own_key();
    write_file(shared_path, "shared",
               "alice:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
}

static void teardown(void)
{
    left = 0;
    assert_int_equal(unlink(key_path), 0);
    assert_int_equal(unlink(certificate_path), 0);
    assert_int_equal(unlink(shared_path), 0);
    assert_int_equal(rmdir(folder), 0);
}

FIXTURE(setup, teardown)

static int make_shared(struct zcrp_keys **keys)
{
    return zcrp_keys_psk(keys, "alice", secret, sizeof(secret));
}

static int make_raw(struct zcrp_keys **keys)
{
    return zcrp_keys_raw(keys, own_key, strlen(own_key));
}

static int make_certificate(struct zcrp_keys **keys)
{
    return zcrp_keys_certificate(keys, certificate_path, key_path, certificate_path, "a");
}

static int read_shared(struct zcrp_keys **keys)
{
    return zcrp_keys_read(keys, shared_path);
}

static int read_pair(struct zcrp_keys **keys)
{
    return zcrp_keys_read(keys, key_path);
}

typedef int (*make_keys)(struct zcrp_keys **keys);

/* Does the call that is the `turn`-th fail, and make it fail? False: there are not so many. */
static bool lacks(make_keys make, int turn)
{
    struct zcrp_keys *keys = NULL;

    left = turn;
    int code = make(&keys);
    bool has_failed = left == 0;
    left = 0;
    assert_int_equal(code, has_failed ? ZCRP_ERROR_MEMORY : ZCRP_OK);
    assert_int_equal(keys == NULL, has_failed);
    zcrp_keys_free(keys);
    return has_failed;
}

/* Each of its calls fails once. */
static void lacks_each(make_keys make)
{
    int calls = 0;

    while (lacks(make, calls + 1))
        calls++;
    assert_true(calls >= 3);
}

TEST(keys__no_memory)
{
    static const make_keys all[] = {make_shared, make_raw, make_certificate, read_shared,
                                    read_pair};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        lacks_each(all[i]);
}

/* Of these kinds the check looks at the key's numbers, for which there has to be memory. */
TEST(keys__no_memory_for_the_check_of_a_key)
{
    static const struct {
        gnutls_pk_algorithm_t kind;
        unsigned int bits;
    } kinds[] = {
        {GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1)},
        {GNUTLS_PK_RSA, 2048},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        write_new_key(kinds[i].kind, kinds[i].bits);
        lacks_each(read_pair);
        lacks_each(make_certificate);
    }
}

/* What is there stays as it was. */
TEST(keys__no_memory_for_more)
{
    struct zcrp_keys *shared, *raw;
    char digits[2 * ZCRP_KEYS_FINGERPRINT_BYTES + 1];

    memset(digits, '0', sizeof(digits) - 1);
    digits[sizeof(digits) - 1] = '\0';
    assert_int_equal(make_shared(&shared), ZCRP_OK);
    assert_int_equal(make_raw(&raw), ZCRP_OK);
    left = 1;
    assert_int_equal(zcrp_keys_add_psk(shared, "bob", secret, sizeof(secret)), ZCRP_ERROR_MEMORY);
    left = 1;
    assert_int_equal(zcrp_keys_pin(raw, digits), ZCRP_ERROR_MEMORY);
    left = 1;
    assert_int_equal(zcrp_keys_log(raw, key_path), ZCRP_ERROR_MEMORY);
    assert_null(shared->shared->next);
    assert_null(raw->pinned);
    assert_null(raw->log);
    zcrp_keys_free(shared);
    zcrp_keys_free(raw);
}

/* ---- handshakes ---- */

static bool lacks_handshake(struct zcrp_keys *keys, bool is_connecting, int turn)
{
    struct handshake h;

    handshake_init(&h, is_connecting, 11, 77, SECOND);
    left = turn;
    struct tls *t = tls_create(keys, &h);
    bool has_failed = left == 0;
    left = 0;
    assert_int_equal(t == NULL, has_failed);
    tls_destroy(t);
    return has_failed;
}

TEST(tls_create__no_memory)
{
    static const make_keys kinds[] = {make_shared, make_raw};

    for (int i = 0; i < 4; i++) {
        struct zcrp_keys *keys;
        int calls = 0;
        assert_int_equal(kinds[i / 2](&keys), ZCRP_OK);
        while (lacks_handshake(keys, i % 2 == 0, calls + 1))
            calls++;
        assert_true(calls >= 5);
        assert_int_equal(keys->holders, 1);
        zcrp_keys_free(keys);
    }
}

static bool lacks_keyrings(enum chain_cipher cipher, int turn)
{
    static const uint8_t out[CHAIN_SECRET_BYTES] = {1}, in[CHAIN_SECRET_BYTES] = {2};
    struct keyring sender, receiver;

    left = turn;
    bool is_made = keyrings_make(cipher, out, in, &sender, &receiver);
    bool has_failed = left == 0;
    left = 0;
    assert_int_equal(is_made, !has_failed);
    keyring_fini(&sender); /* fine, also where nothing was made */
    keyring_fini(&receiver);
    return has_failed;
}

TEST(keyrings_make__no_memory)
{
    static const enum chain_cipher ciphers[] = {CHAIN_AES_128_GCM, CHAIN_CHACHA20_POLY1305};

    for (int i = 0; i < 2; i++) {
        int calls = 0;
        while (lacks_keyrings(ciphers[i], calls + 1))
            calls++;
        assert_true(calls >= 6 * 3 + 4);
    }
}
#else
TEST(keys__none)
{
    skip();
}
#endif
