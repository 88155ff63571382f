/* Every loss pattern and every order of a small burst: each unit gets to its slot, and exactly the
 * units that came down elsewhere are moved. */
#include "../support/scatter.h"
#include "../support/suite.h"
#include "core/receiver/landing.h"

#include "../support/asserts.h"
#include <stdlib.h>
#include <string.h>

enum { UNITS_MAX = 8, STRIDE = 128, OPENINGS = 8 };

static uint8_t memory[OPENINGS * (LANDING_SPILL + LANDING_DATAGRAM)];
static struct landing landing;
static uint8_t user[UNITS_MAX * STRIDE];
static uint8_t expected[UNITS_MAX * STRIDE];

/* Unit u is all bytes u, its tail too; its slot lies at u * distance. */
struct burst_shape {
    uint32_t units;
    uint32_t distance;
    uint32_t length[UNITS_MAX];
};

static void begin(const struct burst_shape *shape, bool is_one_opening)
{
    memset(user, 0xEE, sizeof user);
    memset(expected, 0xEE, sizeof expected);
    landing_init(&landing, memory, OPENINGS);
    for (uint32_t u = 0; u < shape->units; u++) {
        ck_assert(landing_offer(&landing, user + u * shape->distance, shape->length[u]));
        if (!is_one_opening || u + 1 == shape->units)
            ck_assert(landing_seal(&landing));
    }
    landing_check(&landing);
}

static void receive_together(const struct burst_shape *shape, const uint32_t *order, uint32_t count)
{
    uint8_t bytes[UNITS_MAX * (STRIDE + TRAILER_BYTES)];
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = shape->length[order[i]] + TRAILER_BYTES;
        memset(bytes + at, (int)order[i], size);
        at += size;
    }
    scatter(&landing, bytes, at, shape->length[0] + TRAILER_BYTES);
}

static void receive_each(const struct burst_shape *shape, const uint32_t *order, uint32_t count)
{
    uint8_t bytes[STRIDE + TRAILER_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        memset(bytes, (int)order[i], sizeof bytes);
        scatter(&landing, bytes, shape->length[order[i]] + TRAILER_BYTES, 0);
    }
}

/* Nothing but the slots may have changed yet. */
static void accept_landed(const struct burst_shape *shape)
{
    for (uint32_t u = 0; u < shape->units; u++) {
        uint32_t first = u * shape->distance;
        memcpy(expected + first, user + first, shape->length[u]);
    }
    ck_assert_mem_eq(user, expected, sizeof user);
}

/* Brings each unit home; returns the bytes moved. */
static uint32_t repair(const struct burst_shape *shape, const uint32_t *order, uint32_t count)
{
    struct landing_walk walk = {0};
    struct segment s;
    uint32_t moved = 0;
    accept_landed(shape);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t u = order[i];
        ck_assert(landing_next(&landing, &walk, &s));
        ck_assert_uint_eq(s.bytes, shape->length[u] + TRAILER_BYTES);
        ck_assert_uint_eq(s.tail[0], u);
        ck_assert_uint_eq(s.tail[TRAILER_BYTES - 1], u);
        moved += landing_move(&landing, &s, 0, shape->length[u], user + u * shape->distance);
        memset(expected + u * shape->distance, (int)u, shape->length[u]);
    }
    ck_assert(!landing_next(&landing, &walk, &s));
    landing_check(&landing);
    landing_move_all(&landing);
    ck_assert_mem_eq(user, expected, sizeof user);
    return moved;
}

static uint32_t displaced_bytes(const struct burst_shape *shape, const uint32_t *order,
                                uint32_t count)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += order[i] == i ? 0 : shape->length[order[i]];
    return bytes;
}

/* Units whose bit is set in `lost` do not arrive. */
static uint32_t survivors(uint32_t units, uint32_t lost, uint32_t *order)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < units; u++) {
        if (!(lost >> u & 1))
            order[count++] = u;
    }
    return count;
}

static void try_losses(const struct burst_shape *shape)
{
    for (uint32_t lost = 0; lost < 1u << shape->units; lost++) {
        uint32_t order[UNITS_MAX];
        uint32_t count = survivors(shape->units, lost, order);
        uint32_t displaced = displaced_bytes(shape, order, count);
        begin(shape, true);
        receive_together(shape, order, count);
        ck_assert_uint_eq(repair(shape, order, count), displaced);
        begin(shape, false);
        receive_each(shape, order, count);
        ck_assert_uint_eq(repair(shape, order, count), displaced);
    }
}

TEST(settle__every_loss)
{
    try_losses(&(struct burst_shape){8, 64, {64, 64, 64, 64, 64, 64, 64, 64}});
}

TEST(settle__every_loss_with_a_short_end)
{
    try_losses(&(struct burst_shape){8, 100, {96, 96, 96, 96, 96, 96, 96, 5}});
}

TEST(settle__as_planned_moves_nothing)
{
    const struct burst_shape shape = {8, 64, {64, 64, 64, 64, 64, 64, 64, 33}};
    const uint32_t order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    begin(&shape, true);
    receive_together(&shape, order, shape.units);
    ck_assert_uint_eq(repair(&shape, order, shape.units), 0);
}

TEST(settle__one_loss_moves_what_is_behind)
{
    const struct burst_shape shape = {8, 64, {64, 64, 64, 64, 64, 64, 64, 64}};
    for (uint32_t lost = 0; lost < shape.units; lost++) {
        uint32_t order[UNITS_MAX];
        uint32_t count = survivors(shape.units, 1u << lost, order);
        begin(&shape, true);
        receive_together(&shape, order, count);
        ck_assert_uint_eq(repair(&shape, order, count), (shape.units - 1 - lost) * 64);
    }
}

/* The next in lexicographic order; false after the last. */
static bool next_order(uint32_t *order, uint32_t count)
{
    uint32_t i = count - 1;
    while (i > 0 && order[i - 1] > order[i])
        i--;
    if (i == 0)
        return false;
    uint32_t j = count - 1;
    while (order[j] < order[i - 1])
        j--;
    uint32_t swapped = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swapped;
    for (j = count - 1; i < j; i++, j--) {
        swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    return true;
}

TEST(settle__every_order_in_one_opening)
{
    const struct burst_shape shape = {5, 64, {64, 64, 64, 64, 64}};
    uint32_t order[] = {0, 1, 2, 3, 4};
    do {
        begin(&shape, true);
        receive_together(&shape, order, 5);
        ck_assert_uint_eq(repair(&shape, order, 5), displaced_bytes(&shape, order, 5));
    } while (next_order(order, 5));
}

/* Sizes differ, so units overflow into scratch and spill and leave parts of slots alone. */
TEST(settle__every_order_in_openings_of_their_own)
{
    const struct burst_shape shape = {5, 100, {100, 1, 64, 33, 99}};
    uint32_t order[] = {0, 1, 2, 3, 4};
    do {
        begin(&shape, false);
        receive_each(&shape, order, 5);
        ck_assert_uint_eq(repair(&shape, order, 5), displaced_bytes(&shape, order, 5));
    } while (next_order(order, 5));
}
