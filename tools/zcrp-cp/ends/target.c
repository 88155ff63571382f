#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "awaited.h"
#include "common/complain.h"
#include "incoming.h"
#include "zcrp-cp/files/beneath.h"

enum {
    WINDOW_BYTES = 48 << 20, /* asked for and not come: more than the library's window */
    OPEN_MOST = 64,          /* files under way at once */
    QUEUE_LEAST = 2000,      /* entries; with fewer the list is asked for more */
    LISTS_MOST = 2,          /* requests for that at once */
    RATE_SHARE = 20,         /* a block is at most this part of a second's bytes */
};

/* A directory that gets its permissions and time when all that is in it is there. */
struct finished {
    struct wanted *wanted;
    struct finished *next;
};

struct target {
    struct line *line;
    struct crew *crew;
    const struct target_wishes *wishes;
    struct progress *progress;
    struct requests requests;
    struct zcrp_msg *message; /* requests that are not sent yet; NULL: none */
    struct writer writer;     /* into it */
    struct awaiting awaiting;
    struct wanted *first, **last; /* of the list, not begun yet */
    unsigned queued;
    uint32_t listed; /* entries so far */
    int lists;       /* LIST requests under way */
    bool is_listed;  /* the list is complete */
    struct incoming open[OPEN_MOST];
    bool is_open[OPEN_MOST];
    int open_count;
    struct wanted *pack[PACK_FILES]; /* to be asked for together */
    unsigned pack_count;
    uint64_t pack_bytes;
    struct finished *directories; /* the deepest first */
    unsigned unreported;          /* SEND and CLOSE since the last REPORT */
    uint64_t in_flight;           /* bytes asked for that have not come */
    uint64_t asked;               /* bytes, ever */
    int64_t start_ns;
    bool is_over;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int refuse(void)
{
    (void)complain("the other end answers what was not asked");
    return LINE_BROKEN;
}

static struct text text_of(const char *string)
{
    return (struct text){string, strnlen(string, TEXT_MOST)};
}

/* ---- requests ---- */

static int flush(struct target *target)
{
    if (target->message == NULL)
        return 0;
    target->message = NULL;
    return requests_send(&target->requests, writer_length(&target->writer));
}

static int request(struct target *target, const struct record *record)
{
    int code = 0;

    if (target->message != NULL && record_encode(&target->writer, record))
        return 0;
    code = flush(target);
    if (code != 0)
        return code;
    target->message = requests_take(&target->requests, &code);
    if (target->message == NULL)
        return code;
    target->writer = writer_of(target->message->buffer, REQUEST_ROOM);
    (void)record_encode(&target->writer, record);
    return 0;
}

static int request_report(struct target *target)
{
    int code = 0;

    if (target->unreported == 0)
        return 0;
    target->unreported = 0;
    if (awaiting_add(&target->awaiting, RECORD_REPORT, ANSWER_ROOM, &code) == NULL)
        return code;
    return request(target, &(struct record){.kind = RECORD_REPORT});
}

static int count_for_report(struct target *target)
{
    return ++target->unreported == REPORT_MOST ? request_report(target) : 0;
}

/* Tells the user, or the source, which tells its user. */
static int settle(struct target *target, const struct wanted *wanted, enum outcome outcome,
                  const char *error, uint64_t settled)
{
    struct record record = {.kind = RECORD_OUTCOME};

    record.outcome.file = wanted->number;
    record.outcome.outcome = (uint8_t)outcome;
    record.outcome.error = text_of(error);
    progress_outcome(target->progress, wanted->entry.path, outcome, record.outcome.error, settled);
    return request(target, &record);
}

/* ---- directories and links ---- */

static int settle_errno(struct target *target, const struct wanted *wanted, const char *what)
{
    struct incoming incoming = {0};

    incoming_fail_errno(&incoming, what, errno);
    return settle(target, wanted, OUTCOME_FAILED, incoming.error, 0);
}

static int make_directory(struct target *target, struct wanted *wanted)
{
    int code = 0;
    struct finished *finished = NULL;

    if (target->wishes->is_dry_run) {
        free(wanted);
        return 0;
    }
    if (beneath_make_directory(target->wishes->directory, wanted->entry.path.bytes) != 0)
        code = settle_errno(target, wanted, "cannot be made");
    else
        finished = malloc(sizeof(*finished));
    if (finished == NULL) {
        free(wanted);
        return code;
    }
    *finished = (struct finished){wanted, target->directories};
    target->directories = finished;
    return 0;
}

static int finish_directory(struct target *target, const struct wanted *wanted)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)wanted->entry.time_s, .tv_nsec = (long)wanted->entry.time_ns},
    };
    int fd = beneath_open(target->wishes->directory, wanted->entry.path.bytes,
                          O_RDONLY | O_DIRECTORY, 0);
    int code = 0;

    if (fd < 0 || fchmod(fd, partial_mode(&wanted->entry)) != 0 || futimens(fd, times) != 0)
        code = settle_errno(target, wanted, "cannot have its permissions and time");
    if (fd >= 0)
        (void)close(fd);
    return code;
}

/* All that is in them is there. */
static int finish_directories(struct target *target, bool is_fine)
{
    int code = 0;

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

static bool link_is_there(const struct target *target, const struct wanted *wanted)
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

static int make_link(struct target *target, struct wanted *wanted)
{
    int code;

    if (link_is_there(target, wanted))
        code = settle(target, wanted, OUTCOME_SKIPPED, "", 0);
    else if (target->wishes->is_dry_run ||
             partial_make_link(target->wishes->directory, &wanted->entry) == 0)
        code = settle(target, wanted, OUTCOME_COPIED, "", 0);
    else
        code = settle_errno(target, wanted, "cannot be made");
    free(wanted);
    return code;
}

/* ---- files ---- */

/* Is there a file of this size already, and is its time the same? */
static bool size_is_there(const struct target *target, const struct wanted *wanted, bool *same_time)
{
    struct stat status;

    if (beneath_status(target->wishes->directory, wanted->entry.path.bytes, &status) != 0)
        return false;
    *same_time = status.st_mtim.tv_sec == wanted->entry.time_s &&
                 status.st_mtim.tv_nsec == (long)wanted->entry.time_ns;
    return S_ISREG(status.st_mode) && (uint64_t)status.st_size == wanted->entry.size;
}

/* A file that need not be copied gets what it may lack. */
static int skip(struct target *target, const struct wanted *wanted)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)wanted->entry.time_s, .tv_nsec = (long)wanted->entry.time_ns},
    };
    int fd = beneath_open(target->wishes->directory, wanted->entry.path.bytes,
                          O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0 && !target->wishes->is_dry_run) {
        if ((status.st_mode & 0777) != partial_mode(&wanted->entry))
            (void)fchmod(fd, partial_mode(&wanted->entry));
        (void)futimens(fd, times);
    }
    if (fd >= 0)
        (void)close(fd);
    return settle(target, wanted, OUTCOME_SKIPPED, "", wanted->entry.size);
}

static struct incoming *take_place(struct target *target)
{
    int i = 0;

    while (target->is_open[i])
        i++;
    target->is_open[i] = true;
    target->open_count++;
    return &target->open[i];
}

static void leave_place(struct target *target, struct incoming *incoming, bool keeps)
{
    incoming_fini(incoming, keeps);
    target->is_open[incoming - target->open] = false;
    target->open_count--;
}

static void begin_file(struct target *target, struct wanted *wanted)
{
    if (wanted->entry.size <= PACKED_MOST) {
        target->pack[target->pack_count++] = wanted;
        target->pack_bytes += wanted->entry.size;
    } else {
        incoming_begin(take_place(target), target->wishes->directory, wanted);
    }
}

static int take_file(struct target *target, struct wanted *wanted)
{
    bool same_time = false, same_size = size_is_there(target, wanted, &same_time);
    bool compares = target->wishes->checksum && same_size && wanted->entry.size > 0;
    int code;

    if (same_size && !compares && (same_time || target->wishes->checksum)) {
        code = skip(target, wanted);
        free(wanted);
        return code;
    }
    if (compares) {
        incoming_begin_compare(take_place(target), target->wishes->directory, wanted);
        return 0;
    }
    if (!target->wishes->is_dry_run) {
        begin_file(target, wanted);
        return 0;
    }
    code = settle(target, wanted, OUTCOME_COPIED, "", wanted->entry.size);
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

static int write_small(struct target *target, struct wanted *wanted, struct text content)
{
    struct partial partial;
    int code;

    if (partial_open(&partial, target->wishes->directory, wanted->entry.path.bytes) != 0) {
        code = settle_errno(target, wanted, "cannot be made");
        free(wanted);
        return code;
    }
    if (!write_whole(partial.fd, content) || partial_finish(&partial, &wanted->entry) != 0) {
        code = settle_errno(target, wanted, "cannot be written");
        partial_discard(&partial);
    } else {
        code = settle(target, wanted, OUTCOME_COPIED, "", 0);
    }
    partial_close(&partial);
    free(wanted);
    return code;
}

static int take_packed(struct target *target, struct wanted *wanted, const struct record *record)
{
    const char *error = "it arrives damaged, again and again";
    uint8_t hash[HASH_BYTES];
    int code;

    if (record->packed.error.length > 0) {
        struct incoming incoming = {0};

        incoming_fail(&incoming, record->packed.error);
        code = settle(target, wanted, OUTCOME_FAILED, incoming.error, 0);
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
    code = settle(target, wanted, OUTCOME_FAILED, error, 0);
    free(wanted);
    return code;
}

static int on_pack(struct target *target, struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    int code = 0;

    target->in_flight -= awaited->part.end;
    for (unsigned i = 0; i < awaited->pack_count && code == 0; i++) {
        if (!record_decode(&reader, &record) || record.kind != RECORD_PACKED)
            return refuse();
        struct wanted *wanted = awaited->pack[i];
        awaited->pack[i] = NULL;
        code = take_packed(target, wanted, &record);
    }
    return code == 0 && (reader.bad || reader.at != reader.end) ? refuse() : code;
}

static int request_pack(struct target *target)
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
    return request(target, &record);
}

/* ---- the list ---- */

static struct wanted *make_wanted(struct target *target, const struct entry *entry)
{
    size_t path = entry->path.length, link = entry->link.length;
    struct wanted *wanted = calloc(1, sizeof(*wanted) + path + link + 2);

    if (wanted == NULL)
        return NULL;
    wanted->number = target->listed++;
    wanted->entry = *entry;
    memcpy(wanted->bytes, entry->path.bytes, path);
    memcpy(wanted->bytes + path + 1, entry->link.bytes, link);
    wanted->entry.path.bytes = wanted->bytes;
    wanted->entry.link.bytes = wanted->bytes + path + 1;
    return wanted;
}

static int add_entry(struct target *target, const struct entry *entry)
{
    struct wanted *wanted = make_wanted(target, entry);

    if (wanted == NULL)
        return ZCRP_ERROR_MEMORY;
    progress_found(target->progress, &wanted->entry);
    *target->last = wanted;
    target->last = &wanted->next;
    target->queued++;
    return 0;
}

static int on_list(struct target *target, const struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    int code = 0;

    target->lists--;
    if (awaited->message->length == 0)
        return refuse();
    while (code == 0 && record_decode(&reader, &record)) {
        if (record.kind == RECORD_ENTRY && !target->is_listed)
            code = add_entry(target, &record.entry);
        else if (record.kind == RECORD_TROUBLE)
            progress_outcome(target->progress, record.trouble.path, OUTCOME_FAILED,
                             record.trouble.error, 0);
        else if (record.kind == RECORD_END)
            target->is_listed = true;
        else
            code = refuse();
    }
    if (target->is_listed)
        progress_found_all(target->progress);
    return code == 0 && reader.bad ? refuse() : code;
}

static int request_list(struct target *target)
{
    int code = 0;

    while (!target->is_listed && target->lists < LISTS_MOST && target->queued < QUEUE_LEAST &&
           code == 0 && awaiting_has_room(&target->awaiting, 2)) {
        target->lists++;
        if (awaiting_add(&target->awaiting, RECORD_LIST, ANSWER_ROOM, &code) != NULL)
            code = request(target, &(struct record){.kind = RECORD_LIST});
    }
    return code;
}

static struct wanted *take_wanted(struct target *target)
{
    struct wanted *wanted = target->first;

    target->first = wanted->next;
    if (target->first == NULL)
        target->last = &target->first;
    target->queued--;
    return wanted;
}

static int begin_next(struct target *target)
{
    struct wanted *wanted = take_wanted(target);

    switch ((enum entry_type)wanted->entry.type) {
    case ENTRY_DIRECTORY:
        return make_directory(target, wanted);
    case ENTRY_LINK:
        return make_link(target, wanted);
    case ENTRY_FILE:
    case ENTRY_TYPES:
    default:
        return take_file(target, wanted);
    }
}

/* ---- the parts of a file ---- */

static struct record part_record(uint8_t kind, const struct incoming *incoming, struct range part)
{
    struct record record = {.kind = kind};

    record.part.file = incoming->wanted->number;
    record.part.offset = part.start;
    record.part.length = (uint32_t)(part.end - part.start);
    return record;
}

static int request_block(struct target *target, struct incoming *incoming, struct range part)
{
    struct record record = part_record(RECORD_SEND, incoming, part);
    int code = 0;

    if (awaiting_add_slice(&target->awaiting, incoming, part, &code) == NULL)
        return code;
    incoming->in_flight++;
    target->in_flight += record.part.length;
    target->asked += record.part.length;
    code = request(target, &record);
    return code == 0 ? count_for_report(target) : code;
}

static int request_hashes(struct target *target, struct incoming *incoming, struct range part)
{
    struct record record = part_record(RECORD_HASHES, incoming, part);
    size_t leaves = (record.part.length + LEAF_BYTES - 1) / LEAF_BYTES;
    int code = 0;
    struct awaited *awaited = awaiting_add(&target->awaiting, RECORD_HASHES, ANSWER_ROOM, &code);

    if (awaited == NULL)
        return code;
    awaited->incoming = incoming;
    awaited->part = part;
    awaited->digests = malloc(leaves * HASH_BYTES);
    incoming->in_flight++;
    if (awaited->digests == NULL)
        return ZCRP_ERROR_MEMORY;
    awaited->hash = task_of_hash(incoming->mapping.memory + part.start, record.part.length,
                                 LEAF_BYTES, awaited->digests);
    crew_add(target->crew, &awaited->hash);
    return request(target, &record);
}

static int request_extents(struct target *target, struct incoming *incoming, struct range part)
{
    struct record record =
        part_record(RECORD_EXTENTS, incoming, (struct range){part.start, part.start});
    int code = 0;
    struct awaited *awaited = awaiting_add(&target->awaiting, RECORD_EXTENTS, ANSWER_ROOM, &code);

    if (awaited == NULL)
        return code;
    awaited->incoming = incoming;
    incoming->in_flight++;
    return request(target, &record);
}

static int request_close(struct target *target, struct incoming *incoming)
{
    struct record record = part_record(RECORD_CLOSE, incoming, (struct range){0, 0});
    int code = 0;
    struct awaited *awaited = awaiting_add(&target->awaiting, RECORD_CLOSE, 0, &code);

    if (awaited == NULL)
        return code;
    awaited->incoming = incoming;
    incoming->in_flight++;
    code = request(target, &record);
    return code == 0 ? count_for_report(target) : code;
}

/* The file that is there is another one: the copy begins. */
static int replace(struct target *target, struct incoming *incoming)
{
    struct wanted *wanted = incoming->wanted;
    int code = 0;

    incoming->wanted = NULL;
    leave_place(target, incoming, true);
    if (!target->wishes->is_dry_run) {
        if (wanted->entry.size <= PACKED_MOST && target->pack_count == PACK_FILES)
            code = request_pack(target);
        begin_file(target, wanted);
        return code;
    }
    code = settle(target, wanted, OUTCOME_COPIED, "", wanted->entry.size);
    free(wanted);
    return code;
}

static int end_file(struct target *target, struct incoming *incoming, enum incoming_step step)
{
    bool is_whole = step == INCOMING_WHOLE && incoming_finish(incoming);
    int code;

    if (step == INCOMING_SAME)
        code = skip(target, incoming->wanted);
    else if (is_whole)
        code = settle(target, incoming->wanted, OUTCOME_COPIED, "", 0);
    else
        code = settle(target, incoming->wanted, OUTCOME_FAILED, incoming->error, 0);
    leave_place(target, incoming, is_whole);
    return code;
}

/* Bytes of a block: less if only so much may be sent each second. */
static uint64_t block_most(const struct target *target)
{
    uint64_t share = target->wishes->rate / 8 / RATE_SHARE / LEAF_BYTES * LEAF_BYTES;

    if (target->wishes->rate == 0 || share > BLOCK_MOST)
        return BLOCK_MOST;
    return share > 0 ? share : LEAF_BYTES;
}

/* Takes a file's next step. *did: there was one. */
static int advance(struct target *target, struct incoming *incoming, bool *did)
{
    struct range part;
    enum incoming_step step = incoming_next(incoming, block_most(target), &part);

    *did = step != INCOMING_WAIT;
    switch (step) {
    case INCOMING_EXTENTS:
        return request_extents(target, incoming, part);
    case INCOMING_COMPARE:
        return request_hashes(target, incoming, part);
    case INCOMING_FETCH:
        return request_block(target, incoming, part);
    case INCOMING_CLOSE:
        return request_close(target, incoming);
    case INCOMING_DIFFERS:
        return replace(target, incoming);
    case INCOMING_SAME:
    case INCOMING_WHOLE:
    case INCOMING_FAILED:
        return end_file(target, incoming, step);
    case INCOMING_WAIT:
        break;
    }
    return 0;
}

/* ---- answers about a file ---- */

static int on_hashes(struct target *target, struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    uint64_t leaves = (awaited->part.end - awaited->part.start + LEAF_BYTES - 1) / LEAF_BYTES;

    awaited->incoming->in_flight--;
    if (!record_decode(&reader, &record) || record.kind != RECORD_DIGESTS ||
        (record.digests.error.length == 0 && record.digests.hashes.length != leaves * HASH_BYTES))
        return refuse();
    crew_wait(target->crew, &awaited->hash);
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
            return refuse();
    }
    return reader.bad || !has_some ? refuse() : 0;
}

/* A block has come, or has not: it is hashed where it lies. */
static int on_block(struct target *target, struct awaited *awaited)
{
    size_t length = (size_t)(awaited->part.end - awaited->part.start);

    target->in_flight -= length;
    if (awaited->code == 0 && awaited->message->length == length) {
        awaited->hash = task_of_hash(awaited->incoming->mapping.memory + awaited->part.start,
                                     length, length, awaited->own);
        crew_add(target->crew, &awaited->hash);
    }
    return 0;
}

/* What the source says of a block, or of the file's end. */
static void judge(struct target *target, struct awaited *awaited, const struct record *record)
{
    struct incoming *incoming = awaited->incoming;

    incoming->in_flight--;
    if (awaited->hash.memory != NULL)
        crew_wait(target->crew, &awaited->hash);
    if (record->block.error.length > 0) {
        incoming_fail(incoming, record->block.error);
    } else if (awaited->kind == RECORD_CLOSE) {
        incoming->is_closed = true;
    } else if (awaited->hash.memory == NULL) {
        incoming_fail_errno(incoming, "cannot be written",
                            mapping_is_torn(&incoming->mapping) ? ENOSPC : EFAULT);
    } else if (memcmp(awaited->own, record->block.hash, HASH_BYTES) != 0) {
        incoming_retry(incoming, awaited->part);
    } else {
        progress_moved(target->progress, awaited->part.end - awaited->part.start);
    }
}

/* All blocks since the last report, which are the first in the ring, up to this report, the last
 * that has come. */
static int on_report(struct target *target, const struct awaited *report)
{
    struct reader reader = reader_of(report->message->buffer, report->message->length);
    struct record record;
    unsigned i = 0;

    for (; awaiting_at(&target->awaiting, i) != report; i++) {
        struct awaited *awaited = awaiting_at(&target->awaiting, i);

        if (awaited->kind != RECORD_SEND && awaited->kind != RECORD_CLOSE)
            continue;
        if (!record_decode(&reader, &record) || record.kind != RECORD_BLOCK)
            return refuse();
        judge(target, awaited, &record);
    }
    if (reader.at != reader.end)
        return refuse();
    awaiting_drop(&target->awaiting, i + 1);
    return 0;
}

/* Others than blocks are dealt with at once; they leave the ring when they are at its front. */
static void tidy(struct target *target)
{
    while (target->awaiting.come > 0) {
        uint8_t kind = awaiting_at(&target->awaiting, 0)->kind;

        if (kind == RECORD_SEND || kind == RECORD_CLOSE)
            return;
        awaiting_drop(&target->awaiting, 1);
    }
}

static int on_answer(struct target *target, struct awaited *awaited)
{
    if (awaited->code != 0 && awaited->kind != RECORD_SEND)
        return awaited->code;
    switch ((enum record_kind)awaited->kind) {
    case RECORD_LIST:
        return on_list(target, awaited);
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
    case RECORD_BYE:
        target->is_over = true;
        return 0;
    case RECORD_OPEN:
    case RECORD_PATH:
    case RECORD_READY:
    case RECORD_CLOSE:
    case RECORD_OUTCOME:
    case RECORD_ENTRY:
    case RECORD_TROUBLE:
    case RECORD_BLOCK:
    case RECORD_PACKED:
    case RECORD_DIGESTS:
    case RECORD_EXTENT:
    case RECORD_END:
    case RECORD_KINDS:
    default:
        return refuse();
    }
}

/* ---- how much is asked for ---- */

/* May more be asked for now? */
static bool has_allowance(const struct target *target)
{
    uint64_t bytes_per_s = target->wishes->rate / 8;

    if (target->in_flight >= WINDOW_BYTES || !awaiting_has_room(&target->awaiting, 4))
        return false;
    if (bytes_per_s == 0)
        return true;
    double seconds = (double)(now_ns() - target->start_ns) / 1e9;
    return (double)target->asked <= seconds * (double)bytes_per_s;
}

/* One step of one of the files that are open. */
static int advance_any(struct target *target, bool *did)
{
    int code = 0;

    *did = false;
    for (int i = 0; i < OPEN_MOST && !*did && code == 0; i++) {
        if (target->is_open[i])
            code = advance(target, &target->open[i], did);
    }
    return code;
}

static bool pack_is_due(const struct target *target)
{
    return target->pack_count == PACK_FILES || target->pack_bytes + PACKED_MOST > PACK_BYTES ||
           (target->pack_count > 0 && target->queued == 0);
}

/* Asks for as much as may be under way. */
static int fill(struct target *target)
{
    int code = request_list(target);

    while (code == 0 && has_allowance(target)) {
        bool did = false;

        code = advance_any(target, &did);
        if (code != 0 || did)
            continue;
        if (pack_is_due(target))
            code = request_pack(target);
        else if (target->queued > 0 && target->open_count < OPEN_MOST)
            code = begin_next(target);
        else
            break;
    }
    if (code == 0)
        code = request_list(target);
    if (code == 0)
        code = request_report(target);
    return code == 0 ? flush(target) : code;
}

static bool is_done(const struct target *target)
{
    return target->is_listed && target->lists == 0 && target->queued == 0 &&
           target->open_count == 0 && target->pack_count == 0 && target->awaiting.count == 0;
}

static int say_bye(struct target *target)
{
    int code = finish_directories(target, true);

    if (code == 0 && awaiting_add(&target->awaiting, RECORD_BYE, ANSWER_ROOM, &code) != NULL)
        code = request(target, &(struct record){.kind = RECORD_BYE});
    return code == 0 ? flush(target) : code;
}

/* Waits for one answer. With a rate, not for long: time alone allows to ask for more. */
static int take_answer(struct target *target)
{
    int64_t most_ns = target->wishes->rate > 0 && target->in_flight < WINDOW_BYTES ? 5000000 : -1;
    int code;

    if (target->awaiting.come == target->awaiting.count && most_ns < 0)
        most_ns = 1000000;
    struct awaited *awaited = awaiting_next(&target->awaiting, most_ns, &code);
    if (awaited == NULL)
        return code == ZCRP_ERROR_TIMEOUT ? 0 : code;
    code = on_answer(target, awaited);
    tidy(target);
    return code;
}

static int copy(struct target *target)
{
    int code = 0;

    while (code == 0 && !is_done(target)) {
        code = fill(target);
        if (code == 0 && !is_done(target))
            code = take_answer(target);
    }
    if (code == 0)
        code = say_bye(target);
    while (code == 0 && !target->is_over)
        code = take_answer(target);
    return code;
}

static void fini(struct target *target)
{
    awaiting_fini(&target->awaiting);
    requests_fini(&target->requests);
    for (int i = 0; i < OPEN_MOST; i++) {
        if (target->is_open[i])
            leave_place(target, &target->open[i], true);
    }
    for (unsigned i = 0; i < target->pack_count; i++)
        free(target->pack[i]);
    while (target->first != NULL)
        free(take_wanted(target));
    (void)finish_directories(target, false);
    free(target);
}

enum line_end target_run(struct line *line, struct crew *crew, const struct target_wishes *wishes,
                         struct progress *progress)
{
    struct target *target = calloc(1, sizeof(*target));
    int code = target != NULL ? 0 : ZCRP_ERROR_MEMORY;

    if (target == NULL)
        return line_complain(line, code);
    target->line = line;
    target->crew = crew;
    target->wishes = wishes;
    target->progress = progress;
    target->last = &target->first;
    target->start_ns = now_ns();
    awaiting_init(&target->awaiting, line, crew);
    code = requests_init(&target->requests, line, false);
    if (code == 0)
        code = copy(target);
    fini(target);
    return code == 0 ? LINE_FINE : line_complain(line, code);
}
