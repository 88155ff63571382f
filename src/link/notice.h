/* An entity's statistics, and its notice: its row on the board (board.h), if they are offered
 * there.
 *
 * The first locked section that ends after the row was written has the timeout thread write it
 * again, when the clock next shows a multiple of NOTICE_EVERY. So the row of a busy entity is
 * little older than that, the row of an idle one is as it should be, and an idle entity costs
 * nothing. A locked section of a busy one costs two comparisons and no look at the clock, and the
 * thread wakes once for all entities. */
#ifndef ZCRP_LINK_NOTICE_H
#define ZCRP_LINK_NOTICE_H

#include "core/instant.h"
#include "statsfile/board.h"
#include "zcrp.h"

#include <stdbool.h>

struct zcrp_entity;

#define NOTICE_EVERY (100 * MILLISECOND)
#define NOTICE_NOW INT64_MIN

struct notice {
    int place;             /* (c) on the board; BOARD_NONE: none */
    uint64_t number;       /* (c) of the entity */
    instant opened;        /* (c) */
    char peer[BOARD_PEER]; /* (m) its address */
    instant due;           /* (m) the row is to be written; NEVER: nothing has changed since;
                              NOTICE_NOW: at the end of this locked section */
};

/* The statistics that the mutex guards, without the channels'. Locked. */
struct zcrp_stats notice_stats(const struct zcrp_entity *e);

/* Takes a row for an entity that is open but for its threads, if that is wanted. */
void notice_init(struct zcrp_entity *e);

/* The peer, or this side, is at another address: the next row says so. Locked. */
void notice_on_moved(struct zcrp_entity *e);

/* Gives it back; nobody uses the entity any more. */
void notice_fini(struct zcrp_entity *e);

/* Within a locked section of the timeout thread: has the row written at its end, if it is time to.
 */
void notice_expire(struct zcrp_entity *e, instant now);

/* Within a locked section that is about to end, if the entity has a row: writes it, or says when it
 * is to be written. */
void notice_tend(struct zcrp_entity *e);

#endif
