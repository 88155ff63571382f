/* What the target knows, and how it asks: requests are gathered into messages, and each of their
 * answers has a buffer before the request leaves. placing.c, parts.c and target.c decide what is
 * asked for.
 *
 * Functions return 0 or a code that ends the copy: the library's, or LINE_BROKEN. */
#ifndef ZCRP_CP_ASKING_H
#define ZCRP_CP_ASKING_H

#include <stdbool.h>
#include <stdint.h>

#include "awaited.h"
#include "incoming.h"
#include "target.h"

enum { ASKING_FILES = 64 }; /* large files under way at once */

/* A directory that gets its permissions and time when all that is in it is there. */
struct finished {
    const char
        *path; /* the entry's; first, so that a pointer to it in the tree is one to the whole */
    struct wanted *wanted;
    struct finished *next;
};

struct copy_target {
    struct line *line;
    struct crew *crew;
    const struct target_wishes *wishes;
    struct progress *progress;
    struct requests requests;
    struct zcrp_msg *message; /* requests that are not sent yet; NULL: none */
    struct writer writer;     /* into it */
    struct awaiting awaiting;
    struct wanted *first, **last; /* of the list, not begun yet */
    unsigned queued;
    uint32_t listed; /* entries so far */
    int lists;       /* LIST requests under way */
    bool is_listed;  /* the list is complete */
    struct incoming open[ASKING_FILES];
    bool is_open[ASKING_FILES];
    int open_count;
    struct wanted *pack[PACK_FILES]; /* to be asked for together */
    unsigned pack_count;
    uint64_t pack_bytes;
    struct finished *directories; /* the deepest first */
    void *directory_paths;        /* of these: a tree of tsearch(3) */
    unsigned unreported;          /* SEND and CLOSE since the last REPORT */
    uint64_t in_flight;           /* bytes asked for that have not come */
    uint64_t asked;               /* bytes, ever */
    int64_t start_ns;
    bool is_over;
};

/* Adds a request to the message that is being filled, and sends that. */
int asking_request(struct copy_target *target, const struct record *record);
int asking_flush(struct copy_target *target);

/* Counts a SEND or CLOSE; asks for the REPORT of all of them, if there are any. */
int asking_count(struct copy_target *target);
int asking_report(struct copy_target *target);

/* Tells the user what became of an entry, or the source, which tells its user. `settled` bytes of
 * it need not cross. */
int asking_settle(struct copy_target *target, const struct wanted *wanted, enum outcome outcome,
                  const char *error, uint64_t settled);

/* It has failed: `what` happened, and errno says why. */
int asking_settle_errno(struct copy_target *target, const struct wanted *wanted, const char *what);

/* A place for a large file; there has to be one. Leaving frees the file. */
struct incoming *asking_take_place(struct copy_target *target);
void asking_leave_place(struct copy_target *target, struct incoming *incoming, bool keeps);

/* The source broke the rules. LINE_BROKEN. */
int asking_refuse(void);

struct text asking_text(const char *string);

#endif
