/* A listener: a socket that any number of peers call, and those that have been admitted and not
 * accepted yet. The engine's receiving thread hears the socket; zcrp_accept takes from the backlog.
 *
 *     callers --hear--> [ backlog: connected sockets ] --zcrp_accept--> connections
 *
 * Callers that need keys are handed to the reception, whose thread admits them (reception.h). */
#include "connection.h"
#include "handshake/reception.h"
#include "link/codes.h"
#include "link/options.h"
#include "link/process.h"
#include "listen.h"
#include "platform/sleep.h"
#include "transport/channel.h"
#include "transport/keyed_hash.h"
#include "transport/names.h"
#include "waiting/changes.h"
#include "workers/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEARD_AT_ONCE = 256,  /* datagrams, in one turn */
    HEARD_BEHIND = 64,    /* behind somebody with keys who is admitted */
    CALLERS_AT_ONCE = 17, /* without keys: one, and others that its socket has heard */
};

/* Of callers that need keys. */
enum { HANDSHAKES_MOST = 64, HANDSHAKES_OF_HOST = 16, HANDSHAKES_AT_ONCE = 32 };

/* Somebody who was admitted, and waits to be accepted. */
struct guest {
    struct introduction introduction;
    uint64_t host; /* its number (address_host_number) */
};

/* Lock letters: (c) constant from open to close, (m) the mutex, (a) atomic. */
struct zcrp_listener {
    uint32_t generation;         /* (c) */
    struct zcrp_options options; /* (c) complete; of each connection */
    char *stats_directory;       /* (c) of the options: the listener's own copy; NULL: none */
    struct listen_socket socket; /* (c) */
    struct peers *peers;         /* (c) held */
    struct reception *reception; /* (c) of callers that need keys; NULL: they need none */
    struct engine_member member;
    struct interrupt interrupt;
    _Atomic uint32_t changes; /* (a) a futex: something to accept, or trouble */
    struct wake wake;         /* readable while there is something to accept, once is_on */

    struct mutex mutex;
    bool is_on;              /* (m) the wake is in use */
    int trouble;             /* (m) an error number that the next accept tells; 0: none */
    struct guest *backlog;   /* (m) a ring */
    uint32_t first, waiting; /* (m) of the backlog */
    uint64_t admitted;       /* (m) callers that came into the backlog, */
    uint64_t dropped;        /* (m) and times that one found no room */
};

/* Would accept say something? Under the mutex. */
static bool has_news(const struct zcrp_listener *l)
{
    return l->waiting > 0 || l->trouble != 0;
}

/* ---- hearing ---- */

/* Is there room in the backlog, and some for this host? Under the mutex. */
static bool has_room(const struct zcrp_listener *l, uint64_t host)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; i < l->waiting; i++)
        taken += l->backlog[(l->first + i) % l->options.backlog].host == host;
    return peers_may_share(taken, l->options.backlog - l->waiting);
}

/* Is there room for this caller, and is it a new one? It is one of the peers then. */
static bool reserve(struct zcrp_listener *l, struct guest *guest)
{
    const union address *peer = &guest->introduction.peer;

    guest->host = address_host_number(peer);
    mutex_lock(&l->mutex);
    enum peers_verdict verdict = has_room(l, guest->host) ? peers_add(l->peers, peer) : PEERS_FULL;
    l->dropped += verdict == PEERS_FULL;
    mutex_unlock(&l->mutex);
    return verdict == PEERS_ADDED;
}

/* Is that what this process or its system lacks, and not what is wrong with one caller? */
static bool is_own_trouble(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

/* Puts a guest into the backlog, or does not because of an error. */
static void enter(struct zcrp_listener *l, const struct guest *guest, int error)
{
    mutex_lock(&l->mutex);
    if (error) {
        peers_remove(l->peers, &guest->introduction.peer);
        l->trouble = is_own_trouble(error) ? error : l->trouble;
    } else {
        l->backlog[(l->first + l->waiting++) % l->options.backlog] = *guest;
        l->admitted++;
    }
    if (l->is_on && has_news(l))
        wake_signal(&l->wake);
    mutex_unlock(&l->mutex);
    changes_tell(&l->changes);
}

/* Callers without keys who have brought their cookie back, and what they said. */
struct callers {
    const struct listen_socket *socket;
    uint32_t count;
    struct {
        struct caller caller;
        struct letter hello;
    } call[CALLERS_AT_ONCE];
};

static void hear(void *context, const struct caller *caller, const uint8_t *datagram, size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    struct callers *callers = context;
    size_t tail = size < TRAILER_BYTES ? size : TRAILER_BYTES, bytes = 0;
    uint8_t answer[TRAILER_BYTES];
    enum listening what = listening_hear(&jar, address_number(&caller->from), clock_now(),
                                         datagram + size - tail, size, answer, &bytes);

    if (what == LISTENING_ANSWERS)
        listen_tell(callers->socket, caller, answer, bytes);
    if (what != LISTENING_ACCEPTS || callers->count == CALLERS_AT_ONCE)
        return;
    callers->call[callers->count].caller = *caller;
    letter_set(&callers->call[callers->count++].hello, datagram, size);
}

/* One datagram, and the callers of which it is the cause: those that the socket of one has heard
 * are admitted, too. */
static int receive(struct zcrp_listener *l)
{
    struct callers callers;

    callers.socket = &l->socket;
    callers.count = 0;
    int result = listen_receive(&l->socket, hear, &callers);
    while (callers.count > 0) {
        const struct caller caller = callers.call[--callers.count].caller;
        struct guest guest = {
            .introduction = {.peer = caller.from, .first = callers.call[callers.count].hello}};
        if (reserve(l, &guest))
            enter(l, &guest,
                  listen_admit(&l->socket, &caller, &guest.introduction.fd, hear, &callers));
    }
    return result;
}

/* ---- callers that need keys ---- */

static void hear_handshake(void *context, const struct caller *caller, const uint8_t *datagram,
                           size_t size)
{
    struct zcrp_listener *l = context;

    reception_hear(l->reception, caller, datagram, size);
}

static void tell(void *context, const struct caller *caller, const uint8_t *datagram, size_t size)
{
    const struct zcrp_listener *l = context;

    listen_tell(&l->socket, caller, datagram, size);
}

/* Admits a caller at the end of its handshake. From then on its own socket hears what it sends.
 * What came before is heard here: it may be its first request, which is on the way when the
 * handshake ends. Whether that is genuine the connection will see. By the reception's thread alone.
 */
static void welcome(void *context, const struct caller *caller, struct admission *admission)
{
    struct zcrp_listener *l = context;
    struct guest guest = {.introduction = {.peer = caller->from, .admission = admission}};
    int result = 0;

    if (!reserve(l, &guest)) {
        admission_destroy(admission);
        return;
    }
    int error = listen_admit(&l->socket, caller, &guest.introduction.fd, hear_handshake, l);
    if (error)
        admission_destroy(admission);
    for (int i = 0; i < HEARD_BEHIND && !error && result == 0; i++)
        result = listen_receive(&l->socket, hear_handshake, l);
    reception_take_early(l->reception, &guest.introduction.first);
    enter(l, &guest, error);
}

static int open_reception(struct zcrp_listener *l)
{
    const struct reception_rules rules = {.keys = l->options.keys,
                                          .places = HANDSHAKES_MOST,
                                          .of_host = HANDSHAKES_OF_HOST,
                                          .at_once = HANDSHAKES_AT_ONCE,
                                          .limit = l->options.connect_ns,
                                          .context = l,
                                          .tell = tell,
                                          .welcome = welcome};

    return rules.keys != NULL ? reception_open(&l->reception, &rules) : 0;
}

/* ---- the engine's turn ---- */

static instant on_arrival(void *client)
{
    struct zcrp_listener *l = client;
    int result = 0;

    for (int i = 0; i < HEARD_AT_ONCE && result == 0; i++)
        result = l->reception != NULL ? listen_receive(&l->socket, hear_handshake, l) : receive(l);
    return result < 0 && result != -EAGAIN ? ENGINE_LEAVE_BE : ENGINE_ARM;
}

static void on_nothing(void *client)
{
    (void)client;
}

static const struct engine_duties duties = {on_arrival, on_nothing, on_nothing, on_nothing};

/* ---- opening ---- */

/* How hellos come to the socket; the options say it of each connection, too. What the caller's port
 * is does not count: a stranger may call from any. */
static int choose_channel(struct zcrp_options *options, struct listen_socket *socket)
{
    const struct channel_aal5 aal5 = options_of_half(options, false, socket->fd).aal5;

    options->channel = aal5.is_wanted ? ZCRP_CHANNEL_AAL5 : ZCRP_CHANNEL_DATAGRAM;
    if (!aal5.is_wanted)
        return ZCRP_OK;
    socket->label_in = aal5_label(aal5.in);
    socket->label_out = aal5_label(aal5.out);
    return aal5_is_possible(&aal5) ? ZCRP_OK : ZCRP_ERROR_ARGUMENT;
}

/* What the options point to is the caller's. False: no memory. */
static bool keep_options(struct zcrp_listener *l)
{
    if (l->options.stats_directory == NULL)
        return true;
    l->stats_directory = strdup(l->options.stats_directory);
    l->options.stats_directory = l->stats_directory;
    return l->stats_directory != NULL;
}

static int init(struct zcrp_listener *l)
{
    l->peers = peers_create(l->options.connections);
    l->backlog = calloc(l->options.backlog, sizeof(*l->backlog));
    bool has_options = keep_options(l);
    if (l->peers == NULL || l->backlog == NULL || !has_options)
        return ZCRP_ERROR_MEMORY;
    int error = listen_begin(&l->socket);
    if (!error)
        error = open_reception(l);
    if (error)
        return code_of_channel(error);
    error = engine_join(&l->member, ENGINE_RECEIVERS, &duties, l, l->socket.fd, l->socket.fd);
    if (error)
        return code_of_channel(error);
    engine_arm(&l->member);
    return ZCRP_OK;
}

static void destroy(struct zcrp_listener *l)
{
    if (l->is_on)
        wake_fini(&l->wake);
    reception_close(l->reception);
    mutex_fini(&l->mutex);
    peers_release(l->peers);
    free(l->stats_directory);
    free(l->backlog);
    free(l);
}

int zcrp_listen_sized(struct zcrp_listener **listener, const char *host, const char *port,
                      const struct zcrp_options *options, size_t options_size)
{
    struct zcrp_options complete;

    if (listener == NULL)
        return ZCRP_ERROR_ARGUMENT;
    *listener = NULL;
    int code = process_refusal(forked_generation());
    if (code == ZCRP_OK)
        code = options_complete(&complete, options, options_size);
    if (code != ZCRP_OK)
        return code;
    struct listen_socket socket = {.fd = zcrp_udp_listen(host, port)};
    if (socket.fd < 0)
        return socket.fd;
    code = choose_channel(&complete, &socket);
    if (code != ZCRP_OK)
        goto err0;
    process_watch_forks();
    struct zcrp_listener *l = calloc(1, sizeof(*l));
    code = ZCRP_ERROR_MEMORY;
    if (l == NULL)
        goto err0;
    l->generation = forked_generation();
    l->options = complete;
    l->socket = socket;
    mutex_init(&l->mutex);
    code = init(l);
    if (code != ZCRP_OK)
        goto err1;
    *listener = l;
    return ZCRP_OK;

err1:
    destroy(l);
err0:
    (void)close(socket.fd);
    return code;
}

/* ---- accepting ---- */

/* Who waits in zcrp_accept, and whom it gets. */
struct host {
    struct zcrp_listener *listener;
    struct guest guest;
};

/* Takes a guest, or tells the trouble: BUSY if there is neither. */
static int take(void *context)
{
    struct host *host = context;
    struct zcrp_listener *l = host->listener;
    int code = ZCRP_ERROR_BUSY;

    mutex_lock(&l->mutex);
    if (l->waiting > 0) {
        host->guest = l->backlog[l->first];
        l->first = (l->first + 1) % l->options.backlog;
        l->waiting--;
        code = ZCRP_OK;
    } else if (l->trouble != 0) {
        code = code_of_channel(l->trouble);
        l->trouble = 0;
    }
    if (l->is_on && !has_news(l))
        wake_clear(&l->wake);
    mutex_unlock(&l->mutex);
    return code;
}

int zcrp_accept(struct zcrp_listener *listener, struct zcrp_connection **connection,
                int64_t timeout_ns)
{
    struct host host = {.listener = listener};

    if (connection == NULL)
        return ZCRP_ERROR_ARGUMENT;
    *connection = NULL;
    if (listener == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int code = process_refusal(listener->generation);
    if (code != ZCRP_OK)
        return code;
    code = changes_await(&listener->changes, &listener->interrupt, take, &host,
                         clock_deadline(timeout_ns));
    if (code != ZCRP_OK)
        return code;
    const struct introduction *introduction = &host.guest.introduction;
    code = connection_make(connection, &listener->options, introduction);
    if (code == ZCRP_OK)
        (*connection)->peers = peers_hold(listener->peers);
    else
        peers_remove(listener->peers, &introduction->peer);
    return code;
}

/* ---- what is asked of one ---- */

int zcrp_listener_port(const struct zcrp_listener *listener)
{
    return listener == NULL ? ZCRP_ERROR_ARGUMENT : zcrp_udp_port(listener->socket.fd);
}

int zcrp_listener_descriptor(struct zcrp_listener *listener)
{
    struct zcrp_listener *l = listener;
    int error = 0;

    if (l == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int code = process_refusal(l->generation);
    if (code != ZCRP_OK)
        return code;
    mutex_lock(&l->mutex);
    if (!l->is_on) {
        error = wake_init(&l->wake);
        l->is_on = error == 0;
        if (l->is_on && has_news(l))
            wake_signal(&l->wake);
    }
    int fd = l->is_on ? wake_fd(&l->wake) : -1;
    mutex_unlock(&l->mutex);
    return error ? code_of_channel(error) : fd;
}

int zcrp_listener_stats_sized(struct zcrp_listener *listener, struct zcrp_listener_stats *stats,
                              size_t stats_size)
{
    struct zcrp_listener_stats known;

    if (listener == NULL || stats == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int code = process_refusal(listener->generation);
    if (code != ZCRP_OK)
        return code;
    mutex_lock(&listener->mutex);
    known = (struct zcrp_listener_stats){.admitted = listener->admitted,
                                         .dropped = listener->dropped,
                                         .connections = peers_count(listener->peers)};
    mutex_unlock(&listener->mutex);
    if (listener->reception != NULL) {
        struct reception_counts counts = reception_count(listener->reception);
        known.refused = counts.refused;
        known.dropped += counts.dropped;
    }
    memset(stats, 0, stats_size);
    memcpy(stats, &known, stats_size < sizeof(known) ? stats_size : sizeof(known));
    return ZCRP_OK;
}

int zcrp_listener_interrupt(struct zcrp_listener *listener)
{
    if (listener == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (listener->generation != forked_generation())
        return ZCRP_ERROR_FORKED;
    interrupt_raise(&listener->interrupt);
    return ZCRP_OK;
}

static void close_sockets(struct zcrp_listener *l)
{
    (void)close(l->socket.fd);
    for (uint32_t i = 0; i < l->waiting; i++) {
        struct guest *guest = &l->backlog[(l->first + i) % l->options.backlog];
        (void)close(guest->introduction.fd);
        admission_destroy(guest->introduction.admission);
    }
}

/* The mutexes may be held by threads that this process does not have. */
static void abandon(struct zcrp_listener *l)
{
    close_sockets(l);
    if (l->is_on)
        wake_fini(&l->wake);
    reception_abandon(l->reception);
    peers_abandon(l->peers);
    free(l->stats_directory);
    free(l->backlog);
    free(l);
}

int zcrp_listener_close(struct zcrp_listener *listener)
{
    struct zcrp_listener *l = listener;

    if (l == NULL)
        return ZCRP_OK;
    int code = process_refusal(l->generation);
    if (code == ZCRP_ERROR_FORKED) {
        abandon(l);
        return ZCRP_OK;
    }
    if (code != ZCRP_OK)
        return code;
    engine_leave(&l->member);
    reception_close(l->reception);
    l->reception = NULL;
    close_sockets(l);
    destroy(l);
    return ZCRP_OK;
}
