#include "host_receiver.h"

#include "../support/memory.h"
#include "../support/secret.h"
#include "chance.h"
#include "content.h"
#include "core/wire/control.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "receiver";

enum { TURNS_MOST = 10000, KEPT = 16, RESTS_EVERY = 64, DECLINED_ONE_IN = 16, COPIED_ONE_IN = 4 };

enum { LARGEST = 1 << 20 };                 /* buffer that a user makes because a peer says so */
static const duration EXPECTS_FOR = SECOND; /* then the user posts what it would have posted */

static void create(struct host_receiver *h)
{
    h->config.secret = secret_of_seed(chance_of(h->scene->setup->seed + 2, h->lives));
    h->config.jar = jar_of_seed(chance_of(h->scene->setup->seed + 2, h->lives));
    h->config.keyring = sealing_of_receiver(h->sealing, h->lives);
    h->core = memory_of_receiver(&h->config, h->scene->now);
    if (h->sealing != NULL)
        receiver_admit(h->core, h->scene->now);
}

void host_receiver_init(struct host_receiver *h, struct scene *scene, struct link *back,
                        struct host_sender *peer, struct sealing *sealing)
{
    *h = (struct host_receiver){.scene = scene,
                                .sealing = sealing,
                                .memory = peer->memory,
                                .back = back,
                                .peer = peer,
                                .config = scene->setup->receiver,
                                .expected = NO_MESSAGE};
    uint32_t openings = scene->setup->reading == READING_RUNS ? 1 : 8;
    user_init(&h->user, scene, &scene->setup->posts, NAME);
    h->landing_memory = malloc(landing_memory(openings));
    landing_init(&h->landing, h->landing_memory, openings);
    h->socket = calloc(LANDED_MOST, sizeof(*h->socket));
    create(h);
}

static void empty_socket(struct host_receiver *h)
{
    for (; h->socket_first < h->socket_last; h->socket_first++)
        free(h->socket[h->socket_first % LANDED_MOST].bytes);
    h->socket_bytes = 0;
}

void host_receiver_fini(struct host_receiver *h)
{
    empty_socket(h);
    user_fini(&h->user);
    free(h->socket);
    free(h->landing_memory);
    free(h->core);
}

bool host_receiver_is_closed(const struct host_receiver *h)
{
    return h->user.is_closing && !h->is_plan_out && receiver_is_closed(h->core);
}

static bool is_gone(const struct host_receiver *h)
{
    return h->scene->now >= h->user.habits->stop_at;
}

void host_receiver_refuse(struct host_receiver *h)
{
    h->is_refused = true;
}

/* Nobody listens here any more: the host says so. */
static void refuse(struct host_receiver *h)
{
    if (!h->user.habits->is_host_left || h->scene->now - h->said_at < SECOND)
        return;
    h->said_at = h->scene->now;
    link_refuse(h->back, h->scene->now);
}

void host_receiver_deliver(void *host, const struct datagram *datagram)
{
    const uint8_t *bytes = datagram->bytes;
    uint32_t size = datagram->size;
    struct host_receiver *h = host;
    if (is_gone(h)) {
        refuse(h);
        return;
    }
    if (datagram->is_refusal) {
        host_receiver_refuse(h);
        return;
    }
    scene_tell_datagram(h->scene, NAME, bytes, size, "<");
    if (h->socket_last - h->socket_first == LANDED_MOST ||
        h->socket_bytes + size > h->config.capacity) {
        h->overflows++;
        return;
    }
    struct parcel *parcel = &h->socket[h->socket_last++ % LANDED_MOST];
    *parcel =
        (struct parcel){.bytes = malloc(size + 1), .size = size, .is_marked = datagram->is_marked};
    memcpy(parcel->bytes, bytes, size);
    h->socket_bytes += size;
}

/* ---- the user */

/* What the sender sent as the next message of the session; NO_MESSAGE if that is not known. */
static uint32_t sent_as(const struct host_receiver *h, const struct entry *entry)
{
    uint32_t number = h->config.first_message + (entry->index - h->session_first);
    return host_sender_index(h->peer, h->session, number);
}

/* What the sender offers is what it has. */
static void expect_offer(struct host_receiver *h, const struct entry *entry, uint64_t size)
{
    const struct user *sender = &h->peer->user;
    uint32_t sent = sent_as(h, entry);
    scene_tell(h->scene, NAME, "= message %" PRIu32 " has %" PRIu64 " bytes", entry->index, size);
    if (h->scene->setup->is_corrupt || h->said != h->session || sent >= sender->begun)
        return;
    scene_expect(h->scene, size == sender->entry[sent].size,
                 "message %" PRIu32 " is offered with %" PRIu64 " bytes of %" PRIu64, entry->index,
                 size, sender->entry[sent].size);
}

static void make_buffer(struct host_receiver *h, struct entry *entry)
{
    uint64_t size;
    if (entry->shadow.block != NULL)
        return; /* the table was full before */
    entry->was_offered =
        h->expected == entry->index && receiver_offer(h->core, &size) && size <= LARGEST;
    entry->size = entry->was_offered ? size : setup_buffer_size(h->scene->setup, entry->index);
    if (entry->was_offered)
        expect_offer(h, entry, size);
    shadow_init(&entry->shadow, entry->size, true, setup_cut(h->scene->setup, false, entry->index));
}

/* The user asks before it posts this buffer, and waits for the answer, though not for ever. True if
 * it has just begun to. */
static bool expects(struct host_receiver *h, const struct entry *entry)
{
    if (h->expected == entry->index || entry->shadow.block != NULL ||
        !setup_expects(h->scene->setup, entry->index))
        return false;
    scene_tell(h->scene, NAME, "? message %" PRIu32 ": how large", entry->index);
    receiver_ask_offers(h->core, h->scene->now);
    h->expected = entry->index;
    h->user.next_at = h->scene->now + EXPECTS_FOR;
    return true;
}

static bool is_answered(const struct host_receiver *h)
{
    uint64_t size;
    return h->expected == h->user.begun && receiver_offer(h->core, &size);
}

/* It is shown to the sender at once, if that is possible. */
static bool post_shown(struct host_receiver *h, struct entry *entry)
{
    struct credit credit = {.size = entry->size, .user = entry};
    if (!h->memory->is_here || !h->has_credit || entry->shadow.pieces != NULL ||
        chance_one_in(&h->scene->random, DECLINED_ONE_IN) ||
        !receiver_lets_pass(h->core, h->scene->now) ||
        !receiver_next_credit(h->core, WHOLE_RING_CREDIT, &credit.in_session) ||
        !receiver_post_shown(h->core, h->scene->now, entry, entry->shadow.bytes, entry->size,
                             &entry->number))
        return false;
    if (whole_ring_show(h->memory, &credit))
        receiver_call(h->core);
    return true;
}

static bool post_buffer(struct host_receiver *h, struct entry *entry)
{
    const struct shadow *s = &entry->shadow;
    instant now = h->scene->now;
    return s->pieces != NULL
               ? receiver_post_pieces(h->core, now, entry, s->pieces, s->size, &entry->number)
               : receiver_post(h->core, now, entry, s->bytes, s->size, &entry->number);
}

static void post(struct host_receiver *h)
{
    struct entry *entry;
    if (is_answered(h))
        h->user.next_at = instant_earlier(h->user.next_at, h->scene->now);
    while ((entry = user_wants(&h->user)) != NULL) {
        if (expects(h, entry) && !is_answered(h))
            return;
        make_buffer(h, entry);
        if (!post_shown(h, entry) && !post_buffer(h, entry)) {
            h->user.next_at = h->scene->now + MILLISECOND;
            return;
        }
        scene_tell(h->scene, NAME, "+ buffer %" PRIu32 ", %" PRIu64 " bytes", entry->index,
                   entry->size);
        user_on_begun(&h->user, entry);
    }
}

static void cancel(struct host_receiver *h)
{
    struct entry *entry;
    while ((entry = user_takes_back(&h->user)) != NULL) {
        entry->was_cancelled = receiver_cancel(h->core, h->scene->now, entry->number);
        scene_tell(h->scene, NAME, "- buffer %" PRIu32 " taken back%s", entry->index,
                   entry->was_cancelled ? "" : ": too late");
    }
}

static void restart(struct host_receiver *h)
{
    scene_tell(h->scene, NAME, "! restarts");
    user_on_death(&h->user);
    for (uint32_t i = h->fini_next; i < h->user.begun; i++)
        if (h->user.entry[i].shadow.block != NULL)
            shadow_poison(&h->user.entry[i].shadow);
    empty_socket(h);
    h->is_plan_out = h->is_copying = false;
    h->session = h->said = 0;
    h->session_first = h->user.begun;
    h->expected = NO_MESSAGE;
    h->dead = *receiver_counters(h->core);
    free(h->core);
    h->lives++;
    create(h);
}

static void act(struct host_receiver *h)
{
    if (user_restarts(&h->user))
        restart(h);
    post(h);
    cancel(h);
    if (user_closes(&h->user)) {
        scene_tell(h->scene, NAME, "! closes");
        receiver_close(h->core, h->scene->now);
    }
}

/* ---- events */

/* What arrived is what was sent under that number of that session. */
static void expect_content(struct host_receiver *h, const struct entry *entry)
{
    uint32_t sent = sent_as(h, entry);
    const struct user *sender = &h->peer->user;
    if (h->scene->setup->is_corrupt || (sent == NO_MESSAGE && entry->length == 0))
        return;
    if (!scene_expect(h->scene, sent < sender->begun, "message %" PRIu32 " was never sent",
                      entry->index))
        return;
    scene_expect(h->scene, entry->length == sender->entry[sent].size,
                 "message %" PRIu32 " has %" PRIu64 " bytes of %" PRIu64, entry->index,
                 entry->length, sender->entry[sent].size);
    uint8_t *content = malloc(entry->length + 1);
    shadow_read(&entry->shadow, 0, content, entry->length);
    scene_expect(h->scene, content_is(content, entry->length, sent),
                 "message %" PRIu32 " has wrong bytes", entry->index);
    free(content);
    scene_expect(h->scene, shadow_is_clean_behind(&entry->shadow, entry->length),
                 "something lies behind message %" PRIu32, entry->index);
}

static bool ends_session(enum outcome outcome)
{
    return outcome == OUTCOME_SILENT || outcome == OUTCOME_RESTARTED ||
           outcome == OUTCOME_PEER_CLOSED || outcome == OUTCOME_CUT_OFF;
}

/* A new session's first message is the oldest that is posted: all before are over. While a plan is
 * out their ends are not told yet. The first session has them all, also what ended meanwhile. */
static void adopt_session(struct host_receiver *h)
{
    if (h->said == h->session || h->is_plan_out)
        return;
    if (h->session != 0 && h->session_first < h->user.oldest)
        h->session_first = h->user.oldest;
    h->session = h->said;
}

static void end(struct host_receiver *h, const struct event *event)
{
    struct entry *entry = event->user;
    scene_expect(h->scene, !h->is_plan_out, "an event while a plan is out");
    scene_expect(h->scene, shadow_is_intact(&entry->shadow),
                 "message %" PRIu32 " was touched where it had arrived", entry->index);
    pieces_clear(entry->shadow.pieces, entry->shadow.bytes, event->length, event->scribbled);
    user_on_event(&h->user, event);
    if (event->outcome == OUTCOME_OK)
        expect_content(h, entry);
    if (ends_session(event->outcome) && entry->index >= h->session_first)
        h->session_first = entry->index + 1;
    shadow_poison(&entry->shadow);
}

static void drain(struct host_receiver *h)
{
    struct event event;
    while (!h->scene->has_failed && receiver_event(h->core, &event))
        end(h, &event);
    adopt_session(h);
    for (; h->fini_next + KEPT < h->user.oldest; h->fini_next++) {
        struct shadow *shadow = &h->user.entry[h->fini_next].shadow;
        scene_expect(h->scene, shadow_is_intact(shadow), "buffer %" PRIu32 " was touched late",
                     h->fini_next);
        shadow_fini(shadow);
    }
}

/* ---- memory */

/* Its bytes are at their place, if it lands. It is gone if its sender took it back. */
static void end_whole(struct host_receiver *h, enum whole_use use, const struct whole_place *place,
                      uint32_t size, bool is_gone)
{
    bool lands = use == WHOLE_LANDS && !chance_one_in(&h->scene->random, DECLINED_ONE_IN);
    bool counts = !is_gone && whole_ring_end(h->memory, lands || use == WHOLE_OVER);
    if (use != WHOLE_LANDS)
        return;
    struct entry *entry = place->user;
    scene_tell(h->scene, NAME, "< message %" PRIu32 " as a whole%s", entry->index,
               counts ? "" : ", taken back");
    if (!counts || !lands) {
        receiver_whole_revoked(h->core, place->number, size);
        return;
    }
    struct event event;
    shadow_on_arrived(&entry->shadow, 0, size);
    if (receiver_whole_ends(h->core, place, size, &event))
        end(h, &event);
}

static void copy_later(struct host_receiver *h, const struct element *e,
                       const struct whole_place *place)
{
    receiver_whole_begin(h->core);
    h->is_plan_out = h->is_copying = true;
    h->lands = h->scene->now + scene_some(h->scene, h->scene->setup->hold);
    h->copied = *e;
    h->copied_to = place->user;
}

/* Meanwhile the user or the sender may have taken it back. */
static void copy(struct host_receiver *h)
{
    const struct element *e = whole_ring_next(h->memory), *copied = &h->copied;
    bool is_gone = e == NULL || e->number != copied->number || e->put_at != copied->put_at;
    struct whole_place place;
    shadow_write(&h->copied_to->shadow, 0, copied->bytes, copied->size);
    receiver_whole_end(h->core);
    h->is_plan_out = h->is_copying = false;
    enum whole_use use = receiver_whole(h->core, copied->in_session, copied->size, &place);
    end_whole(h, use, &place, copied->size, is_gone);
    receiver_on_wholes(h->core, h->scene->now);
}

static void land_whole(struct host_receiver *h, const struct element *e)
{
    struct whole_place place;
    enum whole_use use = receiver_whole(h->core, e->in_session, e->size, &place);
    if (use == WHOLE_LANDS && chance_one_in(&h->scene->random, COPIED_ONE_IN)) {
        copy_later(h, e, &place);
        return;
    }
    if (use == WHOLE_LANDS)
        shadow_write(&((struct entry *)place.user)->shadow, 0, e->bytes, e->size);
    end_whole(h, use, &place, e->size, false);
}

static void use_memory(struct host_receiver *h)
{
    const struct element *e;
    struct credit credit;
    bool is_wanted = false, any = false;
    if (h->has_credit && !h->memory->is_here)
        receiver_call_soon(h->core, h->scene->now);
    h->has_credit = h->memory->is_here;
    is_wanted = receiver_set_credit(h->core, h->has_credit);
    while (receiver_publish(h->core, WHOLE_RING_CREDIT, &credit))
        is_wanted |= whole_ring_show(h->memory, &credit);
    if (is_wanted)
        receiver_call(h->core);
    for (; !h->is_plan_out && (e = whole_ring_next(h->memory)) != NULL; any = true)
        land_whole(h, e);
    if (any)
        receiver_on_wholes(h->core, h->scene->now);
}

/* ---- what goes back */

static void learn_session(struct host_receiver *h, const struct burst *burst)
{
    struct request request;
    if (request_decode(burst->control, burst->bytes, &request) == VERDICT_OK)
        h->said = request.pairing.session;
    adopt_session(h);
}

/* A control datagram, sealed if there are keys. */
static void send_back(struct host_receiver *h, struct burst *burst)
{
    static uint8_t staging[SEAL_STAGING];
    if (h->sealing != NULL)
        scene_expect(h->scene, keyring_seal(h->config.keyring, burst, staging),
                     "a control datagram cannot be sealed");
    link_send(h->back, h->scene->now, burst->iov[1].iov_base, burst->bytes);
}

static void send_control(struct host_receiver *h)
{
    struct burst burst;
    for (uint32_t turns = 0; receiver_take(h->core, h->scene->now, &burst); turns++) {
        if (!scene_expect(h->scene, turns < TURNS_MOST, "control datagrams without end"))
            return;
        scene_expect(h->scene, burst.is_control && burst.datagrams == 1, "not one datagram");
        scene_expect(h->scene, burst.bytes <= CONTROL_BYTES, "a control datagram is too long");
        learn_session(h, &burst);
        send_back(h, &burst);
    }
}

/* Now and then, as an idle connection does: a rest may come whenever nothing is under way. */
static void rest(struct host_receiver *h)
{
    if (h->steps % RESTS_EVERY == 0)
        memory_rest_receiver(h->core, &h->config);
}

static void check(struct host_receiver *h)
{
    if (++h->steps % h->scene->setup->check_every == 0)
        receiver_check(h->core);
}

instant host_receiver_awake_at(const struct host_receiver *h, instant at)
{
    return absence_end(&h->user.habits->frozen, at);
}

/* Once the socket is empty all that has come is with the core; then it hears what the system says.
 */
static void listen(struct host_receiver *h)
{
    if (h->is_plan_out || h->socket_last > h->socket_first)
        return;
    (void)receiver_on_listened(h->core);
    if (h->is_refused)
        receiver_on_closed_port(h->core, h->scene->now);
    h->is_refused = false;
}

static void land(struct host_receiver *h)
{
    if (!h->is_plan_out || h->lands > h->scene->now)
        return;
    if (h->is_copying)
        copy(h);
    else
        host_receiver_land(h);
}

void host_receiver_run(struct host_receiver *h)
{
    if (is_gone(h) || host_receiver_awake_at(h, h->scene->now) > h->scene->now)
        return;
    act(h);
    use_memory(h);
    if (receiver_deadline(h->core) <= h->scene->now)
        receiver_expire(h->core, h->scene->now);
    land(h);
    host_receiver_plan(h);
    land(h);
    listen(h);
    drain(h);
    act(h);
    use_memory(h);
    drain(h);
    send_control(h);
    rest(h);
    check(h);
}

instant host_receiver_next_at(const struct host_receiver *h)
{
    if (is_gone(h))
        return NEVER;
    instant next = instant_earlier(user_next_at(&h->user), receiver_deadline(h->core));
    if (h->is_plan_out)
        return instant_earlier(next, h->lands);
    bool has_something = h->socket_last > h->socket_first || whole_ring_next(h->memory) != NULL;
    return has_something ? h->scene->now : next;
}
