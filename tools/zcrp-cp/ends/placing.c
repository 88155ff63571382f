#include "placing.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "zcrp-cp/files/beneath.h"

/* ---- directories and links ---- */

static int by_path(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;

    return strcmp(*left, *right);
}

static void leave_alone(void *path)
{
    (void)path;
}

/* Keeps it for the end. One that was listed before has what is said of it last, and takes no more
 * memory, however often a source lists it. */
static int keep_directory(struct copy_target *target, struct wanted *wanted)
{
    struct finished *finished = malloc(sizeof(*finished));
    const char ***known = NULL;

    if (finished != NULL) {
        *finished = (struct finished){wanted->entry.path.bytes, wanted, target->directories};
        known = tsearch(&finished->path, &target->directory_paths, by_path);
    }
    if (known == NULL) {
        free(finished);
        free(wanted);
        return ZCRP_ERROR_MEMORY;
    }
    if (*known == &finished->path) {
        target->directories = finished;
        return 0;
    }
    free(finished);
    finished = (struct finished *)*known; /* its first field */
    free(finished->wanted);
    finished->wanted = wanted;
    finished->path = wanted->entry.path.bytes;
    return 0;
}

int placing_directory(struct copy_target *target, struct wanted *wanted)
{
    int code = 0;

    if (!target->wishes->is_dry_run) {
        if (beneath_make_directory(target->wishes->directory, wanted->entry.path.bytes) == 0)
            return keep_directory(target, wanted);
        code = asking_settle_errno(target, wanted, "cannot be made at the target");
    }
    free(wanted);
    return code;
}

static int finish_directory(struct copy_target *target, const struct wanted *wanted)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)wanted->entry.time_s, .tv_nsec = (long)wanted->entry.time_ns},
    };
    int fd = beneath_open(target->wishes->directory, wanted->entry.path.bytes,
                          O_RDONLY | O_DIRECTORY, 0);
    int code = 0;

    if (fd < 0 || fchmod(fd, partial_mode(&wanted->entry)) != 0 || futimens(fd, times) != 0)
        code = asking_settle_errno(target, wanted, "cannot have its permissions and time");
    if (fd >= 0)
        (void)close(fd);
    return code;
}

/* All that is in them is there. */
int placing_finish_directories(struct copy_target *target, bool is_fine)
{
    int code = 0;

    tdestroy(target->directory_paths, leave_alone);
    target->directory_paths = NULL;
    while (target->directories != NULL) {
        struct finished *finished = target->directories;

        if (is_fine && code == 0)
            code = finish_directory(target, finished->wanted);
        target->directories = finished->next;
        free(finished->wanted);
        free(finished);
    }
    return code;
}

static bool link_is_there(const struct copy_target *target, const struct wanted *wanted)
{
    char where[PATH_MOST + 1];
    const char *name;
    int folder = beneath_parent(target->wishes->directory, wanted->entry.path.bytes, &name);
    ssize_t length = folder >= 0 ? readlinkat(folder, name, where, sizeof(where)) : -1;

    if (folder >= 0)
        (void)close(folder);
    return length == (ssize_t)wanted->entry.link.length &&
           memcmp(where, wanted->entry.link.bytes, (size_t)length) == 0;
}

int placing_link(struct copy_target *target, struct wanted *wanted)
{
    int code;

    if (link_is_there(target, wanted))
        code = asking_settle(target, wanted, OUTCOME_SKIPPED, "", 0);
    else if (target->wishes->is_dry_run ||
             partial_make_link(target->wishes->directory, &wanted->entry) == 0)
        code = asking_settle(target, wanted, OUTCOME_COPIED, "", 0);
    else
        code = asking_settle_errno(target, wanted, "cannot be made at the target");
    free(wanted);
    return code;
}

/* ---- files ---- */

/* What a file lacks that has the contents already. */
struct lack {
    bool time, mode;
};

static struct lack lack_of(const struct stat *status, const struct wanted *wanted)
{
    return (struct lack){
        .time = status->st_mtim.tv_sec != wanted->entry.time_s ||
                status->st_mtim.tv_nsec != (long)wanted->entry.time_ns,
        .mode = (status->st_mode & 0777) != partial_mode(&wanted->entry),
    };
}

/* Its other names may lead outside: there somebody else would get the permissions and the time. */
static bool has_other_names(const struct stat *status)
{
    return status->st_nlink > 1;
}

/* Is there a file of this size already, that may get what it lacks? */
static bool size_is_there(const struct copy_target *target, const struct wanted *wanted,
                          struct lack *lack)
{
    struct stat status;

    if (beneath_status(target->wishes->directory, wanted->entry.path.bytes, &status) != 0)
        return false;
    *lack = lack_of(&status, wanted);
    return S_ISREG(status.st_mode) && (uint64_t)status.st_size == wanted->entry.size &&
           !(has_other_names(&status) && (lack->time || lack->mode));
}

/* A file that need not be copied gets what it may lack. */
int placing_skip(struct copy_target *target, const struct wanted *wanted)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)wanted->entry.time_s, .tv_nsec = (long)wanted->entry.time_ns},
    };
    int fd = beneath_open(target->wishes->directory, wanted->entry.path.bytes,
                          O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        !has_other_names(&status) && !target->wishes->is_dry_run) {
        if (lack_of(&status, wanted).mode)
            (void)fchmod(fd, partial_mode(&wanted->entry));
        (void)futimens(fd, times);
    }
    if (fd >= 0)
        (void)close(fd);
    return asking_settle(target, wanted, OUTCOME_SKIPPED, "", wanted->entry.size);
}

void placing_begin(struct copy_target *target, struct wanted *wanted)
{
    if (wanted->entry.size <= PACKED_MOST) {
        target->pack[target->pack_count++] = wanted;
        target->pack_bytes += wanted->entry.size;
    } else {
        incoming_begin(asking_take_place(target), target->wishes->directory, wanted);
    }
}

int placing_file(struct copy_target *target, struct wanted *wanted)
{
    struct lack lack = {0};
    bool same_size = size_is_there(target, wanted, &lack);
    bool compares = target->wishes->checksum && same_size && wanted->entry.size > 0;
    int code;

    if (same_size && !compares && (!lack.time || target->wishes->checksum)) {
        code = placing_skip(target, wanted);
        free(wanted);
        return code;
    }
    if (compares) {
        incoming_begin_compare(asking_take_place(target), target->wishes->directory, wanted);
        return 0;
    }
    if (!target->wishes->is_dry_run) {
        placing_begin(target, wanted);
        return 0;
    }
    code = asking_settle(target, wanted, OUTCOME_COPIED, "", wanted->entry.size);
    free(wanted);
    return code;
}

/* ---- small files ---- */

static bool write_whole(int fd, struct text content)
{
    size_t done = 0;

    while (done < content.length) {
        ssize_t count = pwrite(fd, content.bytes + done, content.length - done, (off_t)done);

        if (count < 0)
            return false;
        done += (size_t)count;
    }
    return ftruncate(fd, (off_t)content.length) == 0;
}

static int write_small(struct copy_target *target, struct wanted *wanted, struct text content)
{
    struct partial partial;
    int code;

    if (partial_open(&partial, target->wishes->directory, wanted->entry.path.bytes) != 0) {
        code = asking_settle_errno(target, wanted, "cannot be made at the target");
        free(wanted);
        return code;
    }
    if (!write_whole(partial.fd, content) || partial_finish(&partial, &wanted->entry) != 0) {
        code = asking_settle_errno(target, wanted, "cannot be written");
        partial_discard(&partial);
    } else {
        code = asking_settle(target, wanted, OUTCOME_COPIED, "", 0);
    }
    partial_close(&partial);
    free(wanted);
    return code;
}

static int take_packed(struct copy_target *target, struct wanted *wanted,
                       const struct record *record)
{
    const char *error = "it arrives damaged, again and again";
    uint8_t hash[HASH_BYTES];
    int code;

    if (record->packed.error.length > 0) {
        struct incoming incoming = {0};

        incoming_fail(&incoming, record->packed.error);
        code = asking_settle(target, wanted, OUTCOME_FAILED, incoming.error, 0);
        free(wanted);
        return code;
    }
    crew_hash(record->packed.content.bytes, record->packed.content.length, hash);
    bool is_good = record->packed.content.length == wanted->entry.size &&
                   memcmp(hash, record->packed.hash, HASH_BYTES) == 0;
    if (is_good) {
        progress_moved(target->progress, wanted->entry.size);
        return write_small(target, wanted, record->packed.content);
    }
    if (++wanted->damaged < INCOMING_TRIES && target->pack_count < PACK_FILES) {
        target->pack[target->pack_count++] = wanted;
        target->pack_bytes += wanted->entry.size;
        return 0;
    }
    code = asking_settle(target, wanted, OUTCOME_FAILED, error, 0);
    free(wanted);
    return code;
}

int placing_on_pack(struct copy_target *target, struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    int code = 0;

    target->in_flight -= awaited->part.end;
    for (unsigned i = 0; i < awaited->pack_count && code == 0; i++) {
        if (!record_decode(&reader, &record) || record.kind != RECORD_PACKED)
            return asking_refuse();
        struct wanted *wanted = awaited->pack[i];
        awaited->pack[i] = NULL;
        code = take_packed(target, wanted, &record);
    }
    return code == 0 && (reader.bad || reader.at != reader.end) ? asking_refuse() : code;
}

int placing_request_pack(struct copy_target *target)
{
    struct record record = {.kind = RECORD_PACK};
    int code = 0;
    struct awaited *awaited = awaiting_add(&target->awaiting, RECORD_PACK, PACK_ROOM, &code);

    if (awaited == NULL)
        return code;
    awaited->pack = malloc(target->pack_count * sizeof(struct wanted *));
    if (awaited->pack == NULL)
        return ZCRP_ERROR_MEMORY;
    record.pack.count = (uint16_t)target->pack_count;
    for (unsigned i = 0; i < target->pack_count; i++) {
        awaited->pack[i] = target->pack[i];
        record.pack.files[i] = target->pack[i]->number;
    }
    awaited->pack_count = target->pack_count;
    awaited->part.end = target->pack_bytes;
    target->in_flight += target->pack_bytes;
    target->asked += target->pack_bytes;
    target->pack_count = 0;
    target->pack_bytes = 0;
    return asking_request(target, &record);
}
