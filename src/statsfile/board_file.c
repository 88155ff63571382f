#include "board_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(offsetof(struct board_head, left_out) == 40, "the table in the header");
_Static_assert(sizeof(struct board_head) == 72, "the table in the header");
_Static_assert(offsetof(struct board_row, peer) == 40, "the table in the header");
_Static_assert(offsetof(struct board_row, stats) == 104, "the table in the header");
_Static_assert(sizeof(struct board_row) == 104 + sizeof(struct zcrp_stats), "nothing between");

/* ---- the folder ---- */

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* One of the folders that may be the parent of the usual one, if it is there. */
static bool below(char path[PATH_MAX], const char *parent)
{
    int length = snprintf(path, PATH_MAX, "%s/zcrp", parent);

    return parent[0] == '/' && length < PATH_MAX && is_folder(parent);
}

static void usual_path(char path[PATH_MAX])
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    unsigned long user = geteuid();
    char parent[BOARD_NAME];

    if (runtime != NULL && below(path, runtime))
        return;
    (void)snprintf(parent, sizeof(parent), "/run/user/%lu", user);
    if (!below(path, parent))
        (void)snprintf(path, PATH_MAX, "/tmp/zcrp-%lu", user);
}

static bool is_own(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int board_folder(const char *where, bool makes, char path[PATH_MAX])
{
    bool is_usual = strcmp(where, "1") == 0;

    if (is_usual)
        usual_path(path);
    else if (snprintf(path, PATH_MAX, "%s", where) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (makes && mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_usual ? O_NOFOLLOW : 0));
    if (fd < 0 || !is_usual || is_own(fd))
        return fd;
    (void)close(fd);
    errno = EPERM;
    return -1;
}

/* ---- a file ---- */

void board_name(char name[BOARD_NAME], pid_t pid)
{
    (void)snprintf(name, BOARD_NAME, "%ld" BOARD_SUFFIX, (long)pid);
}

static bool is_regular(const struct stat *status)
{
    return S_ISREG(status->st_mode);
}

int board_open(int folder, const char *name, struct stat *status)
{
    if (fstatat(folder, name, status, AT_SYMLINK_NOFOLLOW) != 0 || !is_regular(status))
        return -1;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, status) == 0 && is_regular(status)))
        return fd;
    (void)close(fd);
    return -1;
}

pid_t board_holder(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    if (fcntl(fd, F_GETLK, &lock) != 0)
        return -1;
    if (lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid > 0 ? lock.l_pid : -1;
}

bool board_has_magic(int fd)
{
    char magic[sizeof(BOARD_MAGIC) - 1];

    return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
           memcmp(magic, BOARD_MAGIC, sizeof(magic)) == 0;
}
