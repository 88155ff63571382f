/* HOST:PORT, in all its forms. */
#include "zcrp-bench/control/connection.h"

#include "../../support/suite.h"

static const struct {
    const char *text, *host, *port;
} addresses[] = {
    {"host:80", "host", "80"}, {"host", "host", ADDRESS_PORT},
    {":80", "", "80"},         {"", "", ADDRESS_PORT},
    {"[::1]:80", "::1", "80"}, {"[::1]", "::1", ADDRESS_PORT},
    {"h:http", "h", "http"},   {"1.2.3.4:65535", "1.2.3.4", "65535"},
};

TEST(address_parse__all_forms, .rows = sizeof addresses / sizeof *addresses)
{
    struct address address;

    ck_assert_int_eq(address_parse(addresses[_i].text, &address), 0);
    ck_assert_str_eq(address.host, addresses[_i].host);
    ck_assert_str_eq(address.port, addresses[_i].port);
}

static const char *const mistakes[] = {"h:", "h:65536", "1:2:3", "::1", "[::1", "[::1]:"};

TEST(address_parse__mistakes, .rows = sizeof mistakes / sizeof *mistakes)
{
    struct address address;

    ck_assert_int_eq(address_parse(mistakes[_i], &address), -1);
}
