#include "far.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/environment.h"
#include "meeting.h"
#include "remote.h"
#include "session.h"

enum { PORT_ROOM = 8, SESSIONS_MOST = 64 };

static const int64_t second_ns = 1000000000;

/* ---- one copy ---- */

struct far {
    struct meeting meeting;
    struct zcrp_listener *sealed; /* with the key */
    struct zcrp_listener *memory; /* by memory; NULL: none */
    struct crew crew;
};

/* Static: the watching thread knows it until the process ends. */
static struct line line;

static int read_meeting(struct meeting *meeting)
{
    char text[MEETING_ROOM];
    int status = 0;

    if (fgets(text, sizeof(text), stdin) == NULL || !meeting_read(meeting, text))
        status = complain("--far is for zcrp-cp itself, of the same version");
    explicit_bzero(text, sizeof(text));
    return status;
}

static int listen_sealed(struct far *far)
{
    struct zcrp_options options = {.keys = meeting_keys(&far->meeting)};
    char port[PORT_ROOM];

    if (options.keys == NULL)
        return -1;
    (void)snprintf(port, sizeof(port), "%u", (unsigned)far->meeting.port);
    int code = zcrp_listen(&far->sealed, NULL, port, &options);
    zcrp_keys_free(options.keys);
    return code == 0 ? 0 : complain("cannot listen on port %s: %s", port, zcrp_strerror(code));
}

/* Without it, all goes over the other. */
static void listen_memory(struct far *far)
{
    const struct zcrp_options options = {.channel = ZCRP_CHANNEL_MEMORY};

    if (far->meeting.host != meeting_host() || environment_is_set("ZCRP_NO_MEMORY") ||
        zcrp_listen(&far->memory, "127.0.0.1", "0", &options) != 0)
        far->memory = NULL;
}

static int tell_ports(const struct far *far)
{
    char text[MEETING_ROOM];
    int memory = far->memory != NULL ? zcrp_listener_port(far->memory) : 0;

    meeting_write_ports((uint16_t)zcrp_listener_port(far->sealed), (uint16_t)memory, text);
    return fputs(text, stdout) >= 0 && fflush(stdout) == 0
               ? 0
               : complain("cannot answer: %s", strerror(errno));
}

/* The next that calls, at either; or NULL, and it was complained of. */
static struct zcrp_connection *accept_either(const struct far *far, bool *is_memory)
{
    struct zcrp_connection *connection = NULL;
    struct pollfd places[2] = {
        {.fd = zcrp_listener_descriptor(far->sealed), .events = POLLIN},
        {.fd = far->memory != NULL ? zcrp_listener_descriptor(far->memory) : -1, .events = POLLIN},
    };
    enum { PATIENCE_MS = 60000, STEP_MS = 200 };

    for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
        int count = poll(places, 2, STEP_MS);

        if (atomic_load(&line.stop) != LINE_GOES)
            return NULL;
        *is_memory = (places[1].revents & POLLIN) != 0;
        if (count > 0 && zcrp_accept(*is_memory ? far->memory : far->sealed, &connection, 0) == 0)
            return connection;
    }
    (void)complain("the near end has not connected: does a firewall drop UDP?");
    return NULL;
}

/* Whoever calls by memory without the proof is a stranger, and the near end may still come. */
static enum line_end serve_first(struct far *far)
{
    const struct session_rules rules = {
        .directory = -1,
        .near_proof = far->meeting.near_proof,
        .far_proof = far->meeting.far_proof,
    };
    bool is_memory = false, was_opened = false;
    enum line_end end = LINE_FAILED;

    while (!was_opened) {
        struct zcrp_connection *connection = accept_either(far, &is_memory);

        if (connection == NULL)
            return LINE_FAILED;
        int stop = atomic_load(&line.stop);
        line_init(&line, connection);
        atomic_store(&line.stop, stop);
        end =
            session_serve(&line, &far->crew, &rules, (is_memory ? 1 : 10) * second_ns, &was_opened);
        line_fini(&line);
        if (!is_memory)
            break;
    }
    return end;
}

int far_run(void)
{
    static struct far far;
    int status = STATUS_BROKEN;

    if (read_meeting(&far.meeting) != 0)
        return STATUS_USAGE;
    if (crew_init(&far.crew) != 0) {
        (void)complain("cannot start threads: %s", strerror(errno));
        return STATUS_BROKEN;
    }
    if (listen_sealed(&far) == 0) {
        listen_memory(&far);
        if (tell_ports(&far) == 0 && remote_watch_near(&line) == 0 &&
            serve_first(&far) == LINE_FINE)
            status = STATUS_FINE;
    }
    (void)zcrp_listener_close(far.memory);
    (void)zcrp_listener_close(far.sealed);
    crew_fini(&far.crew);
    meeting_forget(&far.meeting);
    return status;
}

/* ---- a server ---- */

static atomic_int session_count;

struct client {
    struct line line;
    struct crew crew;
    struct session_rules rules;
};

static void *serve_client(void *context)
{
    struct client *client = context;
    bool was_opened;

    (void)pthread_setname_np(pthread_self(), "zcrp-cp serve");
    if (crew_init(&client->crew) == 0) {
        (void)session_serve(&client->line, &client->crew, &client->rules, 10 * second_ns,
                            &was_opened);
        crew_fini(&client->crew);
    }
    line_fini(&client->line);
    free(client);
    atomic_fetch_sub(&session_count, 1);
    return NULL;
}

/* A client of its own thread. One too many, or one without memory, is turned away. */
static void begin_client(struct zcrp_connection *connection, const struct session_rules *rules)
{
    struct client *client = calloc(1, sizeof(*client));
    pthread_t thread;

    if (client == NULL || atomic_load(&session_count) >= SESSIONS_MOST) {
        (void)zcrp_connection_close(connection);
        free(client);
        return;
    }
    line_init(&client->line, connection);
    client->rules = *rules;
    atomic_fetch_add(&session_count, 1);
    if (pthread_create(&thread, NULL, serve_client, client) == 0) {
        (void)pthread_detach(thread);
        return;
    }
    atomic_fetch_sub(&session_count, 1);
    line_fini(&client->line);
    free(client);
}

static int listen_for_clients(const struct options *options, struct zcrp_listener **listener)
{
    struct zcrp_options how = {.connections = 2 * SESSIONS_MOST};
    char port[PORT_ROOM];
    int code = zcrp_keys_read(&how.keys, options->keys);

    if (code != 0)
        return complain("%s: %s", options->keys, zcrp_strerror(code));
    (void)snprintf(port, sizeof(port), "%u",
                   (unsigned)(options->port > 0 ? options->port : PORT_OF_SERVERS));
    code = zcrp_listen(listener, options->address, port, &how);
    zcrp_keys_free(how.keys);
    return code == 0 ? 0 : complain("cannot listen on port %s: %s", port, zcrp_strerror(code));
}

int far_serve(const struct options *options)
{
    struct zcrp_listener *listener = NULL;
    struct session_rules rules = {.is_read_only = options->is_read_only};

    rules.directory = open(options->serve, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rules.directory < 0) {
        (void)complain("%s: %s", options->serve, strerror(errno));
        return STATUS_SOME_FAILED;
    }
    if (listen_for_clients(options, &listener) != 0)
        return STATUS_BROKEN;
    if (!options->is_quiet) {
        printf("zcrp-cp serves %s on UDP port %d\n", options->serve, zcrp_listener_port(listener));
        fflush(stdout);
    }
    for (;;) {
        struct zcrp_connection *connection = NULL;
        int code = zcrp_accept(listener, &connection, -1);

        if (code == 0)
            begin_client(connection, &rules);
        else if (code != ZCRP_ERROR_MEMORY && code != ZCRP_ERROR_SYSTEM)
            break;
        else
            (void)usleep(100000);
    }
    (void)complain("the server ended");
    return STATUS_BROKEN;
}
