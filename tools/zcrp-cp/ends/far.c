#include "ends.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callers.h"
#include "common/complain.h"
#include "common/environment.h"
#include "meeting.h"
#include "remote.h"
#include "server.h"
#include "session.h"

enum { PORT_ROOM = 8 };

static const int64_t second_ns = 1000000000, patience_ns = 60000000000;

/* ---- one copy ---- */

struct far {
    struct meeting meeting;
    struct zcrp_listener *sealed; /* with the key */
    struct zcrp_listener *memory; /* by memory; NULL: none */
    struct session_rules rules;
    struct callers callers; /* of the latter */
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
    if (code != 0)
        (void)complain("cannot listen on UDP port %s: %s", port, zcrp_explain(code));
    zcrp_keys_free(options.keys);
    return code == 0 ? 0 : -1;
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

/* The near end has connected to the sealed listener: nobody else has the key. */
static struct session *hear_sealed(struct far *far)
{
    struct session *session = NULL;
    struct zcrp_connection *connection = NULL;

    if (zcrp_accept(far->sealed, &connection, 0) != 0)
        return NULL;
    line_init(&line, connection);
    (void)session_hear(&line, &far->rules, 10 * second_ns, &session);
    if (session == NULL)
        line_end_waits(&line, LINE_LEFT);
    return session;
}

/* Somebody has connected to the other one, or has shown the proof there. */
static struct session *hear_memory(struct far *far, bool has_connected)
{
    struct zcrp_connection *connection = NULL;

    if (has_connected && zcrp_accept(far->memory, &connection, 0) == 0)
        callers_add(&far->callers, connection);
    struct session *session = callers_take(&far->callers, &connection);
    if (session != NULL)
        line_init(&line, connection);
    return session;
}

/* Waits for the near end at both listeners. What it wants, and it has the line; or NULL, and it was
 * complained of, unless the line has ended. */
static struct session *hear_near(struct far *far)
{
    enum { STEP_MS = 200 };
    struct session *session = NULL;
    struct pollfd places[3] = {
        {.fd = zcrp_listener_descriptor(far->sealed), .events = POLLIN},
        {.fd = far->callers.changed, .events = POLLIN},
        {.events = POLLIN},
    };

    for (int64_t end = line_now_ns() + patience_ns; session == NULL && line_now_ns() < end;) {
        bool may_call = far->memory != NULL && callers_have_room(&far->callers);

        places[2].fd = may_call ? zcrp_listener_descriptor(far->memory) : -1;
        int count = poll(places, 3, STEP_MS);
        if (atomic_load(&line.stop) != LINE_GOES)
            return NULL;
        if (count > 0 && (places[0].revents & POLLIN) != 0)
            session = hear_sealed(far);
        else if (count > 0)
            session = hear_memory(far, may_call && (places[2].revents & POLLIN) != 0);
    }
    if (session == NULL && atomic_load(&line.stop) == LINE_GOES)
        (void)complain("the near end has not connected: does a firewall drop UDP?");
    return session;
}

/* Whoever connects by memory without the proof is a stranger, and is heard no more once the near
 * end is there. */
static enum line_end serve_near(struct far *far)
{
    enum line_end end = LINE_FAILED;
    struct session *session = NULL;

    if (callers_init(&far->callers, &far->rules) == 0)
        session = hear_near(far);
    else
        (void)complain("cannot hear the near end: %s", strerror(errno));
    callers_end(&far->callers);
    (void)zcrp_listener_close(far->memory);
    far->memory = NULL;
    if (session != NULL)
        end = session_run(session, &line, &far->crew, NULL);
    /* A close would wait for the answer of somebody who is gone. */
    if (atomic_load(&line.stop) == LINE_INTERRUPTED)
        _exit(end == LINE_FINE ? STATUS_FINE : STATUS_BROKEN);
    if (line.connection != NULL)
        line_fini(&line);
    callers_fini(&far->callers);
    return end;
}

int far_run(void)
{
    static struct far far;
    int status = STATUS_BROKEN;

    static char name[] = "zcrp-cp (far end)";

    program_invocation_short_name = name; /* its complaints come out beside the near end's */
    if (read_meeting(&far.meeting) != 0)
        return STATUS_USAGE;
    far.rules = (struct session_rules){
        .directory = -1,
        .near_proof = far.meeting.near_proof,
        .far_proof = far.meeting.far_proof,
    };
    if (crew_init(&far.crew) != 0) {
        (void)complain("cannot start threads: %s", strerror(errno));
        return STATUS_BROKEN;
    }
    if (listen_sealed(&far) == 0) {
        listen_memory(&far);
        if (tell_ports(&far) == 0 && remote_watch_near(&line) == 0 && serve_near(&far) == LINE_FINE)
            status = STATUS_FINE;
    }
    (void)zcrp_listener_close(far.memory);
    (void)zcrp_listener_close(far.sealed);
    crew_fini(&far.crew);
    meeting_forget(&far.meeting);
    return status;
}

/* ---- a server ---- */

static int listen_for_clients(const struct options *options, struct zcrp_listener **listener)
{
    struct zcrp_options how = {.connections = 2 * SERVER_CLIENTS_MOST,
                               .keys = meeting_server_keys(options->keys)};
    char port[PORT_ROOM];

    if (how.keys == NULL)
        return -1;
    (void)snprintf(port, sizeof(port), "%u",
                   (unsigned)(options->port > 0 ? options->port : PORT_OF_SERVERS));
    int code = zcrp_listen(listener, options->address, port, &how);
    if (code != 0)
        (void)complain("cannot listen on UDP port %s%s%s: %s", port,
                       options->address != NULL ? " of " : "",
                       options->address != NULL ? options->address : "", zcrp_explain(code));
    zcrp_keys_free(how.keys);
    return code == 0 ? 0 : -1;
}

/* Static: the handler knows it. */
static struct server server;

static void on_signal(int number)
{
    (void)number;
    server_stop(&server);
}

/* The second time a signal ends the process at once. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

int far_serve(const struct options *options)
{
    server.rules.is_read_only = options->is_read_only;
    server.rules.directory = open(options->serve, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    server.clients_most = server_clients();
    server.idle_ns = 10 * second_ns;
    if (server.rules.directory < 0) {
        (void)complain("%s: %s", options->serve, strerror(errno));
        return STATUS_SOME_FAILED;
    }
    if (listen_for_clients(options, &server.listener) != 0)
        return STATUS_BROKEN;
    if (!options->is_quiet) {
        printf("zcrp-cp serves %s on UDP port %d\n", options->serve,
               zcrp_listener_port(server.listener));
        fflush(stdout);
        server.log = stdout;
    }
    catch_signals();
    complain_silently(); /* of a client's trouble there is a line in the log */
    int code = server_run(&server);
    if (code == ZCRP_ERROR_INTERRUPTED)
        return STATUS_FINE;
    fprintf(stderr, "zcrp-cp: the server ended: %s\n", zcrp_explain(code));
    return STATUS_BROKEN;
}
