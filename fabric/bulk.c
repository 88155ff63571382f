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

bool bulk_on_cts(struct way *w, const struct envelope *e)
{
    struct op *op = e->id < w->announced_room ? w->announced[e->id] : NULL;

    if (op == NULL || e->length > op->size)
        return false;
    if (e->length == 0) {
        w->announced[e->id] = NULL;
        op_end(op, 0);
        return true;
    }
    op->message = bulk_wrap(op, false);
    int code = ZCRP_ERROR_MEMORY;
    if (op->message != NULL)
        code = way_submit(w, zcrp_connection_sender(w->bulk->connection), op, e->length);
    if (code != ZCRP_OK)
        way_end(w, code); /* which ends the operation, too */
    else
        w->announced[e->id] = NULL;
    return true;
}

/* ---- the receiver ---- */

void bulk_accept(struct way *w, struct op *op, uint32_t id)
{
    op->id = id;
    list_add(&w->matched, &op->in);
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
static int send_cts(struct way *w, const struct envelope *cts)
{
    int code = way_send(w, cts, NULL, 0);

    if (code != ZCRP_ERROR_BUSY || (w->answer != NULL && zcrp_error(w->answer) == ZCRP_ERROR_BUSY))
        return code;
    if (w->answer == NULL)
        w->answer = zcrp_alloc_msg(ENVELOPE_BYTES);
    code = ZCRP_ERROR_MEMORY;
    if (w->answer != NULL) {
        envelope_encode(cts, w->answer->buffer);
        code =
            zcrp_submit(zcrp_connection_sender(w->control->connection), w->answer, ENVELOPE_BYTES);
    }
    if (code != ZCRP_OK)
        way_end(w, code);
    return code;
}

/* In the order of the list: buffers are posted in it, and CTS sent. */
void bulk_pump(struct way *w)
{
    while (!w->is_ended && !list_is_empty(&w->matched)) {
        struct op *op = OWNER(w->matched.next, struct op, in);
        bool has_bytes = op->length > 0 && !op->is_discarded;
        if (has_bytes && op->message == NULL && op->zcrp_code == ZCRP_OK) {
            if (w->bulk == NULL)
                return;
            post(w, op);
        }
        const struct envelope cts = {
            .kind = ENVELOPE_CTS, .id = op->id, .length = op->message != NULL ? op->length : 0};
        if (send_cts(w, &cts) != ZCRP_OK)
            return;
        list_remove(&op->in);
        op->is_granted = true;
        if (op->message != NULL)
            list_add(&w->flying, &op->in);
        else
            op_end(op, error_of_code(op->zcrp_code));
    }
}
