#include "core/wire/secret.h"

#include "../../support/secret.h"
#include "../../support/suite.h"

TEST(draw__is_a_function_of_key_and_count)
{
    struct secret a = secret_of_seed(1), b = secret_of_seed(1), c = secret_of_seed(2);
    for (int i = 0; i < 100; i++) {
        uint64_t number = secret_draw(&a);
        ck_assert_uint_eq(number, secret_draw(&b));
        ck_assert_uint_ne(number, secret_draw(&c));
    }
    ck_assert_uint_eq(a.drawn, 100);
}

static uint64_t mostly_zero(const uint8_t key[SECRET_KEY_BYTES], const uint8_t *in, size_t size)
{
    (void)key;
    return in[size - 1] == 5 ? 7 : 0;
}

TEST(draw__names_and_nonces_are_never_zero)
{
    struct secret a = {.hash = mostly_zero}, b = {.hash = mostly_zero};
    ck_assert_uint_eq(secret_draw_name(&a), 7);
    ck_assert_uint_eq(secret_draw_nonce(&b), 7);
}

TEST(draw_between__reaches_both_ends)
{
    struct secret s = secret_of_seed(3);
    bool has_come[4] = {false};
    for (int i = 0; i < 1000; i++) {
        uint64_t n = secret_draw_between(&s, 64, 67);
        ck_assert_uint_ge(n, 64);
        ck_assert_uint_le(n, 67);
        has_come[n - 64] = true;
    }
    for (int i = 0; i < 4; i++)
        ck_assert(has_come[i]);
    ck_assert_uint_eq(secret_draw_between(&s, 9, 9), 9);
    (void)secret_draw_between(&s, 0, UINT64_MAX);
}
