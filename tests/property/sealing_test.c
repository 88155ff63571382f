/* Both machines with keys, from a seed, over a network that loses, doubles, delays and damages,
 * with somebody on the path who repeats what crossed, forges it and sends it back. Epochs are
 * short, so that keys change a thousand times.
 *
 *     every message ends well, and is right to the byte; behind its end nothing is left
 *     no number is sealed twice, whatever the channel takes
 *     nothing is opened twice, and nothing that the peer did not seal
 *
 * A second test keeps a log of all that is sealed, by key, epoch and number, while messages are
 * also taken back, sizes refused, and ends replaced by others with keys of their own. */
#include "../support/fake_cipher.h"
#include "../support/memory.h"
#include "../support/random.h"
#include "../support/secret.h"
#include "../support/suite.h"
#include "core/number.h"
#include "core/receiver/receiver.h"
#include "core/sender/sender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MESSAGES = 2600,
    AT_ONCE = 8,
    SIZE_MOST = 4000,
    UNIT = 64 + TRAILER_BYTES,
    POOL = 24,   /* datagrams that are on their way */
    RECORD = 64, /* that the attacker remembers */
    WIRE_MOST = 1500,
    EPOCH_BITS = 6,
    TAPE = 40000,
    POISON = 0xAA,
};

struct datagram {
    bool is_to_receiver;
    size_t size;
    uint8_t bytes[WIRE_MOST];
};

/* The numbers of one stream, as they are sealed. */
struct numbers {
    uint64_t next, count, epochs;
};

static struct fake_pair pairs[2];
static struct keyring *of_sender, *of_receiver; /* of one pair, or of different ones */
static struct numbers sealed[3];
static struct sender *s;
static struct receiver *r;
static struct landing landing;
static struct datagram pool[POOL], record[RECORD];
static struct datagram *tape; /* all that crossed; NULL: it is not kept */
static uint32_t pooled, recorded, taped;
static uint64_t state;
static instant now;
static uint8_t out[AT_ONCE][SIZE_MOST], in[AT_ONCE][SIZE_MOST + 64];
static uint64_t size_of[AT_ONCE], forged;
static bool refuses_sizes;
static int ends_to_come[AT_ONCE]; /* of the message there: at the sender, and at the receiver */

static bool one_in(uint64_t n)
{
    return random_below(&state, n) == 0;
}

/* Numbers only grow, so none comes twice. */
static void log_number(void *context, uint64_t epoch, uint64_t number)
{
    struct numbers *n = context;
    ck_assert_uint_ge(number, n->next);
    ck_assert_uint_eq(epoch, number >> EPOCH_BITS);
    n->next = number + 1;
    n->epochs = epoch;
    n->count++;
}

static void make_sender(struct fake_pair *pair, uint64_t first_seq)
{
    struct sender_config config = {.unit_bytes = UNIT,
                                   .stays = true,
                                   .burst_units = 8,
                                   .burst_bytes = 1024,
                                   .messages = 32,
                                   .transit_units = 64,
                                   .window_bytes = 64 * UNIT,
                                   .connect = 1000 * SECOND,
                                   .silence = 1000 * SECOND,
                                   .progress = 1000 * SECOND,
                                   .congestion = CONGESTION_NONE,
                                   .first_seq = (uint32_t)first_seq,
                                   .secret = secret_of_seed(state),
                                   .keyring = &pair->sender};
    of_sender = &pair->sender;
    s = memory_of_sender(&config, now);
}

static void make_receiver(struct fake_pair *pair, uint64_t first_seq)
{
    struct receiver_config config = {.unit_bytes = UNIT,
                                     .stays = true,
                                     .messages = 32,
                                     .holes = 64,
                                     .intervals = 64,
                                     .capacity = 1 << 20,
                                     .silence = 1000 * SECOND,
                                     .first_seq = (uint32_t)first_seq,
                                     .secret = secret_of_seed(state),
                                     .jar = jar_of_seed(state),
                                     .keyring = &pair->receiver};
    of_receiver = &pair->receiver;
    r = memory_of_receiver(&config, now);
    receiver_admit(r, now);
}

static void begin(uint64_t seed)
{
    state = seed;
    now = SECOND;
    s = NULL;
    r = NULL;
    landing_init(&landing, malloc(landing_memory(1)), 1);
}

static void set_up(uint64_t seed)
{
    begin(seed);
    fake_pair_init(&pairs[0], seed, EPOCH_BITS);
    for (int i = 0; i < 3; i++) {
        pairs[0].keys[2 * i].log = log_number;
        pairs[0].keys[2 * i].context = &sealed[i];
    }
    make_sender(&pairs[0], 0);
    make_receiver(&pairs[0], 0);
}

/* ---- the network ---- */

static void add(const uint8_t *bytes, size_t size, bool is_to_receiver)
{
    if (pooled == POOL)
        return;
    struct datagram *d = &pool[pooled++];
    d->is_to_receiver = is_to_receiver;
    d->size = size;
    memcpy(d->bytes, bytes, size);
    if (one_in(20))
        d->bytes[random_below(&state, size)] ^= (uint8_t)(1 << random_below(&state, 8));
}

static void send(const struct iovec pieces[2], bool is_to_receiver)
{
    struct datagram *kept = &record[recorded++ % RECORD];
    kept->size = pieces[0].iov_len + pieces[1].iov_len;
    kept->is_to_receiver = is_to_receiver;
    ck_assert_uint_le(kept->size, WIRE_MOST);
    if (pieces[0].iov_len > 0)
        memcpy(kept->bytes, pieces[0].iov_base, pieces[0].iov_len);
    memcpy(kept->bytes + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
    if (tape != NULL && taped < TAPE)
        tape[taped++] = *kept;
    if (!one_in(20))
        add(kept->bytes, kept->size, is_to_receiver);
    if (one_in(20))
        add(kept->bytes, kept->size, is_to_receiver);
}

/* Repeats, reflects or forges something that crossed. A forged unit has the trailer of a real one,
 * so it claims to be for the same place. */
static void attack(void)
{
    if (recorded == 0)
        return;
    const struct datagram *old = &record[random_below(&state, lesser(recorded, RECORD))];
    struct datagram copy = *old;
    copy.is_to_receiver ^= one_in(4);
    if (!one_in(2) && copy.size > TRAILER_BYTES) {
        for (size_t i = 0; i + TRAILER_BYTES < copy.size; i++)
            copy.bytes[i] = (uint8_t)random_next(&state);
        forged++;
    }
    add(copy.bytes, copy.size, copy.is_to_receiver);
}

static struct datagram take_out(uint64_t i)
{
    struct datagram d = pool[i];
    memmove(&pool[i], &pool[i + 1], (--pooled - i) * sizeof d);
    return d;
}

/* Often the datagrams behind one of the same size come with it, as the kernel joins them. */
static void deliver(void)
{
    if (pooled == 0)
        return;
    uint64_t i = one_in(3) ? random_below(&state, pooled) : 0;
    struct datagram d = take_out(i);
    if (!d.is_to_receiver) {
        sender_receive(s, now, d.bytes, d.size);
        return;
    }
    size_t size = d.size, bytes;
    receiver_plan(r, &landing, 1, 128);
    ck_assert_uint_eq(landing.openings, 1);
    memcpy(landing.iov[0].iov_base, d.bytes, size);
    for (bytes = size; i < pooled && pool[i].is_to_receiver && pool[i].size == size && !one_in(8);
         bytes += size)
        memcpy((uint8_t *)landing.iov[0].iov_base + bytes, take_out(i).bytes, size);
    landing.bytes[0] = (uint32_t)bytes;
    landing.segment[0] = (uint32_t)size;
    landing.ecn[0] = 0;
    landing.received = 1;
    receiver_landed(r, now, &landing);
}

/* ---- the ends ---- */

static void take_from_sender(void)
{
    static struct burst burst;
    static uint8_t staging[SEAL_STAGING];
    if (!sender_take(s, now, &burst))
        return;
    ck_assert(keyring_seal(of_sender, &burst, staging));
    uint32_t sent = burst.datagrams;
    if (one_in(8)) /* the socket is full: what was sealed is burnt */
        sent = (uint32_t)random_below(&state, burst.datagrams + 1);
    for (uint32_t i = 0; i < sent; i++)
        send(&burst.iov[2 * i], true);
    sender_sent(s, now, &burst, sent);
    if (refuses_sizes && one_in(500))
        (void)sender_on_refused_size(s, now, 64 + (uint32_t)random_below(&state, UNIT - 64));
}

static void take_from_receiver(void)
{
    static struct burst burst;
    static uint8_t staging[SEAL_STAGING];
    if (!receiver_take(r, now, &burst))
        return;
    ck_assert(keyring_seal(of_receiver, &burst, staging));
    send(&burst.iov[0], false);
}

static void fill(uint64_t at)
{
    size_of[at] = random_below(&state, SIZE_MOST);
    for (uint64_t i = 0; i < size_of[at]; i++)
        out[at][i] = (uint8_t)random_next(&state);
}

static void submit(uint32_t n)
{
    uint32_t at = n % AT_ONCE;
    uint64_t number;
    ends_to_come[at] = 2;
    fill(at);
    memset(in[at], POISON, sizeof in[at]);
    ck_assert(receiver_post(r, now, in[at], in[at], size_of[at] + 64, &number));
    ck_assert(sender_submit(s, now, out[at], out[at], size_of[at], &number));
}

/* Messages may end in any order. */
static void on_received(const struct event *event)
{
    uint64_t at = (uint64_t)((uint8_t *)event->user - in[0]) / sizeof in[0];
    const uint8_t *got = in[at];
    ck_assert_int_eq(event->outcome, OUTCOME_OK);
    ck_assert_uint_eq(event->length, size_of[at]);
    ck_assert_int_eq(memcmp(got, out[at], size_of[at]), 0);
    for (uint64_t i = size_of[at]; i < size_of[at] + 64; i++)
        ck_assert(got[i] == POISON || got[i] == 0);
    ends_to_come[at]--;
}

static void on_sent(const struct event *event)
{
    ck_assert_int_eq(event->outcome, OUTCOME_OK);
    ends_to_come[(uint64_t)((uint8_t *)event->user - out[0]) / sizeof out[0]]--;
}

static void step(void)
{
    now += 200 * MICROSECOND;
    sender_expire(s, now);
    receiver_expire(r, now);
    take_from_sender();
    take_from_receiver();
    if (one_in(2))
        attack();
    for (int i = 0; i < 6; i++)
        deliver();
    if (one_in(64)) {
        sender_check(s);
        receiver_check(r);
    }
}

TEST(sealing__every_message_is_right, .is_random = true)
{
    uint32_t sent = 0, received = 0, begun = 0;
    struct event event;
    set_up(suite_seed(_i));
    for (uint64_t steps = 0; received < MESSAGES || sent < MESSAGES; steps++) {
        ck_assert_uint_lt(steps, 1000 * MESSAGES);
        while (begun < MESSAGES && ends_to_come[begun % AT_ONCE] == 0)
            submit(begun++);
        step();
        for (; receiver_event(r, &event); received++)
            on_received(&event);
        for (; sender_event(s, &event); sent++)
            on_sent(&event);
    }
    ck_assert_uint_gt(sealed[0].epochs, 1000);
    ck_assert_uint_gt(of_receiver->units_in.forged, 0);
    ck_assert_uint_gt(of_receiver->units_in.replayed, 0);
    ck_assert_uint_gt(forged, 0);
    ck_assert_uint_eq(sender_counters(s)->drop_number, 0);
    free(landing.spill);
    free(s);
    free(r);
}

/* ---- the log of all that is sealed ---- */

enum { USUAL_LIVES = 12, STEPS = 2000, STEPS_APART = 100 };

struct nonce {
    uint64_t secret, epoch, number;
};

/* The message of a user's in each place, if it is not over. */
struct place {
    bool is_taken;
    uint64_t number;
};

static struct nonce *nonces;
static size_t noted, room;
static struct place out_place[AT_ONCE], in_place[AT_ONCE];
static uint64_t told[OUTCOME_DIED + 1];

static void note(void *context, uint64_t epoch, uint64_t number)
{
    const struct fake_keys *k = context;
    if (noted == room) {
        room = room == 0 ? 1 << 16 : 2 * room;
        nonces = realloc(nonces, room * sizeof *nonces);
        ck_assert_ptr_nonnull(nonces);
    }
    nonces[noted++] = (struct nonce){k->secret, epoch, number};
}

static int compare_nonces(const void *left, const void *right)
{
    const struct nonce *a = left, *b = right;
    if (a->secret != b->secret)
        return a->secret < b->secret ? -1 : 1;
    if (a->epoch != b->epoch)
        return a->epoch < b->epoch ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* What was noted of other keys than these is over. */
static void keep(const struct fake_pair *pair)
{
    size_t kept = 0;
    for (size_t i = 0; i < noted; i++)
        for (int k = 0; k < 3; k++)
            if (nonces[i].secret == pair->keys[2 * k].secret)
                nonces[kept++] = nonces[i];
    noted = kept;
}

static void check_log(void)
{
    if (noted > 0)
        qsort(nonces, noted, sizeof *nonces, compare_nonces);
    for (size_t i = 1; i < noted; i++)
        ck_assert_msg(compare_nonces(&nonces[i - 1], &nonces[i]) != 0,
                      "%ju of epoch %ju was sealed twice", (uintmax_t)nonces[i].number,
                      (uintmax_t)nonces[i].epoch);
}

/* Where numbers begin, and how long an epoch is. */
static const struct {
    uint64_t start;
    uint32_t epoch_bits;
} beginnings[] = {
    {0, EPOCH_BITS},
    {(UINT64_C(1) << 22) - 10, SEAL_EPOCH_BITS},
    {(UINT64_C(1) << 32) - 10, SEAL_EPOCH_BITS},
    {(UINT64_C(1) << 32) - 10, EPOCH_BITS},
};

/* What a handshake leaves: keys that nobody had before. */
static void shake_hands(struct fake_pair *pair, uint32_t life)
{
    uint64_t start = beginnings[life % ROWS(beginnings)].start;
    fake_pair_init(pair, random_next(&state), beginnings[life % ROWS(beginnings)].epoch_bits);
    for (int i = 0; i < 3; i++) {
        pair->keys[2 * i].log = note;
        pair->keys[2 * i].context = &pair->keys[2 * i];
    }
    pair->sender.units_out.next = pair->receiver.units_in.end = start;
    pair->sender.control_out.next = pair->receiver.control_in.end = start;
    pair->receiver.control_out.next = pair->sender.control_in.end = start;
}

static void replace_sender(uint32_t life)
{
    free(s);
    memset(out_place, 0, sizeof out_place);
    make_sender(&pairs[life % 2], beginnings[life % ROWS(beginnings)].start);
}

static void replace_receiver(uint32_t life)
{
    free(r);
    memset(in_place, 0, sizeof in_place);
    make_receiver(&pairs[life % 2], beginnings[life % ROWS(beginnings)].start);
}

/* Each user submits, or takes back what it has submitted. */
static void use_sender(uint64_t at)
{
    struct place *p = &out_place[at];
    if (p->is_taken) {
        if (one_in(20))
            (void)sender_cancel(s, now, p->number);
        return;
    }
    fill(at);
    p->is_taken = sender_submit(s, now, out[at], out[at], size_of[at], &p->number);
}

static void use_receiver(uint64_t at)
{
    struct place *p = &in_place[at];
    if (p->is_taken) {
        if (one_in(20))
            (void)receiver_cancel(r, now, p->number);
        return;
    }
    p->is_taken = receiver_post(r, now, in[at], in[at], sizeof in[at], &p->number);
}

static void hear_ends(void)
{
    struct event event;
    while (sender_event(s, &event)) {
        told[event.outcome]++;
        out_place[(uint64_t)((uint8_t *)event.user - out[0]) / sizeof out[0]].is_taken = false;
    }
    while (receiver_event(r, &event)) {
        told[event.outcome]++;
        in_place[(uint64_t)((uint8_t *)event.user - in[0]) / sizeof in[0]].is_taken = false;
    }
}

static void live(uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        use_sender(random_below(&state, AT_ONCE));
        use_receiver(random_below(&state, AT_ONCE));
        step();
        hear_ends();
    }
}

/* One end is replaced, and then the other one: for a while they do not have the same keys. */
static void start_life(uint32_t life)
{
    bool sender_is_first = one_in(2);
    shake_hands(&pairs[life % 2], life);
    (sender_is_first ? replace_sender : replace_receiver)(life);
    if (life > 0)
        live(STEPS_APART);
    (sender_is_first ? replace_receiver : replace_sender)(life);
    check_log();
    keep(&pairs[life % 2]);
}

/* `make check-all` asks for more. */
static uint32_t lives(void)
{
    const char *given = getenv("ZCRP_LIVES");
    return given != NULL ? (uint32_t)strtoul(given, NULL, 10) : USUAL_LIVES;
}

TEST(sealing__no_number_is_sealed_twice, .is_random = true)
{
    uint64_t sealed_ever = 0;
    begin(suite_seed(_i));
    refuses_sizes = true;
    for (uint32_t life = 0; life < lives(); life++) {
        start_life(life);
        live(STEPS);
        sealed_ever += noted;
    }
    check_log();
    printf("%ju numbers sealed, each once\n", (uintmax_t)sealed_ever);
    ck_assert_uint_gt(sealed_ever, (uint64_t)lives() * STEPS);
    ck_assert_uint_gt(told[OUTCOME_OK], lives());
    ck_assert_uint_gt(told[OUTCOME_CANCELLED], lives());
    noted = 0;
    free(landing.spill);
    free(s);
    free(r);
}

/* ---- repeating all that crossed ---- */

/* In the last life no number that crossed is too old, and two epochs meet. */
enum { LIVES_ON_TAPE = 3, REPEATS = 1000000 };

static void hand_over(const struct datagram *d, bool is_to_receiver)
{
    if (!is_to_receiver) {
        sender_receive(s, now, d->bytes, d->size);
        return;
    }
    receiver_plan(r, &landing, 1, 128);
    memcpy(landing.iov[0].iov_base, d->bytes, d->size);
    landing.bytes[0] = landing.segment[0] = (uint32_t)d->size;
    landing.ecn[0] = 0;
    landing.received = 1;
    receiver_landed(r, now, &landing);
}

/* Of all keys that the two ends have. */
static uint64_t count_opened(void)
{
    uint64_t count = 0;
    for (int i = 0; i < 3; i++)
        for (int pair = 0; pair < 2; pair++)
            count += pairs[pair].keys[2 * i + 1].opened;
    return count;
}

/* Of several lives, in any order, and also back to where it came from. What the network had lost is
 * handed over once before. */
TEST(sealing__nothing_is_taken_twice, .is_random = true)
{
    begin(suite_seed(_i));
    tape = malloc(TAPE * sizeof *tape);
    for (uint32_t life = 0; life < LIVES_ON_TAPE; life++) {
        start_life(life);
        live(STEPS);
    }
    for (uint32_t i = 0; i < taped; i++)
        hand_over(&tape[i], tape[i].is_to_receiver);
    hear_ends();
    told[OUTCOME_OK] = 0;
    uint64_t opened = count_opened();
    for (uint32_t n = 0; n < REPEATS; n++) {
        const struct datagram *d = &tape[random_below(&state, taped)];
        hand_over(d, d->is_to_receiver ^ one_in(4));
    }
    ck_assert_uint_gt(opened, STEPS);
    ck_assert_uint_eq(count_opened(), opened);
    hear_ends();
    ck_assert_uint_eq(told[OUTCOME_OK], 0);
    ck_assert_uint_gt(of_receiver->units_in.replayed, 0);
    ck_assert_uint_gt(of_sender->control_in.replayed, 0);
    printf("%u datagrams of %d lives repeated %d times\n", taped, LIVES_ON_TAPE, REPEATS);
    free(tape);
    tape = NULL;
    taped = 0;
    noted = 0;
    free(landing.spill);
    free(s);
    free(r);
}

/* From a little below 2^22 and 2^32: the epoch and the wire's number begin anew. */
static const uint64_t starts[] = {(UINT64_C(1) << 22) - 10, (UINT64_C(1) << 32) - 10};

TEST(sealing__across_an_edge, .rows = ROWS(starts))
{
    static uint8_t staging[SEAL_STAGING], data[64], opened[64];
    static struct burst burst;
    struct keyring *sender = &pairs[0].sender, *receiver = &pairs[0].receiver;
    fake_pair_init(&pairs[0], 3, SEAL_EPOCH_BITS);
    sender->units_out.next = receiver->units_in.end = starts[_i];
    for (uint64_t n = starts[_i]; n < starts[_i] + 20; n++) {
        struct unit_trailer t = {
            .seq = (uint32_t)n, .length = 64, .pairing = sender->pairing, .message = 1};
        struct sealed_unit unit;
        burst = (struct burst){.datagrams = 1, .segment = 96, .bytes = 96};
        unit_trailer_encode(burst.trailer[0], &t);
        burst.iov[0] = (struct iovec){data, 64};
        burst.iov[1] = (struct iovec){burst.trailer[0], TRAILER_BYTES};
        data[0] = (uint8_t)n;
        ck_assert(keyring_seal(sender, &burst, staging));
        ck_assert_int_eq(keyring_look_at_unit(receiver, staging + 80, &unit), SEALED_GOOD);
        ck_assert_uint_eq(unit.number, n);
        ck_assert(keyring_open_unit(receiver, &unit, staging, 64, opened));
        ck_assert_uint_eq(opened[0], (uint8_t)n);
    }
}
