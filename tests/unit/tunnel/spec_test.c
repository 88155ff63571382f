#include "zcrp-tunnel/spec.h"

#include "../../support/suite.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text, *bind, *target; /* NULL: it is none */
    uint16_t port, target_port;
} forwards[] = {
    {"80:host:8080", "", "host", 80, 8080},
    {"127.0.0.1:80:host:8080", "127.0.0.1", "host", 80, 8080},
    {"*:0:host:1", "*", "host", 0, 1},
    {"[::1]:80:[2001:db8::1]:65535", "::1", "2001:db8::1", 80, 65535},
    {"80:[::1]:22", "", "::1", 80, 22},
    {"", NULL, NULL, 0, 0},
    {"80", NULL, NULL, 0, 0},
    {"80:host", NULL, NULL, 0, 0},
    {"80:host:0", NULL, NULL, 0, 0},
    {"80::1", NULL, NULL, 0, 0},
    {"80:host:65536", NULL, NULL, 0, 0},
    {"-1:host:1", NULL, NULL, 0, 0},
    {" 80:host:1", NULL, NULL, 0, 0},
    {"80:host:1x", NULL, NULL, 0, 0},
    {"80:host:1:", NULL, NULL, 0, 0},
    {"a:80:host:1:b", NULL, NULL, 0, 0},
    {"80:[::1:22", NULL, NULL, 0, 0},
    {"80:[::1]x:22", NULL, NULL, 0, 0},
    {"[", NULL, NULL, 0, 0},
    {"::::", NULL, NULL, 0, 0},
    {"80:b\303\274cher:80", NULL, NULL, 0, 0},
    {"\303\266:80:host:80", NULL, NULL, 0, 0},
    {"80:a b:80", NULL, NULL, 0, 0},
};

TEST(spec_forward__table, .rows = ROWS(forwards))
{
    struct forward forward = {0};
    int code = spec_forward(&forward, forwards[_i].text);

    ck_assert_int_eq(code, forwards[_i].bind != NULL ? 0 : -1);
    if (code != 0)
        return;
    ck_assert_str_eq(forward.bind.host, forwards[_i].bind);
    ck_assert_str_eq(forward.target.host, forwards[_i].target);
    ck_assert_uint_eq(forward.bind.port, forwards[_i].port);
    ck_assert_uint_eq(forward.target.port, forwards[_i].target_port);
}

TEST(spec__long_names)
{
    char text[2 * HOST_ROOM];
    struct forward forward;
    struct address address;

    for (int length = HOST_ROOM - 2; length <= HOST_ROOM + 1; length++) {
        (void)snprintf(text, sizeof(text), "80:%0*d:80", length, 0);
        ck_assert_int_eq(spec_forward(&forward, text), length < HOST_ROOM ? 0 : -1);
        (void)snprintf(text, sizeof(text), "[%0*d]", length, 0);
        ck_assert_int_eq(spec_address(&address, text, 1), length < HOST_ROOM ? 0 : -1);
    }
}

static const struct {
    const char *text, *host; /* NULL: it is none */
    uint16_t usual, port;
} addresses[] = {
    {"host", "host", 7, 7},     {"host:80", "host", 7, 80}, {"[::1]", "::1", 7, 7},
    {"[::1]:80", "::1", 7, 80}, {"80", "", 0, 80},          {"host:80", "host", 0, 80},
    {"host", NULL, 0, 0},       {"", NULL, 7, 0},           {":80", NULL, 7, 0},
    {"::1", NULL, 7, 0},        {"host:x", NULL, 7, 0},     {"0x1", NULL, 0, 0},
};

TEST(spec_address__table, .rows = ROWS(addresses))
{
    struct address address = {0};
    int code = spec_address(&address, addresses[_i].text, addresses[_i].usual);

    ck_assert_int_eq(code, addresses[_i].host != NULL ? 0 : -1);
    if (code != 0)
        return;
    ck_assert_str_eq(address.host, addresses[_i].host);
    ck_assert_uint_eq(address.port, addresses[_i].port);
}

static const struct {
    const char *text;
    uint16_t usual, port; /* 0: it is none */
} peers[] = {
    {"host", 7, 7},   {"host:80", 7, 80}, {"host:80", 0, 80}, {"[::1]:1", 0, 1},
    {"host:0", 7, 0}, {"host:0", 0, 0},   {"80", 0, 0},       {"host", 0, 0},
};

TEST(spec_peer__table, .rows = ROWS(peers))
{
    struct address peer = {0};
    int code = spec_peer(&peer, peers[_i].text, peers[_i].usual);

    ck_assert_int_eq(code, peers[_i].port != 0 ? 0 : -1);
    if (code == 0)
        ck_assert_uint_eq(peer.port, peers[_i].port);
}

static const struct {
    const char *rule, *host;
    uint16_t port;
    bool allows;
} rows[] = {
    {"host:80", "host", 80, true},   {"host:80", "HOST", 80, true}, {"host:80", "host", 81, false},
    {"host:80", "host.", 80, false}, {"host:80", "hos", 80, false}, {"host:*", "host", 9, true},
    {"host:*", "other", 9, false},   {"*:80", "any", 80, true},     {"*:80", "any", 81, false},
    {"*:*", "any", 1, true},         {"[::1]:80", "::1", 80, true},
};

TEST(spec_allows__table, .rows = ROWS(rows))
{
    static struct rules one = {.count = 1}, none;

    ck_assert_int_eq(spec_rule(&one.of[0], rows[_i].rule), 0);
    ck_assert_int_eq(spec_allows(&one, rows[_i].host, rows[_i].port), rows[_i].allows);
    ck_assert(!spec_allows(&none, rows[_i].host, rows[_i].port));
}

TEST(spec_rule__refuses)
{
    struct address rule;

    ck_assert_int_eq(spec_rule(&rule, "host"), -1);
    ck_assert_int_eq(spec_rule(&rule, "host:0"), -1);
    ck_assert_int_eq(spec_rule(&rule, ":80"), -1);
    ck_assert_int_eq(spec_rule(&rule, "80"), -1);
}
