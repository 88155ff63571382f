#include "tls.h"

#include "identity.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls {
    struct zcrp_keys *keys; /* (c) held */
    struct handshake *h;    /* (c) */
    instant now;            /* of the turn */
    gnutls_session_t session;
    gnutls_psk_client_credentials_t client;
    gnutls_psk_server_credentials_t server;
    struct chain *second[2];               /* of the handshake's second level: out, in */
    uint8_t secret[2][CHAIN_SECRET_BYTES]; /* of application data: out, in */
    struct tls_credit credit;              /* given, or of the peer's */
    bool is_peer_taken;                    /* it is, if it has the key that it has shown */
    bool lacks_memory;                     /* on_secret or on_identity had none */
    enum tls_verdict verdict;
};

/* ---- what GnuTLS calls ---- */

static enum chain_cipher cipher_of(gnutls_session_t session)
{
    bool is_aes = gnutls_cipher_get(session) == GNUTLS_CIPHER_AES_128_GCM;

    return is_aes ? CHAIN_AES_128_GCM : CHAIN_CHACHA20_POLY1305;
}

static int begin_second(struct tls *t)
{
    if (t->second[0] != NULL && t->second[1] != NULL && t->h->second_out.cipher == NULL)
        handshake_use_keys(t->h, &chain_cipher, t->second[0], t->second[1]);
    return 0;
}

/* Each of the two secrets may come alone. */
static int on_secret(gnutls_session_t session, gnutls_record_encryption_level_t level,
                     const void *in, const void *out, size_t bytes)
{
    struct tls *t = gnutls_session_get_ptr(session);
    const void *secret[2] = {out, in};

    if (bytes != CHAIN_SECRET_BYTES)
        return -1;
    for (int i = 0; i < 2; i++) {
        if (secret[i] == NULL)
            continue;
        if (level == GNUTLS_ENCRYPTION_LEVEL_APPLICATION)
            memcpy(t->secret[i], secret[i], CHAIN_SECRET_BYTES);
        if (level != GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE || t->second[i] != NULL)
            continue;
        t->second[i] = chain_create(cipher_of(session), secret[i]);
        t->lacks_memory = t->second[i] == NULL;
        if (t->lacks_memory)
            return -1;
    }
    return begin_second(t);
}

static int on_bytes(gnutls_session_t session, gnutls_record_encryption_level_t level,
                    gnutls_handshake_description_t type, const void *bytes, size_t count)
{
    struct tls *t = gnutls_session_get_ptr(session);

    if (type == GNUTLS_HANDSHAKE_CHANGE_CIPHER_SPEC)
        return 0;
    if (level == GNUTLS_ENCRYPTION_LEVEL_INITIAL)
        return handshake_write(t->h, t->now, HANDSHAKE_LEVEL_FIRST, bytes, count) ? 0 : -1;
    if (level == GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE)
        return handshake_write(t->h, t->now, HANDSHAKE_LEVEL_SECOND, bytes, count) ? 0 : -1;
    return 0;
}

/* The verdict says it all: the peer is refused. */
static int on_alert(gnutls_session_t session, gnutls_record_encryption_level_t level,
                    gnutls_alert_level_t severity, gnutls_alert_description_t alert)
{
    (void)session, (void)level, (void)severity, (void)alert;
    return 0;
}

/* Without this function GnuTLS itself would write to the file that SSLKEYLOGFILE names. */
static int on_log(gnutls_session_t session, const char *label, const gnutls_datum_t *secret)
{
    const struct tls *t = gnutls_session_get_ptr(session);
    gnutls_datum_t client, server;

    if (t->keys->log == NULL)
        return 0;
    gnutls_session_get_random(session, &client, &server);
    log_write(t->keys->log, label, &client, secret);
    return 0;
}

/* A signature of the peer's has come, and is not checked yet: a stranger's key would be the one to
 * check it with, and that may cost seconds. (GnuTLS's own function to verify a certificate is
 * called after the check.) What the hook refuses goes no further. */
static int on_signature(gnutls_session_t session, unsigned int type, unsigned int when,
                        unsigned int is_incoming, const gnutls_datum_t *message)
{
    struct tls *t = gnutls_session_get_ptr(session);

    (void)type, (void)when, (void)message;
    if (!is_incoming)
        return 0;
    t->is_peer_taken = identity_takes_peer(t->keys, session, !t->h->is_connecting);
    return t->is_peer_taken ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

/* GnuTLS carries names of up to 64 KiB, and with zeros in them. False: no key has this one. */
static bool read_name(char name[ZCRP_KEYS_IDENTITY_MOST + 1], const gnutls_datum_t *shown)
{
    if (shown->size > ZCRP_KEYS_IDENTITY_MOST || memchr(shown->data, 0, shown->size) != NULL)
        return false;
    memcpy(name, shown->data, shown->size);
    name[shown->size] = '\0';
    return true;
}

/* 0 and the key; -1 for an identity that is not known, or without memory. */
static int on_identity(gnutls_session_t session, const gnutls_datum_t *identity,
                       gnutls_datum_t *key)
{
    struct tls *t = gnutls_session_get_ptr(session);
    char name[ZCRP_KEYS_IDENTITY_MOST + 1];
    uint8_t bytes[ZCRP_KEYS_PSK_MOST];
    size_t count = read_name(name, identity) ? identity_find_shared(t->keys, name, bytes) : 0;

    key->size = (unsigned int)count;
    key->data = count > 0 ? gnutls_malloc(count) : NULL;
    if (key->data != NULL)
        memcpy(key->data, bytes, count);
    explicit_bzero(bytes, sizeof(bytes));
    t->lacks_memory = count > 0 && key->data == NULL;
    return key->data != NULL ? 0 : -1;
}

/* ---- credit ----
 *
 * An extension of TLS (RFC 8446, 4.2), of those for private use. The connecting side asks with an
 * empty one in its ClientHello. The listening side answers in its EncryptedExtensions. */

enum {
    CREDIT_EXTENSION = 0xFF5A,
    CREDIT_BYTES = 4 + 8, /* count, size */
};

/* A credit that cannot be read is none: messages then wait for a request. */
static int on_credit(gnutls_session_t session, const unsigned char *bytes, size_t count)
{
    struct tls *t = gnutls_session_get_ptr(session);

    if (t->h->is_connecting && count == CREDIT_BYTES)
        t->credit = (struct tls_credit){wire_get_u32(bytes), wire_get_u64(bytes + 4)};
    return 0;
}

/* How many bytes the extension has, INT_RET_0: it is there, and empty; 0: there is none. */
static int write_credit(gnutls_session_t session, gnutls_buffer_t to)
{
    const struct tls *t = gnutls_session_get_ptr(session);
    uint8_t bytes[CREDIT_BYTES];

    if (t->h->is_connecting)
        return GNUTLS_E_INT_RET_0;
    if (t->credit.count == 0)
        return 0;
    wire_put_u32(bytes, t->credit.count);
    wire_put_u64(bytes + 4, t->credit.size);
    int code = gnutls_buffer_append_data(to, bytes, sizeof(bytes));
    return code < 0 ? code : CREDIT_BYTES;
}

static int register_credit(gnutls_session_t session)
{
    return gnutls_session_ext_register(
        session, "zcrp credit", CREDIT_EXTENSION, GNUTLS_EXT_TLS, on_credit, write_credit, NULL,
        NULL, NULL, GNUTLS_EXT_FLAG_TLS | GNUTLS_EXT_FLAG_CLIENT_HELLO | GNUTLS_EXT_FLAG_EE);
}

/* ---- making ---- */

static int set_shared(struct tls *t, bool is_server)
{
    const struct shared_key *key = t->keys->shared;
    int code;

    if (is_server) {
        code = gnutls_psk_allocate_server_credentials(&t->server);
        if (code < 0)
            return code;
        gnutls_psk_set_server_credentials_function2(t->server, on_identity);
        return gnutls_credentials_set(t->session, GNUTLS_CRD_PSK, t->server);
    }
    code = gnutls_psk_allocate_client_credentials(&t->client);
    if (code < 0)
        return code;
    const gnutls_datum_t bytes = {(unsigned char *)key->key, (unsigned int)key->bytes};
    code = gnutls_psk_set_client_credentials(t->client, key->identity, &bytes, GNUTLS_PSK_KEY_RAW);
    return code < 0 ? code : gnutls_credentials_set(t->session, GNUTLS_CRD_PSK, t->client);
}

static int set_own(struct tls *t, bool is_server)
{
    if (is_server) {
        gnutls_certificate_server_set_request(t->session, GNUTLS_CERT_REQUIRE);
        /* No names of authorities: a system's would not fit, and the caller has one chain only. */
        gnutls_certificate_send_x509_rdn_sequence(t->session, 1);
    }
    return gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, t->keys->own);
}

static int init(struct tls *t)
{
    bool is_server = !t->h->is_connecting;
    unsigned int flags = GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS | GNUTLS_NO_AUTO_SEND_TICKET |
                         GNUTLS_NO_END_OF_EARLY_DATA | GNUTLS_NO_EXTENSIONS | GNUTLS_NONBLOCK;
    if (t->keys->kind == KEYS_RAW)
        flags |= GNUTLS_ENABLE_RAWPK;
    int code = gnutls_init(&t->session, flags | (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT));

    if (code < 0)
        return code;
    gnutls_session_set_ptr(t->session, t);
    gnutls_handshake_set_secret_function(t->session, on_secret);
    gnutls_handshake_set_read_function(t->session, on_bytes);
    gnutls_alert_set_read_function(t->session, on_alert);
    gnutls_session_set_keylog_function(t->session, on_log);
    gnutls_handshake_set_hook_function(t->session, GNUTLS_HANDSHAKE_CERTIFICATE_VERIFY,
                                       GNUTLS_HOOK_PRE, on_signature);
    gnutls_handshake_set_timeout(t->session, GNUTLS_INDEFINITE_TIMEOUT);
    code = register_credit(t->session);
    if (code >= 0)
        code = gnutls_priority_set(t->session, t->keys->priority);
    if (code < 0)
        return code;
    return t->keys->kind == KEYS_SHARED ? set_shared(t, is_server) : set_own(t, is_server);
}

struct tls *tls_create(struct zcrp_keys *keys, struct handshake *h)
{
    struct tls *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->keys = keys_hold(keys);
    t->h = h;
    if (init(t) >= 0)
        return t;
    tls_destroy(t);
    return NULL;
}

void tls_destroy(struct tls *t)
{
    if (t == NULL)
        return;
    if (t->session != NULL)
        gnutls_deinit(t->session);
    if (t->client != NULL)
        gnutls_psk_free_client_credentials(t->client);
    if (t->server != NULL)
        gnutls_psk_free_server_credentials(t->server);
    chain_destroy(t->second[0]);
    chain_destroy(t->second[1]);
    zcrp_keys_free(t->keys);
    explicit_bzero(t, sizeof(*t));
    free(t);
}

void tls_give_credit(struct tls *t, struct tls_credit credit)
{
    t->credit = credit;
}

struct tls_credit tls_credit(const struct tls *t)
{
    return t->credit;
}

/* ---- turns ---- */

/* Hands over the bytes of a level. 0 or more, or an error of GnuTLS: they are nothing that belongs
 * there, or there is no memory. */
static int feed(struct tls *t, enum handshake_level level)
{
    const gnutls_record_encryption_level_t theirs = level == HANDSHAKE_LEVEL_FIRST
                                                        ? GNUTLS_ENCRYPTION_LEVEL_INITIAL
                                                        : GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE;
    const uint8_t *bytes;
    size_t count = handshake_read(t->h, level, &bytes);

    if (count == 0)
        return 0;
    return gnutls_handshake_write(t->session, theirs, bytes, count);
}

/* Of a handshake that has ended with this error. GnuTLS has one of its own for a callback that has
 * failed. */
static enum tls_verdict verdict_of(const struct tls *t, int error)
{
    return error == GNUTLS_E_MEMORY_ERROR || t->lacks_memory ? TLS_LACKS : TLS_FAILED;
}

static enum tls_verdict shake(struct tls *t)
{
    int code = gnutls_handshake(t->session);

    if (code < 0)
        return gnutls_error_is_fatal(code) != 0 ? verdict_of(t, code) : TLS_GOES_ON;
    bool is_taken = t->keys->kind == KEYS_SHARED || t->is_peer_taken; /* a binder was checked */
    return is_taken ? TLS_DONE : TLS_FAILED;
}

/* The second level's bytes are of use only once the first's have been read. */
enum tls_verdict tls_turn(struct tls *t, instant now)
{
    t->now = now;
    for (int level = 0; level < HANDSHAKE_LEVELS && t->verdict == TLS_GOES_ON; level++) {
        int code = feed(t, (enum handshake_level)level);
        t->verdict = code < 0 ? verdict_of(t, code) : shake(t);
    }
    return t->verdict;
}

/* ---- what comes of it ---- */

static struct chain *stream(enum chain_cipher cipher, const uint8_t secret[CHAIN_SECRET_BYTES],
                            const char *label)
{
    uint8_t own[CHAIN_SECRET_BYTES];
    struct chain *c =
        chain_expand(secret, label, own, sizeof(own)) ? chain_create(cipher, own) : NULL;
    explicit_bzero(own, sizeof(own));
    return c;
}

static bool set_sealer(struct sealer *s, struct chain *c)
{
    *s = (struct sealer){.cipher = &chain_cipher, .keys = c, .epoch_bits = SEAL_EPOCH_BITS};
    return c != NULL;
}

static bool set_opener(struct opener *o, struct chain *c)
{
    *o = (struct opener){.cipher = &chain_cipher, .keys = c, .epoch_bits = SEAL_EPOCH_BITS};
    return c != NULL;
}

/* The names of a pairing are never 0. */
static bool set_names(struct keyring *k, const uint8_t secret[CHAIN_SECRET_BYTES])
{
    uint8_t names[8];
    bool is_made = chain_expand(secret, "zcrp pairing", names, sizeof(names)) &&
                   chain_expand(secret, "zcrp memory", k->near, sizeof(k->near));

    k->pairing.session = wire_get_u32(names) != 0 ? wire_get_u32(names) : 1;
    k->pairing.tag = wire_get_u32(names + 4) != 0 ? wire_get_u32(names + 4) : 1;
    return is_made;
}

bool keyrings_make(enum chain_cipher cipher, const uint8_t out[CHAIN_SECRET_BYTES],
                   const uint8_t in[CHAIN_SECRET_BYTES], struct keyring *sender,
                   struct keyring *receiver)
{
    bool is_made = true;

    *sender = *receiver = (struct keyring){.pairing = {0, 0}};
    is_made &= set_sealer(&sender->units_out, stream(cipher, out, "zcrp unit"));
    is_made &= set_sealer(&sender->control_out, stream(cipher, out, "zcrp sender"));
    is_made &= set_opener(&sender->control_in, stream(cipher, in, "zcrp receiver"));
    is_made &= set_opener(&receiver->units_in, stream(cipher, in, "zcrp unit"));
    is_made &= set_opener(&receiver->control_in, stream(cipher, in, "zcrp sender"));
    is_made &= set_sealer(&receiver->control_out, stream(cipher, out, "zcrp receiver"));
    is_made &= set_names(sender, out) && set_names(receiver, in);
    if (is_made)
        return true;
    keyring_fini(sender);
    keyring_fini(receiver);
    return false;
}

bool tls_make_keyrings(const struct tls *t, struct keyring *sender, struct keyring *receiver)
{
    return keyrings_make(cipher_of(t->session), t->secret[0], t->secret[1], sender, receiver);
}

void keyring_fini(struct keyring *k)
{
    chain_destroy(k->units_out.keys);
    chain_destroy(k->control_out.keys);
    chain_destroy(k->units_in.keys);
    chain_destroy(k->control_in.keys);
    explicit_bzero(k, sizeof(*k));
}

static bool write_text(char *text, size_t size, const char *format, const char *value)
{
    int length = snprintf(text, size, format, value);

    return length >= 0 && (size_t)length < size;
}

bool tls_identity(const struct tls *t, char *text, size_t size)
{
    uint8_t fingerprint[ZCRP_KEYS_FINGERPRINT_BYTES];
    char digits[2 * ZCRP_KEYS_FINGERPRINT_BYTES + 1];
    size_t room = sizeof(digits);
    const gnutls_datum_t bytes = {fingerprint, sizeof(fingerprint)};

    if (t->keys->kind == KEYS_SHARED) {
        const char *caller = t->h->is_connecting ? t->keys->shared->identity
                                                 : gnutls_psk_server_get_username(t->session);
        return caller != NULL && write_text(text, size, "%s", caller);
    }
    return identity_fingerprint(t->session, fingerprint) &&
           gnutls_hex_encode(&bytes, digits, &room) == 0 &&
           write_text(text, size, "sha256:%s", digits);
}
