/* The memory of a message that lies in several pieces, and how a place in the message becomes an
 * address.
 *
 *     bytes of the message   [0 ....... 100)[100 .. 132)[132 ......... 1000)
 *     piece                        0              1             2
 *     its address               0x7000         0x1040        0x3000
 *
 * Whoever makes the table may name pieces of 0 bytes, and pieces that follow on each other in
 * memory: the table leaves out the first, and joins the second. So a message in one place has one
 * piece, and an empty one has none. A message that lies in one place needs no such table at all;
 * whoever may have either asks for a NULL first (messages_out.h, messages_in.h).
 *
 * The table is made once, in its owner's memory, and never changes. It borrows the bytes.
 *
 * I1  no piece is empty, and none begins where the one before it ends.
 * I2  `first` of each piece is the sum of the sizes before it; of the one behind the last it is
 *     `bytes`.
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
    uint64_t bytes; /* of all together */
    uint32_t count; /* at most PIECES_MOST */
    bool overlaps;
    struct piece piece[]; /* `count`, and one behind the last */
};

/* Bytes of memory that a table of up to `count` pieces needs, aligned as malloc's. */
size_t pieces_room(uint32_t count);

/* Makes a table in that memory of `count` pieces, at most PIECES_MOST (CHECKed). Their sizes
 * together are at most PTRDIFF_MAX, and none is NULL that has bytes. O(count log count). */
struct pieces *pieces_init(void *memory, const struct iovec *piece, uint32_t count);

/* Where byte `offset` of the message lies; `*run` bytes of the message lie there, one behind the
 * other, to the end of the piece. NULL and 0 behind the last byte. O(log count). */
uint8_t *pieces_at(const struct pieces *p, uint64_t offset, uint64_t *run);

/* In how many pieces the bytes [first, last) lie, which are not none (CHECKed). O(log count). */
uint32_t pieces_span(const struct pieces *p, uint64_t first, uint64_t last);

/* How many bytes from `offset` on, which is not behind the last byte, lie in at most `pieces`
 * pieces. O(log count). */
uint64_t pieces_reach(const struct pieces *p, uint64_t offset, uint32_t pieces);

/* Lists where the bytes [first, last) lie, in their order. Returns how many pieces there are; 0 if
 * these are more than `most`, and then nothing was listed. */
uint32_t pieces_list(const struct pieces *p, uint64_t first, uint64_t last, struct iovec *out,
                     uint32_t most);

/* Which byte of the message lies at this address? False: none. If pieces overlap it may say that
 * none does. O(log count). */
bool pieces_find(const struct pieces *p, const uint8_t *at, uint64_t *offset);

/* Copies `length` bytes to place `offset` of the message, or sets the bytes [first, last) to 0. */
void pieces_write(const struct pieces *p, uint64_t offset, const uint8_t *from, uint64_t length);
void pieces_clear(const struct pieces *p, uint64_t first, uint64_t last);

/* Piece i of the first `size` bytes of memory that lies in pieces, or, if `p` is NULL, in one
 * place. False: there are no more. */
bool pieces_of_memory(const struct pieces *p, const uint8_t *buffer, uint64_t size, uint32_t i,
                      struct iovec *piece);

/* CHECKs I1 to I4. */
void pieces_check(const struct pieces *p);

#endif
