/* Numbers on the wire: got and put again, and taken for 64-bit numbers near another. */
#include "script.h"

#include "core/check.h"
#include "core/number.h"
#include "core/wire/wire.h"

#include <string.h>

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

static void copy(const uint8_t *in, size_t size)
{
    uint8_t out[8];
    if (size < sizeof out)
        return;
    wire_put_u64(out, wire_get_u64(in));
    CHECK(memcmp(out, in, 8) == 0);
    wire_put_u32(out, wire_get_u32(in + 1));
    CHECK(memcmp(out, in + 1, 4) == 0);
    wire_put_u16(out, wire_get_u16(in + 3));
    CHECK(memcmp(out, in + 3, 2) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    struct script s = script_of(in, size);
    expand(&s);
    copy(in, size);
    return 0;
}
