#include "units_to_send.h"

#include "core/check.h"
#include "core/number.h"
#include "core/wire/burst.h"
#include "core/wire/control.h"
#include "units_given_up.h"

void units_to_send_init(struct units_to_send *u, struct messages_out *messages,
                        struct fragment *memory, uint32_t capacity, uint64_t first)
{
    CHECK(capacity > 0 && (capacity & (capacity - 1)) == 0);
    *u = (struct units_to_send){
        .repeat = memory, .capacity = capacity, .cursor = first, .messages = messages};
}

static struct fragment *oldest_repeat(const struct units_to_send *u)
{
    return &u->repeat[u->first & (u->capacity - 1)];
}

void units_to_send_repeat(struct units_to_send *u, const struct fragment *fragment)
{
    CHECK(u->count < u->capacity);
    u->repeat[(u->first + u->count++) & (u->capacity - 1)] = *fragment;
}

/* Do the two make one repeat, the first before the second? */
static bool is_one(const struct fragment *first, const struct fragment *second)
{
    return first->message == second->message && first->is_void == second->is_void &&
           first->offset + first->length == second->offset &&
           first->length + second->length <= UNIT_DATA_MAX;
}

/* Two units of the message have become one. */
static void note_joined(struct units_to_send *u, uint64_t number)
{
    struct message_out *message = messages_out_find(u->messages, number);
    message->units_out--;
    message->is_joined = true;
}

bool units_to_send_rejoin(struct units_to_send *u, const struct fragment *fragment)
{
    struct fragment *oldest = oldest_repeat(u);
    if (u->count == 0 || !is_one(fragment, oldest))
        return false;
    oldest->offset = fragment->offset;
    oldest->length += fragment->length;
    note_joined(u, fragment->message);
    return true;
}

struct fragment units_to_send_pop(struct units_to_send *u)
{
    CHECK(u->count > 0);
    struct fragment oldest = *oldest_repeat(u);
    u->first++;
    u->count--;
    return oldest;
}

/* ---- order ---- */

static struct fragment *repeat_at(const struct units_to_send *u, uint32_t i)
{
    return &u->repeat[(u->first + i) & (u->capacity - 1)];
}

static void drop_ended(struct units_to_send *u)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < u->count; i++) {
        struct fragment f = *repeat_at(u, i);
        if (messages_out_find_for(u->messages, f.message, f.is_void) != NULL)
            *repeat_at(u, kept++) = f;
    }
    u->count = kept;
}

static bool is_before(const struct fragment *a, const struct fragment *b)
{
    return a->message != b->message ? a->message < b->message : a->offset < b->offset;
}

static void swap(struct fragment *a, struct fragment *b)
{
    struct fragment other = *a;
    *a = *b;
    *b = other;
}

/* Of the first `count` repeats, a heap with the last of all on top, the one at `i` sinks to its
 * place. */
static void sink(struct units_to_send *u, uint32_t i, uint32_t count)
{
    for (uint32_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && is_before(repeat_at(u, child), repeat_at(u, child + 1)))
            child++;
        if (!is_before(repeat_at(u, i), repeat_at(u, child)))
            return;
        swap(repeat_at(u, i), repeat_at(u, child));
    }
}

void units_to_send_sort(struct units_to_send *u)
{
    drop_ended(u);
    for (uint32_t i = u->count / 2; i-- > 0;)
        sink(u, i, u->count);
    for (uint32_t count = u->count; count-- > 1;) {
        swap(repeat_at(u, 0), repeat_at(u, count));
        sink(u, 0, count);
    }
}

/* The first one's predecessor becomes that of both. Where that one has brought all of it, it has
 * brought both. */
static void join(struct units_to_send *u, struct fragment *first, const struct fragment *second)
{
    first->length += second->length;
    first->is_last = second->is_last;
    note_joined(u, first->message);
}

void units_to_send_join(struct units_to_send *u)
{
    uint32_t kept = 0;
    units_to_send_sort(u);
    for (uint32_t i = 1; i < u->count; i++) {
        if (is_one(repeat_at(u, kept), repeat_at(u, i)))
            join(u, repeat_at(u, kept), repeat_at(u, i));
        else
            *repeat_at(u, ++kept) = *repeat_at(u, i);
    }
    u->count = (uint32_t)lesser(u->count, kept + 1);
}

/* ---- the head ---- */

/* Notes whether a unit lies in several pieces, and cuts one that lies in too many to a grain that
 * does not. Beside the way of messages in one place, like what else is cold. */
__attribute__((cold)) static void fit_pieces(struct fragment *head)
{
    uint64_t run;
    if (head->is_void)
        return;
    uint64_t reach = pieces_reach(head->source->pieces, head->offset, UNIT_PIECES);
    if (head->length > reach) {
        head->length = (uint32_t)(reach / GRAIN * GRAIN);
        head->is_last = false;
    }
    (void)pieces_at(head->source->pieces, head->offset, &run);
    head->is_split = run < head->length;
}

static bool repeat_head(struct units_to_send *u, uint32_t max, struct fragment *head)
{
    struct message_out *source = NULL;
    while (u->count > 0) {
        const struct fragment *oldest = oldest_repeat(u);
        source = messages_out_find_for(u->messages, oldest->message, oldest->is_void);
        if (source != NULL)
            break;
        u->first++;
        u->count--;
    }
    if (source == NULL)
        return false;
    *head = *oldest_repeat(u);
    head->source = source;
    if (head->length > max) {
        head->length = max;
        head->is_last = false;
    }
    if (source->pieces != NULL)
        fit_pieces(head);
    return true;
}

/* Cuts the next unit at the message's cursor. */
static void cut(struct message_out *message, uint32_t max, struct fragment *head)
{
    bool is_void = message->state == MESSAGE_OUT_VOID;
    uint64_t rest = is_void ? 0 : message->size - message->cut;
    *head = (struct fragment){.message = message->number,
                              .source = message,
                              .offset = is_void ? 0 : message->cut,
                              .length = rest < max ? (uint32_t)rest : max,
                              .is_last = rest <= max,
                              .is_void = is_void};
    if (message->pieces != NULL)
        fit_pieces(head);
}

/* The message that is to be cut next; the cursor moves there. NULL: there is none. */
static struct message_out *next_to_cut(struct units_to_send *u)
{
    for (; u->cursor < u->messages->next && u->cursor < u->messages->requested; u->cursor++) {
        struct message_out *message = messages_out_find(u->messages, u->cursor);
        if (message != NULL && !message->is_cut && message->state != MESSAGE_OUT_ENDED)
            return message;
    }
    return NULL;
}

bool units_to_send_head(struct units_to_send *u, uint32_t max, struct fragment *head)
{
    if (u->count > 0 && repeat_head(u, max, head))
        return true;
    struct message_out *message = next_to_cut(u);
    if (message != NULL)
        cut(message, max, head);
    return message != NULL;
}

struct message_out *units_to_send_whole(struct units_to_send *u, uint32_t max)
{
    struct fragment head;
    if (u->count > 0 && repeat_head(u, max, &head))
        return NULL;
    struct message_out *message = next_to_cut(u);
    bool is_whole = message != NULL && message->state == MESSAGE_OUT_LIVE && message->cut == 0 &&
                    message->size <= max;
    return is_whole ? message : NULL;
}

bool units_to_send_is_done(struct units_to_send *u)
{
    return u->count == 0 && next_to_cut(u) == NULL && u->cursor == u->messages->next;
}

bool units_to_send_is_part(const struct units_to_send *u, const struct fragment *head)
{
    return head->is_repeat && head->length < oldest_repeat(u)->length;
}

static void take_repeat(struct units_to_send *u, const struct fragment *head)
{
    struct fragment *oldest = oldest_repeat(u);
    if (head->length == oldest->length) {
        u->first++;
        u->count--;
        return;
    }
    oldest->offset += head->length;
    oldest->length -= head->length;
    head->source->units_out++;
}

/* So many units of the row at most lie in one piece. */
__attribute__((cold)) static uint32_t row_in_piece(const struct fragment *head, uint32_t units)
{
    uint64_t run;
    (void)pieces_at(head->source->pieces, head->offset, &run);
    return (uint32_t)lesser(units, run / head->length);
}

uint32_t units_to_send_row(const struct fragment *head)
{
    if (head->is_repeat || head->is_last)
        return 1;
    uint32_t units = (uint32_t)((head->source->size - head->offset - 1) / head->length);
    return head->source->pieces == NULL ? units : row_in_piece(head, units);
}

uint32_t units_to_send_messages(struct units_to_send *u, const struct fragment *head, uint32_t most)
{
    const struct messages_out *m = u->messages;
    uint64_t end = lesser(lesser(m->next, m->requested), head->message + most);
    uint64_t number = head->message + 1;
    if (head->is_repeat || head->is_void || !head->is_last || head->offset > 0 ||
        head->length == 0 || head->source->pieces != NULL)
        return 1;
    for (; number < end; number++) {
        const struct message_out *message = messages_out_at(m, number);
        if (message->state != MESSAGE_OUT_LIVE || message->cut > 0 || message->is_cut ||
            message->size != head->length || message->pieces != NULL)
            break;
    }
    return (uint32_t)(number - head->message);
}

static void take_messages(struct units_to_send *u, const struct fragment *head, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct message_out *message = messages_out_at(u->messages, head->message + i);
        message->cut = head->length;
        message->is_cut = true;
        message->units_out++;
    }
    if (u->cursor == head->message)
        u->cursor += count;
}

void units_to_send_take(struct units_to_send *u, const struct fragment *head, uint32_t count)
{
    if (head->is_repeat) {
        take_repeat(u, head);
        return;
    }
    if (fragment_heads_messages(head, count)) {
        take_messages(u, head, count);
        return;
    }
    struct message_out *message = head->source;
    message->cut += (uint64_t)head->length * count;
    message->is_cut = head->is_last;
    message->units_out += count;
}

void units_to_send_refuse(struct units_to_send *u, struct message_out *message, uint8_t reason,
                          enum outcome outcome)
{
    messages_out_refuse(u->messages, message, reason, outcome);
    if (message->number >= u->cursor)
        return; /* the cursor gets there and finds it void */
    struct fragment tell = {.message = message->number,
                            .is_last = true,
                            .is_void = true,
                            .is_repeat = true,
                            .predecessor = UNIT_NEVER_SENT};
    message->is_cut = true;
    message->units_out = 1;
    units_to_send_repeat(u, &tell);
}

void units_to_send_match(struct units_to_send *u, uint64_t number)
{
    struct message_out *message = messages_out_find_for(u->messages, number, false);
    if (message == NULL)
        return;
    uint64_t posted = messages_out_posted(u->messages, number);
    if (posted == POSTED_UNKNOWN)
        return;
    if (posted == REQUEST_WITHDRAWN)
        units_to_send_refuse(u, message, VOID_CANCELLED, OUTCOME_PEER_CANCELLED);
    else if (message->size > posted)
        units_to_send_refuse(u, message, VOID_TOO_LARGE, OUTCOME_TOO_LARGE);
}

void units_to_send_match_run(struct units_to_send *u, uint64_t first, uint64_t last, uint64_t size)
{
    const struct messages_out *m = u->messages;
    uint64_t end = lesser(last, m->next);
    for (uint64_t number = greater(first, m->base); number < end; number++) {
        struct message_out *message = messages_out_at(m, number);
        if (message->state == MESSAGE_OUT_LIVE && message->size > size)
            units_to_send_refuse(u, message, VOID_TOO_LARGE, OUTCOME_TOO_LARGE);
    }
}

void units_to_send_reset(struct units_to_send *u)
{
    u->count = 0;
    u->cursor = u->messages->next;
}
