#include "core/wire/cookie.h"

#include "core/wire/control.h"

#include "../../support/secret.h"
#include "../../support/suite.h"

enum { PEER = 17 };

static struct cookie_jar jar;
static uint8_t answer[TRAILER_BYTES];
static size_t answer_bytes;

static void setup(void)
{
    jar = jar_of_seed(1);
    answer_bytes = 0;
}

static enum listening hear(const uint8_t *datagram, size_t bytes)
{
    return listening_hear(&jar, PEER, SECOND, datagram, bytes, answer, &answer_bytes);
}

static enum listening hear_hello(struct hello hello)
{
    uint8_t datagram[TRAILER_BYTES];
    (void)hello_encode(datagram, sizeof datagram, &hello);
    return hear(datagram, sizeof datagram);
}

FIXTURE(setup, NULL)

TEST(hello__is_given_a_cookie_and_accepted_with_it)
{
    struct hello hello = {.pairing = {.tag = 5}, .nonce = 6};
    struct cookie_answer cookie;
    ck_assert_int_eq(hear_hello(hello), LISTENING_ANSWERS);
    ck_assert_int_eq(cookie_answer_decode(answer, answer_bytes, &cookie), VERDICT_OK);
    ck_assert_uint_eq(cookie.pairing.session, 0);
    ck_assert_uint_eq(cookie.pairing.tag, 5);
    ck_assert_uint_eq(cookie.nonce, 6);
    hello.cookie = cookie.cookie;
    ck_assert_int_eq(hear_hello(hello), LISTENING_ACCEPTS);
}

/* A cookie of another is answered like none. */
TEST(hello__with_a_wrong_cookie)
{
    struct hello hello = {.pairing = {.tag = 5}, .nonce = 6, .cookie = 7};
    ck_assert_int_eq(hear_hello(hello), LISTENING_ANSWERS);
    ck_assert_uint_eq(answer_bytes, TRAILER_BYTES);
}

TEST(hello__of_a_session_is_not_accepted)
{
    struct cookie_owner owner = {.peer = PEER, .nonce = 6, .pairing = {.session = 3, .tag = 5}};
    struct hello hello = {.pairing = owner.pairing, .nonce = 6};
    hello.cookie = cookie_make(&jar, &owner, SECOND);
    ck_assert_int_eq(hear_hello(hello), LISTENING_ANSWERS);
}

TEST(hello__within_a_pairing_is_dropped)
{
    ck_assert_int_eq(hear_hello((struct hello){.pairing = {.session = 1, .tag = 5}}),
                     LISTENING_DROPS);
}

/* Whatever the version: no more out than in. */
TEST(hello__of_another_version)
{
    uint8_t bytes[64] = {[58] = 9, [63] = 0x35}, large[1000] = {[994] = 9, [999] = 0x35};
    struct pairing echoed;
    uint8_t version;
    for (size_t size = 10; size <= 32; size++) {
        ck_assert_int_eq(hear(bytes + 64 - size, size), LISTENING_ANSWERS);
        ck_assert(version_answer_decode(answer, answer_bytes, &echoed, &version));
        ck_assert_uint_le(answer_bytes, size);
    }
    ck_assert_int_eq(hear(large, sizeof large), LISTENING_ANSWERS);
    ck_assert_int_eq(hear(bytes + 64 - 9, 9), LISTENING_DROPS);
    bytes[58] = 0; /* an answer has to name somebody */
    ck_assert_int_eq(hear(bytes + 32, 32), LISTENING_DROPS);
}

TEST(anything_else__is_dropped)
{
    uint8_t bytes[TRAILER_BYTES] = {[27] = 1};
    for (int last = 0; last < 256; last++) {
        bytes[TRAILER_BYTES - 1] = (uint8_t)last;
        bool is_foreign = (last & 15) == DATAGRAM_HELLO && last >> 4 != PROTOCOL_VERSION;
        ck_assert_int_eq(hear(bytes, sizeof bytes),
                         is_foreign ? LISTENING_ANSWERS : LISTENING_DROPS);
        ck_assert_int_eq(hear(bytes + 31, 1), LISTENING_DROPS);
    }
    ck_assert_int_eq(hear(bytes, 0), LISTENING_DROPS);
}
