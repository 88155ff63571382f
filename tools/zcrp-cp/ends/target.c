#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/complain.h"
#include "zcrp-cp/user/location.h"

enum {
    WINDOW_BYTES = 48 << 20, /* asked for and not come: more than the library's window */
    QUEUE_LEAST = 2000,      /* entries; with fewer the list is asked for more */
    LISTS_MOST = 2,          /* requests for that at once */
    LISTED_MOST = 1 << 28,   /* entries of a list; no source has more */
    SAVED_NS = 100000000,    /* that a rate may be behind, and make up for */
};

int target_refuse(void)
{
    (void)complain("the other end sent an answer without a question");
    return LINE_BROKEN;
}

/* ---- requests ---- */

static int flush(struct copy_target *target)
{
    struct zcrp_msg *message = target->message;

    target->message = NULL;
    return message != NULL ? outbox_send(&target->requests, message, writer_length(&target->writer))
                           : 0;
}

static int add_request(struct copy_target *target, const struct record *record)
{
    int code = 0;

    if (target->message != NULL && record_encode(&target->writer, record))
        return 0;
    code = flush(target);
    if (code == 0)
        target->message = outbox_take(&target->requests, &code);
    if (code != 0)
        return code;
    target->writer = writer_of(target->message->buffer, REQUEST_ROOM);
    (void)record_encode(&target->writer, record);
    return 0;
}

/* Asks for the report of all that is not reported, if there is any. */
static int request_report(struct copy_target *target)
{
    int code = 0;

    if (target->unreported == 0)
        return 0;
    target->unreported = 0;
    if (awaiting_add(&target->awaiting, RECORD_REPORT, ANSWER_ROOM, &code) == NULL)
        return code;
    return add_request(target, &(struct record){.kind = RECORD_REPORT});
}

int target_request(struct copy_target *target, const struct record *record)
{
    int code = add_request(target, record);

    if (code != 0 || (record->kind != RECORD_SEND && record->kind != RECORD_CLOSE))
        return code;
    return ++target->unreported == REPORT_MOST ? request_report(target) : 0;
}

static int tell(struct copy_target *target, struct wanted *wanted, enum outcome outcome,
                struct text error, uint64_t settled)
{
    struct record record = {.kind = RECORD_OUTCOME};

    record.outcome.file = wanted->number;
    record.outcome.outcome = (uint8_t)outcome;
    record.outcome.error = error;
    progress_outcome(target->progress, wanted->entry.path, outcome, error, settled);
    free(wanted);
    return target_request(target, &record);
}

int target_settle(struct copy_target *target, struct wanted *wanted, enum outcome outcome,
                  uint64_t settled)
{
    return tell(target, wanted, outcome, text_of(""), settled);
}

int target_fail(struct copy_target *target, struct wanted *wanted, struct text why)
{
    return tell(target, wanted, OUTCOME_FAILED, why, 0);
}

int target_fail_errno(struct copy_target *target, struct wanted *wanted, const char *what)
{
    char why[TEXT_MOST];

    return target_fail(target, wanted, incoming_explain(why, what, errno));
}

/* ---- answers ---- */

struct awaited *awaiting_at(struct awaiting *awaiting, unsigned i)
{
    return &awaiting->ring[(awaiting->first + i) % AWAITED_MOST];
}

static void clear(struct awaiting *awaiting, struct awaited *awaited)
{
    if (awaited->touch.memory != NULL)
        crew_wait(awaiting->crew, &awaited->touch.job);
    if (awaited->hash.memory != NULL)
        crew_wait(awaiting->crew, &awaited->hash.job);
    /* A block's message is over the mapped file, whatever its size: nothing else may land there. */
    if (awaited->message != NULL && awaited->kind != RECORD_SEND &&
        awaiting->spare_count < AWAITED_SPARE)
        awaiting->spare[awaiting->spare_count++] = awaited->message;
    else
        zcrp_free_msg(awaited->message);
    free(awaited->digests);
    for (unsigned i = 0; i < awaited->pack_count; i++)
        free(awaited->pack[i]); /* one that was not answered */
    free(awaited->pack);
}

void awaiting_drop(struct awaiting *awaiting, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        clear(awaiting, awaiting_at(awaiting, 0));
        awaiting->first = (awaiting->first + 1) % AWAITED_MOST;
        awaiting->count--;
        awaiting->come--;
    }
}

/* Takes back all that is posted, and waits for the crew. */
static void fini_awaiting(struct awaiting *awaiting)
{
    for (unsigned i = 0; i < awaiting->count; i++)
        line_take_back(awaiting_at(awaiting, i)->message);
    awaiting->come = awaiting->count;
    awaiting_drop(awaiting, awaiting->count);
    while (awaiting->spare_count > 0)
        zcrp_free_msg(awaiting->spare[--awaiting->spare_count]);
}

static bool has_room(const struct awaiting *awaiting, unsigned answers)
{
    return awaiting->count + answers <= AWAITED_MOST;
}

static struct awaited *add(struct awaiting *awaiting, uint8_t kind, struct zcrp_msg *message,
                           size_t size, int *code)
{
    *code = message == NULL && size > 0 ? ZCRP_ERROR_MEMORY : 0;
    if (*code == 0 && message != NULL)
        *code = zcrp_submit(awaiting->line->receiver, message, size);
    if (*code != 0) {
        zcrp_free_msg(message);
        return NULL;
    }
    struct awaited *awaited = awaiting_at(awaiting, awaiting->count++);
    *awaited = (struct awaited){.kind = kind, .message = message};
    return awaited;
}

struct awaited *awaiting_add(struct awaiting *awaiting, uint8_t kind, size_t room, int *code)
{
    struct zcrp_msg *message = NULL;

    if (room > 0 && awaiting->spare_count > 0)
        message = awaiting->spare[--awaiting->spare_count];
    else if (room > 0)
        message = zcrp_alloc_msg(PACK_ROOM);
    return add(awaiting, kind, message, room, code);
}

struct awaited *awaiting_add_slice(struct awaiting *awaiting, struct incoming *incoming,
                                   struct range part, int *code)
{
    uint8_t *slice = incoming->mapping.memory + part.start;
    size_t length = (size_t)(part.end - part.start);
    struct awaited *awaited =
        add(awaiting, RECORD_SEND, zcrp_wrap_msg(slice, length), length, code);

    if (awaited == NULL)
        return NULL;
    awaited->touch = (struct task){
        .memory = slice,
        .bytes = length,
        .file = incoming->partial.takes_late ? incoming->partial.fd : 0,
        .offset = part.start,
    };
    task_start(awaiting->crew, &awaited->touch);
    return awaited;
}

/* Waits for the next one to come, at most `most_ns`, which passes also if there is none. NULL, and
 * *code: ZCRP_ERROR_TIMEOUT, or a code that ends the copy. */
static struct awaited *take_next(struct awaiting *awaiting, int64_t most_ns, int *code)
{
    const struct timespec time = {.tv_sec = most_ns / 1000000000, .tv_nsec = most_ns % 1000000000};

    while (awaiting->come < awaiting->count &&
           awaiting_at(awaiting, awaiting->come)->message == NULL)
        awaiting->come++;
    if (awaiting->come == awaiting->count) {
        (void)nanosleep(&time, NULL);
        *code =
            line_stopped(awaiting->line) != LINE_GOES ? ZCRP_ERROR_INTERRUPTED : ZCRP_ERROR_TIMEOUT;
        return NULL;
    }
    struct awaited *awaited = awaiting_at(awaiting, awaiting->come);
    *code = line_wait(awaiting->line, awaited->message, most_ns);
    if (line_is_over(*code))
        return NULL;
    awaited->code = *code;
    *code = 0;
    awaiting->come++;
    return awaited;
}

/* ---- the list ---- */

/* `name`, if it is not "", in place of the path's first one. */
static struct wanted *make_wanted(const struct list_entry *entry, uint32_t number, struct text name)
{
    const char *slash = memchr(entry->path.bytes, '/', entry->path.length);
    size_t first = slash != NULL ? (size_t)(slash - entry->path.bytes) : entry->path.length;
    size_t cut = name.length > 0 ? first : 0;
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

/* A far source must not choose which names of the user's directory change: LINE_BROKEN. */
static int refuse_name(struct text path)
{
    char shown[4 * NAME_MOST + 1];

    (void)complain("the far end lists what was not asked for: %s",
                   escape(shown, sizeof(shown), path));
    return LINE_BROKEN;
}

static int add_entry(struct copy_target *target, const struct list_entry *entry)
{
    const struct target_wishes *wishes = target->wishes;
    const char *name = wishes->name != NULL ? wishes->name : "";

    if (wishes->words != NULL && name[0] == '\0' &&
        !location_asks_for(wishes->words, wishes->word_count, entry->path))
        return refuse_name(entry->path);
    struct wanted *wanted = make_wanted(entry, target->listed++, text_of(name));
    if (wanted == NULL)
        return ZCRP_ERROR_MEMORY;
    if (target->listed > LISTED_MOST) {
        free(wanted);
        return target_refuse();
    }
    progress_found(target->progress, &wanted->entry);
    if (wanted->entry.path.length > PATH_MOST)
        return target_fail(target, wanted, text_of(strerror(ENAMETOOLONG)));
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
        return target_refuse();
    while (code == 0 && record_decode(&reader, &record)) {
        if (record.kind == RECORD_ENTRY && !target->is_listed)
            code = add_entry(target, &record.entry);
        else if (record.kind == RECORD_TROUBLE)
            progress_outcome(target->progress, record.trouble.path, OUTCOME_FAILED,
                             record.trouble.error, 0);
        else if (record.kind == RECORD_END)
            target->is_listed = true;
        else
            code = target_refuse();
    }
    if (target->is_listed)
        progress_found_all(target->progress);
    return code == 0 && reader.bad ? target_refuse() : code;
}

static int request_list(struct copy_target *target)
{
    int code = 0;

    while (!target->is_listed && target->lists < LISTS_MOST && target->queued < QUEUE_LEAST &&
           code == 0 && has_room(&target->awaiting, 2)) {
        target->lists++;
        if (awaiting_add(&target->awaiting, RECORD_LIST, ANSWER_ROOM, &code) != NULL)
            code = target_request(target, &(struct record){.kind = RECORD_LIST});
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

void target_put_back(struct copy_target *target, struct wanted *wanted)
{
    wanted->next = target->first;
    target->first = wanted;
    if (wanted->next == NULL)
        target->last = &wanted->next;
    target->queued++;
}

/* ---- how much is asked for ---- */

int64_t target_allowed_after(int64_t allowed_ns, int64_t now_ns, uint64_t bytes, uint64_t rate)
{
    int64_t earliest = now_ns - SAVED_NS;

    return (allowed_ns > earliest ? allowed_ns : earliest) +
           (int64_t)((double)bytes * 8e9 / (double)rate);
}

void target_charge(struct copy_target *target, uint64_t bytes)
{
    uint64_t rate = target->wishes->rate;

    target->in_flight += bytes;
    if (rate > 0)
        target->allowed_ns = target_allowed_after(target->allowed_ns, clock_now_ns(), bytes, rate);
}

/* May more be asked for now? */
static bool has_allowance(const struct copy_target *target)
{
    if (target->in_flight >= WINDOW_BYTES || !has_room(&target->awaiting, 4))
        return false;
    return target->wishes->rate == 0 || clock_now_ns() >= target->allowed_ns;
}

/* Asks for as much as may be under way: a step of a file that is open, then the pack when it is
 * due, then the next entry of the list. */
static int fill(struct copy_target *target)
{
    int code = request_list(target);

    while (code == 0 && has_allowance(target)) {
        bool did = false;

        for (int i = 0; i < TARGET_FILES && !did && code == 0; i++) {
            if (target->is_open[i])
                code = placing_advance(target, &target->open[i], &did);
        }
        if (code != 0 || did)
            continue;
        if (placing_is_pack_full(target) || (target->pack_count > 0 && target->queued == 0))
            code = placing_request_pack(target);
        else if (target->queued > 0 && target->open_count < TARGET_FILES)
            code = placing_entry(target, take_wanted(target));
        else
            break;
    }
    if (code == 0)
        code = request_list(target);
    if (code == 0)
        code = request_report(target);
    return code == 0 ? flush(target) : code;
}

static bool is_done(const struct copy_target *target)
{
    return target->is_listed && target->lists == 0 && target->queued == 0 &&
           target->open_count == 0 && target->pack_count == 0 && target->awaiting.count == 0;
}

/* Has the source taken the answer back? It does so only when it ends. Of a block, what else goes
 * wrong is the trouble of its file. */
static bool ends_copy(const struct awaited *awaited)
{
    return awaited->code != 0 &&
           (awaited->kind != RECORD_SEND || awaited->code == ZCRP_ERROR_PEER_CANCELLED);
}

/* Waits for one answer. With a rate, not for long: time alone allows to ask for more. Others than
 * blocks are dealt with at once, and leave the ring when they are at its front. */
static int take_answer(struct copy_target *target)
{
    struct awaiting *awaiting = &target->awaiting;
    int64_t most_ns = target->wishes->rate > 0 && target->in_flight < WINDOW_BYTES ? 5000000 : -1;
    int code;

    if (awaiting->come == awaiting->count && most_ns < 0)
        most_ns = 1000000;
    struct awaited *awaited = take_next(awaiting, most_ns, &code);
    if (awaited == NULL)
        return code == ZCRP_ERROR_TIMEOUT ? 0 : code;
    if (ends_copy(awaited))
        code = awaited->code;
    else if (awaited->kind == RECORD_LIST)
        code = on_list(target, awaited);
    else if (awaited->kind == RECORD_BYE)
        target->is_over = true;
    else
        code = placing_on_answer(target, awaited);
    while (awaiting->come > 0) {
        uint8_t kind = awaiting_at(awaiting, 0)->kind;

        if (kind == RECORD_SEND || kind == RECORD_CLOSE)
            break;
        awaiting_drop(awaiting, 1);
    }
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
        code = placing_finish_directories(target, true);
    if (code == 0 && awaiting_add(&target->awaiting, RECORD_BYE, ANSWER_ROOM, &code) != NULL)
        code = target_request(target, &(struct record){.kind = RECORD_BYE});
    if (code == 0)
        code = flush(target);
    while (code == 0 && !target->is_over)
        code = take_answer(target);
    return code;
}

static void fini(struct copy_target *target)
{
    fini_awaiting(&target->awaiting);
    zcrp_free_msg(target->message);
    outbox_fini(&target->requests);
    crew_fini(&target->storers);
    for (int i = 0; i < TARGET_FILES; i++) {
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
    int code = ZCRP_ERROR_MEMORY;

    if (target == NULL || crew_init(&target->storers, "zcrp-cp store", STORERS_MOST) != 0) {
        free(target);
        return line_complain(line, code);
    }
    target->wishes = wishes;
    target->progress = progress;
    target->last = &target->first;
    target->allowed_ns = clock_now_ns();
    target->awaiting.line = line;
    target->awaiting.crew = crew;
    target->requests.line = line;
    code = copy(target);
    fini(target);
    return code == 0 ? LINE_FINE : line_complain(line, code);
}
