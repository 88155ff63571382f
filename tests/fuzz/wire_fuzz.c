/* Numbers on the wire, two ways: read and written by a reader and a writer that go bad where the
 * memory ends, and taken for 64-bit numbers near another. */
#include "script.h"

#include "core/check.h"
#include "core/number.h"
#include "core/wire.h"

enum { MEMORY = 64, STEPS = 32 };

/* Reads a number of 1, 2, 4 or 8 bytes and writes it again. */
static void copy_number(struct wire_reader *r, struct wire_writer *w, uint32_t width)
{
    switch (width) {
    case 0:
        wire_write_u8(w, wire_read_u8(r));
        break;
    case 1:
        wire_write_u16(w, wire_read_u16(r));
        break;
    case 2:
        wire_write_u32(w, wire_read_u32(r));
        break;
    default:
        wire_write_u64(w, wire_read_u64(r));
        break;
    }
}

static void copy_bytes(struct wire_reader *r, struct wire_writer *w, uint32_t count)
{
    const uint8_t *bytes = wire_read_bytes(r, count);
    if (bytes != NULL)
        wire_write_bytes(w, bytes, count);
}

/* The first bytes say what is read, the others are read. */
static void copy(struct script *s)
{
    uint8_t out[MEMORY] = {0};
    struct wire_reader r;
    struct wire_writer w;
    size_t steps;
    size_t size;
    const uint8_t *step = script_bytes(s, 1 + script_below(s, STEPS), &steps);
    const uint8_t *in = script_bytes(s, MEMORY, &size);
    wire_reader_init(&r, in, size);
    wire_writer_init(&w, out, size);
    for (size_t i = 0; i < steps; i++) {
        if (step[i] < 128)
            copy_number(&r, &w, step[i] % 4);
        else
            copy_bytes(&r, &w, step[i] % 16);
        if (r.bad)
            break; /* from then on it reads zeros */
        CHECK(!w.bad);
        CHECK(r.p - in == w.p - out);
        CHECK(memcmp(out, in, (size_t)(w.p - out)) == 0);
    }
    CHECK(r.end == in + size);
    CHECK(w.end == out + size);
}

static void expand(struct script *s)
{
    const uint64_t half = UINT64_C(1) << 31;
    uint32_t wire = (uint32_t)script_number(s, 4);
    uint64_t near = script_number(s, 8) >> 1;
    uint64_t number = number_expand(wire, near);
    CHECK((uint32_t)number == wire);
    if (near < half)
        CHECK(number == wire);
    else
        CHECK(number - near + half < 2 * half);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    struct script s = script_of(in, size);
    expand(&s);
    copy(&s);
    return 0;
}
