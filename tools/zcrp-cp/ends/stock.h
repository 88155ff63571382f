/* What the source has told the target of: every entry of the list, by its number. A file is opened
 * and mapped when it is first asked for, and stays so until the target closes it. */
#ifndef ZCRP_CP_STOCK_H
#define ZCRP_CP_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-cp/files/mapping.h"
#include "zcrp-cp/files/walk.h"
#include "zcrp-cp/wire/record.h"

enum {
    STOCK_MOST = 1 << 28,  /* entries of a list; a longer one ends the copy */
    STOCK_OPEN_MOST = 256, /* files open at once */
};

/* A file that is open. */
struct opened {
    int fd;
    struct mapping mapping;
    uint32_t in_flight;  /* messages that are slices of it */
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
    const struct walk *walk; /* whose roots the paths begin at */
    struct item *items;
    uint32_t count;
    size_t room;
    int open_count;
    struct opened *closing;
};

void stock_init(struct stock *stock, const struct walk *walk);

/* Nothing may be in flight any more. */
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

/* A message with a slice of it is under way, and has ended. */
void stock_hold(struct opened *opened);
void stock_release(struct opened *opened);

#endif
