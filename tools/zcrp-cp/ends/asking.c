#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "target.h"

int asking_refuse(void)
{
    (void)complain("the other end answers what was not asked");
    return LINE_BROKEN;
}

/* ---- requests ---- */

int asking_flush(struct copy_target *target)
{
    if (target->message == NULL)
        return 0;
    target->message = NULL;
    return requests_send(&target->requests, writer_length(&target->writer));
}

int asking_request(struct copy_target *target, const struct record *record)
{
    int code = 0;

    if (target->message != NULL && record_encode(&target->writer, record))
        return 0;
    code = asking_flush(target);
    if (code != 0)
        return code;
    target->message = requests_take(&target->requests, &code);
    if (target->message == NULL)
        return code;
    target->writer = writer_of(target->message->buffer, REQUEST_ROOM);
    (void)record_encode(&target->writer, record);
    return 0;
}

int asking_report(struct copy_target *target)
{
    int code = 0;

    if (target->unreported == 0)
        return 0;
    target->unreported = 0;
    if (awaiting_add(&target->awaiting, RECORD_REPORT, ANSWER_ROOM, &code) == NULL)
        return code;
    return asking_request(target, &(struct record){.kind = RECORD_REPORT});
}

int asking_count(struct copy_target *target)
{
    return ++target->unreported == REPORT_MOST ? asking_report(target) : 0;
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
    return asking_request(target, &record);
}

int asking_settle(struct copy_target *target, struct wanted *wanted, enum outcome outcome,
                  uint64_t settled)
{
    return tell(target, wanted, outcome, text_of(""), settled);
}

int asking_fail(struct copy_target *target, struct wanted *wanted, struct text why)
{
    return tell(target, wanted, OUTCOME_FAILED, why, 0);
}

int asking_fail_errno(struct copy_target *target, struct wanted *wanted, const char *what)
{
    char why[TEXT_MOST];

    return asking_fail(target, wanted, incoming_explain(why, what, errno));
}

/* ---- answers ---- */

struct awaited *awaiting_at(struct awaiting *awaiting, unsigned i)
{
    return &awaiting->ring[(awaiting->first + i) % AWAITED_MOST];
}

static void wait_for_crew(struct awaiting *awaiting, struct awaited *awaited)
{
    if (awaited->touch.memory != NULL)
        crew_wait(awaiting->crew, &awaited->touch);
    if (awaited->hash.memory != NULL)
        crew_wait(awaiting->crew, &awaited->hash);
}

static void clear(struct awaiting *awaiting, struct awaited *awaited)
{
    wait_for_crew(awaiting, awaited);
    if (awaited->message != NULL && awaited->message->message_size == PACK_ROOM &&
        awaiting->spare_count < AWAITED_SPARE)
        awaiting->spare[awaiting->spare_count++] = awaited->message;
    else
        zcrp_free_msg(awaited->message);
    free(awaited->digests);
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

void awaiting_fini(struct awaiting *awaiting)
{
    for (unsigned i = 0; i < awaiting->count; i++) {
        struct awaited *awaited = awaiting_at(awaiting, i);

        if (awaited->message != NULL)
            (void)zcrp_cancel(awaited->message);
        for (unsigned k = 0; k < awaited->pack_count; k++)
            free(awaited->pack[k]);
    }
    awaiting->come = awaiting->count;
    awaiting_drop(awaiting, awaiting->count);
    while (awaiting->spare_count > 0)
        zcrp_free_msg(awaiting->spare[--awaiting->spare_count]);
}

bool awaiting_has_room(const struct awaiting *awaiting, unsigned answers)
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
    crew_add(awaiting->crew, &awaited->touch);
    return awaited;
}

static void sleep_ns(int64_t ns)
{
    struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    (void)nanosleep(&time, NULL);
}

/* Nothing is under way: the time passes all the same. */
static struct awaited *wait_for_nothing(struct awaiting *awaiting, int64_t most_ns, int *code)
{
    sleep_ns(most_ns);
    *code = atomic_load(&awaiting->line->stop) != LINE_GOES ? ZCRP_ERROR_INTERRUPTED
                                                            : ZCRP_ERROR_TIMEOUT;
    return NULL;
}

struct awaited *awaiting_next(struct awaiting *awaiting, int64_t most_ns, int *code)
{
    while (awaiting->come < awaiting->count &&
           awaiting_at(awaiting, awaiting->come)->message == NULL)
        awaiting->come++;
    if (awaiting->come == awaiting->count)
        return wait_for_nothing(awaiting, most_ns, code);
    struct awaited *awaited = awaiting_at(awaiting, awaiting->come);
    *code = line_wait(awaiting->line, awaited->message, most_ns);
    if (line_is_over(*code))
        return NULL;
    awaited->code = *code;
    *code = 0;
    awaiting->come++;
    return awaited;
}
