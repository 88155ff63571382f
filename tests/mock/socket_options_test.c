/* wrap: getsockopt setsockopt getpeername */
/* What a user asks of a socket: its buffers, the offloads, lending, ECN. */
#include "socket_open_rig.h"

FIXTURE(setup, NULL)

TEST(socket_open__buffer)
{
    static const struct {
        bool may_force;
        uint32_t wanted, granted;
    } row[] = {
        {true, 0, 212992},
        {true, 4 << 20, 8 << 20},
        {false, 4 << 20, 2 << 20},
        {false, 300000, 600000},
        {true, 1000, 212992}, /* large enough already */
        {true, UINT32_MAX, INT32_MAX - 1},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fake.may_force = row[i].may_force;
        assert_int_equal(
            socket_open(&c, FD, &(struct channel_options){.receive_bytes = row[i].wanted}), 0);
        assert_int_equal(c.receive_buffer, row[i].granted);
        assert_int_equal(fake.send_buffer, 212992);
    }
}

TEST(socket_open__send_buffer)
{
    assert_int_equal(socket_open(&c, FD, &(struct channel_options){.send_bytes = 500000}), 0);
    assert_int_equal(fake.send_buffer, 1000000);
    assert_int_equal(c.receive_buffer, 212992);
}

TEST(socket_open__offloads)
{
    static const struct {
        bool knows_gso, knows_gro;
        struct channel_options options;
        const char *variable, *value;
        bool gso, gro;
    } row[] = {
        {false, true, {.use_gso = true, .use_gro = true}, "X", "1", false, true},
        {true, false, {.use_gso = true, .use_gro = true}, "X", "1", true, false},
        {true, true, {.use_gso = false, .use_gro = true}, "X", "1", false, true},
        {true, true, {.use_gso = true, .use_gro = false}, "X", "1", true, false},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_SEGMENT", "1", false, true},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_GRO", "1", true, false},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_OFFLOAD", "1", false, false},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_OFFLOAD", "0", true, true},
        {true, true, {.use_gso = true, .use_gro = true}, "ZCRP_NO_OFFLOAD", "", true, true},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        setup();
        fake.knows_gso = row[i].knows_gso;
        fake.knows_gro = row[i].knows_gro;
        setenv(row[i].variable, row[i].value, 1);
        assert_int_equal(socket_open(&c, FD, &row[i].options), 0);
        assert_int_equal(gso_segments(), row[i].gso ? BURST_UNITS : 1);
        assert_int_equal(c.has_gro, row[i].gro);
        assert_int_equal(fake.gro, row[i].gro ? 1 : -1);
    }
}

/* Each kind by its own option, beside the DSCP that the user set, and only on request. */
TEST(socket_open__ecn)
{
    static const struct {
        int domain;
        const char *peer6;
        bool knows, sends, reads;
        int tos, class, tells_tos, tells_class;
        const char *variable;
    } row[] = {
        {AF_INET, NULL, true, true, false, 0xb8 | 2, 0xb9, 0, 0, "X"},
        {AF_INET, NULL, true, false, true, 0xb9, 0xb9, 1, 0, "X"},
        {AF_INET, NULL, true, false, false, 0xb9, 0xb9, 0, 0, "X"},
        {AF_INET, NULL, false, true, true, 0xb9, 0xb9, 0, 0, "X"},
        {AF_INET6, "2001:db8::1", true, true, true, 0xb9, 0xb8 | 2, 0, 1, "X"},
        {AF_INET6, "::ffff:192.0.2.1", true, true, true, 0xb8 | 2, 0xb9, 1, 0, "X"},
        {AF_INET, NULL, true, true, true, 0xb9, 0xb9, 0, 0, "ZCRP_NO_ECN"},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const struct channel_options wanted = {.sends_ecn = row[i].sends,
                                               .reads_ecn = row[i].reads};

        setup();
        setenv(row[i].variable, "1", 1);
        fake.domain = row[i].domain;
        fake.peer6 = row[i].peer6;
        fake.knows_ecn = row[i].knows;
        fake.tos = fake.class = 0xb9;
        assert_int_equal(socket_open(&c, FD, &wanted), 0);
        assert_int_equal(fake.tos, row[i].tos);
        assert_int_equal(fake.class, row[i].class);
        assert_int_equal(fake.tells_tos, row[i].tells_tos);
        assert_int_equal(fake.tells_class, row[i].tells_class);
        socket_restore(&c);
        assert_int_equal(fake.tos, 0xb9);
        assert_int_equal(fake.class, 0xb9);
    }
}
