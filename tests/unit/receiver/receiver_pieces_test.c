/* Buffers that lie in several pieces of memory: what is planned there, what is moved there, and
 * what is left behind a message's end. */
#include "receiver_rig.h"

#include "../../support/suite.h"

enum { OWN = 0x5A, SIZE = 6 * RIG_DATA, CRUMBS = 100 };

enum { PAGE = 4096 };

_Alignas(PAGE) static uint8_t memory[2 * PAGE];
static struct pieces *table;

static void setup(void)
{
    receiver_rig_init();
    memset(memory, OWN, sizeof memory);
}

static void teardown(void)
{
    receiver_rig_fini();
    free(table);
    table = NULL;
}

FIXTURE(setup, teardown)

static void post(const struct iovec *piece, uint32_t count)
{
    uint64_t number;
    char expected[64];
    table = pieces_init(malloc(pieces_room(count)), piece, count);
    ck_assert(receiver_post_pieces(rig.r, rig.now, NULL, table, table->bytes, &number));
    snprintf(expected, sizeof expected, "request 0*1=%" PRIu64, table->bytes);
    receiver_rig_bind(expected);
}

/* A header of 40 bytes, and the rest lower in memory. */
static void post_two(void)
{
    const struct iovec piece[] = {{memory + 2000, 40}, {memory + 100, SIZE - 40}};
    post(piece, 2);
}

/* The message ended with these bytes in its pieces, and no other byte of the memory was touched. */
static void expect_message(uint64_t length)
{
    struct event event;
    uint32_t own = 0;
    ck_assert(receiver_event(rig.r, &event));
    ck_assert_int_eq(event.outcome, OUTCOME_OK);
    ck_assert_uint_eq(event.length, length);
    pieces_clear(table, NULL, length, event.scribbled);
    for (uint64_t i = 0; i < table->bytes; i++) {
        uint64_t run;
        uint8_t *at = pieces_at(table, i, &run);
        if (i < length)
            ck_assert_msg(*at == receiver_rig_byte(0, i), "byte %" PRIu64, i);
        else
            ck_assert_msg(*at == OWN || *at == 0, "byte %" PRIu64, i);
        *at = OWN;
    }
    for (size_t i = 0; i < sizeof memory; i++)
        own += memory[i] == OWN;
    ck_assert_uint_eq(own, sizeof memory);
}

static uint64_t moved(void)
{
    return receiver_counters(rig.r)->moved;
}

/* All as foreseen: a unit in two pieces lands in place, and others in a row. */
TEST(pieces__land_in_place)
{
    post_two();
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_plan();
    ck_assert_ptr_eq(rig.landing.iov[0].iov_base, memory + 100 + RIG_DATA - 40);
    for (uint32_t i = 1; i < 6; i++) {
        struct unit_trailer t = i < 5 ? receiver_rig_unit(i, 0, i * RIG_DATA)
                                      : receiver_rig_last(i, 0, i * RIG_DATA, RIG_DATA);
        receiver_rig_put_unit(&t);
    }
    receiver_rig_landed();
    expect_message(SIZE);
    ck_assert_uint_eq(moved(), 0);
}

/* The first unit of two pieces was expected, and the second came: it is moved to where it belongs,
 * and the first repairs what that left. */
TEST(pieces__out_of_order)
{
    post_two();
    receiver_rig_land_unit(receiver_rig_unit(1, 0, RIG_DATA));
    ck_assert_uint_eq(moved(), 1);
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    for (uint32_t i = 2; i < 5; i++)
        receiver_rig_land_unit(receiver_rig_unit(i, 0, i * RIG_DATA));
    receiver_rig_land_unit(receiver_rig_last(5, 0, 5 * RIG_DATA, RIG_DATA));
    expect_message(SIZE);
}

/* A unit that came elsewhere and belongs into several pieces. */
TEST(pieces__brought_to_two)
{
    const struct iovec piece[] = {{memory + 2000, RIG_DATA + 10}, {memory + 100, SIZE - RIG_DATA}};
    post(piece, 2);
    receiver_rig_land_unit(receiver_rig_unit(1, 0, RIG_DATA));
    ck_assert_uint_eq(moved(), 1);
    ck_assert_uint_eq(memory[2000 + RIG_DATA + 9], receiver_rig_byte(0, RIG_DATA + 9));
    ck_assert_uint_eq(memory[100], receiver_rig_byte(0, RIG_DATA + 10));
}

/* More pieces than a slot has: it lands beside them, and is moved. */
TEST(pieces__of_a_byte_each)
{
    struct iovec piece[CRUMBS];
    for (uint32_t i = 0; i < CRUMBS; i++)
        piece[i] = (struct iovec){memory + 3 * (CRUMBS - i), 1};
    post(piece, CRUMBS);
    receiver_rig_plan();
    for (uint32_t i = 0; i < rig.landing.first[1]; i++)
        ck_assert((uint8_t *)rig.landing.iov[i].iov_base < memory ||
                  (uint8_t *)rig.landing.iov[i].iov_base >= memory + sizeof memory);
    struct unit_trailer t = receiver_rig_unit(0, 0, 0);
    receiver_rig_put_unit(&t);
    t = receiver_rig_last(1, 0, RIG_DATA, CRUMBS - RIG_DATA);
    receiver_rig_put_unit(&t);
    receiver_rig_landed();
    ck_assert_uint_eq(moved(), 2);
    expect_message(CRUMBS);
}

/* A channel that takes one piece for each slot (AAL5). */
TEST(pieces__of_a_channel_that_takes_one)
{
    post_two();
    rig.landing.slot_pieces = 1;
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    ck_assert_uint_eq(moved(), 1);
    for (uint32_t i = 1; i < 5; i++)
        receiver_rig_land_unit(receiver_rig_unit(i, 0, i * RIG_DATA));
    receiver_rig_land_unit(receiver_rig_last(5, 0, 5 * RIG_DATA, RIG_DATA));
    ck_assert_uint_eq(moved(), 1);
    expect_message(SIZE);
}

/* A short message in a slot for a full unit: its trailer came down in the pieces behind it. */
TEST(pieces__wiped_behind_the_end)
{
    post_two();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 30));
    expect_message(30);
}

static void land_junk(void)
{
    uint8_t junk[SIZE];
    memset(junk, 0xEE, sizeof junk);
    receiver_rig_put(junk, sizeof junk);
    receiver_rig_land();
}

/* A stranger's datagram in the pieces. */
TEST(pieces__what_a_stranger_sent)
{
    post_two();
    land_junk();
    receiver_rig_land_unit(receiver_rig_last(0, 0, 0, 10));
    expect_message(10);
}

/* One that was cancelled may be freed, with its table, before the peer has heard of it; a stranger
 * goes on. */
TEST(pieces__freed_while_the_peer_is_told)
{
    post_two();
    rig.posted = 1;
    receiver_rig_post(SIZE);
    ck_assert(receiver_cancel(rig.r, rig.now, 0));
    receiver_rig_expect_end(OUTCOME_CANCELLED);
    memset(table, 0xFF, pieces_room(2));
    land_junk();
    table->count = 0; /* of what the test looks at itself */
}

static bool is_not_writable(const void *at, size_t bytes)
{
    return (const uint8_t *)at + bytes <= memory || (const uint8_t *)at >= memory + PAGE;
}

/* The second piece cannot be written: nothing is moved there, and the message fails. */
TEST(pieces__one_cannot_be_written)
{
    const struct iovec piece[] = {{memory + PAGE, 40}, {memory + 100, SIZE - 40}};
    rig.landing.slot_pieces = 1;
    post(piece, 2);
    rig.landing.is_writable = is_not_writable;
    receiver_rig_land_unit(receiver_rig_unit(0, 0, 0));
    receiver_rig_expect_end(OUTCOME_FAULT);
    for (size_t i = 0; i < sizeof memory; i++)
        ck_assert_msg(memory[i] == OWN, "byte %zu", i);
}

TEST(pieces__told)
{
    struct iovec piece;
    post_two();
    ck_assert(receiver_piece(rig.r, 0, 0, &piece) && piece.iov_base == memory + 2000);
    ck_assert(receiver_piece(rig.r, 0, 1, &piece) && piece.iov_len == SIZE - 40);
    ck_assert(!receiver_piece(rig.r, 0, 2, &piece));
    ck_assert(!receiver_piece(rig.r, 1, 0, &piece));
}

TEST(pieces__that_overlap, .signal = SIGABRT)
{
    const struct iovec piece[] = {{memory, 40}, {memory + 39, 40}};
    post(piece, 2);
}
