#include "incoming.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "zcrp-cp/files/place.h"

enum {
    EXTENTS_MOST = 1 << 22, /* of one file */
    ROOM_LEAST = 16,        /* ranges of a queue */
    NAME_SHOWN = 200,       /* bytes of a name in its part's */
    CHARACTER_MOST = 4,     /* bytes of UTF-8 */
    PRIVATE_MODE = 0600,
    TRIES = 3,       /* to open or make a part file */
    LOCK_TRIES = 40, /* of 25 ms */
    STATUS_BLOCK = 512,
};

/* ---- part files ---- */

/* How much of a name the part's has: whole characters, because many file systems refuse what is no
 * UTF-8. */
static int shown_length(const char *name)
{
    size_t length = strlen(name), shown = length < NAME_SHOWN ? length : NAME_SHOWN;

    while (shown < length && shown > NAME_SHOWN - CHARACTER_MOST &&
           ((unsigned char)name[shown] & 0xc0) == 0x80)
        shown--;
    return (int)shown;
}

/* The part of partial->name; a name has one number. */
static void name_part(struct partial *partial, uint64_t number)
{
    (void)snprintf(partial->own, sizeof(partial->own), ".%.*s.zcrp-%016" PRIx64,
                   shown_length(partial->name), partial->name, number);
}

/* Another user has taken the name, where only the owner of a file may remove it (the sticky bit),
 * or the file cannot be locked. False: errno. */
static bool name_by_chance(struct partial *partial)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return false;
    name_part(partial, number);
    partial->is_loose = true;
    return true;
}

/* Begins the part file of `path`: its folder and its names. 0, or -1 with errno. */
static int begin_part(struct partial *partial, int directory, const char *path)
{
    const char *name;

    *partial = (struct partial){.fd = -1};
    partial->folder = beneath_parent(directory, path, &name);
    if (partial->folder < 0)
        return -1;
    (void)snprintf(partial->name, sizeof(partial->name), "%s", name);
    name_part(partial, XXH3_64bits(name, strlen(name)));
    return 0;
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

/* A copy that was killed a moment ago may still hold the file: it gets a second to end. EBUSY: it
 * has not; another errno: there are no locks here. */
static int lock(int fd)
{
    const struct timespec moment = {.tv_nsec = 25000000};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        (void)nanosleep(&moment, NULL);
    }
    errno = EBUSY;
    return -1;
}

/* 0; -1 with errno; or 1: try again, by a name of chance, which needs no lock, as no other copy
 * knows it. Where there are no locks, only a file that was just made is surely nobody else's. */
static int hold(struct partial *partial, bool is_made)
{
    if (partial->is_loose || lock(partial->fd) == 0)
        return 0;
    if (errno == EBUSY)
        return -1;
    if (is_made)
        partial_discard(partial);
    place_close(partial->fd);
    partial->fd = -1;
    return name_by_chance(partial) ? 1 : -1;
}

/* Opens what has the name or, if nothing has, makes it. -1 with errno. */
static int open_part(const struct partial *partial, bool *is_made)
{
    int fd = openat(partial->folder, partial->own,
                    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    *is_made = fd < 0 && errno == ENOENT;
    return *is_made ? openat(partial->folder, partial->own,
                             O_RDWR | O_NOFOLLOW | O_CREAT | O_EXCL | O_CLOEXEC, PRIVATE_MODE)
                    : fd;
}

/* Does an error of open leave unsaid what has the name? It may be another copy's part file. */
static bool says_nothing(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR || error == EIO;
}

/* 0; -1 with errno; or 1: something else was there, try again. Another user's file is not waited
 * for: its owner may hold the lock for ever. A file that this call made is ours, whatever owner
 * the system reports: some network shares report one owner for all files. */
static int open_or_make(struct partial *partial)
{
    struct stat status;
    bool is_made;

    partial->fd = open_part(partial, &is_made);
    if (partial->fd < 0 && is_made && errno != EEXIST)
        return -1;
    if (partial->fd < 0 && says_nothing(errno))
        return -1;
    bool was_ours = partial->fd >= 0 && (is_made || is_ours(partial));
    int code = was_ours ? hold(partial, is_made) : 0;
    if (code != 0)
        return code;
    if (was_ours && (is_made || is_ours(partial)) && is_named(partial)) {
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
    int code = 1;

    if (begin_part(partial, directory, path) != 0)
        return -1;
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

unsigned partial_mode(const struct list_entry *entry)
{
    return entry->mode & 0777u;
}

static void fill_times(const struct list_entry *entry, struct timespec times[2])
{
    times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    times[1] = (struct timespec){(time_t)entry->time_s, (long)entry->time_ns};
}

int partial_set_time(int fd, const struct list_entry *entry)
{
    struct timespec times[2];

    fill_times(entry, times);
    return futimens(fd, times);
}

/* The close of a second descriptor tells it. */
static int settle(int fd)
{
    int twin = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    return twin >= 0 && close(twin) == 0 ? 0 : -1;
}

int partial_settle(const struct partial *partial)
{
    return settle(partial->fd);
}

/* Locks what has the name that the part is to get, if it may be a part file itself: *fd, or -1 if
 * there is nothing to lock. False: a copy holds it. */
static bool lock_replaced(const struct partial *partial, int *fd)
{
    *fd = place_is_part(partial->name)
              ? openat(partial->folder, partial->name,
                       O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
              : -1;
    if (*fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return true;
    (void)close(*fd);
    return false;
}

static int rename_part(const struct partial *partial, const struct list_entry *entry)
{
    if (fchmod(partial->fd, partial_mode(entry)) != 0 || partial_set_time(partial->fd, entry) != 0)
        return -1;
    return renameat(partial->folder, partial->own, partial->folder, partial->name);
}

/* A rename knows only names: what is not the open file must not get the file's name, and another
 * copy's open part must not lose its own. */
int partial_finish(const struct partial *partial, const struct list_entry *entry)
{
    int replaced;

    if (!is_named(partial) || !lock_replaced(partial, &replaced)) {
        errno = EBUSY;
        return -1;
    }
    int code = rename_part(partial, entry);
    place_close(replaced);
    return code;
}

void partial_discard(const struct partial *partial)
{
    if (partial->fd >= 0 && is_named(partial))
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

int partial_make_link(int directory, const struct list_entry *entry)
{
    struct partial partial;
    struct timespec times[2];
    int code = -1;

    if (begin_part(&partial, directory, entry->path.bytes) != 0)
        return -1;
    if ((unlinkat(partial.folder, partial.own, 0) == 0 || errno == ENOENT ||
         name_by_chance(&partial)) &&
        symlinkat(entry->link.bytes, partial.folder, partial.own) == 0) {
        fill_times(entry, times); /* not every file system keeps the time of a link */
        (void)utimensat(partial.folder, partial.own, times, AT_SYMLINK_NOFOLLOW);
        code = renameat(partial.folder, partial.own, partial.folder, partial.name);
        if (code != 0) {
            int why = errno;

            (void)unlinkat(partial.folder, partial.own, 0);
            errno = why;
        }
    }
    partial_close(&partial);
    return code;
}

/* ---- queues of ranges ---- */

static int make_room(struct ranges *ranges)
{
    if (ranges->count < ranges->room)
        return 0;
    if (ranges->first > 0) {
        ranges->count -= ranges->first;
        memmove(ranges->row, ranges->row + ranges->first, ranges->count * sizeof(*ranges->row));
        ranges->first = 0;
        return ranges->count < ranges->room / 2 ? 0 : make_room(ranges);
    }
    size_t room = ranges->room > 0 ? 2 * ranges->room : ROOM_LEAST;
    struct range *row = realloc(ranges->row, room * sizeof(*row));
    if (row == NULL)
        return -1;
    ranges->row = row;
    ranges->room = room;
    return 0;
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end)
{
    if (start >= end)
        return 0;
    if (ranges->count > ranges->first && ranges->row[ranges->count - 1].end == start) {
        ranges->row[ranges->count - 1].end = end;
        return 0;
    }
    if (make_room(ranges) < 0)
        return -1;
    ranges->row[ranges->count++] = (struct range){start, end};
    return 0;
}

bool ranges_take(struct ranges *ranges, uint64_t most, struct range *part)
{
    if (ranges->first == ranges->count)
        return false;
    struct range *range = &ranges->row[ranges->first];
    uint64_t line = (range->start / most + 1) * most;

    *part = (struct range){range->start, range->end < line ? range->end : line};
    range->start = part->end;
    if (range->start == range->end && ++ranges->first == ranges->count)
        ranges->first = ranges->count = 0;
    return true;
}

void ranges_fini(struct ranges *ranges)
{
    free(ranges->row);
    *ranges = (struct ranges){0};
}

void ranges_check(const struct ranges *ranges)
{
    assert(ranges->first <= ranges->count);
    assert(ranges->count <= ranges->room);
    for (size_t i = ranges->first; i < ranges->count; i++)
        assert(ranges->row[i].start < ranges->row[i].end);
}

/* ---- failing ---- */

void incoming_fail(struct incoming *incoming, struct text why)
{
    if (incoming->error[0] == '\0')
        (void)snprintf(incoming->error, sizeof(incoming->error), "%.*s", (int)why.length,
                       why.bytes);
}

struct text incoming_explain(char out[TEXT_MOST], const char *what, int code)
{
    (void)snprintf(out, TEXT_MOST, "%s: %s", what,
                   code == EBUSY                    ? "another copy is writing it"
                   : code == ELOOP || code == EXDEV ? "a symbolic link is in the way"
                                                    : strerror(code));
    return text_of(out);
}

void incoming_fail_errno(struct incoming *incoming, const char *what, int code)
{
    char text[TEXT_MOST];

    incoming_fail(incoming, incoming_explain(text, what, code));
}

/* ---- the beginning ---- */

void incoming_begin_compare(struct incoming *incoming, int directory, struct wanted *wanted)
{
    *incoming = (struct incoming){.wanted = wanted, .compares = true};
    incoming->partial.fd = incoming->partial.folder = -1;
    int fd = beneath_open(directory, wanted->entry.path.bytes, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

    if (fd < 0 || mapping_init(&incoming->mapping, fd, wanted->entry.size, false) != 0 ||
        ranges_add(&incoming->to_compare, 0, wanted->entry.size) != 0)
        incoming->differs = true; /* what cannot be read is replaced */
    place_close(fd);
}

static int plan_part(struct incoming *incoming, uint64_t start, uint64_t end)
{
    return ranges_add(incoming->partial.was_there ? &incoming->to_compare : &incoming->to_fetch,
                      start, end);
}

void incoming_begin(struct incoming *incoming, int directory, struct wanted *wanted)
{
    const struct list_entry *entry = &wanted->entry;

    *incoming = (struct incoming){.wanted = wanted, .needs_extents = entry->is_sparse};
    if (partial_open(&incoming->partial, directory, entry->path.bytes) != 0) {
        incoming->partial.fd = incoming->partial.folder = -1;
        incoming_fail_errno(incoming, "cannot be made at the target", errno);
    } else if (partial_allocate(&incoming->partial, entry->size, entry->is_sparse) != 0) {
        incoming_fail_errno(incoming, "no room for it", errno);
    } else if (mapping_init(&incoming->mapping, incoming->partial.fd, entry->size, true) != 0 ||
               (!entry->is_sparse && plan_part(incoming, 0, entry->size) != 0)) {
        incoming_fail_errno(incoming, "cannot be mapped", errno);
    }
}

/* ---- what comes next ---- */

enum incoming_step incoming_next(struct incoming *incoming, uint64_t most, uint8_t *kind,
                                 struct range *part)
{
    bool waits = incoming->in_flight > 0, is_torn = mapping_is_torn(&incoming->mapping);

    if (is_torn && incoming->compares)
        incoming->differs = true; /* what cannot be read is replaced */
    else if (is_torn && incoming->error[0] == '\0')
        incoming_fail_errno(incoming, "no room for it", ENOSPC);
    if (incoming->error[0] != '\0')
        return waits ? INCOMING_WAIT : INCOMING_FAILED;
    if (incoming->differs && incoming->compares)
        return waits ? INCOMING_WAIT : INCOMING_DIFFERS;
    if (incoming->needs_extents) {
        *kind = RECORD_EXTENTS;
        *part = (struct range){incoming->extents_at, incoming->extents_at};
        return waits ? INCOMING_WAIT : INCOMING_ASK;
    }
    *kind = RECORD_HASHES;
    if (ranges_take(&incoming->to_compare, HASHED_MOST, part))
        return INCOMING_ASK;
    *kind = RECORD_SEND;
    if (ranges_take(&incoming->to_fetch, most, part))
        return INCOMING_ASK;
    if (waits)
        return INCOMING_WAIT;
    if (incoming->compares)
        return INCOMING_SAME;
    if (incoming->is_closed)
        return incoming->is_stored ? INCOMING_WHOLE : INCOMING_STORE;
    if (incoming->is_asked)
        return INCOMING_WAIT;
    incoming->is_asked = true;
    *kind = RECORD_CLOSE;
    *part = (struct range){0, 0};
    return INCOMING_ASK;
}

/* ---- answers ---- */

/* Makes [start, end) a hole. Where the file system cannot, what an earlier copy has left there is
 * compared with the zeros that the source reads. */
static void punch(struct incoming *incoming, uint64_t start, uint64_t end)
{
    if (!incoming->partial.was_there || start >= end ||
        fallocate(incoming->partial.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
                  (off_t)(end - start)) == 0)
        return;
    int why = errno;
    if (why == EOPNOTSUPP || why == ENOSYS)
        why = ranges_add(&incoming->to_compare, start, end) == 0 ? 0 : ENOMEM;
    if (why != 0)
        incoming_fail_errno(incoming, "cannot have holes", why);
}

bool incoming_add_extent(struct incoming *incoming, uint64_t offset, uint64_t length)
{
    uint64_t size = incoming->wanted->entry.size;

    if (offset < incoming->extents_at || offset > size || length > size - offset)
        return false;
    if (++incoming->extents > EXTENTS_MOST) {
        incoming_fail(incoming, text_of("it has too many holes"));
        return true;
    }
    punch(incoming, incoming->extents_at, offset);
    incoming->extents_at = offset + length;
    if (plan_part(incoming, offset, offset + length) != 0)
        incoming_fail_errno(incoming, "cannot be planned", ENOMEM);
    return true;
}

void incoming_end_extents(struct incoming *incoming)
{
    punch(incoming, incoming->extents_at, incoming->wanted->entry.size);
    incoming->needs_extents = false;
}

void incoming_compare(struct incoming *incoming, struct range part, const uint8_t *theirs,
                      const uint8_t *own)
{
    for (uint64_t at = part.start; at < part.end; at += LEAF_BYTES) {
        uint64_t end = at + LEAF_BYTES < part.end ? at + LEAF_BYTES : part.end;

        if (memcmp(theirs, own, HASH_BYTES) != 0) {
            incoming->differs = true;
            if (!incoming->compares && ranges_add(&incoming->to_fetch, at, end) != 0)
                incoming_fail_errno(incoming, "cannot be planned", ENOMEM);
        }
        theirs += HASH_BYTES;
        own += HASH_BYTES;
    }
}

void incoming_retry(struct incoming *incoming, struct range part)
{
    if (++incoming->damaged >= INCOMING_TRIES)
        incoming_fail(
            incoming,
            text_of("it arrives damaged, again and again, or changes while it is copied"));
    else if (ranges_add(&incoming->to_fetch, part.start, part.end) != 0)
        incoming_fail_errno(incoming, "cannot be planned", ENOMEM);
}

/* ---- the end ---- */

/* What may wait for a server far away. */
static void store(struct crew_job *job)
{
    struct storing *storing = (struct storing *)((char *)job - offsetof(struct storing, job));

    storing->code = settle(storing->fd) == 0 ? 0 : errno;
}

void incoming_store(struct incoming *incoming, struct crew *crew)
{
    incoming->storing = (struct storing){.job.work = store, .fd = incoming->partial.fd};
    incoming->is_storing = true;
    incoming->in_flight++;
    crew_add(crew, &incoming->storing.job);
}

void incoming_look(struct incoming *incoming, struct crew *crew)
{
    if (!incoming->is_storing || !crew_is_done(crew, &incoming->storing.job))
        return;
    incoming->is_storing = false;
    incoming->is_stored = true;
    incoming->in_flight--;
    if (incoming->storing.code != 0)
        incoming_fail_errno(incoming, "cannot be written at the target", incoming->storing.code);
}

bool incoming_finish(struct incoming *incoming)
{
    if (mapping_is_torn(&incoming->mapping))
        incoming_fail_errno(incoming, "no room for it", ENOSPC);
    else if (partial_finish(&incoming->partial, &incoming->wanted->entry) != 0)
        incoming_fail_errno(incoming, "cannot be put in its place", errno);
    return incoming->error[0] == '\0';
}

void incoming_fini(struct incoming *incoming, bool keeps)
{
    mapping_fini(&incoming->mapping);
    if (!keeps)
        partial_discard(&incoming->partial);
    partial_close(&incoming->partial);
    ranges_fini(&incoming->to_compare);
    ranges_fini(&incoming->to_fetch);
    free(incoming->wanted);
    incoming->wanted = NULL;
}
