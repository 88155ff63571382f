/* A large file, part by part: each step that incoming.h decides on becomes a request, and each
 * answer comes back here. */
#ifndef ZCRP_CP_PARTS_H
#define ZCRP_CP_PARTS_H

#include "asking.h"

/* Takes a file's next step. *did: there was one. */
int parts_advance(struct copy_target *target, struct incoming *incoming, bool *did);

/* Answers that have come. A REPORT is about all SEND and CLOSE before it, and takes them all out of
 * the ring. */
int parts_on_hashes(struct copy_target *target, struct awaited *awaited);
int parts_on_extents(struct awaited *awaited);
int parts_on_block(struct copy_target *target, struct awaited *awaited);
int parts_on_report(struct copy_target *target, const struct awaited *report);

#endif
