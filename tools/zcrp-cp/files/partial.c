#include "partial.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "place.h"

enum { NAME_SHOWN = 200, PRIVATE_MODE = 0600, TRIES = 3, LOCK_TRIES = 40, STATUS_BLOCK = 512 };

static void name_part(struct partial *partial, const char *name)
{
    uint64_t hash = XXH3_64bits(name, strlen(name));

    (void)snprintf(partial->name, sizeof(partial->name), "%s", name);
    (void)snprintf(partial->own, sizeof(partial->own), ".%.*s.zcrp-%016" PRIx64, NAME_SHOWN, name,
                   hash);
}

/* Another user has taken the name, where only the owner of a file may remove it (the sticky bit).
 * False: errno. */
static bool name_by_chance(struct partial *partial)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return false;
    (void)snprintf(partial->own, sizeof(partial->own), ".%.*s.zcrp-%016" PRIx64, NAME_SHOWN,
                   partial->name, number);
    partial->is_loose = true;
    return true;
}

/* Is the open file a part file of ours? */
static bool is_ours(const struct partial *partial)
{
    struct stat status;

    return fstat(partial->fd, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_uid == geteuid() && status.st_nlink == 1;
}

/* Does it still have the name? */
static bool is_named(const struct partial *partial)
{
    struct stat open_file, named;

    return fstat(partial->fd, &open_file) == 0 &&
           fstatat(partial->folder, partial->own, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_ino == open_file.st_ino && named.st_dev == open_file.st_dev;
}

/* A copy that was killed a moment ago may still hold the file: it gets a second to end. */
static int lock(int fd)
{
    const struct timespec moment = {.tv_nsec = 25000000};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        (void)nanosleep(&moment, NULL);
    }
    errno = EBUSY;
    return -1;
}

/* 0; -1 with errno; or 1: something else was there, try again. Another user's file is not waited
 * for: its owner may hold the lock for ever. */
static int open_or_make(struct partial *partial)
{
    struct stat status;

    partial->fd = openat(partial->folder, partial->own,
                         O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (partial->fd < 0 && errno == ENOENT) {
        partial->fd = openat(partial->folder, partial->own,
                             O_RDWR | O_NOFOLLOW | O_CREAT | O_EXCL | O_CLOEXEC, PRIVATE_MODE);
        if (partial->fd < 0 && errno != EEXIST)
            return -1;
    }
    bool was_ours = partial->fd >= 0 && is_ours(partial);
    if (was_ours && lock(partial->fd) != 0)
        return -1;
    if (was_ours && is_ours(partial) && is_named(partial)) {
        partial->was_there = fstat(partial->fd, &status) == 0 && status.st_size > 0;
        return 0;
    }
    place_close(partial->fd);
    partial->fd = -1;
    if (unlinkat(partial->folder, partial->own, 0) == 0 || errno == ENOENT)
        return 1;
    return name_by_chance(partial) ? 1 : -1;
}

int partial_open(struct partial *partial, int directory, const char *path)
{
    const char *name;
    int code = 1;

    *partial = (struct partial){.fd = -1};
    partial->folder = beneath_parent(directory, path, &name);
    if (partial->folder < 0)
        return -1;
    name_part(partial, name);
    for (int i = 0; i < TRIES && code > 0; i++)
        code = open_or_make(partial);
    if (code == 0)
        return 0;
    if (code > 0)
        errno = EBUSY;
    partial_close(partial);
    return -1;
}

/* A file system in memory takes each page by itself, which holds a large file up for a second
 * before the first byte comes. There the room is only looked at; the crew takes the pages, block by
 * block, while others are under way. */
static int look_for_room(const struct partial *partial, uint64_t size)
{
    struct statvfs room;
    struct stat status;

    if (fstatvfs(partial->fd, &room) != 0 || fstat(partial->fd, &status) != 0)
        return -1;
    uint64_t has = (uint64_t)status.st_blocks * STATUS_BLOCK;
    if (room.f_blocks == 0 || has + (uint64_t)room.f_bavail * room.f_frsize >= size)
        return 0;
    errno = ENOSPC;
    return -1;
}

int partial_allocate(struct partial *partial, uint64_t size, bool is_sparse)
{
    struct statfs kind;

    if (ftruncate(partial->fd, (off_t)size) != 0)
        return -1;
    if (is_sparse || size == 0)
        return 0;
    partial->takes_late = fstatfs(partial->fd, &kind) == 0 && kind.f_type == TMPFS_MAGIC;
    if (partial->takes_late)
        return look_for_room(partial, size);
    if (fallocate(partial->fd, 0, 0, (off_t)size) == 0)
        return 0;
    /* The file system cannot say before whether there is room: then the data will. */
    return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -1;
}

int partial_punch(const struct partial *partial, uint64_t start, uint64_t end)
{
    if (start >= end)
        return 0;
    return fallocate(partial->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
                     (off_t)(end - start));
}

unsigned partial_mode(const struct list_entry *entry)
{
    return entry->mode & 0777u;
}

int partial_set_time(int fd, const struct list_entry *entry)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)entry->time_s, .tv_nsec = (long)entry->time_ns},
    };

    return futimens(fd, times);
}

int partial_finish(const struct partial *partial, const struct list_entry *entry)
{
    if (fchmod(partial->fd, partial_mode(entry)) != 0 || partial_set_time(partial->fd, entry) != 0)
        return -1;
    return renameat(partial->folder, partial->own, partial->folder, partial->name);
}

void partial_discard(const struct partial *partial)
{
    if (partial->fd >= 0)
        (void)unlinkat(partial->folder, partial->own, 0);
}

void partial_close(struct partial *partial)
{
    int code = errno;

    if (partial->is_loose)
        partial_discard(partial);
    place_close(partial->fd);
    place_close(partial->folder);
    errno = code;
    partial->fd = partial->folder = -1;
}

static int put_link(struct partial *partial, const char *where, const struct list_entry *entry)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)entry->time_s, .tv_nsec = (long)entry->time_ns},
    };

    if (unlinkat(partial->folder, partial->own, 0) != 0 && errno != ENOENT &&
        !name_by_chance(partial))
        return -1;
    if (symlinkat(where, partial->folder, partial->own) != 0)
        return -1;
    /* Not every file system keeps the time of a link. */
    (void)utimensat(partial->folder, partial->own, times, AT_SYMLINK_NOFOLLOW);
    if (renameat(partial->folder, partial->own, partial->folder, partial->name) == 0)
        return 0;
    int code = errno;
    (void)unlinkat(partial->folder, partial->own, 0);
    errno = code;
    return -1;
}

int partial_make_link(int directory, const struct list_entry *entry)
{
    struct partial partial = {.fd = -1};
    char path[PATH_MOST + 1], where[PATH_MOST + 1];
    const char *name;

    (void)snprintf(path, sizeof(path), "%.*s", (int)entry->path.length, entry->path.bytes);
    (void)snprintf(where, sizeof(where), "%.*s", (int)entry->link.length, entry->link.bytes);
    partial.folder = beneath_parent(directory, path, &name);
    if (partial.folder < 0)
        return -1;
    name_part(&partial, name);
    int code = put_link(&partial, where, entry);
    partial_close(&partial);
    return code;
}
