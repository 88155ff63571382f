/* What the proofs have in common. A proof is a program whose inputs have any value: CBMC shows that
 * no run of it breaks a SHOW or a CHECK, reads or writes beside an object, overflows, divides by 0,
 * or goes round a loop more often than the head of the proof says.
 *
 * An ASSUME is what the callers of the code guarantee; a comment says why they do. REACHED stands
 * at the end of each way through a proof. With -DREACH nothing is shown but that each REACHED can
 * be reached: else a proof of nothing would look like one. */
#ifndef ZCRP_TESTS_PROOFS_PROOF_H
#define ZCRP_TESTS_PROOFS_PROOF_H

#include "core/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Any value. So has a variable of a function that was not set. */
bool nondet_bool(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
size_t nondet_size(void);

#define ASSUME(condition) __CPROVER_assume(condition)

#ifdef REACH
#define SHOW(condition) ((void)(condition))
#define REACHED() __CPROVER_assert(0, "reached")
#else
#define SHOW(condition) __CPROVER_assert(condition, #condition)
#define REACHED() ((void)0)
#endif

/* Of core/check.h. Each program has it once, because a proof is one file. */
_Noreturn void check_failed(const char *expression, const char *file, int line)
{
    (void)expression, (void)file, (void)line;
    SHOW(!"a CHECK");
    ASSUME(false);
}

/* Any number below `limit`. */
static inline uint32_t any_below(uint32_t limit)
{
    uint32_t n = nondet_u32();

    ASSUME(n < limit);
    return n;
}

/* The same, for a limit of 2 to the power `bits`: CBMC sees that all other bits are 0, and is
 * quicker. */
static inline uint32_t any_bits(uint32_t bits)
{
    return nondet_u32() & ((1u << bits) - 1);
}

/* Any bytes, as many as there are: what lies beside them is nothing that may be touched. */
static inline uint8_t *any_bytes(size_t size)
{
    return malloc(size);
}

/* memcpy and memmove of so many bytes or words at most, for the proofs that say so in their flags:
 * CBMC's own take a long time where both the place and the number of bytes can be any. */
#ifdef UNIT
void *move_units(void *to, const void *from, size_t bytes)
{
    UNIT unit[UNITS], *out = to;
    const UNIT *in = from;

    SHOW(bytes % sizeof(UNIT) == 0 && bytes <= sizeof unit);
    for (size_t i = 0; i < UNITS; i++)
        if (i < bytes / sizeof(UNIT))
            unit[i] = in[i];
    for (size_t i = 0; i < UNITS; i++)
        if (i < bytes / sizeof(UNIT))
            out[i] = unit[i];
    return to;
}
#endif

/* The memory whose words another process may write at any time (stdatomic.h). */
const void *proof_hostile;

#endif
