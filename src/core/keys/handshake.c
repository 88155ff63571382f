#include "handshake.h"

#include "core/check.h"
#include "core/number.h"

#include <string.h>

static const duration FIRST_REPEAT = 50 * MILLISECOND;
static const duration SLOWEST_REPEAT = 500 * MILLISECOND;
/* A word that nobody has proved may be a stranger's. The other side's own comes before that. */
static const duration REFUSAL_DELAY = 500 * MILLISECOND;
/* What was under way when the listening side was through has come by then. What the connecting side
 * repeats brings another cookie long before the second one. */
static const duration DOUBT_LEAST = SECOND;
static const duration DOUBT_MOST = 5 * SECOND;

enum {
    COOKIE_AT = 8,
    PLACE_AT = 16,
    HAVE_AT = 18,
    KNOWN_FLAGS = HANDSHAKE_SECOND | HANDSHAKE_ANSWERS | HANDSHAKE_REFUSES,
};

/* ---- the datagram ---- */

void handshake_encode(uint8_t out[TRAILER_BYTES], const struct handshake_datagram *d)
{
    wire_put_u64(out, d->nonce);
    wire_put_u64(out + COOKIE_AT, d->cookie);
    wire_put_u16(out + PLACE_AT, d->at);
    wire_put_u16(out + HAVE_AT, d->have[0]);
    wire_put_u16(out + HAVE_AT + 2, d->have[1]);
    datagram_tail_encode(out + TAIL_AT, (struct pairing){.tag = d->tag}, d->flags,
                         DATAGRAM_HANDSHAKE);
}

static bool is_legal(const struct handshake_datagram *d, uint32_t session, size_t bytes)
{
    bool is_refusal = (d->flags & HANDSHAKE_REFUSES) != 0;
    if (session != 0 || d->tag == 0 || d->nonce == 0 || (d->flags & ~KNOWN_FLAGS) != 0)
        return false;
    if (bytes > HANDSHAKE_FRAGMENT || d->at % HANDSHAKE_FRAGMENT != 0 || d->at >= HANDSHAKE_ROOM)
        return false;
    return !is_refusal || bytes == 0;
}

enum verdict handshake_decode(const uint8_t *in, size_t size, struct handshake_datagram *d,
                              size_t *bytes)
{
    const uint8_t *t = datagram_trailer(in, size);
    if (t == NULL)
        return VERDICT_SHORT;
    enum verdict verdict = datagram_verdict(t, size, DATAGRAM_HANDSHAKE, DATAGRAM_HANDSHAKE);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(t + TAIL_AT);
    *d = (struct handshake_datagram){
        .tag = tail.pairing.tag,
        .nonce = wire_get_u64(t),
        .cookie = wire_get_u64(t + COOKIE_AT),
        .at = wire_get_u16(t + PLACE_AT),
        .have = {wire_get_u16(t + HAVE_AT), wire_get_u16(t + HAVE_AT + 2)},
        .flags = tail.flags,
    };
    size_t overhead = TRAILER_BYTES + ((d->flags & HANDSHAKE_SECOND) ? SEAL_TAG_BYTES : 0);
    if (size < overhead)
        return VERDICT_SHORT;
    *bytes = size - overhead;
    return is_legal(d, tail.pairing.session, *bytes) ? VERDICT_OK : VERDICT_MALFORMED;
}

bool handshake_has_cookie(const struct cookie_jar *jar, uint64_t peer, instant now,
                          const uint8_t *datagram, size_t size)
{
    struct handshake_datagram d;
    size_t bytes;
    if (handshake_decode(datagram, size, &d, &bytes) != VERDICT_OK ||
        (d.flags & (HANDSHAKE_ANSWERS | HANDSHAKE_SECOND)) != 0)
        return false;
    const struct cookie_owner owner = {.peer = peer, .nonce = d.nonce, .pairing = {.tag = d.tag}};
    return cookie_is_good(jar, &owner, now, d.cookie);
}

bool handshake_disown(const struct cookie_jar *jar, uint64_t peer, instant now,
                      const struct handshake_datagram *d, uint8_t out[TRAILER_BYTES])
{
    const struct cookie_owner owner = {.peer = peer, .nonce = d->nonce, .pairing = {.tag = d->tag}};
    const struct cookie_answer answer = {
        .pairing = owner.pairing, .nonce = d->nonce, .cookie = cookie_make(jar, &owner, now)};
    (void)cookie_answer_encode(out, TRAILER_BYTES, &answer);
    return d->flags == HANDSHAKE_SECOND;
}

bool handshake_refuse_hello(const uint8_t *hello, size_t size, uint8_t out[TRAILER_BYTES])
{
    struct hello h;
    if (hello_decode(hello, size, &h) != VERDICT_OK)
        return false;
    const struct handshake_datagram d = {
        .tag = h.pairing.tag, .nonce = h.nonce, .flags = HANDSHAKE_ANSWERS | HANDSHAKE_REFUSES};
    handshake_encode(out, &d);
    return true;
}

void handshake_put_off(const struct handshake_datagram *d, uint8_t out[TRAILER_BYTES])
{
    const struct handshake_datagram answer = {
        .tag = d->tag, .nonce = d->nonce, .flags = HANDSHAKE_ANSWERS};
    handshake_encode(out, &answer);
}

/* ---- streams ---- */

/* Bytes that are there without a gap. */
static uint32_t there(const struct handshake_in *in)
{
    uint32_t i = 0;
    while (i < HANDSHAKE_PIECES - 1 && in->piece[i] == HANDSHAKE_FRAGMENT)
        i++;
    return i * HANDSHAKE_FRAGMENT + in->piece[i];
}

bool handshake_write(struct handshake *h, instant now, enum handshake_level level,
                     const uint8_t *bytes, size_t count)
{
    struct handshake_out *out = &h->out[level];
    if (count > HANDSHAKE_ROOM - out->written)
        return false;
    memcpy(out->bytes + out->written, bytes, count);
    out->next = (uint32_t)lesser(out->next, out->written / HANDSHAKE_FRAGMENT * HANDSHAKE_FRAGMENT);
    out->written += (uint32_t)count;
    h->timer = now + FIRST_REPEAT;
    h->repeats = 0;
    return true;
}

size_t handshake_read(struct handshake *h, enum handshake_level level, const uint8_t **bytes)
{
    struct handshake_in *in = &h->in[level];
    size_t count = there(in) - in->read;
    *bytes = in->bytes + in->read;
    in->read += (uint32_t)count;
    return count;
}

/* The first piece from `next` on that the other side does not have whole; false if it has all. */
static bool next_piece(const struct handshake_out *out, uint32_t *at, uint32_t *bytes)
{
    uint32_t from = out->next;
    while (from < out->written) {
        uint32_t end = (uint32_t)lesser(from + HANDSHAKE_FRAGMENT, out->written);
        if (end > out->acknowledged) {
            *at = from;
            *bytes = end - from;
            return true;
        }
        from = end;
    }
    return false;
}

/* ---- life ---- */

void handshake_init(struct handshake *h, bool is_connecting, uint32_t tag, uint64_t nonce,
                    instant now)
{
    *h = (struct handshake){.is_connecting = is_connecting,
                            .tag = tag,
                            .nonce = nonce,
                            .phase = is_connecting ? HANDSHAKE_ASKS : HANDSHAKE_TALKS,
                            .is_hello_due = is_connecting,
                            .timer = is_connecting ? now + FIRST_REPEAT : NEVER,
                            .refusal = NEVER,
                            .doubted = NEVER};
}

/* The other side says that it does not know this handshake, which has ended for this side. */
static void note_doubt(struct handshake *h, instant now)
{
    bool is_first = h->doubted == NEVER || now - h->doubted > DOUBT_MOST;
    h->is_forgotten |= !is_first && now - h->doubted >= DOUBT_LEAST;
    if (is_first)
        h->doubted = now;
}

bool handshake_on_cookie(struct handshake *h, instant now, const struct cookie_answer *answer)
{
    bool is_ours =
        answer->nonce == h->nonce && answer->pairing.tag == h->tag && answer->pairing.session == 0;
    if (is_ours && h->phase == HANDSHAKE_ENDS) {
        note_doubt(h, now);
        return false;
    }
    if (!is_ours || h->phase != HANDSHAKE_ASKS) {
        h->dropped++;
        return false;
    }
    h->cookie = answer->cookie;
    h->phase = HANDSHAKE_TALKS;
    h->is_hello_due = false;
    h->timer = now + FIRST_REPEAT;
    h->repeats = 0;
    return true;
}

void handshake_use_keys(struct handshake *h, const struct cipher *cipher, void *out, void *in)
{
    h->second_out = (struct sealer){.cipher = cipher, .keys = out, .epoch_bits = SEAL_EPOCH_BITS};
    h->second_in = (struct opener){.cipher = cipher, .keys = in, .epoch_bits = SEAL_EPOCH_BITS};
}

void handshake_end(struct handshake *h)
{
    h->phase = h->is_connecting ? HANDSHAKE_ENDS : HANDSHAKE_OVER;
    h->refusal = NEVER; /* it was not proven, and the other side can prove its own */
}

void handshake_refuse(struct handshake *h)
{
    h->phase = HANDSHAKE_REFUSED;
    h->is_refusal_due = true;
}

/* ---- hearing ---- */

static bool is_ours(const struct handshake *h, const struct handshake_datagram *d)
{
    bool is_answer = (d->flags & HANDSHAKE_ANSWERS) != 0;
    return d->nonce == h->nonce && d->tag == h->tag && is_answer == h->is_connecting &&
           h->phase != HANDSHAKE_ASKS;
}

/* Opens the bytes in front of the trailer to `out`, if they are sealed. */
static bool open_bytes(struct handshake *h, const uint8_t *datagram, size_t bytes,
                       const struct handshake_datagram *d, uint8_t *out)
{
    struct seal_text text = {.number = d->cookie,
                             .bound = datagram + bytes + SEAL_TAG_BYTES,
                             .bound_bytes = TRAILER_BYTES,
                             .in = datagram,
                             .bytes = bytes,
                             .out = out};
    return h->second_in.cipher != NULL && opener_open(&h->second_in, &text);
}

/* Enters bytes; true if some of them are new. */
static bool enter_bytes(struct handshake_in *in, uint32_t at, const uint8_t *bytes, size_t count)
{
    uint16_t *piece = &in->piece[at / HANDSHAKE_FRAGMENT];
    if (count <= *piece)
        return false;
    memcpy(in->bytes + at + *piece, bytes + *piece, count - *piece);
    *piece = (uint16_t)count;
    return true;
}

/* The first level says only what is there of itself: it proves nothing, and a stranger that reads
 * the path could silence this side. */
static bool note_have(struct handshake *h, const struct handshake_datagram *d)
{
    int levels = (d->flags & HANDSHAKE_SECOND) ? HANDSHAKE_LEVELS : HANDSHAKE_LEVEL_SECOND;
    bool is_news = false;
    for (int level = 0; level < levels; level++) {
        struct handshake_out *out = &h->out[level];
        if (d->have[level] <= out->acknowledged || d->have[level] > out->written)
            continue;
        out->acknowledged = d->have[level];
        is_news = true;
    }
    return is_news;
}

static void on_refusal(struct handshake *h, instant now, bool is_proven)
{
    if (is_proven)
        h->phase = HANDSHAKE_REFUSED;
    else if (h->refusal == NEVER)
        h->refusal = now + REFUSAL_DELAY;
}

static void on_bytes(struct handshake *h, const struct handshake_datagram *d, const uint8_t *bytes,
                     size_t count)
{
    bool is_second = (d->flags & HANDSHAKE_SECOND) != 0;
    if (h->phase == HANDSHAKE_REFUSED) {
        h->is_refusal_due = true;
        return;
    }
    bool is_news = note_have(h, d);
    is_news |= enter_bytes(&h->in[is_second], d->at, bytes, count);
    h->is_put_off = h->is_connecting && count == 0 && there(&h->in[HANDSHAKE_LEVEL_FIRST]) == 0;
    if (!is_news)
        return;
    h->repeats = 0;
    h->refusal = NEVER;
}

/* A side that connects and has ended knows the other one, which seals whatever it still says. */
static bool hears(const struct handshake *h, bool is_second)
{
    return h->phase != HANDSHAKE_OVER && (is_second || h->phase != HANDSHAKE_ENDS);
}

bool handshake_hear(struct handshake *h, instant now, const uint8_t *datagram, size_t size)
{
    struct handshake_datagram d;
    uint8_t opened[HANDSHAKE_FRAGMENT];
    const uint8_t *bytes = datagram;
    size_t count;
    if (handshake_decode(datagram, size, &d, &count) != VERDICT_OK || !is_ours(h, &d)) {
        h->dropped++;
        return false;
    }
    bool is_second = (d.flags & HANDSHAKE_SECOND) != 0;
    bool is_proven = is_second && open_bytes(h, datagram, count, &d, opened);
    h->proven += is_proven;
    if (!hears(h, is_second) || is_proven != is_second) {
        h->dropped++;
        return false;
    }
    bytes = is_second ? opened : datagram;
    if ((d.flags & HANDSHAKE_REFUSES) != 0)
        on_refusal(h, now, is_second);
    else
        on_bytes(h, &d, bytes, count);
    return true;
}

/* ---- sending ---- */

static size_t take_hello(struct handshake *h, uint8_t out[HANDSHAKE_BYTES])
{
    const struct hello hello = {.pairing = {.tag = h->tag}, .nonce = h->nonce};
    h->is_hello_due = false;
    return hello_encode(out, HANDSHAKE_BYTES, &hello);
}

/* The bytes are in front of the trailer already, and are sealed where they are. */
static size_t finish(struct handshake *h, struct handshake_datagram *d, uint8_t *out, size_t count)
{
    bool is_second = (d->flags & HANDSHAKE_SECOND) != 0;
    uint8_t *trailer = out + count + (is_second ? SEAL_TAG_BYTES : 0);
    d->tag = h->tag;
    d->nonce = h->nonce;
    d->flags |= h->is_connecting ? 0 : HANDSHAKE_ANSWERS;
    d->cookie = is_second ? h->second_out.next : h->cookie;
    for (int level = 0; level < HANDSHAKE_LEVELS; level++)
        d->have[level] = (uint16_t)there(&h->in[level]);
    handshake_encode(trailer, d);
    struct seal_text text = {.number = d->cookie,
                             .bound = trailer,
                             .bound_bytes = TRAILER_BYTES,
                             .in = out,
                             .bytes = count,
                             .out = out};
    if (is_second && !sealer_seal(&h->second_out, &text))
        return 0;
    return (size_t)(trailer - out) + TRAILER_BYTES;
}

static size_t take_refusal(struct handshake *h, uint8_t out[HANDSHAKE_BYTES])
{
    struct handshake_datagram d = {.flags = HANDSHAKE_REFUSES};
    if (h->second_out.cipher != NULL)
        d.flags |= HANDSHAKE_SECOND;
    h->is_refusal_due = false;
    return finish(h, &d, out, 0);
}

size_t handshake_take(struct handshake *h, uint8_t out[HANDSHAKE_BYTES])
{
    uint32_t at, bytes;
    if (h->is_hello_due)
        return take_hello(h, out);
    if (h->is_refusal_due)
        return take_refusal(h, out);
    if (h->phase != HANDSHAKE_TALKS && h->phase != HANDSHAKE_ENDS)
        return 0;
    for (int level = 0; level < HANDSHAKE_LEVELS; level++) {
        struct handshake_out *stream = &h->out[level];
        if (!next_piece(stream, &at, &bytes))
            continue;
        struct handshake_datagram d = {
            .at = (uint16_t)at, .flags = level == HANDSHAKE_LEVEL_SECOND ? HANDSHAKE_SECOND : 0};
        memcpy(out, stream->bytes + at, bytes);
        stream->next = at + bytes;
        return finish(h, &d, out, bytes);
    }
    return 0;
}

bool handshake_has_datagram(const struct handshake *h)
{
    uint32_t at, bytes;
    bool is_behind = false;
    for (int level = 0; level < HANDSHAKE_LEVELS; level++)
        is_behind |= next_piece(&h->out[level], &at, &bytes);
    bool talks = h->phase == HANDSHAKE_TALKS || h->phase == HANDSHAKE_ENDS;
    return h->is_hello_due || h->is_refusal_due || (talks && is_behind);
}

/* ---- time ---- */

/* Is anything of this side's not with the other one yet, as far as is known? */
static bool is_waiting(const struct handshake *h)
{
    if (h->phase == HANDSHAKE_ASKS || h->phase == HANDSHAKE_ENDS)
        return true;
    bool is_behind = false;
    for (int level = 0; level < HANDSHAKE_LEVELS; level++)
        is_behind |= h->out[level].acknowledged < h->out[level].written;
    return h->phase == HANDSHAKE_TALKS && is_behind;
}

instant handshake_deadline(const struct handshake *h)
{
    instant repeat = is_waiting(h) ? h->timer : NEVER;
    return h->phase == HANDSHAKE_TALKS ? instant_earlier(repeat, h->refusal) : repeat;
}

void handshake_expire(struct handshake *h, instant now)
{
    if (handshake_deadline(h) > now)
        return;
    if (h->refusal <= now) {
        h->phase = HANDSHAKE_REFUSED;
        return;
    }
    duration interval = FIRST_REPEAT << lesser(++h->repeats, 8);
    h->timer = now + (interval < SLOWEST_REPEAT ? interval : SLOWEST_REPEAT);
    h->is_hello_due = h->phase == HANDSHAKE_ASKS;
    for (int level = 0; level < HANDSHAKE_LEVELS; level++)
        h->out[level].next = 0;
}

void handshake_check(const struct handshake *h)
{
    for (int level = 0; level < HANDSHAKE_LEVELS; level++) {
        CHECK(h->out[level].acknowledged <= h->out[level].written);
        CHECK(h->out[level].written <= HANDSHAKE_ROOM);
        CHECK(h->in[level].read <= there(&h->in[level]));
        CHECK(there(&h->in[level]) <= HANDSHAKE_ROOM);
    }
    bool has_ended =
        h->phase == HANDSHAKE_ENDS || h->phase == HANDSHAKE_OVER || h->phase == HANDSHAKE_REFUSED;
    CHECK(h->doubted == NEVER || (h->is_connecting && has_ended));
    CHECK(!h->is_forgotten || h->doubted != NEVER);
}
