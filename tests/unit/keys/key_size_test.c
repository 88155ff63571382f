/* A key that costs: what it takes to refuse a stranger's public key of any size. */
#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include "../../support/papers.h"
#include "keys/identity.h"
#include "keys/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DATAGRAMS_MOST = 200 };

/* ---- a stranger's keys: a public key of any numbers, and signatures that are nonsense. GnuTLS
 * would not make them. ---- */

/* An RSA key of these lengths, and how many bytes its signatures have. */
struct hostile_key {
    unsigned int modulus_bits, exponent_bits;
};

static const char hostile_own[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";

/* A number of that many bits, all of them 1, in the memory of the caller. */
static gnutls_datum_t hostile_number(uint8_t *room, unsigned int bits)
{
    unsigned int bytes = (bits + 7) / 8;

    memset(room, 0xFF, bytes);
    room[0] = (uint8_t)(0xFF >> (8 * bytes - bits));
    return (gnutls_datum_t){room, bytes};
}

static gnutls_pubkey_t hostile_public(const struct hostile_key *k)
{
    static uint8_t modulus[8192], exponent[8192];
    const gnutls_datum_t m = hostile_number(modulus, k->modulus_bits);
    const gnutls_datum_t e = hostile_number(exponent, k->exponent_bits);
    gnutls_pubkey_t key;

    ck_assert_int_eq(gnutls_pubkey_init(&key), 0);
    ck_assert_int_eq(gnutls_pubkey_import_rsa_raw(key, &m, &e), 0);
    ck_assert_int_eq(gnutls_pubkey_set_key_usage(key, GNUTLS_KEY_DIGITAL_SIGNATURE), 0);
    return key;
}

static int hostile_info(gnutls_privkey_t key, unsigned int flags, void *context)
{
    const struct hostile_key *k = context;

    (void)key;
    if (flags & GNUTLS_PRIVKEY_INFO_HAVE_SIGN_ALGO)
        return GNUTLS_FLAGS_TO_SIGN_ALGO(flags) == GNUTLS_SIGN_RSA_PSS_RSAE_SHA256;
    if (flags & GNUTLS_PRIVKEY_INFO_PK_ALGO_BITS)
        return (int)k->modulus_bits;
    return flags & GNUTLS_PRIVKEY_INFO_PK_ALGO ? GNUTLS_PK_RSA : -1;
}

static int hostile_sign(gnutls_privkey_t key, gnutls_sign_algorithm_t algorithm, void *context,
                        unsigned int flags, const gnutls_datum_t *text, gnutls_datum_t *signature)
{
    const struct hostile_key *k = context;

    (void)key, (void)algorithm, (void)flags, (void)text;
    signature->size = (k->modulus_bits + 7) / 8;
    signature->data = gnutls_malloc(signature->size);
    ck_assert_ptr_nonnull(signature->data);
    memset(signature->data, 0x5A, signature->size);
    return 0;
}

/* What GnuTLS is to show, whatever it thinks of it; from hostile_raw or _certified to _forget. */
static gnutls_pcert_st hostile_shown;
static gnutls_privkey_t hostile_private;

/* Fine if there is none. */
static void hostile_forget(void)
{
    if (hostile_private == NULL)
        return;
    gnutls_pcert_deinit(&hostile_shown);
    gnutls_privkey_deinit(hostile_private);
    hostile_private = NULL;
}

static int hostile_choose(gnutls_session_t session, const gnutls_datum_t *authorities, int count,
                          const gnutls_pk_algorithm_t *kinds, int kind_count,
                          gnutls_pcert_st **shown, unsigned int *shown_count,
                          gnutls_privkey_t *private)
{
    (void)session, (void)authorities, (void)count, (void)kinds, (void)kind_count;
    *shown = &hostile_shown;
    *shown_count = 1;
    *private = hostile_private;
    return 0;
}

static void hostile_show(struct zcrp_keys *keys, const struct hostile_key *k)
{
    gnutls_certificate_free_credentials(keys->own);
    ck_assert_int_eq(gnutls_certificate_allocate_credentials(&keys->own), 0);
    ck_assert_int_eq(gnutls_privkey_init(&hostile_private), 0);
    ck_assert_int_eq(gnutls_privkey_import_ext4(hostile_private, (void *)k, hostile_sign,
                                                hostile_sign, NULL, NULL, hostile_info, 0),
                     0);
    gnutls_certificate_set_retrieve_function2(keys->own, hostile_choose);
}

/* The fingerprint of hostile_own, which an honest end may have. */
static const char *hostile_fingerprint(void)
{
    static char text[2 * ZCRP_KEYS_FINGERPRINT_BYTES + 1];
    uint8_t digest[ZCRP_KEYS_FINGERPRINT_BYTES];
    const gnutls_datum_t pem = {(unsigned char *)hostile_own, sizeof(hostile_own) - 1};
    gnutls_datum_t der;
    gnutls_privkey_t private;
    gnutls_pubkey_t public;
    size_t room = sizeof(text);

    ck_assert_int_eq(gnutls_privkey_init(&private), 0);
    ck_assert_int_eq(gnutls_privkey_import_x509_raw(private, &pem, GNUTLS_X509_FMT_PEM, NULL, 0),
                     0);
    ck_assert_int_eq(gnutls_pubkey_init(&public), 0);
    ck_assert_int_eq(gnutls_pubkey_import_privkey(public, private, GNUTLS_KEY_DIGITAL_SIGNATURE, 0),
                     0);
    ck_assert_int_eq(gnutls_pubkey_export2(public, GNUTLS_X509_FMT_DER, &der), 0);
    ck_assert_int_eq(gnutls_hash_fast(GNUTLS_DIG_SHA256, der.data, der.size, digest), 0);
    const gnutls_datum_t bytes = {digest, sizeof(digest)};
    ck_assert_int_eq(gnutls_hex_encode(&bytes, text, &room), 0);
    gnutls_free(der.data);
    gnutls_pubkey_deinit(public);
    gnutls_privkey_deinit(private);
    return text;
}

/* Raw keys that show this public key, and take whoever has hostile_own. The caller's, to be freed;
 * `k` has to outlive them. */
static struct zcrp_keys *hostile_raw(const struct hostile_key *k)
{
    struct zcrp_keys *keys;
    gnutls_pubkey_t public = hostile_public(k);

    ck_assert_int_eq(zcrp_keys_raw(&keys, hostile_own, strlen(hostile_own)), 0);
    ck_assert_int_eq(gnutls_pcert_import_rawpk(&hostile_shown, public, 0), 0);
    hostile_show(keys, k);
    ck_assert_int_eq(zcrp_keys_pin(keys, hostile_fingerprint()), 0);
    return keys;
}

static gnutls_datum_t hostile_read(const char *path)
{
    gnutls_datum_t text;

    ck_assert_int_eq(gnutls_load_file(path, &text), 0);
    return text;
}

/* A certificate for this public key, by that authority. */
static void hostile_certify(const struct hostile_key *k, const struct papers *authority)
{
    static const unsigned char serial = 2;
    gnutls_datum_t above_text = hostile_read(authority->certificate);
    gnutls_datum_t key_text = hostile_read(authority->key);
    gnutls_pubkey_t public = hostile_public(k);
    gnutls_x509_privkey_t signer;
    gnutls_x509_crt_t above, crt;

    ck_assert_int_eq(gnutls_x509_crt_init(&above), 0);
    ck_assert_int_eq(gnutls_x509_crt_import(above, &above_text, GNUTLS_X509_FMT_PEM), 0);
    ck_assert_int_eq(gnutls_x509_privkey_init(&signer), 0);
    ck_assert_int_eq(gnutls_x509_privkey_import(signer, &key_text, GNUTLS_X509_FMT_PEM), 0);
    ck_assert_int_eq(gnutls_x509_crt_init(&crt), 0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, &serial, 1);
    gnutls_x509_crt_set_activation_time(crt, time(NULL) - 86400);
    gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 86400);
    gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "peer.example", 12, 0);
    ck_assert_int_eq(gnutls_x509_crt_set_pubkey(crt, public), 0);
    ck_assert_int_eq(gnutls_x509_crt_sign2(crt, above, signer, GNUTLS_DIG_UNKNOWN, 0), 0);
    ck_assert_int_eq(gnutls_pcert_import_x509(&hostile_shown, crt, 0), 0);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(signer);
    gnutls_x509_crt_deinit(above);
    gnutls_pubkey_deinit(public);
    gnutls_free(above_text.data);
    gnutls_free(key_text.data);
}

/* Keys that show such a certificate, and take whomever that authority has certified. */
static struct zcrp_keys *hostile_certified(const struct hostile_key *k,
                                           const struct papers *authority)
{
    struct zcrp_keys *keys;

    ck_assert_int_eq(zcrp_keys_certificate(&keys, authority->certificate, authority->key,
                                           authority->certificate, NULL),
                     0);
    hostile_certify(k, authority);
    hostile_show(keys, k);
    /* what it trusts went with what it had shown */
    ck_assert_int_gt(gnutls_certificate_set_x509_trust_file(keys->own, authority->certificate,
                                                            GNUTLS_X509_FMT_PEM),
                     0);
    return keys;
}

/* ---- two ends ---- */

struct end {
    struct handshake h;
    struct tls *tls;
    struct zcrp_keys *keys;
    enum tls_verdict verdict;
    int64_t cost_ns; /* of the processor: all of its turns */
};

static struct end client, server;
static instant now = SECOND;

static int64_t processor_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static void turn(struct end *e)
{
    if (e->verdict != TLS_GOES_ON)
        return;
    int64_t before = processor_ns();
    e->verdict = tls_turn(e->tls, now);
    e->cost_ns += processor_ns() - before;
    if (e->verdict == TLS_DONE)
        handshake_end(&e->h);
    if (e->verdict == TLS_FAILED)
        handshake_refuse(&e->h);
}

static int say(struct end *from, struct end *to)
{
    uint8_t datagram[HANDSHAKE_BYTES];
    size_t size;
    int said = 0;

    for (; (size = handshake_take(&from->h, datagram)) > 0; said++)
        if (handshake_hear(&to->h, now, datagram, size))
            turn(to);
    return said;
}

static void begin(struct end *e, bool is_connecting)
{
    handshake_init(&e->h, is_connecting, 11, 77, now);
    e->tls = tls_create(e->keys, &e->h);
    ck_assert_ptr_nonnull(e->tls);
    e->verdict = TLS_GOES_ON;
    e->cost_ns = 0;
}

static void shake(void)
{
    const struct cookie_answer cookie = {.pairing = {.tag = 11}, .nonce = 77, .cookie = 5};

    begin(&client, true);
    begin(&server, false);
    ck_assert(handshake_on_cookie(&client.h, now, &cookie));
    turn(&client);
    for (int i = 0; i < DATAGRAMS_MOST && say(&client, &server) + say(&server, &client) > 0; i++)
        continue;
}

static void end(void)
{
    tls_destroy(client.tls);
    tls_destroy(server.tls);
    zcrp_keys_free(client.keys);
    zcrp_keys_free(server.keys);
    hostile_forget();
}

static struct zcrp_keys *honest(void)
{
    struct zcrp_keys *keys;

    ck_assert_int_eq(zcrp_keys_raw(&keys, hostile_own, strlen(hostile_own)), 0);
    return keys;
}

static void expect_cheap_refusal(const struct end *victim, const struct hostile_key *k)
{
    printf("%u and %u bits: %.3f ms\n", k->modulus_bits, k->exponent_bits,
           (double)victim->cost_ns / 1e6);
    ck_assert_int_eq(victim->verdict, TLS_FAILED);
    ck_assert_int_lt(victim->cost_ns, 50 * MILLISECOND);
}

static const struct hostile_key costly[] = {{30000, 30000}, {29999, 17}, {4096, 30000}};

/* Neither side gets as far as the signature. Before there was a bound, the first cost 1.6 s. */
TEST(key_size__costs_nobody_seconds, .rows = 2 * ROWS(costly))
{
    bool is_server_hostile = _i >= ROWS(costly);
    const struct hostile_key *k = &costly[_i % ROWS(costly)];

    client.keys = is_server_hostile ? honest() : hostile_raw(k);
    server.keys = is_server_hostile ? hostile_raw(k) : honest();
    shake();
    expect_cheap_refusal(is_server_hostile ? &client : &server, k);
    end();
}

/* The same in a certificate, of somebody whom the victim trusts, and of somebody else. */
TEST(key_size__certificates_cost_nobody_seconds, .rows = 4)
{
    bool is_server_hostile = _i / 2 == 1, is_trusted = _i % 2 == 1;
    const struct hostile_key *k = &costly[0];
    struct papers authority = make_papers("authority.example", &plain_claim);
    struct papers other = make_papers("other.example", &plain_claim);
    struct zcrp_keys *victim, *hostile = hostile_certified(k, &authority);

    ck_assert_int_eq(zcrp_keys_certificate(&victim, authority.certificate, authority.key,
                                           is_trusted ? authority.certificate : other.certificate,
                                           NULL),
                     0);
    client.keys = is_server_hostile ? victim : hostile;
    server.keys = is_server_hostile ? hostile : victim;
    shake();
    expect_cheap_refusal(is_server_hostile ? &client : &server, k);
    end();
    burn(&authority);
    burn(&other);
}

/* The client refuses the server's key, pins the key that it was shown, and both begin anew. */
static void shake_pinned(void)
{
    char shown[2 * ZCRP_KEYS_IDENTITY_MOST];

    shake();
    ck_assert(tls_identity(client.tls, shown, sizeof(shown)));
    ck_assert_int_eq(zcrp_keys_pin(client.keys, shown), 0);
    tls_destroy(client.tls);
    tls_destroy(server.tls);
    shake();
}

/* A key of somebody who is taken, and gives away its own: it is refused for its size. */
TEST(key_size__also_of_those_that_are_pinned)
{
    client.keys = honest();
    server.keys = hostile_raw(&costly[2]);
    shake_pinned();
    expect_cheap_refusal(&client, &costly[2]);
    end();
}

/* A signature that is wrong, with a key that is taken. */
TEST(key_size__a_signature_is_checked)
{
    static const struct hostile_key small = {2048, 17};

    client.keys = honest();
    server.keys = hostile_raw(&small);
    shake_pinned();
    ck_assert(client.tls != NULL);
    ck_assert_int_eq(client.verdict, TLS_FAILED);
    end();
}

static const struct {
    struct hostile_key key;
    bool has_bounds;
} bounds[] = {
    {{4096, 32}, true},  {{2048, 17}, true},  {{4097, 17}, false},
    {{4096, 33}, false}, {{8192, 17}, false}, {{30000, 2}, false},
};

TEST(key_size__bounds_of_rsa, .rows = ROWS(bounds))
{
    gnutls_pubkey_t key = hostile_public(&bounds[_i].key);

    ck_assert_int_eq(identity_bounds(key),
                     bounds[_i].has_bounds ? 0 : GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM);
    gnutls_pubkey_deinit(key);
}

/* Own keys, as zcrp_keys_raw reads them. */
TEST(key_size__kinds, .rows = ROWS(key_kinds))
{
    struct papers papers = make_papers("any.example", &key_kinds[_i].claim);
    gnutls_datum_t text = hostile_read(papers.key);

    ck_assert_int_eq(zcrp_keys_raw(&server.keys, text.data, text.size), key_kinds[_i].code);
    if (server.keys != NULL) {
        client.keys = honest();
        ck_assert_int_eq(zcrp_keys_pin(server.keys, hostile_fingerprint()), 0);
        shake_pinned();
        ck_assert_int_eq(client.verdict, TLS_DONE);
        ck_assert_int_eq(server.verdict, TLS_DONE);
        end();
    }
    gnutls_free(text.data);
    burn(&papers);
}
#endif
