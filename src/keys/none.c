/* The library without GnuTLS: there are no keys, and every call that would make some says so. What
 * needs keys is never reached, because nobody can have any. */
#include "tls.h"

int zcrp_keys_psk(struct zcrp_keys **keys, const char *identity, const void *key, size_t bytes)
{
    (void)identity, (void)key, (void)bytes;
    if (keys != NULL)
        *keys = NULL;
    return ZCRP_ERROR_NO_KEYS;
}

int zcrp_keys_add_psk(struct zcrp_keys *keys, const char *identity, const void *key, size_t bytes)
{
    (void)keys, (void)identity, (void)key, (void)bytes;
    return ZCRP_ERROR_NO_KEYS;
}

int zcrp_keys_set_lookup(struct zcrp_keys *keys, zcrp_keys_lookup lookup, void *context)
{
    (void)keys, (void)lookup, (void)context;
    return ZCRP_ERROR_NO_KEYS;
}

int zcrp_keys_raw(struct zcrp_keys **keys, const void *pem, size_t bytes)
{
    (void)pem, (void)bytes;
    if (keys != NULL)
        *keys = NULL;
    return ZCRP_ERROR_NO_KEYS;
}

int zcrp_keys_pin(struct zcrp_keys *keys, const char *fingerprint)
{
    (void)keys, (void)fingerprint;
    return ZCRP_ERROR_NO_KEYS;
}

int zcrp_keys_certificate(struct zcrp_keys **keys, const char *certificate_file,
                          const char *key_file, const char *authorities_file, const char *name)
{
    (void)certificate_file, (void)key_file, (void)authorities_file, (void)name;
    if (keys != NULL)
        *keys = NULL;
    return ZCRP_ERROR_NO_KEYS;
}

int zcrp_keys_read(struct zcrp_keys **keys, const char *path)
{
    (void)path;
    if (keys != NULL)
        *keys = NULL;
    return ZCRP_ERROR_NO_KEYS;
}

int zcrp_keys_log(struct zcrp_keys *keys, const char *path)
{
    (void)keys, (void)path;
    return ZCRP_ERROR_NO_KEYS;
}

void zcrp_keys_free(struct zcrp_keys *keys)
{
    (void)keys;
}

struct zcrp_keys *keys_hold(struct zcrp_keys *keys)
{
    return keys;
}

struct tls *tls_create(struct zcrp_keys *keys, struct handshake *h)
{
    (void)keys, (void)h;
    return NULL;
}

void tls_destroy(struct tls *t)
{
    (void)t;
}

void tls_give_credit(struct tls *t, struct tls_credit credit)
{
    (void)t, (void)credit;
}

struct tls_credit tls_credit(const struct tls *t)
{
    (void)t;
    return (struct tls_credit){.count = 0};
}

enum tls_verdict tls_turn(struct tls *t, instant now)
{
    (void)t, (void)now;
    return TLS_FAILED;
}

bool tls_make_keyrings(const struct tls *t, struct keyring *sender, struct keyring *receiver)
{
    (void)t, (void)sender, (void)receiver;
    return false;
}

bool tls_identity(const struct tls *t, char *text, size_t size)
{
    (void)t, (void)text, (void)size;
    return false;
}

void keyring_fini(struct keyring *k)
{
    (void)k;
}
