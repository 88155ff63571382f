#include "core/wire/aal5.h"

#include "../../support/suite.h"
#include <string.h>

/* docs/aal5.md has the same vectors. */
static const struct {
    struct aal5_cell_head head;
    uint8_t bytes[AAL5_CELL_HEAD];
} vectors[] = {
    {{0, 0, 0, 0, true}, {0x00, 0x00, 0x00, 0x01, 0x52}}, /* idle (ITU-T I.432.1) */
    {{0, 0, 5, 0, false}, {0x00, 0x00, 0x00, 0x50, 0xe2}},
    {{0, 0, 32, 0, false}, {0x00, 0x00, 0x02, 0x00, 0x7f}},
    {{0, 0, 100, 0, false}, {0x00, 0x00, 0x06, 0x40, 0xec}},
    {{0, 0, 100, 1, false}, {0x00, 0x00, 0x06, 0x42, 0xe2}},
    {{0, 1, 100, 0, true}, {0x00, 0x10, 0x06, 0x41, 0x49}},
    {{15, 255, 65535, 7, true}, {0xff, 0xff, 0xff, 0xff, 0x8b}},
};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

TEST(aal5_cell_encode__vectors, .rows = VECTORS)
{
    uint8_t out[AAL5_CELL_HEAD];

    aal5_cell_encode(out, &vectors[_i].head);
    ck_assert_mem_eq(out, vectors[_i].bytes, AAL5_CELL_HEAD);
}

TEST(aal5_cell_decode__vectors, .rows = VECTORS)
{
    const struct aal5_cell_head *expected = &vectors[_i].head;
    struct aal5_cell_head head;

    ck_assert(aal5_cell_decode(vectors[_i].bytes, &head));
    ck_assert_uint_eq(head.gfc, expected->gfc);
    ck_assert_uint_eq(head.vpi, expected->vpi);
    ck_assert_uint_eq(head.vci, expected->vci);
    ck_assert_uint_eq(head.pti, expected->pti);
    ck_assert_int_eq(head.is_tagged, expected->is_tagged);
}

/* One bit flipped is seen and not repaired; two as well. */
TEST(aal5_cell_decode__damaged, .rows = VECTORS)
{
    struct aal5_cell_head head;

    for (int a = 0; a < 40; a++)
        for (int b = a; b < 40; b++) {
            uint8_t bytes[AAL5_CELL_HEAD];
            memcpy(bytes, vectors[_i].bytes, AAL5_CELL_HEAD);
            bytes[a / 8] ^= (uint8_t)(1 << a % 8);
            if (b != a)
                bytes[b / 8] ^= (uint8_t)(1 << b % 8);
            ck_assert(!aal5_cell_decode(bytes, &head));
        }
}

TEST(aal5_cell_cut__marks_the_last)
{
    uint8_t pdu[3 * AAL5_CELL], out[3 * AAL5_CELL_WHOLE];
    struct aal5_cell_head head = {.vci = 32, .pti = AAL5_PTI_CONGESTED};

    for (unsigned i = 0; i < sizeof(pdu); i++)
        pdu[i] = (uint8_t)i;
    aal5_cell_cut(out, pdu, 3, &head);
    for (unsigned i = 0; i < 3; i++) {
        struct aal5_cell_head each;
        ck_assert(aal5_cell_decode(out + i * AAL5_CELL_WHOLE, &each));
        ck_assert_uint_eq(each.pti,
                          i == 2 ? AAL5_PTI_CONGESTED | AAL5_PTI_LAST : AAL5_PTI_CONGESTED);
        ck_assert_mem_eq(out + i * AAL5_CELL_WHOLE + AAL5_CELL_HEAD, pdu + i * AAL5_CELL,
                         AAL5_CELL);
    }
}
