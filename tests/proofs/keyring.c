/* A sealed datagram, from anybody: nothing beside it is read or written, whatever its size, its
 * trailer and the cipher say; what opens is no longer than what came.
 *
 * bound: any datagram below 64 KiB; numbers that move the window by 3 at most, or all of it
 * sources: core/keys/seal.c core/wire/datagram.c
 * smaller: core/keys/seal.h SEAL_WINDOW 64
 * unwind: 5
 */
#include "proof.h"

#include "core/keys/seal.h"

static uint64_t end; /* of both openers */

/* The cipher reads the text with its tag, and writes the text, as it promises. The first ASSUME is
 * the bound of the proof: each number by which the window moves takes a round of a loop. */
static bool open_any(void *keys, const struct seal_text *text)
{
    (void)keys;
    ASSUME(text->number < end + 3 || text->number >= end + SEAL_WINDOW);
    SHOW(text->bytes <= UINT16_MAX);
    SHOW(__CPROVER_r_ok(text->in, text->bytes + SEAL_TAG_BYTES));
    SHOW(__CPROVER_r_ok(text->bound, text->bound_bytes));
    SHOW(text->bytes == 0 || __CPROVER_w_ok(text->out, text->bytes));
    return nondet_bool();
}

static void any_epoch(void *keys, uint64_t epoch)
{
    (void)keys, (void)epoch;
}

static struct opener any_opener(const struct cipher *cipher)
{
    struct opener o;

    o.cipher = cipher;
    o.epoch_bits = SEAL_EPOCH_BITS;
    o.forged = o.replayed = 0;
    o.end = end;
    return o;
}

int main(void)
{
    static const struct cipher cipher = {.open = open_any, .forget = any_epoch, .reach = any_epoch};
    end = nondet_u64();
    ASSUME(end < UINT64_C(1) << 62); /* an epoch takes a genuine datagram, and has 2^22 numbers */
    struct keyring k = {.pairing = {nondet_u32(), nondet_u32()},
                        .units_in = any_opener(&cipher),
                        .control_in = any_opener(&cipher)};
    size_t size = nondet_size(), plain_bytes;
    struct sealed_stray stray;
    struct sealed_unit unit;

    ASSUME(size <= UINT16_MAX);
    uint8_t *in = any_bytes(size), *out = any_bytes(size);

    switch (nondet_u8()) {
    case 0:
        if (keyring_open_control(&k, in, size, out, &plain_bytes) == SEALED_GOOD) {
            SHOW(plain_bytes + SEAL_CONTROL_BYTES == size && plain_bytes >= TRAILER_BYTES);
            SHOW(keyring_is_ready(&k));
        }
        break;
    case 1:
        if (keyring_verify(&k, in, size, out, &stray) == SEALED_GOOD)
            SHOW(keyring_is_ready(&k) && stray.plain_bytes <= size);
        break;
    default:
        /* The landing has such a unit's trailer whole, and tells the size of the rest. */
        ASSUME(size >= TRAILER_BYTES + SEAL_UNIT_BYTES);
        if (keyring_look_at_unit(&k, in + size - TRAILER_BYTES, &unit) == SEALED_GOOD) {
            SHOW(keyring_is_ready(&k));
            size_t bytes = size - TRAILER_BYTES - SEAL_UNIT_BYTES;
            (void)keyring_open_unit(&k, &unit, in, bytes, out);
        }
    }
    REACHED();
}
