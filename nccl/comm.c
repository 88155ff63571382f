#include "comm.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct comm *comm;
    struct zcrp_msg *message;
    void *memory; /* NCCL's, where a watched receive goes when it has ended; NULL: it is not one */
    void *aside;  /* where that lands before, */
    size_t room;  /* with so many bytes */
};

struct comm {
    struct zcrp_connection *connection;
    struct zcrp_entity *half;
    uint32_t idle; /* bit n: request n is not in use */
    struct request request[NET_REQUESTS_MOST];
};

static void destroy(struct comm *c)
{
    for (int i = 0; i < NET_REQUESTS_MOST; i++) {
        zcrp_free_msg(c->request[i].message);
        free(c->request[i].aside);
    }
    free(c);
}

static struct comm *create(void)
{
    struct comm *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->idle = UINT32_MAX;
    for (int i = 0; i < NET_REQUESTS_MOST; i++) {
        c->request[i] = (struct request){.comm = c, .message = zcrp_wrap_msg(NULL, 0)};
        if (c->request[i].message == NULL) {
            destroy(c);
            return NULL;
        }
    }
    return c;
}

int comm_make(struct zcrp_connection *connection, struct zcrp_entity *half, void **comm)
{
    struct comm *c = create();

    if (c == NULL) {
        (void)zcrp_connection_close(connection);
        return NET_SYSTEM_ERROR;
    }
    c->connection = connection;
    c->half = half;
    *comm = c;
    return NET_OK;
}

/* The log names the peer. */
static int fail(const struct comm *c, const char *what, int code)
{
    char peer[64];

    if (zcrp_connection_peer(c->connection, peer, sizeof(peer)) != ZCRP_OK)
        peer[0] = '\0';
    plugin_warn("NET/ZCRP: %s, peer %s: %s", what, peer, zcrp_explain(code));
    return plugin_result(code);
}

/* ---- watched receives ---- */

static int make_room(struct request *r, size_t size)
{
    if (size <= r->room)
        return ZCRP_OK;
    free(r->aside);
    r->aside = malloc(size);
    r->room = r->aside != NULL ? size : 0;
    return r->aside != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY;
}

/* A GPU reads `to` meanwhile: a flag is not there before its data. In LL's lines a word has both,
 * and in LL128's the last word is the flag. */
static void copy_in_order(void *to, const uint8_t *from, size_t size)
{
    _Atomic uint64_t *out = to;
    size_t words = (uintptr_t)to % sizeof(uint64_t) == 0 ? size / sizeof(uint64_t) : 0;

    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, from + i * sizeof(word), sizeof(word));
        atomic_store_explicit(&out[i], word, memory_order_release);
    }
    size_t done = words * sizeof(uint64_t);
    memcpy((uint8_t *)to + done, from + done, size - done); /* nobody watches such a place */
}

/* ---- requests ---- */

/* Points the message to where it is read, or lands. A zcrp code. */
static int aim(struct request *r, void *memory, size_t size, bool is_watched)
{
    r->memory = is_watched && size > 0 ? memory : NULL;
    if (r->memory == NULL)
        return zcrp_rewrap_msg(r->message, memory, size);
    int code = make_room(r, size);
    return code == ZCRP_OK ? zcrp_rewrap_msg(r->message, r->aside, size) : code;
}

int comm_submit(void *comm, void *memory, size_t size, bool is_watched, void **request)
{
    struct comm *c = comm;

    *request = NULL;
    if (c->idle == 0)
        return NET_OK;
    if (size > PLUGIN_MESSAGE_MOST)
        return fail(c, "a message is larger than 1 GiB", ZCRP_ERROR_SIZE);
    int slot = __builtin_ctz(c->idle);
    struct request *r = &c->request[slot];
    int code = aim(r, memory, size, is_watched);
    if (code == ZCRP_OK)
        code = zcrp_submit(c->half, r->message, size);
    if (code != ZCRP_OK)
        return fail(c, "a message cannot be submitted", code);
    c->idle &= ~(1u << slot);
    *request = r;
    return NET_OK;
}

int comm_test(void *request, int *is_done, int *size)
{
    struct request *r = request;

    *is_done = 0;
    if (!zcrp_probe(r->message))
        return NET_OK;
    struct comm *c = r->comm;
    c->idle |= 1u << (r - c->request);
    int code = zcrp_error(r->message);
    if (code != ZCRP_OK)
        return fail(c, "a message failed", code);
    if (r->memory != NULL)
        copy_in_order(r->memory, r->aside, r->message->length);
    *is_done = 1;
    if (size != NULL)
        *size = (int)r->message->length;
    return NET_OK;
}

/* NCCL closes a comm with requests when it gives up: nothing is to be waited for. */
static void cancel_requests(struct comm *c)
{
    for (int i = 0; i < NET_REQUESTS_MOST; i++)
        if (!(c->idle & 1u << i))
            (void)zcrp_cancel(c->request[i].message);
}

int comm_close(void *comm)
{
    struct comm *c = comm;

    if (c == NULL)
        return NET_OK;
    cancel_requests(c);
    if (zcrp_connection_close(c->connection) == ZCRP_ERROR_BUSY) {
        plugin_warn("NET/ZCRP: a stopped process on this host still holds a message's memory");
        return NET_SYSTEM_ERROR; /* nothing of it may be freed */
    }
    destroy(c);
    return NET_OK;
}
