#include "connect.h"

#include "comm.h"
#include "handle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* A listener with keys has 16 places for the handshakes of one host's callers. */
enum { UNDER_WAY_MOST = 12 };

struct attempt {
    uint64_t number; /* random, and not 0 */
    struct zcrp_connection *connection;
    struct attempt *next;
};

static struct attempt *attempts;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the list */

static void add(struct attempt *a)
{
    (void)pthread_mutex_lock(&mutex);
    a->next = attempts;
    attempts = a;
    (void)pthread_mutex_unlock(&mutex);
}

/* The one with this number leaves the list. NULL: there is none. */
static struct attempt *take(uint64_t number)
{
    (void)pthread_mutex_lock(&mutex);
    struct attempt **at = &attempts;
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    struct attempt *a = *at;
    if (a != NULL)
        *at = a->next;
    (void)pthread_mutex_unlock(&mutex);
    return a;
}

/* Attempts that NCCL has given up end by themselves, and do not count then. */
static bool is_full(void)
{
    int count = 0;

    (void)pthread_mutex_lock(&mutex);
    for (struct attempt *a = attempts; a != NULL; a = a->next)
        count += zcrp_connection_status(a->connection) == ZCRP_ERROR_BUSY;
    (void)pthread_mutex_unlock(&mutex);
    return count >= UNDER_WAY_MOST;
}

/* The hello goes out as soon as the peer can take it. */
static int call(const struct handle *h, const struct interface *through,
                struct zcrp_connection **connection)
{
    struct zcrp_options options = plugin_options();
    char host[INTERFACES_HOST], port[8];
    uint8_t hello[HELLO_BYTES];

    options.connect_ns = 30 * INT64_C(1000000000); /* ranks start when they get a processor */
    interfaces_write(h->family, h->address, through->name, host);
    (void)snprintf(port, sizeof(port), "%u", h->port);
    int code = zcrp_connect(connection, host, port, &options, 0);
    if (code != ZCRP_OK)
        return code;
    hello_write(h->ticket, hello);
    code = zcrp_send_copy(zcrp_connection_sender(*connection), hello, sizeof(hello));
    if (code != ZCRP_OK)
        (void)zcrp_connection_close(*connection);
    return code;
}

/* NULL, and a code. */
static struct attempt *begin(const struct handle *h, const struct interface *through, int *code)
{
    struct attempt *a = calloc(1, sizeof(*a));

    *code = ZCRP_ERROR_MEMORY;
    if (a != NULL && getrandom(&a->number, sizeof(a->number), 0) == sizeof(a->number))
        *code = call(h, through, &a->connection);
    if (*code == ZCRP_OK) {
        a->number |= 1;
        return a;
    }
    free(a);
    return NULL;
}

static int fail(const struct handle *h, const struct interface *through, int code)
{
    char host[INTERFACES_HOST];

    interfaces_write(h->family, h->address, through->name, host);
    plugin_warn("NET/ZCRP: cannot connect to %s, port %u: %s", host, h->port, zcrp_explain(code));
    return plugin_result(code);
}

/* The attempt goes on, or is over. */
static int finish(struct attempt *a, struct handle *h, const struct interface *through,
                  void **sender)
{
    int code = zcrp_connection_status(a->connection), result;

    if (code == ZCRP_ERROR_BUSY) {
        h->attempt = a->number;
        add(a);
        return NET_OK;
    }
    h->attempt = 0;
    bool was_up = code == ZCRP_ERROR_PEER_CLOSED; /* its requests tell of its end */
    if (code == ZCRP_OK || was_up) {
        result = comm_make(a->connection, zcrp_connection_sender(a->connection), sender);
    } else {
        result = fail(h, through, code);
        (void)zcrp_connection_close(a->connection);
    }
    free(a);
    return result;
}

int connect_advance(int device, void *handle, void **sender)
{
    const struct interface *through = &plugin.device[device];
    struct handle h;
    int code = ZCRP_OK;

    *sender = NULL;
    if (!handle_read(&h, handle)) {
        plugin_warn("NET/ZCRP: the handle is not one of this plugin's");
        return NET_INVALID_ARGUMENT;
    }
    if (h.attempt == 0 && is_full())
        return NET_OK;
    struct attempt *a = h.attempt == 0 ? begin(&h, through, &code) : take(h.attempt);
    if (code != ZCRP_OK)
        return fail(&h, through, code);
    if (a == NULL) {
        plugin_warn("NET/ZCRP: the handle names an attempt that this process did not begin");
        return NET_INVALID_ARGUMENT;
    }
    int result = finish(a, &h, through, sender);
    handle_write(&h, handle);
    return result;
}

void connect_end_attempts(void)
{
    (void)pthread_mutex_lock(&mutex);
    struct attempt *all = attempts;
    attempts = NULL;
    (void)pthread_mutex_unlock(&mutex);
    while (all != NULL) {
        struct attempt *a = all;
        all = a->next;
        (void)zcrp_connection_close(a->connection);
        free(a);
    }
}
