/* PDUs that one packet carries whole: those of hellos. */
#include "core/wire/aal5.h"

#include "../../support/suite.h"

#include <string.h>

enum { LABEL = 1234, ROOM = AAL5_HEAD + AAL5_PDU_MOST + AAL5_CELL };

static uint8_t payload[AAL5_PAYLOAD_MOST], packet[ROOM];

static uint32_t encode(uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        payload[i] = (uint8_t)(i * 7 + 3);
    return aal5_packet_encode(packet, &(struct aal5_packet){LABEL, payload, bytes}, crc32_add);
}

static bool decode(size_t size, struct aal5_packet *found)
{
    return aal5_packet_decode(packet, size, crc32_add, found);
}

TEST(aal5_packet__there_and_back)
{
    static const uint32_t sizes[] = {1, 32, 40, 41, 64, 88, 89, 1432, AAL5_PAYLOAD_MOST};
    struct aal5_packet found;

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t size = encode(sizes[i]);
        ck_assert_uint_eq(size, AAL5_HEAD + AAL5_CELL * aal5_cells(sizes[i]));
        ck_assert(decode(size, &found));
        ck_assert_uint_eq(found.label, LABEL);
        ck_assert_uint_eq(found.payload_bytes, sizes[i]);
        ck_assert_mem_eq(found.payload, payload, sizes[i]);
    }
}

/* Any byte that is another is noticed, but for those of the head that nobody looks at. */
TEST(aal5_packet__damaged)
{
    static const uint8_t heeded[AAL5_HEAD] = {0xFF, 0xFF, 0xF1, 0x00, 0xF0, 0x00, 0x00, 0x84};
    uint32_t size = encode(70);
    struct aal5_packet found;

    for (uint32_t i = 0; i < size; i++)
        for (unsigned bit = 1; bit <= 128; bit <<= 1) {
            packet[i] ^= (uint8_t)bit;
            bool is_good = decode(size, &found) && found.label == LABEL;
            ck_assert_int_eq(is_good, i < AAL5_HEAD && (heeded[i] & bit) == 0);
            packet[i] ^= (uint8_t)bit;
        }
}

/* What is cut short, or has something behind it. Nothing behind the size is read. */
TEST(aal5_packet__of_other_sizes)
{
    uint32_t whole = encode(70);
    struct aal5_packet found;

    for (size_t size = 0; size < whole + 2 * AAL5_CELL; size++) {
        uint8_t *exact = malloc(size + 1);
        memcpy(exact, packet, size);
        ck_assert_int_eq(aal5_packet_decode(exact, size, crc32_add, &found), size == whole);
        free(exact);
    }
    ck_assert(!decode(ROOM, &found)); /* more cells than a PDU has */
}

/* A PDU that says nothing, or more than it has room for, with a CRC that is right. */
TEST(aal5_packet__lies_about_its_length)
{
    static const uint16_t lies[] = {0, 39, 41, 48, UINT16_MAX};
    struct aal5_packet found;

    for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        uint32_t size = encode(32);
        uint8_t *trailer = packet + size - AAL5_TRAILER;
        trailer[2] = (uint8_t)(lies[i] >> 8);
        trailer[3] = (uint8_t)lies[i];
        uint32_t crc = crc32_add(0, packet + AAL5_HEAD, size - AAL5_HEAD - 4);
        for (unsigned b = 0; b < 4; b++)
            trailer[4 + b] = (uint8_t)(crc >> (24 - 8 * b));
        ck_assert_int_eq(decode(size, &found), lies[i] == 39);
    }
}
