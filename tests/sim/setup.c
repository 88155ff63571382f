#include "setup.h"

#include "chance.h"

static const uint64_t EDGES[] = {0,    1,    2,    31,   32,   33,    1407,  1408,  1409,
                                 1439, 1440, 1441, 2880, 9000, 30000, 65535, 65536, 140000};
enum { EDGES_COUNT = sizeof(EDGES) / sizeof(EDGES[0]), EDGES_SMALL = 6 };

static const duration GONE = 5 * SECOND; /* as machine.c has it */

instant absence_end(const struct absence *absence, instant at)
{
    if (at < absence->at || at == NEVER)
        return at;
    duration since = at - absence->at;
    if (absence->every != 0) {
        uint64_t most = (uint64_t)(absence->every - absence->length);
        uint64_t which = (uint64_t)(since / absence->every);
        since %= absence->every;
        if (absence->random != 0)
            since -= (duration)(chance_of(absence->random, which) % (most + 1));
    }
    return 0 <= since && since < absence->length ? at + (absence->length - since) : at;
}

static struct habits plain_habits(void)
{
    return (struct habits){.messages = 10,
                           .outstanding = 8,
                           .cancel_index = NO_MESSAGE,
                           .close_at = NEVER,
                           .restart_at = NEVER,
                           .stop_at = NEVER,
                           .idle = {.at = NEVER},
                           .frozen = {.at = NEVER}};
}

static struct sender_config plain_sender(void)
{
    return (struct sender_config){.unit_bytes = 1472,
                                  .is_offloaded = true,
                                  .burst_units = 32,
                                  .burst_bytes = 65000,
                                  .messages = 16,
                                  .transit_units = 512,
                                  .window_bytes = 512 * 1024,
                                  .gone = GONE,
                                  .congestion = CONGESTION_RENO};
}

static struct receiver_config plain_receiver(void)
{
    return (struct receiver_config){.unit_bytes = 1472,
                                    .messages = 16,
                                    .holes = 512,
                                    .intervals = 256,
                                    .capacity = 512 * 1024,
                                    .gone = GONE};
}

struct setup setup_plain(uint64_t seed)
{
    struct conditions good = {.delay = MILLISECOND};
    struct setup setup = {.seed = seed,
                          .out = good,
                          .back = good,
                          .sender = plain_sender(),
                          .receiver = plain_receiver(),
                          .submits = plain_habits(),
                          .posts = plain_habits(),
                          .size = 30000,
                          .flights = 1,
                          .limit_at = NEVER,
                          .cutting_until = NEVER,
                          .move = {.at = NEVER},
                          .check_every = 1,
                          .limit = 60 * SECOND};
    setup_patience(&setup, 10 * SECOND);
    return setup;
}

void setup_slow_kernel(struct setup *setup, uint64_t seed)
{
    setup->reading = (enum reading)(seed % 3);
    setup->flights = 1 + seed % 2;
    setup->flight = 3 * MILLISECOND;
    setup->hold = MILLISECOND;
}

void setup_patience(struct setup *setup, duration patience)
{
    setup->sender.connect = setup->sender.silence = setup->sender.progress = patience;
    setup->receiver.silence = patience;
}

static void keep_below(uint32_t *bytes, uint32_t most)
{
    if (*bytes > most)
        *bytes = most;
}

void setup_keys(struct setup *setup, uint32_t epoch_bits)
{
    setup->epoch_bits = epoch_bits;
    setup->sender.stays = setup->receiver.stays = true;
    setup->lie_permille = 0; /* a forecast is sealed with its unit */
    keep_below(&setup->sender.unit_bytes, UINT16_MAX - SEAL_CONTROL_BYTES);
    keep_below(&setup->receiver.unit_bytes, UINT16_MAX - SEAL_CONTROL_BYTES);
    keep_below(&setup->sender.burst_bytes, UINT16_MAX);
}

uint64_t setup_message_size(const struct setup *setup, uint64_t index)
{
    uint64_t number = chance_of(setup->seed + 3, index);
    switch (setup->sizes) {
    case SIZES_EDGES:
        return EDGES[number % EDGES_COUNT];
    case SIZES_LARGE:
        return EDGES[EDGES_SMALL + number % (EDGES_COUNT - EDGES_SMALL)];
    case SIZES_FIXED:
        break;
    }
    return setup->size;
}

uint64_t setup_buffer_size(const struct setup *setup, uint64_t index)
{
    uint64_t random = chance_of(setup->seed + 4, index);
    uint64_t size = setup_message_size(setup, index);
    if (chance_one_in(&random, setup->smaller_one_in))
        return chance_below(&random, size);
    if (chance_one_in(&random, setup->larger_one_in))
        return size + 1 + chance_below(&random, 5000);
    return size;
}

uint64_t setup_cut(const struct setup *setup, bool is_sender, uint64_t index)
{
    uint64_t random = chance_of(setup->seed + (is_sender ? 6 : 7), index);
    return chance_one_in(&random, setup->cut_one_in) ? random | 1 : 0;
}

bool setup_expects(const struct setup *setup, uint64_t index)
{
    uint64_t random = chance_of(setup->seed + 5, index);
    return chance_one_in(&random, setup->expect_one_in);
}
