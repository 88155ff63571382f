/* What a socket that listens for its peer does with a datagram: it answers hellos with cookies, and
 * knows the one that brings a cookie back. It keeps nothing: no list, no state, no timer.
 *
 *     hello, no cookie or a wrong one    ANSWERS with a cookie, as many bytes as came
 *     hello of another version           ANSWERS with this version, ten bytes
 *     hello with a good cookie           ACCEPTS: a receiver takes the same datagram in
 *     anything else                      DROPS                                                  */
#ifndef ZCRP_CORE_LISTENING_H
#define ZCRP_CORE_LISTENING_H

#include "cookie.h"

enum listening {
    LISTENING_DROPS,
    LISTENING_ANSWERS,
    LISTENING_ACCEPTS,
};

/* Judges a datagram from `peer` (cookie.h), whose last bytes, up to TRAILER_BYTES, are at `tail`.
 * With ANSWERS `*answer_bytes` bytes of `answer` are to be sent to it. Cannot fail. */
enum listening listening_hear(const struct cookie_jar *jar, uint64_t peer, instant now,
                              const uint8_t *tail, size_t datagram_bytes,
                              uint8_t answer[TRAILER_BYTES], size_t *answer_bytes);

#endif
