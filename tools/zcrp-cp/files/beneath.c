#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zcrp-cp/wire/record.h"

enum { PRIVATE_MODE = 0700, OWNER_ALL = S_IRWXU };

/* ENOSYS: the kernel, or a filter of system calls, does not have it. */
static int open_at_once(int directory, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)flags,
        .mode = (flags & O_CREAT) != 0 ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));

    if (fd < 0 && errno == EAGAIN) /* something was renamed meanwhile */
        fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
    return fd;
}

/* The next name of the path, and where the one behind it begins; NULL if it was the last. */
static const char *next_name(const char *path, char name[NAME_MOST + 1])
{
    size_t length = strcspn(path, "/");

    memcpy(name, path, length);
    name[length] = '\0';
    return path[length] == '/' ? path + length + 1 : NULL;
}

static void close_keeping_errno(int fd)
{
    int code = errno;

    (void)close(fd);
    errno = code;
}

static int open_step_by_step(int directory, const char *path, int flags, mode_t mode)
{
    char name[NAME_MOST + 1];
    int here = directory;

    for (;;) {
        const char *rest = next_name(path, name);
        int next = openat(
            here, name, rest != NULL ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : flags, mode);

        if (here != directory)
            close_keeping_errno(here);
        if (next < 0 || rest == NULL)
            return next;
        here = next;
        path = rest;
    }
}

int beneath_open(int directory, const char *path, int flags, mode_t mode)
{
    flags |= O_CLOEXEC | O_NOFOLLOW;
    int fd = open_at_once(directory, path, flags, mode);

    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
        fd = open_step_by_step(directory, path, flags, mode);
    return fd;
}

int beneath_parent(int directory, const char *path, const char **name)
{
    char parent[PATH_MOST + 1];
    const char *slash = strrchr(path, '/');

    *name = slash != NULL ? slash + 1 : path;
    if (slash == NULL)
        return beneath_open(directory, ".", O_RDONLY | O_DIRECTORY, 0);
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = '\0';
    return beneath_open(directory, parent, O_RDONLY | O_DIRECTORY, 0);
}

/* One that an earlier copy made as the source has it may not let its owner write. */
static int open_up(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return -1;
    return (status.st_mode & OWNER_ALL) == OWNER_ALL
               ? 0
               : fchmod(fd, (status.st_mode & 07777) | OWNER_ALL);
}

int beneath_make_directory(int directory, const char *path)
{
    const char *name;
    int parent = beneath_parent(directory, path, &name);

    if (parent < 0)
        return -1;
    int made = mkdirat(parent, name, PRIVATE_MODE);
    close_keeping_errno(parent);
    if (made == 0 || errno != EEXIST)
        return made;
    int fd = beneath_open(directory, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return -1;
    int code = open_up(fd);
    close_keeping_errno(fd);
    return code;
}

int beneath_status(int directory, const char *path, struct stat *status)
{
    const char *name;
    int parent = beneath_parent(directory, path, &name);

    if (parent < 0)
        return -1;
    int code = fstatat(parent, name, status, AT_SYMLINK_NOFOLLOW);
    close_keeping_errno(parent);
    return code;
}
