/* The peers of a listener, and how many of them one host may have. */
#include "accept/connection.h"
#include "accept/peers.h"

#include "../../support/suite.h"

#include <errno.h>
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

static bool reserve(struct peers *p, uint32_t host, uint16_t port)
{
    const union address a = address_of(host, port);

    return peers_reserve(p, &a);
}

static struct zcrp_listener_stats stats_of(struct peers *p)
{
    struct zcrp_listener_stats stats = {.admitted = 0};

    peers_add_stats(p, &stats);
    return stats;
}

/* How many places a host gets, if nobody else wants one. */
static uint32_t fill(struct peers *p, uint32_t host)
{
    uint32_t count = 0;

    while (reserve(p, host, (uint16_t)(1 + count)))
        count++;
    return count;
}

static const struct {
    uint32_t most, one, another;
} rows[] = {{1, 1, 0}, {2, 2, 0}, {8, 8, 0}, {9, 8, 1}, {16, 15, 1}, {64, 57, 7}, {1024, 897, 112}};

/* One host takes what it gets, and then another one. Where there are many places a third finds one.
 */
TEST(peers_reserve__a_share_for_each_host, .rows = ROWS(rows))
{
    struct peers *p = peers_create(rows[_i].most, 1);

    ck_assert_uint_eq(fill(p, 1), rows[_i].one);
    ck_assert_uint_eq(fill(p, 2), rows[_i].another);
    ck_assert_int_eq(reserve(p, 3, 1), rows[_i].most > 64);
    uint64_t dropped = stats_of(p).dropped;
    ck_assert(!reserve(p, 1, 1)); /* it is known */
    ck_assert_uint_eq(stats_of(p).dropped, dropped);
    peers_close(p, false);
}

/* Many that come together leave a place. */
TEST(peers_reserve__many_hosts_leave_a_place)
{
    enum { HOSTS = 30 };
    struct peers *p = peers_create(1024, 1);

    for (uint16_t port = 1; port <= 1024; port++)
        for (uint32_t host = 1; host <= HOSTS; host++)
            if (reserve(p, host, port))
                ck_assert_uint_lt(stats_of(p).connections, 1024);
    ck_assert(reserve(p, HOSTS + 1, 1));
    peers_close(p, false);
}

/* What goes makes room for its host again. */
TEST(peers_fail__makes_room)
{
    struct peers *p = peers_create(64, 1);
    const union address first = address_of(1, 1);

    ck_assert_uint_eq(fill(p, 1), 57);
    peers_fail(p, &first, -ENETUNREACH);
    ck_assert_uint_eq(stats_of(p).connections, 56);
    ck_assert(reserve(p, 1, 100));
    ck_assert(!reserve(p, 1, 101));
    peers_close(p, false);
}

/* Those that wait have their share, too, and come out in the order in which they came. */
TEST(peers_take__in_order)
{
    struct peers *p = peers_create(1024, 8);
    struct accept_info out;

    for (uint16_t port = 1; port <= 8; port++) {
        const struct accept_info in = {.fd = -1, .peer = address_of(1, port)};
        ck_assert(reserve(p, 1, port));
        peers_admit(p, &in);
    }
    ck_assert(!reserve(p, 2, 1));
    ck_assert_uint_eq(stats_of(p).dropped, 1);
    for (uint16_t port = 1; port <= 8; port++) {
        ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_OK);
        ck_assert_uint_eq(address_port(&out.peer), port);
        peers_leave(out.peers, &out.peer, false);
    }
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(stats_of(p).connections, 0);
    ck_assert_uint_eq(stats_of(p).admitted, 8);
    peers_close(p, false);
}

/* What this process lacks is told once, what is wrong with one peer never. */
TEST(peers_take__tells_what_is_lacking)
{
    struct peers *p = peers_create(8, 8);
    struct accept_info out;
    const union address peer = address_of(1, 1);

    peers_fail(p, &peer, -ENETUNREACH);
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_ERROR_TIMEOUT);
    peers_fail(p, &peer, -EMFILE);
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_ERROR_TIMEOUT);
    peers_close(p, false);
}

/* Connections outlive their listener. */
TEST(peers_leave__behind_the_listener)
{
    struct peers *p = peers_create(8, 8);
    struct accept_info out;
    const struct accept_info in = {.fd = -1, .peer = address_of(1, 1)};

    ck_assert(reserve(p, 1, 1));
    peers_admit(p, &in);
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_OK);
    peers_close(p, false);
    peers_leave(out.peers, &out.peer, false);
}
