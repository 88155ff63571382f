/* Datagrams as PDUs of cells, and all that an ATM network does to them. */
#include "../chance.h"
#include "../scenario.h"

#include <inttypes.h>

enum { LOST, PARTIAL, EARLY, SWAPPED, MERGED, TAGGED, CONGESTED, ALL };

/* Chances in a million; of cells, or of PDUs. */
static const struct aal5_faults networks[] = {
    [LOST] = {.loss = 10000},
    [PARTIAL] = {.loss = 10000, .discard = AAL5_DISCARD_PARTIAL},
    [EARLY] = {.loss = 10000, .discard = AAL5_DISCARD_EARLY},
    [SWAPPED] = {.swapped = 10000},
    [MERGED] = {.merged = 100000},
    [TAGGED] = {.tagged = 500000, .tagged_loss = 20000},
    [CONGESTED] = {.congested = 100000},
    [ALL] = {.loss = 5000,
             .tagged = 200000,
             .tagged_loss = 5000,
             .swapped = 1000,
             .merged = 10000,
             .congested = 100000,
             .discard = AAL5_DISCARD_PARTIAL},
};

static struct setup cells(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.sender.is_cut = true;
    setup.out.cells = setup.back.cells = networks[parameter];
    setup.out.cells.seed = chance_of(seed, 5);
    setup.back.cells.seed = chance_of(seed, 6);
    setup.sizes = SIZES_LARGE;
    setup.submits.messages = setup.posts.messages = 30;
    setup.sender.congestion = seed % 2 == 0 ? CONGESTION_BBR : CONGESTION_CUBIC;
    setup.reading = READING_SINGLE;
    setup.hold = 100 * MICROSECOND;
    setup.flight = 100 * MICROSECOND;
    setup_patience(&setup, 60 * SECOND);
    setup.limit = 3600 * SECOND;
    return setup;
}

/* The network did what it was asked to; nothing got through it that was not sent, and the sender
 * knows what it was told of congestion. */
static bool is_as_asked(struct world *w, uint32_t parameter)
{
    const struct aal5_faults *asked = &networks[parameter];
    const struct circuit *out = w->out.circuit;
    uint64_t said = sender_counters(w->sender.core)->marks;
    uint64_t counted = receiver_counters(w->receiver.core)->marks;
    scene_expect(&w->scene, !out->has_passed_others && !w->back.circuit->has_passed_others,
                 "the CRC let something pass");
    scene_expect(&w->scene, (out->network.pdus_hit > 0) == (parameter != CONGESTED),
                 "%" PRIu64 " PDUs hit", out->network.pdus_hit);
    scene_expect(&w->scene, (counted > 0) == (asked->congested > 0), "%" PRIu64 " marks", counted);
    scene_expect(&w->scene, said <= counted && (said > 0) == (counted > 0),
                 "%" PRIu64 " marks told of %" PRIu64, said, counted);
    return !w->scene.has_failed;
}

const struct scenario scenarios_of_cells[] = {
    {"cells lost", cells, is_as_asked, LOST, 10, 0, 0},
    {"cells lost, partial discard", cells, is_as_asked, PARTIAL, 10, 0, 0},
    {"cells lost, early discard", cells, is_as_asked, EARLY, 10, 0, 0},
    {"cells swapped", cells, is_as_asked, SWAPPED, 10, 0, 0},
    {"PDUs merged", cells, is_as_asked, MERGED, 10, 0, 0},
    {"tagged cells lost", cells, is_as_asked, TAGGED, 10, 0, 0},
    {"congestion without loss", cells, is_as_asked, CONGESTED, 10, 0, 0},
    {"all that happens to cells", cells, is_as_asked, ALL, 10, 0, 0},
    {.name = NULL},
};
