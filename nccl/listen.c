#include "listen.h"

#include "comm.h"
#include "handle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct caller {
    struct zcrp_connection *connection;
    struct caller *next;
};

/* One of NCCL's. */
struct listen {
    struct device *device;
    uint8_t ticket[TICKET_BYTES];
    struct caller *callers; /* whose hello names this one */
    struct listen *next;
};

static struct device {
    struct zcrp_listener *listener; /* NULL: nobody listens */
    struct listen *listens;
    struct caller *callers; /* that have not said a hello yet */
} devices[INTERFACES_MOST];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the devices */

static void put(struct caller **list, struct caller *c)
{
    c->next = *list;
    *list = c;
}

static struct caller *take(struct caller **list)
{
    struct caller *c = *list;

    if (c != NULL)
        *list = c->next;
    return c;
}

/* Without the mutex, because each may take a second. */
static void *turn_away(void *callers)
{
    struct caller *all = callers, *c;

    while ((c = take(&all)) != NULL) {
        (void)zcrp_connection_close(c->connection);
        free(c);
    }
    return NULL;
}

/* NCCL's thread does not wait for callers that it does not know, of which anybody can send many. */
static void turn_away_meanwhile(struct caller *strangers)
{
    pthread_t thread;

    if (strangers == NULL)
        return;
    if (pthread_create(&thread, NULL, turn_away, strangers) == 0)
        (void)pthread_detach(thread);
    else
        (void)turn_away(strangers);
}

/* ---- opening ---- */

static int open_listener(struct device *d, const struct interface *at)
{
    const struct zcrp_options options = plugin_options();
    char host[INTERFACES_HOST];

    if (d->listener != NULL)
        return ZCRP_OK;
    interfaces_write(at->family, at->address, at->name, host);
    int code = zcrp_listen(&d->listener, host, "0", &options);
    if (code != ZCRP_OK)
        plugin_warn("NET/ZCRP: cannot listen at %s (%s): %s", host, at->name, zcrp_explain(code));
    return code;
}

int listen_open(int device, void *handle, void **listener)
{
    struct listen *l = calloc(1, sizeof(*l));

    if (l == NULL || getrandom(l->ticket, sizeof(l->ticket), 0) != sizeof(l->ticket)) {
        free(l);
        return NET_SYSTEM_ERROR;
    }
    const struct interface *at = &plugin.device[device];
    struct handle h = {.family = at->family};
    memcpy(h.address, at->address, sizeof(h.address));
    memcpy(h.ticket, l->ticket, sizeof(h.ticket));
    l->device = &devices[device];
    (void)pthread_mutex_lock(&mutex);
    int code = open_listener(l->device, at);
    if (code == ZCRP_OK) {
        h.port = (uint16_t)zcrp_listener_port(l->device->listener);
        l->next = l->device->listens;
        l->device->listens = l;
    }
    (void)pthread_mutex_unlock(&mutex);
    if (code != ZCRP_OK) {
        free(l);
        return plugin_result(code);
    }
    handle_write(&h, handle);
    *listener = l;
    return NET_OK;
}

/* ---- accepting ---- */

/* The listener's callers become the device's. */
static int gather_callers(struct device *d)
{
    struct zcrp_connection *connection;
    int code;

    while ((code = zcrp_accept(d->listener, &connection, 0)) == ZCRP_OK) {
        struct caller *c = malloc(sizeof(*c));
        if (c == NULL) {
            (void)zcrp_connection_close(connection);
            return ZCRP_ERROR_MEMORY;
        }
        c->connection = connection;
        put(&d->callers, c);
    }
    return code == ZCRP_ERROR_TIMEOUT || code == ZCRP_ERROR_INTERRUPTED ? ZCRP_OK : code;
}

/* The list for a caller that has sent its first message, or has ended. */
static struct caller **list_for(struct device *d, const struct zcrp_msg *first,
                                struct caller **strangers)
{
    const uint8_t *ticket =
        zcrp_error(first) == ZCRP_OK ? hello_ticket(first->buffer, first->length) : NULL;

    for (struct listen *l = d->listens; l != NULL && ticket != NULL; l = l->next)
        if (memcmp(l->ticket, ticket, TICKET_BYTES) == 0)
            return &l->callers;
    return strangers;
}

/* Returns the strangers among the device's callers. */
static struct caller *sort_callers(struct device *d)
{
    struct caller *callers = d->callers, *strangers = NULL, *c;

    d->callers = NULL;
    while ((c = take(&callers)) != NULL) {
        struct zcrp_msg *first = zcrp_connection_first(c->connection, 0);
        put(zcrp_probe(first) ? list_for(d, first, &strangers) : &d->callers, c);
    }
    return strangers;
}

int listen_accept(void *listener, void **receiver)
{
    struct listen *l = listener;

    *receiver = NULL;
    (void)pthread_mutex_lock(&mutex);
    int code = gather_callers(l->device);
    struct caller *strangers = sort_callers(l->device);
    struct caller *c = take(&l->callers);
    (void)pthread_mutex_unlock(&mutex);
    turn_away_meanwhile(strangers);
    if (c != NULL) {
        struct zcrp_connection *connection = c->connection;
        free(c);
        return comm_make(connection, zcrp_connection_receiver(connection), receiver);
    }
    if (code != ZCRP_OK)
        plugin_warn("NET/ZCRP: cannot accept: %s", zcrp_explain(code));
    return plugin_result(code);
}

/* ---- closing ---- */

static void unlink_listen(struct listen *l)
{
    struct listen **at = &l->device->listens;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
}

int listen_close(void *listener)
{
    struct listen *l = listener;
    struct zcrp_listener *unused = NULL;
    struct caller *others = NULL;

    if (l == NULL)
        return NET_OK;
    (void)pthread_mutex_lock(&mutex);
    unlink_listen(l);
    if (l->device->listens == NULL) {
        unused = l->device->listener;
        others = l->device->callers;
        l->device->listener = NULL;
        l->device->callers = NULL;
    }
    (void)pthread_mutex_unlock(&mutex);
    (void)zcrp_listener_close(unused);
    turn_away_meanwhile(others);
    (void)turn_away(l->callers);
    free(l);
    return NET_OK;
}
