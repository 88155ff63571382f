#include "core/wire/aal5.h"

#include "../../support/suite.h"

TEST(aal5_label__circuits)
{
    static const struct {
        struct aal5_circuit circuit;
        uint32_t label;
    } known[] = {
        {{0, 32}, 16},         {{0, 33}, 17},          {{0, 4127}, 4111}, {{1, 32}, 4112},
        {{1, 100}, 4180},      {{255, 4111}, 1048575}, {{255, 4112}, 0},  {{0, 31}, 0},
        {{0, 0}, 0},           {{0, 4128}, 0},         {{256, 32}, 0},    {{0, UINT32_MAX}, 0},
        {{UINT32_MAX, 32}, 0},
    };

    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        ck_assert_uint_eq(aal5_label(known[i].circuit), known[i].label);
        if (known[i].label == 0)
            continue;
        ck_assert_uint_eq(aal5_circuit(known[i].label).vpi, known[i].circuit.vpi);
        ck_assert_uint_eq(aal5_circuit(known[i].label).vci, known[i].circuit.vci);
    }
}

TEST(aal5_circuit__of_every_label)
{
    for (uint32_t label = AAL5_LABEL_LEAST; label <= AAL5_LABEL_MOST; label++)
        ck_assert_uint_eq(aal5_label(aal5_circuit(label)), label);
}

TEST(aal5_head_encode__vector)
{
    static const uint8_t expected[] = {0x00, 0x01, 0x01, 0x40, 0x00, 0x00, 0x01, 0x84};
    uint8_t out[AAL5_HEAD];

    aal5_head_encode(out, &(struct aal5_head){.label = 16, .number = 1, .is_end = true});
    ck_assert_mem_eq(out, expected, AAL5_HEAD);
}

TEST(aal5_head_decode__what_was_encoded)
{
    for (unsigned bits = 0; bits < 8; bits++) {
        struct aal5_head head = {.label = 1048575,
                                 .number = 65535,
                                 .is_end = (bits & 4) != 0,
                                 .is_congested = (bits & 2) != 0,
                                 .is_tagged = (bits & 1) != 0};
        struct aal5_head again;
        uint8_t out[AAL5_HEAD];
        aal5_head_encode(out, &head);
        ck_assert_uint_eq(out[7], 0x80 | bits);
        ck_assert(aal5_head_decode(out, &again));
        ck_assert_uint_eq(again.label, head.label);
        ck_assert_uint_eq(again.number, head.number);
        ck_assert_int_eq(again.is_end, head.is_end);
        ck_assert_int_eq(again.is_congested, head.is_congested);
        ck_assert_int_eq(again.is_tagged, head.is_tagged);
    }
}

TEST(aal5_head_decode__refused)
{
    static const struct {
        uint8_t bytes[AAL5_HEAD];
        bool is_good;
    } packets[] = {
        {{0x00, 0x01, 0x01, 0x40, 0x00, 0x00, 0x01, 0x84}, true},
        {{0x00, 0x01, 0x0F, 0x01, 0x0F, 0x00, 0x01, 0xFC}, true},  /* TC, TTL, V, reserved */
        {{0x00, 0x01, 0x00, 0x40, 0x00, 0x00, 0x01, 0x84}, false}, /* another label follows */
        {{0x00, 0x00, 0xF1, 0x40, 0x00, 0x00, 0x01, 0x84}, false}, /* a reserved label */
        {{0x00, 0x01, 0x01, 0x40, 0x45, 0x00, 0x01, 0x84}, false}, /* IP instead */
        {{0x00, 0x01, 0x01, 0x40, 0x00, 0x00, 0x01, 0x04}, false}, /* cells */
    };
    struct aal5_head head;

    for (unsigned i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
        ck_assert_int_eq(aal5_head_decode(packets[i].bytes, &head), packets[i].is_good);
}

TEST(aal5_next_number__skips_0)
{
    ck_assert_uint_eq(aal5_next_number(1), 2);
    ck_assert_uint_eq(aal5_next_number(65534), 65535);
    ck_assert_uint_eq(aal5_next_number(65535), 1);
}
