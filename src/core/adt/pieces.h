/* A message whose memory lies in several pieces: a table that turns an offset in the message into
 * an address.
 *
 *     bytes of the message   [0 ....... 100)[100 .. 132)[132 ......... 1000)
 *     piece                        0              1             2
 *     its address               0x7000         0x1040        0x3000
 *
 * The user may name empty pieces, and pieces that are neighbours in memory. The table leaves out
 * empty pieces, and joins neighbours. So a table of contiguous memory has one piece, and the table
 * of an empty message has none. A message in one piece usually has no table: the pointer to it is
 * NULL, which its users check first (messages_out.h, messages_in.h).
 *
 * pieces_init makes the table in its owner's memory. The table never changes, and borrows the
 * bytes.
 *
 * I1  no piece is empty, and none begins where the one before it ends.
 * I2  `first` of each piece is the sum of the sizes of the pieces before it; `first` of the entry
 *     behind the last piece is `bytes`.
 * I3  `lower` names each piece once, by ascending address.
 * I4  overlaps is true exactly if two pieces share a byte. */
#ifndef ZCRP_CORE_PIECES_H
#define ZCRP_CORE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { PIECES_MOST = 1024 };

struct piece {
    uint8_t *at;    /* its first byte; NULL behind the last piece */
    uint64_t first; /* the place of that byte in the message */
    uint32_t lower; /* entry i of another list: the piece with the i-th lowest address */
};

struct pieces {
    uint64_t bytes; /* of all pieces */
    uint32_t count; /* at most PIECES_MOST */
    bool overlaps;
    struct piece piece[]; /* `count`, and an entry behind the last */
};

/* Bytes of memory that a table of up to `count` pieces needs, aligned as malloc's. */
size_t pieces_room(uint32_t count);

/* Makes the table of `count` pieces, at most PIECES_MOST (CHECKed), in that memory. Their sizes add
 * up to PTRDIFF_MAX at most, and only an empty piece may be NULL. O(count log count). */
struct pieces *pieces_init(void *memory, const struct iovec *piece, uint32_t count);

/* The address of byte `offset` of the message. `*run` is the number of bytes from there to the end
 * of its piece. NULL and 0 behind the last byte. O(log count). */
uint8_t *pieces_at(const struct pieces *p, uint64_t offset, uint64_t *run);

/* The number of pieces in which the bytes [first, last) lie; first < last (CHECKed).
 * O(log count). */
uint32_t pieces_span(const struct pieces *p, uint64_t first, uint64_t last);

/* The number of bytes from `offset` on that `pieces` pieces hold at most; offset <= bytes.
 * O(log count). */
uint64_t pieces_reach(const struct pieces *p, uint64_t offset, uint32_t pieces);

/* Lists the pieces of the bytes [first, last) in `out`, in the message's order, and returns their
 * number. Lists nothing and returns 0 if they are more than `most`. */
uint32_t pieces_list(const struct pieces *p, uint64_t first, uint64_t last, struct iovec *out,
                     uint32_t most);

/* The offset of the message's byte at this address. False: no byte of it is there. If pieces
 * overlap, it may return false for any address. O(log count). */
bool pieces_find(const struct pieces *p, const uint8_t *at, uint64_t *offset);

/* Copies `length` bytes to place `offset` of the message. */
void pieces_write(const struct pieces *p, uint64_t offset, const uint8_t *from, uint64_t length);

/* Sets the bytes [first, last) of a message to 0: of the table's, or, if `p` is NULL, of `buffer`.
 */
void pieces_clear(const struct pieces *p, uint8_t *buffer, uint64_t first, uint64_t last);

/* Piece i of the first `size` bytes of a message: of the table's, or, if `p` is NULL, of `buffer`.
 * False: there are no more. */
bool pieces_of_memory(const struct pieces *p, const uint8_t *buffer, uint64_t size, uint32_t i,
                      struct iovec *piece);

/* CHECKs I1 to I4. */
void pieces_check(const struct pieces *p);

#endif
