#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-cp/files/place.h"

static const int64_t answer_ns = 10000000000;

/* ---- near end ---- */

static bool write_open(const struct session_wishes *wishes, struct writer *writer)
{
    struct record record = {.kind = RECORD_OPEN};
    bool fits;

    record.open.version = RECORD_VERSION;
    record.open.flags = wishes->flags;
    record.open.rate = wishes->rate;
    if (wishes->proof != NULL)
        memcpy(record.open.proof, wishes->proof, PROOF_BYTES);
    fits = record_encode(writer, &record);
    for (int i = 0; i < wishes->path_count && fits; i++) {
        record = (struct record){.kind = RECORD_PATH};
        record.path = text_of(wishes->paths[i]);
        fits = record.path.length <= PATH_MOST && record_encode(writer, &record);
    }
    return fits;
}

static int send_open(struct line *line, const struct session_wishes *wishes, int64_t most_ns)
{
    struct zcrp_msg *message = zcrp_alloc_msg(OPEN_ROOM);

    if (message == NULL)
        return ZCRP_ERROR_MEMORY;
    struct writer writer = writer_of(message->buffer, OPEN_ROOM);
    if (write_open(wishes, &writer))
        return line_send_first(line, message, writer_length(&writer), most_ns);
    zcrp_free_msg(message);
    (void)complain("the names are too long, or too many");
    return LINE_BROKEN;
}

static int read_ready(const struct session_wishes *wishes, const struct zcrp_msg *message)
{
    struct reader reader = reader_of(message->buffer, message->length);
    struct record record;
    char text[4 * TEXT_MOST + 1];

    if (!record_decode(&reader, &record) || record.kind != RECORD_READY)
        (void)complain("the far end does not answer as zcrp-cp does");
    else if (record.ready.error.length == 0)
        return 0;
    else {
        (void)complain("%s%s", wishes->where != NULL ? wishes->where : "",
                       escape(text, sizeof(text), record.ready.error));
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
    int paths;          /* that came */
    char *first;        /* the first of them */
    struct place place; /* the target's */
    struct walk walk;   /* the source's files */
    char error[TEXT_MOST + 1];
};

static bool is_pull(const struct session *session)
{
    return (session->open.open.flags & OPEN_PULL) != 0;
}

static bool is_dry_run(const struct session *session)
{
    return (session->open.open.flags & OPEN_DRY_RUN) != 0;
}

/* Of a long path there is the beginning. */
static void say(struct session *session, const char *path, const char *why)
{
    (void)snprintf(session->error, sizeof(session->error), "%.*s: %s",
                   TEXT_MOST - (int)strlen(why) - 2, path, why);
}

/* NULL, or why not; as prepare_source. */
static const char *prepare_target(struct session *session, const struct session_rules *rules,
                                  const char *word)
{
    uint8_t flags = session->open.open.flags;
    char path[PLACE_ROOM];

    if (rules->is_read_only)
        return "nothing is written here: the server is read-only";
    if (session->paths > 1)
        return "a second target";
    const char *why = place_resolve(rules->directory, word, path);
    if (why != NULL)
        return why;
    return place_open(&session->place, rules->directory, path,
                      (flags & OPEN_NAME) != 0       ? PLACE_NAME
                      : (flags & OPEN_CONTENTS) != 0 ? PLACE_CONTENTS
                                                     : PLACE_DIRECTORY,
                      is_dry_run(session));
}

static const char *prepare_source(struct session *session, const struct session_rules *rules,
                                  const char *word)
{
    char path[PLACE_ROOM];
    const char *why = place_resolve(rules->directory, word, path);

    if (why != NULL)
        return why;
    if (walk_add(&session->walk, rules->directory, path) != 0)
        return strerror(errno);
    return rules->directory >= 0 && (session->walk.root_count > SESSION_NAMES_MOST ||
                                     session->walk.folder_count > SESSION_FOLDERS_MOST)
               ? "too many names, or in too many directories"
               : NULL;
}

static bool prepare(struct session *session, const struct session_rules *rules,
                    struct reader *reader)
{
    struct record record;
    char word[PATH_MOST + 1];

    while (session->error[0] == '\0' && record_decode(reader, &record)) {
        if (record.kind != RECORD_PATH)
            return false;
        (void)snprintf(word, sizeof(word), "%.*s", (int)record.path.length, record.path.bytes);
        if (session->paths++ == 0)
            session->first = strdup(word);
        const char *why = is_pull(session) ? prepare_source(session, rules, word)
                                           : prepare_target(session, rules, word);
        if (why != NULL)
            say(session, word, why);
    }
    if (session->error[0] == '\0' && session->paths == 0)
        say(session, "", "there is no path");
    return !reader->bad;
}

/* Reads OPEN. False: it is none. */
static bool read_open(struct session *session, const struct session_rules *rules,
                      const struct zcrp_msg *message)
{
    struct reader reader = reader_of(message->buffer, message->length);

    if (!record_decode(&reader, &session->open) || session->open.kind != RECORD_OPEN)
        return false;
    if (session->open.open.version != RECORD_VERSION)
        say(session, "", "the ends have different versions");
    return session->error[0] != '\0' || prepare(session, rules, &reader);
}

static int answer(struct line *line, const struct session_rules *rules,
                  const struct session *session)
{
    struct zcrp_msg *message = zcrp_alloc_msg(TEXT_MOST + 64);
    struct record record = {.kind = RECORD_READY};

    if (message == NULL)
        return ZCRP_ERROR_MEMORY;
    struct writer writer = writer_of(message->buffer, message->message_size);
    if (rules->proof != NULL)
        memcpy(record.ready.proof, rules->proof, PROOF_BYTES);
    record.ready.error = text_of(session->error);
    (void)record_encode(&writer, &record);
    return line_send_first(line, message, writer_length(&writer), answer_ns);
}

void session_drop(struct session *session)
{
    place_close(session->place.directory);
    walk_fini(&session->walk);
    free(session->first);
    free(session);
}

int session_hear(struct line *line, const struct session_rules *rules, struct session **session)
{
    struct session *heard = calloc(1, sizeof(*heard));
    int code = ZCRP_ERROR_MEMORY;

    *session = NULL;
    if (heard == NULL)
        return code;
    heard->place.directory = -1;
    struct zcrp_msg *message = line_receive_first(line, answer_ns, &code);
    if (message != NULL)
        code = read_open(heard, rules, message) ? answer(line, rules, heard) : LINE_BROKEN;
    zcrp_free_msg(message);
    if (code == 0)
        *session = heard;
    else
        session_drop(heard);
    return code;
}

bool session_describe(const struct session *session, char out[SESSION_TOLD_ROOM])
{
    enum { SHOWN = SESSION_TOLD_ROOM - 100 };
    bool is_refused = session->error[0] != '\0';
    const char *first = session->first != NULL ? session->first : "";
    const char *text = is_refused ? session->error : first;
    char shown[SHOWN], more[50] = "";

    (void)escape(shown, sizeof(shown), text_of(text));
    if (session->paths > 1)
        (void)snprintf(more, sizeof(more), " and %d more", session->paths - 1);
    if (is_refused)
        (void)snprintf(out, SESSION_TOLD_ROOM, "was refused: %s", shown);
    else
        (void)snprintf(out, SESSION_TOLD_ROOM, "%s %s%s%s", is_pull(session) ? "read" : "wrote",
                       shown[0] != '\0' ? shown : ".", more,
                       is_dry_run(session) ? " (dry run)" : "");
    return !is_refused;
}

enum line_end session_run(struct session *session, struct line *line, struct crew *crew,
                          struct progress *progress)
{
    const struct target_wishes wishes = {
        .directory = session->place.directory,
        .name = session->place.name,
        .checksum = (session->open.open.flags & OPEN_CHECKSUM) != 0,
        .is_dry_run = is_dry_run(session),
        .rate = session->open.open.rate,
    };
    enum line_end end;

    if (session->error[0] != '\0')
        end = LINE_FINE; /* the near end complains of it */
    else if (is_pull(session))
        end = source_run(line, crew, &session->walk, progress);
    else
        end = target_run(line, crew, &wishes, progress);
    session_drop(session);
    return end;
}
