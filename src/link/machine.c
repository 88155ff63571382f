#include "machine.h"

#include "core/adt/arena.h"
#include "core/adt/intervals.h"
#include "options.h"
#include "platform/system.h"
#include "transport/keyed_hash.h"

#include <stdlib.h>

enum {
    FAULTS_MOST = 3, /* in a row without a culprit */
    UNIT_LEAST = TRAILER_BYTES + GRAIN,
    USUAL_UNIT_BYTES = 1024, /* what transit is sized for: a window full of units somewhat below
                                Ethernet's; a window of smaller ones is bounded by their number */
    TRANSIT_LEAST = 256,
    TRANSIT_MOST = 1 << 16,
    HOLES = 4096,
    INTERVALS = 1024,
    GSO_BYTES = 65507, /* what the kernel cuts at once is no more than a datagram could be, */
    BURST_CALLS = 17,  /* and one call takes several of those: 1 MiB */

    /* The sender is promised some of eight parts of the receive buffer as granted. The kernel
     * charges what a datagram occupies (about 768 bytes more than it has, rounded up), doubles what
     * was asked for on that account, and gives back what was read in steps of a quarter. */
    CAPACITY_PARTS = 8,
    CAPACITY_SMALL = 4,
    CAPACITY_LARGE = 6,
    LARGE_UNIT = 16 << 10, /* bytes; here the overhead is little */
};

/* Longer than a process is starved, or a path away, in passing: refusals may be forged. */
static const duration GONE = 5 * SECOND;

/* So many of a caller's signs may be lost before it counts as gone. */
enum { SIGNS_OF_CALLER = 2 };

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* What is sealed is larger on the path than the machine knows. */
static uint32_t without_seal(const struct machine *m, uint32_t bytes)
{
    if (m->keyring == NULL)
        return bytes;
    return bytes < UNIT_LEAST + SEAL_CONTROL_BYTES ? UNIT_LEAST : bytes - SEAL_CONTROL_BYTES;
}

static uint32_t unit_bytes(const struct machine *m, const struct zcrp_options *options,
                           const struct channel *units)
{
    if (options->unit_bytes != 0)
        return without_seal(m, least(options->unit_bytes, units->datagram_max));
    return without_seal(m, units->path_bytes);
}

static uint32_t unit_most(const struct machine *m, const struct zcrp_options *options,
                          const struct channel *units)
{
    return options->unit_bytes != 0 ? unit_bytes(m, options, units)
                                    : without_seal(m, units->path_most);
}

static uint32_t transit_units(uint64_t window_bytes)
{
    uint32_t units = least(window_bytes / USUAL_UNIT_BYTES, TRANSIT_MOST);
    return units > TRANSIT_LEAST ? units : TRANSIT_LEAST;
}

/* AF_UNIX loses nothing: there the sender's own limits are enough. */
static uint32_t capacity(const struct channel *units, uint32_t unit)
{
    uint32_t parts = unit < LARGE_UNIT ? CAPACITY_SMALL : CAPACITY_LARGE;
    uint32_t part = units->receive_buffer / CAPACITY_PARTS * parts;

    if (units->kind == CHANNEL_UNIX)
        return UINT32_MAX;
    return part > 2 * unit ? part : 2 * unit;
}

static enum congestion_kind congestion_kind(int congestion)
{
    switch (congestion) {
    case ZCRP_CONGESTION_NONE:
        return CONGESTION_NONE;
    case ZCRP_CONGESTION_RENO:
        return CONGESTION_RENO;
    case ZCRP_CONGESTION_CUBIC:
        return CONGESTION_CUBIC;
    default:
        return CONGESTION_BBR;
    }
}

/* The near block lies beside those of other machines, so that idle ones share pages. */
static bool allocate(struct machine *m, struct arena_bytes bytes)
{
    m->near = aligned_alloc(ARENA_ALIGNMENT, bytes.near);
    m->far = memory_reserve(bytes.far);
    m->far_bytes = bytes.far;
    if (m->near != NULL && m->far != NULL)
        return true;
    machine_fini(m);
    return false;
}

/* A connection need not wait for a peer that is not there, unless the user wants to wait so long.
 * Others do: their receiver may be started later. */
static duration refusal(const struct machine *m, const struct zcrp_options *options)
{
    return m->stays && !(options->flags & OPTIONS_CONNECT_SAID) ? SECOND : 0;
}

/* Nobody need wait for a peer that the system says is gone, unless the user waits without limit. A
 * caller with keys may only have moved, and shows itself at least as often as it has to be heard.
 */
static duration gone(const struct machine *m, const struct zcrp_options *options,
                     const struct channel *channel)
{
    bool may_move = m->keyring != NULL && !channel->may_rebind;
    duration kept = instant_earlier(options->keepalive_ns, options->silence_ns / 4);

    if (options->silence_ns >= OPTIONS_LONGEST)
        return 0;
    return may_move ? GONE + SIGNS_OF_CALLER * kept : GONE;
}

static bool init_sender(struct machine *m, const struct zcrp_options *options,
                        const struct channel *units)
{
    uint32_t unit = unit_bytes(m, options, units);
    uint32_t most = m->keyring == NULL ? GSO_BYTES : GSO_BYTES - BURST_CUT * SEAL_UNIT_BYTES;
    uint32_t call = unit > most ? unit : most;
    bool is_one_call = units->aal5 != NULL || m->keyring != NULL;
    struct sender_config config = {
        .unit_bytes = unit,
        .unit_most = unit_most(m, options, units),
        .stays = m->stays,
        .is_caller = units->may_rebind,
        .was_called = m->was_called,
        .is_cut = units->aal5 != NULL,
        .is_offloaded = channel_cuts(units) > 1,
        .burst_units = m->keyring == NULL ? BURST_UNITS : BURST_CUT,
        .burst_bytes = is_one_call ? call : BURST_CALLS * call,
        .call_bytes = call,
        .messages = options->messages,
        .transit_units = transit_units(options->window_bytes),
        .window_bytes = options->window_bytes,
        .connect = options->connect_ns,
        .refusal = refusal(m, options),
        .silence = options->silence_ns,
        .gone = gone(m, options, units),
        .progress = options->progress_ns,
        .keepalive = options->keepalive_ns,
        .congestion = congestion_kind(options->congestion),
        .secret = keyed_hash_secret(),
        .keyring = m->keyring,
    };

    if (!allocate(m, sender_bytes(&config)))
        return false;
    m->sender = sender_init(m->near, m->far, &config, clock_now());
    if (m->keyring != NULL && keyring_is_ready(m->keyring))
        sender_admit(m->sender, clock_now());
    return true;
}

static bool init_receiver(struct machine *m, const struct zcrp_options *options,
                          const struct channel *units)
{
    uint32_t unit = unit_bytes(m, options, units);
    struct receiver_config config = {
        .unit_bytes = unit,
        .stays = m->stays,
        .messages = options->messages,
        .holes = HOLES,
        .intervals = INTERVALS,
        .capacity = capacity(units, unit),
        .silence = options->silence_ns,
        .gone = gone(m, options, units),
        .keepalive = options->keepalive_ns,
        .secret = keyed_hash_secret(),
        .jar = keyed_hash_jar(),
        .peer = address_number(&units->peer),
        .keyring = m->keyring,
    };

    if (!allocate(m, receiver_bytes(&config)))
        return false;
    m->receiver = receiver_init(m->near, m->far, &config, clock_now());
    if (m->keyring != NULL && keyring_is_ready(m->keyring))
        receiver_admit(m->receiver, clock_now());
    return true;
}

bool machine_init(struct machine *m, enum machine_role role, const struct zcrp_options *options,
                  const struct channel *units)
{
    *m = (struct machine){
        .role = role, .stays = m->stays, .was_called = m->was_called, .keyring = m->keyring};
    return role == MACHINE_SENDER ? init_sender(m, options, units)
                                  : init_receiver(m, options, units);
}

void machine_fini(struct machine *m)
{
    free(m->near);
    memory_release(m->far, m->far_bytes);
    *m = (struct machine){.near = NULL};
}

/* Beside the way of messages in one place, which is compiled into its callers. */
__attribute__((noinline)) static bool submit_pieces(struct machine *m, instant now,
                                                    struct message *message, uint64_t *number)
{
    const struct pieces *pieces = message->pieces;

    return m->sender
               ? sender_submit_pieces(m->sender, now, message, pieces, message->size, number)
               : receiver_post_pieces(m->receiver, now, message, pieces, message->size, number);
}

static bool submit(struct machine *m, instant now, struct message *message, uint64_t *number)
{
    nbyte *buffer = message != NULL ? message->public.buffer : NULL;
    nlong size = message != NULL ? message->size : 0;

    if (message != NULL && message->pieces != NULL)
        return submit_pieces(m, now, message, number);
    return m->sender ? sender_submit(m->sender, now, message, buffer, size, number)
                     : receiver_post(m->receiver, now, message, buffer, size, number);
}

bool machine_times_submit(const struct machine *m)
{
    return m->sender ? sender_times_submit(m->sender) : receiver_times_post(m->receiver);
}

bool machine_has_event(const struct machine *m)
{
    return m->sender != NULL && sender_has_event(m->sender);
}

bool machine_is_in_transit(const struct machine *m)
{
    return m->sender != NULL && sender_is_in_transit(m->sender);
}

bool machine_submit(struct machine *m, instant now, struct message *message)
{
    uint64_t number;

    if (!submit(m, now, message, &number))
        return false;
    if (message == NULL) {
        (void)machine_cancel(m, now, number);
    } else {
        message->number = number;
        message_move(message, MESSAGE_IN_MACHINE);
    }
    return true;
}

bool machine_cancel(struct machine *m, instant now, uint64_t number)
{
    return m->sender ? sender_cancel(m->sender, now, number)
                     : receiver_cancel(m->receiver, now, number);
}

bool machine_has_burst(const struct machine *m)
{
    return m->sender ? sender_has_burst(m->sender) : receiver_has_reply(m->receiver);
}

bool machine_has_more(const struct machine *m)
{
    return m->sender ? sender_has_more(m->sender)
                     : receiver_has_reply(m->receiver) || receiver_acks_at(m->receiver) != NEVER;
}

bool machine_take(struct machine *m, instant now, struct burst *burst)
{
    return m->sender ? sender_take(m->sender, now, burst) : receiver_take(m->receiver, now, burst);
}

/* The receiver sends control datagrams only, and repeats those that did not leave. */
void machine_sent(struct machine *m, instant now, const struct burst *burst, uint32_t sent)
{
    if (m->sender)
        sender_sent(m->sender, now, burst, sent);
}

bool machine_is_quiet(const struct machine *m, instant now)
{
    return m->sender != NULL && sender_is_quiet(m->sender, now);
}

void machine_rest(struct machine *m)
{
    size_t used = m->sender ? sender_rest(m->sender) : receiver_rest(m->receiver);

    memory_forget(m->far, m->far_bytes, used);
}

void machine_expire(struct machine *m, instant now)
{
    if (m->sender)
        sender_expire(m->sender, now);
    else
        receiver_expire(m->receiver, now);
}

enum peer_link machine_link(const struct machine *m)
{
    bool is_lost = m->receiver != NULL && receiver_ended(m->receiver) != OUTCOME_OK;

    if (!m->stays)
        return is_lost ? LINK_ENDED : LINK_ASKING;
    return m->role == MACHINE_SENDER ? sender_link(m->sender) : LINK_ASKING;
}

enum outcome machine_end(const struct machine *m)
{
    return m->sender ? sender_ended(m->sender) : receiver_ended(m->receiver);
}

uint64_t machine_expected(const struct machine *m)
{
    return m->receiver ? receiver_expected(m->receiver) : 0;
}

instant machine_acks_at(const struct machine *m)
{
    return m->receiver ? receiver_acks_at(m->receiver) : NEVER;
}

duration machine_round_trip(const struct machine *m)
{
    return m->receiver ? receiver_round_trip(m->receiver) : 0;
}

void machine_on_moved(struct machine *m, instant now, const struct zcrp_options *options,
                      const struct channel *units)
{
    uint32_t unit = unit_bytes(m, options, units);

    if (m->receiver != NULL)
        receiver_on_moved(m->receiver, now);
    else
        sender_on_moved(m->sender, now, unit, unit_most(m, options, units));
}

void machine_ask_offers(struct machine *m, instant now)
{
    receiver_ask_offers(m->receiver, now);
}

bool machine_offer(const struct machine *m, uint64_t *size)
{
    return receiver_offer(m->receiver, size);
}

uint64_t machine_offers(const struct machine *m)
{
    return m->receiver != NULL ? receiver_counters(m->receiver)->offers : 0;
}

instant machine_deadline(const struct machine *m)
{
    return m->sender ? sender_deadline(m->sender) : receiver_deadline(m->receiver);
}

instant machine_progress_at(const struct machine *m)
{
    return m->sender ? sender_progress_at(m->sender) : NEVER;
}

bool machine_event(struct machine *m, struct event *event)
{
    if (m->sender)
        return sender_event(m->sender, event);
    bool has_ended = receiver_event(m->receiver, event);
    if (has_ended && event->outcome == OUTCOME_OK)
        m->faults = 0;
    return has_ended;
}

void machine_close(struct machine *m, instant now)
{
    if (m->sender)
        sender_close(m->sender, now);
    else
        receiver_close(m->receiver, now);
}

bool machine_is_closed(const struct machine *m)
{
    return m->sender ? sender_is_closed(m->sender) : receiver_is_closed(m->receiver);
}

bool machine_is_confirmed(const struct machine *m)
{
    return m->sender ? sender_is_confirmed(m->sender) : receiver_is_confirmed(m->receiver);
}

bool machine_has_only_void(const struct machine *m)
{
    return !sender_has_live(m->sender);
}

void machine_give_up(struct machine *m, bool is_cut)
{
    if (m->sender)
        sender_give_up(m->sender, is_cut);
}

void machine_fail(struct machine *m, instant now, enum outcome outcome)
{
    if (m->sender)
        sender_fail(m->sender, now, outcome);
    else
        receiver_fail(m->receiver, now, outcome);
}

bool machine_is_replaced(const struct machine *m)
{
    return m->receiver != NULL && receiver_is_replaced(m->receiver);
}

enum outcome machine_told(const struct machine *m)
{
    return m->receiver != NULL ? receiver_told(m->receiver) : OUTCOME_OK;
}

enum outcome machine_end_beside(const struct machine *m, enum outcome other_ended)
{
    return m->receiver != NULL ? receiver_end_beside(m->receiver, other_ended) : other_ended;
}

void machine_agree_close(struct machine *m)
{
    if (m->sender)
        sender_agree_close(m->sender);
    else
        receiver_agree_close(m->receiver);
}

bool machine_has_told_close(const struct machine *m)
{
    return sender_has_told_close(m->sender);
}

/* ---- faults ---- */

static bool fail_for_fault(struct machine *m, uint64_t number)
{
    return m->sender ? sender_fault(m->sender, number) : receiver_fault(m->receiver, number);
}

/* Piece i of the message's memory; false: there are no more. */
static bool piece_of(struct machine *m, uint64_t number, uint32_t i, struct iovec *piece)
{
    return m->sender ? sender_piece(m->sender, number, i, piece)
                     : receiver_piece(m->receiver, number, i, piece);
}

/* Can each of those iovecs be accessed that lie in this message's memory? */
static bool are_accessible(struct machine *m, uint64_t number, const struct iovec *iov,
                           uint32_t count)
{
    enum memory_access access = m->sender ? MEMORY_READ : MEMORY_WRITE;
    struct iovec piece;

    for (uint32_t p = 0; piece_of(m, number, p, &piece); p++)
        for (uint32_t i = 0; i < count; i++) {
            uintptr_t at = (uintptr_t)iov[i].iov_base - (uintptr_t)piece.iov_base;
            if (iov[i].iov_len > 0 && at < piece.iov_len &&
                !memory_is_accessible(iov[i].iov_base, iov[i].iov_len, access))
                return false;
        }
    return true;
}

/* A call that reads or fills messages' memory found a fault. Without a culprit the memory may have
 * been put right meanwhile, and the fault is counted. True after several such calls in a row: then
 * all messages of the call fail. */
static bool count_fault(struct machine *m, bool has_culprit)
{
    m->faults = has_culprit ? 0 : m->faults + 1;
    return m->faults >= FAULTS_MOST;
}

void machine_on_burst_fault(struct machine *m, const struct burst *b)
{
    bool has_culprit = false;

    if (m->sender == NULL || b->pins == 0)
        return; /* what a receive ran into is told late (recvmmsg(2)): the next one finds it */
    for (uint32_t i = 0; i < b->pins; i++) {
        if (!are_accessible(m, b->pin[i].message, b->iov, burst_first(b, b->datagrams)))
            has_culprit |= fail_for_fault(m, b->pin[i].message);
    }
    if (count_fault(m, has_culprit))
        for (uint32_t i = 0; i < b->pins; i++)
            (void)fail_for_fault(m, b->pin[i].message);
}

void machine_on_burst_read(struct machine *m, const struct burst *b)
{
    if (b->pins > 0)
        m->faults = 0;
}

void machine_on_plan_fault(struct machine *m, struct landing *l)
{
    struct interval planned = receiver_planned(m->receiver);
    bool has_culprit = false;

    l->is_spoilt = true;
    for (uint64_t n = planned.first; n < planned.last; n++) {
        if (!are_accessible(m, n, l->iov, l->first[l->openings]))
            has_culprit |= fail_for_fault(m, n);
    }
    if (planned.first < planned.last && count_fault(m, has_culprit))
        for (uint64_t n = planned.first; n < planned.last; n++)
            (void)fail_for_fault(m, n);
}

/* ---- statistics ---- */

static void add_sender(const struct sender *s, struct zcrp_stats *stats)
{
    const struct sender_counters *c = sender_counters(s);
    struct sender_gauges g = sender_gauges(s);

    stats->bytes_arrived = c->bytes;
    stats->units = c->units;
    stats->units_repeated = c->repeated;
    stats->units_lost = c->lost;
    stats->units_spurious = c->spurious;
    stats->units_marked = c->marks;
    stats->probes = c->probes;
    stats->bursts = c->bursts;
    stats->acknowledgements = c->acks;
    stats->messages_whole = c->wholes;
    stats->requests = c->requests;
    stats->drop_short = c->drop_short;
    stats->drop_version = c->drop_version;
    stats->drop_type = c->drop_type;
    stats->drop_malformed = c->drop_malformed;
    stats->drop_session = c->drop_session;
    stats->drop_number = c->drop_number;
    stats->path_probes = c->path_probes;
    stats->path_falls = c->path_falls;
    stats->offload_failures = c->offload_failures;
    stats->left_out = c->left_out;
    stats->unit_bytes = g.unit;
    stats->path_bytes = g.path;
    stats->window_bytes = g.window;
    stats->transit_bytes = g.in_transit;
    stats->rate_bytes_per_s = g.rate;
    stats->rtt_smoothed_ns = (uint64_t)g.rtt_smoothed;
    stats->rtt_lowest_ns = (uint64_t)g.rtt_lowest;
}

static void add_receiver(const struct receiver *r, struct zcrp_stats *stats)
{
    const struct receiver_counters *c = receiver_counters(r);

    stats->bytes_arrived = c->bytes;
    stats->units = c->units;
    stats->units_in_place = c->in_place;
    stats->units_moved = c->moved;
    stats->bytes_moved = c->bytes_moved;
    stats->units_marked = c->marks;
    stats->bursts = c->bursts;
    stats->acknowledgements = c->acks;
    stats->messages_whole = c->wholes;
    stats->requests = c->requests;
    stats->offload_failures = c->offload_failures;
    stats->drop_short = c->drop_short;
    stats->drop_version = c->drop_version;
    stats->drop_type = c->drop_type;
    stats->drop_malformed = c->drop_malformed;
    stats->drop_session = c->drop_session;
    stats->drop_unposted = c->drop_unposted;
    stats->drop_beyond = c->drop_beyond;
    stats->drop_duplicate = c->drop_duplicate;
    stats->drop_no_room = c->drop_no_room;
    stats->drop_cookie = c->drop_cookie;
    stats->drop_forged = c->forged;
    stats->drop_replayed = c->replayed;
}

static void add_keyring(const struct keyring *k, struct zcrp_stats *stats)
{
    stats->drop_forged += k->control_in.forged;
    stats->drop_replayed += k->control_in.replayed;
}

void machine_add_stats(const struct machine *m, struct zcrp_stats *stats)
{
    if (m->role == MACHINE_SENDER)
        add_sender(m->sender, stats);
    else
        add_receiver(m->receiver, stats);
    if (m->keyring != NULL)
        add_keyring(m->keyring, stats);
}
