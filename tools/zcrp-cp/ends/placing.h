/* What becomes of an entry of the list, before a large file is asked for part by part: directories
 * and links are made, files that are there already are passed over, and small files are asked for
 * many at a time and written. */
#ifndef ZCRP_CP_PLACING_H
#define ZCRP_CP_PLACING_H

#include "asking.h"

/* Each takes the entry, and owns it from then on. placing_file needs a place and room in the pack.
 */
int placing_directory(struct copy_target *target, struct wanted *wanted);
int placing_link(struct copy_target *target, struct wanted *wanted);
int placing_file(struct copy_target *target, struct wanted *wanted);

/* Begins the copy of a file: it joins the pack, or gets a place. */
void placing_begin(struct copy_target *target, struct wanted *wanted);

/* The file that is there is the same. The entry stays the caller's. */
int placing_skip(struct copy_target *target, const struct wanted *wanted);

/* Asks for the pack, and takes one that has come. */
int placing_request_pack(struct copy_target *target);
int placing_on_pack(struct copy_target *target, struct awaited *awaited);

/* Gives the directories their permissions and times, when all that is in them is there; frees them
 * in any case. */
int placing_finish_directories(struct copy_target *target, bool is_fine);

#endif
