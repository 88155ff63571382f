#include "transport/names.h"

#include "platform/system.h"

#include "../../support/suite.h"

#include <errno.h>
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

static void expect_byte(int from, int to, char byte)
{
    char got = 0;

    ck_assert_int_eq(send(from, &byte, 1, 0), 1);
    ck_assert_int_eq(recv(to, &got, 1, MSG_DONTWAIT), 1);
    ck_assert_int_eq(got, byte);
}

TEST(udp_connect_fd__both_ends, .rows = 2)
{
    int a, b;
    char port[8];

    ck_assert_int_eq(udp_bind(loopback[_i], NULL, &a), 0);
    ck_assert_int_eq(udp_bind(loopback[_i], "0", &b), 0);
    ck_assert_int_eq(udp_connect_fd(a, loopback[_i], port_of(b, port)), 0);
    ck_assert_int_eq(udp_connect_fd(b, loopback[_i], port_of(a, port)), 0);
    expect_byte(a, b, 'x');
    expect_byte(b, a, 'y');
    close(a);
    close(b);
}

TEST(udp_bind__taken)
{
    int first, second;
    char port[8];

    ck_assert_int_eq(udp_bind("127.0.0.1", NULL, &first), 0);
    ck_assert_int_eq(udp_bind("127.0.0.1", port_of(first, port), &second), -EADDRINUSE);
    ck_assert_int_eq(second, -1);
    close(first);
}

TEST(udp_open__not_an_address)
{
    int fd;
    int code = udp_open(NULL, NULL, "127.0.0.1", "no-such-service", &fd);

    ck_assert_int_lt(code, 0);
    ck_assert_int_eq(fd, -1);
    ck_assert_uint_gt(strlen(udp_open_text(code)), 0);
    ck_assert_int_lt(udp_connect_fd(-1, "127.0.0.1", "1"), 0);
}
