/* One copy over one connection, once it stands: the near end says what it wants (OPEN), the far end
 * looks whether it can be (READY), and then each of them is the source or the target. */
#ifndef ZCRP_CP_SESSION_H
#define ZCRP_CP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp-cp/files/memory.h"
#include "zcrp-cp/files/walk.h"
#include "zcrp-cp/user/progress.h"
#include "zcrp-cp/wire/line.h"

/* What a client may ask a server for at once; a far end of its own user has no such limits. */
enum {
    SESSION_NAMES_MOST = 1024,
    SESSION_FOLDERS_MOST = 32, /* that these are in: each is a descriptor */
    SESSION_TOLD_ROOM = 2000,  /* of a line of the log */
};

/* What the near end wants. */
struct session_wishes {
    uint8_t flags;            /* enum open_flags */
    uint64_t rate;            /* bits a second; 0: any */
    const char *const *paths; /* the sources, or the one target, as the far end knows them */
    int path_count;
    const char *where;    /* what stands before them in complaints: "host:"; NULL: nothing */
    const uint8_t *proof; /* of common/meeting.h; NULL: none */
};

/* What the far end allows. */
struct session_rules {
    int directory; /* nothing outside it is read or written; -1: the user's own rights are enough */
    bool is_read_only;
    const uint8_t *proof; /* of common/meeting.h; NULL: none */
};

/* Near end: says what it wants, which takes at most `most_ns`, and waits for the answer. 0; a code
 * of the library's, without a complaint; or LINE_BROKEN or LINE_REFUSED, and it was complained of.
 */
int session_open(struct line *line, const struct session_wishes *wishes, int64_t most_ns);

/* What a near end wants, as a far end has heard it. */
struct session;

/* Far end: waits for what is wanted, and answers, at most 10 s each. 0 and *session, to be ended by
 * session_run or session_drop: the near end has the answer. Or a code, and *session is NULL: the
 * library's, or LINE_BROKEN if it is none that zcrp-cp says. */
int session_hear(struct line *line, const struct session_rules *rules, struct session **session);

/* Writes what it is about, for a log, with nothing of the near end's that is not printable: "read
 * a/b and 2 more", or "was refused: a/b: No such file or directory", and then there is nothing more
 * to tell: false. */
bool session_describe(const struct session *session, char out[SESSION_TOLD_ROOM]);

/* Does what is wanted, and frees it; or only that. `progress` counts, or is NULL. */
enum line_end session_run(struct session *session, struct line *line, struct crew *crew,
                          struct progress *progress);
void session_drop(struct session *session);

/* The end that has the files. It answers what the target asks, in the order in which it is asked,
 * and decides nothing: a block is a slice of the mapped file, sent from where it lies. `progress`
 * may be NULL.
 *
 * The target is not trusted: a request for what is not in the list, or beyond a file's end, ends
 * the copy. What it can read is what the walk has found, and nothing else. */
enum line_end source_run(struct line *line, struct crew *crew, struct walk *walk,
                         struct progress *progress);

struct target_wishes {
    int directory;      /* where all goes; the caller's. -1 in a dry run: there is none yet */
    const char *name;   /* replaces the first name of each path; "" or NULL: nothing does */
    char *const *words; /* what the user asked a far source for (location.h), with which each path
                           begins, unless `name` replaces that; NULL: the source is the user's */
    int word_count;
    bool checksum;   /* compare files that seem to be the same */
    bool is_dry_run; /* change nothing */
    uint64_t rate;   /* bits a second to ask for at most; 0: any */
};

/* The end that gets the files. It asks for the list, decides what it wants of each file, posts the
 * memory where it belongs, and asks for it ahead of time: over many files, so that neither the path
 * nor the source ever waits for the next question. `progress` may be NULL: then the source is told,
 * and nobody else.
 *
 * The source is not trusted: it can write nothing outside the directory (place.h), nothing before
 * it was asked, and nothing under a file's name before the file is whole. In the directory nothing
 * changes but what the user has named: as the copy's name, or as what is to be copied. */
enum line_end target_run(struct line *line, struct crew *crew, const struct target_wishes *wishes,
                         struct progress *progress);

#endif
