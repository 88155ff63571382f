/* Strangers, and floods: what was said once comes again a hundred thousand times a second. Nobody
 * may answer it by as much, and a unit is repeated because it was lost, not because that is said so
 * often. The parameter is the types that come again, and perhaps LOSSY. */
#include "../scenario.h"

#include "core/wire/datagram.h"

#include <inttypes.h>

enum {
    ACKS = 1 << DATAGRAM_ACK_POSITIVE | 1 << DATAGRAM_ACK_NEGATIVE,
    REQUESTS = 1 << DATAGRAM_REQUEST,
    UNITS = 1 << DATAGRAM_UNIT,
    HELLOS = 1 << DATAGRAM_HELLO,
    LOSSY = 1 << 16,
};

static const duration EVERY = 10 * MICROSECOND;

static struct setup flooded(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    uint32_t types = parameter & (LOSSY - 1);
    bool is_rare = types == REQUESTS || types == HELLOS;
    struct conditions *way = (types & (UNITS | HELLOS)) != 0 ? &setup.out : &setup.back;
    setup.out.bytes_per_second = 2500000;
    setup.out.queue_bytes = 100000;
    setup.out.loss_permille = (parameter & LOSSY) != 0 ? 20 : 0;
    way->flood_types = types;
    way->flood_every = EVERY;
    way->flood_copies = is_rare ? 10000 : 100;
    setup.submits.pause = is_rare ? 300 * MILLISECOND : 0; /* so that there is time to answer */
    setup.sender.congestion = CONGESTION_CUBIC;
    setup.size = 500000;
    setup.check_every = 512;
    return setup;
}

/* Each repeat has a loss of its own, the messages cross the path at most twice, hellos leave once a
 * millisecond, and a flood gets answers of less than a quarter of its size. */
static bool is_calm(struct world *w, uint32_t parameter)
{
    const struct sender_counters *c = sender_counters(w->sender.core);
    const struct link_counters *out = &w->out.counters;
    const struct link_counters *back = &w->back.counters;
    uint64_t data = w->setup.size * w->setup.submits.messages;
    (void)parameter;
    scene_expect(&w->scene, out->flooded + back->flooded > 20000,
                 "only %" PRIu64 " datagrams came again", out->flooded + back->flooded);
    scene_expect(&w->scene, c->repeated <= out->lost + 2 * c->probes,
                 "%" PRIu64 " repeats of %" PRIu64 " lost", c->repeated, out->lost);
    scene_expect(&w->scene, out->bytes <= 2 * data, "%" PRIu64 " bytes out", out->bytes);
    scene_expect(&w->scene, out->sent - c->units <= 100 + (uint64_t)(w->scene.now / MILLISECOND),
                 "%" PRIu64 " hellos", out->sent - c->units);
    return scene_expect(&w->scene, back->bytes <= data / 4 + out->flooded_bytes / 4,
                        "%" PRIu64 " bytes back", back->bytes);
}

/* ---- strangers, who send the like of all that passes: not one word of it changes anything */

static struct setup strange(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.out.forge_permille = setup.back.forge_permille = parameter;
    setup.submits.pause = setup.posts.pause = 5 * MILLISECOND;
    setup.submits.messages = setup.posts.messages = 40;
    setup.sizes = SIZES_EDGES;
    setup.larger_one_in = 2;
    setup.smaller_one_in = 5;
    setup.reading = (enum reading)(seed % 3);
    return setup;
}

static bool is_unmoved(struct world *w, uint32_t parameter)
{
    const struct sender_counters *s = sender_counters(w->sender.core);
    const struct receiver_counters *r = receiver_counters(w->receiver.core);
    (void)parameter;
    scene_expect(&w->scene, w->out.counters.forged > 5 && w->back.counters.forged > 5,
                 "few datagrams of strangers");
    scene_expect(&w->scene, s->drop_session > 0 && r->drop_session > 0, "no stranger was noticed");
    return scene_expect(&w->scene, s->repeated == 0 && s->probes == 0 && s->lost == 0,
                        "a stranger's word was believed: %" PRIu64 " repeats", s->repeated);
}

/* ---- a stranger who says to both ends, a hundred times a second, that nobody listens at the
 * other: over a satellite that loses a fifth, beside users that do nothing for some time, and
 * processes that are stopped for so many ms. */

enum { KEYED = 1 << 16 };

static struct setup lied_to(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    duration stopped = (parameter & (KEYED - 1)) * MILLISECOND;
    setup.lie_every = 10 * MILLISECOND;
    setup.out.delay = setup.back.delay = 300 * MILLISECOND;
    setup.out.loss_permille = setup.back.loss_permille = 200;
    setup.submits.messages = setup.posts.messages = 40;
    setup.submits.pause = 20 * SECOND;
    setup.submits.frozen = (struct absence){.length = stopped, .every = 17 * SECOND};
    setup.posts.frozen =
        (struct absence){.at = 3 * SECOND, .length = stopped, .every = 19 * SECOND};
    setup.check_every = 64;
    setup.limit = 2000 * SECOND;
    setup_patience(&setup, 30 * SECOND);
    if ((parameter & KEYED) != 0)
        setup_keys(&setup, 10);
    return setup;
}

/* The questions are few, and so are the answers. */
static bool is_doubtful(struct world *w, uint32_t parameter)
{
    uint64_t seconds = 1 + (uint64_t)(w->scene.now / SECOND);
    uint64_t hellos = sender_counters(w->sender.core)->hellos;
    uint64_t requests = receiver_counters(w->receiver.core)->requests;
    (void)parameter;
    scene_expect(&w->scene, seconds > 100 && w->lies > 50 * seconds, "few lies");
    return scene_expect(&w->scene, hellos <= 12 * seconds && requests <= 12 * seconds,
                        "%" PRIu64 " hellos and %" PRIu64 " requests in %" PRIu64 " s", hellos,
                        requests, seconds);
}

const struct scenario scenarios_of_floods[] = {
    {"lies", lied_to, is_doubtful, 0, 5, 0, 0},
    {"lies, processes that stop", lied_to, is_doubtful, 2500, 5, 0, 0},
    {"lies, keys", lied_to, is_doubtful, 2500 | KEYED, 5, 0, 0},
    {"strangers", strange, is_unmoved, 300, 20, 0, 0},
    {"more strangers than friends", strange, is_unmoved, 1000, 20, 0, 0},
    {"flood of acknowledgements", flooded, is_calm, ACKS, 0, 2, 0},
    {"flood of acknowledgements, loss", flooded, is_calm, ACKS | LOSSY, 0, 2, 0},
    {"flood of requests", flooded, is_calm, REQUESTS, 0, 2, 0},
    {"flood of requests, loss", flooded, is_calm, REQUESTS | LOSSY, 0, 2, 0},
    {"flood of units", flooded, is_calm, UNITS, 0, 2, 0},
    {"flood of hellos", flooded, is_calm, HELLOS, 0, 2, 0},
    {.name = NULL},
};
