/* A fuzzer's input, read as a script from its front: what to call next, and with what. A script
 * that is over gives 0 for ever, so that every input is one. */
#ifndef ZCRP_TESTS_FUZZ_SCRIPT_H
#define ZCRP_TESTS_FUZZ_SCRIPT_H

#include "core/instant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each fuzzer is this one function; 0 is what it returns. */
int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size);

struct script {
    const uint8_t *p;
    const uint8_t *end;
};

static inline struct script script_of(const uint8_t *in, size_t size)
{
    return (struct script){.p = in, .end = in + size};
}

static inline bool script_is_over(const struct script *s)
{
    return s->p == s->end;
}

static inline uint8_t script_u8(struct script *s)
{
    return script_is_over(s) ? 0 : *s->p++;
}

/* A number of `bytes` bytes. */
static inline uint64_t script_number(struct script *s, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | script_u8(s);
    return value;
}

/* A number in [0, limit), limit <= 256. */
static inline uint32_t script_below(struct script *s, uint32_t limit)
{
    return script_u8(s) % limit;
}

/* Mostly a small number more than `near`, sometimes any. */
static inline uint32_t script_near(struct script *s, uint32_t near)
{
    uint32_t step = script_u8(s);
    return step < 240 ? near + step % 16 - 4 : (uint32_t)script_number(s, 4);
}

/* A time to wait until: soon, later, or when something is due. */
static inline instant script_until(struct script *s, instant now, instant due)
{
    static const duration some[] = {MICROSECOND,       MILLISECOND, 20 * MILLISECOND,
                                    300 * MILLISECOND, 2 * SECOND,  3600 * SECOND};
    uint32_t choice = script_below(s, 8);
    return choice < sizeof some / sizeof some[0] ? now + some[choice] : due;
}

/* Up to `most` of the next bytes, where they are; their number is `*count`. */
static inline const uint8_t *script_bytes(struct script *s, size_t most, size_t *count)
{
    const uint8_t *bytes = s->p;
    size_t left = (size_t)(s->end - s->p);
    *count = most < left ? most : left;
    s->p += *count;
    return bytes;
}

#endif
