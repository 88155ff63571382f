#include "common/erf.h"

#include "../support/suite.h"

TEST(erf_aal5_head__bytes)
{
    static const struct erf_pdu pdu = {
        .time_ns = 0x01020304 * INT64_C(1000000000) + 500000000,
        .is_outward = true,
        .vpi = 0xab,
        .vci = 0x1234,
        .bytes = 48,
    };
    static const uint8_t expected[ERF_AAL5_HEAD] = {0, 0,  0, 0x80, 4, 3,  2,    1,    4,    4,
                                                    0, 68, 0, 0,    0, 52, 0x0a, 0xb1, 0x23, 0x42};
    uint8_t out[ERF_AAL5_HEAD];

    erf_aal5_head(out, &pdu);
    ck_assert_mem_eq(out, expected, sizeof(out));
}

TEST(erf_aal5_head__inward_and_largest)
{
    struct erf_pdu pdu = {.time_ns = 999999999, .vci = 65535, .bytes = ERF_AAL5_MOST};
    uint8_t out[ERF_AAL5_HEAD];

    erf_aal5_head(out, &pdu);
    ck_assert_uint_eq(out[4], 0);
    ck_assert_uint_eq(out[3], 0xff);
    ck_assert_uint_eq(out[9], 5);
    ck_assert_uint_eq(out[10] << 8 | out[11], 65535);
    ck_assert_uint_eq(out[17], 0x0f);
    ck_assert_uint_eq(out[19], 0xf2);
}
