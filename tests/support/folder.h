/* A folder for the files of one test. A failing call ends the program. */
#ifndef ZCRP_TESTS_SUPPORT_FOLDER_H
#define ZCRP_TESTS_SUPPORT_FOLDER_H

#include "own.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64]; /* its path, from folder_make to folder_remove */

static inline void folder_make(void)
{
    strcpy(folder, "/tmp/zcrp-test.XXXXXX");
    if (mkdtemp(folder) == NULL)
        abort();
}

/* The path of a file there; valid until the fourth next call. */
static inline const char *folder_path(const char *name)
{
    static char path[4][512];
    static int next;

    next = (next + 1) % 4;
    snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
    return path[next];
}

static inline bool folder_has(const char *name)
{
    struct stat status;

    return lstat(folder_path(name), &status) == 0;
}

/* Files, folders and all else that is there. */
static inline int folder_count(void)
{
    return own_count(folder) - 2;
}

/* With what is in it, but for folders that are not empty. */
static inline void folder_remove(void)
{
    DIR *all = opendir(folder);
    const struct dirent *entry;

    while (all != NULL && (entry = readdir(all)) != NULL)
        (void)(unlink(folder_path(entry->d_name)) == 0 || rmdir(folder_path(entry->d_name)) == 0);
    if (all != NULL)
        closedir(all);
    if (rmdir(folder) != 0)
        abort();
}

/* Makes a file with these bytes. */
static inline void folder_write(const char *name, const void *bytes, size_t size)
{
    int fd = open(folder_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

#endif
