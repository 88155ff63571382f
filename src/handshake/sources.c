#include "sources.h"

static int find(const struct sources *s, uint64_t host)
{
    int i = 0;

    while (i < SOURCES_MOST && s->source[i].host != host)
        i++;
    return i;
}

instant sources_debt(const struct sources *s, uint64_t host, instant now)
{
    int i = find(s, host);

    return i < SOURCES_MOST && s->source[i].debt_ends > now ? s->source[i].debt_ends : now;
}

instant sources_ready(const struct sources *s, uint64_t host, uint32_t at_once, instant now)
{
    return sources_debt(s, host, now) - (at_once - 1) * HANDSHAKE_PAUSE;
}

/* The one with the least debt, which is none if there is one without. */
static int find_least(const struct sources *s)
{
    int least = 0;

    for (int i = 1; i < SOURCES_MOST; i++)
        if (s->source[i].debt_ends < s->source[least].debt_ends)
            least = i;
    return least;
}

void sources_charge(struct sources *s, uint64_t host, instant now)
{
    instant debt_ends = sources_debt(s, host, now);
    int i = find(s, host);

    s->source[i < SOURCES_MOST ? i : find_least(s)] =
        (struct source){host, debt_ends + HANDSHAKE_PAUSE};
}

void sources_refund(struct sources *s, uint64_t host)
{
    int i = find(s, host);

    if (i < SOURCES_MOST)
        s->source[i].debt_ends -= HANDSHAKE_PAUSE;
}
