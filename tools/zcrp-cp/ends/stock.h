/* What the source has: every entry of the list that it has told the target of, by its number, and
 * the answers that are under way. A file is opened and mapped when it is first asked for, and stays
 * so until the target closes it. */
#ifndef ZCRP_CP_STOCK_H
#define ZCRP_CP_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-cp/files/memory.h"
#include "zcrp-cp/files/walk.h"
#include "zcrp-cp/wire/line.h"

enum {
    STOCK_MOST = 1 << 28,  /* entries of a list; a longer one ends the copy */
    STOCK_OPEN_MOST = 256, /* files open at once */
};

/* A file that is open. */
struct opened {
    int fd;
    struct mapping mapping;
    uint32_t in_flight;  /* messages that are slices of it, and hashes under way */
    struct opened *next; /* of those that are closing */
};

struct item {
    char *path; /* from the root's directory */
    uint32_t root;
    uint8_t type;         /* enum entry_type */
    uint64_t size, moved; /* bytes: as listed, and of these sent */
    int64_t time_s;
    uint32_t time_ns;
    struct opened *opened; /* NULL: it is not */
};

struct stock {
    const struct walk *walk; /* whose roots the paths begin at; set by the caller */
    struct item *items;
    uint32_t count;
    size_t room;
    int open_count;
    struct opened *closing;
};

/* Nothing may be in flight any more. With a walk, everything else zero is an empty stock. */
void stock_fini(struct stock *stock);

/* Adds an entry, number stock->count. 0, or -1: no memory, or too many. */
int stock_add(struct stock *stock, const struct list_entry *entry, uint32_t root);

/* Opens the file unless it is open. NULL, or why it cannot be had: it is not as it was listed, or
 * the system's words. */
const char *stock_open(struct stock *stock, struct item *item);

/* Opens a file for one moment, for its small content: a descriptor, or -1 and *error. */
int stock_peek(const struct stock *stock, const struct item *item, const char **error);

/* Is the open file still as it was listed? NULL, or how it differs. */
const char *stock_changed(const struct item *item, int fd);

/* The file is not needed any more. stock_tidy frees those of which nothing is in flight: to unmap a
 * large file takes a while, so that is for when there is nothing to answer. */
void stock_close(struct stock *stock, struct item *item);
void stock_tidy(struct stock *stock);

enum {
    ANSWERS_MOST = 512,                  /* under way at once; one more waits for the oldest */
    ANSWERS_SPARE = 8,                   /* messages that are kept for the next records */
    ANSWERS_BYTES_LEAST = 2 * PACK_ROOM, /* of messages with memory of their own: always */
    ANSWERS_BYTES_MOST = 32 << 20,       /* while all copies have not more than: */
    ANSWERS_BYTES_ALL = 256 << 20,
};

struct sent_answer {
    struct zcrp_msg *message;
    struct opened *opened; /* whose slice it is; NULL: it has memory of its own */
};

/* The answers that are under way, in their order: slices of mapped files, and messages of records.
 * The memory of a slice is held until its message has ended.
 *
 * A target may ask and never take the answers, so the memory of messages is bounded: for one copy,
 * and for all copies of a server together. Each copy has the least that it needs to go on. */
struct answers {
    struct line *line;
    struct sent_answer ring[ANSWERS_MOST];
    unsigned first, count;
    struct zcrp_msg *spare[ANSWERS_SPARE];
    int spare_count;
    size_t bytes; /* of messages with memory of their own, spare ones too */
};

/* With a line, everything else zero is none. answers_fini takes back what is under way. */
void answers_fini(struct answers *answers);

/* A message with PACK_ROOM bytes to be filled with records, to be sent. It waits until there is
 * room for one more. NULL: *code. */
struct zcrp_msg *answers_take(struct answers *answers, int *code);

/* Sends it. It is theirs from now on. 0, or a code, as for all of these. */
int answers_send(struct answers *answers, struct zcrp_msg *message, size_t length);

/* Sends a part of an open file, or nothing: an empty message in its place. */
int answers_send_slice(struct answers *answers, struct opened *opened, uint64_t offset,
                       uint32_t length);
int answers_send_nothing(struct answers *answers);

/* Lets go of those that have ended. */
int answers_reap(struct answers *answers);

/* Waits until all have ended. */
int answers_wait(struct answers *answers);

#endif
