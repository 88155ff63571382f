#include "transport/names.h"

#include "platform/system.h"

#include "../../support/suite.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const loopback[] = {"127.0.0.1", "::1"};

/* The port that the system chose, in words. */
static const char *port_of(int fd, char text[8])
{
    struct sockaddr_storage any;
    struct sockaddr_in6 address;
    socklen_t size = sizeof(any);

    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    memcpy(&address, &any, sizeof(address)); /* IPv4 has the port in the same place */
    snprintf(text, 8, "%u", ntohs(address.sin6_port));
    return text;
}

TEST(udp_connect__to_what_is_bound, .rows = 2)
{
    char port[8], got = 0;
    int a = udp_bind(loopback[_i], _i ? "0" : NULL);
    int b = udp_connect(loopback[_i], port_of(a, port));

    ck_assert_int_ge(a, 0);
    ck_assert_int_ge(b, 0);
    ck_assert_int_eq(send(b, "x", 1, 0), 1);
    ck_assert_int_eq(recv(a, &got, 1, MSG_DONTWAIT), 1);
    ck_assert_int_eq(got, 'x');
    close(a);
    close(b);
}

/* Peers of both families. */
TEST(udp_bind__any_address)
{
    char port[8], got = 0;
    int a = udp_bind(NULL, "0");

    ck_assert_int_ge(a, 0);
    for (int i = 0; i < 2; i++) {
        int b = udp_connect(loopback[i], port_of(a, port));
        ck_assert_int_ge(b, 0);
        ck_assert_int_eq(send(b, &"xy"[i], 1, 0), 1);
        ck_assert_int_eq(recv(a, &got, 1, MSG_DONTWAIT), 1);
        ck_assert_int_eq(got, "xy"[i]);
        close(b);
    }
    close(a);
}

TEST(udp_bind__taken)
{
    int first = udp_bind("127.0.0.1", NULL);
    char port[8];

    ck_assert_int_ge(first, 0);
    ck_assert_int_eq(udp_bind("127.0.0.1", port_of(first, port)), -EADDRINUSE);
    close(first);
}

TEST(udp_connect__not_an_address)
{
    ck_assert_int_eq(names_resolver(udp_connect("127.0.0.1", "no-such-service")), EAI_SERVICE);
}

/* Its address is what the system would choose: nothing changes. One that lost its peer gets it
 * back.
 */
TEST(udp_bind_anew__on_one_host, .rows = 2)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    char port[8], got = 0;
    int a = udp_bind(loopback[_i], "0"), b = udp_connect(loopback[_i], port_of(a, port));
    union address peer = address_of_peer(b), own = address_of_socket(b);

    ck_assert(!udp_bind_anew(b, &peer));
    union address after = address_of_socket(b);
    ck_assert(address_is_same(&own, &after));
    ck_assert_int_eq(connect(b, &nobody, sizeof nobody), 0);
    ck_assert(udp_bind_anew(b, &peer));
    ck_assert_int_eq(send(b, "x", 1, 0), 1);
    ck_assert_int_eq(recv(a, &got, 1, MSG_DONTWAIT), 1);
    ck_assert_int_eq(got, 'x');
    (void)close(a);
    (void)close(b);
}

/* A socket that its owner has bound to another address of this machine's keeps that. */
TEST(udp_bind_anew__bound_by_its_owner)
{
    char port[8];
    int a = udp_bind("127.0.0.1", "0"), b = udp_bind("127.0.0.5", "0");
    struct sockaddr_in there;
    socklen_t size = sizeof there;

    port_of(a, port);
    ck_assert_int_eq(getsockname(a, (struct sockaddr *)&there, &size), 0);
    ck_assert_int_eq(connect(b, (struct sockaddr *)&there, size), 0);
    union address peer = address_of_peer(b);
    ck_assert(!udp_bind_anew(b, &peer));
    ck_assert(address_is_same(&peer, &(union address){.ip4 = there}));
    (void)close(a);
    (void)close(b);
}
