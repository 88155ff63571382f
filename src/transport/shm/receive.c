/* How a receiver gets what its sender has sent this way. */
#include "copying.h"
#include "platform/system.h"

#include <sched.h>
#include <string.h>

enum {
    SHARE_LEAST = 4, /* notes, from which on the sender is let push some */
    OWN_MANY = 8,    /* that are copied with one call, if it pushes none; */
    OWN_PART = 4,    /* else such a part of those that are left */
    YIELD_LOOKS = 64,
};

static const duration LATE_AFTER = 200 * MICROSECOND; /* a sender settles what it has claimed */

/* Who copies a note. */
enum turn {
    TURN_OWN,
    TURN_OPEN,    /* whoever comes first: its slot is open */
    TURN_SENDERS, /* it has claimed the slot */
    TURN_OVER,    /* its bytes are where they belong */
};

/* The notes of one landing: each was read once, and is used as it was then. */
struct share {
    uint32_t notes;
    struct ring_note note[LANDING_OPENINGS];
    enum turn turn[LANDING_OPENINGS];
};

/* ---- opening slots ---- */

static uint64_t number_of(const struct shm *n, uint32_t i)
{
    return n->in->ring.tail + i;
}

/* Is it a message's? The landing's own memory is another link's as soon as the landing is over, and
 * a sender may write to a slot later. */
static bool is_of_message(const struct landing *l, const struct iovec *piece)
{
    size_t spilled = (uintptr_t)piece->iov_base - (uintptr_t)l->spill;

    return spilled >= landing_memory(l->max_openings) && !landing_is_scratch(l, piece);
}

/* The note's data fills one piece of a message, and behind it is a piece for the trailer. */
static bool is_plain(const struct landing *l, uint32_t i, const struct ring_note *note)
{
    const struct iovec *piece = &l->iov[l->first[i]];
    bool has_two = l->first[i] + 2 <= l->first[i + 1];
    uintptr_t scratch = has_two ? (uintptr_t)piece[1].iov_base - (uintptr_t)l->trailer : SIZE_MAX;

    return has_two && note->has_trailer && note->place != RING_STAGING &&
           piece[0].iov_len == note->bytes - TRAILER_BYTES && piece[0].iov_len > 0 &&
           is_of_message(l, &piece[0]) && scratch < sizeof(l->trailer) &&
           piece[1].iov_len == TRAILER_BYTES;
}

/* How many notes are copied with one call from note `i` on: fewer and fewer beside a sender that
 * pushes, so that neither waits long for the other in the end. */
static uint32_t own_row(const struct shm *n, const struct share *s, uint32_t i)
{
    uint32_t part = (s->notes - i) / OWN_PART;

    if (!n->in->has_pushed)
        return OWN_MANY;
    return part > 0 ? part : 1;
}

/* The sender must not sleep for pages of this side's. What is not there comes now, because it is
 * about to be written to. */
static bool bring_slots(struct shm *n, const struct landing *l, const struct share *s)
{
    struct iovec piece[LANDING_OPENINGS];
    uint32_t pieces = 0;

    for (uint32_t i = 0; i < s->notes; i++)
        if (is_plain(l, i, &s->note[i]))
            piece[pieces++] = l->iov[l->first[i]];
    if (l->is_present || pages_of_all_are_there(&n->in->seen, piece, pieces, 1, NULL))
        return true;
    for (uint32_t i = 0; i < pieces; i++)
        if (!memory_is_accessible(piece[i].iov_base, piece[i].iov_len, MEMORY_WRITE))
            return false;
    return true;
}

/* Opens slots for all but the first notes. False if nobody would push, or there is too little. */
static bool share_out(struct shm *n, const struct landing *l, struct share *s)
{
    struct push_slots *slots = &n->page->slots;
    uint32_t end = 0;

    if (!(n->sight & SIGHT_SLOTS) || s->notes < SHARE_LEAST || atomic_load(&n->in->is_blind) ||
        !bring_slots(n, l, s))
        return false;
    for (uint32_t i = own_row(n, s, 0); i < s->notes; i++)
        if (is_plain(l, i, &s->note[i]) &&
            push_slots_open(slots, number_of(n, i), l->iov[l->first[i]].iov_base)) {
            s->turn[i] = TURN_OPEN;
            end = i + 1;
        }
    push_slots_show(slots, number_of(n, end));
    return true;
}

/* ---- copying ---- */

static void copy_row(struct shm *n, const struct landing *l, struct share *s, uint32_t i,
                     uint32_t notes)
{
    uint32_t whole = copy_notes(n, l, &s->note[i], i, notes);

    for (uint32_t k = 0; k < whole; k++)
        s->turn[i + k] = TURN_OVER;
}

/* Withdraws the slot of note i, if it has one that is open. True: the receiver copies the note. */
static bool make_own(struct shm *n, struct share *s, uint32_t i)
{
    if (s->turn[i] == TURN_OPEN)
        s->turn[i] =
            push_slots_withdraw(&n->page->slots, number_of(n, i)) ? TURN_OWN : TURN_SENDERS;
    return s->turn[i] == TURN_OWN;
}

static void copy_own(struct shm *n, const struct landing *l, struct share *s)
{
    uint32_t i = 0;

    while (i < s->notes) {
        uint32_t row = own_row(n, s, i), own = 0;
        while (own < row && i + own < s->notes && make_own(n, s, i + own))
            own++;
        if (own > 0)
            copy_row(n, l, s, i, own);
        i += own > 0 ? own : 1;
    }
}

/* CLAIMED: it takes too long. */
static enum push_slot_state await_slot(struct push_slots *t, uint64_t number, instant deadline)
{
    enum push_slot_state state = push_slots_take(t, number);

    for (uint32_t looks = 1; state == PUSH_SLOT_CLAIMED && clock_now() < deadline; looks++) {
        if (looks % YIELD_LOOKS == 0)
            sched_yield(); /* the sender may be waiting for this very core */
        state = push_slots_take(t, number);
    }
    return state;
}

/* What the sender could not push is copied after all: that finds out why. */
static void take_pushed(struct shm *n, const struct landing *l, struct share *s)
{
    instant deadline = clock_now() + LATE_AFTER;

    n->in->has_pushed = false;
    for (uint32_t i = 0; i < s->notes; i++) {
        if (s->turn[i] != TURN_SENDERS)
            continue;
        n->in->has_pushed = true;
        enum push_slot_state state = await_slot(&n->page->slots, number_of(n, i), deadline);
        if (state == PUSH_SLOT_CLAIMED) {
            n->in->late[n->in->lates++] = number_of(n, i);
        } else if (state == PUSH_SLOT_PUSHED) {
            memcpy(l->iov[l->first[i] + 1].iov_base, ring_trailer(&n->in->ring, i), TRAILER_BYTES);
            s->turn[i] = TURN_OVER;
        } else {
            copy_row(n, l, s, i, 1);
        }
    }
}

/* ---- finishing ---- */

/* Is done with the next note, which was to go to opening `i`. One that does not count leaves the
 * opening empty, and false. */
static bool finish(struct shm *n, struct landing *l, uint32_t i, const struct ring_note *note,
                   enum ring_state how)
{
    bool counts = ring_finish(&n->in->ring, how) && how == RING_DONE;

    l->bytes[i] = counts ? note->bytes : 0;
    l->segment[i] = note->segment;
    l->ecn[i] = LANDING_ECN_NONE;
    l->is_spoilt |= !counts;
    return counts;
}

/* The first opening could not be filled from the next note. If the note can be read, the fault is
 * in this side's memory, and what came for it is lost. If not, or if this side cannot copy any
 * more, the note is passed: one behind it may lie in what both map. As shm_receive. */
static int on_fault(struct shm *n, struct landing *l, const struct ring_note *note)
{
    bool is_own = !atomic_load(&n->in->is_blind) && copy_is_readable(n, l, note);

    if (!finish(n, l, 0, note, is_own ? RING_DONE : RING_FAULTED))
        return 1;
    channel_note(n->units, CHANNEL_FAULTS, 1);
    return CHANNEL_FAULT;
}

/* What lies before a fault arrives, and the fault is left to the next call. */
static int receive_notes(struct shm *n, struct landing *l)
{
    struct share s;
    uint32_t whole = 0;

    s.notes = 0;
    while (s.notes < l->openings && ring_look(&n->in->ring, s.notes, &s.note[s.notes]))
        s.turn[s.notes++] = TURN_OWN;
    if (share_out(n, l, &s)) {
        copy_own(n, l, &s);
        take_pushed(n, l, &s);
    } else {
        copy_row(n, l, &s, 0, s.notes);
    }
    for (; whole < s.notes && s.turn[whole] == TURN_OVER; whole++)
        if (finish(n, l, whole, &s.note[whole], RING_DONE) && s.note[whole].has_trailer)
            atomic_fetch_add_explicit(&n->bytes, s.note[whole].bytes - TRAILER_BYTES,
                                      memory_order_relaxed);
    l->is_spoilt |= whole < s.notes; /* some of the rest may have been copied, too */
    bool is_fault = whole == 0 && s.notes > 0 && n->in->lates == 0;
    return is_fault ? on_fault(n, l, &s.note[0]) : (int)whole;
}

/* ---- the receiver's calls ---- */

bool shm_look_late(struct shm *n)
{
    struct shm_reader *in = n->in;
    bool has_ended = in->lates > 0 && peer_process_has_ended(&n->peer);

    for (uint32_t i = in->lates; i-- > 0;)
        if (push_slots_take(&n->page->slots, in->late[i]) != PUSH_SLOT_CLAIMED || has_ended)
            in->late[i] = in->late[--in->lates];
    return in->lates > 0;
}

struct notes shm_notes(struct shm *n, uint32_t most)
{
    struct notes notes = {0, 0};
    struct ring_note note;

    if (!shm_find_units(n))
        return notes;
    while (notes.count < most && ring_look(&n->in->ring, notes.count, &note)) {
        uint32_t units = note.segment > 0 ? (note.bytes - 1) / note.segment + 1 : 1;
        notes.units = units > notes.units ? units : notes.units;
        notes.count++;
    }
    return notes;
}

bool shm_has_notes(struct shm *n)
{
    return shm_is_here(n) && n->in->lates == 0 && ring_skip(&n->in->ring);
}

/* Away, if it is blind and nothing is left. By the thread that receives. */
static void leave_if_blind(struct shm *n)
{
    if (atomic_load(&n->in->is_blind) && n->in->lates == 0)
        atomic_store(&n->state, SHM_AWAY);
}

bool shm_find_units(struct shm *n)
{
    struct ring_note note;

    if (shm_has_notes(n))
        return ring_look(&n->in->ring, 0, &note);
    leave_if_blind(n);
    return false;
}

/* ---- messages as a whole ---- */

static bool is_within_staging(const struct ring_whole *whole)
{
    return (uint64_t)whole->at + whole->bytes <= SHM_STAGING;
}

static bool look_whole(const struct shm *n, uint32_t ahead, struct ring_whole *whole)
{
    return ring_look_whole(&n->in->ring, ahead, whole) && is_within_staging(whole);
}

/* The next one is none, or is to be passed: was revoked, or makes no sense. One that says that it
 * lies elsewhere is passed, too: one round at most (ring_skip). False: there is none behind it. */
__attribute__((noinline)) static bool pass_to_whole(struct shm *n)
{
    struct ring_whole whole;

    for (uint32_t i = 0; i < RING_NOTES && shm_has_notes(n); i++) {
        if (!ring_look_whole(&n->in->ring, 0, &whole) || is_within_staging(&whole))
            return true;
        (void)ring_finish(&n->in->ring, RING_DONE);
    }
    return false;
}

bool shm_whole(struct shm *n, uint32_t ahead, struct whole_arrived *out)
{
    struct ring_whole whole;

    if (!shm_is_here(n) || n->in->lates > 0)
        return false;
    if (!look_whole(n, ahead, &whole) &&
        (ahead > 0 || !pass_to_whole(n) || !look_whole(n, 0, &whole)))
        return false;
    *out = (struct whole_arrived){whole.message, n->page->staging + whole.at, whole.bytes};
    return true;
}

bool shm_end_whole(struct shm *n, bool is_taken)
{
    return ring_finish(&n->in->ring, is_taken ? RING_DONE : RING_FAULTED);
}

bool shm_must_tell(struct shm *n)
{
    return shm_is_here(n) && control_ring_take_waiter(&n->in->control);
}

bool shm_show_credit(struct shm *n, uint64_t in_session, uint64_t size)
{
    if (!shm_is_here(n))
        return false;
    const struct credit_ring credit = page_credit(n->page);
    credit_ring_show(&credit, in_session, size);
    return control_ring_has_sleeper(&n->in->control) && credit_ring_take_want(&credit);
}

int shm_receive(struct shm *n, struct landing *l)
{
    l->received = 0;
    if (!shm_find_units(n))
        return 0;
    int received = receive_notes(n, l);
    l->received = received > 0 ? (uint32_t)received : 0;
    return received;
}

/* The answer to a version has no trailer, so nobody knows whose it is. */
static bool is_of_session(const struct shm *n, const struct burst *b)
{
    return b->is_control && b->bytes >= TRAILER_BYTES && b->bytes <= CONTROL_BYTES &&
           shm_is_of(n, datagram_tail_decode(b->control + b->bytes - TAIL_BYTES).pairing);
}

bool shm_reply(struct shm *n, const struct burst *b, bool *wakes)
{
    *wakes = false;
    return shm_is_here(n) && !atomic_load(&n->in->is_blind) && is_of_session(n, b) &&
           control_ring_put(&n->in->control, b->control, b->bytes, wakes);
}
