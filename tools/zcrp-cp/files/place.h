/* What the user's words for the far end mean there, and where files go at either end.
 *
 *      far end of a remote shell    ~ is the home directory, and relative paths begin there
 *      server                       everything is below the served directory, which ~ and / are,
 *                                   too; ".." is refused, and no link is followed
 *      near end                     the shell has read the word already: a path as any other */
#ifndef ZCRP_CP_PLACE_H
#define ZCRP_CP_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "zcrp-cp/wire/record.h"

enum { PLACE_ROOM = PATH_MOST + 3 }; /* of a path, and "/." behind it */

/* Writes the path that a word means at a far end: below `directory`, a server's, or anywhere if
 * that is -1. "/." is behind it if what is in that directory is meant, as by "~", "" and "a/.", and
 * "/" if the word ends so. NULL, or why there is no such path. */
const char *place_resolve(int directory, const char *word, char out[PLACE_ROOM]);

/* What may be there where files go, and what is made. */
enum place_kind {
    PLACE_DIRECTORY, /* a directory, which is there: several things go in */
    PLACE_CONTENTS,  /* a directory, which is made if need be: what another one has goes in */
    PLACE_NAME,      /* a directory, or else the new name of the one thing that is copied */
};

/* Where files go. */
struct place {
    int directory;            /* a descriptor, the owner's to close; -1: there is none */
    char name[NAME_MOST + 1]; /* replaces the first name of each path; "": nothing does */
};

/* Opens the place that `path` names, below `directory` or, if that is -1, anywhere. A path that
 * ends with a slash is a directory, and is made if need be. A dry run makes none, and then has no
 * descriptor. What has the new name already is a file: nothing else would be replaced. NULL, or why
 * there is no such place. */
const char *place_open(struct place *place, int directory, const char *path, enum place_kind kind,
                       bool is_dry_run);

/* Opens a directory below `directory` or, if that is -1, anywhere. A descriptor, or -1 with errno.
 */
int place_open_directory(int directory, const char *path);

/* Closes a descriptor, unless it is -1; errno stays. */
void place_close(int fd);

/* Is it a part file's name, ".NAME.zcrp-" and 16 hexadecimal digits? */
bool place_is_part(const char *name);

/* ---- beneath ---- */

/* Files below a directory, and nowhere else. Whatever the path, and whoever changes the tree
 * meanwhile, no call follows a symbolic link or leaves the directory: the kernel sees to it
 * (openat2(2)), or, where it is too old, each name is opened by itself.
 *
 * A path keeps record.h's I1, or is "." for the directory itself; "/." may be behind it. Each
 * function returns a descriptor or 0, or -1 with errno; ELOOP or EXDEV says that a link is in the
 * way. Nothing is below -1. */

/* Opens a file or directory; O_CLOEXEC and O_NOFOLLOW are added. */
int beneath_open(int directory, const char *path, int flags, mode_t mode);

/* Opens the directory that `path` is in; *name is its last name, in `path`. */
int beneath_parent(int directory, const char *path, const char **name);

/* Makes a directory, or finds that there is one already. Private: until it has what belongs in it.
 */
enum { DIRECTORY_MODE = 0777, PRIVATE_DIRECTORY_MODE = 0700 };
int beneath_make_directory(int directory, const char *path, mode_t mode);

/* As readlink(2): the bytes of where a symbolic link leads to, or -1 with errno. */
ssize_t beneath_read_link(int directory, const char *path, char *where, size_t room);

/* As fstatat(2): of a symbolic link, the link itself. */
int beneath_status(int directory, const char *path, struct stat *status);

#endif
