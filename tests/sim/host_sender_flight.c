/* The sending thread and the kernel beneath it: bursts that are taken, stay for a while, and leave
 * at some moment of it, in part or as a whole. */
#include "host_sender.h"

#include "chance.h"
#include "core/path/offload_path.h"

#include <inttypes.h>
#include <string.h>

enum { TURNS_MOST = 10000 }; /* bursts at one instant: more is an endless loop */

/* A datagram's bytes, gathered from its pieces. */
static uint32_t gather(const struct burst *burst, uint32_t i, uint8_t *bytes)
{
    uint32_t size = 0;
    for (uint32_t piece = burst_first(burst, i); piece < burst_first(burst, i + 1); piece++) {
        const struct iovec *iov = &burst->iov[piece];
        if (iov->iov_len > 0)
            memcpy(bytes + size, iov->iov_base, iov->iov_len);
        size += (uint32_t)iov->iov_len;
    }
    return size;
}

/* Remembers which message a session began with, and expects the pairing to stay as it is. */
static void learn_pairing(struct host_sender *h, const struct burst *burst, uint32_t i)
{
    struct unit_trailer t;
    const struct iovec *data = &burst->iov[burst_first(burst, i)];
    if (burst->is_control || data->iov_len == 0)
        return;
    if (unit_trailer_decode(burst->trailer[i], burst_datagram_bytes(burst, i), &t) != VERDICT_OK) {
        scene_expect(h->scene, false, "a unit's trailer is broken");
        return;
    }
    for (uint32_t index = h->user.oldest; index < h->user.begun; index++) {
        if (!shadow_meets(&h->user.entry[index].shadow, data->iov_base, 1))
            continue;
        uint32_t known = host_sender_index(h, t.pairing.session, t.message);
        if (known == NO_MESSAGE && h->sessions < SESSIONS)
            h->beginning[h->sessions++] = (struct beginning){
                t.pairing.session, index - (t.message - h->config.first_message)};
        scene_expect(h->scene, known == NO_MESSAGE || known == index,
                     "message %" PRIu32 " is number %" PRIu32 " of its session", index, t.message);
        return;
    }
    scene_expect(h->scene, false, "a unit has data that is no message's");
}

uint32_t host_sender_index(const struct host_sender *h, uint32_t session, uint32_t number)
{
    for (uint32_t i = 0; i < h->sessions; i++)
        if (h->beginning[i].session == session)
            return h->beginning[i].index + (number - h->config.first_message);
    return NO_MESSAGE;
}

/* Makes up a forecast: of anything, or of what could be. */
static void lie(struct host_sender *h, uint8_t *bytes, uint32_t size)
{
    struct unit_trailer t;
    uint64_t *random = &h->scene->random;
    if (!chance_permille(random, h->scene->setup->lie_permille) || size < TRAILER_BYTES ||
        unit_trailer_decode(bytes + size - TRAILER_BYTES, size, &t) != VERDICT_OK)
        return;
    bool is_wild = chance_one_in(random, 4);
    t.flags |= FLAG_HAS_NEXT;
    t.next_step = (int16_t)(is_wild ? random_next(random) : chance_below(random, 3));
    t.next_unit = (uint32_t)(is_wild ? random_next(random) : chance_below(random, 3000));
    t.next_length = (uint16_t)chance_below(random, is_wild ? UNIT_DATA_MAX + 1 : 1441);
    unit_trailer_encode(bytes + size - TRAILER_BYTES, &t);
}

/* Bytes of a datagram that leave the kernel; 0: it does not. */
static uint32_t cut(const struct host_sender *h, const struct burst *burst, uint32_t size)
{
    const struct setup *setup = h->scene->setup;
    bool is_cut = burst->datagrams > 1 && !burst->is_single;
    if (!is_cut || setup->cutting == CUTTING_WORKS || h->scene->now >= setup->cutting_until)
        return size;
    return setup->cutting == CUTTING_LOSES ? 0 : size - TRAILER_BYTES / 2;
}

static void leave(struct host_sender *h, struct flight *flight)
{
    uint8_t bytes[UINT16_MAX + TRAILER_BYTES];
    const struct burst *burst =
        flight->envelope != NULL ? &flight->envelope->burst : &flight->burst;
    flight->has_left = true;
    for (uint32_t i = 0; i < flight->accepted; i++) {
        uint32_t size = gather(burst, i, bytes);
        learn_pairing(h, &flight->burst, i);
        lie(h, bytes, size);
        size = cut(h, &flight->burst, size);
        if (size > 0)
            link_send(h->out, h->scene->now, bytes, size);
    }
}

static void land(struct host_sender *h, struct flight *flight)
{
    flight->is_up = false;
    sender_sent(h->core, h->scene->now, &flight->burst, flight->accepted);
}

void host_sender_run_flights(struct host_sender *h)
{
    for (int i = 0; i < FLIGHTS; i++) {
        struct flight *flight = &h->flight[i];
        if (flight->is_up && !flight->has_left && flight->leaves <= h->scene->now)
            leave(h, flight);
        if (flight->is_up && flight->lands <= h->scene->now)
            land(h, flight);
    }
}

/* How many datagrams of the burst the kernel takes. */
static uint32_t accepted(struct host_sender *h, const struct burst *burst)
{
    const struct setup *setup = h->scene->setup;
    if (h->scene->now >= setup->limit_at && burst->segment > setup->limit_bytes) {
        sender_on_refused_size(h->core, h->scene->now, burst->segment);
        return 0;
    }
    if (chance_permille(&h->scene->random, setup->refuse_permille))
        return (uint32_t)chance_below(&h->scene->random, burst->datagrams);
    return burst->datagrams;
}

static void expect_burst(struct host_sender *h, const struct burst *burst)
{
    uint32_t bytes = 0;
    scene_expect(h->scene, burst->datagrams > 0, "an empty burst");
    for (uint32_t i = 0; i < burst->datagrams; i++) {
        uint32_t size = burst_datagram_bytes(burst, i);
        bool is_last = i + 1 == burst->datagrams;
        bytes += size;
        scene_expect(h->scene, size == burst->segment || (is_last && size < burst->segment),
                     "datagram %" PRIu32 " of a burst has %" PRIu32 " bytes, not %" PRIu32, i, size,
                     burst->segment);
    }
    scene_expect(h->scene, burst_first(burst, burst->datagrams) <= BURST_PIECES,
                 "a burst has too many pieces");
    scene_expect(h->scene, bytes == burst->bytes, "a burst is wrong about its bytes");
    scene_expect(h->scene, bytes <= h->config.burst_bytes, "a burst is too long");
    scene_expect(h->scene, burst->datagrams <= h->config.burst_units, "a burst has too many units");
}

/* Bursts are sealed in the order in which they are taken, whenever they leave, and however much of
 * them. */
static void seal(struct host_sender *h, struct flight *flight)
{
    struct envelope *envelope = flight->envelope;
    if (envelope == NULL)
        return;
    envelope->burst = flight->burst;
    scene_expect(h->scene, keyring_seal(h->config.keyring, &envelope->burst, envelope->staging),
                 "a burst cannot be sealed");
}

static void note_cutting(struct host_sender *h, const struct burst *burst)
{
    instant now = h->scene->now;
    bool is_cut = burst->datagrams > OFFLOAD_PATH_FEW && !burst->is_single;
    if (h->first_unit_at == 0 && !burst->is_control)
        h->first_unit_at = now;
    if (h->single_at == 0 && burst->is_single && burst->datagrams > 2)
        h->single_at = now;
    if (h->offload_failed_at == 0 && sender_counters(h->core)->offload_failures > 0)
        h->offload_failed_at = now;
    if (is_cut && h->offload_failed_at != 0 && h->cut_again_at == 0 &&
        now >= h->scene->setup->cutting_until)
        h->cut_again_at = now;
}

/* True if a burst was taken. */
static bool take_off(struct host_sender *h, struct flight *flight)
{
    if (flight->is_up || !sender_take(h->core, h->scene->now, &flight->burst))
        return false;
    expect_burst(h, &flight->burst);
    note_cutting(h, &flight->burst);
    seal(h, flight);
    flight->is_up = true;
    flight->has_left = false;
    flight->accepted = accepted(h, &flight->burst);
    duration stay = scene_some(h->scene, h->scene->setup->flight);
    flight->leaves = h->scene->now + scene_some(h->scene, stay);
    flight->lands = h->scene->now + stay;
    return true;
}

void host_sender_take_off(struct host_sender *h)
{
    for (uint32_t turns = 0;; turns++) {
        bool any = false;
        for (uint32_t i = 0; i < h->scene->setup->flights; i++)
            any |= take_off(h, &h->flight[i]);
        host_sender_run_flights(h);
        if (!any || !scene_expect(h->scene, turns < TURNS_MOST, "bursts without end"))
            return;
    }
}
