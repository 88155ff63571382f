#include "identity.h"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <string.h>

/* ---- pre-shared keys ---- */

size_t identity_find_shared(const struct zcrp_keys *keys, const char *identity, uint8_t *key)
{
    for (const struct shared_key *k = keys->shared; k != NULL; k = k->next) {
        if (strcmp(k->identity, identity) != 0)
            continue;
        memcpy(key, k->key, k->bytes);
        return k->bytes;
    }
    if (keys->lookup == NULL)
        return 0;
    size_t bytes = keys->lookup(keys->lookup_context, identity, key, ZCRP_KEYS_PSK_MOST);
    return bytes >= ZCRP_KEYS_PSK_LEAST && bytes <= ZCRP_KEYS_PSK_MOST ? bytes : 0;
}

/* ---- what a signature may be checked with ---- */

enum { RSA_MODULUS_BITS_MOST = 4096, RSA_EXPONENT_BYTES_MOST = 4 };

static int rsa_bounds(gnutls_pubkey_t key, unsigned int modulus_bits)
{
    gnutls_datum_t modulus = {NULL, 0}, exponent = {NULL, 0};

    if (modulus_bits > RSA_MODULUS_BITS_MOST)
        return GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM;
    int code = gnutls_pubkey_export_rsa_raw2(key, &modulus, &exponent, GNUTLS_EXPORT_FLAG_NO_LZ);
    if (code < 0)
        return code;
    bool is_small = exponent.size <= RSA_EXPONENT_BYTES_MOST;
    gnutls_free(modulus.data);
    gnutls_free(exponent.data);
    return is_small ? 0 : GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM;
}

static int curve_bounds(gnutls_pubkey_t key)
{
    gnutls_ecc_curve_t curve;
    int code = gnutls_pubkey_export_ecc_raw2(key, &curve, NULL, NULL, 0);

    if (code < 0)
        return code;
    bool is_known = curve == GNUTLS_ECC_CURVE_SECP256R1 || curve == GNUTLS_ECC_CURVE_SECP384R1 ||
                    curve == GNUTLS_ECC_CURVE_SECP521R1;
    return is_known ? 0 : GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM;
}

int identity_bounds(gnutls_pubkey_t key)
{
    unsigned int bits = 0;
    int kind = gnutls_pubkey_get_pk_algorithm(key, &bits);
    int code = GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM;

    if (kind == GNUTLS_PK_EDDSA_ED25519)
        return 0;
    if (kind == GNUTLS_PK_RSA)
        code = rsa_bounds(key, bits);
    else if (kind == GNUTLS_PK_ECDSA)
        code = curve_bounds(key);
    return code >= 0 || code == GNUTLS_E_MEMORY_ERROR ? code
                                                      : GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM;
}

/* A key that was shown: of a certificate, or raw. */
static bool is_bounded(enum keys_kind kind, const gnutls_datum_t *shown)
{
    gnutls_pubkey_t key;

    if (gnutls_pubkey_init(&key) < 0)
        return false;
    int code = kind == KEYS_RAW ? gnutls_pubkey_import(key, shown, GNUTLS_X509_FMT_DER)
                                : gnutls_pubkey_import_x509_raw(key, shown, GNUTLS_X509_FMT_DER, 0);
    bool is_so = code >= 0 && identity_bounds(key) == 0;
    gnutls_pubkey_deinit(key);
    return is_so;
}

/* ---- whom this side takes ---- */

bool identity_fingerprint(gnutls_session_t session,
                          uint8_t fingerprint[ZCRP_KEYS_FINGERPRINT_BYTES])
{
    unsigned int count = 0;
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &count);

    return shown != NULL && count > 0 &&
           gnutls_hash_fast(GNUTLS_DIG_SHA256, shown[0].data, shown[0].size, fingerprint) == 0;
}

static bool is_pinned(const struct zcrp_keys *keys, gnutls_session_t session)
{
    uint8_t fingerprint[ZCRP_KEYS_FINGERPRINT_BYTES];

    if (!identity_fingerprint(session, fingerprint))
        return false;
    for (const struct pinned_key *pin = keys->pinned; pin != NULL; pin = pin->next)
        if (memcmp(pin->fingerprint, fingerprint, sizeof(fingerprint)) == 0)
            return true;
    return false;
}

/* Has the certificate that was shown, and verified, a name of a host where such names belong?
 * GnuTLS would take the common name of one that has none, or (some versions) of which it has read
 * none: it ends at a name that does not fit, whatever comes behind it. This one ends there, too. */
static bool has_alternative_name(gnutls_session_t session)
{
    unsigned int count = 0;
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &count);
    gnutls_x509_crt_t certificate;
    char name[256]; /* as large as GnuTLS's */
    int type = 0;

    if (gnutls_x509_crt_init(&certificate) < 0)
        return false;
    if (gnutls_x509_crt_import(certificate, &shown[0], GNUTLS_X509_FMT_DER) < 0)
        type = GNUTLS_E_CERTIFICATE_ERROR;
    bool is_found = false;
    for (unsigned int i = 0; !is_found && type >= 0; i++) {
        size_t size = sizeof(name);
        type = gnutls_x509_crt_get_subject_alt_name(certificate, i, name, &size, NULL);
        is_found = type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_IPADDRESS;
    }
    gnutls_x509_crt_deinit(certificate);
    return is_found;
}

static bool is_certified(const struct zcrp_keys *keys, gnutls_session_t session, bool is_listening)
{
    const char *purpose = is_listening ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER;
    gnutls_typed_vdata_st wanted[] = {
        {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)purpose},
        {.type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)keys->name},
    };
    unsigned int status = 0;
    bool has_name = keys->name[0] != '\0';

    return gnutls_certificate_verify_peers(session, wanted, has_name ? 2 : 1, &status) >= 0 &&
           status == 0 && (!has_name || has_alternative_name(session));
}

/* All keys that a chain shows, because a signature may be checked with each of them. */
static bool are_bounded(const struct zcrp_keys *keys, gnutls_session_t session)
{
    unsigned int count = 0;
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &count);

    for (unsigned int i = 0; i < count; i++)
        if (!is_bounded(keys->kind, &shown[i]))
            return false;
    return count > 0;
}

bool identity_takes_peer(const struct zcrp_keys *keys, gnutls_session_t session, bool is_listening)
{
    if (!are_bounded(keys, session))
        return false;
    return keys->kind == KEYS_RAW ? is_pinned(keys, session)
                                  : is_certified(keys, session, is_listening);
}
