#include "answers.h"

#include <stdatomic.h>

/* What all copies of this process have. */
static atomic_size_t all_bytes;

void answers_init(struct answers *answers, struct line *line)
{
    *answers = (struct answers){.line = line};
}

static bool is_own(const struct sent_answer *answer)
{
    return answer->opened == NULL && answer->message->message_size == PACK_ROOM;
}

static void forget_bytes(struct answers *answers, size_t bytes)
{
    answers->bytes -= bytes;
    atomic_fetch_sub(&all_bytes, bytes);
}

/* Lets go of the oldest, which has ended. */
static void put_back(struct answers *answers)
{
    struct sent_answer *answer = &answers->ring[answers->first];

    if (answer->opened != NULL)
        stock_release(answer->opened);
    if (is_own(answer) && answers->spare_count < ANSWERS_SPARE &&
        atomic_load(&all_bytes) <= ANSWERS_BYTES_ALL) {
        answers->spare[answers->spare_count++] = answer->message;
    } else {
        if (is_own(answer))
            forget_bytes(answers, PACK_ROOM);
        zcrp_free_msg(answer->message);
    }
    answers->first = (answers->first + 1) % ANSWERS_MOST;
    answers->count--;
}

void answers_fini(struct answers *answers)
{
    while (answers->count > 0) {
        (void)zcrp_cancel(answers->ring[answers->first].message);
        put_back(answers);
    }
    while (answers->spare_count > 0)
        zcrp_free_msg(answers->spare[--answers->spare_count]);
    forget_bytes(answers, answers->bytes);
}

int answers_reap(struct answers *answers)
{
    while (answers->count > 0) {
        int code = zcrp_error(answers->ring[answers->first].message);

        if (code == ZCRP_ERROR_BUSY)
            return 0;
        if (line_is_over(code))
            return code;
        put_back(answers);
    }
    return 0;
}

static int wait_for_oldest(struct answers *answers)
{
    int code = line_wait(answers->line, answers->ring[answers->first].message, -1);

    return line_is_over(code) ? code : answers_reap(answers);
}

/* Takes the bytes of one more message, if there is room for them. */
static bool take_bytes(struct answers *answers)
{
    size_t own = answers->bytes + PACK_ROOM;
    size_t all = atomic_fetch_add(&all_bytes, PACK_ROOM) + PACK_ROOM;

    if (own <= ANSWERS_BYTES_LEAST || (own <= ANSWERS_BYTES_MOST && all <= ANSWERS_BYTES_ALL)) {
        answers->bytes = own;
        return true;
    }
    atomic_fetch_sub(&all_bytes, PACK_ROOM);
    return false;
}

struct zcrp_msg *answers_take(struct answers *answers, int *code)
{
    *code = answers_reap(answers);
    while (*code == 0 && answers->spare_count == 0) {
        if (take_bytes(answers)) {
            struct zcrp_msg *message = zcrp_alloc_msg(PACK_ROOM);

            *code = message != NULL ? 0 : ZCRP_ERROR_MEMORY;
            return message;
        }
        *code = wait_for_oldest(answers);
    }
    return *code == 0 ? answers->spare[--answers->spare_count] : NULL;
}

int answers_wait(struct answers *answers)
{
    int code = 0;

    while (code == 0 && answers->count > 0)
        code = wait_for_oldest(answers);
    return code;
}

static int submit(struct answers *answers, struct zcrp_msg *message, size_t length,
                  struct opened *opened)
{
    int code = answers->count == ANSWERS_MOST ? wait_for_oldest(answers) : 0;

    if (code == 0)
        code = zcrp_submit(answers->line->sender, message, length);
    if (code != 0) {
        zcrp_free_msg(message);
        return code;
    }
    if (opened != NULL)
        stock_hold(opened);
    answers->ring[(answers->first + answers->count++) % ANSWERS_MOST] =
        (struct sent_answer){message, opened};
    return 0;
}

int answers_send(struct answers *answers, struct zcrp_msg *message, size_t length)
{
    return submit(answers, message, length, NULL);
}

int answers_send_slice(struct answers *answers, struct opened *opened, uint64_t offset,
                       uint32_t length)
{
    struct zcrp_msg *message = zcrp_wrap_msg(opened->mapping.memory + offset, length);

    return message != NULL ? submit(answers, message, length, opened) : ZCRP_ERROR_MEMORY;
}

int answers_send_nothing(struct answers *answers)
{
    struct zcrp_msg *message = zcrp_alloc_msg(0);

    return message != NULL ? submit(answers, message, 0, NULL) : ZCRP_ERROR_MEMORY;
}
