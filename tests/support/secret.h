/* Secrets and cookies for tests: numbers that are well spread, from a seed, and no secret at all.
 */
#ifndef ZCRP_TESTS_SUPPORT_SECRET_H
#define ZCRP_TESTS_SUPPORT_SECRET_H

#include "core/adt/random.h"
#include "core/wire/cookie.h"

#include <string.h>

static inline uint64_t secret_test_hash(const uint8_t key[SECRET_KEY_BYTES], const uint8_t *in,
                                        size_t size)
{
    uint64_t state;
    memcpy(&state, key, sizeof state);
    for (size_t i = 0; i < size; i++) {
        state ^= in[i];
        state = random_next(&state);
    }
    return random_next(&state);
}

static inline struct secret secret_of_seed(uint64_t seed)
{
    struct secret secret = {.hash = secret_test_hash};
    memcpy(secret.key, &seed, sizeof seed);
    return secret;
}

static inline struct cookie_jar jar_of_seed(uint64_t seed)
{
    struct cookie_jar jar = {.hash = secret_test_hash};
    memcpy(jar.key, &seed, sizeof seed);
    return jar;
}

#endif
