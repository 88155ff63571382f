/* What the user sees of a copy: each file that failed on standard error, each other one with
 * --verbose on standard output, a line with rate and time left on a terminal, and in the end with
 * --stats one line of JSON. It also counts, for the exit status. The far end tells the near end
 * what happened there; a server counts as well, for its log. */
#ifndef ZCRP_CP_PROGRESS_H
#define ZCRP_CP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp-cp/wire/line.h"
#include "zcrp-cp/wire/record.h"

enum { ESCAPED_ROOM = 4 * PATH_MOST + 1 };

/* Names and texts of strangers, for a terminal: each byte of a control, of a character that shows
 * nothing or turns the direction of a line, of a backslash, and of what is no UTF-8 becomes \ooo,
 * its octal value. So a name can neither move the cursor, nor feign a line of ours or another name.
 *
 * Writes at most `room` bytes, a 0 among them; what does not fit is left out. Returns `out`. */
const char *escape(char *out, size_t room, struct text text);

struct progress {
    bool only_counts; /* prints nothing: of a server's session */
    bool is_quiet, is_verbose, is_dry_run, wants_stats;
    int64_t interval_ns; /* a line of --stats this often; 0: only in the end */
    char *const *words;  /* what the user has named; complaints call files so. NULL: by paths */
    int word_count;
    const struct line *line; /* whose bytes are counted; NULL: none yet */
    bool is_source;          /* count what is sent, not what is received */
    bool is_terminal;        /* there is a line to draw */
    bool is_drawn;           /* it stands on the terminal */
    bool knows_total;        /* the list is complete */
    uint64_t bytes;          /* of files in the list so far */
    uint64_t moved;          /* bytes of files that crossed */
    uint64_t settled;        /* bytes of files that need not cross */
    uint64_t copied, skipped, failed;
    int64_t start_ns, drawn_ns, told_ns;
    uint64_t crossed; /* bytes of units that crossed, in the end */
};

/* Everything else is set by the caller. */
void progress_start(struct progress *progress);

/* Since then. */
double progress_seconds(const struct progress *progress);

/* Each of these does nothing for NULL. */
void progress_found(struct progress *progress, const struct list_entry *entry);
void progress_found_all(struct progress *progress);
void progress_moved(struct progress *progress, uint64_t bytes);

/* A file has ended so; `bytes` of it did not have to cross. If it has failed without an error, it
 * is counted, and another complaint stands for it. */
void progress_outcome(struct progress *progress, struct text path, enum outcome outcome,
                      struct text error, uint64_t bytes);

/* Draws the line anew, if it is time to. */
void progress_tick(void *context);

/* Keeps the last figures, before the line is closed; then tells them. */
void progress_keep(struct progress *progress);
void progress_end(struct progress *progress);

#endif
