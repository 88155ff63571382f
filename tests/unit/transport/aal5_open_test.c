#include "transport/aal5/aal5_channel.h"

#include "../../support/suite.h"

static bool parse(const char *text, struct channel_aal5 *options)
{
    *options = (struct channel_aal5){.mtu = 9180};
    setenv("ZCRP_AAL5", text, 1);
    return aal5_environment(options);
}

TEST(aal5_environment__none)
{
    struct channel_aal5 o = {.mtu = 9180};

    unsetenv("ZCRP_AAL5");
    ck_assert(aal5_environment(&o));
    ck_assert_uint_eq(o.mtu, 9180);
    ck_assert(parse("", &o));
    ck_assert_uint_eq(o.mtu, 9180);
}

TEST(aal5_environment__all)
{
    struct channel_aal5 o;

    ck_assert(parse("mtu=1500,loss=1,tagged=2,tagged_loss=3,swapped=4,merged=5,congested=6,"
                    "discard=2,seed=7",
                    &o));
    ck_assert_uint_eq(o.mtu, 1500);
    ck_assert_uint_eq(o.faults.loss, 1);
    ck_assert_uint_eq(o.faults.tagged, 2);
    ck_assert_uint_eq(o.faults.tagged_loss, 3);
    ck_assert_uint_eq(o.faults.swapped, 4);
    ck_assert_uint_eq(o.faults.merged, 5);
    ck_assert_uint_eq(o.faults.congested, 6);
    ck_assert_int_eq(o.faults.discard, AAL5_DISCARD_EARLY);
    ck_assert_uint_eq(o.faults.seed, 7);
}

TEST(aal5_environment__refused)
{
    static const char *const bad[] = {"loss",     "loss=",    "loss=x", "loss=1;seed=2",
                                      "los=1",    "losses=1", "=1",     "loss=4294967296",
                                      "seed=1,,", "loss=1 ",  "1"};
    struct channel_aal5 o;

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!parse(bad[i], &o), "%s", bad[i]);
}
