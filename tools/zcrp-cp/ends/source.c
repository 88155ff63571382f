#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"
#include "session.h"
#include "zcrp-cp/files/place.h"

enum {
    ITEMS_MOST = 1 << 28, /* entries of a list; a longer one ends the copy */
    ITEMS_LEAST = 64,     /* that there is room for */
    OPEN_MOST = 256,      /* files open at once */
};

/* A file that is open: from when it is first asked for until the target closes it. */
struct opened {
    int fd;
    uint32_t number; /* of its item */
    struct mapping mapping;
    uint32_t in_flight;  /* messages that are slices of it, and hashes under way */
    struct opened *next; /* of those that are closing */
};

/* An entry that the target was told of. */
struct item {
    char *path; /* from the root's directory */
    uint32_t root;
    uint8_t type;         /* enum entry_type */
    uint64_t size, moved; /* bytes: as listed, and of these sent */
    int64_t time_s;
    uint32_t time_ns;
    struct opened *opened; /* NULL: it is not */
};

/* What the next REPORT tells of one SEND or CLOSE. */
struct report_row {
    struct opened *opened; /* whose slice was sent; NULL: none was */
    struct task task;      /* its hash */
    uint8_t hash[HASH_BYTES];
    char error[TEXT_MOST + 1];
};

struct source {
    struct crew *crew;
    struct walk *walk;
    struct progress *progress;
    struct item *items; /* by their numbers in the list */
    uint32_t count;
    size_t room;
    int open_count;
    struct opened *closing;
    struct inbox requests;
    struct outbox answers;
    struct report_row report[REPORT_MOST];
    int report_count;
    struct record held; /* an entry that did not fit into the last answer */
    bool has_held;
    bool is_over; /* BYE has come */
    uint8_t content[PACKED_MOST];
    uint8_t digests[HASHED_MOST / LEAF_BYTES * HASH_BYTES];
};

static int refuse(void)
{
    (void)complain("the other end asks for something that does not exist");
    return LINE_BROKEN;
}

/* The file of a request, or NULL. */
static struct item *find(struct source *source, uint32_t number)
{
    struct item *item = number < source->count ? &source->items[number] : NULL;

    return item != NULL && item->type == ENTRY_FILE ? item : NULL;
}

static bool is_within(const struct item *item, const struct record *record)
{
    return record->part.offset <= item->size &&
           record->part.length <= item->size - record->part.offset;
}

/* ---- the items ---- */

/* Adds an entry, whose number is source->count. 0, or -1: no memory, or too many. */
static int add_item(struct source *source, const struct list_entry *entry, uint32_t root)
{
    if (source->count == source->room) {
        size_t room = source->room > 0 ? 2 * source->room : ITEMS_LEAST;
        struct item *items =
            room <= ITEMS_MOST ? realloc(source->items, room * sizeof(*items)) : NULL;

        if (items == NULL)
            return -1;
        source->items = items;
        source->room = room;
    }
    struct item *item = &source->items[source->count];
    *item = (struct item){
        .path = strndup(entry->path.bytes, entry->path.length),
        .root = root,
        .type = entry->type,
        .size = entry->size,
        .time_s = entry->time_s,
        .time_ns = entry->time_ns,
    };
    if (item->path == NULL)
        return -1;
    source->count++;
    return 0;
}

/* Is the open file still as it was listed? NULL, or how it differs. */
static const char *changed(const struct item *item, int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size != item->size ||
        status.st_mtim.tv_sec != item->time_s || (uint32_t)status.st_mtim.tv_nsec != item->time_ns)
        return "it changed while it was copied";
    return NULL;
}

/* Opens a file for one moment: a descriptor, or -1 and *error. */
static int peek(const struct source *source, const struct item *item, const char **error)
{
    int fd = beneath_open(source->walk->roots[item->root].directory, item->path,
                          O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

    *error = fd < 0 ? strerror(errno) : changed(item, fd);
    if (*error == NULL)
        return fd;
    place_close(fd);
    return -1;
}

/* Opens the file unless it is open. NULL, or why it cannot be had: it is not as it was listed, or
 * the system's words. */
static const char *open_item(struct source *source, struct item *item)
{
    const char *error;

    if (item->opened != NULL)
        return NULL;
    if (source->open_count >= OPEN_MOST)
        return "the other end opens too many files at once";
    struct opened *opened = calloc(1, sizeof(*opened));
    if (opened == NULL)
        return strerror(ENOMEM);
    opened->fd = peek(source, item, &error);
    if (opened->fd >= 0 && mapping_init(&opened->mapping, opened->fd, item->size, false) != 0)
        error = strerror(errno);
    if (error != NULL) {
        place_close(opened->fd);
        free(opened);
        return error;
    }
    (void)madvise(opened->mapping.memory, (size_t)item->size, MADV_SEQUENTIAL);
    opened->number = (uint32_t)(item - source->items);
    source->open_count++;
    item->opened = opened;
    return NULL;
}

/* Why its mapping is torn: SIGBUS says nothing of that. */
static const char *explain_torn(const struct source *source, const struct opened *opened)
{
    return changed(&source->items[opened->number], opened->fd) == NULL
               ? strerror(EIO)
               : "it became shorter while it was copied";
}

/* The file is not needed any more. To unmap a large file takes a while, so tidy does that when
 * there is nothing to answer. */
static void close_item(struct source *source, struct item *item)
{
    struct opened *opened = item->opened;

    item->opened = NULL;
    if (opened == NULL)
        return;
    opened->next = source->closing;
    source->closing = opened;
}

/* Frees those of which nothing is in flight. */
static void tidy(struct source *source)
{
    struct opened **place = &source->closing;

    while (*place != NULL) {
        struct opened *opened = *place;

        if (opened->in_flight > 0) {
            place = &opened->next;
            continue;
        }
        *place = opened->next;
        mapping_fini(&opened->mapping);
        (void)close(opened->fd);
        free(opened);
        source->open_count--;
    }
}

/* ---- LIST ---- */

/* The next entry of the walk, as a record. */
static enum walk_step next_record(struct source *source, struct record *record)
{
    uint32_t root = 0;
    enum walk_step step = walk_next(source->walk, &record->entry, &root);

    record->kind = RECORD_ENTRY;
    if (step == WALK_ENTRY) {
        progress_found(source->progress, &record->entry);
        return add_item(source, &record->entry, root) == 0 ? step : WALK_MEMORY;
    }
    if (step == WALK_TROUBLE) {
        struct text path = text_of(source->walk->path), error = text_of(source->walk->error);

        record->kind = RECORD_TROUBLE;
        record->trouble.path = path;
        record->trouble.error = error;
        progress_outcome(source->progress, path, OUTCOME_FAILED, error, 0);
    }
    return step;
}

/* What fits. The entry that does not is the first of the next answer: its texts stay in the walk
 * until the step after. */
static int write_list(struct source *source, const struct record *request, struct writer *writer)
{
    enum walk_step step = WALK_ENTRY;

    (void)request;
    writer->end--; /* there is always room for END */
    if (source->has_held)
        (void)record_encode(writer, &source->held);
    source->has_held = false;
    while (!source->has_held && step != WALK_END) {
        step = next_record(source, &source->held);
        if (step == WALK_MEMORY)
            return ZCRP_ERROR_MEMORY;
        source->has_held = step != WALK_END && !record_encode(writer, &source->held);
    }
    writer->end++;
    if (!source->has_held) {
        (void)record_encode(writer, &(struct record){.kind = RECORD_END});
        progress_found_all(source->progress);
    }
    return 0;
}

/* ---- SEND, CLOSE, REPORT ---- */

static struct report_row *add_row(struct source *source, const char *error)
{
    struct report_row *row = &source->report[source->report_count++];

    row->opened = NULL;
    (void)snprintf(row->error, sizeof(row->error), "%s", error != NULL ? error : "");
    return row;
}

static int answer_send(struct source *source, const struct record *record)
{
    struct item *item = find(source, record->part.file);

    if (item == NULL || !is_within(item, record) || source->report_count == REPORT_MOST)
        return refuse();
    const char *error = open_item(source, item);
    struct report_row *row = add_row(source, error);
    if (error != NULL)
        return outbox_send_nothing(&source->answers);
    uint8_t *slice = item->opened->mapping.memory + record->part.offset;
    row->opened = item->opened;
    row->opened->in_flight++;
    row->task = task_of_hash(slice, record->part.length, record->part.length, row->hash);
    task_start(source->crew, &row->task);
    item->moved += record->part.length;
    progress_moved(source->progress, record->part.length);
    return outbox_send_slice(&source->answers, slice, record->part.length,
                             &item->opened->in_flight);
}

static int answer_close(struct source *source, const struct record *record)
{
    struct item *item = find(source, record->part.file);

    if (item == NULL || source->report_count == REPORT_MOST)
        return refuse();
    (void)add_row(source, item->opened != NULL ? changed(item, item->opened->fd) : NULL);
    close_item(source, item);
    return 0;
}

/* Lets go of what the rows hold. */
static void finish_rows(struct source *source)
{
    for (int i = 0; i < source->report_count; i++) {
        struct report_row *row = &source->report[i];

        if (row->opened == NULL)
            continue;
        crew_wait(source->crew, &row->task.job);
        if (mapping_is_torn(&row->opened->mapping))
            (void)snprintf(row->error, sizeof(row->error), "%s", explain_torn(source, row->opened));
        row->opened->in_flight--;
        row->opened = NULL;
    }
}

static int write_report(struct source *source, const struct record *request, struct writer *writer)
{
    (void)request;
    finish_rows(source);
    for (int i = 0; i < source->report_count; i++) {
        const struct report_row *row = &source->report[i];
        struct record record = {.kind = RECORD_BLOCK};

        memcpy(record.block.hash, row->hash, HASH_BYTES);
        record.block.error = text_of(row->error);
        (void)record_encode(writer, &record);
    }
    source->report_count = 0;
    return 0;
}

/* ---- PACK ---- */

/* Reads a small file whole. NULL, or why not. */
static const char *read_content(const struct source *source, const struct item *item,
                                uint8_t content[PACKED_MOST])
{
    const char *error;
    size_t length = 0;
    int fd = peek(source, item, &error);

    if (fd < 0)
        return error;
    while (length < item->size) {
        ssize_t count = read(fd, content + length, (size_t)item->size - length);

        if (count < 0)
            error = strerror(errno);
        if (count <= 0)
            break;
        length += (size_t)count;
    }
    if (error == NULL)
        error = changed(item, fd);
    if (error == NULL && length < item->size)
        error = "it became shorter while it was copied";
    (void)close(fd);
    return error;
}

static bool put_packed(struct source *source, struct writer *writer, struct item *item)
{
    struct record record = {.kind = RECORD_PACKED};
    const char *error = read_content(source, item, source->content);

    if (error != NULL) {
        record.packed.error = text_of(error);
    } else {
        record.packed.content = (struct text){(const char *)source->content, (size_t)item->size};
        task_hash(source->content, (size_t)item->size, record.packed.hash);
        item->moved += item->size;
        progress_moved(source->progress, item->size);
    }
    return record_encode(writer, &record);
}

static int write_pack(struct source *source, const struct record *request, struct writer *writer)
{
    for (int i = 0; i < request->pack.count; i++) {
        struct item *item = find(source, request->pack.files[i]);

        if (item == NULL || item->size > PACKED_MOST || !put_packed(source, writer, item))
            return refuse();
    }
    return 0;
}

/* ---- HASHES, EXTENTS ---- */

static int write_hashes(struct source *source, const struct record *request, struct writer *writer)
{
    struct item *item = find(source, request->part.file);
    struct record record = {.kind = RECORD_DIGESTS};

    if (item == NULL || !is_within(item, request))
        return refuse();
    const char *error = open_item(source, item);
    if (error == NULL) {
        size_t leaves = (request->part.length + LEAF_BYTES - 1) / LEAF_BYTES;
        struct task task = task_of_hash(item->opened->mapping.memory + request->part.offset,
                                        request->part.length, LEAF_BYTES, source->digests);

        task_start(source->crew, &task);
        crew_wait(source->crew, &task.job);
        record.digests.hashes = (struct text){(char *)source->digests, leaves * HASH_BYTES};
        if (mapping_is_torn(&item->opened->mapping))
            error = explain_torn(source, item->opened);
    }
    if (error != NULL)
        record.digests = (__typeof__(record.digests)){text_of(error), {"", 0}};
    (void)record_encode(writer, &record);
    return 0;
}

/* The next data at or behind `at`. False if there is none. */
static bool next_extent(int fd, uint64_t at, uint64_t size, struct record *extent)
{
    off_t start = lseek(fd, (off_t)at, SEEK_DATA);

    if (start < 0 && errno != ENXIO)
        start = (off_t)at; /* it cannot tell: all is data, and reading says what is wrong */
    if (start < 0 || (uint64_t)start >= size)
        return false;
    off_t end = lseek(fd, start, SEEK_HOLE);
    if (end <= start || (uint64_t)end > size)
        end = (off_t)size;
    extent->kind = RECORD_EXTENT;
    extent->extent.offset = (uint64_t)start;
    extent->extent.length = (uint64_t)(end - start);
    return true;
}

static int write_extents(struct source *source, const struct record *request, struct writer *writer)
{
    struct item *item = find(source, request->part.file);
    struct record record = {.kind = RECORD_BLOCK};
    uint64_t at = request->part.offset;
    bool fits = true;

    if (item == NULL || at > item->size)
        return refuse();
    const char *error = open_item(source, item);
    if (error != NULL) {
        record.block.error = text_of(error);
        (void)record_encode(writer, &record);
    }
    writer->end--; /* there is always room for END */
    while (error == NULL && fits && next_extent(item->opened->fd, at, item->size, &record)) {
        fits = record_encode(writer, &record);
        at = record.extent.offset + record.extent.length;
    }
    writer->end++;
    if (fits)
        (void)record_encode(writer, &(struct record){.kind = RECORD_END});
    return 0;
}

/* ---- OUTCOME, BYE ---- */

static int note_outcome(struct source *source, const struct record *record)
{
    if (record->outcome.file >= source->count)
        return refuse();
    struct item *item = &source->items[record->outcome.file];
    struct text path = text_of(item->path);
    bool is_whole = record->outcome.outcome != OUTCOME_FAILED && item->moved < item->size;

    progress_outcome(source->progress, path, record->outcome.outcome, record->outcome.error,
                     is_whole ? item->size - item->moved : 0);
    close_item(source, item);
    return 0;
}

/* Answers a request by a message of records; NULL: of END alone. */
static int answer_by(struct source *source, const struct record *request,
                     int (*write_records)(struct source *, const struct record *, struct writer *))
{
    int code;
    struct zcrp_msg *message = outbox_take(&source->answers, &code);

    if (message == NULL)
        return code;
    struct writer writer =
        writer_of(message->buffer, request->kind == RECORD_PACK ? PACK_ROOM : ANSWER_ROOM);
    if (write_records != NULL)
        code = write_records(source, request, &writer);
    else
        (void)record_encode(&writer, &(struct record){.kind = RECORD_END});
    if (code == 0)
        return outbox_send(&source->answers, message, writer_length(&writer));
    zcrp_free_msg(message);
    return code;
}

static int answer(struct source *source, const struct record *record)
{
    switch (record->kind) {
    case RECORD_LIST:
        return answer_by(source, record, write_list);
    case RECORD_SEND:
        return answer_send(source, record);
    case RECORD_PACK:
        return answer_by(source, record, write_pack);
    case RECORD_HASHES:
        return answer_by(source, record, write_hashes);
    case RECORD_EXTENTS:
        return answer_by(source, record, write_extents);
    case RECORD_CLOSE:
        return answer_close(source, record);
    case RECORD_REPORT:
        return answer_by(source, record, write_report);
    case RECORD_OUTCOME:
        return note_outcome(source, record);
    case RECORD_BYE:
        source->is_over = true; /* also if the target is gone by now */
        return answer_by(source, record, NULL);
    default:
        return refuse();
    }
}

static int answer_all(struct source *source, const struct zcrp_msg *message)
{
    struct reader reader = reader_of(message->buffer, message->length);
    struct record record;
    int code = 0;

    while (code == 0 && !source->is_over && record_decode(&reader, &record))
        code = answer(source, &record);
    return code == 0 && reader.bad ? refuse() : code;
}

/* ---- the copy ---- */

/* One message of requests. A code of 0 also if none has come for a while. */
static int turn(struct source *source)
{
    static const int64_t reap_ns = 20000000;
    int code;
    struct zcrp_msg *message = inbox_receive(&source->requests, reap_ns, &code);

    if (code == ZCRP_ERROR_TIMEOUT)
        return outbox_reap(&source->answers);
    if (message == NULL)
        return code;
    code = answer_all(source, message);
    if (code == 0)
        code = inbox_put_back(&source->requests);
    if (code == 0)
        code = outbox_reap(&source->answers);
    tidy(source);
    return code;
}

enum line_end source_run(struct line *line, struct crew *crew, struct walk *walk,
                         struct progress *progress)
{
    struct source *source = calloc(1, sizeof(*source));
    int code = source != NULL ? 0 : ZCRP_ERROR_MEMORY;

    if (source == NULL)
        return line_complain(line, code);
    source->crew = crew;
    source->walk = walk;
    source->progress = progress;
    source->answers.line = line;
    code = inbox_init(&source->requests, line);
    while (code == 0 && !source->is_over)
        code = turn(source);
    if (source->is_over) { /* the target has all, and may be gone by now */
        (void)outbox_wait(&source->answers);
        code = 0;
    }
    inbox_fini(&source->requests);
    finish_rows(source);
    outbox_fini(&source->answers);
    for (uint32_t i = 0; i < source->count; i++) {
        close_item(source, &source->items[i]);
        free(source->items[i].path);
    }
    tidy(source);
    free(source->items);
    free(source);
    return code == 0 ? LINE_FINE : line_complain(line, code);
}
