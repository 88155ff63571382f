/* An entity's notice: its row on the board (board.h), if its statistics are offered there.
 *
 * Whoever ends a locked section writes the row, at most every NOTICE_EVERY. A section that comes
 * too early for that has the timeout thread end another one later. So the row of a busy entity is
 * NOTICE_EVERY old at most, that of an idle one is as it should be, and an idle one costs nothing.
 */
#ifndef ZCRP_ENTITY_NOTICE_H
#define ZCRP_ENTITY_NOTICE_H

#include "board.h"
#include "core/instant.h"

struct zcrp_entity;

#define NOTICE_EVERY (100 * MILLISECOND)

struct notice {
    int place;             /* (c) on the board; BOARD_NONE: none */
    uint64_t number;       /* (c) of the entity */
    instant opened;        /* (c) */
    char peer[BOARD_PEER]; /* (c) */
    instant written;       /* (m) the row was */
    instant due;           /* (m) it is to be written; NEVER: nothing has changed since */
};

/* Takes a row for an entity that is open but for its threads, if that is wanted. */
void notice_init(struct zcrp_entity *e);

/* Gives it back; nobody uses the entity any more. */
void notice_fini(struct zcrp_entity *e);

/* Writes the row if it is time to, within a locked section that is about to end. Only if the entity
 * has one. */
void notice_tend(struct zcrp_entity *e);

#endif
