#include "../../support/suite.h"
#include "link/options.h"

#include <string.h>

static int complete(struct zcrp_options *o, const struct zcrp_options *given)
{
    return options_complete(o, given, sizeof(*given));
}

TEST(options_complete__defaults)
{
    struct zcrp_options o;

    ck_assert_int_eq(complete(&o, NULL), ZCRP_OK);
    ck_assert_uint_eq(o.unit_bytes, 0);
    ck_assert_uint_eq(o.messages, 1024);
    ck_assert_uint_eq(o.window_bytes, 32 << 20);
    ck_assert_int_eq(o.silence_ns, 30000000000);
    ck_assert_int_eq(o.accept_ns, 30000000000);
    ck_assert_int_eq(o.linger_ns, 5000000000);
    ck_assert_int_eq(o.connect_ns, 5000000000);
    ck_assert_uint_eq(o.flags, 0); /* nobody has said so */
    ck_assert_int_eq(o.progress_ns, 30000000000);
    ck_assert_int_eq(o.keepalive_ns, 5000000000);
    ck_assert_uint_eq(o.first_messages, 0);
    ck_assert_uint_eq(o.first_bytes, 65536);
    ck_assert_uint_eq(o.send_buffer, 4 << 20);
    ck_assert_uint_eq(o.receive_buffer, 4 << 20);
    ck_assert_int_eq(o.spin_ns, 50000);
    ck_assert_int_eq(o.congestion, ZCRP_CONGESTION_BBR);
    ck_assert_uint_eq(o.connections, 1024);
    ck_assert_uint_eq(o.backlog, 128);
    ck_assert_int_eq(o.channel, ZCRP_CHANNEL_AUTO);
    ck_assert_uint_eq(o.aal5.vci, 32);
    ck_assert_uint_eq(o.aal5.vci_control, 0); /* the channel's */
    ck_assert_uint_eq(o.aal5.mtu, 9180);
}

TEST(options_complete__given)
{
    const struct zcrp_options given = {
        .unit_bytes = 64,
        .messages = 1 << 20,
        .window_bytes = 1,
        .silence_ns = 2,
        .linger_ns = 3,
        .send_buffer = 4,
        .receive_buffer = 5,
        .spin_ns = 6,
        .connect_ns = 7,
        .progress_ns = 8,
        .keepalive_ns = 9,
        .accept_ns = 10,
        .first_messages = 256,
        .first_bytes = 1,
        .congestion = ZCRP_CONGESTION_NONE,
        .flags = ZCRP_NO_GRO | ZCRP_NO_SEGMENT,
    };
    struct zcrp_options o;

    ck_assert_int_eq(complete(&o, &given), ZCRP_OK);
    ck_assert_uint_eq(o.unit_bytes, 64);
    ck_assert_uint_eq(o.messages, 1 << 20);
    ck_assert_uint_eq(o.window_bytes, 1);
    ck_assert_int_eq(o.silence_ns, 2);
    ck_assert_int_eq(o.linger_ns, 3);
    ck_assert_uint_eq(o.send_buffer, 4);
    ck_assert_uint_eq(o.receive_buffer, 5);
    ck_assert_int_eq(o.spin_ns, 6);
    ck_assert_int_eq(o.connect_ns, 7);
    ck_assert_int_eq(o.progress_ns, 8);
    ck_assert_int_eq(o.keepalive_ns, 9);
    ck_assert_int_eq(o.accept_ns, 10);
    ck_assert_uint_eq(o.first_messages, 256);
    ck_assert_uint_eq(o.first_bytes, 1);
    ck_assert_int_eq(o.congestion, ZCRP_CONGESTION_NONE);
    ck_assert_uint_eq(o.flags, 3 | OPTIONS_CONNECT_SAID);
}

/* A program that was built with an older header has a smaller struct, with a newer one a larger. */
TEST(options_complete__sizes)
{
    struct {
        struct zcrp_options known;
        int64_t more;
    } newer = {.known = {.messages = 7, .progress_ns = 8}};
    struct zcrp_options o;

    ck_assert_int_eq(options_complete(&o, &newer.known, sizeof(newer)), ZCRP_OK);
    ck_assert_uint_eq(o.messages, 7);
    ck_assert_int_eq(o.progress_ns, 8);
    newer.more = 1;
    ck_assert_int_eq(options_complete(&o, &newer.known, sizeof(newer)), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT),
                     "options has something set that this library (" ZCRP_VERSION_TEXT
                     ") does not know");
    ck_assert_int_eq(options_complete(&o, &newer.known, offsetof(struct zcrp_options, connect_ns)),
                     ZCRP_OK);
    ck_assert_uint_eq(o.messages, 7);
    ck_assert_int_eq(o.progress_ns, 30000000000);
}

/* A limit that no clock reaches is the longest that can be added to the time. */
TEST(options_complete__longest_times)
{
    const struct zcrp_options given = {.silence_ns = INT64_MAX,
                                       .linger_ns = INT64_MAX,
                                       .spin_ns = INT64_MAX,
                                       .connect_ns = INT64_MAX,
                                       .progress_ns = INT64_MAX,
                                       .accept_ns = INT64_MAX};
    struct zcrp_options o;

    ck_assert_int_eq(complete(&o, &given), ZCRP_OK);
    const int64_t times[] = {o.silence_ns, o.linger_ns,   o.spin_ns,
                             o.connect_ns, o.progress_ns, o.accept_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        ck_assert_int_eq(times[i], INT64_MAX / 2);
}

#define TIME_NEEDED "it has to be 0 to 9223372036854775807"

static const struct {
    struct zcrp_options options;
    const char *reason;
} wrong[] = {
    {{.unit_bytes = 63}, "options.unit_bytes is 63; it has to be 0 or 64 to 65507"},
    {{.unit_bytes = 65508}, "options.unit_bytes is 65508; it has to be 0 or 64 to 65507"},
    {{.messages = (1 << 20) + 1}, "options.messages is 1048577; it has to be 0 to 1048576"},
    {{.silence_ns = -1}, "options.silence_ns is -1; " TIME_NEEDED},
    {{.linger_ns = INT64_MIN}, "options.linger_ns is -9223372036854775808; " TIME_NEEDED},
    {{.spin_ns = -1}, "options.spin_ns is -1; " TIME_NEEDED},
    {{.congestion = 5}, "options.congestion is 5; it has to be 0 to 4"},
    {{.congestion = -1}, "options.congestion is -1; it has to be 0 to 4"},
    {{.congestion = INT32_MIN}, "options.congestion is -2147483648; it has to be 0 to 4"},
    {{.channel = 4}, "options.channel is 4; it has to be 0 to 3"},
    {{.flags = 64}, "options.flags is 0x40, which is unknown"},
    {{.flags = 0x81}, "options.flags is 0x81; 0x80 is unknown"},
    {{.connect_ns = -1}, "options.connect_ns is -1; " TIME_NEEDED},
    {{.progress_ns = -1}, "options.progress_ns is -1; " TIME_NEEDED},
    {{.connections = UINT32_MAX}, "options.connections is 4294967295; it has to be 0 to 1048576"},
    {{.backlog = 1 << 21}, "options.backlog is 2097152; it has to be 0 to 1048576"},
    {{.first_messages = 257}, "options.first_messages is 257; it has to be 0 to 256"},
    {{.first_bytes = (1 << 30) + 1},
     "options.first_bytes is 1073741825; it has to be 0 to 1073741824"},
    {{.messages = 4, .first_messages = 5},
     "options.first_messages is 5; it has to be at most options.messages, 4"},
    {{.mapped_bytes = UINT64_MAX},
     "options.mapped_bytes is 18446744073709551615; it has to be 0 to 17592186044416"},
};

TEST(options_complete__wrong, .rows = ROWS(wrong))
{
    struct zcrp_options o;

    ck_assert_int_eq(complete(&o, &wrong[_i].options), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), wrong[_i].reason);
}

/* ---- of a channel ---- */

static const struct {
    struct zcrp_aal5 aal5;
    bool is_half;
    const char *variable, *reason; /* of the environment */
} refused[] = {
    {{.vpi = 256}, false, "", "options.aal5.vpi is 256; it has to be 0 to 255"},
    {{.vci = 31}, false, "", "options.aal5.vci is 31; it has to be 0 or 32 to 4127"},
    {{.vci_control = 4128},
     true,
     "",
     "options.aal5.vci_control is 4128; it has to be 0 or 32 to 4127"},
    {{.mtu = 1199}, true, "", "options.aal5.mtu is 1199; it has to be 0 or 1200 to 65535"},
    {{.faults.merged = 1000001},
     false,
     "",
     "options.aal5.faults.merged is 1000001; it has to be 0 to 1000000"},
    {{.faults.discard = 3}, false, "", "options.aal5.faults.discard is 3; it has to be 0 to 2"},
    {{.vpi = 255, .vci = 4112},
     false,
     "",
     "options.aal5.vci is 4112, and vci_control 0; with a vpi of 255 they have to be 0 or 32 to "
     "4111"},
    {{.vci = 50, .vci_control = 50},
     true,
     "",
     "options.aal5.vci_control is 50, as vci; a connection has to have two circuits"},
    {{.vci = 4127},
     true,
     "",
     "options.aal5.vci is 4127, and no circuit comes next; vci_control has to name another"},
    {{.vpi = 255, .vci = 4111},
     true,
     "",
     "options.aal5.vci is 4111, and no circuit comes next; vci_control has to name another"},
    {{.vci = 50},
     true,
     "mtu=1500,\nloss=7",
     "ZCRP_AAL5 in the environment is \"mtu=1500,\\x0aloss=7\"; it has to set mtu or faults within "
     "their ranges, as in mtu=1500,loss=10"},
};

/* Each of them is refused by the channel, and this says why. */
TEST(options_refuse_aal5__says_which, .rows = ROWS(refused))
{
    struct zcrp_options o, given = {.channel = ZCRP_CHANNEL_AAL5, .aal5 = refused[_i].aal5};

    setenv("ZCRP_AAL5", refused[_i].variable, 1);
    ck_assert_int_eq(complete(&o, &given), ZCRP_OK);
    struct channel_options channel = options_of_channel(&o, false, refused[_i].is_half, -1);
    ck_assert(!aal5_is_possible(&channel.aal5));
    ck_assert_int_eq(options_refuse_aal5(&o, refused[_i].is_half), ZCRP_ERROR_ARGUMENT);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), refused[_i].reason);
}

/* A sender sends units, and a receiver receives them: what is for units is asked for where they
 * cross, unless a flag forbids it. */
TEST(options_of_channel__where_units_cross)
{
    const struct zcrp_options given = {.send_buffer = 7000, .receive_buffer = 9000},
                              plain = {.flags = ZCRP_NO_SEGMENT | ZCRP_NO_GRO | ZCRP_NO_ECN};
    struct zcrp_options o;

    ck_assert_int_eq(complete(&o, &given), ZCRP_OK);
    struct channel_options c = options_of_channel(&o, true, false, -1);
    ck_assert_uint_eq(c.send_bytes, 7000);
    ck_assert_uint_eq(c.receive_bytes, 0);
    ck_assert(c.use_gso && c.sends_ecn && !c.use_gro && !c.reads_ecn);
    c = options_of_channel(&o, false, false, -1);
    ck_assert_uint_eq(c.send_bytes, 0);
    ck_assert_uint_eq(c.receive_bytes, 9000);
    ck_assert(!c.use_gso && !c.sends_ecn && c.use_gro && c.reads_ecn);

    ck_assert_int_eq(complete(&o, &plain), ZCRP_OK);
    for (int is_sender = 0; is_sender < 2; is_sender++) {
        c = options_of_channel(&o, is_sender, false, -1);
        ck_assert(!c.use_gso && !c.sends_ecn && !c.use_gro && !c.reads_ecn);
    }
}

static void expect_circuits(const struct channel_aal5 *a, uint32_t out, uint32_t in, uint32_t also)
{
    ck_assert(a->is_wanted);
    ck_assert_uint_eq(a->out.vci, out);
    ck_assert_uint_eq(a->in.vci, in);
    ck_assert_uint_eq(a->also.vci, also);
    ck_assert_uint_eq(a->out.vpi, 7);
    ck_assert_uint_eq(a->in.vpi, 7);
}

/* An entity by itself may have one circuit, and a half of a connection has two; the receiver has
 * both to receive from. */
TEST(options_of_channel__circuits)
{
    static const struct {
        uint32_t vci_control, entity, half; /* what is asked for, and what control gets */
    } rows[] = {{0, 100, 101}, {50, 50, 50}, {100, 100, 100}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct zcrp_options o,
            given = {.channel = ZCRP_CHANNEL_AAL5,
                     .aal5 = {.vpi = 7, .vci = 100, .vci_control = rows[i].vci_control}};
        ck_assert_int_eq(complete(&o, &given), ZCRP_OK);
        struct channel_options sender = options_of_channel(&o, true, false, -1);
        struct channel_options receiver = options_of_channel(&o, false, false, -1);
        expect_circuits(&sender.aal5, 100, rows[i].entity, 0);
        expect_circuits(&receiver.aal5, rows[i].entity, 100, 0);
        sender = options_of_channel(&o, true, true, -1);
        receiver = options_of_channel(&o, false, true, -1);
        expect_circuits(&sender.aal5, 100, rows[i].half, 0);
        expect_circuits(&receiver.aal5, rows[i].half, 100, rows[i].half);
    }
}
