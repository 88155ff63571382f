/* A file of the target while it is not whole: a part file beside the place where it belongs, by a
 * name that the next copy of the same file finds again. When all is there and verified, it gets its
 * permissions and its time, and takes the file's name in one step.
 *
 *      folder/name            what was there before, untouched until the end
 *      folder/.name.zcrp-0123456789abcdef
 *
 * Whoever has a part file open has it locked, so two copies never write one. Where another user has
 * made a file by that name first, which cannot be removed, the part gets a name of chance, and is
 * not kept for a later copy. */
#ifndef ZCRP_CP_PARTIAL_H
#define ZCRP_CP_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp-cp/wire/record.h"

struct partial {
    int folder;               /* the directory that it is in */
    int fd;                   /* the part file, to read and write */
    char name[NAME_MOST + 1]; /* that it gets in the end */
    char own[NAME_MOST + 1];  /* that it has */
    bool was_there;           /* an earlier copy has left it, with something in it */
    bool is_loose;            /* its name is one of chance: no later copy finds it */
    bool takes_late;          /* its pages are to be taken when data is about to come */
};

/* Opens or makes the part file of the file `path` below `directory`. 0, or -1 with errno; EBUSY if
 * another copy has it. */
int partial_open(struct partial *partial, int directory, const char *path);

/* Gives it `size` bytes, and takes the space for them unless the file has holes. 0, or -1 with
 * errno. */
int partial_allocate(struct partial *partial, uint64_t size, bool is_sparse);

/* Makes [start, end) a hole. 0, or -1 with errno. */
int partial_punch(const struct partial *partial, uint64_t start, uint64_t end);

/* Gives it permissions and time, and its name. 0, or -1 with errno. Close it then in any case. */
int partial_finish(const struct partial *partial, const struct list_entry *entry);

/* Removes the part file. */
void partial_discard(const struct partial *partial);

/* Closes it; what is there stays for a later copy, if one can find it. errno stays, too. */
void partial_close(struct partial *partial);

/* Puts a symbolic link in its place, replacing what is there unless it is a directory. */
int partial_make_link(int directory, const struct list_entry *entry);

/* The permissions that a copy gets: those of the original, without set-user-ID, set-group-ID and
 * the sticky bit. */
unsigned partial_mode(const struct list_entry *entry);

/* Gives an open file or directory the time of the original. 0, or -1 with errno. */
int partial_set_time(int fd, const struct list_entry *entry);

#endif
