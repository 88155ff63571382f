/* The end that gets the files. It asks for the list, decides what it wants of each file, posts the
 * memory where it belongs, and asks for it ahead of time: over many files, so that neither the path
 * nor the source ever waits for the next question.
 *
 * The source is not trusted: it can write nothing outside the directory (beneath.h), nothing before
 * it was asked, and nothing under a file's name before the file is whole. If the user has said what
 * the copy is called, nothing else in the directory changes. */
#ifndef ZCRP_CP_TARGET_H
#define ZCRP_CP_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp-cp/files/crew.h"
#include "zcrp-cp/user/progress.h"
#include "zcrp-cp/wire/line.h"

struct target_wishes {
    int directory;    /* where all goes; the caller's. -1 in a dry run: there is none yet */
    const char *name; /* replaces the first name of each path; "" or NULL: nothing does */
    bool checksum;    /* compare files that seem to be the same */
    bool is_dry_run;  /* change nothing */
    uint64_t rate;    /* bits a second to ask for at most; 0: any */
};

/* Gets one copy to its end. `progress` may be NULL: then the source is told, and nobody else. */
enum line_end target_run(struct line *line, struct crew *crew, const struct target_wishes *wishes,
                         struct progress *progress);

#endif
