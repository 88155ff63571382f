#include "tls_handshake.h"

#include "platform/system.h"

#include <stdlib.h>
#include <string.h>

struct tls_handshake *tls_handshake_create(struct zcrp_keys *keys, bool is_connecting, uint32_t tag,
                                           uint64_t nonce)
{
    struct tls_handshake *h = malloc(sizeof(*h));

    if (h == NULL)
        return NULL;
    h->since = clock_now();
    h->verdict = TLS_GOES_ON;
    handshake_init(&h->machine, is_connecting, tag, nonce, h->since);
    h->tls = tls_create(keys, &h->machine);
    if (h->tls != NULL)
        return h;
    free(h);
    return NULL;
}

void tls_handshake_destroy(struct tls_handshake *h)
{
    if (h == NULL)
        return;
    tls_destroy(h->tls);
    explicit_bzero(h, sizeof(*h));
    free(h);
}

/* A listening end refuses nobody for want of memory. A connecting end has failed, and says so. */
static bool is_to_refuse(const struct tls_handshake *h)
{
    return h->verdict == TLS_FAILED || (h->verdict == TLS_LACKS && h->machine.is_connecting);
}

/* False: it brought nothing new. The connecting side makes its first bytes only for somebody who
 * has answered. */
static bool on_datagram(struct tls_handshake *h, instant now, const uint8_t *datagram, size_t size)
{
    struct cookie_answer answer;

    if (cookie_answer_decode(datagram, size, &answer) == VERDICT_OK)
        return handshake_on_cookie(&h->machine, now, &answer);
    return handshake_hear(&h->machine, now, datagram, size);
}

bool tls_handshake_hear(struct tls_handshake *h, instant now, const uint8_t *datagram, size_t size)
{
    if (!on_datagram(h, now, datagram, size) || h->verdict != TLS_GOES_ON ||
        tls_handshake_has_failed(h))
        return false;
    h->verdict = tls_turn(h->tls, now);
    if (h->verdict == TLS_DONE)
        handshake_end(&h->machine);
    else if (is_to_refuse(h))
        handshake_refuse(&h->machine);
    return h->verdict != TLS_GOES_ON;
}

struct session_keys *session_keys_create(void)
{
    return calloc(1, sizeof(struct session_keys));
}

void session_keys_clear(struct session_keys *k)
{
    struct session_keys cleared = *k;

    explicit_bzero(k, sizeof(*k)); /* first: a child of that moment does not free them again */
    keyring_fini(&cleared.sender);
    keyring_fini(&cleared.receiver);
    explicit_bzero(&cleared, sizeof(cleared));
}

void session_keys_destroy(struct session_keys *k)
{
    if (k == NULL)
        return;
    session_keys_clear(k);
    free(k);
}

void session_keys_move(struct session_keys *to, struct session_keys *from)
{
    *to = *from;
    explicit_bzero(from, sizeof(*from));
    free(from);
}

struct session_keys *tls_handshake_make_keys(const struct tls_handshake *h)
{
    struct session_keys *k = session_keys_create();

    if (k == NULL)
        return NULL;
    if (tls_identity(h->tls, k->identity, sizeof(k->identity)) &&
        tls_make_keyrings(h->tls, &k->sender, &k->receiver))
        return k;
    session_keys_destroy(k);
    return NULL;
}
