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
TEST(peers_forget__makes_room)
{
    struct peers *p = peers_create(64, 1);
    const union address first = address_of(1, 1);

    ck_assert_uint_eq(fill(p, 1), 57);
    peers_forget(p, &first);
    ck_assert_uint_eq(stats_of(p).connections, 56);
    ck_assert(reserve(p, 1, 100));
    ck_assert(!reserve(p, 1, 101));
    peers_close(p, false);
}

/* A connection of that port, which waits since then; nothing of it is real but its peer. */
static void admit(struct peers *p, struct zcrp_connection *c, uint16_t port, instant now)
{
    *c = (struct zcrp_connection){.peer = address_of(1, port), .peers = peers_hold(p)};
    ck_assert(peers_reserve(p, &c->peer));
    peers_admit(p, c, &c->peer, now);
}

/* Those that wait have their share, too, and come out in the order in which they came. */
TEST(peers_take__in_order)
{
    struct peers *p = peers_create(1024, 8);
    struct zcrp_connection in[8], *out;

    for (uint16_t port = 1; port <= 8; port++)
        admit(p, &in[port - 1], port, port);
    ck_assert(!reserve(p, 2, 1));
    ck_assert_uint_eq(stats_of(p).dropped, 1);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_OK);
        ck_assert_ptr_eq(out, &in[i]);
        peers_leave(p, &out->peer, false);
    }
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(stats_of(p).connections, 0);
    ck_assert_uint_eq(stats_of(p).admitted, 8);
    peers_close(p, false);
}

/* What this process lacks is told once, behind those that wait. */
TEST(peers_take__tells_what_is_lacking)
{
    struct peers *p = peers_create(8, 8);
    struct zcrp_connection in, *out;

    peers_lack(p, -EMFILE);
    admit(p, &in, 1, 1);
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_OK);
    errno = 0;
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(errno, EMFILE);
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_ERROR_TIMEOUT);
    peers_leave(p, &in.peer, false);
    peers_close(p, false);
}

/* Whoever has waited for too long goes, one after the other, and makes room. */
TEST(peers_take_late__those_that_came_before)
{
    struct peers *p = peers_create(8, 2);
    struct zcrp_connection in[2];
    instant since;

    uint32_t asked = peers_oldest(p, &since);
    ck_assert_int_eq(since, NEVER);
    admit(p, &in[0], 1, 10);
    admit(p, &in[1], 2, 20);
    ck_assert(!reserve(p, 1, 3));
    ck_assert_uint_eq(peers_oldest(p, &since), asked + 1);
    ck_assert_int_eq(since, 10);
    ck_assert_ptr_null(peers_take_late(p, 9));
    ck_assert_ptr_eq(peers_take_late(p, 19), &in[0]);
    ck_assert_ptr_null(peers_take_late(p, 19));
    ck_assert_uint_eq(peers_oldest(p, &since), asked + 2);
    ck_assert_int_eq(since, 20);
    ck_assert_uint_eq(stats_of(p).dropped, 2);
    ck_assert_uint_eq(stats_of(p).connections, 2); /* until it has been freed */
    peers_leave(p, &in[0].peer, false);
    ck_assert(reserve(p, 1, 3));
    ck_assert_ptr_eq(peers_take_late(p, 20), &in[1]);
    ck_assert_ptr_null(peers_take_late(p, NEVER));
    peers_leave(p, &in[1].peer, false);
    peers_close(p, false);
}

/* Connections outlive their listener. */
TEST(peers_leave__behind_the_listener)
{
    struct peers *p = peers_create(8, 8);
    struct zcrp_connection in, *out;

    admit(p, &in, 1, 1);
    ck_assert_int_eq(peers_take(p, &out, 0), ZCRP_OK);
    peers_close(p, false);
    peers_leave(p, &out->peer, false);
}

TEST(peers_move__takes_its_place_along)
{
    struct peers *p = peers_create(8, 1);
    const union address here = address_of(1, 1), there = address_of(2, 1), other = address_of(3, 1);

    ck_assert(peers_reserve(p, &here));
    ck_assert(peers_reserve(p, &other));
    ck_assert(!peers_move(p, &here, &other)); /* another peer is there */
    ck_assert(!peers_move(p, &there, &here)); /* nobody was there */
    ck_assert(peers_move(p, &here, &there));
    ck_assert(peers_reserve(p, &here));
    ck_assert(!peers_reserve(p, &there));
    peers_forget(p, &there);
    ck_assert(peers_reserve(p, &there));
    peers_close(p, false);
}
