#include "zcrp-bench/transports/run_keys.h"

#ifdef ZCRP_KEYS
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#endif

const char *const run_keys_names[RUN_KEYS_KINDS + 1] = {
    [RUN_KEYS_NONE] = "",
    [RUN_KEYS_PSK] = "psk",
    [RUN_KEYS_RAW] = "raw",
    [RUN_KEYS_CERT] = "cert",
};

static const char name[] = "zcrp-bench";
static const char *log_path; /* NULL: there is no key log */

static int make_shared(const struct settings *settings, struct zcrp_keys **keys)
{
    uint8_t secret[SETTINGS_KEY_BYTES];

    settings_write_key(settings, secret);
    return zcrp_keys_psk(keys, name, secret, sizeof secret);
}

#ifdef ZCRP_KEYS
enum { PATH_ROOM = 32, ONE_DAY = 86400 };

/* ---- key pairs ---- */

/* The owners of key pairs. */
static const char authority[] = "authority";

static const char *end_name(bool is_listening)
{
    return is_listening ? "listens" : "connects";
}

/* An Ed25519 key in PKCS #8 (RFC 8410, 7): this, and any 32 bytes. */
static const uint8_t pkcs8[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};

/* The owner's secret key in PEM, for gnutls_free. As all below, whether it could be made. */
static bool write_secret(const struct settings *settings, const char *owner, gnutls_datum_t *pem)
{
    uint8_t secret[SETTINGS_KEY_BYTES], der[sizeof pkcs8 + 32];
    const gnutls_datum_t bytes = {der, sizeof der};

    settings_write_key(settings, secret);
    memcpy(der, pkcs8, sizeof pkcs8);
    return gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret, sizeof secret, owner, strlen(owner),
                            der + sizeof pkcs8) >= 0 &&
           gnutls_pem_base64_encode2("PRIVATE KEY", &bytes, pem) >= 0;
}

/* The same, to sign with. *key, NULL before, is for gnutls_x509_privkey_deinit in any case. */
static bool make_pair(const struct settings *settings, const char *owner,
                      gnutls_x509_privkey_t *key)
{
    gnutls_datum_t pem = {NULL, 0};
    bool is_made = write_secret(settings, owner, &pem) && gnutls_x509_privkey_init(key) >= 0 &&
                   gnutls_x509_privkey_import(*key, &pem, GNUTLS_X509_FMT_PEM) >= 0;

    gnutls_free(pem.data);
    return is_made;
}

/* ---- raw public keys ---- */

static int pin(struct zcrp_keys *keys, const struct settings *settings, const char *owner)
{
    uint8_t hash[ZCRP_KEYS_FINGERPRINT_BYTES];
    char digits[2 * sizeof hash + 1];
    const gnutls_datum_t bytes = {hash, sizeof hash};
    size_t size = sizeof hash, room = sizeof digits;
    gnutls_x509_privkey_t key = NULL;
    bool is_made = make_pair(settings, owner, &key) &&
                   gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, hash, &size) >= 0 &&
                   gnutls_hex_encode(&bytes, digits, &room) >= 0;

    gnutls_x509_privkey_deinit(key);
    return is_made ? zcrp_keys_pin(keys, digits) : ZCRP_ERROR_MEMORY;
}

static int make_raw(const struct settings *settings, bool is_listening, struct zcrp_keys **keys)
{
    gnutls_datum_t pem;

    if (!write_secret(settings, end_name(is_listening), &pem))
        return ZCRP_ERROR_MEMORY;
    int code = zcrp_keys_raw(keys, pem.data, pem.size);
    gnutls_free(pem.data);
    if (code == ZCRP_OK)
        code = pin(*keys, settings, end_name(!is_listening));
    if (code == ZCRP_OK)
        return ZCRP_OK;
    zcrp_keys_free(*keys);
    *keys = NULL;
    return code;
}

/* ---- certificates ---- */

/* The library reads certificates from files. These are in memory: they have no name that anybody
 * could open or that could stay behind. */
struct paper {
    int fd;
    char path[PATH_ROOM]; /* for this process */
};

static bool write_paper(struct paper *paper, const gnutls_datum_t *text)
{
    paper->fd = memfd_create(name, MFD_CLOEXEC);
    (void)snprintf(paper->path, sizeof paper->path, "/proc/self/fd/%d", paper->fd);
    return paper->fd >= 0 && fchmod(paper->fd, S_IRUSR | S_IWUSR) == 0 &&
           write(paper->fd, text->data, text->size) == (ssize_t)text->size;
}

static bool write_key(struct paper *paper, const struct settings *settings, const char *owner)
{
    gnutls_datum_t pem = {NULL, 0};
    bool is_written = write_secret(settings, owner, &pem) && write_paper(paper, &pem);

    gnutls_free(pem.data);
    return is_written;
}

static bool write_certificate(struct paper *paper, gnutls_x509_crt_t certificate)
{
    gnutls_datum_t pem = {NULL, 0};
    bool is_written = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem) >= 0 &&
                      write_paper(paper, &pem);

    gnutls_free(pem.data);
    return is_written;
}

/* The name that is looked for is that of an end. The authority has another one. */
static bool fill(gnutls_x509_crt_t certificate, const char *owner)
{
    bool is_end = owner != authority;
    time_t now = time(NULL);

    return gnutls_x509_crt_set_version(certificate, 3) >= 0 &&
           gnutls_x509_crt_set_serial(certificate, is_end ? "\2" : "\1", 1) >= 0 &&
           gnutls_x509_crt_set_activation_time(certificate, now - ONE_DAY) >= 0 &&
           gnutls_x509_crt_set_expiration_time(certificate, now + ONE_DAY) >= 0 &&
           gnutls_x509_crt_set_dn(certificate, is_end ? "CN=end" : "CN=authority", NULL) >= 0 &&
           gnutls_x509_crt_set_basic_constraints(certificate, is_end ? 0 : 1, -1) >= 0 &&
           (!is_end || gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name,
                                                            sizeof name - 1, GNUTLS_FSAN_SET) >= 0);
}

/* A certificate for the owner's key. That of the signer is NULL: the certificate itself signs. */
static bool sign(gnutls_x509_crt_t *certificate, const struct settings *settings, const char *owner,
                 gnutls_x509_crt_t signer)
{
    gnutls_x509_privkey_t key = NULL, key_of_signer = NULL;
    bool is_signed = gnutls_x509_crt_init(certificate) >= 0 && make_pair(settings, owner, &key) &&
                     make_pair(settings, authority, &key_of_signer) && fill(*certificate, owner) &&
                     gnutls_x509_crt_set_key(*certificate, key) >= 0 &&
                     gnutls_x509_crt_sign2(*certificate, signer != NULL ? signer : *certificate,
                                           key_of_signer, GNUTLS_DIG_SHA512, 0) >= 0;

    gnutls_x509_privkey_deinit(key);
    gnutls_x509_privkey_deinit(key_of_signer);
    return is_signed;
}

/* Each end makes the authority, too: its key and its name are the same at both. */
static bool write_certificates(struct paper *own, struct paper *authorities,
                               const struct settings *settings, const char *owner)
{
    gnutls_x509_crt_t signer = NULL, certificate = NULL;
    bool are_written =
        sign(&signer, settings, authority, NULL) && sign(&certificate, settings, owner, signer) &&
        write_certificate(authorities, signer) && write_certificate(own, certificate);

    gnutls_x509_crt_deinit(signer);
    gnutls_x509_crt_deinit(certificate);
    return are_written;
}

static int make_certified(const struct settings *settings, bool is_listening,
                          struct zcrp_keys **keys)
{
    enum { OWN, KEY, AUTHORITIES, PAPERS };
    struct paper papers[PAPERS] = {{.fd = -1}, {.fd = -1}, {.fd = -1}};
    const char *owner = end_name(is_listening);
    int code = ZCRP_ERROR_MEMORY;

    if (write_certificates(&papers[OWN], &papers[AUTHORITIES], settings, owner) &&
        write_key(&papers[KEY], settings, owner))
        code = zcrp_keys_certificate(keys, papers[OWN].path, papers[KEY].path,
                                     papers[AUTHORITIES].path, name);
    for (int i = 0; i < PAPERS; i++) {
        if (papers[i].fd >= 0)
            (void)close(papers[i].fd);
    }
    return code;
}
#else
static int make_raw(const struct settings *settings, bool is_listening, struct zcrp_keys **keys)
{
    (void)settings, (void)is_listening, (void)keys;
    return ZCRP_ERROR_NO_KEYS;
}

static int make_certified(const struct settings *settings, bool is_listening,
                          struct zcrp_keys **keys)
{
    return make_raw(settings, is_listening, keys);
}
#endif

static int make(const struct settings *settings, bool is_listening, struct zcrp_keys **keys)
{
    switch ((enum run_keys)settings->keys) {
    case RUN_KEYS_NONE:
        return ZCRP_OK;
    case RUN_KEYS_PSK:
        return make_shared(settings, keys);
    case RUN_KEYS_RAW:
        return make_raw(settings, is_listening, keys);
    case RUN_KEYS_CERT:
        return make_certified(settings, is_listening, keys);
    case RUN_KEYS_KINDS:
        break; /* settings_read takes no other */
    }
    return ZCRP_ERROR_ARGUMENT;
}

int run_keys_make(const struct settings *settings, bool is_listening, struct zcrp_keys **keys)
{
    *keys = NULL;
    int code = make(settings, is_listening, keys);
    if (code == ZCRP_OK && *keys != NULL && log_path != NULL)
        code = zcrp_keys_log(*keys, log_path);
    if (code == ZCRP_OK)
        return ZCRP_OK;
    zcrp_keys_free(*keys);
    *keys = NULL;
    return code;
}

void run_keys_log_to(const char *path)
{
    log_path = path;
}
