/* HOST:PORT, in all its forms. */
#include "zcrp-bench/control/connection.h"

#include "../support/suite.h"

static const struct {
    const char *text, *host, *port;
} addresses[] = {
    {"host:80", "host", "80"}, {"host", "host", ADDRESS_PORT},
    {":80", "", "80"},         {"", "", ADDRESS_PORT},
    {"[::1]:80", "::1", "80"}, {"[::1]", "::1", ADDRESS_PORT},
    {"h:http", "h", "http"},   {"1.2.3.4:65535", "1.2.3.4", "65535"},
};

START_TEST(address_parse__all_forms)
{
    struct address address;

    ck_assert_int_eq(address_parse(addresses[_i].text, &address), 0);
    ck_assert_str_eq(address.host, addresses[_i].host);
    ck_assert_str_eq(address.port, addresses[_i].port);
}
END_TEST

static const char *const mistakes[] = {"h:", "h:65536", "1:2:3", "::1", "[::1", "[::1]:"};

START_TEST(address_parse__mistakes)
{
    struct address address;

    ck_assert_int_eq(address_parse(mistakes[_i], &address), -1);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("address");

    tcase_add_loop_test(tcase, address_parse__all_forms, 0, sizeof addresses / sizeof *addresses);
    tcase_add_loop_test(tcase, address_parse__mistakes, 0, sizeof mistakes / sizeof *mistakes);
    return suite_run("bench_address", tcase);
}
