#include "core/wire/cookie.h"

#include "../../support/secret.h"
#include "../../support/suite.h"

static const struct cookie_owner owner = {
    .peer = 1, .nonce = 2, .pairing = {.session = 3, .tag = 4}};

TEST(cookie__is_good_in_two_slots)
{
    struct cookie_jar jar = jar_of_seed(1);
    instant made = 7 * COOKIE_SLOT;
    uint64_t cookie = cookie_make(&jar, &owner, made);
    ck_assert(cookie_is_good(&jar, &owner, made, cookie));
    ck_assert(cookie_is_good(&jar, &owner, made + 2 * COOKIE_SLOT - 1, cookie));
    ck_assert(!cookie_is_good(&jar, &owner, made + 2 * COOKIE_SLOT, cookie));
    ck_assert(!cookie_is_good(&jar, &owner, made - 1, cookie));
}

TEST(cookie__is_for_its_owner_alone)
{
    struct cookie_jar jar = jar_of_seed(1), other_jar = jar_of_seed(2);
    uint64_t cookie = cookie_make(&jar, &owner, SECOND);
    for (int i = 0; i < 4; i++) {
        struct cookie_owner other = owner;
        other.peer += i == 0;
        other.nonce += i == 1;
        other.pairing.session += i == 2;
        other.pairing.tag += i == 3;
        ck_assert(!cookie_is_good(&jar, &other, SECOND, cookie));
    }
    ck_assert(!cookie_is_good(&other_jar, &owner, SECOND, cookie));
    for (int bit = 0; bit < 64; bit++)
        ck_assert(!cookie_is_good(&jar, &owner, SECOND, cookie ^ UINT64_C(1) << bit));
}

static uint64_t zero(const uint8_t key[SECRET_KEY_BYTES], const uint8_t *in, size_t size)
{
    (void)key;
    (void)in;
    (void)size;
    return 0;
}

/* 0 says that there is none. */
TEST(cookie__is_never_zero)
{
    struct cookie_jar jar = {.hash = zero};
    ck_assert_uint_ne(cookie_make(&jar, &owner, SECOND), 0);
    ck_assert(!cookie_is_good(&jar, &owner, SECOND, 0));
}
