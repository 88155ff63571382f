/* A set of paths, so that one that comes again is found. Each is a pointer that the caller keeps,
 * as a field of whatever belongs to the path; the set takes memory for its own tree only.
 * Everything zero is an empty set. */
#ifndef ZCRP_CP_PATHS_H
#define ZCRP_CP_PATHS_H

struct paths {
    void *tree;
};

/* Adds *path, which must not change while it is in the set. The pointer that has this path: `path`,
 * or the one that was there before, and `path` is not added. NULL: no memory. */
const char **paths_add(struct paths *paths, const char **path);

/* Forgets all of them. */
void paths_fini(struct paths *paths);

#endif
