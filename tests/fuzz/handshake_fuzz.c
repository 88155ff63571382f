/* Both sides of a handshake as a script of calls, and somebody on the path who repeats, changes and
 * invents datagrams. The cipher is a fake; the bytes mean nothing. Invariants are checked after
 * each step, and that
 *
 *     a datagram is no longer than it may be, and is heard by its side if nothing was changed;
 *     what is dropped is counted, and has no other effect that I1 and I2 forbid;
 *     bytes of the second level are those that were written, in their order, and no others;
 *     no number is sealed twice;
 *     a connecting side that has ended hears only what is sealed, and is refused by nothing else;
 *     what is due is done once, and a side has only so much to say before time passes. */
#include "script.h"

#include "../support/fake_cipher.h"
#include "core/check.h"
#include "core/keys/handshake.h"

#include <string.h>

enum { POOL = 16, TAKES_MOST = 2 * HANDSHAKE_PIECES + 3 };

struct side {
    struct handshake handshake;
    struct fake_keys out, in;
    uint64_t sealed;  /* numbers below were */
    uint32_t written; /* bytes of the second level, */
    uint32_t read;    /* and those of the other side's that were read */
};

struct run {
    struct script script;
    instant now;
    struct side side[2];                 /* the connecting one first */
    uint8_t pool[POOL][HANDSHAKE_BYTES]; /* what crossed last */
    size_t size[POOL];
    uint32_t pooled;
    bool has_keys;
};

static uint8_t content(uint32_t side, uint32_t at)
{
    return (uint8_t)(side * 77 + at * 7 + at / 256);
}

static void log_number(void *context, uint64_t epoch, uint64_t number)
{
    struct side *side = context;
    CHECK(number >= side->sealed);
    CHECK(epoch == number >> SEAL_EPOCH_BITS);
    side->sealed = number + 1;
}

static void begin(struct run *r)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct side *side = &r->side[i];
        side->out = (struct fake_keys){.secret = 1 + i, .log = log_number, .context = side};
        side->in = (struct fake_keys){.secret = 2 - i};
        handshake_init(&side->handshake, i == 0, 11, 77, r->now);
    }
}

/* ---- the two sides */

static void write_bytes(struct run *r, uint32_t which)
{
    static const uint16_t sizes[] = {0, 1, 230, 1023, 1024, 1025, 5000, HANDSHAKE_ROOM};
    uint8_t bytes[HANDSHAKE_ROOM] = {0};
    struct side *side = &r->side[which];
    uint32_t shape = script_u8(&r->script);
    uint32_t count = sizes[shape % 8];
    enum handshake_level level = r->has_keys && (shape & 8) != 0;

    for (uint32_t i = 0; i < count; i++)
        bytes[i] = content(which, side->written + i);
    if (handshake_write(&side->handshake, r->now, level, bytes, count) &&
        level == HANDSHAKE_LEVEL_SECOND)
        side->written += count;
}

static void read_bytes(struct run *r, uint32_t which)
{
    struct side *side = &r->side[which];
    const uint8_t *bytes;
    (void)handshake_read(&side->handshake, HANDSHAKE_LEVEL_FIRST, &bytes);
    size_t count = handshake_read(&side->handshake, HANDSHAKE_LEVEL_SECOND, &bytes);
    CHECK(side->read + count <= r->side[1 - which].written);
    for (size_t i = 0; i < count; i++)
        CHECK(bytes[i] == content(1 - which, side->read + (uint32_t)i));
    side->read += (uint32_t)count;
}

static void check_datagram(const uint8_t *datagram, size_t size)
{
    struct handshake_datagram d;
    struct hello hello;
    size_t bytes;
    CHECK(size <= HANDSHAKE_BYTES);
    CHECK(handshake_decode(datagram, size, &d, &bytes) == VERDICT_OK ||
          hello_decode(datagram, size, &hello) == VERDICT_OK);
}

static bool take(struct run *r, uint32_t which)
{
    struct handshake *h = &r->side[which].handshake;
    uint8_t out[HANDSHAKE_BYTES];
    bool has = handshake_has_datagram(h);
    size_t size = handshake_take(h, out);
    CHECK(has == (size > 0));
    if (!has)
        return false;
    uint32_t at = r->pooled++ % POOL;
    check_datagram(out, size);
    memcpy(r->pool[at], out, size);
    r->size[at] = size;
    return true;
}

static void take_all(struct run *r, uint32_t which)
{
    for (int i = 0; take(r, which); i++)
        CHECK(i < TAKES_MOST);
}

static void give_keys(struct run *r)
{
    if (r->has_keys)
        return;
    r->has_keys = true;
    for (int i = 0; i < 2; i++)
        handshake_use_keys(&r->side[i].handshake, &fake_cipher, &r->side[i].out, &r->side[i].in);
}

static void do_rarely(struct run *r, uint32_t which)
{
    struct handshake *h = &r->side[which].handshake;
    switch (script_u8(&r->script)) {
    case 1:
        handshake_end(h);
        break;
    case 2:
        break;
    case 3:
        handshake_refuse(h);
        break;
    default:
        give_keys(r);
        break;
    }
}

/* ---- the path */

static void hear(struct run *r, uint32_t which, const uint8_t *datagram, size_t size)
{
    struct handshake *h = &r->side[which].handshake;
    uint64_t dropped = h->dropped, proven = h->proven;
    bool has_ended = h->phase == HANDSHAKE_ENDS;
    bool is_heard = handshake_hear(h, r->now, datagram, size);
    CHECK(h->dropped == dropped + !is_heard);
    CHECK(!has_ended || !is_heard || h->proven > proven);
}

/* What crossed, once or again, to either side. */
static void deliver(struct run *r, uint32_t which)
{
    uint32_t at = script_below(&r->script, POOL);
    if (at < r->pooled)
        hear(r, which, r->pool[at], r->size[at]);
}

/* The same with some bytes changed, or its end cut off. */
static void change(struct run *r, uint32_t which)
{
    uint8_t copy[HANDSHAKE_BYTES];
    uint32_t at = script_below(&r->script, POOL);
    uint32_t changes = script_below(&r->script, 4);
    if (at >= r->pooled)
        return;
    size_t size = r->size[at];
    memcpy(copy, r->pool[at], size);
    if (changes == 0)
        size = script_number(&r->script, 2) % (size + 1);
    for (uint32_t i = 0; i < changes; i++)
        copy[size - 1 - script_number(&r->script, 2) % size] ^= script_u8(&r->script);
    hear(r, which, copy, size);
}

static void invent(struct run *r, uint32_t which)
{
    uint8_t bytes[512];
    size_t count;
    const uint8_t *in = script_bytes(&r->script, script_u8(&r->script), &count);
    uint32_t shape = script_u8(&r->script);
    struct handshake_datagram d = {.tag = 11,
                                   .nonce = 77,
                                   .at = (uint16_t)(shape % 16 * HANDSHAKE_FRAGMENT),
                                   .cookie = script_u8(&r->script),
                                   .have = {script_u8(&r->script), script_u8(&r->script)},
                                   .flags = (uint8_t)(shape >> 4 & 7)};
    memcpy(bytes, in, count);
    handshake_encode(bytes + count, &d);
    hear(r, which, bytes, count + ((shape & 128) != 0 ? 0 : TRAILER_BYTES));
}

static void give_cookie(struct run *r)
{
    struct cookie_answer answer = {.pairing = {.tag = 11}, .nonce = 77, .cookie = 5};
    if (script_below(&r->script, 8) == 0)
        answer.nonce++;
    (void)handshake_on_cookie(&r->side[0].handshake, r->now, &answer);
}

static void pass_time(struct run *r, uint32_t which)
{
    struct handshake *h = &r->side[which].handshake;
    instant until = script_until(&r->script, r->now, handshake_deadline(h));
    bool has_ended = h->phase == HANDSHAKE_ENDS;
    if (until != NEVER && until > r->now)
        r->now = until;
    handshake_expire(h, r->now);
    CHECK(handshake_deadline(h) > r->now);
    CHECK(!has_ended || h->phase == HANDSHAKE_ENDS);
}

static void step(struct run *r)
{
    uint32_t call = script_u8(&r->script);
    uint32_t which = call >> 7;
    switch (call % 12) {
    case 0:
        write_bytes(r, which);
        break;
    case 1:
        read_bytes(r, which);
        break;
    case 2:
    case 3:
        take_all(r, which);
        break;
    case 4:
        (void)take(r, which);
        break;
    case 5:
    case 6:
        deliver(r, which);
        break;
    case 7:
        change(r, which);
        break;
    case 8:
        invent(r, which);
        break;
    case 9:
        pass_time(r, which);
        break;
    case 10:
        give_cookie(r);
        break;
    default:
        do_rarely(r, which);
        break;
    }
    handshake_check(&r->side[0].handshake);
    handshake_check(&r->side[1].handshake);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.script = script_of(in, size);
    run.now = SECOND;
    begin(&run);
    while (!script_is_over(&run.script))
        step(&run);
    read_bytes(&run, 0);
    read_bytes(&run, 1);
    return 0;
}
