/* The user's keys: pre-shared ones, raw public ones, and certificates. */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what a handshake may agree on ---- */

/* Groups as usual; signatures by the kinds of key that are taken (zcrp.h); only the ciphers whose
 * keys the chains know (chain.h), both of which come with SHA-256. */
#define PRIORITY                                                                                   \
    "NONE:+VERS-TLS1.3:+AEAD:+SHA256:+GROUP-X25519:+GROUP-SECP256R1:"                              \
    "+SIGN-EDDSA-ED25519:+SIGN-ECDSA-SECP256R1-SHA256:+SIGN-RSA-PSS-RSAE-SHA256:"                  \
    "+SIGN-ECDSA-SECP384R1-SHA384:+SIGN-ECDSA-SECP521R1-SHA512:"                                   \
    "%DISABLE_TLS13_COMPAT_MODE:"
#define AES_FIRST "+AES-128-GCM:+CHACHA20-POLY1305:"
#define AES_LAST "+CHACHA20-POLY1305:+AES-128-GCM:"

static const char *priority_of(enum keys_kind kind)
{
    bool is_aes = chain_prefers_aes();

    switch (kind) {
    case KEYS_SHARED:
        return is_aes ? PRIORITY AES_FIRST "+ECDHE-PSK:+CTYPE-ALL"
                      : PRIORITY AES_LAST "+ECDHE-PSK:+CTYPE-ALL";
    case KEYS_RAW:
        return is_aes
                   ? PRIORITY AES_FIRST "+ECDHE-ECDSA:+ECDHE-RSA:+CTYPE-CLI-RAWPK:+CTYPE-SRV-RAWPK"
                   : PRIORITY AES_LAST "+ECDHE-ECDSA:+ECDHE-RSA:+CTYPE-CLI-RAWPK:+CTYPE-SRV-RAWPK";
    case KEYS_CERTIFICATE:
        break;
    }
    return is_aes ? PRIORITY AES_FIRST "+ECDHE-ECDSA:+ECDHE-RSA:+CTYPE-X509"
                  : PRIORITY AES_LAST "+ECDHE-ECDSA:+ECDHE-RSA:+CTYPE-X509";
}

/* ---- life ---- */

static struct zcrp_keys *create(enum keys_kind kind)
{
    struct zcrp_keys *keys = calloc(1, sizeof(*keys));

    if (keys == NULL)
        return NULL;
    atomic_init(&keys->holders, 1);
    keys->kind = kind;
    if (gnutls_priority_init(&keys->priority, priority_of(kind), NULL) == 0)
        return keys;
    free(keys);
    return NULL;
}

struct zcrp_keys *keys_hold(struct zcrp_keys *keys)
{
    if (keys != NULL)
        atomic_fetch_add(&keys->holders, 1);
    return keys;
}

static void free_lists(struct zcrp_keys *keys)
{
    while (keys->shared != NULL) {
        struct shared_key *key = keys->shared;
        keys->shared = key->next;
        explicit_bzero(key, sizeof(*key));
        free(key);
    }
    while (keys->pinned != NULL) {
        struct pinned_key *pin = keys->pinned;
        keys->pinned = pin->next;
        free(pin);
    }
}

void zcrp_keys_free(struct zcrp_keys *keys)
{
    if (keys == NULL || atomic_fetch_sub(&keys->holders, 1) > 1)
        return;
    free_lists(keys);
    if (keys->own != NULL)
        gnutls_certificate_free_credentials(keys->own);
    gnutls_priority_deinit(keys->priority);
    log_close(keys->log);
    explicit_bzero(keys, sizeof(*keys));
    free(keys);
}

/* ---- pre-shared ---- */

static bool is_identity(const char *identity)
{
    size_t length = identity != NULL ? strlen(identity) : 0;

    return length >= 1 && length <= ZCRP_KEYS_IDENTITY_MOST;
}

int zcrp_keys_add_psk(struct zcrp_keys *keys, const char *identity, const void *key, size_t bytes)
{
    struct shared_key **end = keys != NULL ? &keys->shared : NULL;

    if (keys == NULL || keys->kind != KEYS_SHARED || !is_identity(identity) || key == NULL ||
        bytes < ZCRP_KEYS_PSK_LEAST || bytes > ZCRP_KEYS_PSK_MOST)
        return ZCRP_ERROR_ARGUMENT;
    struct shared_key *added = calloc(1, sizeof(*added));
    if (added == NULL)
        return ZCRP_ERROR_MEMORY;
    added->bytes = bytes;
    memcpy(added->key, key, bytes);
    (void)snprintf(added->identity, sizeof(added->identity), "%s", identity);
    while (*end != NULL)
        end = &(*end)->next;
    *end = added;
    return ZCRP_OK;
}

/* Takes what was made, or frees it. */
static int give(struct zcrp_keys **keys, struct zcrp_keys *made, int code)
{
    if (code == ZCRP_OK)
        *keys = made;
    else
        zcrp_keys_free(made);
    return code;
}

int zcrp_keys_psk(struct zcrp_keys **keys, const char *identity, const void *key, size_t bytes)
{
    if (keys == NULL)
        return ZCRP_ERROR_ARGUMENT;
    *keys = NULL;
    struct zcrp_keys *made = create(KEYS_SHARED);
    if (made == NULL)
        return ZCRP_ERROR_MEMORY;
    return give(keys, made, zcrp_keys_add_psk(made, identity, key, bytes));
}

int zcrp_keys_set_lookup(struct zcrp_keys *keys, zcrp_keys_lookup lookup, void *context)
{
    if (keys == NULL || keys->kind != KEYS_SHARED)
        return ZCRP_ERROR_ARGUMENT;
    keys->lookup = lookup;
    keys->lookup_context = context;
    return ZCRP_OK;
}

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

/* ---- files ---- */

/* Reads a file that nobody but its owner may read, up to `size` bytes. How many, or a code. */
static long read_private(const char *path, uint8_t *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    long code = ZCRP_ERROR_SYSTEM;

    if (fd < 0)
        return code;
    if (fstat(fd, &status) != 0)
        goto err;
    code = ZCRP_ERROR_EXPOSED;
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        goto err;
    ssize_t got = read(fd, bytes, size);
    code = got < 0 ? ZCRP_ERROR_SYSTEM : (size_t)got == size ? ZCRP_ERROR_ARGUMENT : got;
err:
    (void)close(fd);
    return code;
}

/* "identity:hex digits", as zcrp-keys writes it. */
static int parse_shared(char *text, struct zcrp_keys **keys)
{
    uint8_t key[ZCRP_KEYS_PSK_MOST];
    size_t bytes = sizeof(key);
    char *colon = strrchr(text, ':');

    if (colon == NULL)
        return ZCRP_ERROR_ARGUMENT;
    *colon = '\0';
    char *digits = colon + 1;
    const gnutls_datum_t hex = {(unsigned char *)digits, (unsigned int)strcspn(digits, "\r\n")};
    int code = gnutls_hex_decode(&hex, key, &bytes) == 0 ? zcrp_keys_psk(keys, text, key, bytes)
                                                         : ZCRP_ERROR_ARGUMENT;
    explicit_bzero(key, sizeof(key));
    return code;
}

int zcrp_keys_read(struct zcrp_keys **keys, const char *path)
{
    enum { LARGEST = 1 << 16 };
    if (keys == NULL || path == NULL)
        return ZCRP_ERROR_ARGUMENT;
    *keys = NULL;
    char *text = calloc(1, LARGEST + 1);
    if (text == NULL)
        return ZCRP_ERROR_MEMORY;
    long bytes = read_private(path, (uint8_t *)text, LARGEST);
    int code = (int)bytes;
    if (bytes >= 0 && strstr(text, "-----BEGIN") != NULL)
        code = zcrp_keys_raw(keys, text, (size_t)bytes);
    else if (bytes >= 0)
        code = parse_shared(text, keys);
    explicit_bzero(text, LARGEST);
    free(text);
    return code;
}

int zcrp_keys_log(struct zcrp_keys *keys, const char *path)
{
    struct log *log;

    if (keys == NULL || path == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int code = log_open(&log, path);
    if (code != ZCRP_OK)
        return code;
    log_close(keys->log);
    keys->log = log;
    return ZCRP_OK;
}

/* ---- what a signature may be checked with ---- */

enum { RSA_MODULUS_BITS_MOST = 4096, RSA_EXPONENT_BYTES_MOST = 4 };

static bool is_small_rsa(gnutls_pubkey_t key, unsigned int modulus_bits)
{
    gnutls_datum_t modulus = {NULL, 0}, exponent = {NULL, 0};

    if (modulus_bits > RSA_MODULUS_BITS_MOST ||
        gnutls_pubkey_export_rsa_raw2(key, &modulus, &exponent, GNUTLS_EXPORT_FLAG_NO_LZ) < 0)
        return false;
    bool is_small = exponent.size <= RSA_EXPONENT_BYTES_MOST;
    gnutls_free(modulus.data);
    gnutls_free(exponent.data);
    return is_small;
}

static bool has_known_curve(gnutls_pubkey_t key)
{
    gnutls_ecc_curve_t curve;

    return gnutls_pubkey_export_ecc_raw2(key, &curve, NULL, NULL, 0) >= 0 &&
           (curve == GNUTLS_ECC_CURVE_SECP256R1 || curve == GNUTLS_ECC_CURVE_SECP384R1 ||
            curve == GNUTLS_ECC_CURVE_SECP521R1);
}

bool identity_has_bounds(gnutls_pubkey_t key)
{
    unsigned int bits = 0;
    int kind = gnutls_pubkey_get_pk_algorithm(key, &bits);

    if (kind == GNUTLS_PK_RSA)
        return is_small_rsa(key, bits);
    return kind == GNUTLS_PK_EDDSA_ED25519 || (kind == GNUTLS_PK_ECDSA && has_known_curve(key));
}

/* A key that was shown: of a certificate, or raw. */
static bool is_bounded(enum keys_kind kind, const gnutls_datum_t *shown)
{
    gnutls_pubkey_t key;

    if (gnutls_pubkey_init(&key) < 0)
        return false;
    int code = kind == KEYS_RAW ? gnutls_pubkey_import(key, shown, GNUTLS_X509_FMT_DER)
                                : gnutls_pubkey_import_x509_raw(key, shown, GNUTLS_X509_FMT_DER, 0);
    bool is_so = code >= 0 && identity_has_bounds(key);
    gnutls_pubkey_deinit(key);
    return is_so;
}

/* ---- raw public keys ---- */

int zcrp_keys_raw(struct zcrp_keys **keys, const void *pem, size_t bytes)
{
    if (keys == NULL || pem == NULL || bytes > UINT32_MAX)
        return ZCRP_ERROR_ARGUMENT;
    *keys = NULL;
    struct zcrp_keys *made = create(KEYS_RAW);
    if (made == NULL)
        return ZCRP_ERROR_MEMORY;
    const gnutls_datum_t private = {(unsigned char *)pem, (unsigned int)bytes};
    gnutls_privkey_t key = NULL;
    gnutls_pubkey_t public = NULL;
    gnutls_datum_t info = {NULL, 0};
    int code = gnutls_certificate_allocate_credentials(&made->own);

    if (code >= 0)
        code = gnutls_privkey_init(&key);
    if (code >= 0)
        code = gnutls_privkey_import_x509_raw(key, &private, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code >= 0)
        code = gnutls_pubkey_init(&public);
    if (code >= 0)
        code = gnutls_pubkey_import_privkey(public, key, GNUTLS_KEY_DIGITAL_SIGNATURE, 0);
    if (code >= 0 && !identity_has_bounds(public))
        code = GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM;
    if (code >= 0)
        code = gnutls_pubkey_export2(public, GNUTLS_X509_FMT_PEM, &info);
    if (code >= 0)
        code = gnutls_certificate_set_rawpk_key_mem(made->own, &info, &private, GNUTLS_X509_FMT_PEM,
                                                    NULL, 0, NULL, 0, 0);
    gnutls_free(info.data);
    if (public != NULL)
        gnutls_pubkey_deinit(public);
    if (key != NULL)
        gnutls_privkey_deinit(key);
    return give(keys, made, code >= 0 ? ZCRP_OK : ZCRP_ERROR_ARGUMENT);
}

int zcrp_keys_pin(struct zcrp_keys *keys, const char *fingerprint)
{
    static const char prefix[] = "sha256:";
    size_t bytes = ZCRP_KEYS_FINGERPRINT_BYTES;

    if (keys == NULL || keys->kind != KEYS_RAW || fingerprint == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (strncmp(fingerprint, prefix, strlen(prefix)) == 0)
        fingerprint += strlen(prefix);
    const gnutls_datum_t hex = {(unsigned char *)fingerprint, (unsigned int)strlen(fingerprint)};
    struct pinned_key *pin = calloc(1, sizeof(*pin));
    if (pin == NULL)
        return ZCRP_ERROR_MEMORY;
    if (gnutls_hex_decode(&hex, pin->fingerprint, &bytes) != 0 ||
        bytes != ZCRP_KEYS_FINGERPRINT_BYTES) {
        free(pin);
        return ZCRP_ERROR_ARGUMENT;
    }
    pin->next = keys->pinned;
    keys->pinned = pin;
    return ZCRP_OK;
}

/* ---- certificates ---- */

/* Would a peer take the keys of the own certificate and of those above it? */
static bool is_own_bounded(gnutls_certificate_credentials_t own)
{
    gnutls_x509_crt_t *chain = NULL;
    unsigned int count = 0;
    bool is_so = gnutls_certificate_get_x509_crt(own, 0, &chain, &count) >= 0;

    for (unsigned int i = 0; i < count; i++) {
        gnutls_pubkey_t key = NULL;
        is_so = is_so && gnutls_pubkey_init(&key) >= 0 &&
                gnutls_pubkey_import_x509(key, chain[i], 0) >= 0 && identity_has_bounds(key);
        if (key != NULL)
            gnutls_pubkey_deinit(key);
        gnutls_x509_crt_deinit(chain[i]);
    }
    gnutls_free(chain);
    return is_so;
}

int zcrp_keys_certificate(struct zcrp_keys **keys, const char *certificate_file,
                          const char *key_file, const char *authorities_file, const char *name)
{
    if (keys == NULL || authorities_file == NULL || certificate_file == NULL || key_file == NULL ||
        (name != NULL && !is_identity(name)))
        return ZCRP_ERROR_ARGUMENT;
    *keys = NULL;
    struct stat status;
    if (stat(key_file, &status) != 0)
        return ZCRP_ERROR_SYSTEM;
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return ZCRP_ERROR_EXPOSED;
    struct zcrp_keys *made = create(KEYS_CERTIFICATE);
    if (made == NULL)
        return ZCRP_ERROR_MEMORY;
    int code = gnutls_certificate_allocate_credentials(&made->own);
    if (code >= 0)
        code = gnutls_certificate_set_x509_trust_file(made->own, authorities_file,
                                                      GNUTLS_X509_FMT_PEM);
    if (code >= 0)
        code = gnutls_certificate_set_x509_key_file(made->own, certificate_file, key_file,
                                                    GNUTLS_X509_FMT_PEM);
    if (code >= 0 && !is_own_bounded(made->own))
        code = GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM;
    if (name != NULL)
        (void)snprintf(made->name, sizeof(made->name), "%s", name);
    return give(keys, made, code >= 0 ? ZCRP_OK : ZCRP_ERROR_ARGUMENT);
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

/* Has the certificate that was shown a name of a host where such names belong? GnuTLS would take
 * the common name of one that has none. */
static bool has_alternative_name(gnutls_session_t session)
{
    unsigned int count = 0;
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &count);
    gnutls_x509_crt_t certificate;
    char name[1024];
    int type = 0;

    if (shown == NULL || count == 0 || gnutls_x509_crt_init(&certificate) < 0)
        return false;
    if (gnutls_x509_crt_import(certificate, &shown[0], GNUTLS_X509_FMT_DER) < 0)
        type = GNUTLS_E_CERTIFICATE_ERROR;
    bool is_found = false;
    for (unsigned int i = 0; !is_found && (type >= 0 || type == GNUTLS_E_SHORT_MEMORY_BUFFER);
         i++) {
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

    for (unsigned int i = 0; shown != NULL && i < count; i++)
        if (!is_bounded(keys->kind, &shown[i]))
            return false;
    return shown != NULL && count > 0;
}

bool identity_takes_peer(const struct zcrp_keys *keys, gnutls_session_t session, bool is_listening)
{
    if (keys->kind != KEYS_SHARED && !are_bounded(keys, session))
        return false;
    switch (keys->kind) {
    case KEYS_SHARED:
        return true; /* its binder has shown that it has the key */
    case KEYS_RAW:
        return is_pinned(keys, session);
    case KEYS_CERTIFICATE:
        return is_certified(keys, session, is_listening);
    }
    return false;
}
