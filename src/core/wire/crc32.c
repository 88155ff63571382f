#include "crc32.h"

#include "wire.h"

/* The CRC is linear, so the entry of a byte is the sum of those of its bits, and a table follows
 * from the eight of its powers of two. */
#define ENTRY(n, b0, b1, b2, b3, b4, b5, b6, b7)                                                   \
    (((n)&1 ? (b0) : 0) ^ ((n)&2 ? (b1) : 0) ^ ((n)&4 ? (b2) : 0) ^ ((n)&8 ? (b3) : 0) ^           \
     ((n)&16 ? (b4) : 0) ^ ((n)&32 ? (b5) : 0) ^ ((n)&64 ? (b6) : 0) ^ ((n)&128 ? (b7) : 0))
#define ENTRIES_4(n, ...)                                                                          \
    ENTRY(n, __VA_ARGS__), ENTRY(n + 1, __VA_ARGS__), ENTRY(n + 2, __VA_ARGS__),                   \
        ENTRY(n + 3, __VA_ARGS__)
#define ENTRIES_16(n, ...)                                                                         \
    ENTRIES_4(n, __VA_ARGS__), ENTRIES_4(n + 4, __VA_ARGS__), ENTRIES_4(n + 8, __VA_ARGS__),       \
        ENTRIES_4(n + 12, __VA_ARGS__)
#define ENTRIES_64(n, ...)                                                                         \
    ENTRIES_16(n, __VA_ARGS__), ENTRIES_16(n + 16, __VA_ARGS__), ENTRIES_16(n + 32, __VA_ARGS__),  \
        ENTRIES_16(n + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    {                                                                                              \
        ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),     \
            ENTRIES_64(192, __VA_ARGS__)                                                           \
    }

/* table[k][b] is what byte b, followed by k bytes of 0, leaves. */
static const uint32_t table[8][256] = {
    TABLE(0x04C11DB7U, 0x09823B6EU, 0x130476DCU, 0x2608EDB8U, 0x4C11DB70U, 0x9823B6E0U, 0x34867077U,
          0x690CE0EEU),
    TABLE(0xD219C1DCU, 0xA0F29E0FU, 0x452421A9U, 0x8A484352U, 0x10519B13U, 0x20A33626U, 0x41466C4CU,
          0x828CD898U),
    TABLE(0x01D8AC87U, 0x03B1590EU, 0x0762B21CU, 0x0EC56438U, 0x1D8AC870U, 0x3B1590E0U, 0x762B21C0U,
          0xEC564380U),
    TABLE(0xDC6D9AB7U, 0xBC1A28D9U, 0x7CF54C05U, 0xF9EA980AU, 0xF7142DA3U, 0xEAE946F1U, 0xD1139055U,
          0xA6E63D1DU),
    TABLE(0x490D678DU, 0x921ACF1AU, 0x20F48383U, 0x41E90706U, 0x83D20E0CU, 0x036501AFU, 0x06CA035EU,
          0x0D9406BCU),
    TABLE(0x1B280D78U, 0x36501AF0U, 0x6CA035E0U, 0xD9406BC0U, 0xB641CA37U, 0x684289D9U, 0xD08513B2U,
          0xA5CB3AD3U),
    TABLE(0x4F576811U, 0x9EAED022U, 0x399CBDF3U, 0x73397BE6U, 0xE672F7CCU, 0xC824F22FU, 0x9488F9E9U,
          0x2DD0EE65U),
    TABLE(0x5BA1DCCAU, 0xB743B994U, 0x6A466E9FU, 0xD48CDD3EU, 0xADD8A7CBU, 0x5F705221U, 0xBEE0A442U,
          0x79005533U),
};

uint32_t crc32_add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    uint32_t c = ~crc;

    for (; size >= 8; size -= 8, bytes += 8) {
        uint32_t high = c ^ wire_get_u32(bytes);
        uint32_t low = wire_get_u32(bytes + 4);

        c = table[7][high >> 24] ^ table[6][high >> 16 & 255] ^ table[5][high >> 8 & 255] ^
            table[4][high & 255] ^ table[3][low >> 24] ^ table[2][low >> 16 & 255] ^
            table[1][low >> 8 & 255] ^ table[0][low & 255];
    }
    for (; size > 0; size--)
        c = c << 8 ^ table[0][c >> 24 ^ *bytes++];
    return ~c;
}

uint32_t crc32_gather(crc32_function add, uint32_t crc, const struct iovec *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        crc = add(crc, pieces[i].iov_base, pieces[i].iov_len);
    return crc;
}
