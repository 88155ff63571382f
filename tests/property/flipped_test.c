/* Each bit of each kind of sealed datagram, flipped once, in each state of both ends: it is
 * dropped. Then both machines, both keyrings and the user's memory are what they were, byte by
 * byte, but for one drop counter. The same datagram with all bits right is opened.
 *
 * Two ends with keys go through a connection, from before there are keys until it is over. Data go
 * both ways. The first datagram of each kind is kept, at each end, and never delivered: so it is
 * good at any time. All that are kept are tried at each stage; all others are tried just before
 * they are delivered. A first run collects what is kept, for the stages before it is sent. */
#include "../support/fake_cipher.h"
#include "../support/memory.h"
#include "../support/scatter.h"
#include "../support/secret.h"
#include "../support/suite.h"
#include "core/receiver/receiver.h"
#include "core/sender/sender.h"
#include "core/wire/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNIT = 64 + TRAILER_BYTES,
    UNIT_MOST = UNIT + 96, /* larger ones are probed for */
    WIRE_MOST = 512,
    MESSAGES = 5,
    SIZE_MOST = 300,
    MAIL = 2048,
    ROUNDS = 60,
    POISON = 0xAA, /* data are below: so it shows that nothing has arrived */
};

/* A kind of datagram: its type, and what its flags have to be. */
static const struct {
    const char *name;
    uint8_t type, mask, flags;
} kinds[] = {
    {"unit", DATAGRAM_UNIT, FLAG_VOID | FLAG_IS_LAST | FLAG_ANSWER, 0},
    {"unit that wants an answer", DATAGRAM_UNIT, FLAG_VOID | FLAG_ANSWER, FLAG_ANSWER},
    {"last unit", DATAGRAM_UNIT, FLAG_VOID | FLAG_IS_LAST | FLAG_ANSWER, FLAG_IS_LAST},
    {"void unit", DATAGRAM_UNIT, FLAG_VOID, FLAG_VOID},
    {"acknowledgement", DATAGRAM_ACK_POSITIVE, FLAG_CLOSING, 0},
    {"acknowledgement with gaps", DATAGRAM_ACK_NEGATIVE, FLAG_CLOSING, 0},
    {"close of a receiver", DATAGRAM_ACK_POSITIVE, FLAG_CLOSING, FLAG_CLOSING},
    {"request", DATAGRAM_REQUEST, FLAG_ANSWER, 0},
    {"request for offers", DATAGRAM_REQUEST, FLAG_ANSWER, FLAG_ANSWER},
    {"hello", DATAGRAM_HELLO, FLAG_CLOSING, 0},
    {"close of a sender", DATAGRAM_HELLO, FLAG_CLOSING, FLAG_CLOSING},
    {"probe", DATAGRAM_PATH_PROBE, 0, 0},
    {"answer to a probe", DATAGRAM_PATH_ANSWER, 0, 0},
    {"cookie", DATAGRAM_COOKIE, 0, 0},
    {"offer", DATAGRAM_OFFER, 0, 0},
};

enum { KINDS = ROWS(kinds) };

/* One side of a connection: what it sends data with, and what it receives data with. */
struct end {
    struct sender *sender;
    struct receiver *receiver;
    struct keyring *out, *in; /* of the two */
    size_t sender_bytes, receiver_bytes;
    uint8_t data[MESSAGES][SIZE_MOST], buffer[MESSAGES][SIZE_MOST];
};

struct datagram {
    int to; /* the end */
    size_t size;
    uint8_t bytes[WIRE_MOST];
};

/* All that a datagram could change at an end. */
struct snapshot {
    uint8_t *sender, *receiver;
    struct fake_pair pairs[2];
    uint8_t buffer[MESSAGES][SIZE_MOST];
};

static struct end ends[2];
static struct fake_pair pairs[2]; /* pair i is of what end i sends */
static struct pairing ready[2];
static struct landing landing;
static struct landing_mail mail;
static struct datagram kept[2][KINDS]; /* by the end that they are for; size 0: none */
static bool is_kept[2][KINDS];
static bool is_trying, is_cut_off;
static uint64_t flips, stages, delivered;
static instant now;

/* ---- the two ends ---- */

static void make_end(int i)
{
    struct end *e = &ends[i];
    struct sender_config sender = {.unit_bytes = UNIT,
                                   .unit_most = UNIT_MOST,
                                   .stays = true,
                                   .burst_units = 4,
                                   .burst_bytes = 512,
                                   .messages = 8,
                                   .transit_units = 16,
                                   .window_bytes = 16 * UNIT_MOST,
                                   .connect = 10 * SECOND,
                                   .silence = 10 * SECOND,
                                   .progress = 10 * SECOND,
                                   .congestion = CONGESTION_NONE,
                                   .secret = secret_of_seed(5 + (uint64_t)i),
                                   .keyring = &pairs[i].sender};
    struct receiver_config receiver = {.unit_bytes = UNIT,
                                       .stays = true,
                                       .messages = 8,
                                       .holes = 16,
                                       .intervals = 16,
                                       .capacity = 65536,
                                       .silence = 10 * SECOND,
                                       .secret = secret_of_seed(7 + (uint64_t)i),
                                       .jar = jar_of_seed(7),
                                       .keyring = &pairs[1 - i].receiver};
    struct arena_bytes of_sender = sender_bytes(&sender), of_receiver = receiver_bytes(&receiver);
    e->out = sender.keyring;
    e->in = receiver.keyring;
    e->sender_bytes = of_sender.near + of_sender.far;
    e->receiver_bytes = of_receiver.near + of_receiver.far;
    e->sender = memory_of_sender(&sender, now);
    e->receiver = memory_of_receiver(&receiver, now);
    memset(e->buffer, POISON, sizeof e->buffer);
    for (size_t n = 0; n < sizeof e->data; n++)
        e->data[n / SIZE_MOST][n % SIZE_MOST] = (uint8_t)(1 + n % 100);
}

/* The pairings of the two directions differ in one bit: then a bit makes one of the other. */
static void set_up(void)
{
    static uint8_t mail_memory[MAIL];
    is_cut_off = false;
    memset(is_kept, 0, sizeof is_kept);
    now = SECOND;
    landing_init(&landing, malloc(landing_memory(1)), 1);
    mail = (struct landing_mail){.memory = mail_memory, .room = sizeof mail_memory};
    landing.mail = &mail;
    for (int i = 0; i < 2; i++) {
        fake_pair_init(&pairs[i], 3 + 100000 * (uint64_t)i, SEAL_EPOCH_BITS);
        ready[i] = (struct pairing){.session = 7, .tag = i == 0 ? 9 : 11};
        pairs[i].sender.pairing = pairs[i].receiver.pairing = (struct pairing){0, 0};
        make_end(i);
    }
}

static void tear_down(void)
{
    free(landing.spill);
    for (int i = 0; i < 2; i++) {
        free(ends[i].sender);
        free(ends[i].receiver);
    }
}

static void get_keys(void)
{
    for (int i = 0; i < 2; i++)
        pairs[i].sender.pairing = pairs[i].receiver.pairing = ready[i];
}

/* As an entity hears: the receiver reads the socket, and has mail for its twin. It came marked as
 * congested. */
static void hear(int to, const uint8_t *bytes, size_t size)
{
    struct end *e = &ends[to];
    const uint8_t *posted;
    size_t at = 0, length;
    mail.bytes = 0;
    receiver_plan(e->receiver, &landing, 1, 8);
    landing.ecn[0] = LANDING_ECN_CONGESTED;
    scatter(&landing, bytes, (uint32_t)size, 0);
    (void)receiver_landed(e->receiver, now, &landing);
    while ((length = landing_mail_next(&mail, &at, &posted)) > 0)
        sender_receive(e->sender, now, posted, length);
}

/* ---- snapshots ---- */

static struct snapshot take_snapshot(const struct end *e)
{
    struct snapshot s = {
        malloc(e->sender_bytes), malloc(e->receiver_bytes), {pairs[0], pairs[1]}, {{0}}};
    memcpy(s.sender, e->sender, e->sender_bytes);
    memcpy(s.receiver, e->receiver, e->receiver_bytes);
    memcpy(s.buffer, e->buffer, sizeof s.buffer);
    return s;
}

static void restore(struct end *e, struct snapshot *s)
{
    memcpy(e->sender, s->sender, e->sender_bytes);
    memcpy(e->receiver, s->receiver, e->receiver_bytes);
    memcpy(e->buffer, s->buffer, sizeof s->buffer);
    memcpy(pairs, s->pairs, sizeof pairs);
    free(s->sender);
    free(s->receiver);
}

enum {
    SENDER_DROPS =
        offsetof(struct sender_counters, table_full) - offsetof(struct sender_counters, drop_short),
    RECEIVER_DROPS = offsetof(struct receiver_counters, table_full) -
                     offsetof(struct receiver_counters, drop_short),
    KEYRING_DROPS = 2 * sizeof(uint64_t), /* forged, replayed */
};

/* Makes the drop counters of the snapshot those of now; by how much all together have grown. */
static uint64_t update(uint8_t *then, const uint64_t *drops, const void *machine, size_t bytes)
{
    uint8_t *at = then + ((const uint8_t *)drops - (const uint8_t *)machine);
    uint64_t grown = 0, before;
    for (size_t i = 0; i < bytes / sizeof before; i++) {
        memcpy(&before, at + i * sizeof before, sizeof before);
        grown += drops[i] - before;
    }
    memcpy(at, drops, bytes);
    return grown;
}

static uint64_t update_opener(struct opener *then, const struct opener *o)
{
    uint64_t grown = o->forged - then->forged + (o->replayed - then->replayed);
    then->forged = o->forged;
    then->replayed = o->replayed;
    return grown;
}

static uint64_t update_keys(struct snapshot *s, int to)
{
    struct fake_pair *sends = &s->pairs[to], *receives = &s->pairs[1 - to];
    return update_opener(&sends->sender.control_in, &ends[to].out->control_in) +
           update_opener(&receives->receiver.control_in, &ends[to].in->control_in) +
           update_opener(&receives->receiver.units_in, &ends[to].in->units_in);
}

/* A forged unit leaves zeros where it was opened, and nothing was there. */
static void expect_buffers(const struct end *e, const struct snapshot *s)
{
    for (size_t n = 0; n < sizeof s->buffer; n++) {
        uint8_t is = e->buffer[n / SIZE_MOST][n % SIZE_MOST];
        uint8_t was = s->buffer[n / SIZE_MOST][n % SIZE_MOST];
        ck_assert(is == was || (is == 0 && was == POISON));
    }
}

static void expect_unchanged(int to, struct snapshot *s)
{
    const struct end *e = &ends[to];
    uint64_t grown = update_keys(s, to);
    grown += update(s->sender, &sender_counters(e->sender)->drop_short, e->sender, SENDER_DROPS);
    grown += update(s->receiver, &receiver_counters(e->receiver)->drop_short, e->receiver,
                    RECEIVER_DROPS);
    ck_assert_uint_eq(grown, 1);
    (void)update(s->receiver, &receiver_counters(e->receiver)->forged, e->receiver,
                 KEYRING_DROPS); /* it repeats what the keyring counts */
    ck_assert_int_eq(memcmp(s->sender, e->sender, e->sender_bytes), 0);
    ck_assert_int_eq(memcmp(s->receiver, e->receiver, e->receiver_bytes), 0);
    ck_assert_int_eq(memcmp(s->pairs, pairs, sizeof pairs), 0);
    expect_buffers(e, s);
}

/* ---- flipping ---- */

static uint64_t count_opened(void)
{
    uint64_t count = 0;
    for (int i = 0; i < 6; i++)
        count += pairs[0].keys[i].opened + pairs[1].keys[i].opened;
    return count;
}

static void flip_each_bit(struct datagram *d)
{
    struct snapshot before = take_snapshot(&ends[d->to]);
    for (size_t bit = 0; bit < 8 * d->size; bit++, flips++) {
        d->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        hear(d->to, d->bytes, d->size);
        expect_unchanged(d->to, &before);
        d->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    restore(&ends[d->to], &before);
}

/* A receiver opens units only in a session. */
static bool is_wanted(const struct datagram *d)
{
    const struct end *e = &ends[d->to];
    bool is_unit = (d->bytes[d->size - 1] & 15) == DATAGRAM_UNIT;
    return keyring_is_ready(e->in) &&
           (!is_unit || pairing_is_complete(receiver_pairing(e->receiver)));
}

static void expect_good(const struct datagram *d)
{
    struct snapshot before = take_snapshot(&ends[d->to]);
    uint64_t opened = count_opened();
    bool is_good = is_wanted(d);
    hear(d->to, d->bytes, d->size);
    ck_assert_uint_eq(count_opened(), opened + is_good);
    restore(&ends[d->to], &before);
}

static void try_one(struct datagram d)
{
    if (d.size == 0)
        return;
    flip_each_bit(&d);
    expect_good(&d);
}

/* Of every kind, at this stage. */
static void try_all(void)
{
    if (!is_trying)
        return;
    for (int k = 0; k < KINDS; k++) {
        ck_assert_msg(kept[0][k].size + kept[1][k].size > 0, "there was no %s", kinds[k].name);
        for (int to = 0; to < 2; to++)
            try_one(kept[to][k]);
    }
    stages++;
}

/* ---- the path ---- */

static int kind_of(const struct datagram *d)
{
    uint8_t flags = d->bytes[d->size - 2], type = d->bytes[d->size - 1] & 15;
    if (type == DATAGRAM_ACK_NEGATIVE && (flags & FLAG_CLOSING) != 0)
        type = DATAGRAM_ACK_POSITIVE; /* a close, with gaps or without */
    for (int k = 0; k < KINDS; k++)
        if (kinds[k].type == type && (flags & kinds[k].mask) == kinds[k].flags)
            return k;
    ck_abort_msg("type %d with flags %d is of no kind", type, flags);
}

/* The first of its kind is lost. */
static void cross(struct datagram *d)
{
    int k = kind_of(d);
    if (!is_kept[d->to][k]) {
        is_kept[d->to][k] = true;
        kept[d->to][k] = *d;
        return;
    }
    if (is_cut_off)
        return;
    if (is_trying)
        flip_each_bit(d);
    hear(d->to, d->bytes, d->size);
    delivered += is_trying;
}

static void send(const struct burst *burst, uint32_t i, int to)
{
    struct datagram d = {.to = to};
    const struct iovec *pieces = &burst->iov[2 * i];
    d.size = pieces[0].iov_len + pieces[1].iov_len;
    ck_assert_uint_le(d.size, WIRE_MOST);
    if (pieces[0].iov_len > 0)
        memcpy(d.bytes, pieces[0].iov_base, pieces[0].iov_len);
    memcpy(d.bytes + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
    cross(&d);
}

static void take_from(int i)
{
    static struct burst burst;
    static uint8_t staging[SEAL_STAGING];
    if (sender_take(ends[i].sender, now, &burst)) {
        ck_assert(keyring_seal(ends[i].out, &burst, staging));
        sender_sent(ends[i].sender, now, &burst, burst.datagrams);
        for (uint32_t n = 0; n < burst.datagrams; n++)
            send(&burst, n, 1 - i);
    }
    if (receiver_take(ends[i].receiver, now, &burst)) {
        ck_assert(keyring_seal(ends[i].in, &burst, staging));
        send(&burst, 0, 1 - i);
    }
}

static void hear_events(struct end *e)
{
    struct event event;
    while (sender_event(e->sender, &event) || receiver_event(e->receiver, &event))
        ck_assert_ptr_nonnull(event.user);
}

/* A step of time, which ends before anything is late. */
static void turn(void)
{
    instant next = now + 100 * MILLISECOND;
    for (int i = 0; i < 2; i++) {
        sender_expire(ends[i].sender, now);
        receiver_expire(ends[i].receiver, now);
        take_from(i);
        hear_events(&ends[i]);
        sender_check(ends[i].sender);
        receiver_check(ends[i].receiver);
        next = instant_earlier(next, sender_deadline(ends[i].sender));
        next = instant_earlier(next, receiver_deadline(ends[i].receiver));
    }
    now = next < now + MILLISECOND ? now + MILLISECOND : next;
}

static void turns(int count)
{
    for (int n = 0; n < count; n++)
        turn();
}

/* ---- a connection ---- */

static const uint16_t sizes[MESSAGES] = {SIZE_MOST, 100, SIZE_MOST, 64, SIZE_MOST};

static void submit(int i, uint32_t n)
{
    uint64_t number;
    ck_assert(sender_submit(ends[i].sender, now, &ends[i], ends[i].data[n], sizes[n], &number));
}

static void post(int i, uint32_t n, size_t room)
{
    uint64_t number;
    uint8_t *buffer = ends[i].buffer[n];
    ck_assert(receiver_post(ends[i].receiver, now, buffer, buffer, room, &number));
}

/* No receiver says a cookie here: both ends of a connection have met. One that is sealed is good
 * all the same. */
static void make_cookie(int from)
{
    static struct burst burst;
    static uint8_t staging[SEAL_STAGING];
    struct cookie_answer answer = {ready[1 - from], 3, 4};
    burst_set_control(&burst, cookie_answer_encode(burst.control, CONTROL_BYTES, &answer));
    ck_assert(keyring_seal(ends[from].in, &burst, staging));
    send(&burst, 0, 1 - from);
}

static void begin(void)
{
    try_all(); /* without keys */
    get_keys();
    try_all(); /* with keys */
    for (int i = 0; i < 2; i++) {
        make_cookie(i);
        receiver_admit(ends[i].receiver, now);
    }
    try_all(); /* bound */
    turns(4);
    try_all(); /* met */
}

/* The third message is taken back by its sender, and the fourth has too small a buffer. */
static void transfer(void)
{
    for (int i = 0; i < 2; i++) {
        receiver_ask_offers(ends[i].receiver, now);
        submit(i, 0);
        submit(i, 1);
    }
    turns(8);
    for (int i = 0; i < 2; i++)
        post(i, 0, SIZE_MOST);
    turns(2);
    try_all(); /* under way */
    turns(ROUNDS / 4);
    for (int i = 0; i < 2; i++) {
        for (uint32_t n = 1; n < MESSAGES - 1; n++)
            post(i, n, n == 3 ? 1 : SIZE_MOST);
        submit(i, 2);
        ck_assert(sender_cancel(ends[i].sender, now, 2));
        submit(i, 3);
    }
    turns(ROUNDS);
    for (int i = 0; i < 2; i++)
        sender_on_path_hint(ends[i].sender, now);
    turns(ROUNDS);
    try_all(); /* idle */
}

enum ending { CONFIRMED, CUT_OFF, SILENT, ENDINGS };

/* The last message has no buffer, or only a part of it has arrived. */
static void end(enum ending ending)
{
    submit(0, MESSAGES - 1);
    post(1, MESSAGES - 1, SIZE_MOST);
    turns(2);
    is_cut_off = ending != CONFIRMED;
    if (ending != SILENT) {
        sender_close(ends[0].sender, now);
        receiver_close(ends[0].receiver, now);
        try_all(); /* one end closes */
        turns(4);
        try_all(); /* both know */
        sender_close(ends[1].sender, now);
        receiver_close(ends[1].receiver, now);
        try_all(); /* both ends close */
    }
    turns(4 * ROUNDS);
    try_all(); /* over */
}

/* Did it end as it should? */
static void expect_over(enum ending ending)
{
    for (int i = 0; i < 2; i++) {
        const struct end *e = &ends[i];
        if (ending == SILENT) {
            ck_assert_int_eq(sender_ended(e->sender), OUTCOME_SILENT);
            continue;
        }
        ck_assert(sender_is_closed(e->sender) && receiver_is_closed(e->receiver));
        ck_assert_int_eq(sender_is_confirmed(e->sender), ending == CONFIRMED);
        ck_assert_int_eq(receiver_is_confirmed(e->receiver), ending == CONFIRMED);
    }
}

static void run(enum ending ending, bool tries)
{
    set_up();
    is_trying = tries && ending == CONFIRMED;
    begin();
    transfer();
    is_trying = tries;
    end(ending);
    expect_over(ending);
    tear_down();
}

TEST(flipped__nothing_changes, .rows = ENDINGS)
{
    run(CONFIRMED, false);
    run((enum ending)_i, true);
    printf("%ju flips; each of %d kinds at %ju stages, and %ju others\n", (uintmax_t)flips, KINDS,
           (uintmax_t)stages, (uintmax_t)delivered);
}
