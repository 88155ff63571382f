/* The end that has the files. It answers what the target asks, in the order in which it is asked,
 * and decides nothing: a block is a slice of the mapped file, sent from where it lies.
 *
 * The target is not trusted: a request for what is not in the list, or beyond a file's end, ends
 * the copy. What it can read is what the walk has found, and nothing else. */
#ifndef ZCRP_CP_SOURCE_H
#define ZCRP_CP_SOURCE_H

#include "zcrp-cp/files/crew.h"
#include "zcrp-cp/files/walk.h"
#include "zcrp-cp/user/progress.h"
#include "zcrp-cp/wire/line.h"

/* Serves one copy to its end. The walk says what there is. `progress` may be NULL. */
enum line_end source_run(struct line *line, struct crew *crew, struct walk *walk,
                         struct progress *progress);

#endif
