/* A listener: a socket that any number of peers connect to, and connections to those that have been
 * admitted and not accepted yet. The engine's receiving thread hears the socket, and makes the
 * connections; zcrp_accept takes them from the peers.
 *
 *     callers --hear--> a socket, a connection --> [ peers ] --zcrp_accept--> the user's
 *                                                      \---- nobody accepts --> turned away
 *
 * Where callers need keys, the thread of the pending handshakes admits them (pending.h). */
#include "listener.h"
#include "connection.h"
#include "handshake/pending.h"
#include "link/codes.h"
#include "link/options.h"
#include "link/process.h"
#include "listen.h"
#include "peers.h"
#include "platform/sleep.h"
#include "sessions.h"
#include "transport/channel.h"
#include "transport/keyed_hash.h"
#include "transport/names.h"
#include "workers/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEARD_AT_ONCE = 256,  /* datagrams, in one turn, */
    SERVED_AT_ONCE = 8,   /* and callers: then others that the engine's thread serves have theirs */
    HEARD_BEHIND = 64,    /* behind somebody with keys who is admitted */
    CALLERS_AT_ONCE = 17, /* without keys: one, and others that its socket has heard */
};

/* Of callers that need keys. */
enum { HANDSHAKES_MOST = 64, HANDSHAKES_OF_HOST = 16, HANDSHAKES_AT_ONCE = 32 };

/* All (c) from open to close. */
struct zcrp_listener {
    uint32_t generation;
    struct zcrp_options options; /* complete; of each connection */
    char *stats_directory;       /* of the options: the listener's own copy; NULL: none */
    struct listen_socket socket;
    struct peers *peers;     /* held */
    struct pending *pending; /* of callers that need keys; NULL: they need none. Their datagrams
                                are read and heard under `hearing` */
    struct mutex hearing;
    struct engine_member member;
};

/* ---- those that wait to be accepted ---- */

/* The engine is to call when the connection that came first has waited for too long. */
static void watch_oldest(struct zcrp_listener *l)
{
    instant since;
    uint32_t asked = peers_oldest(l->peers, &since);

    engine_due(&l->member, since == NEVER ? NEVER : since + l->options.accept_ns, asked);
}

/* A connection that nobody accepts for so long is at an end: its caller has to know, and
 * others get its place. */
static void on_due(void *client)
{
    struct zcrp_listener *l = client;
    struct zcrp_connection *c;

    while ((c = peers_take_late(l->peers, clock_now() - l->options.accept_ns)) != NULL)
        connection_turn_away(c);
    watch_oldest(l);
}

/* ---- admitting ---- */

/* Is that what this process or its system lacks, and not what is wrong with one peer? */
static bool is_own_lack(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

/* Makes a socket for a caller, for which there is room; false if that failed. Then the caller is
 * forgotten, and may connect again. */
static bool make_socket(struct zcrp_listener *l, const struct caller *caller,
                        struct accept_info *info, listen_hear hear, void *context)
{
    int error = listen_admit(&l->socket, caller, &info->fd, hear, context);

    if (!error)
        return true;
    peers_forget(l->peers, &caller->from);
    if (is_own_lack(error))
        peers_lack(l->peers, error);
    return false;
}

/* Makes the connection of a caller that has its socket, and has it accepted. It is up from then on.
 * False if that failed, as make_socket. One on another host is apart where messages have to go from
 * memory to memory: this process lacks nothing. */
static bool admit(struct zcrp_listener *l, struct accept_info *info)
{
    struct zcrp_connection *c;

    info->peers = peers_hold(l->peers);
    int code = connection_make(&c, &l->options, info);
    if (code != ZCRP_OK) {
        if (code != ZCRP_ERROR_APART)
            peers_lack(l->peers, code == ZCRP_ERROR_MEMORY ? -ENOMEM : -errno);
        return false;
    }
    peers_admit(l->peers, c, &info->peer, clock_now());
    watch_oldest(l);
    return true;
}

/* ---- hearing ---- */

/* Callers without keys who have brought their cookie back, and what they said. */
struct callers {
    const struct listen_socket *socket;
    uint32_t count;
    struct {
        struct caller caller;
        struct datagram_copy hello;
    } one[CALLERS_AT_ONCE];
};

static void hear(void *context, const struct caller *caller, const uint8_t *datagram, size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    struct callers *callers = context;
    uint8_t answer[TRAILER_BYTES];
    size_t bytes = 0;
    enum listening what = listening_hear(&jar, address_number(&caller->from), clock_now(), datagram,
                                         size, answer, &bytes);

    if (what == LISTENING_ANSWERS)
        listen_tell(callers->socket, caller, answer, bytes);
    if (what != LISTENING_ACCEPTS || callers->count == CALLERS_AT_ONCE)
        return;
    callers->one[callers->count].caller = *caller;
    datagram_copy_set(&callers->one[callers->count++].hello, datagram, size);
}

/* One datagram, and the callers of which it is the cause: those that the socket of one has heard
 * are admitted, too, up to a limit: others call again. As listen_receive; `*served` counts those
 * for which room was looked for, whether there was some or not. */
static int receive(struct zcrp_listener *l, int *served)
{
    struct callers callers;

    callers.socket = &l->socket;
    callers.count = 0;
    int result = listen_receive(&l->socket, hear, &callers);
    while (callers.count > 0 && *served < SERVED_AT_ONCE + CALLERS_AT_ONCE) {
        const struct caller caller = callers.one[--callers.count].caller;
        struct accept_info info = {.peer = caller.from, .hello = callers.one[callers.count].hello};
        (*served)++;
        if (peers_reserve(l->peers, &caller.from) && make_socket(l, &caller, &info, hear, &callers))
            (void)admit(l, &info);
    }
    return result;
}

/* ---- callers that need keys ---- */

static void hear_handshake(void *context, const struct caller *caller, const uint8_t *datagram,
                           size_t size)
{
    struct zcrp_listener *l = context;

    if (!sessions_post(peers_sessions(l->peers), &caller->from, datagram, size))
        pending_hear(l->pending, caller, datagram, size);
}

static void send_answer(void *context, const struct caller *caller, const uint8_t *datagram,
                        size_t size)
{
    const struct zcrp_listener *l = context;

    listen_tell(&l->socket, caller, datagram, size);
}

static bool has_room(void *context, const struct caller *caller)
{
    const struct zcrp_listener *l = context;

    return peers_have_room(l->peers, &caller->from);
}

/* Admits a caller at the end of its handshake. From then on the caller has a socket of its own.
 * False: there is no room, no socket, or no memory. This reads what the caller sent before, its
 * first request or first units, and hands them to the connection, which finds out whether they are
 * genuine. Only the thread of the pending handshakes calls this. */
static bool on_success(void *context, const struct caller *caller,
                       struct session_keys *session_keys)
{
    struct zcrp_listener *l = context;
    struct datagram_queue early;
    struct accept_info info = {.peer = caller->from, .session_keys = session_keys, .early = &early};
    int result = 0;

    if (!peers_reserve(l->peers, &caller->from) ||
        !make_socket(l, caller, &info, hear_handshake, l)) {
        session_keys_destroy(session_keys);
        return false;
    }
    mutex_lock(&l->hearing); /* nothing of the caller is read, and not heard */
    for (int i = 0; i < HEARD_BEHIND && result == 0; i++)
        result = listen_receive(&l->socket, hear_handshake, l);
    pending_take_early(l->pending, &early);
    mutex_unlock(&l->hearing);
    return admit(l, &info);
}

static int open_pending(struct zcrp_listener *l)
{
    const struct pending_rules rules = {
        .keys = l->options.keys,
        .places = HANDSHAKES_MOST,
        .of_host = HANDSHAKES_OF_HOST,
        .at_once = HANDSHAKES_AT_ONCE,
        .limit = HANDSHAKE_LIMIT,
        .credit = {.count = l->options.first_messages, .size = l->options.first_bytes},
        .context = l,
        .send = send_answer,
        .has_room = has_room,
        .on_success = on_success};

    return rules.keys != NULL ? pending_open(&l->pending, &rules) : 0;
}

/* ---- the engine's turn ---- */

static int hear_next(struct zcrp_listener *l, int *served)
{
    if (l->pending == NULL)
        return receive(l, served);
    mutex_lock(&l->hearing);
    int result = listen_receive(&l->socket, hear_handshake, l);
    mutex_unlock(&l->hearing);
    return result;
}

/* What is there still when the turn ends brings the next one. */
static instant on_arrival(void *client)
{
    struct zcrp_listener *l = client;
    int result = 0, served = 0;

    for (int i = 0; i < HEARD_AT_ONCE && served < SERVED_AT_ONCE && result == 0; i++)
        result = hear_next(l, &served);
    return result < 0 && result != -EAGAIN ? ENGINE_LEAVE_BE : ENGINE_ARM;
}

static void on_nothing(void *client)
{
    (void)client;
}

static const struct engine_duties duties = {
    .arrive = on_arrival, .writable = on_nothing, .send = on_nothing, .expire = on_due};

/* ---- opening ---- */

/* How hellos come to the socket; the options say it of each connection, too. What the caller's port
 * is does not count: a stranger may connect from any. Hellos are datagrams also where messages have
 * to go from memory to memory. */
static int choose_channel(struct zcrp_options *options, struct listen_socket *socket)
{
    const struct channel_aal5 aal5 = options_of_channel(options, false, true, socket->fd).aal5;

    if (aal5.is_wanted)
        options->channel = ZCRP_CHANNEL_AAL5;
    else if (options->channel != ZCRP_CHANNEL_MEMORY)
        options->channel = ZCRP_CHANNEL_DATAGRAM;
    if (!aal5.is_wanted)
        return ZCRP_OK;
    socket->label_in = aal5_label(aal5.in);
    socket->label_out = aal5_label(aal5.out);
    return aal5_is_possible(&aal5) ? ZCRP_OK : options_refuse_aal5(options, true);
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

static int init(struct zcrp_listener *l, const char *host, const char *port)
{
    l->socket.fd = zcrp_udp_listen(host, port);
    if (l->socket.fd < 0)
        return l->socket.fd;
    int code = choose_channel(&l->options, &l->socket);
    if (code != ZCRP_OK)
        return code;
    l->peers = peers_create(l->options.connections, l->options.backlog);
    if (l->peers == NULL || !keep_options(l))
        return ZCRP_ERROR_MEMORY;
    int error = listen_begin(&l->socket);
    if (!error)
        error = open_pending(l);
    if (!error)
        error = engine_join(&l->member, ENGINE_RECEIVERS, &duties, l, l->socket.fd, l->socket.fd);
    if (error)
        return code_of_channel(error);
    engine_arm(&l->member);
    return ZCRP_OK;
}

/* Fine for one that was not opened to the end. In a child threads that are not there may hold
 * mutexes. */
static void destroy(struct zcrp_listener *l, bool is_in_child)
{
    bool has_joined = l->member.engine != NULL && !is_in_child;

    if (has_joined)
        engine_stop(&l->member); /* no turn hears the socket any more, */
    pending_close(l->pending, is_in_child);
    if (has_joined)
        engine_leave(&l->member); /* and nobody else has anything for the engine */
    if (l->socket.fd >= 0)
        (void)close(l->socket.fd);
    peers_close(l->peers, is_in_child);
    if (!is_in_child)
        mutex_fini(&l->hearing);
    free(l->stats_directory);
    free(l);
}

/* With complete options. What has keys holds them from then on. */
static int open_listener(struct zcrp_listener **listener, const char *host, const char *port,
                         const struct zcrp_options *complete)
{
    struct zcrp_listener *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return ZCRP_ERROR_MEMORY;
    l->generation = forked_generation();
    mutex_init(&l->hearing);
    l->options = *complete;
    int code = init(l, host, port);
    if (code == ZCRP_OK) {
        *listener = l;
        return ZCRP_OK;
    }
    int error = errno;
    destroy(l, false);
    errno = error;
    return code;
}

int zcrp_listen_sized(struct zcrp_listener **listener, const char *host, const char *port,
                      const struct zcrp_options *options, size_t options_size)
{
    struct zcrp_options complete;

    if (listener == NULL)
        return code_of_null("listener");
    *listener = NULL;
    int code = process_refusal(forked_generation());
    if (code == ZCRP_OK)
        code = options_complete(&complete, options, options_size);
    if (code != ZCRP_OK)
        return code;
    process_watch_forks();
    code = open_listener(listener, host, port, &complete);
    options_release(&complete);
    return code;
}

/* ---- accepting ---- */

int zcrp_accept(struct zcrp_listener *listener, struct zcrp_connection **connection,
                int64_t timeout_ns)
{
    if (connection == NULL)
        return code_of_null("connection");
    *connection = NULL;
    if (listener == NULL)
        return code_of_null("listener");
    int code = process_refusal(listener->generation);
    if (code == ZCRP_OK)
        code = peers_take(listener->peers, connection, clock_deadline(timeout_ns));
    return code;
}

/* ---- what is asked of one ---- */

struct peers *listener_peers(const struct zcrp_listener *l)
{
    return l->peers;
}

uint32_t listener_generation(const struct zcrp_listener *l)
{
    return l->generation;
}

int zcrp_listener_port(const struct zcrp_listener *listener)
{
    return listener == NULL ? code_of_null("listener") : zcrp_udp_port(listener->socket.fd);
}

int zcrp_listener_descriptor(struct zcrp_listener *listener)
{
    if (listener == NULL)
        return code_of_null("listener");
    int code = process_refusal(listener->generation);
    if (code != ZCRP_OK)
        return code;
    int fd = peers_descriptor(listener->peers);
    return fd < 0 ? code_of_channel(fd) : fd;
}

int zcrp_listener_stats_sized(struct zcrp_listener *listener, struct zcrp_listener_stats *stats,
                              size_t stats_size)
{
    struct zcrp_listener_stats known = {.admitted = 0};

    if (listener == NULL || stats == NULL)
        return code_of_null(listener == NULL ? "listener" : "stats");
    int code = process_refusal(listener->generation);
    if (code != ZCRP_OK)
        return code;
    peers_add_stats(listener->peers, &known);
    if (listener->pending != NULL) {
        struct pending_counts counts = pending_count(listener->pending);
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
    peers_interrupt(listener->peers);
    return ZCRP_OK;
}

int zcrp_listener_close(struct zcrp_listener *listener)
{
    if (listener == NULL)
        return ZCRP_OK;
    int code = process_refusal(listener->generation);
    if (code != ZCRP_OK && code != ZCRP_ERROR_FORKED)
        return code;
    if (code == ZCRP_OK)
        (void)peers_leave_queue(listener->peers, NULL);
    destroy(listener, code == ZCRP_ERROR_FORKED);
    return ZCRP_OK;
}
