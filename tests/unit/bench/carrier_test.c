/* ZCRP's options from the settings of a run. */
#include "zcrp-bench/transports/carrier.h"

#include "../../support/suite.h"

static const struct settings some = {.unit_bytes = 1472,
                                     .window_bytes = 100000,
                                     .depth = 7,
                                     .is_spinless = 1,
                                     .limit_ns = 3000000000,
                                     .buffer_bytes = 65536,
                                     .congestion = ZCRP_CONGESTION_RENO,
                                     .vci = 40};

static struct settings on(enum carrier channel)
{
    struct settings settings = some;

    settings.channel = channel;
    return settings;
}

TEST(carrier_options__have_what_the_settings_say)
{
    struct settings settings = on(CARRIER_UDP);
    struct zcrp_options options = carrier_options(&settings, false);

    ck_assert_uint_eq(options.unit_bytes, 1472);
    ck_assert_uint_eq(options.window_bytes, 100000);
    ck_assert_uint_eq(options.messages, 7);
    ck_assert_int_eq(options.spin_ns, 1);
    ck_assert_int_eq(options.silence_ns, 3000000000);
    ck_assert_uint_eq(options.send_buffer, 65536);
    ck_assert_uint_eq(options.receive_buffer, 65536);
    ck_assert_int_eq(options.congestion, ZCRP_CONGESTION_RENO);
}

TEST(carrier_options__over_udp_no_circuit)
{
    const struct zcrp_aal5 none = {0};
    struct settings settings = on(CARRIER_UDP);
    struct zcrp_options options = carrier_options(&settings, false);

    ck_assert_int_eq(options.channel, ZCRP_CHANNEL_AUTO);
    ck_assert_mem_eq(&options.aal5, &none, sizeof none);
}

TEST(carrier_options__which_channel)
{
    static const struct {
        enum carrier carrier;
        int channel;
        uint32_t flags;
    } rows[] = {
        {CARRIER_AUTO, ZCRP_CHANNEL_AUTO, 0},     {CARRIER_UDP, ZCRP_CHANNEL_AUTO, ZCRP_NO_MEMORY},
        {CARRIER_MEMORY, ZCRP_CHANNEL_MEMORY, 0}, {CARRIER_MAPPED, ZCRP_CHANNEL_MEMORY, 0},
        {CARRIER_AAL5, ZCRP_CHANNEL_AAL5, 0},     {CARRIER_AAL5_UDP, ZCRP_CHANNEL_AAL5, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct settings settings = on(rows[i].carrier);
        struct zcrp_options options = carrier_options(&settings, false);
        ck_assert_int_eq(options.channel, rows[i].channel);
        ck_assert_uint_eq(options.flags, rows[i].flags);
    }
}

TEST(carrier_options__over_aal5_a_circuit)
{
    struct settings settings = on(CARRIER_AAL5_UDP);
    struct zcrp_options options = carrier_options(&settings, false);

    ck_assert_int_eq(options.channel, ZCRP_CHANNEL_AAL5);
    ck_assert_uint_eq(options.aal5.vci, 40);
    ck_assert_uint_eq(options.aal5.vci_control, 41);
}

TEST(carrier_options__the_way_back_has_others)
{
    struct settings settings = on(CARRIER_AAL5);
    struct zcrp_options back = carrier_options(&settings, true);

    ck_assert_uint_eq(back.aal5.vci, 42);
    ck_assert_uint_eq(back.aal5.vci_control, 43);
}

TEST(carrier_options__the_usual_circuit)
{
    struct settings settings = on(CARRIER_AAL5);

    settings.vci = 0;
    ck_assert_uint_eq(carrier_options(&settings, false).aal5.vci, 32);
}

TEST(carrier_name__says_whether_there_are_keys)
{
    static const struct {
        enum carrier carrier;
        bool has_keys;
        const char *name;
    } rows[] = {
        {CARRIER_AUTO, false, "udp"},
        {CARRIER_UDP, true, "udp+keys"},
        {CARRIER_MEMORY, false, "memory"},
        {CARRIER_AAL5_UDP, false, "aal5-udp"},
        {CARRIER_AAL5_UDP, true, "aal5-udp+keys"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct settings settings = on(rows[i].carrier);
        char name[TRANSPORT_CHANNEL_ROOM];
        settings.has_keys = rows[i].has_keys;
        carrier_name(&settings, name);
        ck_assert_str_eq(name, rows[i].name);
    }
}

TEST(carrier_was_memory__by_what_was_counted)
{
    static const struct {
        uint64_t bytes, once, calls, bursts;
        bool was;
    } rows[] = {
        {1000, 0, 0, 0, false},  {1000, 500, 8, 8, false},
        {1000, 501, 8, 8, true}, {1000, 0, 8, 8, false}, /* each by a call, as over a socket */
        {1000, 0, 7, 8, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct counts counts = {.is_known = true};
        counts.value[COUNT_bytes_copied_once] = rows[i].once;
        counts.value[COUNT_system_calls] = rows[i].calls;
        counts.value[COUNT_bursts] = rows[i].bursts;
        ck_assert_int_eq(carrier_was_memory(&counts, rows[i].bytes), rows[i].was);
        counts.is_known = false;
        ck_assert(!carrier_was_memory(&counts, rows[i].bytes));
    }
}
