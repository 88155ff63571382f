/* Who has a place at a listener with keys. The reception's thread is not started, so nobody is
 * served.
 */
#include "accept/reception.h"

#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = {1};
static struct reception r;

static void setup(void)
{
    struct zcrp_keys *keys;

    r = (struct reception){.keys = NULL};
    ck_assert_int_eq(zcrp_keys_psk(&keys, "a", key, sizeof(key)), ZCRP_OK);
    ck_assert(reception_init(&r, keys, 5 * SECOND));
    zcrp_keys_free(keys);
}

static void teardown(void)
{
    reception_fini(&r);
}

FIXTURE(setup, teardown)

/* The first datagram of a handshake, from that address. */
static struct caller caller_at(const char *host, uint16_t port, uint64_t nonce, bool has_cookie)
{
    const struct handshake_datagram d = {.tag = 1, .nonce = nonce};
    struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct caller c = {.from_size = sizeof(ip4), .has_cookie = has_cookie};

    if (inet_pton(AF_INET, host, &ip4.sin_addr) == 1)
        memcpy(&c.from, &ip4, sizeof(ip4));
    else if (inet_pton(AF_INET6, host, &ip6.sin6_addr) == 1)
        memcpy(&c.from, &ip6, sizeof(ip6));
    handshake_encode(c.hello, &d);
    c.hello_bytes = TRAILER_BYTES;
    return c;
}

static void hear(const char *host, uint16_t port, uint64_t nonce)
{
    const struct caller c = caller_at(host, port, nonce, true);

    reception_hear(&r, &c);
}

static uint64_t dropped(void)
{
    uint64_t refused, count;

    reception_count(&r, &refused, &count);
    ck_assert_uint_eq(refused, 0);
    return count;
}

static int places(void)
{
    int count = 0;

    for (int i = 0; i < RECEPTION_MOST; i++)
        count += r.visitors[i].is_here;
    return count;
}

TEST(reception_hear__a_share_for_each_host)
{
    for (uint16_t i = 0; i < 3 * RECEPTION_OF_HOST; i++)
        hear("192.0.2.1", (uint16_t)(1000 + i), 1 + i);
    ck_assert_int_eq(places(), RECEPTION_OF_HOST);
    ck_assert_uint_eq(dropped(), 2 * RECEPTION_OF_HOST);
    hear("192.0.2.2", 1000, 1);
    ck_assert_int_eq(places(), RECEPTION_OF_HOST + 1);
}

/* All addresses of a network of 64 bits are one host's. */
TEST(reception_hear__a_share_for_each_network)
{
    char host[64];

    for (int i = 0; i < 2 * RECEPTION_OF_HOST; i++) {
        snprintf(host, sizeof(host), "2001:db8::%x", 1 + i);
        hear(host, 1000, 1);
    }
    ck_assert_int_eq(places(), RECEPTION_OF_HOST);
}

TEST(reception_hear__no_more_places_than_there_are)
{
    char host[64];

    for (int i = 0; i < 2 * RECEPTION_MOST; i++) {
        snprintf(host, sizeof(host), "192.0.2.%d", 1 + i);
        hear(host, 1000, 1);
    }
    ck_assert_int_eq(places(), RECEPTION_MOST);
    ck_assert_uint_eq(dropped(), RECEPTION_MOST);
}

/* Who was refused gives way at once, who has waited long does, and nobody who is being served. */
TEST(reception_hear__who_gives_way)
{
    for (uint16_t i = 0; i < RECEPTION_OF_HOST; i++)
        hear("192.0.2.1", (uint16_t)(1000 + i), 1);
    r.visitors[5].has_failed = true;
    hear("192.0.2.1", 2000, 1);
    ck_assert_uint_eq(dropped(), 0);
    ck_assert(!r.visitors[5].has_failed);
    hear("192.0.2.1", 2001, 1);
    ck_assert_uint_eq(dropped(), 1);
    r.visitors[6].came -= 2 * GREETING_PATIENCE;
    r.visitors[7].came -= 3 * GREETING_PATIENCE;
    r.visitors[7].is_served = true;
    hear("192.0.2.1", 2002, 99);
    ck_assert_uint_eq(dropped(), 1);
    ck_assert_uint_eq(r.visitors[6].nonce, 99);
    ck_assert_uint_eq(r.visitors[7].nonce, 1);
}

TEST(reception_hear__no_cookie_no_place)
{
    const struct caller c = caller_at("192.0.2.1", 1000, 1, false);

    reception_hear(&r, &c);
    ck_assert_int_eq(places(), 0);
    ck_assert_uint_eq(dropped(), 0);
}

TEST(reception_hear__what_is_no_handshake)
{
    struct caller c = caller_at("192.0.2.1", 1000, 1, true);

    c.hello_bytes--;
    reception_hear(&r, &c);
    ck_assert_int_eq(places(), 0);
}

TEST(reception_hear__letters_are_bounded)
{
    for (int i = 0; i < 3 * LETTERS_MOST; i++)
        hear("192.0.2.1", 1000, 1);
    ck_assert_int_eq(places(), 1);
    ck_assert_uint_eq(r.visitors[0].letters.count, LETTERS_MOST);
}

/* A request that comes early is kept for whom it may be from, once its handshake has begun. */
TEST(reception_take_early__of_the_same_address)
{
    struct caller early = caller_at("192.0.2.1", 1000, 1, false), found;

    early.is_early = true;
    hear("192.0.2.1", 1000, 1);
    hear("192.0.2.2", 1000, 1);
    reception_hear(&r, &early);
    ck_assert(!reception_take_early(&r, &early, &found));
    r.visitors[0].has_begun = r.visitors[1].has_begun = true;
    reception_hear(&r, &early);
    ck_assert(reception_take_early(&r, &r.visitors[0].caller, &found));
    ck_assert(found.is_early);
    ck_assert(!reception_take_early(&r, &r.visitors[1].caller, &found));
}
#endif
