#include "listening.h"

#include "control.h"

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
                              const uint8_t *tail, size_t datagram_bytes,
                              uint8_t answer[TRAILER_BYTES], size_t *answer_bytes)
{
    struct hello hello;
    size_t tail_bytes = datagram_bytes < TRAILER_BYTES ? datagram_bytes : TRAILER_BYTES;
    const uint8_t *end = tail + tail_bytes;
    if (datagram_bytes == TRAILER_BYTES && hello_decode(tail, TRAILER_BYTES, &hello) == VERDICT_OK)
        return hear_hello(jar, peer, now, &hello, answer, answer_bytes);
    if (datagram_bytes < TAIL_BYTES || !datagram_is_foreign_hello(end[-1]))
        return LISTENING_DROPS;
    struct pairing echoed = datagram_tail_decode(end - TAIL_BYTES).pairing;
    if (echoed.tag == 0)
        return LISTENING_DROPS;
    version_answer_encode(answer, echoed);
    *answer_bytes = VERSION_ANSWER_BYTES;
    return LISTENING_ANSWERS;
}
