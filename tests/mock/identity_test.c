/* A caller whose pre-shared key has a name that no key of this library's has: GnuTLS would carry
 * it. */
/* wrap: gnutls_psk_set_client_credentials */
#include "../support/mock.h"

#ifdef ZCRP_KEYS
#include "keys/tls.h"

#include <gnutls/gnutls.h>
#include <string.h>

enum { TURNS = 20, LONG = 1000 };

static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = {1};

static char shown[LONG + 1]; /* what the caller says its name is, */
static size_t shown_bytes;   /* which may have a 0 in it */

int __wrap_gnutls_psk_set_client_credentials(gnutls_psk_client_credentials_t own, const char *name,
                                             const gnutls_datum_t *bytes,
                                             gnutls_psk_key_flags flags)
{
    const gnutls_datum_t all = {(unsigned char *)shown, (unsigned int)shown_bytes};

    (void)name;
    return gnutls_psk_set_client_credentials2(own, &all, bytes, flags);
}

/* ---- both ends ---- */

struct end {
    struct handshake h;
    struct tls *tls;
    struct zcrp_keys *keys;
    enum tls_verdict verdict;
};

static struct end caller, listening;
static int asked; /* how often the user was */

/* Has a key for whoever asks. */
static size_t look_up(void *context, const char *identity, uint8_t *found, size_t size)
{
    (void)context, (void)size;
    asked++;
    assert_string_equal(identity, shown);
    memcpy(found, key, sizeof(key));
    return sizeof(key);
}

static void begin(struct end *e, bool is_connecting)
{
    assert_int_equal(zcrp_keys_psk(&e->keys, "any", key, sizeof(key)), ZCRP_OK);
    handshake_init(&e->h, is_connecting, 11, 77, SECOND);
    e->tls = tls_create(e->keys, &e->h);
    assert_non_null(e->tls);
    e->verdict = TLS_GOES_ON;
}

static void end(struct end *e)
{
    tls_destroy(e->tls);
    zcrp_keys_free(e->keys);
}

static void turn(struct end *e)
{
    if (e->verdict != TLS_GOES_ON)
        return;
    e->verdict = tls_turn(e->tls, SECOND);
    if (e->verdict == TLS_DONE)
        handshake_end(&e->h);
    if (e->verdict == TLS_FAILED)
        handshake_refuse(&e->h);
}

static void say(struct end *from, struct end *to)
{
    uint8_t datagram[HANDSHAKE_BYTES];
    size_t size;

    while ((size = handshake_take(&from->h, datagram)) > 0) {
        handshake_hear(&to->h, SECOND, datagram, size);
        turn(to);
    }
}

static void shake_shown(void)
{
    const struct cookie_answer cookie = {.pairing = {.tag = 11}, .nonce = 77, .cookie = 5};

    asked = 0;
    begin(&caller, true);
    begin(&listening, false);
    assert_int_equal(zcrp_keys_set_lookup(listening.keys, look_up, NULL), ZCRP_OK);
    assert_true(handshake_on_cookie(&caller.h, SECOND, &cookie));
    turn(&caller);
    for (int i = 0; i < TURNS; i++) {
        say(&caller, &listening);
        say(&listening, &caller);
    }
}

static void shake(size_t length)
{
    memset(shown, 'a', length);
    shown[length] = '\0';
    shown_bytes = length;
    shake_shown();
}

static void unshake(void)
{
    end(&caller);
    end(&listening);
}

TEST(identity__as_long_as_one_may_be)
{
    char told[ZCRP_KEYS_IDENTITY_MOST + 1];

    shake(ZCRP_KEYS_IDENTITY_MOST);
    assert_int_equal(listening.verdict, TLS_DONE);
    assert_int_equal(asked, 1);
    assert_true(tls_identity(listening.tls, told, sizeof(told)));
    assert_string_equal(told, shown);
    unshake();
}

/* Else the connection would be up, and nobody could say whose it is. */
TEST(identity__longer_or_none_is_a_stranger)
{
    static const size_t length[] = {0, ZCRP_KEYS_IDENTITY_MOST + 1, LONG};

    for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
        shake(length[i]);
        assert_int_not_equal(listening.verdict, TLS_DONE);
        assert_int_not_equal(caller.verdict, TLS_DONE);
        assert_int_equal(asked, 0);
        unshake();
    }
}
/* No text is one with a 0 in it. */
TEST(identity__with_a_0_is_a_stranger)
{
    memcpy(shown, "alice\0bob", sizeof("alice\0bob"));
    shown_bytes = sizeof("alice\0bob") - 1;
    shake_shown();
    assert_int_not_equal(listening.verdict, TLS_DONE);
    assert_int_equal(asked, 0);
    unshake();
}
#else
TEST(identity__no_keys)
{
    skip();
}
#endif
