#include "secret.h"

#include "core/check.h"
#include "wire.h"

uint64_t secret_draw(struct secret *s)
{
    uint8_t counter[8];
    wire_put_u64(counter, s->drawn++);
    return s->hash(s->key, counter, sizeof counter);
}

uint32_t secret_draw_name(struct secret *s)
{
    uint32_t name;
    do
        name = (uint32_t)secret_draw(s);
    while (name == 0);
    return name;
}

uint64_t secret_draw_nonce(struct secret *s)
{
    uint64_t nonce;
    do
        nonce = secret_draw(s);
    while (nonce == 0);
    return nonce;
}

uint64_t secret_draw_between(struct secret *s, uint64_t least, uint64_t most)
{
    CHECK(least <= most);
    uint64_t range = most - least + 1;
    return range == 0 ? secret_draw(s) : least + secret_draw(s) % range;
}
