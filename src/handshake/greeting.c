#include "greeting.h"

#include "platform/system.h"

#include <stdlib.h>
#include <string.h>

struct greeting *greeting_create(struct zcrp_keys *keys, bool is_connecting, uint32_t tag,
                                 uint64_t nonce)
{
    struct greeting *g = malloc(sizeof(*g));

    if (g == NULL)
        return NULL;
    g->began = clock_now();
    g->verdict = TLS_GOES_ON;
    handshake_init(&g->handshake, is_connecting, tag, nonce, g->began);
    g->tls = tls_create(keys, &g->handshake);
    if (g->tls != NULL)
        return g;
    free(g);
    return NULL;
}

void greeting_destroy(struct greeting *g)
{
    if (g == NULL)
        return;
    tls_destroy(g->tls);
    explicit_bzero(g, sizeof(*g));
    free(g);
}

/* The connecting side makes its first bytes only for somebody who has answered. */
static bool has_news(struct greeting *g, instant now, const uint8_t *datagram, size_t size)
{
    struct cookie_answer answer;

    if (cookie_answer_decode(datagram, size, &answer) == VERDICT_OK)
        return handshake_on_cookie(&g->handshake, now, &answer);
    return handshake_hear(&g->handshake, now, datagram, size);
}

bool greeting_hear(struct greeting *g, instant now, const uint8_t *datagram, size_t size)
{
    if (!has_news(g, now, datagram, size) || g->verdict != TLS_GOES_ON || greeting_has_failed(g))
        return false;
    g->verdict = tls_turn(g->tls, now);
    if (g->verdict == TLS_DONE)
        handshake_end(&g->handshake);
    else if (g->verdict == TLS_FAILED)
        handshake_refuse(&g->handshake);
    return g->verdict != TLS_GOES_ON;
}

struct admission *admission_create(void)
{
    return calloc(1, sizeof(struct admission));
}

void admission_clear(struct admission *admission)
{
    keyring_fini(&admission->sender);
    keyring_fini(&admission->receiver);
    explicit_bzero(admission, sizeof(*admission));
}

void admission_destroy(struct admission *admission)
{
    if (admission == NULL)
        return;
    admission_clear(admission);
    free(admission);
}

void admission_move(struct admission *to, struct admission *from)
{
    *to = *from;
    explicit_bzero(from, sizeof(*from));
    free(from);
}

struct admission *greeting_admit(const struct greeting *g)
{
    struct admission *a = admission_create();

    if (a == NULL)
        return NULL;
    if (!tls_identity(g->tls, a->identity, sizeof(a->identity)))
        a->identity[0] = '\0';
    if (tls_make_keyrings(g->tls, &a->sender, &a->receiver))
        return a;
    admission_destroy(a);
    return NULL;
}
