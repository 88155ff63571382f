/* The window of an opener (seal.h), against anybody: it opens each number at most once (I2),
 * nothing but a counter changes before the tag has been verified (I3), and a number of the window
 * that was not opened still can be. The opener before the call is any of which this is true of one
 * number, x, which is any: so it holds for any number of calls.
 *
 * bound: any numbers below 2^62; a window of 128 that moves by 4 at most, or all of it
 * sources: core/keys/seal.c core/wire/datagram.c
 * smaller: core/keys/seal.h SEAL_WINDOW 128
 * unwind: 6
 */
#include "proof.h"

#include "core/keys/seal.h"

static uint64_t newest; /* epoch, before the call */

/* Any text may be genuine. A stranger has no key made but of the next epoch. */
static bool open_any(void *keys, const struct seal_text *text)
{
    (void)keys;
    SHOW(text->epoch <= newest + 1 && text->epoch + 1 >= newest);
    return nondet_bool();
}

static void forget(void *keys, uint64_t epoch)
{
    (void)keys;
    SHOW(epoch < UINT64_MAX);
}

static void reach(void *keys, uint64_t epoch)
{
    (void)keys, (void)epoch;
}

static bool is_seen(const struct opener *o, uint64_t number)
{
    return (o->seen[number % SEAL_WINDOW / 64] >> number % 64 & 1) != 0;
}

/* In the window exactly what was opened has been seen, and nothing was opened above it. */
static bool holds(const struct opener *o, uint64_t x, bool is_opened)
{
    if (x >= o->end)
        return !is_opened;
    return o->end - x > SEAL_WINDOW || is_seen(o, x) == is_opened;
}

static void show(uint32_t epoch_bits)
{
    static const struct cipher cipher = {.open = open_any, .forget = forget, .reach = reach};
    const uint64_t most = UINT64_C(1) << 62;
    uint64_t x = nondet_u64(), seen[SEAL_WINDOW / 64];
    bool was_opened = nondet_bool(), is_opened = was_opened, is_remembered = true;
    struct opener o = {.cipher = &cipher,
                       .epoch_bits = epoch_bits,
                       .end = nondet_u64(),
                       .forged = any_below(UINT32_MAX),
                       .replayed = any_below(UINT32_MAX)};
    struct seal_text text = {.number = nondet_u64()};

    for (uint32_t i = 0; i < SEAL_WINDOW / 64; i++)
        o.seen[i] = seen[i];
    /* An epoch more takes a genuine datagram, and has 2^4 numbers at least: nobody lives for 2^58
     * of them. */
    ASSUME(o.end <= most && text.number < most);
    ASSUME(text.number < o.end + 4 || text.number >= o.end + SEAL_WINDOW); /* the bound */
    ASSUME(holds(&o, x, was_opened));
    newest = o.end == 0 ? 0 : (o.end - 1) >> o.epoch_bits;

    const uint64_t end = o.end, counted = o.forged + o.replayed;
    const bool is_admitted = opener_admits(&o, text.number);

    switch (nondet_u8()) {
    case 0:
        is_remembered = opener_open(&o, &text);
        if (is_remembered && text.number == x) {
            SHOW(!was_opened);
            is_opened = true;
        }
        SHOW(!is_remembered || is_admitted);
        SHOW(is_remembered || o.forged + o.replayed == counted + 1);
        break;
    case 1:
        SHOW(opener_verify(&o, &text) ? is_admitted : o.forged + o.replayed == counted + 1);
        is_remembered = false;
        break;
    default:
        opener_skip(&o, text.number);
        SHOW(o.end == (text.number > end ? text.number : end));
    }
    if (!is_remembered) {
        uint32_t i = any_below(SEAL_WINDOW / 64);
        SHOW(o.end == end && o.seen[i] == seen[i]);
    }
    SHOW(holds(&o, x, is_opened));
    /* Of the newest epochs, what is in the window and was not opened is admitted. */
    bool is_recent = x < o.end && o.end - x <= SEAL_WINDOW &&
                     (x >> o.epoch_bits) + 1 >= (o.end - 1) >> o.epoch_bits;
    SHOW(!is_recent || opener_admits(&o, x) == !is_opened);
    REACHED();
}

/* Of long epochs, and of short ones, as tests have. */
int main(void)
{
    if (nondet_bool())
        show(SEAL_EPOCH_BITS);
    else
        show(4);
}
