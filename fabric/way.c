#include "way.h"

#include "bulk.h"
#include "closer.h"
#include "ep.h"
#include "match.h"
#include "peer.h"
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING = 64,         /* buffers for envelopes and eager messages */
    ANSWERS_RING = 64, /* and for CTS, the other way round */
};

static struct way *create(struct ep *ep, bool is_ours)
{
    struct way *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->ep = ep;
    w->is_ours = is_ours;
    list_init(&w->early);
    list_init(&w->flying);
    list_init(&w->matched);
    list_init(&w->in);
    list_add(&ep->ways, &w->in);
    return w;
}

static void join_peer(struct way *w, struct peer *p)
{
    w->peer = p;
    p->ways++;
    if (w->is_ours) {
        p->out = w;
    } else {
        p->back = w;
        p->lost = ZCRP_OK;
    }
}

/* ---- opening ---- */

/* A zcrp code. */
static int call(struct way *w, enum channel channel, struct link **link)
{
    char host[ADDRESS_TEXT], port[PORT_TEXT];
    uint8_t bytes[GREETING_BYTES];
    struct zcrp_connection *connection;
    const struct greeting greeting = {
        .channel = channel, .address = w->ep->address, .nonce = w->ep->nonce};

    address_text(&w->peer->address, host);
    (void)snprintf(port, sizeof(port), "%u", (unsigned)w->peer->address.port);
    int code = zcrp_connect(&connection, host, port, &w->ep->options, 0);
    if (code != ZCRP_OK)
        return code;
    *link = link_create(w, connection);
    if (*link == NULL)
        return ZCRP_ERROR_MEMORY;
    greeting_encode(&greeting, bytes);
    return zcrp_send_copy(zcrp_connection_sender((*link)->connection), bytes, sizeof(bytes));
}

/* What was sent before has found its peer. */
static void on_up(struct way *w)
{
    w->is_up = true;
    if (w->is_ours)
        w->peer->lost = ZCRP_OK;
    LIST_EACH(link, &w->early)
    {
        list_remove(link);
        op_end(OWNER(link, struct op, in), 0);
    }
}

struct way *way_open(struct ep *ep, struct peer *p, int *error)
{
    struct way *w = create(ep, true);

    *error = FI_ENOMEM;
    if (w == NULL)
        return NULL;
    join_peer(w, p);
    int code = call(w, CHANNEL_CONTROL, &w->control);
    if (code == ZCRP_OK)
        code = link_post(w->control, ANSWERS_RING, CTS_BYTES_MOST);
    if (code == ZCRP_OK) {
        if (zcrp_connection_status(w->control->connection) == ZCRP_OK)
            on_up(w);
        return w;
    }
    *error = error_of_code(code);
    way_end(w, code);
    return NULL;
}

int way_open_bulk(struct way *w)
{
    return w->bulk != NULL ? ZCRP_OK : call(w, CHANNEL_BULK, &w->bulk);
}

void way_accept(struct ep *ep, struct zcrp_connection *connection)
{
    struct way *w = create(ep, false);

    if (w == NULL) {
        (void)zcrp_connection_close(connection);
        return;
    }
    w->control = link_create(w, connection);
    int code = w->control != NULL ? link_post_first(w->control, GREETING_BYTES) : ZCRP_ERROR_MEMORY;
    if (code != ZCRP_OK)
        way_end(w, code);
    else
        link_process(w->control); /* what has landed already; the queue would tell of it later */
}

/* ---- greetings ---- */

static bool is_same_greeter(const struct way *w, const struct greeting *g)
{
    return w->greeting.nonce == g->nonce && address_is_same(&w->greeting.address, &g->address);
}

/* The caller's link becomes the bulk link of the way that has greeted with the same words. */
static enum link_verdict adopt(struct way *to, struct way *caller)
{
    struct link *l = caller->control;

    to->bulk = l;
    l->way = to;
    caller->control = NULL;
    way_end(caller, ZCRP_ERROR_CLOSED);
    link_drop_ring(l);
    bulk_pump(to);
    return to->is_ended ? LINK_BAD : LINK_TAKEN;
}

bool way_is_alive(const struct way *w)
{
    int code = zcrp_connection_status(w->control->connection);

    return w->doom == ZCRP_OK && (code == ZCRP_OK || code == ZCRP_ERROR_BUSY);
}

static enum link_verdict greet_bulk(struct way *w)
{
    for (struct list *link = w->ep->ways.next; link != &w->ep->ways; link = link->next) {
        struct way *other = OWNER(link, struct way, in);
        if (!other->is_ours && other->peer != NULL && other->bulk == NULL &&
            is_same_greeter(other, &w->greeting) && way_is_alive(other))
            return adopt(other, w);
    }
    link_drop_ring(w->control); /* it is early */
    return LINK_TAKEN;
}

/* A bulk link that was here first. */
static void find_bulk(struct way *w)
{
    for (struct list *link = w->ep->ways.next; link != &w->ep->ways; link = link->next) {
        struct way *early = OWNER(link, struct way, in);
        if (early->has_greeted && early->peer == NULL && early->control != NULL &&
            early->greeting.channel == CHANNEL_BULK && is_same_greeter(early, &w->greeting) &&
            way_is_alive(early)) {
            (void)adopt(w, early);
            return;
        }
    }
}

/* Without keys any caller can claim to be this peer. A way that is alive stays. One that is not
 * makes room, once the endpoint has taken what the peer had sent on it. */
static enum link_verdict take_place(struct peer *p)
{
    if (p->back == NULL)
        return LINK_TAKEN;
    link_process(p->back->control);
    if (p->back == NULL)
        return LINK_TAKEN;
    if (way_is_alive(p->back))
        return LINK_BAD;
    if (link_is_stalled(p->back->control))
        return LINK_STALL;
    way_end(p->back, zcrp_connection_status(p->back->control->connection));
    return LINK_TAKEN;
}

static enum link_verdict greet_control(struct way *w)
{
    struct peer *p = peer_at(w->ep, &w->greeting.address);
    enum link_verdict verdict = p != NULL ? take_place(p) : LINK_BAD;

    if (verdict == LINK_BAD)
        way_end(w, p == NULL ? ZCRP_ERROR_MEMORY : ZCRP_ERROR_PROTOCOL);
    if (verdict != LINK_TAKEN) {
        w->has_greeted = false; /* it greets again, if it has not ended */
        return verdict;
    }
    join_peer(w, p);
    link_drop_ring(w->control);
    int code = link_post(w->control, RING, ENVELOPE_BYTES + INFO_EAGER_MOST);
    if (code != ZCRP_OK) {
        way_end(w, code);
        return LINK_BAD;
    }
    find_bulk(w);
    return LINK_TAKEN;
}

/* ---- what arrives ---- */

static enum link_verdict on_bad(struct way *w)
{
    way_end(w, ZCRP_ERROR_PROTOCOL);
    return LINK_BAD;
}

static enum link_verdict on_greeting(struct way *w, const uint8_t *bytes, uint64_t size)
{
    if (!greeting_decode(&w->greeting, bytes, size))
        return on_bad(w);
    w->has_greeted = true;
    return w->greeting.channel == CHANNEL_BULK ? greet_bulk(w) : greet_control(w);
}

enum link_verdict way_on_message(struct way *w, struct link *l, const uint8_t *bytes, uint64_t size)
{
    struct envelope e;

    if (!w->is_ours && !w->has_greeted)
        return on_greeting(w, bytes, size);
    if (l != w->control || !envelope_decode(&e, bytes, size) || e.length > INFO_MESSAGE_MOST ||
        (e.kind == ENVELOPE_CTS) != w->is_ours)
        return on_bad(w);
    if (e.kind == ENVELOPE_CTS)
        return bulk_on_cts(w, bytes, size) ? LINK_TAKEN : on_bad(w);
    return match_arrived(w, &e, bytes + ENVELOPE_BYTES) ? LINK_TAKEN : LINK_STALL;
}

/* ---- operations ---- */

int way_send_bytes(struct way *w, const uint8_t *bytes, size_t size)
{
    int code = zcrp_send_copy(zcrp_connection_sender(w->control->connection), bytes, size);

    if (code != ZCRP_OK && code != ZCRP_ERROR_BUSY)
        way_end(w, code);
    return code;
}

int way_send(struct way *w, const struct envelope *e, const struct iovec *iov, int count)
{
    uint8_t *bytes = w->ep->domain->scratch;
    size_t size = ENVELOPE_BYTES;

    envelope_encode(e, bytes);
    for (int i = 0; i < count; i++) {
        if (iov[i].iov_len > 0)
            memcpy(bytes + size, iov[i].iov_base, iov[i].iov_len);
        size += iov[i].iov_len;
    }
    return way_send_bytes(w, bytes, size);
}

int way_submit(struct way *w, struct zcrp_entity *half, struct op *op, uint64_t size)
{
    op->message->context = op;
    int code = zcrp_submit(half, op->message, size);
    if (code == ZCRP_OK)
        list_add(&w->flying, &op->in);
    return code;
}

/* A receive has to have what was agreed on; a message that comes before the CTS was not. */
static bool is_agreed(const struct op *op)
{
    return op->kind == OP_SEND || (op->is_granted && op->message->length == op->length);
}

/* ZCRP does not have its memory any more. */
static void finish(struct op *op, int code)
{
    list_remove(&op->in);
    zcrp_free_msg(op->message);
    op->message = NULL;
    op->zcrp_code = code;
    op_end(op, error_of_end(code));
}

/* The peer cancels its large messages, and closes bulk, before it closes control; it does so, too,
 * when it could not read the memory of one. There may still be something in control, whose ring
 * says, in order, how the way ends. */
static bool is_peer_leaving_bulk(const struct way *w, int code)
{
    return !w->is_ours && (code == ZCRP_ERROR_PEER_CLOSED || code == ZCRP_ERROR_CUT_OFF ||
                           code == ZCRP_ERROR_PEER_CANCELLED || code == ZCRP_ERROR_FAULT);
}

/* What has landed on control is not lost: the way ends when nothing of it waits for room any more.
 */
static void doom(struct way *w, int code)
{
    if (w->doom == ZCRP_OK)
        w->doom = code;
    link_process(w->control);
}

static void on_op_ended(struct way *w, struct op *op, int code)
{
    if (code == ZCRP_OK && !is_agreed(op))
        code = ZCRP_ERROR_PROTOCOL;
    if (code == ZCRP_OK || (op->is_granted && is_peer_leaving_bulk(w, code))) {
        finish(op, code);
        return;
    }
    op->zcrp_code = code;
    doom(w, code);
    if (!w->is_ended)
        finish(op, code); /* its program may wait for it before it makes room */
}

static void on_connection_ended(struct way *w, struct link *l, int code)
{
    if (l != w->bulk || !is_peer_leaving_bulk(w, code))
        doom(w, code);
}

void way_on_completion(struct link *l, const struct zcrp_completion *c)
{
    struct way *w = l->way;

    if (w->is_ended)
        return;
    if (c->kind == ZCRP_CONNECTION_ENDED)
        on_connection_ended(w, l, c->code);
    else if (c->kind == ZCRP_CONNECTION_UP && l == w->control)
        on_up(w);
    else if (c->kind == ZCRP_MESSAGE_ENDED && c->message->context != NULL)
        on_op_ended(w, c->message->context, c->code);
    else if (c->kind == ZCRP_MESSAGE_ENDED)
        link_process(l);
    w = l->way; /* it may have joined another one */
    if (!w->is_ended && !list_is_empty(&w->matched))
        bulk_pump(w);
}

/* ---- ending ---- */

void way_end(struct way *w, int code)
{
    struct peer *p = w->peer;

    if (w->is_ended)
        return;
    if (w->is_ours && !w->is_up && code == ZCRP_ERROR_PEER_CLOSED)
        on_up(w); /* it has been up: the queue tells how it stands now, or its ring's end first */
    w->is_ended = true;
    w->code = code;
    list_remove(&w->in);
    if (w->control != NULL)
        list_remove(&w->control->in);
    if (w->is_ours)
        p->leaving++;
    if (p != NULL && p->out == w)
        p->out = NULL;
    if (p != NULL && p->back == w)
        p->back = NULL;
    match_lose(w);
    if (code == ZCRP_ERROR_PROTOCOL)
        host_log(FI_LOG_WARN, "a peer does not keep to the provider's protocol; it is cut off");
    closer_add(w);
}

/* A message may have ended well before the way did: on another connection, so the queue has told of
 * the way's end first. */
static bool has_ended_well(const struct op *op)
{
    return op->message != NULL && op->zcrp_code == ZCRP_OK && zcrp_error(op->message) == ZCRP_OK &&
           is_agreed(op);
}

static void end_all(struct way *w, struct list *ops)
{
    LIST_EACH(link, ops)
    {
        struct op *op = OWNER(link, struct op, in);
        int code = op->zcrp_code != ZCRP_OK ? op->zcrp_code : w->code;
        finish(op, has_ended_well(op) ? ZCRP_OK : code);
    }
}

void way_destroy(struct way *w)
{
    struct list announced;

    list_init(&announced);
    for (size_t i = 0; i < w->announced_room; i++)
        if (w->announced[i] != NULL)
            list_add(&announced, &w->announced[i]->in);
    end_all(w, &w->early);
    end_all(w, &w->flying);
    end_all(w, &w->matched);
    end_all(w, &announced);
    link_destroy(w->control);
    link_destroy(w->bulk);
    if (w->peer != NULL) {
        w->peer->ways--;
        if (w->is_ours)
            w->peer->leaving--;
        peer_let_go(w->ep, w->peer);
    }
    zcrp_free_msg(w->answer);
    free(w->announced);
    free(w);
}
