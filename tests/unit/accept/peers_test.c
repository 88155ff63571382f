/* The peers of a listener, and how many of them one host may have. */
#include "accept/peers.h"

#include "../../support/suite.h"

#include <netinet/in.h>
#include <string.h>

static union address address_of(uint32_t host, uint16_t port)
{
    const struct sockaddr_in ip4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(host)}};
    union address a = {.room = {.ss_family = AF_UNSPEC}};

    memcpy(&a, &ip4, sizeof(ip4));
    return a;
}

static enum peers_verdict add(struct peers *p, uint32_t host, uint16_t port)
{
    const union address a = address_of(host, port);

    return peers_add(p, &a);
}

/* How many places a host gets, if nobody else wants one. */
static uint32_t fill(struct peers *p, uint32_t host)
{
    uint32_t count = 0;

    while (add(p, host, (uint16_t)(1 + count)) == PEERS_ADDED)
        count++;
    return count;
}

static const struct {
    uint32_t most, one, another;
} rows[] = {{1, 1, 0}, {2, 2, 0}, {8, 8, 0}, {9, 8, 1}, {16, 15, 1}, {64, 57, 7}, {1024, 897, 112}};

/* One host takes what it gets, and then another one. Where there are many places a third finds one.
 */
TEST(peers_add__a_share_for_each_host, .rows = ROWS(rows))
{
    struct peers *p = peers_create(rows[_i].most);

    ck_assert_uint_eq(fill(p, 1), rows[_i].one);
    ck_assert_uint_eq(fill(p, 2), rows[_i].another);
    ck_assert_int_eq(add(p, 3, 1), rows[_i].most > 64 ? PEERS_ADDED : PEERS_FULL);
    ck_assert_int_eq(add(p, 1, 1), PEERS_KNOWN);
    peers_release(p);
}

/* Many that come together leave a place. */
TEST(peers_add__many_hosts_leave_a_place)
{
    enum { HOSTS = 30 };
    struct peers *p = peers_create(1024);

    for (uint16_t port = 1; port <= 1024; port++)
        for (uint32_t host = 1; host <= HOSTS; host++)
            (void)add(p, host, port);
    ck_assert_uint_lt(peers_count(p), 1024);
    ck_assert_int_eq(add(p, HOSTS + 1, 1), PEERS_ADDED);
    peers_release(p);
}

/* What goes makes room for its host again. */
TEST(peers_remove__makes_room)
{
    struct peers *p = peers_create(64);
    const union address first = address_of(1, 1);

    ck_assert_uint_eq(fill(p, 1), 57);
    peers_remove(p, &first);
    ck_assert_uint_eq(peers_count(p), 56);
    ck_assert_int_eq(add(p, 1, 100), PEERS_ADDED);
    ck_assert_int_eq(add(p, 1, 101), PEERS_FULL);
    peers_release(p);
}
