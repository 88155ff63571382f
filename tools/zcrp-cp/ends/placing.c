#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target.h"
#include "zcrp-cp/files/place.h"

enum { RATE_SHARE = 20 }; /* a block is at most this part of a second's bytes */

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

static int place_directory(struct copy_target *target, struct wanted *wanted)
{
    if (target->wishes->is_dry_run) {
        free(wanted);
        return 0;
    }
    if (beneath_make_directory(target->wishes->directory, wanted->entry.path.bytes,
                               PRIVATE_DIRECTORY_MODE) == 0)
        return keep_directory(target, wanted);
    memcpy(target->lost, wanted->entry.path.bytes, wanted->entry.path.length + 1);
    return target_fail_errno(target, wanted, "cannot be made at the target");
}

/* All that is in them is there. */
int placing_finish_directories(struct copy_target *target, bool is_fine)
{
    int code = 0;

    tdestroy(target->directory_paths, leave_alone);
    target->directory_paths = NULL;
    while (target->directories != NULL) {
        struct finished *finished = target->directories;
        struct wanted *wanted = finished->wanted;

        target->directories = finished->next;
        free(finished);
        if (!is_fine || code != 0) {
            free(wanted);
            continue;
        }
        int fd = beneath_open(target->wishes->directory, wanted->entry.path.bytes,
                              O_RDONLY | O_DIRECTORY, 0);
        struct stat status;
        /* The directory's own set-group-ID and sticky bit stay. */
        if (fd >= 0 && fstat(fd, &status) == 0 &&
            fchmod(fd, (status.st_mode & 07000) | partial_mode(&wanted->entry)) == 0 &&
            partial_set_time(fd, &wanted->entry) == 0)
            free(wanted);
        else
            code = target_fail_errno(target, wanted, "cannot have its permissions and time");
        place_close(fd);
    }
    return code;
}

static int place_link(struct copy_target *target, struct wanted *wanted)
{
    const struct text link = wanted->entry.link;
    char where[PATH_MOST + 1];
    ssize_t length = beneath_read_link(target->wishes->directory, wanted->entry.path.bytes, where,
                                       sizeof(where));

    if (length == (ssize_t)link.length && memcmp(where, link.bytes, link.length) == 0)
        return target_settle(target, wanted, OUTCOME_SKIPPED, 0);
    if (target->wishes->is_dry_run ||
        partial_make_link(target->wishes->directory, &wanted->entry) == 0)
        return target_settle(target, wanted, OUTCOME_COPIED, 0);
    return target_fail_errno(target, wanted, "cannot be made at the target");
}

/* ---- files ---- */

/* What a file that is there is to a wanted one of its contents. */
struct likeness {
    bool is_one; /* it is a file of the same size, and may get what it lacks */
    bool lacks_time, lacks_mode;
};

/* If a file has other names, they may lead outside: there somebody else would get the permissions
 * and the time. */
static struct likeness compare(const struct stat *status, const struct wanted *wanted)
{
    struct likeness found = {
        .lacks_time = status->st_mtim.tv_sec != wanted->entry.time_s ||
                      status->st_mtim.tv_nsec != (long)wanted->entry.time_ns,
        .lacks_mode = (status->st_mode & 0777) != partial_mode(&wanted->entry),
    };

    found.is_one = S_ISREG(status->st_mode) && (uint64_t)status->st_size == wanted->entry.size &&
                   (status->st_nlink == 1 || (!found.lacks_time && !found.lacks_mode));
    return found;
}

static bool may_change(const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_nlink == 1;
}

/* Gives the file what it lacks. Without its time it is as good. False: errno. */
static bool amend(int directory, const struct wanted *wanted, bool lacks_mode)
{
    int fd = beneath_open(directory, wanted->entry.path.bytes, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat status;
    bool is_fine = fd >= 0 && fstat(fd, &status) == 0;

    if (is_fine && !may_change(&status)) { /* somebody has just put it there */
        is_fine = false;
        errno = ESTALE;
    }
    if (is_fine && lacks_mode)
        is_fine = fchmod(fd, partial_mode(&wanted->entry)) == 0;
    if (is_fine)
        (void)partial_set_time(fd, &wanted->entry);
    place_close(fd);
    return is_fine || !lacks_mode;
}

/* The file that is there is the same, and gets what it may lack. */
static int skip(struct copy_target *target, struct wanted *wanted)
{
    int directory = target->wishes->directory;
    struct likeness found = {0};
    struct stat status;

    if (!target->wishes->is_dry_run &&
        beneath_status(directory, wanted->entry.path.bytes, &status) == 0 && may_change(&status))
        found = compare(&status, wanted);
    if ((found.lacks_mode || found.lacks_time) && !amend(directory, wanted, found.lacks_mode))
        return target_fail_errno(target, wanted, "cannot have its permissions");
    return target_settle(target, wanted, OUTCOME_SKIPPED, wanted->entry.size);
}

/* A place for a large file; there is one. */
static struct incoming *take_place(struct copy_target *target)
{
    int i = 0;

    while (target->is_open[i])
        i++;
    target->is_open[i] = true;
    target->open_count++;
    return &target->open[i];
}

void placing_leave(struct copy_target *target, struct incoming *incoming, bool keeps)
{
    incoming_fini(incoming, keeps);
    target->is_open[incoming - target->open] = false;
    target->open_count--;
}

bool placing_is_pack_full(const struct copy_target *target)
{
    return target->pack_count == PACK_FILES || target->pack_bytes + PACKED_MOST > PACK_BYTES;
}

/* A pack that has no room for the largest of them is asked for first. */
static int join_pack(struct copy_target *target, struct wanted *wanted)
{
    int code = placing_is_pack_full(target) ? placing_request_pack(target) : 0;

    if (code != 0) {
        free(wanted);
        return code;
    }
    target->pack[target->pack_count++] = wanted;
    target->pack_bytes += wanted->entry.size;
    return 0;
}

/* Begins the copy of a file, which is all of it in a dry run: it joins the pack, or gets a place.
 */
static int begin(struct copy_target *target, struct wanted *wanted)
{
    if (target->wishes->is_dry_run)
        return target_settle(target, wanted, OUTCOME_COPIED, wanted->entry.size);
    if (wanted->entry.size <= PACKED_MOST)
        return join_pack(target, wanted);
    incoming_begin(take_place(target), target->wishes->directory, wanted);
    return 0;
}

static int place_file(struct copy_target *target, struct wanted *wanted)
{
    struct likeness found = {0};
    struct stat status;

    if (beneath_status(target->wishes->directory, wanted->entry.path.bytes, &status) == 0)
        found = compare(&status, wanted);
    if (found.is_one && target->wishes->checksum && wanted->entry.size > 0) {
        incoming_begin_compare(take_place(target), target->wishes->directory, wanted);
        return 0;
    }
    if (found.is_one && (!found.lacks_time || target->wishes->checksum))
        return skip(target, wanted);
    return begin(target, wanted);
}

/* What is in a directory that could not be made is lost: a source lists it right after that. The
 * complaint of the directory stands for all of it. Directories are not counted. */
int placing_entry(struct copy_target *target, struct wanted *wanted)
{
    const struct text path = wanted->entry.path;
    size_t lost = strlen(target->lost);
    bool is_directory = wanted->entry.type == ENTRY_DIRECTORY;

    if (lost > 0 && path.length > lost && path.bytes[lost] == '/' &&
        memcmp(path.bytes, target->lost, lost) == 0) {
        if (!is_directory)
            return target_fail(target, wanted, text_of(""));
        free(wanted);
        return 0;
    }
    return is_directory                       ? place_directory(target, wanted)
           : wanted->entry.type == ENTRY_LINK ? place_link(target, wanted)
                                              : place_file(target, wanted);
}

/* ---- small files ---- */

static int write_small(struct copy_target *target, struct wanted *wanted, struct text content)
{
    struct partial partial;
    size_t done = 0;
    ssize_t count = 0;
    int code;

    if (partial_open(&partial, target->wishes->directory, wanted->entry.path.bytes) != 0)
        return target_fail_errno(target, wanted, "cannot be made at the target");
    for (; count >= 0 && done < content.length; done += (size_t)count)
        count = pwrite(partial.fd, content.bytes + done, content.length - done, (off_t)done);
    if (count < 0 || ftruncate(partial.fd, (off_t)content.length) != 0 ||
        partial_settle(&partial) != 0 || partial_finish(&partial, &wanted->entry) != 0) {
        code = target_fail_errno(target, wanted, "cannot be written at the target");
        partial_discard(&partial);
    } else {
        code = target_settle(target, wanted, OUTCOME_COPIED, 0);
    }
    partial_close(&partial);
    return code;
}

static int take_packed(struct copy_target *target, struct wanted *wanted,
                       const struct record *record)
{
    uint8_t hash[HASH_BYTES];

    if (record->packed.error.length > 0)
        return target_fail(target, wanted, record->packed.error);
    task_hash(record->packed.content.bytes, record->packed.content.length, hash);
    if (record->packed.content.length == wanted->entry.size &&
        memcmp(hash, record->packed.hash, HASH_BYTES) == 0) {
        progress_moved(target->progress, wanted->entry.size);
        return write_small(target, wanted, record->packed.content);
    }
    if (++wanted->damaged == INCOMING_TRIES)
        return target_fail(target, wanted, text_of("it arrives damaged, again and again"));
    target_put_back(target, wanted);
    return 0;
}

static int on_pack(struct copy_target *target, struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    int code = 0;

    target->in_flight -= awaited->part.end;
    for (unsigned i = 0; i < awaited->pack_count && code == 0; i++) {
        if (!record_decode(&reader, &record) || record.kind != RECORD_PACKED)
            return target_refuse();
        struct wanted *wanted = awaited->pack[i];
        awaited->pack[i] = NULL;
        code = take_packed(target, wanted, &record);
    }
    return code == 0 && (reader.bad || reader.at != reader.end) ? target_refuse() : code;
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
    target_charge(target, target->pack_bytes);
    target->pack_count = 0;
    target->pack_bytes = 0;
    return target_request(target, &record);
}

/* ---- large files, part by part ---- */

/* Asks for what a file's next step needs. */
static int request(struct copy_target *target, struct incoming *incoming, uint8_t kind,
                   struct range part)
{
    struct record record = {.kind = kind};
    uint32_t length = (uint32_t)(part.end - part.start);
    size_t leaves = (length + LEAF_BYTES - 1) / LEAF_BYTES;
    struct awaiting *awaiting = &target->awaiting;
    int code = 0;
    struct awaited *awaited =
        kind == RECORD_SEND
            ? awaiting_add_slice(awaiting, incoming, part, &code)
            : awaiting_add(awaiting, kind, kind == RECORD_CLOSE ? 0 : ANSWER_ROOM, &code);

    if (awaited == NULL)
        return code;
    awaited->incoming = incoming;
    awaited->part = part;
    incoming->in_flight++;
    if (kind == RECORD_SEND)
        target_charge(target, length);
    if (kind == RECORD_HASHES) {
        awaited->digests = malloc(leaves * HASH_BYTES);
        if (awaited->digests == NULL)
            return ZCRP_ERROR_MEMORY;
        awaited->hash = task_of_hash(incoming->mapping.memory + part.start, length, LEAF_BYTES,
                                     awaited->digests);
        task_start(target->awaiting.crew, &awaited->hash);
    }
    record.part.file = incoming->wanted->number;
    record.part.offset = part.start;
    record.part.length = length;
    return target_request(target, &record);
}

/* The file that is there is another one: the copy begins. */
static int replace(struct copy_target *target, struct incoming *incoming)
{
    struct wanted *wanted = incoming->wanted;

    incoming->wanted = NULL;
    placing_leave(target, incoming, true);
    return begin(target, wanted);
}

static int end_file(struct copy_target *target, struct incoming *incoming, enum incoming_step step)
{
    bool is_whole = step == INCOMING_WHOLE && incoming_finish(incoming);
    struct wanted *wanted = incoming->wanted;

    incoming->wanted = NULL;
    int code = step == INCOMING_SAME ? skip(target, wanted)
               : is_whole            ? target_settle(target, wanted, OUTCOME_COPIED, 0)
                                     : target_fail(target, wanted, text_of(incoming->error));
    placing_leave(target, incoming, is_whole);
    return code;
}

/* Bytes of a block: less if only so much may be sent each second. */
static uint64_t block_most(const struct copy_target *target)
{
    uint64_t share = target->wishes->rate / 8 / RATE_SHARE / LEAF_BYTES * LEAF_BYTES;

    if (target->wishes->rate == 0 || share > BLOCK_MOST)
        return BLOCK_MOST;
    return share > 0 ? share : LEAF_BYTES;
}

int placing_advance(struct copy_target *target, struct incoming *incoming, bool *did)
{
    struct range part;
    uint8_t kind = 0;

    incoming_look(incoming, &target->storers);
    enum incoming_step step = incoming_next(incoming, block_most(target), &kind, &part);

    *did = step != INCOMING_WAIT;
    if (step == INCOMING_STORE)
        incoming_store(incoming, &target->storers);
    return step == INCOMING_WAIT      ? 0
           : step == INCOMING_STORE   ? 0
           : step == INCOMING_ASK     ? request(target, incoming, kind, part)
           : step == INCOMING_DIFFERS ? replace(target, incoming)
                                      : end_file(target, incoming, step);
}

/* ---- answers about a file ---- */

static int on_hashes(struct copy_target *target, struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    uint64_t leaves = (awaited->part.end - awaited->part.start + LEAF_BYTES - 1) / LEAF_BYTES;

    awaited->incoming->in_flight--;
    if (!record_decode(&reader, &record) || record.kind != RECORD_DIGESTS ||
        (record.digests.error.length == 0 && record.digests.hashes.length != leaves * HASH_BYTES))
        return target_refuse();
    crew_wait(target->awaiting.crew, &awaited->hash.job);
    if (record.digests.error.length > 0)
        incoming_fail(awaited->incoming, record.digests.error);
    else
        incoming_compare(awaited->incoming, awaited->part,
                         (const uint8_t *)record.digests.hashes.bytes, awaited->digests);
    return 0;
}

static int on_extents(struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    bool has_some = false;

    awaited->incoming->in_flight--;
    while (record_decode(&reader, &record)) {
        has_some = true;
        if (record.kind == RECORD_BLOCK)
            incoming_fail(awaited->incoming, record.block.error);
        else if (record.kind == RECORD_END)
            incoming_end_extents(awaited->incoming);
        else if (record.kind != RECORD_EXTENT ||
                 !incoming_add_extent(awaited->incoming, record.extent.offset,
                                      record.extent.length))
            return target_refuse();
    }
    return reader.bad || !has_some ? target_refuse() : 0;
}

/* The message of a block has ended. If the block has come, it is hashed where it lies. */
static int on_block(struct copy_target *target, struct awaited *awaited)
{
    size_t length = (size_t)(awaited->part.end - awaited->part.start);

    target->in_flight -= length;
    if (awaited->code == 0 && awaited->message->length == length) {
        awaited->hash = task_of_hash(awaited->incoming->mapping.memory + awaited->part.start,
                                     length, length, awaited->own);
        awaited->hash.lets_go = true;
        task_start(target->awaiting.crew, &awaited->hash);
    }
    return 0;
}

/* Why a block is not in the mapped part, of which the source says nothing. Room is what a part file
 * lacks, as a rule; the library tells (ZCRP_ERROR_FAULT) where the kernel has found that out. */
static int explain_missing(const struct awaited *awaited)
{
    return mapping_is_torn(&awaited->incoming->mapping) || awaited->code == ZCRP_ERROR_FAULT
               ? ENOSPC
               : EFAULT;
}

/* What the source says of a block, or of the file's end. */
static void judge(struct copy_target *target, struct awaited *awaited, const struct record *record)
{
    struct incoming *incoming = awaited->incoming;

    incoming->in_flight--;
    if (awaited->hash.memory != NULL)
        crew_wait(target->awaiting.crew, &awaited->hash.job);
    if (record->block.error.length > 0) {
        incoming_fail(incoming, record->block.error);
    } else if (awaited->kind == RECORD_CLOSE) {
        incoming->is_closed = true;
    } else if (awaited->hash.memory == NULL) {
        incoming_fail_errno(incoming, "cannot be written at the target", explain_missing(awaited));
    } else if (memcmp(awaited->own, record->block.hash, HASH_BYTES) != 0) {
        incoming_retry(incoming, awaited->part);
    } else {
        progress_moved(target->progress, awaited->part.end - awaited->part.start);
    }
}

/* All blocks since the last report, which are the first in the ring, up to this report, the last
 * that has come. */
static int on_report(struct copy_target *target, const struct awaited *report)
{
    struct reader reader = reader_of(report->message->buffer, report->message->length);
    struct record record;
    unsigned i = 0;

    for (; awaiting_at(&target->awaiting, i) != report; i++) {
        struct awaited *awaited = awaiting_at(&target->awaiting, i);

        if (awaited->kind != RECORD_SEND && awaited->kind != RECORD_CLOSE)
            continue;
        if (!record_decode(&reader, &record) || record.kind != RECORD_BLOCK)
            return target_refuse();
        judge(target, awaited, &record);
    }
    if (reader.at != reader.end)
        return target_refuse();
    awaiting_drop(&target->awaiting, i + 1);
    return 0;
}

int placing_on_answer(struct copy_target *target, struct awaited *awaited)
{
    switch (awaited->kind) {
    case RECORD_PACK:
        return on_pack(target, awaited);
    case RECORD_HASHES:
        return on_hashes(target, awaited);
    case RECORD_EXTENTS:
        return on_extents(awaited);
    case RECORD_SEND:
        return on_block(target, awaited);
    case RECORD_REPORT:
        return on_report(target, awaited);
    default:
        return target_refuse();
    }
}
