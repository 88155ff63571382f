#include "workspace.h"

#include "platform/system.h"
#include "platform/thread.h"

#include <errno.h>

enum {
    WORKSPACES_LEAST = 4, /* of the two threads that receive, and of a waiter beside each */
    MAIL_BYTES = 1 << 16,
};

static struct mutex mutex;
static struct workspace *unused, *made; /* under the mutex */
static uint32_t count, users;           /* of those made, of entities; under the mutex */

static size_t bytes_of_one(void)
{
    return sizeof(struct workspace) + landing_memory(LANDING_OPENINGS) + MAIL_BYTES;
}

/* Pages of its own: what is not touched costs nothing, and all of it goes back. */
static int create(struct workspace **created)
{
    struct workspace *w = memory_reserve(bytes_of_one());

    if (w == NULL)
        return -ENOMEM;
    int error = wake_init(&w->wake);
    if (error) {
        memory_release(w, bytes_of_one());
        return error;
    }
    w->memory = (uint8_t *)(w + 1);
    landing_init(&w->landing, w->memory, LANDING_OPENINGS);
    w->mail = (struct landing_mail){.memory = w->memory + landing_memory(LANDING_OPENINGS),
                                    .room = MAIL_BYTES};
    *created = w;
    return 0;
}

/* A new one is known, and used or not. */
static void add(struct workspace *w, bool is_unused)
{
    mutex_lock(&mutex);
    w->next_made = made;
    made = w;
    count++;
    if (is_unused) {
        w->next_free = unused;
        unused = w;
    }
    mutex_unlock(&mutex);
}

static void destroy(struct workspace *w)
{
    wake_fini(&w->wake);
    memory_release(w, bytes_of_one());
}

/* Under the mutex; or in a child, where nobody else is. */
static void destroy_all(void)
{
    while (made != NULL) {
        struct workspace *w = made;
        made = w->next_made;
        destroy(w);
    }
    unused = NULL;
    count = 0;
}

/* One more user; returns how many workspaces there are. */
static uint32_t add_user(void)
{
    mutex_lock(&mutex);
    users++;
    uint32_t so_far = count;
    mutex_unlock(&mutex);
    return so_far;
}

int workspace_reserve(void)
{
    for (uint32_t so_far = add_user(); so_far < WORKSPACES_LEAST; so_far++) {
        struct workspace *w;
        int error = create(&w);
        if (error) {
            workspace_release();
            return error;
        }
        add(w, true);
    }
    return 0;
}

void workspace_release(void)
{
    mutex_lock(&mutex);
    users--;
    if (users == 0)
        destroy_all();
    mutex_unlock(&mutex);
}

struct workspace *workspace_take(void)
{
    mutex_lock(&mutex);
    struct workspace *w = unused;
    if (w != NULL)
        unused = w->next_free;
    mutex_unlock(&mutex);
    if (w != NULL)
        return w;
    if (create(&w) != 0)
        return NULL;
    add(w, false);
    return w;
}

void workspace_give(struct workspace *w)
{
    mutex_lock(&mutex);
    w->next_free = unused;
    unused = w;
    mutex_unlock(&mutex);
}

void workspace_after_fork(void)
{
    mutex_init(&mutex);
    destroy_all();
    users = 0;
}

/* ---- openings ---- */

void openings_init(struct openings *o, bool has_gro)
{
    *o = (struct openings){.has_gro = has_gro};
}

/* A joined burst came. One whose last datagram is shorter is the end of a message, and tells
 * nothing. */
static void learn_cut(struct openings *o, uint32_t bytes, uint32_t segment)
{
    uint32_t datagrams = bytes / segment;
    bool is_same = datagrams == o->cut && segment == o->segment;

    if (bytes % segment != 0 || datagrams == 0)
        return;
    if (is_same)
        o->whole += o->whole < OPENINGS_WHOLE;
    else if (o->whole > 0 && datagrams < o->cut)
        o->whole = 0;
    else
        *o = (struct openings){.has_gro = o->has_gro,
                               .alone = o->alone,
                               .are_alone = o->are_alone,
                               .together = o->together,
                               .filled = o->filled,
                               .cut = datagrams,
                               .segment = segment,
                               .whole = 1};
}

/* The most of late. */
static uint32_t learn_most(uint32_t most, uint32_t now)
{
    return now > most ? now : most - (most - now + OPENINGS_FADE - 1) / OPENINGS_FADE;
}

void openings_learn(struct openings *o, const struct landing *l)
{
    o->filled = l->received > 0 ? learn_most(o->filled, l->received) : o->filled;
    for (uint32_t opening = 0; opening < l->received; opening++) {
        uint32_t segment = l->segment[opening];
        o->together =
            learn_most(o->together, segment > 0 ? (l->bytes[opening] - 1) / segment + 1 : 1);
        if (l->segment[opening] == 0) {
            o->alone += o->alone < OPENINGS_ALONE;
            continue;
        }
        o->alone -= o->alone < OPENINGS_JOINED ? o->alone : OPENINGS_JOINED;
        learn_cut(o, l->bytes[opening], l->segment[opening]);
    }
    if (o->alone == OPENINGS_ALONE)
        o->are_alone = true;
    else if (o->alone < OPENINGS_ALONE / 2)
        o->are_alone = false;
}

/* How many joined bursts bring the rest of the message, as far as a plan has room. Only the last
 * may be shorter. */
static uint32_t bursts_of(const struct openings *o, uint64_t rest)
{
    uint64_t burst = (uint64_t)o->cut * o->segment;
    uint64_t bursts = (rest + burst - 1) / burst;
    uint32_t most = LANDING_UNITS / o->cut;

    return bursts < most ? (uint32_t)bursts : most;
}

/* Each receive plans anew, so small units are planned as far as they are likely to come: what comes
 * beyond that is moved, or left to the next call. */
static uint32_t likely(uint32_t lately, uint32_t recent_bytes, uint32_t most)
{
    bool are_few = recent_bytes > 0 && recent_bytes <= OPENINGS_SMALL && lately > 0 &&
                   lately < most / OPENINGS_SPARE;

    return are_few ? OPENINGS_SPARE * lately : most;
}

struct openings_choice openings_choose(const struct openings *o, uint32_t recent_bytes,
                                       uint64_t rest)
{
    bool are_large = recent_bytes > LANDING_DATAGRAM / 2;
    uint32_t openings = likely(o->filled, recent_bytes, LANDING_OPENINGS);

    if (!o->has_gro)
        return (struct openings_choice){openings, 1};
    if (are_large)
        return (struct openings_choice){OPENINGS_LARGE, LANDING_UNITS};
    if (o->are_alone)
        return (struct openings_choice){openings, 1};
    if (o->whole == OPENINGS_WHOLE && bursts_of(o, rest) > 1)
        return (struct openings_choice){bursts_of(o, rest), o->cut};
    return (struct openings_choice){1, likely(o->together, recent_bytes, LANDING_UNITS)};
}
