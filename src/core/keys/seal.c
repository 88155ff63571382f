#include "seal.h"

#include "core/check.h"
#include "core/number.h"

#include <string.h>

enum {
    SEQ_AT = 8,                            /* of the sequence number in a unit's trailer */
    FLAGS_AT = TRAILER_BYTES - 2,          /* of the flags in any */
    BOUND = SEAL_NUMBER_BYTES + TAIL_BYTES /* of control: what is not sealed */
};

/* ---- one stream ---- */

/* Of the number that was burnt last: the keys of the epochs before are forgotten. */
static uint64_t burnt_epoch(const struct sealer *s)
{
    return s->next == 0 ? 0 : (s->next - 1) >> s->epoch_bits;
}

bool sealer_seal(struct sealer *s, struct seal_text *text)
{
    CHECK(text->number >= s->next);
    uint64_t before = burnt_epoch(s);
    s->next = text->number + 1;
    text->epoch = text->number >> s->epoch_bits;
    if (text->epoch != before)
        s->cipher->forget(s->keys, text->epoch);
    return s->cipher->seal(s->keys, text);
}

void sealer_skip(struct sealer *s, uint64_t next)
{
    uint64_t before = burnt_epoch(s), epoch = next >> s->epoch_bits;
    if (next <= s->next)
        return;
    s->next = next;
    if (epoch == before)
        return;
    s->cipher->forget(s->keys, epoch);
    s->cipher->reach(s->keys, epoch);
}

static uint64_t newest_epoch(const struct opener *o)
{
    return o->end == 0 ? 0 : (o->end - 1) >> o->epoch_bits;
}

static bool is_seen(const struct opener *o, uint64_t number)
{
    return (o->seen[number % SEAL_WINDOW / 64] >> number % 64 & 1) != 0;
}

/* A stranger can name any number. So a key is made for the next epoch at most. */
bool opener_admits(const struct opener *o, uint64_t number)
{
    uint64_t epoch = number >> o->epoch_bits;
    if (number >= o->end)
        return epoch <= newest_epoch(o) + 1;
    return o->end - number <= SEAL_WINDOW && epoch + 1 >= newest_epoch(o) && !is_seen(o, number);
}

/* The window moves up: the numbers that come into it have not been seen. */
static void move_window(struct opener *o, uint64_t end)
{
    if (end - o->end >= SEAL_WINDOW)
        memset(o->seen, 0, sizeof o->seen);
    else
        for (uint64_t n = o->end; n < end; n++)
            o->seen[n % SEAL_WINDOW / 64] &= ~(UINT64_C(1) << n % 64);
    uint64_t before = newest_epoch(o);
    o->end = end;
    if (newest_epoch(o) != before)
        o->cipher->forget(o->keys, newest_epoch(o) - 1);
}

void opener_skip(struct opener *o, uint64_t end)
{
    uint64_t before = newest_epoch(o);
    if (end <= o->end)
        return;
    move_window(o, end);
    if (newest_epoch(o) != before)
        o->cipher->reach(o->keys, newest_epoch(o));
}

bool opener_verify(struct opener *o, struct seal_text *text)
{
    if (!opener_admits(o, text->number)) {
        o->replayed++;
        return false;
    }
    text->epoch = text->number >> o->epoch_bits;
    bool is_genuine = o->cipher->open(o->keys, text);
    o->forged += !is_genuine;
    return is_genuine;
}

bool opener_open(struct opener *o, struct seal_text *text)
{
    if (!opener_verify(o, text))
        return false;
    if (text->number >= o->end)
        move_window(o, text->number + 1);
    o->seen[text->number % SEAL_WINDOW / 64] |= UINT64_C(1) << text->number % 64;
    return true;
}

/* ---- sealing a burst ---- */

/* The text in one place: where it lies, or, if that is several, copied to `out`. */
static const uint8_t *gather(const struct iovec *pieces, uint32_t count, uint8_t *out)
{
    uint8_t *to = out;
    if (count == 1)
        return pieces[0].iov_base;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to, pieces[i].iov_base, pieces[i].iov_len);
        to += pieces[i].iov_len;
    }
    return out;
}

/* Its `bytes` bytes of data, in so many pieces, and behind them its trailer. */
static bool seal_unit(struct sealer *s, const struct iovec *pieces, uint32_t count, size_t bytes,
                      uint8_t *out)
{
    uint8_t *trailer = out + bytes + SEAL_TAG_BYTES;
    memcpy(trailer, pieces[count].iov_base, TRAILER_BYTES);
    uint64_t number = number_expand(wire_get_u32(trailer + SEQ_AT), s->next);
    trailer[FLAGS_AT] |= seal_epoch_flags(number, s->epoch_bits);
    struct seal_text text = {.number = number,
                             .bound = trailer,
                             .bound_bytes = TRAILER_BYTES,
                             .in = gather(pieces, count, out),
                             .bytes = bytes,
                             .out = out};
    return sealer_seal(s, &text);
}

/* The body of a probe of the path may be large; so everything is sealed where it is staged. */
static bool seal_control(struct sealer *s, const struct iovec *pieces, uint8_t *out)
{
    size_t bytes = pieces[0].iov_len + pieces[1].iov_len - TAIL_BYTES;
    const uint8_t *tail = (const uint8_t *)pieces[1].iov_base + pieces[1].iov_len - TAIL_BYTES;
    uint8_t *bound = out + bytes + SEAL_TAG_BYTES;
    if (pieces[0].iov_len > 0)
        memcpy(out, pieces[0].iov_base, pieces[0].iov_len);
    memcpy(out + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len - TAIL_BYTES);
    wire_put_u64(bound, s->next);
    memcpy(bound + SEAL_NUMBER_BYTES, tail, TAIL_BYTES);
    bound[BOUND - 2] |= seal_epoch_flags(s->next, s->epoch_bits);
    struct seal_text text = {.number = s->next,
                             .bound = bound,
                             .bound_bytes = BOUND,
                             .in = out,
                             .bytes = bytes,
                             .out = out};
    return sealer_seal(s, &text);
}

/* The last 32 bytes stay a piece of their own. Only a probe and a unit have a first piece. */
static void point(struct iovec *pieces, bool has_first, uint8_t *out, size_t bytes)
{
    size_t first = has_first ? bytes - TRAILER_BYTES : 0;
    pieces[0] = (struct iovec){.iov_base = first > 0 ? out : NULL, .iov_len = first};
    pieces[1] = (struct iovec){.iov_base = out + first, .iov_len = bytes - first};
}

bool keyring_seal(struct keyring *k, struct burst *burst, uint8_t *staging)
{
    uint32_t more = burst->is_control ? SEAL_CONTROL_BYTES : SEAL_UNIT_BYTES;
    uint8_t *out = staging;
    bool is_sealed = true;
    CHECK(burst->bytes + burst->datagrams * (size_t)more <= SEAL_STAGING);
    for (uint32_t i = 0; i < burst->datagrams; i++) {
        const struct iovec *pieces = &burst->iov[burst_first(burst, i)];
        uint32_t count = burst_first(burst, i + 1) - burst_first(burst, i) - 1;
        size_t bytes = burst_datagram_bytes(burst, i);
        bool has_first = pieces[0].iov_len > 0;
        is_sealed &= burst->is_control
                         ? seal_control(&k->control_out, pieces, out)
                         : seal_unit(&k->units_out, pieces, count, bytes - TRAILER_BYTES, out);
        point(&burst->iov[2 * i], has_first, out, bytes + more); /* these are read already */
        out += bytes + more;
    }
    burst->is_scattered = false;
    burst->segment += more;
    burst->bytes += burst->datagrams * more;
    burst->is_flat = true;
    return is_sealed;
}

/* ---- opening ---- */

/* Flags of the last ten bytes, which say which epoch the number is of. */
static bool is_of_epoch(uint8_t flags, uint64_t number, uint32_t epoch_bits)
{
    return (flags & SEAL_EPOCH_FLAGS) == seal_epoch_flags(number, epoch_bits);
}

static bool is_of_pairing(const struct keyring *k, const uint8_t tail[TAIL_BYTES])
{
    struct pairing pairing = datagram_tail_decode(tail).pairing;
    return keyring_is_ready(k) && pairing.session == k->pairing.session &&
           pairing.tag == k->pairing.tag;
}

/* What is done with a text that may be genuine. */
typedef bool (*opening)(struct opener *o, struct seal_text *text);

static enum sealed open_control(struct keyring *k, opening open, const uint8_t *datagram,
                                size_t size, uint8_t *out, struct sealed_stray *stray)
{
    struct opener *o = &k->control_in;
    if (size < TRAILER_BYTES + SEAL_CONTROL_BYTES)
        return SEALED_SHORT;
    size_t bytes = size - BOUND - SEAL_TAG_BYTES;
    const uint8_t *bound = datagram + bytes + SEAL_TAG_BYTES;
    uint8_t tail[TAIL_BYTES];
    memcpy(tail, bound + SEAL_NUMBER_BYTES, TAIL_BYTES);
    struct seal_text text = {.number = wire_get_u64(bound),
                             .bound = bound,
                             .bound_bytes = BOUND,
                             .in = datagram,
                             .bytes = bytes,
                             .out = out};
    if (!is_of_pairing(k, tail))
        return SEALED_FOREIGN;
    if (!is_of_epoch(tail[TAIL_BYTES - 2], text.number, o->epoch_bits)) {
        o->forged++;
        return SEALED_FORGED;
    }
    *stray = (struct sealed_stray){
        .number = text.number, .end = o->end, .plain_bytes = bytes + TAIL_BYTES};
    if (!open(o, &text))
        return SEALED_FORGED;
    tail[TAIL_BYTES - 2] &= (uint8_t)~SEAL_EPOCH_FLAGS;
    memcpy(out + bytes, tail, TAIL_BYTES);
    return SEALED_GOOD;
}

enum sealed keyring_open_control(struct keyring *k, const uint8_t *datagram, size_t size,
                                 uint8_t *out, size_t *plain_bytes)
{
    struct sealed_stray opened = {.plain_bytes = 0};
    enum sealed sealed = open_control(k, opener_open, datagram, size, out, &opened);
    *plain_bytes = opened.plain_bytes;
    return sealed;
}

static enum sealed verify_unit(struct keyring *k, const uint8_t *datagram, size_t size,
                               uint8_t *out, struct sealed_stray *stray)
{
    struct sealed_unit unit;
    if (size < TRAILER_BYTES + SEAL_UNIT_BYTES)
        return SEALED_SHORT;
    enum sealed sealed = keyring_look_at_unit(k, datagram + size - TRAILER_BYTES, &unit);
    if (sealed != SEALED_GOOD)
        return sealed;
    struct seal_text text = {.number = unit.number,
                             .bound = unit.wire,
                             .bound_bytes = TRAILER_BYTES,
                             .in = datagram,
                             .bytes = size - TRAILER_BYTES - SEAL_UNIT_BYTES,
                             .out = out};
    *stray = (struct sealed_stray){.is_unit = true, .number = unit.number, .end = k->units_in.end};
    return opener_verify(&k->units_in, &text) ? SEALED_GOOD : SEALED_FORGED;
}

enum sealed keyring_verify(struct keyring *k, const uint8_t *datagram, size_t size, uint8_t *out,
                           struct sealed_stray *stray)
{
    bool is_unit = size > 0 && datagram_type(datagram[size - 1]) == DATAGRAM_UNIT;
    return is_unit ? verify_unit(k, datagram, size, out, stray)
                   : open_control(k, opener_verify, datagram, size, out, stray);
}

enum sealed keyring_look_at_unit(const struct keyring *k, const uint8_t trailer[TRAILER_BYTES],
                                 struct sealed_unit *unit)
{
    const struct opener *o = &k->units_in;
    if (!is_of_pairing(k, trailer + TAIL_AT))
        return SEALED_FOREIGN;
    memcpy(unit->wire, trailer, TRAILER_BYTES);
    memcpy(unit->plain, trailer, TRAILER_BYTES);
    unit->plain[FLAGS_AT] &= (uint8_t)~SEAL_EPOCH_FLAGS;
    unit->number = number_expand(wire_get_u32(trailer + SEQ_AT), o->end);
    bool is_right = is_of_epoch(trailer[FLAGS_AT], unit->number, o->epoch_bits);
    return is_right ? SEALED_GOOD : SEALED_FORGED;
}

bool keyring_open_unit(struct keyring *k, const struct sealed_unit *unit, const uint8_t *in,
                       size_t bytes, uint8_t *out)
{
    struct seal_text text = {.number = unit->number,
                             .bound = unit->wire,
                             .bound_bytes = TRAILER_BYTES,
                             .in = in,
                             .bytes = bytes,
                             .out = out};
    uint64_t forged = k->units_in.forged;
    if (opener_open(&k->units_in, &text))
        return true;
    if (k->units_in.forged != forged)
        memset(out, 0, bytes); /* a replayed one has not written anything */
    return false;
}
