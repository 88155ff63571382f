#include "bulk.h"

#include "provider.h"

#include <stdlib.h>
#include <string.h>

struct zcrp_msg *bulk_wrap(struct op *op, bool is_eager)
{
    struct iovec pieces[1 + INFO_PIECES_MOST] = {{op->envelope, ENVELOPE_BYTES}};

    if (!is_eager && op->iov_count == 1)
        return zcrp_wrap_msg(op->iov[0].iov_base, op->iov[0].iov_len);
    memcpy(pieces + 1, op->iov, (size_t)op->iov_count * sizeof(struct iovec));
    return is_eager ? zcrp_wrap_iov(pieces, 1 + op->iov_count)
                    : zcrp_wrap_iov(pieces + 1, op->iov_count);
}

/* ---- the sender ---- */

/* A free number. False: no memory. */
static bool find_number(struct way *w, uint32_t *id)
{
    for (size_t i = 0; i < w->announced_room; i++) {
        size_t at = (w->announced_next + i) % w->announced_room;
        if (w->announced[at] == NULL) {
            *id = (uint32_t)at;
            w->announced_next = at + 1;
            return true;
        }
    }
    size_t room = w->announced_room > 0 ? 2 * w->announced_room : 64;
    if (room > UINT32_MAX)
        return false;
    struct op **announced = realloc(w->announced, room * sizeof(struct op *));
    if (announced == NULL)
        return false;
    memset(announced + w->announced_room, 0, (room - w->announced_room) * sizeof(struct op *));
    *id = (uint32_t)w->announced_room;
    w->announced_next = w->announced_room + 1;
    w->announced = announced;
    w->announced_room = room;
    return true;
}

int bulk_announce(struct way *w, struct op *op, const struct envelope *e)
{
    struct envelope rts = *e;
    int code = e->length > 0 ? way_open_bulk(w) : ZCRP_OK;

    if (code != ZCRP_OK) {
        way_end(w, code);
        return code;
    }
    if (!find_number(w, &op->id))
        return ZCRP_ERROR_MEMORY;
    rts.kind = ENVELOPE_RTS;
    rts.id = op->id;
    code = way_send(w, &rts, NULL, 0);
    if (code == ZCRP_OK)
        w->announced[op->id] = op;
    return code;
}

static bool on_grant(struct way *w, const struct grant *g)
{
    struct op *op = g->id < w->announced_room ? w->announced[g->id] : NULL;

    if (op == NULL || g->length > op->size)
        return false;
    if (g->length == 0) {
        w->announced[g->id] = NULL;
        op_end(op, 0);
        return true;
    }
    op->message = bulk_wrap(op, false);
    int code = ZCRP_ERROR_MEMORY;
    if (op->message != NULL)
        code = way_submit(w, zcrp_connection_sender(w->bulk->connection), op, g->length);
    if (code != ZCRP_OK)
        way_end(w, code); /* which ends the operation, too */
    else
        w->announced[g->id] = NULL;
    return true;
}

bool bulk_on_cts(struct way *w, const uint8_t *bytes, uint64_t size)
{
    struct grant grants[GRANTS_MOST];
    int count = cts_decode(grants, bytes, size);

    for (int i = 0; i < count && !w->is_ended; i++)
        if (!on_grant(w, &grants[i]))
            return false;
    return true;
}

/* ---- the receiver ---- */

/* A peer that has been granted nothing waits, so its next grant leaves at once. While it sends, the
 * others gather: each CTS is a message of its own, with a buffer that its receiver has to post
 * again. */
void bulk_accept(struct way *w, struct op *op, uint32_t id)
{
    op->id = id;
    list_add(&w->matched, &op->in);
    w->matched_count++;
    if (!w->gathers || list_is_empty(&w->flying) || w->matched_count >= GRANTS_MOST)
        bulk_pump(w);
}

/* Memory that cannot be received into fails this receive alone: the sender is told to leave it. */
static void post(struct way *w, struct op *op)
{
    op->message = bulk_wrap(op, false);
    if (op->message != NULL)
        op->message->context = op;
    int code = op->message != NULL ? zcrp_submit(zcrp_connection_receiver(w->bulk->connection),
                                                 op->message, op->length)
                                   : ZCRP_ERROR_MEMORY;
    if (code == ZCRP_OK)
        return;
    zcrp_free_msg(op->message);
    op->message = NULL;
    op->zcrp_code = code;
}

/* Nothing tells when there is room for copies again; so the first CTS without room is a message,
 * whose end calls bulk_pump. A zcrp code, as way_send's. */
static int send_cts(struct way *w, const struct grant *grants, int count)
{
    uint8_t bytes[CTS_BYTES_MOST];
    size_t size = cts_encode(grants, count, bytes);
    int code = way_send_bytes(w, bytes, size);

    if (code != ZCRP_ERROR_BUSY || (w->answer != NULL && zcrp_error(w->answer) == ZCRP_ERROR_BUSY))
        return code;
    if (w->answer == NULL)
        w->answer = zcrp_alloc_msg(CTS_BYTES_MOST);
    code = ZCRP_ERROR_MEMORY;
    if (w->answer != NULL) {
        memcpy(w->answer->buffer, bytes, size);
        code = zcrp_submit(zcrp_connection_sender(w->control->connection), w->answer, size);
    }
    if (code != ZCRP_OK)
        way_end(w, code);
    return code;
}

/* Posts buffers in the order of the list, as many as a CTS can tell of. How many; fewer without a
 * bulk link. */
static int post_some(struct way *w, struct grant grants[GRANTS_MOST])
{
    int count = 0;

    for (struct list *link = w->matched.next; link != &w->matched && count < GRANTS_MOST;
         link = link->next) {
        struct op *op = OWNER(link, struct op, in);
        bool has_bytes = op->length > 0 && !op->is_discarded;
        if (has_bytes && op->message == NULL && op->zcrp_code == ZCRP_OK) {
            if (w->bulk == NULL)
                break;
            post(w, op);
        }
        grants[count++] =
            (struct grant){.id = op->id, .length = op->message != NULL ? op->length : 0};
    }
    return count;
}

/* The first of the list have their grants. */
static void on_granted(struct way *w, int count)
{
    w->matched_count -= count;
    for (; count > 0; count--) {
        struct op *op = OWNER(list_take(&w->matched), struct op, in);
        op->is_granted = true;
        if (op->message != NULL)
            list_add(&w->flying, &op->in);
        else
            op_end(op, error_of_end(op->zcrp_code));
    }
}

void bulk_pump(struct way *w)
{
    struct grant grants[GRANTS_MOST];
    int count;

    while (!w->is_ended && (count = post_some(w, grants)) > 0 &&
           send_cts(w, grants, count) == ZCRP_OK)
        on_granted(w, count);
}
