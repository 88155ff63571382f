/* Numbers on the wire: big-endian, of 8 to 64 bits, at any address.
 *
 *     memory   ========|--------------|
 *              done    p    to do     end
 *
 * get and put move one number; compilers make one load or store of the shifts. A codec of fixed
 * offsets uses them as they are.
 *
 * A reader walks over memory that it borrows, a writer fills memory of the caller's. Either goes
 * bad at the first step that does not fit, stays bad, and touches nothing from then on: reads give
 * 0 or NULL, writes do nothing. So a codec checks once, at its end.
 *
 * I1  p <= end, and what was at `end` in the beginning is there still. */
#ifndef ZCRP_CORE_WIRE_H
#define ZCRP_CORE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number at `b`, and a number to be there. */
static inline uint16_t wire_get_u16(const uint8_t b[2])
{
    return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t wire_get_u32(const uint8_t b[4])
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline uint64_t wire_get_u64(const uint8_t b[8])
{
    return (uint64_t)b[0] << 56 | (uint64_t)b[1] << 48 | (uint64_t)b[2] << 40 |
           (uint64_t)b[3] << 32 | (uint64_t)b[4] << 24 | (uint64_t)b[5] << 16 |
           (uint64_t)b[6] << 8 | b[7];
}

static inline void wire_put_u16(uint8_t b[2], uint16_t value)
{
    b[0] = (uint8_t)(value >> 8);
    b[1] = (uint8_t)value;
}

static inline void wire_put_u32(uint8_t b[4], uint32_t value)
{
    b[0] = (uint8_t)(value >> 24);
    b[1] = (uint8_t)(value >> 16);
    b[2] = (uint8_t)(value >> 8);
    b[3] = (uint8_t)value;
}

static inline void wire_put_u64(uint8_t b[8], uint64_t value)
{
    wire_put_u32(b, (uint32_t)(value >> 32));
    wire_put_u32(b + 4, (uint32_t)value);
}

struct wire_reader {
    const uint8_t *p;
    const uint8_t *end;
    bool bad; /* something did not fit */
};

struct wire_writer {
    uint8_t *p;
    uint8_t *end;
    bool bad;
};

/* Reads `size` bytes at `in`, which must not be NULL. */
static inline void wire_reader_init(struct wire_reader *r, const uint8_t *in, size_t size)
{
    *r = (struct wire_reader){.p = in, .end = in + size};
}

/* The next `count` bytes, where they are; NULL when there are not so many. */
static inline const uint8_t *wire_read_bytes(struct wire_reader *r, size_t count)
{
    if (r->bad || (size_t)(r->end - r->p) < count) {
        r->bad = true;
        return NULL;
    }
    const uint8_t *bytes = r->p;
    r->p += count;
    return bytes;
}

static inline uint8_t wire_read_u8(struct wire_reader *r)
{
    const uint8_t *b = wire_read_bytes(r, 1);
    return b ? b[0] : 0;
}

static inline uint16_t wire_read_u16(struct wire_reader *r)
{
    const uint8_t *b = wire_read_bytes(r, 2);
    return b ? wire_get_u16(b) : 0;
}

static inline uint32_t wire_read_u32(struct wire_reader *r)
{
    const uint8_t *b = wire_read_bytes(r, 4);
    return b ? wire_get_u32(b) : 0;
}

static inline uint64_t wire_read_u64(struct wire_reader *r)
{
    const uint8_t *b = wire_read_bytes(r, 8);
    return b ? wire_get_u64(b) : 0;
}

/* Writes up to `size` bytes at `out`, which must not be NULL. */
static inline void wire_writer_init(struct wire_writer *w, uint8_t *out, size_t size)
{
    *w = (struct wire_writer){.p = out, .end = out + size};
}

/* Room for the next `count` bytes, which the caller fills; NULL when there is not so much. */
static inline uint8_t *wire_write_room(struct wire_writer *w, size_t count)
{
    if (w->bad || (size_t)(w->end - w->p) < count) {
        w->bad = true;
        return NULL;
    }
    uint8_t *room = w->p;
    w->p += count;
    return room;
}

/* Copies `count` bytes, which may lie in the writer's own memory. */
static inline void wire_write_bytes(struct wire_writer *w, const uint8_t *bytes, size_t count)
{
    uint8_t *b = wire_write_room(w, count);
    if (b && count > 0)
        memmove(b, bytes, count);
}

static inline void wire_write_u8(struct wire_writer *w, uint8_t value)
{
    uint8_t *b = wire_write_room(w, 1);
    if (b)
        b[0] = value;
}

static inline void wire_write_u16(struct wire_writer *w, uint16_t value)
{
    uint8_t *b = wire_write_room(w, 2);
    for (int i = 0; b && i < 2; i++)
        b[i] = (uint8_t)(value >> (8 - 8 * i));
}

static inline void wire_write_u32(struct wire_writer *w, uint32_t value)
{
    uint8_t *b = wire_write_room(w, 4);
    for (int i = 0; b && i < 4; i++)
        b[i] = (uint8_t)(value >> (24 - 8 * i));
}

static inline void wire_write_u64(struct wire_writer *w, uint64_t value)
{
    uint8_t *b = wire_write_room(w, 8);
    for (int i = 0; b && i < 8; i++)
        b[i] = (uint8_t)(value >> (56 - 8 * i));
}

#endif
