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

enum { TURNERS_MOST = 8 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the devices, and of these: */
static struct caller *strangers;                          /* that are turned away meanwhile */
static int turners;                                       /* threads that do that */

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

/* Without the mutex, because it may take a second. */
static void turn_away(struct caller *c)
{
    (void)zcrp_connection_close(c->connection);
    free(c);
}

static void *turn_strangers_away(void *unused)
{
    struct caller *c;

    (void)pthread_mutex_lock(&mutex);
    while ((c = take(&strangers)) != NULL) {
        (void)pthread_mutex_unlock(&mutex);
        turn_away(c);
        (void)pthread_mutex_lock(&mutex);
    }
    turners--;
    (void)pthread_mutex_unlock(&mutex);
    return unused;
}

/* NCCL's thread does not wait for callers that it does not know, of which anybody can send many.
 * The threads that do are few. If none can be started the callers stay until the next time. Within
 * the mutex. */
static void turn_away_meanwhile(void)
{
    pthread_t thread;

    if (strangers == NULL || turners == TURNERS_MOST ||
        pthread_create(&thread, NULL, turn_strangers_away, NULL) != 0)
        return;
    (void)pthread_detach(thread);
    turners++;
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
static struct caller **list_for(struct device *d, const struct zcrp_msg *first)
{
    const uint8_t *ticket =
        zcrp_error(first) == ZCRP_OK ? hello_ticket(first->buffer, first->length) : NULL;

    for (struct listen *l = d->listens; l != NULL && ticket != NULL; l = l->next)
        if (memcmp(l->ticket, ticket, TICKET_BYTES) == 0)
            return &l->callers;
    return &strangers;
}

/* Those of the device's that have said whom they call. */
static void sort_callers(struct device *d)
{
    struct caller *callers = d->callers, *c;

    d->callers = NULL;
    while ((c = take(&callers)) != NULL) {
        struct zcrp_msg *first = zcrp_connection_first(c->connection, 0);
        put(zcrp_probe(first) ? list_for(d, first) : &d->callers, c);
    }
}

/* A caller that found no descriptor, or no memory, calls again. */
static bool is_lack(int code)
{
    return code == ZCRP_ERROR_SYSTEM || code == ZCRP_ERROR_MEMORY;
}

int listen_accept(void *listener, void **receiver)
{
    struct listen *l = listener;

    *receiver = NULL;
    (void)pthread_mutex_lock(&mutex);
    int code = gather_callers(l->device);
    sort_callers(l->device);
    struct caller *c = take(&l->callers);
    turn_away_meanwhile();
    (void)pthread_mutex_unlock(&mutex);
    if (c != NULL) {
        struct zcrp_connection *connection = c->connection;
        free(c);
        return comm_make(connection, zcrp_connection_receiver(connection), receiver);
    }
    if (code != ZCRP_OK)
        plugin_warn("NET/ZCRP: cannot accept: %s", zcrp_explain(code));
    return is_lack(code) ? NET_OK : plugin_result(code);
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
    struct caller *c;

    if (l == NULL)
        return NET_OK;
    (void)pthread_mutex_lock(&mutex);
    unlink_listen(l);
    if (l->device->listens == NULL) {
        unused = l->device->listener;
        l->device->listener = NULL;
        while ((c = take(&l->device->callers)) != NULL)
            put(&strangers, c);
    }
    turn_away_meanwhile();
    (void)pthread_mutex_unlock(&mutex);
    (void)zcrp_listener_close(unused);
    while ((c = take(&l->callers)) != NULL)
        turn_away(c);
    free(l);
    return NET_OK;
}
