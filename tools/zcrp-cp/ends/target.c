#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "target.h"

enum {
    WINDOW_BYTES = 48 << 20, /* asked for and not come: more than the library's window */
    QUEUE_LEAST = 2000,      /* entries; with fewer the list is asked for more */
    LISTS_MOST = 2,          /* requests for that at once */
    LISTED_MOST = 1 << 28,   /* entries of a list; no source has more */
};

/* ---- the list ---- */

/* How much of a path's beginning the user's own name replaces. */
static size_t replaced(struct text name, struct text path)
{
    const char *slash = memchr(path.bytes, '/', path.length);

    if (name.length == 0)
        return 0;
    return slash != NULL ? (size_t)(slash - path.bytes) : path.length;
}

/* `name`, if it is not "", in place of the path's first one. */
static struct wanted *make_wanted(const struct list_entry *entry, uint32_t number, struct text name)
{
    size_t cut = replaced(name, entry->path);
    size_t path = name.length + entry->path.length - cut, link = entry->link.length;
    struct wanted *wanted = calloc(1, sizeof(*wanted) + path + link + 2);

    if (wanted == NULL)
        return NULL;
    wanted->number = number;
    wanted->entry = *entry;
    memcpy(wanted->bytes, name.bytes, name.length);
    memcpy(wanted->bytes + name.length, entry->path.bytes + cut, entry->path.length - cut);
    memcpy(wanted->bytes + path + 1, entry->link.bytes, link);
    wanted->entry.path = (struct text){wanted->bytes, path};
    wanted->entry.link.bytes = wanted->bytes + path + 1;
    return wanted;
}

static int add_entry(struct copy_target *target, const struct list_entry *entry)
{
    const char *name = target->wishes->name != NULL ? target->wishes->name : "";
    struct wanted *wanted = make_wanted(entry, target->listed++, text_of(name));

    if (wanted == NULL)
        return ZCRP_ERROR_MEMORY;
    if (target->listed > LISTED_MOST) {
        free(wanted);
        return asking_refuse();
    }
    progress_found(target->progress, &wanted->entry);
    if (wanted->entry.path.length > PATH_MOST)
        return asking_fail(target, wanted, text_of(strerror(ENAMETOOLONG)));
    *target->last = wanted;
    target->last = &wanted->next;
    target->queued++;
    return 0;
}

static int on_list(struct copy_target *target, const struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    int code = 0;

    target->lists--;
    if (awaited->message->length == 0)
        return asking_refuse();
    while (code == 0 && record_decode(&reader, &record)) {
        if (record.kind == RECORD_ENTRY && !target->is_listed)
            code = add_entry(target, &record.entry);
        else if (record.kind == RECORD_TROUBLE)
            progress_outcome(target->progress, record.trouble.path, OUTCOME_FAILED,
                             record.trouble.error, 0);
        else if (record.kind == RECORD_END)
            target->is_listed = true;
        else
            code = asking_refuse();
    }
    if (target->is_listed)
        progress_found_all(target->progress);
    return code == 0 && reader.bad ? asking_refuse() : code;
}

static int request_list(struct copy_target *target)
{
    int code = 0;

    while (!target->is_listed && target->lists < LISTS_MOST && target->queued < QUEUE_LEAST &&
           code == 0 && awaiting_has_room(&target->awaiting, 2)) {
        target->lists++;
        if (awaiting_add(&target->awaiting, RECORD_LIST, ANSWER_ROOM, &code) != NULL)
            code = asking_request(target, &(struct record){.kind = RECORD_LIST});
    }
    return code;
}

static struct wanted *take_wanted(struct copy_target *target)
{
    struct wanted *wanted = target->first;

    target->first = wanted->next;
    if (target->first == NULL)
        target->last = &target->first;
    target->queued--;
    return wanted;
}

/* Others than blocks are dealt with at once; they leave the ring when they are at its front. */
static void tidy(struct copy_target *target)
{
    while (target->awaiting.come > 0) {
        uint8_t kind = awaiting_at(&target->awaiting, 0)->kind;

        if (kind == RECORD_SEND || kind == RECORD_CLOSE)
            return;
        awaiting_drop(&target->awaiting, 1);
    }
}

static int on_answer(struct copy_target *target, struct awaited *awaited)
{
    if (awaited->code != 0 && awaited->kind != RECORD_SEND)
        return awaited->code;
    if (awaited->kind == RECORD_LIST)
        return on_list(target, awaited);
    if (awaited->kind != RECORD_BYE)
        return placing_on_answer(target, awaited);
    target->is_over = true;
    return 0;
}

/* ---- how much is asked for ---- */

/* May more be asked for now? */
static bool has_allowance(const struct copy_target *target)
{
    uint64_t bytes_per_s = target->wishes->rate / 8;

    if (target->in_flight >= WINDOW_BYTES || !awaiting_has_room(&target->awaiting, 4))
        return false;
    if (bytes_per_s == 0)
        return true;
    double seconds = (double)(clock_now_ns() - target->start_ns) / 1e9;
    return (double)target->asked <= seconds * (double)bytes_per_s;
}

/* One step of one of the files that are open. */
static int advance_any(struct copy_target *target, bool *did)
{
    int code = 0;

    *did = false;
    for (int i = 0; i < ASKING_FILES && !*did && code == 0; i++) {
        if (target->is_open[i])
            code = placing_advance(target, &target->open[i], did);
    }
    return code;
}

static bool pack_is_due(const struct copy_target *target)
{
    return target->pack_count == PACK_FILES || target->pack_bytes + PACKED_MOST > PACK_BYTES ||
           (target->pack_count > 0 && target->queued == 0);
}

/* Asks for as much as may be under way. */
static int fill(struct copy_target *target)
{
    int code = request_list(target);

    while (code == 0 && has_allowance(target)) {
        bool did = false;

        code = advance_any(target, &did);
        if (code != 0 || did)
            continue;
        if (pack_is_due(target))
            code = placing_request_pack(target);
        else if (target->queued > 0 && target->open_count < ASKING_FILES)
            code = placing_entry(target, take_wanted(target));
        else
            break;
    }
    if (code == 0)
        code = request_list(target);
    if (code == 0)
        code = asking_report(target);
    return code == 0 ? asking_flush(target) : code;
}

static bool is_done(const struct copy_target *target)
{
    return target->is_listed && target->lists == 0 && target->queued == 0 &&
           target->open_count == 0 && target->pack_count == 0 && target->awaiting.count == 0;
}

static int say_bye(struct copy_target *target)
{
    int code = placing_finish_directories(target, true);

    if (code == 0 && awaiting_add(&target->awaiting, RECORD_BYE, ANSWER_ROOM, &code) != NULL)
        code = asking_request(target, &(struct record){.kind = RECORD_BYE});
    return code == 0 ? asking_flush(target) : code;
}

/* Waits for one answer. With a rate, not for long: time alone allows to ask for more. */
static int take_answer(struct copy_target *target)
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

static int copy(struct copy_target *target)
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

static void fini(struct copy_target *target)
{
    awaiting_fini(&target->awaiting);
    requests_fini(&target->requests);
    for (int i = 0; i < ASKING_FILES; i++) {
        if (target->is_open[i])
            placing_leave(target, &target->open[i], true);
    }
    for (unsigned i = 0; i < target->pack_count; i++)
        free(target->pack[i]);
    while (target->first != NULL)
        free(take_wanted(target));
    (void)placing_finish_directories(target, false);
    free(target);
}

enum line_end target_run(struct line *line, struct crew *crew, const struct target_wishes *wishes,
                         struct progress *progress)
{
    struct copy_target *target = calloc(1, sizeof(*target));
    int code = target != NULL ? 0 : ZCRP_ERROR_MEMORY;

    if (target == NULL)
        return line_complain(line, code);
    target->wishes = wishes;
    target->progress = progress;
    target->last = &target->first;
    target->start_ns = clock_now_ns();
    target->awaiting.line = line;
    target->awaiting.crew = crew;
    code = requests_init(&target->requests, line, false);
    if (code == 0)
        code = copy(target);
    fini(target);
    return code == 0 ? LINE_FINE : line_complain(line, code);
}
