/* The words of the command line that name files here and elsewhere.
 *
 *      a/b  ./a:b        here: no colon before the first slash
 *      host:a/b          there, by a remote shell; user@host:a/b, [2001:db8::1]:a/b
 *      host::a/b         there, from a server (zcrp-cp --serve) */
#ifndef ZCRP_CP_LOCATION_H
#define ZCRP_CP_LOCATION_H

#include <stdbool.h>

#include "zcrp-cp/wire/record.h"

enum location_kind { LOCATION_HERE, LOCATION_SHELL, LOCATION_SERVER };

enum { HOST_ROOM = 256 };

struct location {
    enum location_kind kind;
    char login[HOST_ROOM]; /* user@host, as the user wrote it; "" if it is here */
    char shell[HOST_ROOM]; /* the same for the remote shell, which knows no brackets */
    char host[HOST_ROOM];  /* that of it which is an address, without user and brackets */
    const char *path;      /* part of the word */
};

/* Reads a word. 0, or -1 with a complaint: no host, or one that a remote shell would take for an
 * option, or too long a one. */
int location_read(struct location *location, const char *word);

/* The last name of a word that was read: "b" of host:a/b/. It has no bytes if the word names what
 * is in a directory, as "host:", "a/." and "host:~" do. In any case it begins where that name
 * would. */
struct text location_name(const char *word);

enum { NAMED_ROOM = 2 * PATH_MOST + HOST_ROOM };

/* What the user would call `path` of the list that these words have led to: dir/file of host:a/dir
 * is host:a/dir/file. Of a single word the path's first name may be another one. Without words it
 * is the path. The text is in `out`, or is the path. */
struct text location_call(char *const *words, int count, struct text path, char out[NAMED_ROOM]);

/* Has the user asked a far end for what `path` of its list begins with, by one of these words? By a
 * word without a name, and by another user's home directory, "host:~user", also for whatever the
 * far end calls it. */
bool location_asks_for(char *const *words, int count, struct text path);

/* Are both at one place, by one way? */
bool location_is_same(const struct location *a, const struct location *b);

#endif
