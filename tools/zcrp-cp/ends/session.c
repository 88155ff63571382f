#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"
#include "meeting.h"
#include "source.h"
#include "target.h"
#include "zcrp-cp/files/beneath.h"
#include "zcrp-cp/files/walk.h"
#include "zcrp-cp/user/escape.h"

enum { DIRECTORY_MODE = 0777 };

static const int64_t answer_ns = 10000000000;

/* ---- near end ---- */

static bool write_open(const struct session_wishes *wishes, struct writer *writer)
{
    struct record record = {.kind = RECORD_OPEN};
    bool fits;

    record.open.version = RECORD_VERSION;
    record.open.flags = wishes->flags;
    record.open.rate = wishes->rate;
    memcpy(record.open.proof, wishes->near_proof, PROOF_BYTES);
    fits = record_encode(writer, &record);
    for (int i = 0; i < wishes->path_count && fits; i++) {
        record = (struct record){.kind = RECORD_PATH};
        record.path = (struct text){wishes->paths[i], strlen(wishes->paths[i])};
        fits = record.path.length <= PATH_MOST && record_encode(writer, &record);
    }
    return fits;
}

static int send_open(struct line *line, const struct session_wishes *wishes, int64_t most_ns)
{
    uint8_t *bytes = malloc(OPEN_ROOM);
    int code = bytes != NULL ? 0 : ZCRP_ERROR_MEMORY;

    if (bytes != NULL) {
        struct writer writer = writer_of(bytes, OPEN_ROOM);

        if (write_open(wishes, &writer)) {
            code = line_send_first(line, bytes, writer_length(&writer), most_ns);
        } else {
            (void)complain("the names are too long, or too many");
            code = LINE_BROKEN;
        }
    }
    free(bytes);
    return code;
}

static int read_ready(const struct session_wishes *wishes, const struct zcrp_msg *message)
{
    struct reader reader = reader_of(message->buffer, message->length);
    struct record record;
    char text[4 * TEXT_MOST + 1];

    if (!record_decode(&reader, &record) || record.kind != RECORD_READY)
        (void)complain("the far end does not answer as zcrp-cp does");
    else if (!meeting_proof_is(record.ready.proof, wishes->far_proof))
        return ZCRP_ERROR_KEYS;
    else if (record.ready.error.length == 0)
        return 0;
    else {
        (void)complain("%s", escape(text, sizeof(text), record.ready.error));
        return LINE_REFUSED;
    }
    return LINE_BROKEN;
}

int session_open(struct line *line, const struct session_wishes *wishes, int64_t most_ns)
{
    int code = send_open(line, wishes, most_ns);

    if (code != 0)
        return code;
    struct zcrp_msg *message = line_receive_first(line, answer_ns, &code);
    if (message == NULL)
        return code;
    code = read_ready(wishes, message);
    zcrp_free_msg(message);
    return code;
}

/* ---- far end ---- */

struct session {
    struct record open;
    int target;       /* the target's directory; -1: none */
    struct walk walk; /* the source's files */
    char error[TEXT_MOST + 1];
};

static void say(struct session *session, const char *path, const char *why)
{
    (void)snprintf(session->error, sizeof(session->error), "%.200s: %s", path, why);
}

/* A path below a server's directory: "/a/b/" is a/b, and "" all of it. NULL: it is none. */
static const char *path_below(const char *path, char out[PATH_MOST + 1])
{
    while (*path == '/')
        path++;
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    if (length == 0 || (length == 1 && path[0] == '.'))
        return strcpy(out, ".");
    memcpy(out, path, length);
    out[length] = '\0';
    return record_path_is_good((struct text){out, length}) ? out : NULL;
}

int session_open_target(int directory, const char *path)
{
    size_t length = strlen(path);
    bool may_make = length > 0 && path[length - 1] == '/';
    char below[PATH_MOST + 1];

    if (directory < 0) {
        if (may_make && mkdir(path, DIRECTORY_MODE) != 0 && errno != EEXIST)
            return -1;
        return open(length > 0 ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (length > PATH_MOST || path_below(path, below) == NULL) {
        errno = EACCES;
        return -1;
    }
    if (may_make && strcmp(below, ".") != 0 && beneath_make_directory(directory, below) != 0)
        return -1;
    return beneath_open(directory, below, O_RDONLY | O_DIRECTORY, 0);
}

/* The home directory is the current one, of whom a remote shell has started. */
static const char *without_home(const char *path)
{
    if (strcmp(path, "~") == 0)
        return ".";
    return strncmp(path, "~/", 2) == 0 ? path + 2 : path;
}

static void prepare_path(struct session *session, const struct session_rules *rules,
                         const char *path)
{
    char below[PATH_MOST + 1];
    const char *real = rules->directory < 0 ? without_home(path) : path;

    if ((session->open.open.flags & OPEN_PULL) == 0) {
        if (session->target >= 0)
            say(session, path, "a second target");
        else if ((session->target = session_open_target(rules->directory, real)) < 0)
            say(session, path, strerror(errno));
        return;
    }
    if (rules->directory >= 0)
        real = path_below(path, below);
    if (real == NULL)
        say(session, path, strerror(EACCES));
    else if (walk_add(&session->walk, rules->directory, real) != 0)
        say(session, path, strerror(errno));
    else if (rules->directory >= 0 && (session->walk.root_count > SESSION_NAMES_MOST ||
                                       session->walk.folder_count > SESSION_FOLDERS_MOST))
        say(session, path, "too many names, or in too many directories");
}

static bool prepare(struct session *session, const struct session_rules *rules,
                    struct reader *reader)
{
    struct record record;
    char path[PATH_MOST + 1];
    int paths = 0;

    if ((session->open.open.flags & OPEN_PULL) == 0 && rules->is_read_only)
        say(session, "this server", "nothing is written here");
    while (session->error[0] == '\0' && record_decode(reader, &record)) {
        if (record.kind != RECORD_PATH)
            return false;
        (void)snprintf(path, sizeof(path), "%.*s", (int)record.path.length, record.path.bytes);
        prepare_path(session, rules, path);
        paths++;
    }
    if (session->error[0] == '\0' && paths == 0)
        say(session, "nothing", "there is no path");
    return !reader->bad;
}

/* Reads OPEN. False: it is none, or without the proof. */
static bool read_open(struct session *session, const struct session_rules *rules,
                      const struct zcrp_msg *message)
{
    struct reader reader = reader_of(message->buffer, message->length);

    if (!record_decode(&reader, &session->open) || session->open.kind != RECORD_OPEN)
        return false;
    if (rules->near_proof != NULL && !meeting_proof_is(session->open.open.proof, rules->near_proof))
        return false;
    if (session->open.open.version != RECORD_VERSION)
        say(session, "zcrp-cp", "the ends have different versions");
    return session->error[0] != '\0' || prepare(session, rules, &reader);
}

static int answer(struct line *line, const struct session_rules *rules,
                  const struct session *session)
{
    uint8_t bytes[TEXT_MOST + 64];
    struct writer writer = writer_of(bytes, sizeof(bytes));
    struct record record = {.kind = RECORD_READY};

    if (rules->far_proof != NULL)
        memcpy(record.ready.proof, rules->far_proof, PROOF_BYTES);
    record.ready.error = (struct text){session->error, strlen(session->error)};
    (void)record_encode(&writer, &record);
    return line_send_first(line, bytes, writer_length(&writer), answer_ns);
}

int session_hear(struct line *line, const struct session_rules *rules, int64_t most_ns,
                 struct session **session)
{
    struct session *heard = calloc(1, sizeof(*heard));
    int code = ZCRP_ERROR_MEMORY;

    *session = NULL;
    if (heard == NULL)
        return code;
    heard->target = -1;
    struct zcrp_msg *message = line_receive_first(line, most_ns, &code);
    if (message != NULL)
        code = read_open(heard, rules, message) ? answer(line, rules, heard) : LINE_BROKEN;
    zcrp_free_msg(message);
    if (code == 0)
        *session = heard;
    else
        session_drop(heard);
    return code;
}

static enum line_end run(struct session *session, struct line *line, struct crew *crew)
{
    const struct target_wishes wishes = {
        .directory = session->target,
        .checksum = (session->open.open.flags & OPEN_CHECKSUM) != 0,
        .is_dry_run = (session->open.open.flags & OPEN_DRY_RUN) != 0,
        .rate = session->open.open.rate,
    };

    if (session->error[0] != '\0')
        return LINE_FINE; /* the near end complains of it */
    if ((session->open.open.flags & OPEN_PULL) != 0)
        return source_run(line, crew, &session->walk, NULL);
    return target_run(line, crew, &wishes, NULL);
}

enum line_end session_run(struct session *session, struct line *line, struct crew *crew)
{
    enum line_end end = run(session, line, crew);

    session_drop(session);
    return end;
}

void session_drop(struct session *session)
{
    if (session == NULL)
        return;
    if (session->target >= 0)
        (void)close(session->target);
    walk_fini(&session->walk);
    free(session);
}
