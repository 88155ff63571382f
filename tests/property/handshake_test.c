/* A handshake's datagrams, from a seed: real ones, of which some are damaged. */
#include "../support/random.h"
#include "../support/suite.h"
#include "core/keys/handshake.h"

#include <stdlib.h>
#include <string.h>

static bool one_in(uint64_t *state, uint64_t n)
{
    return random_below(state, n) == 0;
}

/* Whatever is accepted of a handshake's datagrams encodes to the same bytes, and lies in bounds. */
TEST(handshake_decode__random, .is_random = true)
{
    uint8_t again[TRAILER_BYTES];
    uint64_t state = suite_seed(_i);
    uint32_t accepted = 0;
    for (int n = 0; n < 100000; n++) {
        size_t size = TRAILER_BYTES + (one_in(&state, 2) ? 0 : random_below(&state, 1200)),
               bytes = 0;
        uint8_t *got = malloc(size); /* of just its size, so that a sanitizer sees a step beyond */
        struct handshake_datagram d = {.tag = (uint32_t)random_below(&state, 3),
                                       .nonce = random_below(&state, 3),
                                       .cookie = random_next(&state),
                                       .at = (uint16_t)(random_below(&state, 16) * 1024),
                                       .flags = (uint8_t)random_below(&state, 8)};
        memset(got, 0, size);
        handshake_encode(got + size - TRAILER_BYTES, &d);
        if (one_in(&state, 4))
            got[size - 1 - random_below(&state, TRAILER_BYTES)] ^= (uint8_t)(1 << (n % 8));
        if (handshake_decode(got, size, &d, &bytes) == VERDICT_OK) {
            accepted++;
            handshake_encode(again, &d);
            ck_assert_mem_eq(again, got + size - TRAILER_BYTES, TRAILER_BYTES);
            ck_assert_uint_le(d.at + bytes, HANDSHAKE_ROOM);
            ck_assert_uint_le(bytes + TRAILER_BYTES, size);
        }
        free(got);
    }
    ck_assert_uint_gt(accepted, 1000);
}
