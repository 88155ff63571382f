/* Pre-shared keys for end-to-end tests, and both ends of a transfer that have one. */
#ifndef ZCRP_TESTS_SUPPORT_SHARED_KEYS_H
#define ZCRP_TESTS_SUPPORT_SHARED_KEYS_H

#include "house.h"

static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = "not random, because it is a test";
static const uint8_t other_key[ZCRP_KEYS_PSK_LEAST] = "another one, which is not random";

/* Was the library built with keys? */
static inline bool has_keys(void)
{
    struct zcrp_keys *keys;
    int code = zcrp_keys_psk(&keys, "probe", key, sizeof key);
    zcrp_keys_free(keys);
    return code == ZCRP_OK;
}

/* The caller's, to be freed. */
static inline struct zcrp_keys *shared(const char *identity, const uint8_t *bytes)
{
    struct zcrp_keys *keys;
    ck_assert_int_eq(zcrp_keys_psk(&keys, identity, bytes, ZCRP_KEYS_PSK_LEAST), ZCRP_OK);
    return keys;
}

/* A listener with these keys, which this frees: the library keeps what it needs of them. Over UDP,
 * whatever the channel of the tests. */
static inline struct house house_with(struct zcrp_options options, struct zcrp_keys *keys)
{
    struct house h;

    options.keys = keys;
    ck_assert_int_eq(zcrp_listen(&h.listener, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(h.port, sizeof h.port, "%d", zcrp_listener_port(h.listener));
    zcrp_keys_free(keys);
    return h;
}

/* Connects with these keys, which this frees, and waits for the peer for `timeout_ns`; the code. */
static inline int connect_with(const char *port, struct zcrp_connection **c,
                               struct zcrp_options options, struct zcrp_keys *keys,
                               int64_t timeout_ns)
{
    options.keys = keys;
    int code = zcrp_connect(c, "127.0.0.1", port, &options, timeout_ns);
    zcrp_keys_free(keys);
    return code;
}

/* Both ends have the key, and the library keeps what it needs of it. */
static inline struct ends ends_meet(const struct loopback *sockets, struct zcrp_options options)
{
    options.keys = shared("alice", key);
    struct ends e = ends_open_at(sockets, &options, &options);
    zcrp_keys_free(options.keys);
    return e;
}

static inline void ends_part(struct ends *e)
{
    ck_assert_int_eq(zcrp_close(e->sender), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(e->receiver), ZCRP_OK);
}

#endif
