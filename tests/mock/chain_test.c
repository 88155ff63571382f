/* The keys of a stream while memory is short, and in a child that is made while they are freed. */
/* wrap: vaes_key_create gnutls_aead_cipher_init */
/* wrap: vaes_key_destroy gnutls_aead_cipher_deinit chain_destroy */
#include "../support/mock.h"

#ifdef ZCRP_KEYS
#include "handshake/tls_handshake.h"
#include "keys/chain.h"
#include "keys/vaes.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <sys/wait.h>

enum { BYTES = 24, NUMBER = 7 };

static const uint8_t secret[CHAIN_SECRET_BYTES] = {1};
static const enum chain_cipher ciphers[] = {CHAIN_AES_128_GCM, CHAIN_CHACHA20_POLY1305};
static bool is_short; /* of memory */

struct vaes_key *__real_vaes_key_create(const uint8_t key[VAES_KEY_BYTES]);
struct vaes_key *__wrap_vaes_key_create(const uint8_t key[VAES_KEY_BYTES])
{
    return is_short ? NULL : __real_vaes_key_create(key);
}

int __real_gnutls_aead_cipher_init(gnutls_aead_cipher_hd_t *handle,
                                   gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key);
int __wrap_gnutls_aead_cipher_init(gnutls_aead_cipher_hd_t *handle,
                                   gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key)
{
    return is_short ? GNUTLS_E_MEMORY_ERROR : __real_gnutls_aead_cipher_init(handle, cipher, key);
}

/* ---- a child of the moment in which something has been freed ---- */

static void (*free_all)(void); /* what the child does; NULL: no child is wanted */
static const void *freed;
static int children;

static void fork_now(const void *what)
{
    int status;

    freed = what;
    children++;
    pid_t child = fork();
    if (child == 0) {
        free_all();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    freed = NULL;
}

static void before_free(const void *what)
{
    if (what != NULL && what == freed) /* once more, in the child */
        _exit(1);
}

static void after_free(const void *what)
{
    if (what != NULL && freed == NULL && free_all != NULL)
        fork_now(what);
}

void __real_vaes_key_destroy(struct vaes_key *key);
void __wrap_vaes_key_destroy(struct vaes_key *key)
{
    before_free(key);
    __real_vaes_key_destroy(key);
    after_free(key);
}

void __real_gnutls_aead_cipher_deinit(gnutls_aead_cipher_hd_t handle);
void __wrap_gnutls_aead_cipher_deinit(gnutls_aead_cipher_hd_t handle)
{
    before_free(handle);
    __real_gnutls_aead_cipher_deinit(handle);
    after_free(handle);
}

void __real_chain_destroy(struct chain *chain);
void __wrap_chain_destroy(struct chain *chain)
{
    before_free(chain);
    __real_chain_destroy(chain);
    after_free(chain);
}

/* ---- both ends of a stream ---- */

static struct chain *out, *in; /* the same keys, at both ends */
static uint8_t sealed[BYTES + SEAL_TAG_BYTES];

static bool seal(uint64_t epoch)
{
    struct seal_text t = {epoch, NUMBER, secret, 9, secret, BYTES, sealed};

    return chain_cipher.seal(out, &t);
}

/* What was sealed last. */
static bool open_again(uint64_t epoch)
{
    uint8_t opened[BYTES];
    struct seal_text t = {epoch, NUMBER, secret, 9, sealed, BYTES, opened};

    return chain_cipher.open(in, &t);
}

static void begin(enum chain_cipher cipher)
{
    out = chain_create(cipher, secret);
    in = chain_create(cipher, secret);
    assert_non_null(out);
    assert_non_null(in);
}

static void end(void)
{
    is_short = false;
    chain_destroy(out);
    chain_destroy(in);
}

/* ---- memory is short ---- */

static void change_without_memory(enum chain_cipher cipher)
{
    begin(cipher);
    is_short = true;
    assert_false(seal(1));
    is_short = false;
    assert_true(seal(1));
    is_short = true;
    assert_false(open_again(1));
    is_short = false;
    assert_true(open_again(1));
    end();
}

/* Only what comes in that moment is lost, not the whole epoch. */
TEST(chain__no_memory_for_a_moment)
{
    for (size_t i = 0; i < sizeof(ciphers) / sizeof(ciphers[0]); i++)
        change_without_memory(ciphers[i]);
}

TEST(chain__no_memory_for_a_leap)
{
    begin(CHAIN_CHACHA20_POLY1305);
    is_short = true;
    chain_cipher.reach(out, 100);
    chain_cipher.reach(in, 100);
    assert_false(seal(100));
    is_short = false;
    assert_true(seal(100));
    assert_true(open_again(100));
    end();
}

/* The secret of the newest epoch is still there, but its keys are not made again. */
TEST(chain__what_was_forgotten_stays_so)
{
    begin(CHAIN_CHACHA20_POLY1305);
    assert_true(seal(0));
    chain_cipher.forget(out, 1);
    assert_false(seal(0));
    is_short = true;
    assert_false(seal(1));
    chain_cipher.forget(out, 2);
    chain_cipher.forget(out, 1);
    is_short = false;
    assert_false(seal(1));
    assert_true(seal(2));
    end();
}
/* Nothing is sealed or opened with the key of another epoch. */
TEST(chain__an_epoch_whose_place_another_has)
{
    enum { AHEAD = 4 }; /* there are keys of so many epochs at a time */

    for (size_t i = 0; i < sizeof(ciphers) / sizeof(ciphers[0]); i++) {
        begin(ciphers[i]);
        assert_true(seal(0));
        assert_true(open_again(0));
        for (uint64_t epoch = 1; epoch <= AHEAD; epoch++)
            assert_true(seal(epoch));
        assert_true(open_again(AHEAD));
        assert_false(open_again(0));
        assert_false(seal(0));
        end();
    }
}

/* ---- a child ---- */

static void destroy_out(void)
{
    chain_destroy(out);
}

TEST(chain__a_child_frees_no_key_twice)
{
    for (size_t i = 0; i < sizeof(ciphers) / sizeof(ciphers[0]); i++) {
        begin(ciphers[i]);
        children = 0;
        free_all = destroy_out;
        chain_cipher.forget(out, 1);
        free_all = NULL;
        assert_int_equal(children, 1);
        end();
    }
}

static struct session_keys session_keys;

static void clear_session_keys(void)
{
    session_keys_clear(&session_keys);
}

/* A child for each key, and for each chain. */
TEST(session_keys_clear__a_child_frees_nothing_twice)
{
    begin(CHAIN_CHACHA20_POLY1305);
    session_keys.sender.units_out.keys = out;
    session_keys.sender.control_in.keys = in;
    children = 0;
    free_all = clear_session_keys;
    session_keys_clear(&session_keys);
    free_all = NULL;
    assert_int_equal(children, 4);
}
#else
TEST(chain__no_keys)
{
    skip();
}
#endif
