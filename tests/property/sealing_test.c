/* Both machines with keys, from a seed, over a network that loses, doubles, delays and damages,
 * with somebody on the path who repeats what crossed, forges it and sends it back. Epochs are
 * short, so that keys change a thousand times.
 *
 *     every message ends well, and is right to the byte; behind its end nothing is left
 *     no number is sealed twice, whatever the channel takes
 *     nothing is opened twice, and nothing that the peer did not seal                          */
#include "../support/fake_cipher.h"
#include "../support/memory.h"
#include "../support/random.h"
#include "../support/secret.h"
#include "../support/suite.h"
#include "core/keys/handshake.h"
#include "core/number.h"
#include "core/receiver/receiver.h"
#include "core/sender/sender.h"

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

static struct fake_pair keys;
static struct numbers sealed[3];
static struct sender *s;
static struct receiver *r;
static struct landing landing;
static struct datagram pool[POOL], record[RECORD];
static uint32_t pooled, recorded;
static uint64_t state;
static instant now;
static uint8_t out[AT_ONCE][SIZE_MOST], in[AT_ONCE][SIZE_MOST + 64];
static uint64_t size_of[AT_ONCE], forged;
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

static void set_up(uint64_t seed)
{
    struct sender_config sender = {.unit_bytes = UNIT,
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
                                   .secret = secret_of_seed(seed),
                                   .keyring = &keys.sender};
    struct receiver_config receiver = {.unit_bytes = UNIT,
                                       .stays = true,
                                       .messages = 32,
                                       .holes = 64,
                                       .intervals = 64,
                                       .capacity = 1 << 20,
                                       .silence = 1000 * SECOND,
                                       .secret = secret_of_seed(seed),
                                       .jar = jar_of_seed(seed),
                                       .keyring = &keys.receiver};
    state = seed;
    now = SECOND;
    fake_pair_init(&keys, seed, EPOCH_BITS);
    for (int i = 0; i < 3; i++) {
        keys.keys[2 * i].log = log_number;
        keys.keys[2 * i].context = &sealed[i];
    }
    s = memory_of_sender(&sender, now);
    r = memory_of_receiver(&receiver, now);
    landing_init(&landing, malloc(landing_memory(1)), 1);
    receiver_admit(r, now);
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
    ck_assert(keyring_seal(&keys.sender, &burst, staging));
    uint32_t sent = burst.datagrams;
    if (one_in(8)) /* the socket is full: what was sealed is burnt */
        sent = (uint32_t)random_below(&state, burst.datagrams + 1);
    for (uint32_t i = 0; i < sent; i++)
        send(&burst.iov[2 * i], true);
    sender_sent(s, now, &burst, sent);
}

static void take_from_receiver(void)
{
    static struct burst burst;
    static uint8_t staging[SEAL_STAGING];
    if (!receiver_take(r, now, &burst))
        return;
    ck_assert(keyring_seal(&keys.receiver, &burst, staging));
    send(&burst.iov[0], false);
}

static void submit(uint32_t n)
{
    uint32_t at = n % AT_ONCE;
    uint64_t number;
    ends_to_come[at] = 2;
    size_of[at] = random_below(&state, SIZE_MOST);
    for (uint64_t i = 0; i < size_of[at]; i++)
        out[at][i] = (uint8_t)random_next(&state);
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
    ck_assert_uint_gt(keys.receiver.units_in.forged, 0);
    ck_assert_uint_gt(keys.receiver.units_in.replayed, 0);
    ck_assert_uint_gt(forged, 0);
    ck_assert_uint_eq(sender_counters(s)->drop_number, 0);
    free(landing.spill);
    free(s);
    free(r);
}

/* Whatever is accepted of a handshake's datagrams encodes to the same bytes, and lies in bounds. */
TEST(handshake_decode__random, .is_random = true)
{
    uint8_t again[TRAILER_BYTES];
    uint32_t accepted = 0;
    state = suite_seed(_i);
    for (int n = 0; n < 100000; n++) {
        size_t size = TRAILER_BYTES + (one_in(2) ? 0 : random_below(&state, 1200)), bytes = 0;
        uint8_t *got = malloc(size); /* of just its size, so that a sanitizer sees a step beyond */
        struct handshake_datagram d = {.tag = (uint32_t)random_below(&state, 3),
                                       .nonce = random_below(&state, 3),
                                       .cookie = random_next(&state),
                                       .at = (uint16_t)(random_below(&state, 16) * 1024),
                                       .flags = (uint8_t)random_below(&state, 8)};
        memset(got, 0, size);
        handshake_encode(got + size - TRAILER_BYTES, &d);
        if (one_in(4))
            got[size - 1 - random_below(&state, TRAILER_BYTES)] ^= (uint8_t)(1 << (n % 8));
        if (handshake_decode(got, size, &d, &bytes) == VERDICT_OK) {
            accepted++;
            handshake_encode(again, &d);
            ck_assert_mem_eq(again, got + size - TRAILER_BYTES, TRAILER_BYTES);
            ck_assert_uint_le(d.at + bytes, HANDSHAKE_ROOM);
            ck_assert_uint_le(bytes + TRAILER_BYTES, size);
        }
        free(got);
    }
    ck_assert_uint_gt(accepted, 1000);
}

/* From a little below 2^22 and 2^32: the epoch and the wire's number begin anew. */
static const uint64_t starts[] = {(UINT64_C(1) << 22) - 10, (UINT64_C(1) << 32) - 10};

TEST(sealing__across_an_edge, .rows = ROWS(starts))
{
    static uint8_t staging[SEAL_STAGING], data[64], opened[64];
    static struct burst burst;
    fake_pair_init(&keys, 3, SEAL_EPOCH_BITS);
    keys.keys[0].log = NULL;
    keys.sender.units_out.next = keys.receiver.units_in.end = starts[_i];
    for (uint64_t n = starts[_i]; n < starts[_i] + 20; n++) {
        struct unit_trailer t = {
            .seq = (uint32_t)n, .length = 64, .pairing = keys.sender.pairing, .message = 1};
        struct sealed_unit unit;
        burst = (struct burst){.datagrams = 1, .segment = 96, .bytes = 96};
        unit_trailer_encode(burst.trailer[0], &t);
        burst.iov[0] = (struct iovec){data, 64};
        burst.iov[1] = (struct iovec){burst.trailer[0], TRAILER_BYTES};
        data[0] = (uint8_t)n;
        ck_assert(keyring_seal(&keys.sender, &burst, staging));
        ck_assert_int_eq(keyring_look_at_unit(&keys.receiver, staging + 80, &unit), SEALED_GOOD);
        ck_assert_uint_eq(unit.number, n);
        ck_assert(keyring_open_unit(&keys.receiver, &unit, staging, 64, opened));
        ck_assert_uint_eq(opened[0], (uint8_t)n);
    }
}
