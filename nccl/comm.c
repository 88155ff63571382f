#include "comm.h"

#include <stdlib.h>

struct request {
    struct comm *comm;
    struct zcrp_msg *message;
};

struct comm {
    struct zcrp_connection *connection;
    struct zcrp_entity *half;
    uint32_t idle; /* bit n: request n is not in use */
    struct request request[NET_REQUESTS_MOST];
};

static void destroy(struct comm *c)
{
    for (int i = 0; i < NET_REQUESTS_MOST; i++)
        zcrp_free_msg(c->request[i].message);
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

int comm_submit(void *comm, void *memory, size_t size, void **request)
{
    struct comm *c = comm;

    *request = NULL;
    if (c->idle == 0)
        return NET_OK;
    if (size > PLUGIN_MESSAGE_MOST)
        return fail(c, "a message is larger than 1 GiB", ZCRP_ERROR_SIZE);
    int slot = __builtin_ctz(c->idle);
    struct request *r = &c->request[slot];
    int code = zcrp_rewrap_msg(r->message, memory, size);
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
