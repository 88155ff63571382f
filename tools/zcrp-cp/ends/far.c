#include "ends.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "common/environment.h"
#include "meeting.h"
#include "session.h"

static const int64_t second_ns = 1000000000, patience_ns = 60000000000;

/* ---- callers ---- */

/* Those who connect to a far end by memory and have not shown the proof yet. Each is heard by a
 * thread of its own, so that nobody who says nothing delays the near end, which may be the last to
 * connect. */
enum { CALLERS_MOST = 16 }; /* at once; more wait in the listener */

struct caller {
    struct callers *callers; /* NULL: nobody */
    pthread_t thread;        /* waits for the proof, or hangs up */
    atomic_bool has_ended;   /* that thread, with the two below */
    struct session *session; /* what the near end wants, which has its answer; NULL: a stranger */
    struct line line;        /* closed, if it is a stranger's */
};

struct callers {
    const struct session_rules *rules;
    int changed; /* an eventfd: poll it, and call callers_take */
    struct caller rows[CALLERS_MOST];
};

/* The near end says what it wants as soon as it is connected. */
static const int64_t proof_ns = 2000000000;

/* 0, or -1 with errno. */
static int callers_init(struct callers *callers, const struct session_rules *rules)
{
    memset(callers, 0, sizeof(*callers));
    callers->rules = rules;
    callers->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return callers->changed >= 0 ? 0 : -1;
}

static void *hear(void *context)
{
    struct caller *caller = context;
    struct callers *callers = caller->callers;

    (void)pthread_setname_np(pthread_self(), "zcrp-cp hear");
    (void)session_hear(&caller->line, callers->rules, proof_ns, &caller->session);
    if (caller->session == NULL)
        line_fini(&caller->line);
    atomic_store(&caller->has_ended, true);
    (void)eventfd_write(callers->changed, 1);
    return NULL;
}

/* Has those who still speak hang up, and waits for nobody. */
static void callers_end(struct callers *callers)
{
    for (int i = 0; i < CALLERS_MOST; i++) {
        if (callers->rows[i].callers != NULL)
            line_end_waits(&callers->rows[i].line, LINE_INTERRUPTED);
    }
}

/* Has everybody hang up, and waits for the threads. */
static void callers_fini(struct callers *callers)
{
    callers_end(callers);
    for (int i = 0; i < CALLERS_MOST; i++) {
        struct caller *caller = &callers->rows[i];

        if (caller->callers == NULL)
            continue;
        (void)pthread_join(caller->thread, NULL);
        if (caller->session != NULL)
            line_fini(&caller->line);
        session_drop(caller->session);
    }
    if (callers->changed >= 0)
        (void)close(callers->changed);
}

/* A row that is free; NULL: none. */
static struct caller *find_room(struct callers *callers)
{
    for (int i = 0; i < CALLERS_MOST; i++) {
        if (callers->rows[i].callers == NULL)
            return &callers->rows[i];
    }
    return NULL;
}

static bool callers_have_room(struct callers *callers)
{
    return find_room(callers) != NULL;
}

/* Hears one more, whose connection is theirs from then on. There has to be room. */
static void callers_add(struct callers *callers, struct zcrp_connection *connection)
{
    struct caller *caller = find_room(callers);

    caller->callers = callers;
    line_init(&caller->line, connection);
    if (pthread_create(&caller->thread, NULL, hear, caller) == 0)
        return;
    line_fini(&caller->line); /* the near end connects to the other listener then */
    memset(caller, 0, sizeof(*caller));
}

/* The session of one that has shown the proof, and its connection; the caller's from then on. NULL:
 * there is none yet. */
static struct session *callers_take(struct callers *callers, struct zcrp_connection **connection)
{
    struct session *session = NULL;
    eventfd_t count;

    (void)eventfd_read(callers->changed, &count);
    for (int i = 0; i < CALLERS_MOST && session == NULL; i++) {
        struct caller *caller = &callers->rows[i];

        if (caller->callers == NULL || !atomic_load(&caller->has_ended))
            continue;
        (void)pthread_join(caller->thread, NULL);
        session = caller->session;
        *connection = caller->line.connection;
        memset(caller, 0, sizeof(*caller));
    }
    return session;
}

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

    for (int64_t end = clock_now_ns() + patience_ns; session == NULL && clock_now_ns() < end;) {
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
    if (meeting_listen(&far.sealed, NULL, far.meeting.port, 0, meeting_keys(&far.meeting)) == 0) {
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
