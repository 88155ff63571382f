/* The board: this process's file of statistics (board_file.h), with a row for each entity that
 * offers its own. The first such entity makes the file, and the last one that closes removes it, as
 * does the end of the process. A child of a fork has none, and makes one of its own if it opens
 * entities.
 *
 *     entity --board_take--> a place --board_write--> its row --board_give--> nobody's
 *
 * The file is mapped, and its pages are there before they are written to, so that a full disk
 * cannot end the process. What is in the file is never read here.
 *
 * Nothing of this can fail for the entity: what cannot be offered is not.
 *
 * One mutex guards which rows are taken; it is held while the file is made or removed, and never
 * together with an entity's. A row is its entity's from take to give, and written without it. */
#ifndef ZCRP_STATSFILE_BOARD_H
#define ZCRP_STATSFILE_BOARD_H

#include "board_file.h"

enum {
    BOARD_NONE = -1,     /* there is no board */
    BOARD_LEFT_OUT = -2, /* there is no room on it; the entity is counted */
};

/* A place for an entity, on the board in the folder that `where` names; the process has one board,
 * which the first entity chooses. *entity is the number of the entity. */
int board_take(const char *where, uint64_t *entity);

/* Writes the row of a place that was taken; `row->sequence` does not count. Some hundred
 * nanoseconds. By one thread at a time. */
void board_write(int place, const struct board_row *row);

/* Gives the place back; fine for BOARD_NONE. */
void board_give(int place);

/* In a child: there is no board. */
void board_after_fork(void);

#endif
