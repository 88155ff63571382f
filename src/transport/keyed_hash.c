#include "keyed_hash.h"

#include "core/check.h"
#include "platform/system.h"

#include <pthread.h>
#include <sodium/crypto_shorthash.h>
#include <string.h>

_Static_assert(crypto_shorthash_KEYBYTES == SECRET_KEY_BYTES, "a key of SipHash");
_Static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "a value of SipHash");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint8_t process_key[SECRET_KEY_BYTES];

uint64_t keyed_hash_sip(const uint8_t key[SECRET_KEY_BYTES], const uint8_t *in, size_t size)
{
    uint64_t value;

    (void)crypto_shorthash((unsigned char *)&value, in, size, key);
    return value;
}

static void draw_process_key(void)
{
    entropy_fill(process_key, sizeof(process_key));
}

struct cookie_jar keyed_hash_jar(void)
{
    struct cookie_jar jar = {.hash = keyed_hash_sip};

    CHECK(pthread_once(&once, draw_process_key) == 0);
    memcpy(jar.key, process_key, sizeof(jar.key));
    return jar;
}

struct secret keyed_hash_secret(void)
{
    struct secret secret = {.hash = keyed_hash_sip};

    entropy_fill(secret.key, sizeof(secret.key));
    return secret;
}
