/* The CRC-32 of AAL5: polynomial 04C11DB7, most significant bit first, all ones at the start,
 * complemented at the end. Its mirror image, which zlib and Ethernet use, is another one.
 *
 * A CRC covers all bytes so far, and is complemented already; of none it is 0. So the CRC of pieces
 * is add(add(0, piece 0), piece 1), wherever the pieces lie. */
#ifndef ZCRP_CORE_CRC32_H
#define ZCRP_CORE_CRC32_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The CRC of what has `crc`, followed by `size` bytes. Pure, any thread, cannot fail. */
typedef uint32_t (*crc32_function)(uint32_t crc, const uint8_t *bytes, size_t size);

/* Of everything followed by its own CRC, big-endian. */
#define CRC32_WHOLE UINT32_C(0x38FB2284)

/* One way to do it: tables for 8 bytes at a time. */
uint32_t crc32_add(uint32_t crc, const uint8_t *bytes, size_t size);

/* The CRC of what has `crc`, followed by `count` pieces. */
uint32_t crc32_gather(crc32_function add, uint32_t crc, const struct iovec *pieces, size_t count);

#endif
