#include "transport.h"

#include "platform/nofault.h"
#include "platform/system.h"
#include "shm/presence.h"
#include "shm/shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const duration WATCH = 50 * MILLISECOND; /* over notes that the peer may not read */

_Static_assert((int)TRANSPORT_WHOLE == (int)SHM_WHOLE, "of one size");
_Static_assert((int)TRANSPORT_CREDIT == (int)SHM_CREDIT, "as many");

/* ---- open and close ---- */

int transport_init(struct transport *t, struct channel *in, struct channel *out,
                   const struct transport_options *o)
{
    bool is_near = shm_is_possible(o->is_sender ? out : in);

    *t = (struct transport){.in = in,
                            .out = out,
                            .is_sender = o->is_sender,
                            .is_possible = o->may_use_memory && is_near,
                            .is_required = o->must_use_memory,
                            .lets_read = o->lets_read,
                            .watch_at = NEVER,
                            .ended_at = NEVER,
                            .keyring = o->keyring};
    if (t->is_required && !t->is_possible)
        return -EREMOTE;
    if (t->is_possible)
        nofault_begin();
    t->staging = t->keyring != NULL ? malloc(SEAL_STAGING) : NULL;
    t->presence = t->is_sender ? calloc(1, sizeof(*t->presence)) : NULL;
    if ((t->keyring == NULL || t->staging != NULL) && (!t->is_sender || t->presence != NULL))
        return 0;
    transport_fini(t);
    return -ENOMEM;
}

static void free_memory(struct transport *t)
{
    free(t->presence);
    free(t->staging);
    t->presence = NULL;
    t->staging = NULL;
}

void transport_fini(struct transport *t)
{
    if (t->shm != NULL)
        shm_free(t->shm);
    t->shm = NULL;
    free_memory(t);
}

void transport_abandon(struct transport *t)
{
    if (t->shm != NULL)
        shm_abandon(t->shm);
    if (t->presence != NULL)
        presence_abandon(t->presence);
    free_memory(t);
}

/* ---- sending ---- */

bool transport_has_room(const struct transport *t)
{
    return !t->is_sender || t->way != WAY_MEMORY || shm_has_room(t->shm);
}

bool transport_stands_still(const struct transport *t)
{
    return shm_stands_still(t->shm);
}

/* BLOCKED: memory takes nothing of it. */
static enum channel_verdict send_by_memory(struct transport *t, const struct burst *b,
                                           uint32_t *sent, bool *held)
{
    enum channel_verdict verdict = CHANNEL_BLOCKED;
    bool wakes = false;

    if (t->is_sender && !b->is_control)
        verdict = shm_send(t->shm, b, sent, held, &wakes);
    if (!t->is_sender && shm_reply(t->shm, b, &wakes)) {
        *sent = 1;
        verdict = CHANNEL_OK;
    }
    if (wakes)
        t->must_wake_peer = true;
    if (verdict == CHANNEL_OK && t->keyring != NULL && !b->is_control && *sent > 0)
        sealer_skip(&t->keyring->units_out, b->first_seq + *sent);
    return verdict;
}

/* What cannot be sealed is lost. */
static enum channel_verdict send_by_socket(struct transport *t, struct burst *b, uint32_t *sent)
{
    bool can = t->keyring == NULL ||
               (keyring_is_ready(t->keyring) && keyring_seal(t->keyring, b, t->staging));

    if (can)
        return channel_send(t->out, b, sent);
    *sent = b->datagrams;
    return CHANNEL_OK;
}

enum channel_verdict transport_send(struct transport *t, bool by_memory, struct burst *b,
                                    uint32_t *sent, bool *held)
{
    enum channel_verdict verdict = CHANNEL_BLOCKED;

    *held = false;
    *sent = 0;
    if (by_memory && t->is_sender && !presence_allows(t->presence, b))
        return CHANNEL_ABSENT;
    if (by_memory)
        verdict = send_by_memory(t, b, sent, held);
    if (verdict != CHANNEL_BLOCKED)
        return verdict;
    if (t->is_required && !b->is_control) /* no unit takes another way */
        return CHANNEL_CROWDED;
    return send_by_socket(t, b, sent);
}

enum channel_verdict transport_send_plain(struct transport *t, const struct burst *b,
                                          uint32_t *sent)
{
    return channel_send(t->out, b, sent);
}

void transport_send_to(struct transport *t, struct burst *b, const union address *to)
{
    if (keyring_is_ready(t->keyring) && keyring_seal(t->keyring, b, t->staging))
        channel_send_to(t->out, b, to);
}

void transport_wake_peer(struct transport *t)
{
    t->must_wake_peer = false;
    channel_wake_peer(t->out);
}

bool transport_reap(struct transport *t, struct released *released)
{
    return t->shm != NULL && t->is_sender && !t->is_out_meeting && shm_reap(t->shm, released);
}

uint32_t transport_reap_wholes(struct transport *t, uint32_t most, uint64_t *first)
{
    return transport_has_wholes(t) && !t->is_out_meeting ? shm_reap_wholes(t->shm, most, first) : 0;
}

bool transport_take_arrived(struct transport *t, struct released *released)
{
    return transport_has_wholes(t) && !t->is_out_meeting && shm_take_arrived(t->shm, released);
}

bool transport_take_back(struct transport *t, uint64_t message, struct released *released)
{
    return t->shm != NULL && t->is_sender && !t->is_out_meeting &&
           shm_take_back(t->shm, message, released);
}

bool transport_find_held(const struct transport *t, uint32_t *ahead, uint64_t *message)
{
    return t->is_sender && transport_is_memory(t) && shm_find_held(t->shm, ahead, message);
}

void transport_begin_watch(struct transport *t)
{
    if (t->watch_at == NEVER)
        t->watch_at = clock_now() + WATCH;
}

bool transport_watch(struct transport *t)
{
    instant now = t->watch_at != NEVER ? clock_now() : 0;
    uint64_t message;

    if (now < t->watch_at)
        return false;
    bool has_held = transport_find_held(t, &(uint32_t){0}, &message);
    t->watch_at = has_held ? now + WATCH : NEVER;
    return has_held && shm_stands_still(t->shm);
}

/* ---- messages as a whole ---- */

bool transport_find_credit(const struct transport *t, uint64_t in_session, uint64_t *size)
{
    return shm_find_credit(t->shm, in_session, size);
}

bool transport_has_credit(const struct transport *t)
{
    return transport_takes_wholes(t) && shm_has_credit(t->shm);
}

void transport_want_credit(struct transport *t)
{
    shm_want_credit(t->shm);
}

bool transport_has_whole_room(struct transport *t, uint32_t messages, uint32_t bytes)
{
    return shm_has_whole_room(t->shm, messages, bytes);
}

bool transport_put_whole(struct transport *t, uint64_t in_session, uint64_t owner,
                         struct iovec bytes)
{
    bool wakes = false;

    if (!shm_put_whole(t->shm, in_session, owner, bytes, &wakes))
        return false;
    if (wakes)
        t->must_wake_peer = true;
    return true;
}

bool transport_has_wholes(const struct transport *t)
{
    return t->is_sender && transport_is_memory(t) && shm_has_wholes(t->shm);
}

bool transport_has_arrived(const struct transport *t)
{
    return transport_takes_wholes(t) && shm_has_whole_to_reap(t->shm);
}

bool transport_whole(struct transport *t, uint32_t ahead, struct whole_arrived *whole)
{
    return shm_whole(t->shm, ahead, whole);
}

bool transport_end_whole(struct transport *t, bool is_taken)
{
    return shm_end_whole(t->shm, is_taken);
}

bool transport_must_tell(struct transport *t)
{
    return transport_reads_wholes(t) && shm_must_tell(t->shm);
}

bool transport_show_credit(struct transport *t, uint64_t in_session, uint64_t size)
{
    return shm_show_credit(t->shm, in_session, size);
}

bool transport_awaits_pages(const struct transport *t)
{
    return presence_is_awaited(t->presence);
}

struct iovec transport_missing(const struct transport *t, uint64_t *message)
{
    *message = t->presence->message;
    return t->presence->missing;
}

void transport_fetch(struct transport *t, struct iovec memory, void (*told)(void *context),
                     void *context)
{
    presence_fetch(t->presence, memory, told, context);
}

void transport_end_fetch(struct transport *t)
{
    if (t->presence != NULL)
        presence_end(t->presence);
}

/* ---- pushing ---- */

bool transport_claim_push(struct transport *t)
{
    bool is_ours = t->way == WAY_MEMORY && !t->is_pushing && shm_claim(t->shm);

    if (is_ours) {
        t->is_pushing = true;
        t->crossings++;
        atomic_store_explicit(&t->has_pushed, true, memory_order_relaxed);
    }
    return is_ours;
}

void transport_push(struct transport *t)
{
    shm_push(t->shm); /* it stays while this is claimed */
}

bool transport_pushed(struct transport *t, uint64_t *message)
{
    if (shm_let_go(t->shm, message))
        return true;
    t->is_pushing = false;
    return false;
}

/* ---- receiving ---- */

bool transport_begin_receive(struct transport *t, struct transport_turn *turn, uint32_t *openings,
                             uint32_t *units)
{
    *turn = (struct transport_turn){.has_memory = transport_is_memory(t),
                                    .is_first = t->way == WAY_MEMORY};
    t->crossings++;
    if (!turn->is_first)
        return false;
    struct notes notes = shm_notes(t->shm, *openings);
    turn->has_notes = notes.count > 0;
    *openings = notes.count > 0 ? notes.count : 1;
    *units = notes.units > 0 ? notes.units : 1;
    return t->keyring != NULL && shm_find_units(t->shm);
}

void transport_begin_hear(const struct transport *t, struct transport_turn *turn)
{
    *turn = (struct transport_turn){.has_memory = transport_is_memory(t)};
}

/* What a sender sent before memory was there is all in its peer's socket. That is read first, so
 * that nothing is overtaken. What takes the socket later has been given up. */
static int receive_mixed(struct transport *t, struct transport_turn *turn, struct landing *l,
                         enum hearing hearing)
{
    if (!turn->is_first && turn->has_memory && shm_has_notes(t->shm)) { /* a whole message, too */
        int before = channel_receive(t->in, l);
        if (before != 0)
            return before;
        turn->is_drained = true;
    }
    if (!turn->is_first && !turn->is_drained)
        return channel_receive(t->in, l);
    int received = shm_receive(t->shm, l);
    if (received != 0 || hearing == HEAR_MEMORY)
        return received;
    return channel_receive(t->in, l);
}

/* With keys a plan is either for what memory has, or for what is sealed. This is for that. */
static int receive_sealed(struct transport *t, struct transport_turn *turn, struct landing *l,
                          enum hearing hearing)
{
    int received = 0;

    if (!turn->is_first || hearing != HEAR_MEMORY)
        received = channel_receive(t->in, l);
    if (received == 0 && turn->has_memory && !turn->is_first && shm_has_notes(t->shm))
        turn->is_drained = true;
    return received;
}

/* What memory has for a sender is read with transport_answer. */
static int receive_control(struct transport *t, const struct transport_turn *turn,
                           struct landing *l, enum hearing hearing)
{
    if (turn->has_memory && (hearing == HEAR_MEMORY || shm_has_control(t->shm)))
        return 0;
    return channel_receive(t->in, l);
}

int transport_receive(struct transport *t, struct transport_turn *turn, struct landing *l,
                      enum hearing hearing)
{
    if (t->is_sender)
        return receive_control(t, turn, l, hearing);
    if (l->is_near)
        return shm_receive(t->shm, l);
    return t->keyring != NULL ? receive_sealed(t, turn, l, hearing)
                              : receive_mixed(t, turn, l, hearing);
}

enum transport_more transport_end_receive(struct transport *t, const struct transport_turn *turn,
                                          int most, int received)
{
    if (turn->is_drained)
        transport_on_drained(t);
    if (received <= 0) {
        bool is_memorys_turn = received == 0 && t->keyring != NULL && turn->has_memory &&
                               (turn->is_first || turn->is_drained) && shm_find_units(t->shm);
        return is_memorys_turn ? MORE_SOON : MORE_NONE;
    }
    bool has_all = turn->has_notes ? !shm_find_units(t->shm)
                                   : most > 1 && received < most && t->in->aal5 == NULL;
    return has_all ? MORE_SOON : MORE_NOW;
}

size_t transport_answer(struct transport *t, uint8_t *buffer)
{
    return transport_is_memory(t) ? shm_control(t->shm, buffer) : 0;
}

bool transport_has_control(const struct transport *t)
{
    return transport_is_memory(t) && shm_has_control(t->shm);
}

bool transport_is_still(const struct transport *t)
{
    if (t->way == WAY_MEMORY || (t->way == WAY_DRAINING && !t->is_sender))
        return !shm_has_moved(t->shm);
    return t->way != WAY_DRAINING;
}

bool transport_find_news(const struct transport *t)
{
    if (t->is_sender)
        return shm_has_control(t->shm) || shm_has_whole_to_reap(t->shm);
    return shm_has_notes(t->shm);
}

bool transport_has_unread(const struct transport *t)
{
    if (t->is_late || t->is_pushing)
        return true;
    return transport_is_memory(t) &&
           (t->is_sender ? shm_has_control(t->shm) : shm_has_notes(t->shm));
}

bool transport_look_late(struct transport *t)
{
    t->is_late = t->shm != NULL && shm_look_late(t->shm);
    return t->is_late;
}

/* ---- sleeping ---- */

bool transport_say_asleep(struct transport *t)
{
    t->is_idle = false;
    return t->is_late || !transport_is_memory(t) || shm_say_asleep(t->shm);
}

bool transport_say_idle(struct transport *t)
{
    t->is_idle = t->is_sender && transport_is_memory(t) && shm_say_idle(t->shm);
    return t->is_idle || !t->is_sender || !transport_is_memory(t);
}

void transport_say_awaited(struct transport *t)
{
    if (t->is_idle && transport_is_memory(t))
        shm_say_awaited(t->shm);
    t->is_idle = false;
}

bool transport_say_awake(struct transport *t)
{
    t->is_idle = false;
    if (transport_is_memory(t))
        shm_say_awake(t->shm);
    return transport_is_memory(t);
}

/* ---- statistics ---- */

uint64_t transport_copied(const struct transport *t)
{
    return t->bytes + (t->shm != NULL ? shm_bytes(t->shm) : 0);
}
