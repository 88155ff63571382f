/* The user's keys: pre-shared ones, raw public ones, and certificates. */
#include "core/keys/handshake.h"
#include "identity.h"
#include "key_file.h"
#include "platform/reason.h"
#include "platform/system.h"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is wrong ---- */

static int say_null(const char *argument)
{
    return reason_say(ZCRP_ERROR_ARGUMENT, "%s is NULL", argument);
}

/* What GnuTLS says of the bytes that it was given; or it has no memory for them. */
static int say_unfit(const char *what, int error)
{
    if (error == GNUTLS_E_MEMORY_ERROR)
        return ZCRP_ERROR_MEMORY;
    return reason_say(ZCRP_ERROR_ARGUMENT, "%s: %s", what, gnutls_strerror(error));
}

static int say_kind(const char *wanted)
{
    return reason_say(ZCRP_ERROR_ARGUMENT, "keys is of another kind; it has to be of %s", wanted);
}

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
    bool is_aes = processor_has_aes();

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

/* OK, or ARGUMENT for a name that cannot be one. */
static int check_name(const char *argument, const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;

    if (name == NULL)
        return say_null(argument);
    if (length >= 1 && length <= ZCRP_KEYS_IDENTITY_MOST)
        return ZCRP_OK;
    return reason_say(ZCRP_ERROR_ARGUMENT, "%s has %zu bytes; it has to have 1 to %d", argument,
                      length, ZCRP_KEYS_IDENTITY_MOST);
}

static int check_secret(const void *key, size_t bytes)
{
    if (key == NULL)
        return say_null("key");
    if (bytes >= ZCRP_KEYS_PSK_LEAST && bytes <= ZCRP_KEYS_PSK_MOST)
        return ZCRP_OK;
    return reason_say(ZCRP_ERROR_ARGUMENT, "key has %zu bytes; it has to have %d to %d", bytes,
                      ZCRP_KEYS_PSK_LEAST, ZCRP_KEYS_PSK_MOST);
}

int zcrp_keys_add_psk(struct zcrp_keys *keys, const char *identity, const void *key, size_t bytes)
{
    if (keys == NULL || keys->kind != KEYS_SHARED)
        return keys == NULL ? say_null("keys") : say_kind("zcrp_keys_psk");
    int code = check_name("identity", identity);
    if (code == ZCRP_OK)
        code = check_secret(key, bytes);
    if (code != ZCRP_OK)
        return code;
    struct shared_key **end = &keys->shared;
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
        return say_null("keys");
    *keys = NULL;
    struct zcrp_keys *made = create(KEYS_SHARED);
    if (made == NULL)
        return ZCRP_ERROR_MEMORY;
    return give(keys, made, zcrp_keys_add_psk(made, identity, key, bytes));
}

int zcrp_keys_set_lookup(struct zcrp_keys *keys, zcrp_keys_lookup lookup, void *context)
{
    if (keys == NULL || keys->kind != KEYS_SHARED)
        return keys == NULL ? say_null("keys") : say_kind("zcrp_keys_psk");
    keys->lookup = lookup;
    keys->lookup_context = context;
    return ZCRP_OK;
}

/* ---- files ---- */

/* Is it a line, and nothing behind it but empty ones? */
static bool is_one_line(const char *text, size_t bytes)
{
    size_t line = strcspn(text, "\r\n"), rest = strspn(text + line, " \t\r\n");

    return line > 0 && line + rest == bytes;
}

/* "identity:hex digits", as zcrp-keys writes it. The identity of a connection is not secret. So it
 * must not be all that stands before the last colon of several lines. */
static int parse_shared(struct zcrp_keys **keys, char *text, size_t text_bytes)
{
    uint8_t key[ZCRP_KEYS_PSK_MOST];
    size_t bytes = sizeof(key);
    char *colon = strrchr(text, ':');

    if (colon == NULL)
        return reason_say(ZCRP_ERROR_ARGUMENT, "neither \"identity:digits\" nor a key pair in PEM");
    if (!is_one_line(text, text_bytes))
        return reason_say(ZCRP_ERROR_ARGUMENT, "a pre-shared key is one line, and this has more");
    *colon = '\0';
    char *digits = colon + 1;
    const gnutls_datum_t hex = {(unsigned char *)digits, (unsigned int)strcspn(digits, "\r\n")};
    int error = gnutls_hex_decode(&hex, key, &bytes);
    int code = error == 0
                   ? zcrp_keys_psk(keys, text, key, bytes)
                   : reason_say(ZCRP_ERROR_ARGUMENT,
                                "what is behind the colon is not %d to %d hexadecimal digits",
                                2 * ZCRP_KEYS_PSK_LEAST, 2 * ZCRP_KEYS_PSK_MOST);
    explicit_bzero(key, sizeof(key));
    return code;
}

static int parse(struct zcrp_keys **keys, char *text, size_t bytes)
{
    bool is_pem = strstr(text, "-----BEGIN") != NULL;

    return is_pem ? zcrp_keys_raw(keys, text, bytes) : parse_shared(keys, text, bytes);
}

int zcrp_keys_read(struct zcrp_keys **keys, const char *path)
{
    struct key_file file;
    struct quote q;

    if (keys == NULL || path == NULL)
        return say_null(keys == NULL ? "keys" : "path");
    *keys = NULL;
    int code = key_file_read(&file, path, true);
    if (code != ZCRP_OK)
        return code;
    code = parse(keys, file.text, file.bytes);
    if (reason_of(code) != NULL)
        (void)reason_say(code, "%s: %s", quote(&q, path), reason_of(code));
    key_file_fini(&file);
    return code;
}

int zcrp_keys_log(struct zcrp_keys *keys, const char *path)
{
    struct log *log;

    if (keys == NULL || path == NULL)
        return say_null(keys == NULL ? "keys" : "path");
    int code = log_open(&log, path);
    if (code != ZCRP_OK)
        return code;
    log_close(keys->log);
    keys->log = log;
    return ZCRP_OK;
}

/* ---- raw public keys ---- */

/* 0 or more, or an error of GnuTLS. */
static int take_own(gnutls_certificate_credentials_t own, const gnutls_datum_t *private)
{
    gnutls_privkey_t key = NULL;
    gnutls_pubkey_t public = NULL;
    gnutls_datum_t info = {NULL, 0};
    int code = gnutls_privkey_init(&key);

    if (code >= 0)
        code = gnutls_privkey_import_x509_raw(key, private, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code >= 0)
        code = gnutls_pubkey_init(&public);
    if (code >= 0)
        code = gnutls_pubkey_import_privkey(public, key, GNUTLS_KEY_DIGITAL_SIGNATURE, 0);
    if (code >= 0)
        code = identity_bounds(public);
    if (code >= 0)
        code = gnutls_pubkey_export2(public, GNUTLS_X509_FMT_PEM, &info);
    if (code >= 0)
        code = gnutls_certificate_set_rawpk_key_mem(own, &info, private, GNUTLS_X509_FMT_PEM, NULL,
                                                    0, NULL, 0, 0);
    gnutls_free(info.data);
    if (public != NULL)
        gnutls_pubkey_deinit(public);
    if (key != NULL)
        gnutls_privkey_deinit(key);
    return code;
}

int zcrp_keys_raw(struct zcrp_keys **keys, const void *pem, size_t bytes)
{
    if (keys == NULL || pem == NULL)
        return say_null(keys == NULL ? "keys" : "pem");
    *keys = NULL;
    if (bytes > UINT32_MAX)
        return reason_say(ZCRP_ERROR_ARGUMENT, "pem has %zu bytes; it has to have 1 to %u", bytes,
                          UINT32_MAX);
    struct zcrp_keys *made = create(KEYS_RAW);
    if (made == NULL)
        return ZCRP_ERROR_MEMORY;
    const gnutls_datum_t private = {(unsigned char *)pem, (unsigned int)bytes};
    int error = gnutls_certificate_allocate_credentials(&made->own);

    if (error >= 0)
        error = take_own(made->own, &private);
    return give(keys, made, error >= 0 ? ZCRP_OK : say_unfit("the secret key", error));
}

int zcrp_keys_pin(struct zcrp_keys *keys, const char *fingerprint)
{
    static const char prefix[] = "sha256:";
    size_t bytes = ZCRP_KEYS_FINGERPRINT_BYTES;
    struct quote q;

    if (keys == NULL || fingerprint == NULL)
        return say_null(keys == NULL ? "keys" : "fingerprint");
    if (keys->kind != KEYS_RAW)
        return say_kind("zcrp_keys_raw");
    (void)quote(&q, fingerprint);
    if (strncmp(fingerprint, prefix, strlen(prefix)) == 0)
        fingerprint += strlen(prefix);
    const gnutls_datum_t hex = {(unsigned char *)fingerprint, (unsigned int)strlen(fingerprint)};
    struct pinned_key *pin = calloc(1, sizeof(*pin));
    if (pin == NULL)
        return ZCRP_ERROR_MEMORY;
    if (gnutls_hex_decode(&hex, pin->fingerprint, &bytes) != 0 ||
        bytes != ZCRP_KEYS_FINGERPRINT_BYTES) {
        free(pin);
        return reason_say(
            ZCRP_ERROR_ARGUMENT,
            "fingerprint is \"%s\"; it has to be \"sha256:\" and 64 hexadecimal digits", q.text);
    }
    pin->next = keys->pinned;
    keys->pinned = pin;
    return ZCRP_OK;
}

/* ---- certificates ---- */

/* Beside the chain a handshake carries extensions, an RSA signature of 4,096 bits, and a few bytes
 * for each certificate. */
enum { CHAIN_BYTES_MOST = 11000 };
_Static_assert(CHAIN_BYTES_MOST + 1024 <= HANDSHAKE_ROOM, "both fit a handshake");

/* Would a peer take this key, of the own chain? If not, an error of GnuTLS. Adds the certificate's
 * bytes. */
static int check_certificate(gnutls_x509_crt_t certificate, size_t *bytes)
{
    gnutls_pubkey_t key = NULL;
    size_t size = 0; /* so GnuTLS only says how many there are */
    int code = gnutls_pubkey_init(&key);

    if (code >= 0)
        code = gnutls_pubkey_import_x509(key, certificate, 0);
    if (code >= 0)
        code = identity_bounds(key);
    if (key != NULL)
        gnutls_pubkey_deinit(key);
    if (code >= 0)
        code = gnutls_x509_crt_export(certificate, GNUTLS_X509_FMT_DER, NULL, &size);
    *bytes += size;
    return code == GNUTLS_E_SHORT_MEMORY_BUFFER ? 0 : code;
}

/* The same of the own certificate and of those above it. */
static int check_own(gnutls_certificate_credentials_t own, size_t *bytes)
{
    gnutls_x509_crt_t *chain = NULL;
    unsigned int count = 0;
    int code = gnutls_certificate_get_x509_crt(own, 0, &chain, &count);

    *bytes = 0;
    if (code < 0)
        return code; /* GnuTLS has told the number by then, and has freed what it made */
    for (unsigned int i = 0; i < count; i++) {
        if (code >= 0)
            code = check_certificate(chain[i], bytes);
        gnutls_x509_crt_deinit(chain[i]);
    }
    gnutls_free(chain);
    return code;
}

enum { KEY, CERTIFICATE, AUTHORITIES, PAPERS }; /* the files, in the order in which they are read */

static gnutls_datum_t datum_of(const struct key_file *file)
{
    return (gnutls_datum_t){(unsigned char *)file->text, (unsigned int)file->bytes};
}

static int take_papers(struct zcrp_keys *made, const struct key_file files[PAPERS],
                       const char *const paths[PAPERS])
{
    const gnutls_datum_t key = datum_of(&files[KEY]), certificate = datum_of(&files[CERTIFICATE]),
                         authorities = datum_of(&files[AUTHORITIES]);
    struct quote first, second;
    char both[2 * QUOTE_ROOM + 16];

    if (gnutls_certificate_allocate_credentials(&made->own) < 0)
        return ZCRP_ERROR_MEMORY;
    int error = gnutls_certificate_set_x509_trust_mem(made->own, &authorities, GNUTLS_X509_FMT_PEM);
    if (error < 0)
        return say_unfit(quote(&first, paths[AUTHORITIES]), error);
    if (error == 0)
        return reason_say(ZCRP_ERROR_ARGUMENT, "%s: there is no certificate in it",
                          quote(&first, paths[AUTHORITIES]));
    error = gnutls_certificate_set_x509_key_mem(made->own, &certificate, &key, GNUTLS_X509_FMT_PEM);
    size_t bytes = 0;
    if (error >= 0)
        error = check_own(made->own, &bytes);
    if (error >= 0 && bytes > CHAIN_BYTES_MOST)
        return reason_say(ZCRP_ERROR_ARGUMENT,
                          "%s: the chain has %zu bytes in DER; a handshake has room for %d",
                          quote(&first, paths[CERTIFICATE]), bytes, CHAIN_BYTES_MOST);
    if (error >= 0)
        return ZCRP_OK;
    (void)snprintf(both, sizeof(both), "%s with the key %s", /* which one, is not known */
                   quote(&first, paths[CERTIFICATE]), quote(&second, paths[KEY]));
    return say_unfit(both, error);
}

static int make_certified(struct zcrp_keys **keys, const struct key_file files[PAPERS],
                          const char *const paths[PAPERS], const char *name)
{
    struct zcrp_keys *made = create(KEYS_CERTIFICATE);

    if (made == NULL)
        return ZCRP_ERROR_MEMORY;
    if (name != NULL)
        (void)snprintf(made->name, sizeof(made->name), "%s", name);
    return give(keys, made, take_papers(made, files, paths));
}

int zcrp_keys_certificate(struct zcrp_keys **keys, const char *certificate_file,
                          const char *key_file, const char *authorities_file, const char *name)
{
    const char *const paths[PAPERS] = {key_file, certificate_file, authorities_file};
    struct key_file files[PAPERS];
    int read = 0;

    if (keys == NULL)
        return say_null("keys");
    *keys = NULL;
    if (certificate_file == NULL || key_file == NULL || authorities_file == NULL)
        return say_null(certificate_file == NULL ? "certificate_file"
                        : key_file == NULL       ? "key_file"
                                                 : "authorities_file");
    int code = name != NULL ? check_name("name", name) : ZCRP_OK;
    while (code == ZCRP_OK && read < PAPERS) {
        code = key_file_read(&files[read], paths[read], read == KEY);
        read += code == ZCRP_OK;
    }
    if (code == ZCRP_OK)
        code = make_certified(keys, files, paths, name);
    while (read > 0)
        key_file_fini(&files[--read]);
    return code;
}
