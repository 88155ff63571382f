#include "ends.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "common/environment.h"
#include "common/signals.h"

enum {
    DESCRIPTORS_SPARE = 64, /* the library's, and the process's own */
    UNHEARD_SHARE = 5,      /* of the time that a client may be idle */
    WORD_ROOM = 64,
};

static const int64_t second_ns = 1000000000;

struct client {
    struct server *server;
    struct line line;
    struct crew crew;
    uint64_t moved;    /* messages and bytes, when it was last looked at */
    int64_t active_ns; /* when that had changed, or when it was told to give way */
    atomic_bool gives_way;
    atomic_bool is_heard; /* it has said what it wants */
};

int server_clients(void)
{
    uint64_t most = environment_descriptors();

    if (most < DESCRIPTORS_SPARE + 2 * SERVER_DESCRIPTORS)
        return 1;
    most = (most - DESCRIPTORS_SPARE) / SERVER_DESCRIPTORS;
    return most < SERVER_CLIENTS_MOST ? (int)most : SERVER_CLIENTS_MOST;
}

/* ---- one client ---- */

/* Nobody looks at its line any more, and then it has left. */
static void forget(struct client *client)
{
    struct server *server = client->server;

    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < SERVER_CLIENTS_MOST; i++) {
        if (server->clients[i] == client)
            server->clients[i] = NULL;
    }
    pthread_mutex_unlock(&server->lock);
    line_fini(&client->line);
    free(client);
    pthread_mutex_lock(&server->lock);
    server->count--;
    pthread_cond_signal(&server->left);
    pthread_mutex_unlock(&server->lock);
}

/* Adds a line to the log: when, who, what. */
static void tell(const struct client *client, const char *what)
{
    char when[WORD_ROOM] = "", peer[WORD_ROOM] = "somebody", name[ZCRP_KEYS_IDENTITY_MOST + 1];
    char shown[sizeof(name) * 4];
    time_t now = time(NULL);
    struct tm date;

    if (client->server->log == NULL)
        return;
    if (gmtime_r(&now, &date) != NULL)
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &date);
    (void)zcrp_connection_peer(client->line.connection, peer, sizeof(peer));
    if (zcrp_connection_identity(client->line.connection, name, sizeof(name)) != 0)
        (void)strcpy(name, "no key");
    escape(shown, sizeof(shown), text_of(name));
    (void)fprintf(client->server->log, "%s %s (%s) %s\n", when, peer, shown, what);
    (void)fflush(client->server->log);
}

static void run(struct client *client, struct session *session)
{
    struct progress progress = {.only_counts = true};
    char what[SESSION_TOLD_ROOM], line[sizeof(what) + COMPLAIN_ROOM + 200];
    bool has_more = session_describe(session, what);

    progress_start(&progress);
    enum line_end end = session_run(session, &client->line, &client->crew, &progress);
    const char *why = end == LINE_FINE     ? ""
                      : end == LINE_FAILED ? complain_last()
                      : client->gives_way  ? "it gave way to another client"
                                           : "the server ended";
    (void)snprintf(line, sizeof(line),
                   "%s: %" PRIu64 " copied, %" PRIu64 " there already, %" PRIu64 " failed, %" PRIu64
                   " bytes in %.2f s%s%s",
                   what, progress.copied, progress.skipped, progress.failed, progress.moved,
                   progress_seconds(&progress), why[0] != '\0' ? "; " : "", why);
    tell(client, has_more ? line : what);
}

static void *serve(void *context)
{
    struct client *client = context;
    const struct session_rules *rules = &client->server->rules;
    struct session *session;

    (void)pthread_setname_np(pthread_self(), "zcrp-cp serve");
    if (crew_init(&client->crew, "zcrp-cp crew", CREW_THREADS) == 0) {
        if (session_hear(&client->line, rules, &session) == 0) {
            atomic_store(&client->is_heard, true);
            run(client, session);
        } else {
            tell(client, "did not say what it wants");
        }
        crew_fini(&client->crew);
    } else {
        tell(client, "was turned away: there are no more threads");
    }
    forget(client);
    return NULL;
}

/* One without memory, or a thread, is turned away. There is a place. */
static void begin(struct server *server, struct zcrp_connection *connection)
{
    struct client *client = calloc(1, sizeof(*client));
    pthread_t thread;
    int i = 0;

    if (client == NULL) {
        (void)zcrp_connection_close(connection);
        return;
    }
    client->server = server;
    client->active_ns = clock_now_ns();
    line_init(&client->line, connection);
    pthread_mutex_lock(&server->lock);
    while (server->clients[i] != NULL)
        i++;
    server->clients[i] = client;
    server->count++;
    pthread_mutex_unlock(&server->lock);
    if (pthread_create(&thread, NULL, serve, client) == 0)
        (void)pthread_detach(thread);
    else
        forget(client);
}

/* ---- when there is no place ---- */

static uint64_t moved(struct zcrp_entity *entity)
{
    struct zcrp_stats stats;

    return zcrp_stats(entity, &stats) == 0 ? stats.messages + stats.bytes_arrived : 0;
}

/* Looks at all clients. The one that has been idle for the longest time; NULL: none has for long
 * enough, or one was just told to give way. One that connects says at once what it wants, unless it
 * has given up while it waited in the listener. Under the lock. */
static struct client *find_idle(struct server *server)
{
    struct client *idle = NULL;
    int64_t now = clock_now_ns();
    bool gives_way = false;

    for (int i = 0; i < SERVER_CLIENTS_MOST; i++) {
        struct client *client = server->clients[i];

        if (client == NULL)
            continue;
        if (client->gives_way) { /* one that is stopped may take as long as it likes */
            gives_way = gives_way || now - client->active_ns < server->idle_ns;
            continue;
        }
        uint64_t all = moved(client->line.sender) + moved(client->line.receiver);
        int64_t most_ns = server->idle_ns / (atomic_load(&client->is_heard) ? 1 : UNHEARD_SHARE);
        if (all != client->moved)
            client->active_ns = now;
        client->moved = all;
        if (now - client->active_ns >= most_ns &&
            (idle == NULL || client->active_ns < idle->active_ns))
            idle = client;
    }
    return gives_way ? NULL : idle;
}

/* Waits until a client has left, or for some time. Under the lock. */
static void wait_for_place(struct server *server, int64_t ns)
{
    int64_t end = clock_now_ns() + ns;
    struct timespec time = {.tv_sec = end / second_ns, .tv_nsec = end % second_ns};

    (void)pthread_cond_timedwait(&server->left, &server->lock, &time);
}

/* Waits until there is a place. */
static void make_place(struct server *server)
{
    struct pollfd calls = {.fd = zcrp_listener_descriptor(server->listener), .events = POLLIN};
    int64_t look_ns = server->idle_ns / 4 < second_ns ? server->idle_ns / 4 : second_ns;

    pthread_mutex_lock(&server->lock);
    while (server->count >= server->clients_most && !atomic_load(&server->is_stopped)) {
        struct client *idle = find_idle(server);

        if (idle != NULL && poll(&calls, 1, 0) > 0) {
            idle->gives_way = true;
            idle->active_ns = clock_now_ns();
            line_end_waits(&idle->line, LINE_INTERRUPTED);
        }
        wait_for_place(server, look_ns);
    }
    pthread_mutex_unlock(&server->lock);
}

/* ---- all of them ---- */

static void init(struct server *server)
{
    pthread_condattr_t attributes;

    memset(server->clients, 0, sizeof(server->clients));
    server->count = 0;
    (void)pthread_mutex_init(&server->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&server->left, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

static void fini(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < SERVER_CLIENTS_MOST; i++) {
        if (server->clients[i] != NULL)
            line_end_waits(&server->clients[i]->line, LINE_INTERRUPTED);
    }
    while (server->count > 0)
        wait_for_place(server, second_ns);
    pthread_mutex_unlock(&server->lock);
    (void)pthread_cond_destroy(&server->left);
    (void)pthread_mutex_destroy(&server->lock);
}

int server_run(struct server *server)
{
    int code = 0;

    init(server);
    while (code == 0 || code == ZCRP_ERROR_MEMORY || code == ZCRP_ERROR_SYSTEM) {
        struct zcrp_connection *connection = NULL;

        make_place(server);
        code = zcrp_accept(server->listener, &connection, -1);
        if (code == 0)
            begin(server, connection);
        else
            (void)usleep(100000);
    }
    fini(server);
    return code;
}

/* ---- as the user starts it ---- */

/* Static: the handler knows it. */
static struct server server;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&server.is_stopped, true);
    (void)zcrp_listener_interrupt(server.listener);
}

int server_serve(const struct options *options)
{
    server.rules.is_read_only = options->is_read_only;
    server.rules.directory = open(options->serve, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    server.clients_most = server_clients();
    server.idle_ns = 10 * second_ns;
    if (server.rules.directory < 0) {
        (void)complain("%s: %s", options->serve, strerror(errno));
        return STATUS_SOME_FAILED;
    }
    const struct zcrp_options zcrp = {.connections = 2 * SERVER_CLIENTS_MOST,
                                      .keys = meeting_server_keys(options->keys)};
    if (meeting_listen(&server.listener, options->address,
                       options->port > 0 ? options->port : PORT_OF_SERVERS, &zcrp) != 0)
        return STATUS_BROKEN;
    if (!options->is_quiet) {
        printf("zcrp-cp serves %s on UDP port %d\n", options->serve,
               zcrp_listener_port(server.listener));
        fflush(stdout);
        server.log = stdout;
    }
    signals_catch_ends(on_signal, (int)SA_RESETHAND); /* the second one ends the process at once */
    complain_silently(); /* of a client's trouble there is a line in the log */
    int code = server_run(&server);
    if (code == ZCRP_ERROR_INTERRUPTED)
        return STATUS_FINE;
    fprintf(stderr, "zcrp-cp: the server ended: %s\n", zcrp_explain(code));
    return STATUS_BROKEN;
}
