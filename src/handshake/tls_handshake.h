/* A handshake under way, of either side: the machine that carries its bytes (core/keys/handshake.h)
 * and TLS, which gives them a meaning (keys/tls.h). Its owner hears for it, sends for it, and
 * keeps its time.
 *
 *     connecting side   the sender has one (link/keyed.h), until its peer shows that it is through
 *     listening side    one for each caller (pending.h), until that shows that it has the key */
#ifndef ZCRP_HANDSHAKE_TLS_HANDSHAKE_H
#define ZCRP_HANDSHAKE_TLS_HANDSHAKE_H

#include "core/keys/handshake.h"
#include "keys/tls.h"

struct tls_handshake {
    struct handshake machine;
    struct tls *tls;
    enum tls_verdict verdict;
    instant since; /* it began; or, on the connecting side, it had its keys */
};

/* What a handshake ends with: the keys of both halves of a connection, and who the peer is. All
 * zero: nothing. */
struct session_keys {
    struct keyring sender, receiver;
    char identity[ZCRP_KEYS_IDENTITY_MOST + 1];
};

/* The side that connects has a tag and a nonce of its own; the other one the caller's. NULL: no
 * memory. */
struct tls_handshake *tls_handshake_create(struct zcrp_keys *keys, bool is_connecting, uint32_t tag,
                                           uint64_t nonce);
void tls_handshake_destroy(struct tls_handshake *h);

/* Hears a datagram of the handshake, or a cookie. True if the handshake has come to its end with
 * it, well or not: `verdict` says which. */
bool tls_handshake_hear(struct tls_handshake *h, instant now, const uint8_t *datagram, size_t size);

/* Has the other side refused, or this one? */
static inline bool tls_handshake_has_failed(const struct tls_handshake *h)
{
    return h->machine.phase == HANDSHAKE_REFUSED;
}

/* After TLS_DONE. NULL: no memory. */
struct session_keys *tls_handshake_make_keys(const struct tls_handshake *h);

/* One that is empty. NULL: no memory. */
struct session_keys *session_keys_create(void);

/* Wipes the keys: it is empty again. Wipes and frees it; NULL is fine. */
void session_keys_clear(struct session_keys *k);
void session_keys_destroy(struct session_keys *k);

/* All that `from` has goes to `to`, which is empty; `from` is freed. */
void session_keys_move(struct session_keys *to, struct session_keys *from);

#endif
