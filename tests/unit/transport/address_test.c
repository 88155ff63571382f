/* Which addresses are one peer's. */
#include "transport/address.h"

#include "../../support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static union address address_of(const char *host, uint16_t port, uint32_t scope)
{
    union address a = {.room = {.ss_family = AF_UNSPEC}};
    struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 ip6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope};

    if (inet_pton(AF_INET, host, &ip4.sin_addr) == 1)
        memcpy(&a, &ip4, sizeof ip4);
    else if (inet_pton(AF_INET6, host, &ip6.sin6_addr) == 1)
        memcpy(&a, &ip6, sizeof ip6);
    return a;
}

static const struct {
    const char *host, *other;
    uint16_t port, other_port;
    uint32_t scope, other_scope;
    bool is_same;
} row[] = {
    {"192.0.2.1", "192.0.2.1", 7000, 7000, 0, 0, true},
    {"192.0.2.1", "192.0.2.2", 7000, 7000, 0, 0, false},
    {"192.0.2.1", "192.0.2.1", 7000, 7001, 0, 0, false},
    {"192.0.2.1", "::ffff:192.0.2.1", 7000, 7000, 0, 0, true}, /* mapped */
    {"192.0.2.1", "::ffff:192.0.2.2", 7000, 7000, 0, 0, false},
    {"192.0.2.1", "::192.0.2.1", 7000, 7000, 0, 0, false},
    {"2001:db8::1", "2001:db8::1", 7000, 7000, 0, 0, true},
    {"2001:db8::1", "2001:db8::2", 7000, 7000, 0, 0, false},
    {"2001:db8::1", "2001:db8::1", 7000, 7000, 0, 2, true}, /* it is the same on each link */
    {"fe80::1", "fe80::1", 7000, 7000, 2, 2, true},
    {"fe80::1", "fe80::1", 7000, 7000, 2, 3, false}, /* on another link it is another host's */
};

TEST(address__of_one_peer, .rows = ROWS(row))
{
    union address a = address_of(row[_i].host, row[_i].port, row[_i].scope);
    union address b = address_of(row[_i].other, row[_i].other_port, row[_i].other_scope);

    ck_assert(address_is_same(&a, &b) == row[_i].is_same);
    ck_assert((address_number(&a) == address_number(&b)) == row[_i].is_same);
    ck_assert_uint_eq(address_port(&a), row[_i].port);
}

static const struct {
    const char *host, *other;
    bool is_same;
} hosts[] = {
    {"192.0.2.1", "192.0.2.1", true},
    {"192.0.2.1", "192.0.2.2", false},
    {"192.0.2.1", "2001:db8::1", false},
    {"2001:db8::1", "2001:db8::ffff:1", true}, /* one host may take any address of its network */
    {"2001:db8::1", "2001:db8:0:1::1", false},
    {"fe80::1", "fe80::2", false},
    {"::1", "::2", false},
    {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
    {"::ffff:192.0.2.1", "192.0.2.1", true},
};

TEST(address_host_number__of_one_host, .rows = ROWS(hosts))
{
    union address a = address_of(hosts[_i].host, 7000, 0);
    union address b = address_of(hosts[_i].other, 7001, 0);

    ck_assert((address_host_number(&a) == address_host_number(&b)) == hosts[_i].is_same);
}

TEST(address_has_host__whatever_the_family)
{
    union address ip4 = address_of("192.0.2.1", 7000, 0);
    union address mapped = address_of("::ffff:192.0.2.1", 7001, 0);
    union address other = address_of("::ffff:192.0.2.2", 7000, 0);

    ck_assert(address_has_host(&ip4, &mapped.any));
    ck_assert(address_has_host(&mapped, &ip4.any));
    ck_assert(!address_has_host(&ip4, &other.any));
}

static const struct {
    const char *host, *text;
} texts[] = {
    {"192.0.2.1", "192.0.2.1:7000"},
    {"::ffff:192.0.2.1", "192.0.2.1:7000"},
    {"2001:db8::1", "[2001:db8::1]:7000"},
    {"::1", "[::1]:7000"},
};

TEST(address_write__ip4_like_ip4, .rows = ROWS(texts))
{
    union address a = address_of(texts[_i].host, 7000, 0);
    bool is_ip6 = texts[_i].text[0] == '[';
    char text[64];

    ck_assert_int_eq(address_write(&a, text, sizeof(text)), 0);
    ck_assert_str_eq(text, texts[_i].text);
    address_unmap(&a);
    ck_assert_int_eq(a.any.sa_family, is_ip6 ? AF_INET6 : AF_INET);
    ck_assert_uint_eq(address_bytes(&a), is_ip6 ? sizeof(a.ip6) : sizeof(a.ip4));
    ck_assert_uint_eq(address_port(&a), 7000);
    ck_assert_int_eq(address_write(&a, text, sizeof(text)), 0);
    ck_assert_str_eq(text, texts[_i].text);
}

TEST(address__of_nobody)
{
    union address none = address_of("", 0, 0);

    ck_assert_uint_eq(address_host_number(&none), 0);

    ck_assert(!address_is_same(&none, &none));
    ck_assert_uint_eq(address_number(&none), 0);
    ck_assert_uint_eq(address_port(&none), 0);
}
