/* A sample: what all processes of some folders offered on their boards (statsfile/board_file.h), at
 * one moment.
 *
 * Nothing that a file says is believed. It is read, never mapped; it may be anybody's, anything,
 * and change while it is read. Only a regular file counts that is this user's, or anybody's if root
 * looks, and that a process has locked. The kernel says which, and the file's name has to be of it;
 * where the kernel does not say, only this user's files count. Text becomes printable. A file whose
 * process has ended is removed, if it is a board. No more rows of a file are read than a process
 * writes, and of a folder only SAMPLE_LOOKS_MOST, each try counted. Each folder has its share of
 * SAMPLE_ENTITIES_MOST, and places that earlier folders did not need. The rest is left out, so that
 * nobody's files hold the others' up, or take their places. */
#ifndef TOP_SAMPLE_H
#define TOP_SAMPLE_H

#include "statsfile/board_file.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_ENTITIES_MOST = 1 << 16,
    SAMPLE_FILES_MOST = 4096, /* in one folder; beyond that none is looked at */
    SAMPLE_FOLDERS_MOST = 256,
    SAMPLE_LOOKS_MOST = 1 << 17, /* at rows of one folder */
};

/* What was seen of an entity. */
struct seen {
    size_t folder; /* which of those that were asked for, */
    pid_t pid;     /* and whose file: */
    int64_t made_ns;
    uint64_t number; /* these four tell entities apart */
    char program[BOARD_PROGRAM];
    char peer[BOARD_PEER];
    enum board_kind kind;
    uint32_t channel; /* enum board_channel, or anything */
    uint32_t flags;   /* enum board_flags */
    int64_t opened_ns;
    int64_t written_ns; /* not before it was opened, not after the sample */
    uint64_t stats[BOARD_STATS];
};

struct sample {
    int64_t at_ns;     /* of CLOCK_MONOTONIC */
    struct seen *seen; /* by folder, process, and number */
    size_t count, room;
    uint64_t processes; /* that offer statistics */
    uint64_t left_out;  /* entities that are there and not in `seen` */
    size_t kept;        /* places in `seen` for the folders behind this one */
    uint32_t looks;     /* at rows of this folder, so far */
};

/* The folders, by name. */
struct folders {
    const char *where[SAMPLE_FOLDERS_MOST]; /* as board_folder has it */
    size_t count;
};

/* Looks at all of them. 0, or -1 with a complaint: no memory. A folder that is not there is empty.
 */
__attribute__((warn_unused_result)) int sample_take(struct sample *sample,
                                                    const struct folders *folders);
void sample_fini(struct sample *sample);

/* The same entity in another sample, or NULL. */
const struct seen *sample_find(const struct sample *sample, const struct seen *entity);

/* The number of the process whose board has that name, or 0 if it is no such name. */
pid_t sample_pid_of(const char *name);

/* Adds what a file says, of this size, which has to be of that process. 0, -1 with a complaint if
 * there is no memory, 1 if it is no board, or not a whole one. */
__attribute__((warn_unused_result)) int sample_read(struct sample *sample, int fd, off_t size,
                                                    const struct seen *process);

#endif
