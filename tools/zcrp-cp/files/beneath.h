/* Files below a directory, and nowhere else. Whatever the path, and whoever changes the tree
 * meanwhile, no call follows a symbolic link or leaves the directory: the kernel sees to it
 * (openat2(2)), or, where it is too old, each name is opened by itself.
 *
 * A path keeps record.h's I1, or is "." for the directory itself; "/." may be behind it. Each
 * function returns a descriptor or 0, or -1 with errno; ELOOP or EXDEV says that a link is in the
 * way. */
#ifndef ZCRP_CP_BENEATH_H
#define ZCRP_CP_BENEATH_H

#include <sys/stat.h>
#include <sys/types.h>

/* Opens a file or directory; O_CLOEXEC and O_NOFOLLOW are added. */
int beneath_open(int directory, const char *path, int flags, mode_t mode);

/* Opens the directory that `path` is in; *name is its last name, in `path`. */
int beneath_parent(int directory, const char *path, const char **name);

/* Makes a directory that only its owner may use, or finds that there is one already. */
int beneath_make_directory(int directory, const char *path);

/* As fstatat(2): of a symbolic link, the link itself. */
int beneath_status(int directory, const char *path, struct stat *status);

#endif
