/* A sender and a receiver with keys as a script of calls, and somebody on the path who loses,
 * repeats, reflects, changes and invents what crosses. The cipher is a fake, with short epochs.
 * Invariants are checked after each step, and that
 *
 *     a message that ended well is right to the byte, and behind its end nothing is left;
 *     no number is sealed twice;
 *     an end opens nothing that the other one has not sealed: it counts nothing else than drops;
 *     what is due is done in a few turns. */
#include "script.h"

#include "../support/fake_cipher.h"
#include "../support/memory.h"
#include "../support/scatter.h"
#include "../support/secret.h"
#include "core/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    UNIT = 64 + TRAILER_BYTES,
    MESSAGES = 16,
    SIZE_MOST = 1000,
    POOL = 32,
    WIRE_MOST = 1500,
    EPOCH_BITS = 4,
    TURNS_MOST = 1000, /* 16 messages of 16 units, of whose bursts each loses one, take 202 */
    DUE_MOST = 8,
    POISON = 0xAA,
};

struct numbers {
    uint64_t next;
};

struct run {
    struct script script;
    instant now;
    struct fake_pair keys;
    struct numbers sealed[3];
    struct sender *sender;
    struct receiver *receiver;
    struct landing landing;
    uint8_t *landing_memory;
    struct burst burst;
    uint8_t staging[SEAL_STAGING];
    uint8_t wire[POOL][WIRE_MOST]; /* what crossed last */
    size_t size[POOL];
    uint32_t pooled;
    uint8_t out[MESSAGES][SIZE_MOST], in[MESSAGES][SIZE_MOST];
    uint64_t length[MESSAGES];
    uint32_t begun;
};

static void log_number(void *context, uint64_t epoch, uint64_t number)
{
    struct numbers *sealed = context;
    CHECK(number >= sealed->next);
    CHECK(epoch == number >> EPOCH_BITS);
    sealed->next = number + 1;
}

static void begin(struct run *r)
{
    struct sender_config sender = {.unit_bytes = UNIT,
                                   .stays = true,
                                   .burst_units = 4,
                                   .burst_bytes = 1024,
                                   .messages = MESSAGES,
                                   .transit_units = 32,
                                   .window_bytes = 32 * UNIT,
                                   .connect = 10 * SECOND,
                                   .silence = 10 * SECOND,
                                   .progress = 10 * SECOND,
                                   .congestion = CONGESTION_NONE,
                                   .secret = secret_of_seed(5),
                                   .keyring = &r->keys.sender};
    struct receiver_config receiver = {.unit_bytes = UNIT,
                                       .stays = true,
                                       .messages = MESSAGES,
                                       .holes = 16,
                                       .intervals = 16,
                                       .capacity = 65536,
                                       .silence = 10 * SECOND,
                                       .secret = secret_of_seed(6),
                                       .jar = jar_of_seed(6),
                                       .keyring = &r->keys.receiver};
    fake_pair_init(&r->keys, 3, EPOCH_BITS);
    for (int i = 0; i < 3; i++) {
        r->keys.keys[2 * i].log = log_number;
        r->keys.keys[2 * i].context = &r->sealed[i];
    }
    r->now = SECOND;
    r->sender = memory_of_sender(&sender, r->now);
    r->receiver = memory_of_receiver(&receiver, r->now);
    r->landing_memory = malloc(landing_memory(2));
    landing_init(&r->landing, r->landing_memory, 2);
    receiver_admit(r->receiver, r->now);
}

/* ---- the users */

static void submit(struct run *r)
{
    static const uint16_t sizes[] = {0, 1, 63, 64, 65, 200, SIZE_MOST};
    uint32_t n = r->begun;
    uint64_t number, size = sizes[script_below(&r->script, 7)];
    uint64_t room = script_below(&r->script, 8) == 0 ? size / 2 : SIZE_MOST;
    if (n == MESSAGES)
        return;
    memset(r->in[n], POISON, SIZE_MOST);
    for (uint64_t i = 0; i < size; i++)
        r->out[n][i] = (uint8_t)(n * 31 + i * 7 + i / 64);
    r->length[n] = size;
    if (!receiver_post(r->receiver, r->now, r->in[n], r->in[n], room, &number))
        return;
    (void)sender_submit(r->sender, r->now, r->out[n], r->out[n], size, &number);
    r->begun++;
}

static void cancel(struct run *r)
{
    uint32_t n = script_below(&r->script, 2 * MESSAGES);
    if (n % MESSAGES >= r->begun)
        return;
    if (n < MESSAGES)
        (void)sender_cancel(r->sender, r->now, n);
    else
        (void)receiver_cancel(r->receiver, r->now, n % MESSAGES);
}

static void on_received(const struct run *r, const struct event *event)
{
    uint64_t n = (uint64_t)((uint8_t *)event->user - r->in[0]) / SIZE_MOST;
    if (event->outcome != OUTCOME_OK)
        return;
    CHECK(event->length == r->length[n]);
    CHECK(memcmp(r->in[n], r->out[n], r->length[n]) == 0);
    for (uint64_t i = r->length[n]; i < SIZE_MOST; i++)
        CHECK(r->in[n][i] == POISON || r->in[n][i] == 0);
}

static void take_events(struct run *r)
{
    struct event event;
    while (receiver_event(r->receiver, &event))
        on_received(r, &event);
    while (sender_event(r->sender, &event))
        CHECK(event.user != NULL);
}

/* ---- the path */

static void keep(struct run *r, const struct iovec pieces[2])
{
    uint32_t at = r->pooled++ % POOL;
    r->size[at] = pieces[0].iov_len + pieces[1].iov_len;
    CHECK(r->size[at] <= WIRE_MOST);
    if (pieces[0].iov_len > 0)
        memcpy(r->wire[at], pieces[0].iov_base, pieces[0].iov_len);
    memcpy(r->wire[at] + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
}

/* Datagrams of one size, the last of which may be shorter, land together. */
static void land(struct run *r, const uint8_t *bytes, size_t count, size_t segment)
{
    if (count == 0)
        return;
    receiver_plan(r->receiver, &r->landing, 2, 8);
    landing_check(&r->landing);
    scatter(&r->landing, bytes, (uint32_t)count, (uint32_t)segment);
    (void)receiver_landed(r->receiver, r->now, &r->landing);
}

static void hear(struct run *r, bool is_receiver, const uint8_t *datagram, size_t size)
{
    if (is_receiver)
        land(r, datagram, size, 0);
    else if (size > 0)
        sender_receive(r->sender, r->now, datagram, size);
}

/* Lands the datagrams that crossed from `first` on. The script says which are lost, and which one
 * is changed. */
static void land_row(struct run *r, uint32_t first)
{
    uint8_t row[POOL * WIRE_MOST];
    uint32_t lost = script_u8(&r->script), changed = script_u8(&r->script);
    size_t bytes = 0, segment = r->size[first % POOL];
    for (uint32_t i = first; i < r->pooled; i++) {
        size_t size = r->size[i % POOL];
        if (lost % 8 == i - first)
            continue;
        memcpy(row + bytes, r->wire[i % POOL], size);
        if (changed % 8 == i - first)
            row[bytes + script_number(&r->script, 2) % size] ^= 1;
        bytes += size;
    }
    land(r, row, bytes, segment);
}

static bool take_from_sender(struct run *r)
{
    if (!sender_take(r->sender, r->now, &r->burst))
        return false;
    CHECK(keyring_seal(&r->keys.sender, &r->burst, r->staging));
    uint32_t first = r->pooled;
    for (uint32_t i = 0; i < r->burst.datagrams; i++)
        keep(r, &r->burst.iov[2 * i]);
    sender_sent(r->sender, r->now, &r->burst, r->burst.datagrams);
    land_row(r, first);
    return true;
}

static bool take_from_receiver(struct run *r)
{
    if (!receiver_take(r->receiver, r->now, &r->burst))
        return false;
    CHECK(keyring_seal(&r->keys.receiver, &r->burst, r->staging));
    uint32_t at = r->pooled;
    keep(r, &r->burst.iov[0]);
    if (script_u8(&r->script) < 200)
        hear(r, false, r->wire[at % POOL], r->size[at % POOL]);
    return true;
}

static void take_all(struct run *r)
{
    for (int turn = 0; take_from_sender(r) || take_from_receiver(r); turn++)
        CHECK(turn < TURNS_MOST);
}

/* What crossed, again, to either end: it is opened once at most. */
static void repeat(struct run *r, uint32_t shape)
{
    uint32_t at = script_below(&r->script, POOL);
    if (at < r->pooled)
        hear(r, (shape & 1) != 0, r->wire[at], r->size[at]);
}

/* The same with a byte changed, or cut short: nobody has sealed it. */
static void change(struct run *r, uint32_t shape)
{
    uint8_t copy[WIRE_MOST];
    uint32_t at = script_below(&r->script, POOL);
    if (at >= r->pooled)
        return;
    size_t size = r->size[at];
    uint64_t place = script_number(&r->script, 2);
    memcpy(copy, r->wire[at], size);
    if ((shape & 2) != 0)
        copy[size - 1 - place % size] ^= (uint8_t)(1 + script_below(&r->script, 255));
    else
        size = place % size;
    uint64_t accepted = receiver_counters(r->receiver)->units;
    hear(r, (shape & 1) != 0, copy, size);
    CHECK(receiver_counters(r->receiver)->units == accepted);
}

static void invent(struct run *r, uint32_t shape)
{
    uint8_t bytes[512];
    size_t count;
    const uint8_t *in = script_bytes(&r->script, script_u8(&r->script), &count);
    memcpy(bytes, in, count);
    if ((shape & 2) != 0) {
        datagram_tail_encode(bytes + count, r->keys.sender.pairing, script_u8(&r->script),
                             1 + script_below(&r->script, 10));
        count += TAIL_BYTES;
    }
    hear(r, (shape & 1) != 0, bytes, count);
}

/* ---- time */

static instant deadline(const struct run *r)
{
    return instant_earlier(sender_deadline(r->sender), receiver_deadline(r->receiver));
}

static void pass_time(struct run *r)
{
    instant until = script_until(&r->script, r->now, deadline(r));
    if (until != NEVER && until > r->now)
        r->now = until;
    for (int turn = 0; turn == 0 || deadline(r) <= r->now; turn++) {
        CHECK(turn < DUE_MOST);
        sender_expire(r->sender, r->now);
        receiver_expire(r->receiver, r->now);
        take_all(r);
    }
}

static void step(struct run *r)
{
    uint32_t call = script_u8(&r->script);
    switch (call % 12) {
    case 0:
    case 1:
        submit(r);
        break;
    case 2:
    case 3:
        take_all(r);
        break;
    case 4:
    case 5:
        pass_time(r);
        break;
    case 6:
    case 7:
        repeat(r, call >> 6);
        break;
    case 8:
    case 9:
        change(r, call >> 6);
        break;
    case 10:
        invent(r, call >> 6);
        break;
    default:
        cancel(r);
        break;
    }
    take_events(r);
    sender_check(r->sender);
    receiver_check(r->receiver);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.script = script_of(in, size);
    begin(&run);
    while (!script_is_over(&run.script))
        step(&run);
    free(run.landing_memory);
    free(run.sender);
    free(run.receiver);
    return 0;
}
