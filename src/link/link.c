#include "link.h"

#include "own_move.h"
#include "peer_move.h"

#include <stdlib.h>

struct link *link_create(const struct zcrp_options *options, struct session_keys *session_keys)
{
    struct link *l = calloc(1, sizeof(*l));

    if (session_keys == NULL && options->keys != NULL)
        session_keys = session_keys_create();
    if (l == NULL || (session_keys == NULL && options->keys != NULL)) {
        session_keys_destroy(session_keys);
        free(l);
        return NULL;
    }
    l->session_keys = session_keys;
    mutex_init(&l->mutex);
    moderation_init(&l->rx.moderation);
    spinning_init(&l->rx.spinning, options->spin_ns);
    lease_init(&l->lease, LEASE_AT_ONCE);
    sockets_member_init(&l->sockets);
    l->rx.heard = -LEASE_TERM;
    return l;
}

void link_add(struct link *l, enum machine_role role, struct zcrp_entity *half)
{
    l->half[role] = half;
}

/* True if it was the last one. */
static bool forget(struct link *l, enum machine_role role)
{
    l->half[role] = NULL;
    return l->half[MACHINE_SENDER] == NULL && l->half[MACHINE_RECEIVER] == NULL;
}

void link_remove(struct link *l, enum machine_role role)
{
    if (!forget(l, role))
        return;
    sockets_member_fini(&l->sockets);
    mutex_fini(&l->mutex);
    peer_move_end(l->peer_move);
    own_move_end(l->own_move);
    session_keys_destroy(l->session_keys);
    free(l);
}

void link_abandon(struct link *l, enum machine_role role)
{
    if (!forget(l, role))
        return;
    peer_move_abandon(l->peer_move);
    own_move_end(l->own_move);
    session_keys_destroy(l->session_keys);
    free(l);
}
