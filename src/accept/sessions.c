#include "sessions.h"

#include "link/peer_move.h"
#include "platform/thread.h"

#include <stdlib.h>

enum { NAMES = 2 }; /* of a connection: one a direction */

struct sessions {
    struct mutex mutex;
    uint32_t mask;                /* (c) places - 1 */
    struct session_name *place[]; /* under the mutex */
};

struct sessions *sessions_create(uint32_t connections)
{
    uint64_t places = 1;

    while (places < NAMES * (uint64_t)connections)
        places *= 2;
    struct sessions *s = calloc(1, sizeof(*s) + (size_t)places * sizeof(s->place[0]));
    if (s == NULL)
        return NULL;
    s->mask = (uint32_t)(places - 1);
    mutex_init(&s->mutex);
    return s;
}

void sessions_destroy(struct sessions *s, bool is_in_child)
{
    if (s == NULL)
        return;
    if (!is_in_child)
        mutex_fini(&s->mutex);
    free(s);
}

static bool is_same(struct pairing a, struct pairing b)
{
    return a.session == b.session && a.tag == b.tag;
}

/* Where the names begin that this one is among. Names are random. */
static struct session_name **place_of(struct sessions *s, struct pairing pairing)
{
    return &s->place[(pairing.session ^ pairing.tag) & s->mask];
}

void sessions_add(struct sessions *s, struct session_name *name, struct pairing pairing,
                  struct link *link)
{
    struct session_name **place = place_of(s, pairing);

    mutex_lock(&s->mutex);
    *name = (struct session_name){.pairing = pairing, .link = link, .next = *place};
    *place = name;
    mutex_unlock(&s->mutex);
}

void sessions_remove(struct sessions *s, struct session_name *name)
{
    if (name->link == NULL)
        return;
    mutex_lock(&s->mutex);
    struct session_name **at = place_of(s, name->pairing);
    while (*at != name)
        at = &(*at)->next;
    *at = name->next;
    name->link = NULL;
    mutex_unlock(&s->mutex);
}

bool sessions_post(struct sessions *s, const union address *from, const uint8_t *datagram,
                   size_t size)
{
    const uint8_t *trailer = datagram_trailer(datagram, size);
    enum datagram_type type = datagram_type(datagram[size - 1]);

    if (trailer == NULL || type == DATAGRAM_HANDSHAKE || type == DATAGRAM_VERSION_ANSWER)
        return false;
    struct pairing pairing = datagram_tail_decode(trailer + TAIL_AT).pairing;
    if (!pairing_is_complete(pairing))
        return false;
    mutex_lock(&s->mutex);
    const struct session_name *name = *place_of(s, pairing);
    while (name != NULL && !is_same(name->pairing, pairing))
        name = name->next;
    if (name != NULL)
        peer_move_post(name->link, from, datagram, size);
    mutex_unlock(&s->mutex);
    return name != NULL;
}
