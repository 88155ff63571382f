#include "prediction.h"

void prediction_init(struct prediction *p, uint32_t unit, uint64_t first)
{
    *p = (struct prediction){.message = first, .length = UINT32_MAX, .unit = unit};
}

void prediction_learn(struct prediction *p, const struct unit_trailer *t, uint64_t message,
                      uint64_t offset, uint64_t next)
{
    bool is_last = (t->flags & FLAG_IS_LAST) != 0;
    bool has_next = (t->flags & FLAG_HAS_NEXT) != 0;
    uint16_t next_length = has_next ? t->next_length : 0;
    if (!is_last || t->length > p->unit)
        p->unit = t->length;
    p->recent = t->length > next_length ? t->length : next_length;
    p->is_asked = (t->flags & FLAG_ANSWER) != 0;
    if (has_next) {
        p->message = next;
        p->offset = (uint64_t)t->next_unit * GRAIN;
        p->length = t->next_length;
        return;
    }
    p->message = is_last ? message + 1 : message;
    p->offset = is_last ? 0 : offset + t->length;
    p->length = UINT32_MAX;
}

void prediction_learn_length(struct prediction *p, uint64_t length, uint64_t size)
{
    p->usual = length < size ? length : 0;
}

static void next_message(struct prediction *walk)
{
    walk->message++;
    walk->offset = 0;
    walk->length = UINT32_MAX;
}

/* The stretch in `message` at or behind the walk's offset; false if nothing is expected in it. */
static bool walk_in(struct prediction *walk, const struct messages_in *messages,
                    struct message_in *message, struct stretch *stretch)
{
    struct interval missing = missing_next(&messages->missing, &message->missing, walk->offset);
    bool is_told = walk->length != UINT32_MAX;
    uint64_t end = is_told ? missing.first + walk->length : prediction_end(walk, message);
    uint64_t last = missing.last < end ? missing.last : end;
    bool is_empty = message->size == 0 || (is_told && walk->length == 0);
    if (!is_empty && missing.first >= last)
        return false;
    *stretch = (struct stretch){.message = message,
                                .offset = is_empty ? 0 : missing.first,
                                .length = is_empty ? 0 : last - missing.first,
                                .unit = is_told ? walk->length : walk->unit};
    return true;
}

bool prediction_walk(struct prediction *walk, struct messages_in *messages, struct stretch *stretch)
{
    if (walk->message < messages->base) {
        walk->message = messages->base;
        walk->offset = 0;
        walk->length = UINT32_MAX;
    }
    for (; walk->message < messages->next && walk->passes < PREDICTION_PASSES; next_message(walk)) {
        struct message_in *message = messages_in_find(messages, walk->message);
        if (message != NULL && message->state == MESSAGE_IN_POSTED &&
            walk_in(walk, messages, message, stretch))
            return true;
        walk->passes++;
    }
    return false;
}

void prediction_advance(struct prediction *walk, const struct stretch *stretch, uint64_t bytes)
{
    walk->offset = stretch->offset + bytes;
    walk->length = UINT32_MAX;
    if (stretch->length == 0 || walk->offset >= prediction_end(walk, stretch->message))
        next_message(walk);
}
