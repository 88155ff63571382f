/* Pre-shared keys for end-to-end tests, and both ends of a transfer that have one. */
#ifndef ZCRP_TESTS_SUPPORT_SHARED_KEYS_H
#define ZCRP_TESTS_SUPPORT_SHARED_KEYS_H

#include "ends.h"

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
