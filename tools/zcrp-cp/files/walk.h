/* What is to be copied, as a list: each file or directory that was named, and all that is below a
 * directory, a directory before what is in it, in the order of their names. Symbolic links are
 * entries and are never followed below what was named.
 *
 * A walk needs one open descriptor at a time, however deep the tree is. */
#ifndef ZCRP_CP_WALK_H
#define ZCRP_CP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp-cp/wire/record.h"

struct walk_item;

/* One thing that was named: the directory that it is in, and its name there. Those that are in one
 * directory share a descriptor. */
struct root {
    char *folder;     /* how the directory was named */
    int directory;    /* a descriptor of it; the walk's */
    bool opened_this; /* it is the first in this directory */
    char *name;       /* "." for what is in the directory, without itself */
};

struct walk {
    struct root *roots;
    uint32_t root_count, next_root;
    uint32_t folder_count;    /* descriptors of roots */
    struct walk_item *stack;  /* found, and not told yet */
    char path[PATH_MOST + 1]; /* of the last entry */
    char link[PATH_MOST + 1]; /* where that leads to, if it is a link */
    char error[TEXT_MOST];
};

enum walk_step { WALK_ENTRY, WALK_TROUBLE, WALK_END, WALK_MEMORY };

/* Everything zero is an empty walk. Adds what `path` names: below `directory` and nowhere else, or
 * anywhere, from the current folder, if `directory` is -1. 0, or -1 with errno. */
int walk_add(struct walk *walk, int directory, const char *path);
void walk_fini(struct walk *walk);

/* The next entry, whose texts stay until the next call, and its root; or trouble: walk->error is
 * about walk->path, which is left out. */
enum walk_step walk_next(struct walk *walk, struct list_entry *entry, uint32_t *root);

#endif
