#include "cookie.h"

#include "control.h"
#include "wire.h"

enum { OWNER_BYTES = 8 + 8 + 4 + 4 + 8 };

static uint64_t cookie_of(const struct cookie_jar *jar, const struct cookie_owner *owner,
                          uint64_t slot)
{
    uint8_t in[OWNER_BYTES];
    wire_put_u64(in, owner->peer);
    wire_put_u64(in + 8, owner->nonce);
    wire_put_u32(in + 16, owner->pairing.tag);
    wire_put_u32(in + 20, owner->pairing.session);
    wire_put_u64(in + 24, slot);
    uint64_t cookie = jar->hash(jar->key, in, sizeof in);
    return cookie != 0 ? cookie : 1;
}

static uint64_t slot_of(instant now)
{
    return (uint64_t)(now / COOKIE_SLOT);
}

uint64_t cookie_make(const struct cookie_jar *jar, const struct cookie_owner *owner, instant now)
{
    return cookie_of(jar, owner, slot_of(now));
}

bool cookie_is_good(const struct cookie_jar *jar, const struct cookie_owner *owner, instant now,
                    uint64_t cookie)
{
    uint64_t slot = slot_of(now);
    return cookie == cookie_of(jar, owner, slot) || cookie == cookie_of(jar, owner, slot - 1);
}

/* ---- listening ---- */

static size_t give_cookie(const struct cookie_jar *jar, const struct cookie_owner *owner,
                          instant now, uint8_t answer[TRAILER_BYTES])
{
    const struct cookie_answer cookie = {
        .pairing = owner->pairing, .nonce = owner->nonce, .cookie = cookie_make(jar, owner, now)};
    return cookie_answer_encode(answer, TRAILER_BYTES, &cookie);
}

static enum listening hear_hello(const struct cookie_jar *jar, uint64_t peer, instant now,
                                 const struct hello *hello, uint8_t answer[TRAILER_BYTES],
                                 size_t *answer_bytes)
{
    struct cookie_owner owner = {
        .peer = peer, .nonce = hello->nonce, .pairing = {.tag = hello->pairing.tag}};
    if (hello->nonce == 0)
        return LISTENING_DROPS; /* of a pairing, and there is none */
    if (hello->pairing.session == 0 && cookie_is_good(jar, &owner, now, hello->cookie))
        return LISTENING_ACCEPTS;
    *answer_bytes = give_cookie(jar, &owner, now, answer);
    return LISTENING_ANSWERS;
}

enum listening listening_hear(const struct cookie_jar *jar, uint64_t peer, instant now,
                              const uint8_t *datagram, size_t size, uint8_t answer[TRAILER_BYTES],
                              size_t *answer_bytes)
{
    struct hello hello;
    const uint8_t *end = datagram + size;
    if (size == TRAILER_BYTES && hello_decode(datagram, size, &hello) == VERDICT_OK)
        return hear_hello(jar, peer, now, &hello, answer, answer_bytes);
    if (size < TAIL_BYTES || !datagram_is_foreign_hello(end[-1]))
        return LISTENING_DROPS;
    struct pairing echoed = datagram_tail_decode(end - TAIL_BYTES).pairing;
    if (echoed.tag == 0)
        return LISTENING_DROPS;
    version_answer_encode(answer, echoed);
    *answer_bytes = VERSION_ANSWER_BYTES;
    return LISTENING_ANSWERS;
}
