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
    ck_assert_int_eq(o.linger_ns, 5000000000);
    ck_assert_int_eq(o.connect_ns, 5000000000);
    ck_assert_int_eq(o.progress_ns, 30000000000);
    ck_assert_uint_eq(o.send_buffer, 4 << 20);
    ck_assert_uint_eq(o.receive_buffer, 4 << 20);
    ck_assert_int_eq(o.spin_ns, 50000);
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
    ck_assert_int_eq(o.congestion, ZCRP_CONGESTION_NONE);
    ck_assert_uint_eq(o.flags, 3);
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
                                       .progress_ns = INT64_MAX};
    struct zcrp_options o;

    ck_assert_int_eq(complete(&o, &given), ZCRP_OK);
    const int64_t times[] = {o.silence_ns, o.linger_ns, o.spin_ns, o.connect_ns, o.progress_ns};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        ck_assert_int_eq(times[i], INT64_MAX / 2);
}

TEST(options_complete__wrong)
{
    static const struct zcrp_options wrong[] = {
        {.unit_bytes = 63}, {.unit_bytes = 65508}, {.messages = (1 << 20) + 1}, {.silence_ns = -1},
        {.linger_ns = -1},  {.spin_ns = -1},       {.congestion = 5},           {.congestion = -1},
        {.flags = 32},      {.connect_ns = -1},    {.progress_ns = -1},
    };
    struct zcrp_options o;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_int_eq(complete(&o, &wrong[i]), ZCRP_ERROR_ARGUMENT);
}

/* ---- of a channel ---- */

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
