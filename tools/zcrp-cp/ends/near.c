#include "ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/environment.h"
#include "common/signals.h"
#include "zcrp-cp/files/place.h"
#include "zcrp-cp/user/location.h"

enum { PORT_ROOM = 8 };

static const int64_t wait_ns = 100000000, open_ns = 10000000000;

/* One copy, as the user wants it. */
struct near {
    const struct options *options;
    struct location far;       /* the host; `path` is the first of its paths */
    char where[HOST_ROOM + 2]; /* what the user has written before these: "host:" */
    const char **far_paths;    /* all of them */
    int far_count;
    char **here; /* the paths of this end */
    int here_count;
    char **words; /* what is copied, as the user has named it */
    int word_count;
    bool is_source;       /* this end is */
    enum place_kind kind; /* of where files go, by what is copied */
    struct walk walk;     /* this end's files, if it is the source */
    struct place place;   /* or else where they go */
    struct remote remote;
    struct meeting meeting;
    struct crew crew;
    struct progress progress;
    bool was_refused; /* the far end has said that it cannot */
    bool was_closed;  /* it has closed before it said anything */
};

/* Static: the handler knows it. */
static struct line line;
static atomic_bool was_interrupted;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&was_interrupted, true);
    line_end_waits(&line, LINE_INTERRUPTED);
}

/* ---- the command line ---- */

/* One side, the last word or all before it, is this host; the other side is one other host. */
static int take_words(struct near *near, int count, char **words)
{
    struct location location;

    if (location_read(&location, words[count - 1]) != 0)
        return -1;
    near->is_source = location.kind != LOCATION_HERE;
    near->here = near->is_source ? words : words + count - 1;
    near->here_count = near->is_source ? count - 1 : 1;
    near->far_paths = calloc((size_t)count, sizeof(*near->far_paths));
    for (int i = 0; i < count; i++) {
        bool is_far = near->is_source == (i == count - 1);

        if (location_read(&location, words[i]) != 0)
            return -1;
        if (!is_far && location.kind != LOCATION_HERE)
            return complain("the files or the target must be on this host: '%s' is not "
                            "('./%s' names a file here)",
                            words[i], words[i]);
        if (is_far && location.kind == LOCATION_HERE)
            return complain("the files or the target must be on another host: '%s' is on this one",
                            words[i]);
        if (is_far && near->far_count > 0 && !location_is_same(&location, &near->far))
            return complain("all files come from one host: '%s'", words[i]);
        if (is_far && near->far_count == 0)
            near->far = location;
        if (is_far)
            near->far_paths[near->far_count++] = location.path;
    }
    (void)snprintf(near->where, sizeof(near->where), "%s%s", near->far.login,
                   near->far.kind == LOCATION_SERVER ? "::" : ":");
    near->words = words;
    near->word_count = count - 1;
    near->kind = count > 2                            ? PLACE_DIRECTORY
                 : location_name(words[0]).length > 0 ? PLACE_NAME
                                                      : PLACE_CONTENTS;
    if (near->far.kind == LOCATION_SERVER && near->options->keys == NULL)
        return complain("a server needs --keys");
    if (near->far.kind != LOCATION_SERVER && near->options->keys != NULL)
        return complain("--keys is for a server: %s::", near->far.login);
    return 0;
}

/* Files that are not there fail; the others are copied. */
static int open_here(struct near *near)
{
    if (!near->is_source) {
        const char *why =
            place_open(&near->place, -1, near->here[0], near->kind, near->options->is_dry_run);
        return why == NULL ? 0 : complain("%s: %s", near->here[0], why);
    }
    for (int i = 0; i < near->here_count; i++) {
        const char *path = near->here[i];

        if (walk_add(&near->walk, -1, path) != 0)
            progress_outcome(&near->progress, text_of(path), OUTCOME_FAILED,
                             text_of(strerror(errno)), 0);
    }
    return 0;
}

/* ---- connecting ---- */

static int wait_for_peer(struct zcrp_connection *connection)
{
    int code = ZCRP_ERROR_TIMEOUT;

    while (code == ZCRP_ERROR_TIMEOUT && !atomic_load(&was_interrupted)) {
        code = zcrp_connection_wait(connection, wait_ns);
        if (code == ZCRP_ERROR_BUSY)
            code = ZCRP_ERROR_TIMEOUT;
    }
    return atomic_load(&was_interrupted) ? ZCRP_ERROR_INTERRUPTED : code;
}

/* Connects, and says what is wanted. As session_open. */
static int reach(struct near *near, const char *host, uint16_t port,
                 const struct zcrp_options *options)
{
    struct zcrp_connection *connection = NULL;
    char text[PORT_ROOM];
    struct session_wishes wishes = {
        .flags = (uint8_t)((near->is_source ? 0 : OPEN_PULL) |
                           (near->kind == PLACE_NAME ? OPEN_NAME : 0) |
                           (near->kind == PLACE_CONTENTS ? OPEN_CONTENTS : 0) |
                           (near->options->checksum ? OPEN_CHECKSUM : 0) |
                           (near->options->is_dry_run ? OPEN_DRY_RUN : 0)),
        .rate = near->options->rate,
        .paths = near->far_paths,
        .path_count = near->far_count,
        .where = near->where,
        .proof = near->meeting.near_proof,
    };

    (void)snprintf(text, sizeof(text), "%u", (unsigned)port);
    int code = zcrp_connect(&connection, host, text, options, 0);
    if (code == 0)
        code = wait_for_peer(connection);
    if (code != 0) {
        (void)zcrp_connection_close(connection);
        return code;
    }
    line_init(&line, connection);
    if (atomic_load(&was_interrupted))
        line_end_waits(&line, LINE_INTERRUPTED);
    code = session_open(&line, &wishes, open_ns);
    near->was_refused = code == LINE_REFUSED;
    near->was_closed = code == ZCRP_ERROR_PEER_CLOSED || code == ZCRP_ERROR_CUT_OFF;
    if (code != 0)
        line_fini(&line);
    return code;
}

/* What serves at that port may be another program that has the same key. */
static const char *explain(const struct near *near, int code)
{
    return near->was_closed && near->far.kind == LOCATION_SERVER
               ? "it closed before it answered: does zcrp-cp --serve listen there?"
               : zcrp_explain(code);
}

/* `host` has the far end, unless the user has named another address. Frees the keys, which may be
 * NULL: that was complained of. */
static int reach_with_keys(struct near *near, const char *host, uint16_t port,
                           struct zcrp_keys *keys)
{
    const struct zcrp_options options = {.keys = keys};
    const char *other = near->options->address;
    int code = keys != NULL ? reach(near, other != NULL ? other : host, port, &options) : -1;

    if (keys != NULL && code < 0 && !atomic_load(&was_interrupted))
        (void)complain("%s: cannot connect to UDP port %u%s%s: %s", near->far.login, (unsigned)port,
                       other != NULL ? " of " : "", other != NULL ? other : "",
                       explain(near, code));
    zcrp_keys_free(keys);
    return code == 0 ? 0 : -1;
}

/* By the remote shell, or at a server. */
static int reach_far(struct near *near)
{
    const char *const arguments[] = {"--far", NULL};
    uint16_t port = (uint16_t)(near->options->port > 0 ? near->options->port : PORT_OF_SERVERS);
    bool is_one_host;

    if (near->far.kind == LOCATION_SERVER)
        return reach_with_keys(near, near->far.host, port,
                               meeting_server_keys(near->options->keys));
    meeting_make(&near->meeting, (uint16_t)near->options->port);
    if (remote_start(&near->remote, near->options->rsh, near->far.shell, near->options->far_program,
                     arguments) != 0 ||
        remote_meet(&near->remote, &near->meeting, &program_of_copies, &port, &is_one_host) != 0)
        return -1;
    return reach_with_keys(near, is_one_host ? "127.0.0.1" : near->far.host, port,
                           meeting_keys(&near->meeting, &program_of_copies));
}

/* ---- the copy ---- */

static int status_of(const struct near *near, enum line_end end)
{
    if (atomic_load(&was_interrupted))
        return STATUS_INTERRUPTED;
    if (end == LINE_STOPPED)
        (void)complain("%s: the remote shell ended before the copy was complete", near->far.login);
    if (end != LINE_FINE)
        return STATUS_BROKEN;
    return near->progress.failed > 0 ? STATUS_SOME_FAILED : STATUS_FINE;
}

static int copy(struct near *near)
{
    const struct target_wishes wishes = {
        .directory = near->place.directory,
        .name = near->place.name,
        .words = near->words,
        .word_count = near->word_count,
        .checksum = near->options->checksum,
        .is_dry_run = near->options->is_dry_run,
        .rate = near->options->rate,
    };
    enum line_end end;

    line.host = near->far.login;
    line.tick = progress_tick;
    line.context = &near->progress;
    near->progress.line = &line;
    near->progress.words = near->words;
    near->progress.word_count = near->word_count;
    if (near->remote.pid > 0) {
        line.watched = near->remote.out;
        line.on_end = LINE_LEFT;
    }
    if (near->is_source)
        end = source_run(&line, &near->crew, &near->walk, &near->progress);
    else
        end = target_run(&line, &near->crew, &wishes, &near->progress);
    int status = status_of(near, end);
    progress_keep(&near->progress);
    line_fini(&line);
    progress_end(&near->progress);
    return status;
}

/* The status, when all is printed: what cannot be written is no success. */
static int finish_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    (void)complain("cannot write to standard output: %s", strerror(errno));
    return status == STATUS_FINE ? STATUS_SOME_FAILED : status;
}

int near_run(const struct options *options, int count, char **words)
{
    static struct near near = {.place = {.directory = -1}, .remote = {.in = -1, .out = -1}};
    int status = STATUS_USAGE;

    near.options = options;
    if (take_words(&near, count, words) == 0) {
        near.progress = (struct progress){
            .is_quiet = options->is_quiet,
            .is_verbose = options->is_verbose,
            .is_dry_run = options->is_dry_run,
            .wants_stats = options->wants_stats,
            .interval_ns = options->interval_ns,
            .is_source = near.is_source,
        };
        progress_start(&near.progress);
        signals_catch_ends(on_signal, (int)SA_RESETHAND); /* the second one ends the process */
        (void)environment_descriptors(); /* one for each directory of the command line */
        bool is_open = open_here(&near) == 0;
        if (is_open && crew_init(&near.crew, "zcrp-cp crew", CREW_THREADS) != 0)
            status = complain("cannot start threads: %s", strerror(errno)) + 1 + STATUS_BROKEN;
        else if (is_open && reach_far(&near) == 0)
            status = copy(&near);
        else if (!is_open || near.was_refused)
            status = STATUS_SOME_FAILED;
        else
            status = atomic_load(&was_interrupted) ? STATUS_INTERRUPTED : STATUS_BROKEN;
        remote_end(&near.remote);
    }
    if (near.crew.thread_count > 0)
        crew_fini(&near.crew);
    meeting_forget(&near.meeting);
    walk_fini(&near.walk);
    free(near.far_paths);
    place_close(near.place.directory);
    return finish_output(status);
}
