#include "link.h"

#include "bulk.h"
#include "ep.h"
#include "way.h"

#include <stdlib.h>

struct link *link_create(struct way *way, struct zcrp_connection *connection)
{
    struct link *l = calloc(1, sizeof(*l));

    if (l != NULL) {
        l->way = way;
        list_init(&l->in);
        l->connection = connection;
        if (zcrp_queue_add_connection(way->ep->domain->queue, connection, l) == ZCRP_OK)
            return l;
        free(l);
    }
    (void)zcrp_connection_close(connection);
    return NULL;
}

static int post(struct link *l, struct zcrp_msg *m)
{
    return zcrp_submit(zcrp_connection_receiver(l->connection), m, l->bytes);
}

int link_post(struct link *l, uint32_t count, uint64_t bytes)
{
    l->ring = calloc(count, sizeof(struct zcrp_msg *));
    if (l->ring == NULL)
        return ZCRP_ERROR_MEMORY;
    l->bytes = bytes;
    l->head = 0;
    l->is_first = false;
    for (l->count = 0; l->count < count; l->count++) {
        struct zcrp_msg *m = zcrp_alloc_msg(bytes);
        if (m == NULL)
            return ZCRP_ERROR_MEMORY;
        l->ring[l->count] = m;
        int code = post(l, m);
        if (code != ZCRP_OK) {
            l->count++;
            return code;
        }
    }
    return ZCRP_OK;
}

int link_post_first(struct link *l, uint64_t bytes)
{
    l->ring = calloc(1, sizeof(struct zcrp_msg *));
    if (l->ring == NULL)
        return ZCRP_ERROR_MEMORY;
    l->ring[0] = zcrp_connection_first(l->connection, 0);
    l->bytes = bytes;
    l->count = 1;
    l->is_first = true;
    return l->ring[0] != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY;
}

void link_drop_ring(struct link *l)
{
    for (uint32_t i = 0; i < l->count && !l->is_first; i++)
        zcrp_free_msg(l->ring[i]);
    free(l->ring);
    l->ring = NULL;
    l->count = 0;
}

/* The peer has taken the message back, or could not read its memory. That tells nothing of the
 * messages behind it, whose sends may have succeeded. */
static bool is_hole(const struct link *l, int code)
{
    bool is_of_one = code == ZCRP_ERROR_PEER_CANCELLED || code == ZCRP_ERROR_FAULT;

    return is_of_one && l->way->has_greeted;
}

static enum link_verdict handle(struct link *l, const struct zcrp_msg *m, int code)
{
    if (is_hole(l, code))
        return LINK_TAKEN;
    if (code == ZCRP_OK)
        return way_on_message(l->way, l, m->buffer, m->length);
    way_end(l->way, code);
    return LINK_BAD;
}

/* What way_on_message does may end the way, or give the link another ring, or another way. */
static void handle_landed(struct link *l)
{
    while (!l->way->is_ended && l->count > 0) {
        struct zcrp_msg *m = l->ring[l->head];
        int code = zcrp_error(m);
        if (code == ZCRP_ERROR_BUSY)
            return;
        switch (handle(l, m, code)) {
        case LINK_STALL:
            list_add(&l->way->ep->stalled, &l->in);
            return;
        case LINK_BAD:
            return;
        case LINK_TAKEN:
            break;
        }
        if (l->count == 0 || l->ring[l->head] != m)
            continue; /* another ring */
        l->head = l->head + 1 == l->count ? 0 : l->head + 1;
        code = post(l, m);
        if (code != ZCRP_OK)
            way_end(l->way, code);
    }
}

void link_process(struct link *l)
{
    struct way *w = l->way;

    list_remove(&l->in);
    w->gathers = true;
    handle_landed(l);
    w->gathers = false;
    if (l == w->control && w->doom != ZCRP_OK && !link_is_stalled(l))
        way_end(w, w->doom);
    bulk_pump(w);
}

bool link_is_stalled(const struct link *l)
{
    return !list_is_empty(&l->in);
}

/* While a call of the kernel copies to a buffer, the close says so after 100 ms, and is repeated.
 */
void link_close(struct link *l)
{
    while (zcrp_connection_close(l->connection) == ZCRP_ERROR_BUSY)
        continue;
    l->connection = NULL;
}

void link_destroy(struct link *l)
{
    if (l == NULL)
        return;
    list_remove(&l->in);
    link_drop_ring(l);
    free(l);
}
