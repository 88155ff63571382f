/* A handshake under way, of either side: the machine that carries its bytes (core/keys/handshake.h)
 * and TLS, which gives them a meaning (keys/tls.h). Who has one hears for it, sends for it, and
 * keeps its time.
 *
 *     zcrp_connect    the connection's sender has one, until its peer has shown that it is through
 *     zcrp_listen     the listener has one for each caller, until that has shown that it has the
 *                     key
 *     entities alone  a sender as zcrp_connect, a receiver as zcrp_listen, for one caller */
#ifndef ZCRP_HANDSHAKE_GREETING_H
#define ZCRP_HANDSHAKE_GREETING_H

#include "core/keys/handshake.h"
#include "keys/tls.h"

/* Who began a handshake, and does not go on with it, gives way to others after this. */
#define GREETING_PATIENCE SECOND

/* A host whose handshake has failed waits for so long, in the long run, before the next one. */
#define HANDSHAKE_PAUSE (50 * MILLISECOND)

struct greeting {
    struct handshake handshake;
    struct tls *tls;
    enum tls_verdict verdict;
    instant began;
};

/* What a handshake ends with: the keys of both halves of a connection, and who the peer is. All
 * zero: nothing. */
struct admission {
    struct keyring sender, receiver;
    char identity[ZCRP_KEYS_IDENTITY_MOST + 1];
};

/* The side that connects has a tag and a nonce of its own; the other one the caller's. NULL: no
 * memory. */
struct greeting *greeting_create(struct zcrp_keys *keys, bool is_connecting, uint32_t tag,
                                 uint64_t nonce);
void greeting_destroy(struct greeting *g);

/* Hears a datagram of the handshake, or a cookie. True if the handshake has come to its end with
 * it, well or not: `verdict` says which. */
bool greeting_hear(struct greeting *g, instant now, const uint8_t *datagram, size_t size);

/* Has the other side refused, or this one? */
static inline bool greeting_has_failed(const struct greeting *g)
{
    return g->handshake.phase == HANDSHAKE_REFUSED;
}

/* After TLS_DONE. NULL: no memory. */
struct admission *greeting_admit(const struct greeting *g);

/* One that is empty. NULL: no memory. */
struct admission *admission_create(void);

/* Wipes the keys: it is empty again. Wipes and frees it; NULL is fine. */
void admission_clear(struct admission *admission);
void admission_destroy(struct admission *admission);

/* All that `from` has goes to `to`, which is empty; `from` is freed. */
void admission_move(struct admission *to, struct admission *from);

#endif
