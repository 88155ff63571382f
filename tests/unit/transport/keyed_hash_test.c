/* The library's keyed hash, and the process's key. */
#include "transport/keyed_hash.h"

#include "../../support/suite.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The vectors of SipHash's paper: the key is 00 .. 0f, the input 00, 01, ... of so many bytes. */
TEST(keyed_hash_sip__vectors)
{
    static const struct {
        size_t size;
        uint8_t value[8];
    } row[] = {
        {0, {0x31, 0x0e, 0x0e, 0xdd, 0x47, 0xdb, 0x6f, 0x72}},
        {1, {0xfd, 0x67, 0xdc, 0x93, 0xc5, 0x39, 0xf8, 0x74}},
        {8, {0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93}},
        {15, {0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1}},
    };
    uint8_t bytes[16];
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint64_t value = keyed_hash_sip(bytes, bytes, row[i].size);
        ck_assert_mem_eq(&value, row[i].value, sizeof value);
    }
}

TEST(keyed_hash_jar__is_the_process_s)
{
    struct cookie_jar a = keyed_hash_jar(), b = keyed_hash_jar();
    uint8_t zero[SECRET_KEY_BYTES] = {0};
    ck_assert_mem_eq(a.key, b.key, sizeof a.key);
    ck_assert_mem_ne(a.key, zero, sizeof zero);
}

TEST(keyed_hash_secret__is_another_each_time)
{
    struct secret a = keyed_hash_secret(), b = keyed_hash_secret();
    ck_assert_mem_ne(a.key, b.key, sizeof a.key);
    ck_assert_uint_ne(secret_draw(&a), secret_draw(&b));
}
