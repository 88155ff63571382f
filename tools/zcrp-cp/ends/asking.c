#include "asking.h"

#include <errno.h>
#include <string.h>

#include "common/complain.h"

int asking_refuse(void)
{
    (void)complain("the other end answers what was not asked");
    return LINE_BROKEN;
}

struct text asking_text(const char *string)
{
    return (struct text){string, strnlen(string, TEXT_MOST)};
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

/* Tells the user, or the source, which tells its user. */
int asking_settle(struct copy_target *target, const struct wanted *wanted, enum outcome outcome,
                  const char *error, uint64_t settled)
{
    struct record record = {.kind = RECORD_OUTCOME};

    record.outcome.file = wanted->number;
    record.outcome.outcome = (uint8_t)outcome;
    record.outcome.error = asking_text(error);
    progress_outcome(target->progress, wanted->entry.path, outcome, record.outcome.error, settled);
    return asking_request(target, &record);
}

int asking_settle_errno(struct copy_target *target, const struct wanted *wanted, const char *what)
{
    struct incoming incoming = {0};

    incoming_fail_errno(&incoming, what, errno);
    return asking_settle(target, wanted, OUTCOME_FAILED, incoming.error, 0);
}

/* ---- places ---- */

struct incoming *asking_take_place(struct copy_target *target)
{
    int i = 0;

    while (target->is_open[i])
        i++;
    target->is_open[i] = true;
    target->open_count++;
    return &target->open[i];
}

void asking_leave_place(struct copy_target *target, struct incoming *incoming, bool keeps)
{
    incoming_fini(incoming, keeps);
    target->is_open[incoming - target->open] = false;
    target->open_count--;
}
