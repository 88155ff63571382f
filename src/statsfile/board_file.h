/* The file of a board: where a process offers the statistics of its entities to zcrp-top. This
 * header is its format, and what both sides know of it; the writer is board.h, the reader
 * tools/zcrp-top.
 *
 *     FOLDER/PID.stats       head | row | row | row ...           one row for each entity
 *
 *     byte  head                            byte  row
 *        0  "ZCRPSTAT"                         0  sequence: odd while the row is being written
 *        8  version of this format: 1          4  kind: 0: nobody's, 1: a sender, 2: a receiver
 *       12  bytes of the head                  8  channel
 *       16  bytes of a row                    12  flags
 *       20  rows in the file                  16  when the entity was opened, ns
 *       24  statistics in a row               24  when the row was written, ns
 *       28  number of the process             32  number of the entity, from 1 on in its process
 *       32  when the board was made, ns       40  the peer's address, 64 bytes, with a 0
 *       40  entities that have no row        104  statistics, 8 bytes each, in the order of
 *       48  rows that were ever used               ZCRP_STATS of zcrp.h
 *       52  0
 *       56  name of the program, 16 bytes
 *
 * Numbers are the machine's own; times are of CLOCK_MONOTONIC. The version changes if something
 * moves. What is new comes behind what is there: the head, the row and the list of statistics say
 * how long they are, so an old reader reads what it knows of.
 *
 * The file is of its user alone (mode 600). Its process holds a lock on it (fcntl, F_WRLCK, whole
 * file), from before the first byte is written until it ends. So a file that begins as a board and
 * has no lock is left over, and the kernel says whose one with a lock is.
 * The writer never reads the file. A reader believes nothing of it, and never maps it: it may be
 * anybody's, and become shorter at any time.
 *
 * A row is whole if its sequence is even, and the same before and after the rest was read. It only
 * grows, also when the row becomes another entity's. */
#ifndef ZCRP_STATSFILE_BOARD_FILE_H
#define ZCRP_STATSFILE_BOARD_FILE_H

#include "zcrp.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define BOARD_MAGIC "ZCRPSTAT"
#define BOARD_SUFFIX ".stats"

enum {
    BOARD_VERSION = 1,
    BOARD_ROWS = 1024,
    BOARD_PROGRAM = 16,
    BOARD_PEER = 64,
    BOARD_STATS = sizeof(struct zcrp_stats) / sizeof(uint64_t),
    BOARD_NAME = 32, /* room for the file's name */
};

enum board_kind { BOARD_NOBODY, BOARD_SENDER, BOARD_RECEIVER };
enum board_channel { BOARD_UDP, BOARD_AAL5, BOARD_MEMORY, BOARD_UNIX };
enum board_flags {
    BOARD_KEYS = 1, /* what is sent is sealed */
    BOARD_HALF = 2, /* it is one half of a connection */
};

struct board_head {
    char magic[8];
    uint32_t version;
    uint32_t head_bytes;
    uint32_t row_bytes;
    uint32_t rows;
    uint32_t stats;
    uint32_t pid;
    int64_t made_ns;
    _Atomic uint64_t left_out; /* relaxed: nothing else depends on it */
    _Atomic uint32_t used;     /* relaxed: a row that is read too early is nobody's */
    uint32_t zero;
    char program[BOARD_PROGRAM];
};

struct board_row {
    /* Odd: a release fence keeps it before the rest; even: released with the rest. A reader has
     * acquire fences between its three reads. */
    _Atomic uint32_t sequence;
    uint32_t kind;    /* enum board_kind */
    uint32_t channel; /* enum board_channel */
    uint32_t flags;   /* enum board_flags, or-ed */
    int64_t opened_ns;
    int64_t written_ns;
    uint64_t entity;
    char peer[BOARD_PEER];
    uint64_t stats[BOARD_STATS];
};

/* The file as its writer maps it. */
struct board_file {
    struct board_head head;
    struct board_row rows[BOARD_ROWS];
};

/* Opens the folder that `where` names: a path, or "1" for the usual one, which is the first of
 * these whose parent is there: $XDG_RUNTIME_DIR/zcrp, /run/user/UID/zcrp, /tmp/zcrp-UID. The usual
 * one has to be this user's, and nobody else may write there (EPERM). With `makes` one that is not
 * there is made, mode 700. A descriptor, or -1 and errno. `path` becomes its path. */
__attribute__((warn_unused_result)) int board_folder(const char *where, bool makes,
                                                     char path[PATH_MAX]);

/* Writes the name of the file of a process. */
void board_name(char name[BOARD_NAME], pid_t pid);

/* Opens a file to read, if it is a regular one: it follows no link, and waits for nothing. A
 * descriptor and *status, or -1. */
__attribute__((warn_unused_result)) int board_open(int folder, const char *name,
                                                   struct stat *status);

/* Who holds the file: the number of the process, 0 if nobody does any more, -1 if the process has
 * no number here (another namespace), or the kernel does not tell: anybody can lock a file so that
 * it does not. A process does not see a lock of its own, and loses it if it opens and closes the
 * file once more. */
pid_t board_holder(int fd);

/* Does the file begin as a board does? */
bool board_has_magic(int fd);

#endif
