#include "control_trailer.h"

#include "check.h"
#include "wire.h"

size_t control_trailer_encode(uint8_t *out, size_t size, const uint8_t *body, size_t body_bytes,
                              const struct control_trailer *t)
{
    struct wire_writer w;
    wire_writer_init(&w, out, size);
    wire_write_bytes(&w, body, body_bytes);
    wire_write_u32(&w, t->first);
    wire_write_u32(&w, t->second);
    wire_write_u32(&w, t->capacity);
    wire_write_u16(&w, t->length);
    wire_write_u16(&w, t->marks);
    wire_write_u32(&w, t->pairing.session);
    wire_write_u16(&w, t->pairing.tag);
    wire_write_u8(&w, t->flags);
    wire_write_u8(&w, datagram_last_byte(t->type));
    CHECK(!w.bad);
    return body_bytes + CONTROL_TRAILER_BYTES;
}

enum verdict control_trailer_decode(const uint8_t *in, size_t size, enum datagram_type lowest,
                                    enum datagram_type highest, struct control_trailer *t)
{
    if (size < CONTROL_TRAILER_BYTES)
        return VERDICT_SHORT;
    struct wire_reader r;
    wire_reader_init(&r, in + (size - CONTROL_TRAILER_BYTES), CONTROL_TRAILER_BYTES);
    t->first = wire_read_u32(&r);
    t->second = wire_read_u32(&r);
    t->capacity = wire_read_u32(&r);
    t->length = wire_read_u16(&r);
    t->marks = wire_read_u16(&r);
    t->pairing.session = wire_read_u32(&r);
    t->pairing.tag = wire_read_u16(&r);
    t->flags = wire_read_u8(&r);
    uint8_t last_byte = wire_read_u8(&r);
    t->type = datagram_type(last_byte);
    CHECK(!r.bad);
    return datagram_judge_type(last_byte, lowest, highest);
}
