#include "messages_out.h"

#include "core/check.h"
#include "core/number.h"
#include "core/wire/control.h"

/* Announcements are kept for numbers that are far beyond the table: the receiver posts again as
 * soon as a message is complete, long before this side hears of it. */
static uint64_t posted_capacity(const struct messages_out *m)
{
    return m->capacity * MESSAGES_OUT_AHEAD;
}

static uint64_t *posted_slot(const struct messages_out *m, uint64_t number)
{
    return &m->posted[number & (m->posted_table.size - 1)];
}

static uint64_t posted_at(const struct messages_out *m, uint64_t number)
{
    return number < m->announced ? *posted_slot(m, number) : POSTED_UNKNOWN;
}

/* All numbers up to this one have a place in the ring; those that are passed are not known. */
static void reach(struct messages_out *m, uint64_t number)
{
    if (m->announced < m->base)
        m->announced = m->base;
    while (number - m->base >= m->posted_table.size)
        m->posted = table_grow(&m->posted_table, m->base, m->announced);
    while (m->announced <= number)
        *posted_slot(m, m->announced++) = POSTED_UNKNOWN;
}

void messages_out_init(struct messages_out *m, struct table ring, struct table posted,
                       uint64_t first)
{
    CHECK(table_is_for_ring(&ring));
    CHECK(table_is_for_ring(&posted));
    CHECK(posted.large == ring.large * MESSAGES_OUT_AHEAD);
    *m = (struct messages_out){.ring = (void *)ring.near,
                               .posted = (void *)posted.near,
                               .capacity = ring.large,
                               .base = first,
                               .next = first,
                               .announced = first,
                               .requested = first,
                               .ring_table = ring,
                               .posted_table = posted};
}

struct message_out *messages_out_find(struct messages_out *m, uint64_t number)
{
    if (number - m->base >= m->next - m->base)
        return NULL;
    struct message_out *message = messages_out_at(m, number);
    return message->state == MESSAGE_OUT_FREE ? NULL : message;
}

struct message_out *messages_out_find_for(struct messages_out *m, uint64_t number, bool is_void)
{
    struct message_out *message = messages_out_find(m, number);
    bool is_same =
        message != NULL && message->state == (is_void ? MESSAGE_OUT_VOID : MESSAGE_OUT_LIVE);
    return is_same ? message : NULL;
}

/* The table is full: it grows, up to its capacity. */
static bool grow_messages(struct messages_out *m)
{
    if (m->ring_table.size == m->capacity)
        return false;
    m->ring = table_grow(&m->ring_table, m->base, m->next);
    return true;
}

/* Has the table room for the next, now or when it has grown? */
static bool make_room(struct messages_out *m)
{
    return m->next - m->base < m->ring_table.size || grow_messages(m);
}

/* There is room for it. */
static struct message_out *add(struct messages_out *m, void *user, const uint8_t *buffer,
                               uint64_t size)
{
    struct message_out *message = messages_out_at(m, m->next);
    message->number = m->next++; /* field by field: GCC makes a loop of a literal of this size */
    message->user = user;
    message->buffer = buffer;
    message->pieces = NULL;
    message->size = size;
    message->cut = 0;
    message->units_out = message->pins = 0;
    message->state = MESSAGE_OUT_LIVE; /* its outcome is decided later, and the reason of that */
    message->is_cut = message->is_whole = message->is_joined = false;
    message->is_ready = message->is_told = false;
    m->live++;
    m->open++;
    return message;
}

struct message_out *messages_out_add(struct messages_out *m, void *user, const uint8_t *buffer,
                                     uint64_t size)
{
    return make_room(m) ? add(m, user, buffer, size) : NULL;
}

/* Passes the oldest, which is FREE by now, and whatever else is FREE behind it. */
static void advance(struct messages_out *m)
{
    m->base++;
    for (; m->gaps > 0 && messages_out_at(m, m->base)->state == MESSAGE_OUT_FREE; m->gaps--)
        m->base++;
    if (m->requested < m->base)
        m->requested = m->base;
}

/* Numbers whose buffer is known follow on each other up to `requested`. */
static void extend_requested(struct messages_out *m)
{
    while (m->requested < m->announced && *posted_slot(m, m->requested) != POSTED_UNKNOWN &&
           m->requested - m->base < posted_capacity(m))
        m->requested++;
}

bool messages_out_is_next(struct messages_out *m, uint64_t *posted)
{
    if (!make_room(m))
        return false;
    *posted = posted_at(m, m->next);
    return true;
}

/* The buffer of the newest message is known, and maybe those behind it. */
static void learn(struct messages_out *m, uint64_t number, uint64_t posted)
{
    if (number >= m->announced)
        reach(m, number);
    *posted_slot(m, number) = posted;
    m->requested = greater(m->requested, m->next);
    extend_requested(m);
}

struct message_out *messages_out_add_whole(struct messages_out *m, void *user,
                                           const uint8_t *buffer, uint64_t size, uint64_t posted)
{
    struct message_out *message = add(m, user, buffer, size);
    message->cut = size;
    message->units_out = 1;
    message->is_cut = message->is_whole = true;
    if (m->announced == message->number && m->announced - m->base < m->posted_table.size) {
        *posted_slot(m, message->number) = posted;
        m->announced = m->requested = m->next; /* nothing is known behind it */
    } else {
        learn(m, message->number, posted);
    }
    return message;
}

bool messages_out_announce(struct messages_out *m, uint64_t number, uint64_t size)
{
    if (number - m->base >= posted_capacity(m))
        return false;
    if (size == POSTED_UNKNOWN)
        size--; /* no buffer is that large anyway */
    reach(m, number);
    uint64_t *posted = posted_slot(m, number);
    if (*posted == size || *posted == REQUEST_WITHDRAWN)
        return false;
    if (*posted != POSTED_UNKNOWN && size != REQUEST_WITHDRAWN)
        return false; /* a buffer does not change its size */
    *posted = size;
    extend_requested(m);
    return true;
}

void messages_out_announce_run(struct messages_out *m, uint64_t first, uint64_t last, uint64_t size)
{
    CHECK(first >= m->announced && first < last);
    CHECK(last - m->base <= posted_capacity(m));
    CHECK(size != REQUEST_WITHDRAWN);
    if (size == POSTED_UNKNOWN)
        size--; /* no buffer is that large anyway */
    reach(m, first);
    while (last - 1 - m->base >= m->posted_table.size)
        m->posted = table_grow(&m->posted_table, m->base, m->announced);
    for (uint64_t number = first; number < last; number++)
        *posted_slot(m, number) = size;
    m->announced = last;
    if (m->requested == first)
        m->requested = last;
}

struct message_out *messages_out_unannounced(struct messages_out *m)
{
    return m->requested < m->next ? messages_out_find(m, m->requested) : NULL;
}

uint64_t messages_out_posted(const struct messages_out *m, uint64_t number)
{
    if (number - m->base >= posted_capacity(m))
        return POSTED_UNKNOWN;
    return posted_at(m, number);
}

static void release(struct messages_out *m, struct message_out *message)
{
    if (message->state != MESSAGE_OUT_ENDED || !message->is_told)
        return;
    message->state = MESSAGE_OUT_FREE;
    if (message->number != m->base) {
        m->gaps++;
        return; /* I2 holds, and nothing more of what is announced has room */
    }
    advance(m);
    extend_requested(m);
}

/* Queues the events of messages that follow on each other; each names the next one. */
static void queue(struct messages_out *m, uint64_t first, uint32_t count)
{
    if (m->ready == 0)
        m->first_ready = (uint32_t)first;
    else
        messages_out_at(m, m->last_ready)->next_ready = (uint32_t)first;
    m->last_ready = (uint32_t)first + count - 1;
    m->ready += count;
}

static void make_ready(struct messages_out *m, struct message_out *message)
{
    bool is_held = message->state == MESSAGE_OUT_LIVE || message->pins > 0;
    if (is_held || message->is_ready)
        return;
    message->is_ready = true;
    queue(m, message->number, 1);
}

void messages_out_end(struct messages_out *m, struct message_out *message, enum outcome outcome)
{
    if (message->state == MESSAGE_OUT_LIVE) {
        message->outcome = outcome;
        m->live--;
    }
    m->open -= message->state != MESSAGE_OUT_ENDED;
    message->state = MESSAGE_OUT_ENDED;
    make_ready(m, message);
    release(m, message);
}

static void on_arrived(struct messages_out *m, struct message_out *message, uint32_t units)
{
    message->units_out -= units;
    if (message->is_cut && message->units_out == 0)
        messages_out_end(m, message, OUTCOME_OK);
}

void messages_out_on_arrived(struct messages_out *m, uint64_t number, bool is_void, uint32_t units)
{
    struct message_out *message = messages_out_find_for(m, number, is_void);
    if (message != NULL)
        on_arrived(m, message, units);
}

/* Does the message end well with one more unit, and its event is ready at once? */
static bool ends_with_unit(const struct message_out *message)
{
    return message->state == MESSAGE_OUT_LIVE && message->is_cut && message->units_out == 1 &&
           message->pins == 0;
}

/* Ends the messages of [first, end) up to one that does not end like this, and returns that one. */
static uint64_t end_row(struct messages_out *m, uint64_t first, uint64_t end)
{
    uint64_t number = first;
    for (; number < end && ends_with_unit(messages_out_at(m, number)); number++) {
        struct message_out *message = messages_out_at(m, number);
        message->units_out = 0;
        message->outcome = OUTCOME_OK;
        message->state = MESSAGE_OUT_ENDED;
        message->is_ready = true;
        message->next_ready = (uint32_t)number + 1;
    }
    if (number == first)
        return first;
    m->live -= number - first;
    m->open -= number - first;
    queue(m, first, (uint32_t)(number - first));
    return number;
}

void messages_out_on_arrived_row(struct messages_out *m, uint64_t first, uint32_t count)
{
    uint64_t from = first > m->base ? first : m->base;
    uint64_t end = first + count < m->next ? first + count : m->next;
    for (uint64_t number = from; (number = end_row(m, number, end)) < end; number++) {
        struct message_out *message = messages_out_at(m, number);
        if (message->state == MESSAGE_OUT_LIVE)
            on_arrived(m, message, 1);
    }
}

void messages_out_refuse(struct messages_out *m, struct message_out *message, uint8_t reason,
                         enum outcome outcome)
{
    CHECK(message->state == MESSAGE_OUT_LIVE);
    message->state = MESSAGE_OUT_VOID;
    message->outcome = outcome;
    m->live--;
    message->reason = reason;
    message->is_cut = false;
    message->is_whole = false;
    message->units_out = 0;
    make_ready(m, message);
}

void messages_out_end_all(struct messages_out *m, enum outcome outcome)
{
    for (uint64_t number = m->base; number < m->next; number++) {
        struct message_out *message = messages_out_find(m, number);
        if (message != NULL && message->state != MESSAGE_OUT_ENDED)
            messages_out_end(m, message, outcome);
    }
}

void messages_out_end_unannounced(struct messages_out *m)
{
    for (uint64_t number = m->requested; number < m->next; number++) {
        struct message_out *message = messages_out_find(m, number);
        if (message != NULL && message->state == MESSAGE_OUT_VOID)
            messages_out_end(m, message, message->outcome);
    }
}

void messages_out_forget(struct messages_out *m, uint64_t first)
{
    m->requested = first;
    m->announced = m->base;
}

void messages_out_pin(struct message_out *message, uint32_t units)
{
    message->pins += units;
}

void messages_out_unpin(struct messages_out *m, struct message_out *message, uint32_t units)
{
    CHECK(message->pins >= units);
    message->pins -= units;
    make_ready(m, message);
}

bool messages_out_take_event(struct messages_out *m, struct event *event)
{
    if (m->ready == 0)
        return false;
    struct message_out *message = messages_out_at(m, m->first_ready);
    m->first_ready = message->next_ready;
    m->ready--;
    bool is_ok = message->outcome == OUTCOME_OK;
    *event = (struct event){
        .user = message->user, .length = is_ok ? message->size : 0, .outcome = message->outcome};
    message->is_told = true;
    release(m, message);
    return true;
}

uint32_t messages_out_finish(struct messages_out *m, uint64_t number, uint32_t count, void *user[],
                             uint64_t *bytes)
{
    bool is_there = number >= m->base && number < m->next && m->ready == 0;
    uint64_t most = is_there ? lesser(count, m->next - number) : 0;
    uint32_t done = 0;
    *bytes = 0;
    for (; done < most; done++) {
        struct message_out *message = messages_out_at(m, number + done);
        if (message->state != MESSAGE_OUT_LIVE || !message->is_whole || message->pins > 0)
            break;
        user[done] = message->user;
        *bytes += message->size;
        message->state = MESSAGE_OUT_FREE;
    }
    m->live -= done;
    m->open -= done;
    if (done == 0 || number > m->base) {
        m->gaps += done;
        return done;
    }
    m->base += done - 1; /* all of them are FREE */
    advance(m);
    extend_requested(m);
    return done;
}

bool messages_out_is_idle(const struct messages_out *m)
{
    return m->base == m->next;
}

void messages_out_shrink(struct messages_out *m)
{
    uint64_t announced = m->announced < m->base ? m->base : m->announced;
    m->ring = table_shrink(&m->ring_table, m->base, m->next);
    m->posted = table_shrink(&m->posted_table, m->base, announced);
}

void messages_out_check(const struct messages_out *m)
{
    uint64_t live = 0;
    uint64_t open = 0;
    uint32_t ready = 0;
    uint32_t gaps = 0;
    CHECK(m->next - m->base <= m->capacity);
    CHECK(m->base == m->next || messages_out_at(m, m->base)->state != MESSAGE_OUT_FREE);
    CHECK(m->next - m->base <= m->ring_table.size);
    CHECK(m->base <= m->requested);
    CHECK(m->requested - m->base <= posted_capacity(m));
    CHECK(m->requested - m->base == posted_capacity(m) ||
          posted_at(m, m->requested) == POSTED_UNKNOWN);
    CHECK(m->announced <= m->base || m->announced - m->base <= m->posted_table.size);
    for (uint64_t number = m->base; number < m->next; number++) {
        const struct message_out *message = messages_out_at(m, number);
        gaps += message->state == MESSAGE_OUT_FREE;
        if (message->state == MESSAGE_OUT_FREE)
            continue;
        live += message->state == MESSAGE_OUT_LIVE;
        open += message->state == MESSAGE_OUT_LIVE || message->state == MESSAGE_OUT_VOID;
        ready += message->is_ready && !message->is_told;
        CHECK(message->number == number);
        CHECK(!message->is_told || message->is_ready);
        CHECK(!message->is_ready || message->pins == 0);
    }
    CHECK(live == m->live);
    CHECK(open == m->open);
    CHECK(gaps == m->gaps);
    CHECK(ready == m->ready);
}
