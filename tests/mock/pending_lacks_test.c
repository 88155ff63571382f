/* A listener with keys, and a receiver over descriptors, that lacks a thread, or memory for a
 * handshake. */
/* wrap: thread_start tls_handshake_create tls_handshake_make_keys first_messages_make */
/* wrap: pending_open chain_create identity_find_shared gnutls_handshake gnutls_handshake_write */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "../support/own.h"

#include "accept/first_messages.h"
#include "handshake/pending.h"
#include "handshake/tls_handshake.h"
#include "platform/thread.h"
#include "zcrp.h"

#ifdef ZCRP_KEYS
#include "keys/identity.h"
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t second = 1000000000;
static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = "not random, because it is a test";

static int start_error;                                            /* of zcrp-keys; 0: none */
static _Atomic int without_handshake, without_keys, without_first; /* how many will fail */
static _Atomic int keys_made;                                      /* for callers */
static _Atomic int begun;                                          /* handshakes, by callers */

int __real_thread_start(struct thread *t, const char *name, thread_run run, void *context);
int __wrap_thread_start(struct thread *t, const char *name, thread_run run, void *context)
{
    if (start_error != 0 && strcmp(name, "zcrp-keys") == 0)
        return -start_error;
    return __real_thread_start(t, name, run, context);
}

struct tls_handshake *__real_tls_handshake_create(struct zcrp_keys *keys, bool is_connecting,
                                                  uint32_t tag, uint64_t nonce);
struct tls_handshake *__wrap_tls_handshake_create(struct zcrp_keys *keys, bool is_connecting,
                                                  uint32_t tag, uint64_t nonce)
{
    if (!is_connecting && atomic_fetch_sub(&without_handshake, 1) > 0)
        return NULL;
    begun += is_connecting;
    return __real_tls_handshake_create(keys, is_connecting, tag, nonce);
}

struct session_keys *__real_tls_handshake_make_keys(const struct tls_handshake *h);
struct session_keys *__wrap_tls_handshake_make_keys(const struct tls_handshake *h)
{
    if (!h->machine.is_connecting && atomic_fetch_sub(&without_keys, 1) > 0)
        return NULL;
    keys_made += !h->machine.is_connecting;
    return __real_tls_handshake_make_keys(h);
}

bool __real_first_messages_make(struct first_messages *f, uint32_t count, nlong bytes);
bool __wrap_first_messages_make(struct first_messages *f, uint32_t count, nlong bytes)
{
    if (atomic_fetch_sub(&without_first, 1) > 0)
        return false;
    return __real_first_messages_make(f, count, bytes);
}

static duration opened_limit; /* of the last that was opened */

int __real_pending_open(struct pending **pending, const struct pending_rules *rules);
int __wrap_pending_open(struct pending **pending, const struct pending_rules *rules)
{
    opened_limit = rules->limit;
    return __real_pending_open(pending, rules);
}

/* ---- memory that fails amid a handshake ---- */

/* For what a side has no memory, and how many of such calls it makes until then; 0: for none. */
enum lack {
    LACK_CHAIN, /* the keys of a level */
    LACK_KEY,   /* a copy of the caller's key */
    LACK_TURN,  /* a turn of GnuTLS */
    LACK_BYTES, /* the bytes that it is to read */
    LACKS,
};
static _Atomic int until[LACKS];
static _Atomic bool is_caller_short; /* else the side that listens is, in zcrp-keys */

#ifdef ZCRP_KEYS
static bool lacks(enum lack what)
{
    char name[THREAD_NAME_MAX + 1] = "";

    (void)pthread_getname_np(pthread_self(), name, sizeof(name));
    return (strcmp(name, "zcrp-keys") != 0) == is_caller_short && until[what] > 0 &&
           atomic_fetch_sub(&until[what], 1) == 1;
}

struct chain *__real_chain_create(enum chain_cipher cipher,
                                  const uint8_t secret[CHAIN_SECRET_BYTES]);
struct chain *__wrap_chain_create(enum chain_cipher cipher,
                                  const uint8_t secret[CHAIN_SECRET_BYTES])
{
    return lacks(LACK_CHAIN) ? NULL : __real_chain_create(cipher, secret);
}

/* Whoever has found the key makes a copy of it. */
static _Thread_local bool is_copy_lacking;

size_t __real_identity_find_shared(const struct zcrp_keys *keys, const char *identity,
                                   uint8_t *found);
size_t __wrap_identity_find_shared(const struct zcrp_keys *keys, const char *identity,
                                   uint8_t *found)
{
    is_copy_lacking = lacks(LACK_KEY);
    return __real_identity_find_shared(keys, identity, found);
}

static void *malloc_for_gnutls(size_t size)
{
    bool is_lacking = is_copy_lacking;

    is_copy_lacking = false;
    return is_lacking ? NULL : malloc(size);
}

int __real_gnutls_handshake(gnutls_session_t session);
int __wrap_gnutls_handshake(gnutls_session_t session)
{
    return lacks(LACK_TURN) ? GNUTLS_E_MEMORY_ERROR : __real_gnutls_handshake(session);
}

int __real_gnutls_handshake_write(gnutls_session_t session, gnutls_record_encryption_level_t level,
                                  const void *bytes, size_t count);
int __wrap_gnutls_handshake_write(gnutls_session_t session, gnutls_record_encryption_level_t level,
                                  const void *bytes, size_t count)
{
    return lacks(LACK_BYTES) ? GNUTLS_E_MEMORY_ERROR
                             : __real_gnutls_handshake_write(session, level, bytes, count);
}
#endif

/* ---- a listener ---- */

static struct zcrp_options options;
static bool has_keys;

static void setup(void)
{
    start_error = 0;
    without_handshake = 0;
    without_keys = 0;
    without_first = 0;
    for (int i = 0; i < LACKS; i++)
        until[i] = 0;
    is_caller_short = false;
#ifdef ZCRP_KEYS
    gnutls_malloc = malloc_for_gnutls;
#endif
    options = (struct zcrp_options){.connect_ns = second / 2};
    has_keys = zcrp_keys_psk(&options.keys, "alice", key, sizeof(key)) == ZCRP_OK;
}

static void teardown(void)
{
    zcrp_keys_free(options.keys);
}

FIXTURE(setup, teardown)

TEST(listen__no_thread)
{
    if (!has_keys)
        skip();
    struct zcrp_listener *listener;

    start_error = EAGAIN;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_ERROR_SYSTEM);
    assert_int_equal(errno, EAGAIN);
    assert_null(listener);
    start_error = 0;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}

/* How long the listener's own connections look for a peer says nothing of its callers. */
TEST(listen__time_of_a_handshake)
{
    if (!has_keys)
        skip();
    static const int64_t limits[] = {1, INT64_MAX};
    struct zcrp_listener *listener;

    for (int i = 0; i < 2; i++) {
        options.connect_ns = limits[i];
        assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
        assert_int_equal(opened_limit, 5 * second);
        assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
    }
}

/* Connects; what becomes of it within the limit. */
static int connect_once(struct zcrp_listener_stats *stats, int64_t limit)
{
    struct zcrp_listener *listener;
    struct zcrp_connection *there, *here;
    char port[8];

    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, &options, 0), ZCRP_OK);
    int code = zcrp_accept(listener, &here, limit);
    assert_int_equal(zcrp_listener_stats(listener, stats), ZCRP_OK);
    if (code == ZCRP_OK)
        (void)zcrp_connection_close(here);
    (void)zcrp_connection_close(there);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
    return code;
}

/* The handshake is over, and there is no memory for the connection. The user is told, and the
 * caller keeps its place until there is some. */
TEST(accept__no_memory_for_a_connection)
{
    if (!has_keys)
        skip();
    struct zcrp_listener *listener;
    struct zcrp_connection *there, *here;
    char port[8];
    int code;

    options.connect_ns = 20 * second;
    without_first = 1000000;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, &options, 0), ZCRP_OK);
    assert_int_equal(zcrp_accept(listener, &here, 20 * second), ZCRP_ERROR_MEMORY);
    without_first = 0;
    do
        code = zcrp_accept(listener, &here, 10 * second);
    while (code == ZCRP_ERROR_MEMORY);
    assert_int_equal(code, ZCRP_OK);
    assert_int_equal(zcrp_connection_wait(there, 10 * second), ZCRP_OK);
    (void)zcrp_connection_close(here);
    assert_int_equal(zcrp_connection_close(there), ZCRP_OK);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}

/* The caller says it again, and there is memory by then. */
TEST(accept__no_memory_for_a_handshake)
{
    if (!has_keys)
        skip();
    struct zcrp_listener_stats stats;

    options.connect_ns = 20 * second;
    without_handshake = 2;
    assert_int_equal(connect_once(&stats, 20 * second), ZCRP_OK);
    assert_true(without_handshake <= 0);
    assert_int_equal(stats.refused, 0);
}

/* What fails amid a handshake, and at which call. The caller speaks twice, and each time GnuTLS
 * takes a turn for either level. By its last turn the caller has keys: it begins anew once it has
 * heard twice that its handshake is not known. Before, it has heard nothing, and repeats itself. */
static const struct {
    enum lack what;
    int call;
    bool begins_anew;
} amid[] = {
    {LACK_CHAIN, 1, false}, {LACK_CHAIN, 2, false}, {LACK_KEY, 1, false},   {LACK_TURN, 1, false},
    {LACK_TURN, 2, false},  {LACK_TURN, 4, true},   {LACK_BYTES, 1, false},
};

/* Also if it has begun. The caller's key is good, and is not refused. */
TEST(accept__no_memory_amid_a_handshake)
{
    if (!has_keys)
        skip();
    struct zcrp_listener_stats stats;

    options.connect_ns = 20 * second;
    for (size_t i = 0; i < sizeof(amid) / sizeof(amid[0]); i++) {
        until[amid[i].what] = amid[i].call;
        begun = 0;
        assert_int_equal(connect_once(&stats, 20 * second), ZCRP_OK);
        assert_int_equal(begun > 1, amid[i].begins_anew);
        assert_int_equal(until[amid[i].what], 0);
        assert_int_equal(stats.refused, 0);
        assert_int_equal(stats.admitted, 1);
    }
}

/* A caller that is short of memory itself fails, as it does with a key that is not accepted. */
TEST(connect__no_memory_amid_a_handshake)
{
    if (!has_keys)
        skip();
    struct zcrp_listener *listener;
    struct zcrp_connection *there;
    struct zcrp_listener_stats stats;
    char port[8];

    options.connect_ns = 20 * second;
    is_caller_short = true;
    until[LACK_CHAIN] = 1;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, &options, 0), ZCRP_OK);
    assert_int_equal(zcrp_connection_wait(there, 10 * second), ZCRP_ERROR_KEYS);
    assert_int_equal(zcrp_listener_stats(listener, &stats), ZCRP_OK);
    assert_int_equal(until[LACK_CHAIN], 0);
    assert_int_equal(stats.refused + stats.admitted, 0);
    (void)zcrp_connection_close(there);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}

/* It is no stranger, and is not counted as one. It waits, and there is memory by then. */
TEST(accept__no_memory_for_what_it_ends_with)
{
    if (!has_keys)
        skip();
    struct zcrp_listener_stats stats;

    options.connect_ns = 20 * second;
    without_keys = 2;
    assert_int_equal(connect_once(&stats, 20 * second), ZCRP_OK);
    assert_true(without_keys <= 0);
    assert_int_equal(stats.refused, 0);
    assert_int_equal(stats.admitted, 1);
}

/* A caller waits for room, which is looked for again and again. Keys are made once there is some.
 */
TEST(accept__no_keys_without_room)
{
    if (!has_keys)
        skip();
    struct zcrp_listener *listener;
    struct zcrp_connection *there[2], *here[2];
    struct zcrp_listener_stats stats = {.dropped = 0};
    char port[8];

    options.connect_ns = 20 * second;
    options.connections = 1;
    keys_made = 0;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&there[0], "127.0.0.1", port, &options, -1), ZCRP_OK);
    assert_int_equal(zcrp_accept(listener, &here[0], 20 * second), ZCRP_OK);
    assert_int_equal(zcrp_connect(&there[1], "127.0.0.1", port, &options, 0), ZCRP_OK);
    for (int i = 0; i < 20000 && stats.dropped < 3; i++) {
        (void)usleep(1000);
        assert_int_equal(zcrp_listener_stats(listener, &stats), ZCRP_OK);
    }
    assert_true(stats.dropped >= 3);
    assert_int_equal(keys_made, 1);
    (void)zcrp_connection_close(there[0]);
    (void)zcrp_connection_close(here[0]);
    assert_int_equal(zcrp_accept(listener, &here[1], 20 * second), ZCRP_OK);
    assert_int_equal(keys_made, 2);
    (void)zcrp_connection_close(there[1]);
    (void)zcrp_connection_close(here[1]);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}

/* ---- a receiver over descriptors ---- */

TEST(open_receiver__no_thread)
{
    if (!has_keys)
        skip();
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int before = own_descriptors();
    struct zcrp_entity *receiver;

    start_error = EAGAIN;
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, &options), ZCRP_ERROR_SYSTEM);
    assert_int_equal(errno, EAGAIN);
    assert_null(receiver);
    assert_int_equal(own_descriptors(), before);
    start_error = 0;
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, &options), ZCRP_OK);
    assert_int_equal(zcrp_close(receiver), ZCRP_OK);
    loopback_close(&sockets);
}

/* Sends a message; what becomes of it within the limit. */
static int send_one(struct zcrp_stats *stats, int64_t limit)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *in = zcrp_alloc_msg(1), *out = zcrp_alloc_msg(1);
    struct zcrp_entity *sender, *receiver;

    *(char *)out->buffer = 1;
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, &options), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&sender, sockets.sender, &options), ZCRP_OK);
    assert_int_equal(zcrp_submit(receiver, in, 1), ZCRP_OK);
    assert_int_equal(zcrp_submit(sender, out, 1), ZCRP_OK);
    int code = zcrp_wait_for(in, limit);
    assert_int_equal(zcrp_stats(receiver, stats), ZCRP_OK);
    (void)zcrp_close(sender);
    (void)zcrp_close(receiver);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    loopback_close(&sockets);
    return code;
}

TEST(receiver__no_memory_for_a_handshake)
{
    if (!has_keys)
        skip();
    struct zcrp_stats stats;

    options.connect_ns = 20 * second;
    without_handshake = 2;
    assert_int_equal(send_one(&stats, 20 * second), ZCRP_OK);
    assert_true(without_handshake <= 0);
    assert_int_equal(stats.keys_refused, 0);
}

TEST(receiver__no_memory_amid_a_handshake)
{
    if (!has_keys)
        skip();
    struct zcrp_stats stats;

    options.connect_ns = 20 * second;
    until[LACK_CHAIN] = 1;
    assert_int_equal(send_one(&stats, 20 * second), ZCRP_OK);
    assert_int_equal(until[LACK_CHAIN], 0);
    assert_int_equal(stats.keys_refused, 0);
}

TEST(receiver__no_memory_for_what_it_ends_with)
{
    if (!has_keys)
        skip();
    struct zcrp_stats stats;

    options.connect_ns = 20 * second;
    without_keys = 2;
    assert_int_equal(send_one(&stats, 20 * second), ZCRP_OK);
    assert_true(without_keys <= 0);
    assert_int_equal(stats.keys_refused, 0);
}
