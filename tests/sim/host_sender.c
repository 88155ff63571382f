#include "host_sender.h"

#include "../support/memory.h"
#include "../support/secret.h"
#include "chance.h"
#include "content.h"

#include <inttypes.h>
#include <stdlib.h>

static const char NAME[] = "sender";

enum {
    TURNS_MOST = 10000, /* of one kind at one instant: more is an endless loop */
    KEPT = 16,          /* messages that are over whose buffers are still looked after */
    RESTS_EVERY = 64,   /* steps */
    UNITS_ONE_IN = 8,   /* messages that could go as a whole */
};

static void create(struct host_sender *h)
{
    h->config.secret = secret_of_seed(chance_of(h->scene->setup->seed + 1, h->lives));
    h->config.keyring = sealing_of_sender(h->sealing, h->lives);
    h->core = memory_of_sender(&h->config, h->scene->now);
}

void host_sender_init(struct host_sender *h, struct scene *scene, struct link *out,
                      struct whole_ring *memory, struct sealing *sealing)
{
    *h = (struct host_sender){.scene = scene,
                              .sealing = sealing,
                              .memory = memory,
                              .out = out,
                              .config = scene->setup->sender};
    for (int i = 0; i < FLIGHTS && sealing != NULL; i++)
        h->flight[i].envelope = malloc(sizeof(struct envelope));
    user_init(&h->user, scene, &scene->setup->submits, NAME);
    create(h);
}

void host_sender_fini(struct host_sender *h)
{
    user_fini(&h->user);
    for (int i = 0; i < FLIGHTS; i++)
        free(h->flight[i].envelope);
    free(h->core);
}

bool host_sender_is_closed(const struct host_sender *h)
{
    bool is_flying = false;
    for (int i = 0; i < FLIGHTS; i++)
        is_flying |= h->flight[i].is_up;
    return h->user.is_closing && !is_flying && sender_is_closed(h->core);
}

static bool is_gone(const struct host_sender *h)
{
    return h->scene->now >= h->user.habits->stop_at;
}

/* ---- the end of a message */

/* The kernel may not read what is the user's again. */
static void expect_not_in_flight(struct host_sender *h, const struct entry *entry)
{
    for (int f = 0; f < FLIGHTS; f++) {
        const struct flight *flight = &h->flight[f];
        for (uint32_t i = 0; flight->is_up && i < flight->burst.datagrams; i++) {
            const struct iovec *data = &flight->burst.iov[2 * i];
            bool is_read =
                data->iov_len > 0 && shadow_meets(&entry->shadow, data->iov_base, data->iov_len);
            scene_expect(h->scene, !is_read, "message %" PRIu32 " ended in flight", entry->index);
        }
    }
}

static void end(struct host_sender *h, const struct event *event)
{
    struct entry *entry = event->user;
    expect_not_in_flight(h, entry);
    user_on_event(&h->user, event);
    shadow_poison(&entry->shadow);
}

/* ---- memory */

/* It may be over with that. */
static void arrive(struct host_sender *h, uint64_t number)
{
    void *user;
    if (sender_wholes_arrived(h->core, h->scene->now, number, 1, &user) == 0)
        return;
    const struct entry *entry = user;
    const struct event event = {.user = user, .length = entry->size, .outcome = OUTCOME_OK};
    end(h, &event);
}

static void release(struct host_sender *h, uint64_t number, bool has_arrived)
{
    scene_tell(h->scene, NAME, "= message %" PRIu64 " %s", number,
               has_arrived ? "arrived as a whole" : "came back");
    if (has_arrived)
        arrive(h, number);
    else
        sender_whole_came_back(h->core, h->scene->now, number);
}

static void reap(struct host_sender *h)
{
    uint64_t number;
    bool has_arrived;
    while (whole_ring_reap(h->memory, &number, &has_arrived))
        release(h, number, has_arrived);
}

static bool lacks_shown_buffer(struct host_sender *h, uint64_t *next, uint64_t *size)
{
    return h->memory->is_here && sender_lacks_buffer(h->core, next) &&
           whole_ring_find_credit(h->memory, *next, size);
}

static void put_in_memory(struct host_sender *h, const struct whole *whole)
{
    const struct entry *entry = whole->user;
    uint32_t session = sender_pairing(h->core).session;
    uint32_t number = (uint32_t)whole->in_session;
    if (host_sender_index(h, session, number) == NO_MESSAGE && h->sessions < SESSIONS)
        h->beginning[h->sessions++] =
            (struct beginning){session, entry->index - (number - h->config.first_message)};
    scene_tell(h->scene, NAME, "> message %" PRIu32 " as a whole", entry->index);
    whole_ring_put(h->memory, whole);
}

static void put(struct host_sender *h, const struct whole *whole)
{
    put_in_memory(h, whole);
    sender_put_whole(h->core, whole);
}

/* Some of what could go as a whole goes in units. */
static void use_memory(struct host_sender *h)
{
    uint64_t next, size;
    struct whole whole;
    reap(h);
    while (lacks_shown_buffer(h, &next, &size) && sender_credit(h->core, next, size))
        ;
    while (whole_ring_has_room(h->memory) && sender_whole(h->core, WHOLE_RING_MOST, &whole) &&
           !chance_one_in(&h->scene->random, UNITS_ONE_IN))
        put(h, &whole);
}

/* ---- the user */

static void make_message(struct host_sender *h, struct entry *entry)
{
    if (entry->shadow.block != NULL)
        return; /* the table was full before */
    entry->size = setup_message_size(h->scene->setup, entry->index);
    shadow_init(&entry->shadow, entry->size, false, setup_cut(h->scene->setup, true, entry->index));
    uint8_t *content = malloc(entry->size + 1);
    content_fill(content, entry->size, entry->index);
    shadow_write(&entry->shadow, 0, content, entry->size);
    free(content);
}

/* As a whole at once, if that is possible. */
static bool submit_whole(struct host_sender *h, struct entry *entry)
{
    struct whole whole = {.user = entry, .buffer = entry->shadow.bytes, .size = entry->size};
    uint64_t posted;
    if (!h->memory->is_here || entry->shadow.pieces != NULL || whole.size > WHOLE_RING_MOST ||
        !whole_ring_has_room(h->memory) || chance_one_in(&h->scene->random, UNITS_ONE_IN) ||
        !sender_lets_pass(h->core) || !sender_next_whole(h->core, &whole, &posted))
        return false;
    if (posted == SENDER_UNKNOWN && !whole_ring_find_credit(h->memory, whole.in_session, &posted))
        return false;
    if (posted >= SENDER_UNKNOWN || whole.size > posted)
        return false;
    entry->number = whole.number;
    put_in_memory(h, &whole);
    sender_submit_whole(h->core, &whole, posted);
    return true;
}

static bool submit_units(struct host_sender *h, struct entry *entry)
{
    const struct shadow *s = &entry->shadow;
    instant now = h->scene->now;
    return s->pieces != NULL
               ? sender_submit_pieces(h->core, now, entry, s->pieces, s->size, &entry->number)
               : sender_submit(h->core, now, entry, s->bytes, s->size, &entry->number);
}

static void submit(struct host_sender *h)
{
    struct entry *entry;
    while ((entry = user_wants(&h->user)) != NULL) {
        make_message(h, entry);
        if (!submit_whole(h, entry) && !submit_units(h, entry)) {
            h->user.next_at = h->scene->now + MILLISECOND;
            return;
        }
        scene_tell(h->scene, NAME, "+ message %" PRIu32 ", %" PRIu64 " bytes", entry->index,
                   entry->size);
        user_on_begun(&h->user, entry);
    }
}

static void cancel(struct host_sender *h)
{
    struct entry *entry;
    while ((entry = user_takes_back(&h->user)) != NULL) {
        bool has_arrived;
        if (whole_ring_take_back(h->memory, entry->number, &has_arrived))
            release(h, entry->number, has_arrived);
        entry->was_cancelled = sender_cancel(h->core, h->scene->now, entry->number);
        scene_tell(h->scene, NAME, "- message %" PRIu32 " taken back%s", entry->index,
                   entry->was_cancelled ? "" : ": too late");
    }
}

static void drain(struct host_sender *h)
{
    struct event event;
    while (!h->scene->has_failed && sender_event(h->core, &event))
        end(h, &event);
    while (h->fini_next + KEPT < h->user.oldest)
        shadow_fini(&h->user.entry[h->fini_next++].shadow);
}

/* The process dies, and another one takes its place. What is in flight never left. */
static void restart(struct host_sender *h)
{
    scene_tell(h->scene, NAME, "! restarts");
    user_on_death(&h->user);
    for (int i = 0; i < FLIGHTS; i++)
        h->flight[i].is_up = false;
    h->dead = *sender_counters(h->core);
    whole_ring_forget(h->memory);
    free(h->core);
    h->lives++;
    create(h);
}

static void act(struct host_sender *h)
{
    if (user_restarts(&h->user))
        restart(h);
    submit(h);
    cancel(h);
    if (user_closes(&h->user)) {
        scene_tell(h->scene, NAME, "! closes");
        sender_close(h->core, h->scene->now);
    }
}

/* ---- turns */

static void expire(struct host_sender *h)
{
    uint32_t turns = 0;
    while (sender_deadline(h->core) <= h->scene->now) {
        sender_expire(h->core, h->scene->now);
        if (!scene_expect(h->scene, turns++ < TURNS_MOST, "the sender's timer does not move on"))
            return;
    }
    uint64_t probes = sender_counters(h->core)->probes;
    if (probes > h->probes_told)
        scene_tell(h->scene, NAME, "! times out");
    h->probes_told = probes;
}

/* Now and then, as an idle connection does: a rest may come whenever nothing is under way. */
static void rest(struct host_sender *h)
{
    if (h->steps % RESTS_EVERY == 0)
        memory_rest_sender(h->core, &h->config);
}

static void check(struct host_sender *h)
{
    if (++h->steps % h->scene->setup->check_every == 0)
        sender_check(h->core);
}

instant host_sender_awake_at(const struct host_sender *h, instant at)
{
    return absence_end(&h->user.habits->frozen, at);
}

/* All that has come is with the core by now; then it hears what the system says. */
static void listen(struct host_sender *h)
{
    (void)sender_on_listened(h->core);
    if (h->is_refused)
        sender_on_closed_port(h->core, h->scene->now);
    h->is_refused = false;
}

void host_sender_run(struct host_sender *h)
{
    if (is_gone(h) || host_sender_awake_at(h, h->scene->now) > h->scene->now)
        return;
    listen(h);
    host_sender_run_flights(h);
    act(h);
    expire(h);
    drain(h);
    use_memory(h);
    host_sender_take_off(h);
    drain(h);
    act(h);
    use_memory(h);
    host_sender_take_off(h);
    drain(h);
    rest(h);
    check(h);
}

void host_sender_refuse(struct host_sender *h)
{
    h->is_refused = true;
}

/* Nobody listens here any more: the host says so. */
static void refuse(struct host_sender *h)
{
    if (!h->user.habits->is_host_left || h->scene->now - h->said_at < SECOND)
        return;
    h->said_at = h->scene->now;
    link_refuse(h->out, h->scene->now);
}

void host_sender_deliver(void *host, const struct datagram *datagram)
{
    const uint8_t *bytes = datagram->bytes;
    uint32_t size = datagram->size;
    struct host_sender *h = host;
    if (is_gone(h)) {
        refuse(h);
        return;
    }
    if (datagram->is_refusal) {
        host_sender_refuse(h);
        return;
    }
    scene_tell_datagram(h->scene, NAME, bytes, size, "<");
    reap(h); /* what the peer had read when it said this */
    sender_receive(h->core, h->scene->now, bytes, size);
    drain(h);
    check(h);
}

instant host_sender_next_at(struct host_sender *h)
{
    instant next = instant_earlier(user_next_at(&h->user), sender_deadline(h->core));
    bool is_free = false;
    uint64_t lacked, size;
    if (is_gone(h))
        return NEVER;
    next = instant_earlier(next, whole_ring_reaps_at(h->memory));
    if (lacks_shown_buffer(h, &lacked, &size))
        return h->scene->now;
    for (uint32_t i = 0; i < FLIGHTS; i++) {
        const struct flight *flight = &h->flight[i];
        if (flight->is_up)
            next = instant_earlier(next, flight->has_left ? flight->lands : flight->leaves);
        else
            is_free |= i < h->scene->setup->flights;
    }
    return is_free && sender_has_burst(h->core) ? h->scene->now : next;
}
