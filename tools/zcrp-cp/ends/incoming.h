/* One file on its way into the target: its part file, mapped, and what is still to be asked for.
 *
 *      [extents]   where a file with holes has data
 *      [compare]   the hashes of what an earlier copy has left, or of the file that is there
 *      [fetch]     the blocks that are missing
 *      [close]     the source says whether the file is still as it was listed
 *      [store]     the file system has it
 *
 * It decides and keeps the books; placing.c sends the requests. */
#ifndef ZCRP_CP_INCOMING_H
#define ZCRP_CP_INCOMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-cp/files/memory.h"
#include "zcrp-cp/wire/record.h"

enum { INCOMING_TRIES = 3 }; /* for a block that arrives damaged */

/* A file of the target while it is not whole: a part file beside the place where it belongs, by a
 * name that the next copy of the same file finds again. When all is there and verified, it gets its
 * permissions and its time, and takes the file's name in one step.
 *
 *      folder/name            what was there before, untouched until the end
 *      folder/.name.zcrp-0123456789abcdef
 *
 * Whoever has a part file open has it locked, so two copies never write one. Where another user has
 * made a file by that name first, which cannot be removed, or where the file system has no locks,
 * the part gets a name of chance, and is not kept for a later copy. */
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

/* What only the close of a file tells: that a network file system, which writes then, could not.
 * The part file stays open. 0, or -1 with errno. */
int partial_settle(const struct partial *partial);

/* Gives it permissions and time, and its name. 0, or -1 with errno; EBUSY if something else has the
 * part's name by now, or if the new name is that of a part which a copy has open. Close it then in
 * any case. */
int partial_finish(const struct partial *partial, const struct list_entry *entry);

/* Removes the part file, if it still has its name. */
void partial_discard(const struct partial *partial);

/* Closes it; what is there stays for a later copy, if one can find it. errno stays, too. */
void partial_close(struct partial *partial);

/* Puts a symbolic link in its place, replacing what is there unless it is a directory. Its texts
 * have a 0 behind them. */
int partial_make_link(int directory, const struct list_entry *entry);

/* The permissions that a copy gets: those of the original, without set-user-ID, set-group-ID and
 * the sticky bit. */
unsigned partial_mode(const struct list_entry *entry);

/* Gives an open file or directory the time of the original. 0, or -1 with errno. */
int partial_set_time(int fd, const struct list_entry *entry);

struct range {
    uint64_t start, end; /* half open */
};

/* Parts of a file that are still to be asked for, in the order in which they were added. Everything
 * zero is an empty queue. No range in it is empty. */
struct ranges {
    struct range *row;
    size_t first, count, room; /* those from `first` on are left */
};

/* Adds [start, end); one that begins where the last one ends makes that longer. An empty one is
 * left out. 0, or -1: no memory. */
int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end);

/* Takes at most `most` bytes from the front. False if nothing is left. A part ends at a multiple of
 * `most` or at its range's end, so that parts of one file are aligned alike. */
bool ranges_take(struct ranges *ranges, uint64_t most, struct range *part);
void ranges_fini(struct ranges *ranges);
void ranges_check(const struct ranges *ranges);

/* An entry of the list that is to be dealt with. */
struct wanted {
    uint32_t number;         /* its place in the list */
    struct list_entry entry; /* whose texts are in `bytes`, each with a 0 behind it */
    int damaged;             /* times that it came so */
    struct wanted *next;
    char bytes[];
};

enum incoming_step {
    INCOMING_ASK,     /* about *part: by EXTENTS (from its start on), HASHES, SEND or CLOSE */
    INCOMING_WAIT,    /* nothing, until an answer has come */
    INCOMING_SAME,    /* the file that is there is the same */
    INCOMING_DIFFERS, /* the file that is there is another: incoming_begin */
    INCOMING_STORE,   /* all is there: incoming_store */
    INCOMING_WHOLE,   /* ... and stored: incoming_finish */
    INCOMING_FAILED,  /* incoming->error */
};

/* A file on its way to the file system, by a crew. */
struct storing {
    struct crew_job job;
    int fd;
    int code; /* 0 or errno, once the job is done */
};

struct incoming {
    struct wanted *wanted; /* owned */
    struct partial partial;
    struct mapping mapping;
    struct ranges to_compare; /* by their hashes; they come before those to fetch */
    struct ranges to_fetch;
    bool compares;       /* with the file that is there; nothing is written */
    bool differs;        /* ... and it is another */
    bool needs_extents;  /* the list of extents is not complete */
    uint64_t extents_at; /* up to where it is */
    uint64_t extents;    /* so many have come */
    unsigned in_flight;  /* requests that are not answered, and the storing */
    int damaged;         /* blocks that were */
    bool is_closed;      /* the source says that it is still the same */
    bool is_asked;       /* ... it was asked */
    struct storing storing;
    bool is_storing, is_stored;
    char error[TEXT_MOST + 1]; /* not empty: it has failed */
};

/* Prepares to compare with the file that is there. Fails the file if it cannot. The wanted entry is
 * owned from now on. */
void incoming_begin_compare(struct incoming *incoming, int directory, struct wanted *wanted);

/* Prepares the part file. */
void incoming_begin(struct incoming *incoming, int directory, struct wanted *wanted);

/* What to do next. Takes *part out of its queue; fetched parts have at most `most` bytes. *kind is
 * that of the request. */
enum incoming_step incoming_next(struct incoming *incoming, uint64_t most, uint8_t *kind,
                                 struct range *part);

/* Takes an extent, or the end of the list. False if the source may not say that. A file with too
 * many of them fails. */
bool incoming_add_extent(struct incoming *incoming, uint64_t offset, uint64_t length);
void incoming_end_extents(struct incoming *incoming);

/* A part has these hashes at the source; `own` are those of what is here. */
void incoming_compare(struct incoming *incoming, struct range part, const uint8_t *theirs,
                      const uint8_t *own);

/* A part arrived damaged: it is fetched again, or the file fails. */
void incoming_retry(struct incoming *incoming, struct range part);

/* "what: why", for errno. */
struct text incoming_explain(char out[TEXT_MOST], const char *what, int code);

/* The file fails; the first reason stays. */
void incoming_fail(struct incoming *incoming, struct text why);
void incoming_fail_errno(struct incoming *incoming, const char *what, int code);

/* Hands the file to the file system, which may take a while: look again and again whether that has
 * ended. */
void incoming_store(struct incoming *incoming, struct crew *crew);
void incoming_look(struct incoming *incoming, struct crew *crew);

/* Gives the file its name. False: it has failed. */
bool incoming_finish(struct incoming *incoming);

/* Frees what it holds. The part file stays if `keeps`. Nothing may be in flight. */
void incoming_fini(struct incoming *incoming, bool keeps);

#endif
