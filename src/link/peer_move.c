#include "peer_move.h"

#include "core/path/address_check.h"
#include "entity.h"
#include "link.h"
#include "own_move.h"
#include "platform/system.h"
#include "rx.h"
#include "transport/keyed_hash.h"
#include "tx.h"

#include <stdlib.h>
#include <string.h>

enum { LETTERS_MOST = 8 };

/* How soon it is tried again, where another thread uses the socket just now. */
static const duration AGAIN = MILLISECOND;

/* A datagram that came from elsewhere. */
struct letter {
    struct letter *next;
    union address from;
    size_t size;
    uint8_t bytes[];
};

struct peer_move {
    struct peer_move_rules rules; /* (c) */
    struct mutex mutex;
    struct letter *first;       /* (p) the newest first */
    uint32_t letters;           /* (p) */
    _Atomic bool has_letters;   /* (a) so that nobody takes the mutex in vain */
    struct address_check check; /* (m) */
    struct secret secret;       /* (m) of challenges */
    union address to;           /* (m) the address that is checked */
    uint64_t challenge;         /* (m) to be sent there; 0: none */
    bool says_moved;            /* (m) the peer is to be told */
};

/* ---- life ---- */

bool peer_move_begin(struct link *l, const struct peer_move_rules *rules)
{
    const struct zcrp_entity *receiver = l->half[MACHINE_RECEIVER];

    if (l->session_keys == NULL || !channel_is_udp(receiver->channels.in) ||
        receiver->channels.in->aal5 != NULL || receiver->transport->is_possible)
        return true;
    l->peer_move = calloc(1, sizeof(*l->peer_move));
    if (l->peer_move == NULL)
        return false;
    l->peer_move->rules = *rules;
    l->peer_move->secret = keyed_hash_secret();
    mutex_init(&l->peer_move->mutex);
    return true;
}

static void free_letters(struct letter *l)
{
    while (l != NULL) {
        struct letter *next = l->next;
        free(l);
        l = next;
    }
}

void peer_move_abandon(struct peer_move *m)
{
    free(m); /* letters may be half changed */
}

void peer_move_end(struct peer_move *m)
{
    if (m == NULL)
        return;
    mutex_fini(&m->mutex);
    free_letters(m->first);
    free(m);
}

/* ---- letters ---- */

/* False if there are enough of them. */
static bool put_letter(struct peer_move *m, struct letter *letter)
{
    mutex_lock(&m->mutex);
    bool has_room = m->letters < LETTERS_MOST;
    if (has_room) {
        letter->next = m->first;
        m->first = letter;
        m->letters++;
        atomic_store(&m->has_letters, true);
    }
    mutex_unlock(&m->mutex);
    return has_room;
}

/* All, in the order in which they came. */
static struct letter *take_letters(struct peer_move *m)
{
    struct letter *in_order = NULL;

    mutex_lock(&m->mutex);
    struct letter *letter = m->first;
    m->first = NULL;
    m->letters = 0;
    atomic_store(&m->has_letters, false);
    mutex_unlock(&m->mutex);
    while (letter != NULL) {
        struct letter *next = letter->next;
        letter->next = in_order;
        in_order = letter;
        letter = next;
    }
    return in_order;
}

void peer_move_post(struct link *l, const union address *from, const uint8_t *datagram, size_t size)
{
    struct letter *letter = malloc(sizeof(*letter) + size);

    if (letter == NULL)
        return;
    letter->from = *from;
    address_unmap(&letter->from);
    letter->size = size;
    memcpy(letter->bytes, datagram, size);
    if (!put_letter(l->peer_move, letter))
        free(letter); /* those that are there are to be heard all the same */
    lease_wake(&l->lease);
    rx_come(link_reader(l));
}

/* ---- hearing ---- */

enum stream { STREAM_UNITS, STREAM_SENDER, STREAM_RECEIVER };

/* What the old address has brought, of all streams. */
static uint64_t known(const struct link *l)
{
    const struct session_keys *k = l->session_keys;

    return k->receiver.units_in.end + k->receiver.control_in.end + k->sender.control_in.end;
}

/* Types that the peer's receiver says are this sender's. */
static bool is_for_sender(enum datagram_type type)
{
    return type == DATAGRAM_ACK_POSITIVE || type == DATAGRAM_ACK_NEGATIVE ||
           type == DATAGRAM_REQUEST || type == DATAGRAM_PATH_ANSWER || type == DATAGRAM_COOKIE;
}

/* Is it the answer to a challenge? `plain` are its bytes, without the seal. */
static uint64_t answer_of(const struct sealed_stray *stray, const uint8_t *plain)
{
    struct challenge_answer answer;
    bool is_answer = !stray->is_unit &&
                     challenge_answer_decode(plain, stray->plain_bytes, &answer) == VERDICT_OK;

    return is_answer ? answer.challenge : 0;
}

/* Of the path to the old address, as far as either half knows it. */
static duration round_trip(const struct link *l)
{
    struct sender_gauges gauges = sender_gauges(l->half[MACHINE_SENDER]->machine.sender);
    duration other = receiver_round_trip(l->half[MACHINE_RECEIVER]->machine.receiver);

    return gauges.rtt_smoothed > other ? gauges.rtt_smoothed : other;
}

static void hear_letter(struct link *l, struct letter *letter)
{
    struct peer_move *m = l->peer_move;
    instant now = clock_now();
    enum datagram_type type = datagram_type(letter->bytes[letter->size - 1]);
    bool is_senders = is_for_sender(type);
    struct keyring *k = is_senders ? &l->session_keys->sender : &l->session_keys->receiver;
    struct sealed_stray stray;

    if (keyring_verify(k, letter->bytes, letter->size, letter->bytes, &stray) != SEALED_GOOD)
        return;
    uint64_t address = address_number(&letter->from);
    uint64_t answer = answer_of(&stray, letter->bytes);
    if (answer != 0) {
        address_check_on_answer(&m->check, now, address, answer, round_trip(l));
        return;
    }
    const struct address_check_arrival arrival = {
        .address = address,
        .bytes = (uint32_t)letter->size,
        .stream = stray.is_unit ? STREAM_UNITS
                  : is_senders  ? STREAM_SENDER
                                : STREAM_RECEIVER,
        .number = stray.number,
        .end = stray.end,
        .known = known(l),
    };
    uint64_t challenge =
        address_check_on_arrival(&m->check, now, &arrival, secret_draw_nonce(&m->secret));
    if (challenge == 0)
        return;
    m->challenge = challenge;
    m->to = letter->from;
}

/* A datagram that was under way when the link moved there came from the peer's address. */
static bool is_from_elsewhere(const struct link *l, const struct letter *letter)
{
    const struct zcrp_entity *receiver = l->half[MACHINE_RECEIVER];
    const union address *peer = &receiver->channels.in->peer;

    return !address_is_same(&letter->from, peer) &&
           letter->from.any.sa_family == peer->any.sa_family;
}

bool peer_move_has_letters(const struct link *l)
{
    return l->peer_move != NULL && atomic_load(&l->peer_move->has_letters);
}

void peer_move_hear(struct link *l)
{
    struct peer_move *m = l->peer_move;

    if (m == NULL || !atomic_load_explicit(&m->has_letters, memory_order_relaxed))
        return;
    struct letter *letters = take_letters(m);
    for (struct letter *letter = letters; letter != NULL; letter = letter->next)
        if (is_from_elsewhere(l, letter))
            hear_letter(l, letter);
    free_letters(letters);
    link_touch(l, MACHINE_RECEIVER);
}

/* ---- sending ---- */

bool peer_move_has_burst(const struct zcrp_entity *receiver)
{
    const struct peer_move *m = receiver->link->peer_move;

    return m != NULL && receiver->machine.role == MACHINE_RECEIVER &&
           (m->challenge != 0 || m->says_moved);
}

bool peer_move_take(struct zcrp_entity *receiver, struct burst *burst, union address *to)
{
    struct peer_move *m = receiver->link->peer_move;

    if (!peer_move_has_burst(receiver))
        return false;
    const struct challenge challenge = {.pairing = receiver->keyed.keyring->pairing,
                                        .challenge = m->says_moved ? 0 : m->challenge,
                                        .moves = m->check.moves};
    *to = m->says_moved ? receiver->channels.in->peer : m->to;
    m->challenge = 0;
    m->says_moved = false;
    burst->pins = 0;
    burst_set_control(burst, challenge_encode(burst->control, sizeof(burst->control), &challenge));
    return true;
}

/* ---- all claims ---- */

bool move_claim_all(struct link *l)
{
    struct zcrp_entity *sender = l->half[MACHINE_SENDER], *receiver = l->half[MACHINE_RECEIVER];

    if (l->is_broken || l->rx.is_claimed || sender->is_sending || receiver->is_sending)
        return false;
    l->rx.is_claimed = sender->is_sending = receiver->is_sending = true;
    entity_touch(sender); /* no straight way is open meanwhile */
    entity_touch(receiver);
    return true;
}

static void begin_anew(struct zcrp_entity *half)
{
    channel_on_moved(half->channels.in);
    notice_on_moved(half);
    half->blocked = CHANNEL_OK;
    half->unblock_at = NEVER;
    machine_on_moved(&half->machine, clock_now(), &half->options,
                     channels_of_units(&half->channels));
}

void move_release_all(struct link *l, bool has_moved)
{
    struct zcrp_entity *sender = l->half[MACHINE_SENDER], *receiver = l->half[MACHINE_RECEIVER];

    if (has_moved) {
        begin_anew(receiver);
        begin_anew(sender);
    }
    l->rx.is_claimed = sender->is_sending = receiver->is_sending = false;
    link_touch(l, MACHINE_SENDER);
    link_touch(l, MACHINE_RECEIVER);
    tx_drain(receiver, SENDING_BURSTS);
    tx_drain(sender, SENDING_BURSTS);
}

/* ---- moving ---- */

instant peer_move_deadline(const struct zcrp_entity *e)
{
    const struct peer_move *m = e->link->peer_move;

    return m != NULL && e->machine.role == MACHINE_RECEIVER ? address_check_deadline(&m->check)
                                                            : NEVER;
}

/* With all claims, within a locked section that it leaves for the call. False, and all is as
 * before, if another peer is there, or the system says no. */
static bool move_to(struct zcrp_entity *e, const union address *to)
{
    const struct peer_move_rules *rules = &e->link->peer_move->rules;
    const union address from = e->channels.in->peer;
    int fd = e->channels.in->fd;

    if (!rules->admit(rules->context, to))
        return false;
    entity_leave_to_send(e);
    bool is_connected = connect(fd, &to->any, address_bytes(to)) == 0;
    entity_enter(e);
    if (!is_connected && !rules->admit(rules->context, &from))
        entity_break(e); /* somebody else has that place by now */
    return is_connected;
}

/* What the old address has brought by now voids the check. While a thread receives that is not
 * known, nor while it lies in the socket: the threads of a busy machine may all be late. */
static bool is_settled(const struct zcrp_entity *e, instant now)
{
    const struct address_check *check = &e->link->peer_move->check;

    return !address_check_awaits_reader(check, now) || !file_is_readable(e->channels.in->fd);
}

void peer_move_expire(struct zcrp_entity *e, instant now)
{
    struct link *l = e->link;
    struct peer_move *m = l->peer_move;

    if (peer_move_deadline(e) > now)
        return;
    const union address to = m->to;
    bool has_claims = move_claim_all(l);
    if (!has_claims || !is_settled(e, now)) {
        address_check_put_off(&m->check, now + AGAIN);
        if (has_claims)
            move_release_all(l, false);
        return;
    }
    bool has_moved = address_check_is_due(&m->check, now, known(l)) && move_to(e, &to);
    if (has_moved) {
        address_check_on_moved(&m->check);
        m->says_moved = true;
    } else {
        address_check_give_up(&m->check);
    }
    move_release_all(l, has_moved);
}

/* ---- statistics ---- */

void peer_move_add_stats(const struct zcrp_entity *e, struct zcrp_stats *stats)
{
    const struct peer_move *m = e->link->peer_move;
    const struct zcrp_entity *sender = e->link->half[MACHINE_SENDER];

    stats->moves = 0;
    if (m != NULL)
        stats->moves = m->check.moves;
    else if (sender != NULL)
        stats->moves = sender_counters(sender->machine.sender)->moves;
}
