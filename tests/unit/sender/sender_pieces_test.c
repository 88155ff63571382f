/* Messages that lie in several pieces of memory: how they are cut into units, and which burst these
 * are in. */
#include "sender_rig.h"

#include "../../support/suite.h"

enum { CRUMBS = 300 };

static uint8_t memory[4096];
static struct pieces *table;

static void setup(void)
{
    struct sender_config config = sender_rig_config();
    config.burst_units = 20;
    sender_rig_init(&config);
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (uint8_t)(i * 7 + 1);
}

static void teardown(void)
{
    sender_rig_fini();
    free(table);
    table = NULL;
}

FIXTURE(setup, teardown)

static uint64_t submit(const struct iovec *piece, uint32_t count)
{
    uint64_t number = UINT64_MAX;
    table = pieces_init(malloc(pieces_room(count)), piece, count);
    ck_assert(sender_submit_pieces(rig.s, rig.now, NULL, table, table->bytes, &number));
    return number;
}

/* Of a byte each, every second byte of the memory. */
static void submit_crumbs(void)
{
    static struct iovec piece[CRUMBS];
    for (uint32_t i = 0; i < CRUMBS; i++)
        piece[i] = (struct iovec){memory + 2 * i, 1};
    submit(piece, CRUMBS);
}

/* The data of datagram i, gathered, are these. */
static void expect_data(uint32_t i, const uint8_t *expected, size_t size)
{
    const struct iovec *piece = &rig.burst.iov[burst_first(&rig.burst, i)];
    uint32_t pieces = burst_first(&rig.burst, i + 1) - burst_first(&rig.burst, i);
    uint8_t bytes[256];
    size_t at = 0;
    for (uint32_t k = 0; k + 1 < pieces; at += piece[k++].iov_len)
        memcpy(bytes + at, piece[k].iov_base, piece[k].iov_len);
    ck_assert_uint_eq(at, size);
    ck_assert_mem_eq(bytes, expected, size);
    ck_assert_ptr_eq(piece[pieces - 1].iov_base, rig.burst.trailer[i]);
}

/* A unit in two pieces, and then rows within one: the burst is scattered. */
TEST(pieces__a_header_and_the_rest)
{
    const struct iovec piece[] = {{memory + 1000, 40}, {memory, 300}};
    uint8_t expected[RIG_DATA];
    submit(piece, 2);
    sender_rig_submit(2 * RIG_DATA);
    sender_rig_pair(2, 1000);
    sender_rig_expect_taken("0:0+64 0:64+64 0:128+64 0:192+64 0:256+64 0:320+20L");
    ck_assert(rig.burst.is_scattered);
    ck_assert_uint_eq(burst_first(&rig.burst, 1), 3);
    ck_assert_uint_eq(burst_first(&rig.burst, 6), 13);
    memcpy(expected, memory + 1000, 40);
    memcpy(expected + 40, memory, 24);
    expect_data(0, expected, RIG_DATA);
    for (uint32_t i = 1; i < 6; i++)
        expect_data(i, memory + 24 + (i - 1) * RIG_DATA, i < 5 ? RIG_DATA : 20);
    sender_sent(rig.s, rig.now, &rig.burst, 6);
    sender_rig_expect("1:0+64 1:64+64LA");
    ck_assert(!rig.burst.is_scattered);
}

/* Pieces cut where units are: each unit lies in one, and nothing is different. */
TEST(pieces__cut_at_units)
{
    const struct iovec piece[] = {{memory + 1000, 2 * RIG_DATA}, {memory, 3 * RIG_DATA}};
    submit(piece, 2);
    sender_rig_pair(1, 1000);
    sender_rig_expect_taken("0:0+64 0:64+64 0:128+64 0:192+64 0:256+64LA");
    ck_assert(!rig.burst.is_scattered);
    expect_data(1, memory + 1000 + RIG_DATA, RIG_DATA);
    expect_data(2, memory, RIG_DATA);
    sender_sent(rig.s, rig.now, &rig.burst, 5);
}

/* No unit lies in more pieces than UNIT_PIECES, so larger ones are cut shorter, at a grain; also
 * what is repeated. */
TEST(pieces__too_many_for_a_unit)
{
    struct sender_config config = sender_rig_config();
    sender_rig_fini();
    config.unit_bytes = 200 + TRAILER_BYTES; /* of data: 192 */
    sender_rig_init(&config);
    submit_crumbs();
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64");
    sender_rig_expect("0:256+44LA");
    sender_rig_ack("0 1 4");
    sender_rig_wait();
    rig.now += SECOND;
    sender_rig_wait();
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    for (uint32_t i = 0; i < rig.burst.datagrams; i++)
        ck_assert_uint_le(burst_first(&rig.burst, i + 1) - burst_first(&rig.burst, i),
                          UNIT_PIECES + 1);
    sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
}

/* A burst has no more pieces than a call takes: the others go with the next. */
TEST(pieces__too_many_for_a_burst)
{
    struct sender_config config = sender_rig_config();
    uint64_t number;
    sender_rig_fini();
    config.burst_units = BURST_UNITS;
    config.burst_bytes = 65535;
    config.transit_units = 1024;
    config.window_bytes = 1 << 20;
    sender_rig_init(&config);
    submit_crumbs();
    for (int i = 0; i < 3; i++)
        ck_assert(sender_submit_pieces(rig.s, rig.now, NULL, table, CRUMBS, &number));
    sender_rig_pair(4, 1000);
    ck_assert(sender_take(rig.s, rig.now, &rig.burst));
    ck_assert(rig.burst.is_scattered);
    ck_assert_uint_eq(rig.burst.datagrams, 5); /* that ends with a shorter unit */
    ck_assert_uint_eq(burst_first(&rig.burst, 5), CRUMBS + 5);
    sender_sent(rig.s, rig.now, &rig.burst, 5);
}

/* What is near is lent in place, or copied: a unit in several pieces is alone in its burst. */
TEST(pieces__near)
{
    const struct iovec piece[] = {{memory, 100}, {memory + 200, 300}};
    sender_set_near(rig.s, true);
    submit(piece, 2);
    sender_rig_pair(1, 1000);
    sender_rig_expect_taken("0:0+64");
    ck_assert(!rig.burst.is_scattered);
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    sender_rig_expect_taken("0:64+64");
    ck_assert(rig.burst.is_scattered);
    sender_sent(rig.s, rig.now, &rig.burst, 1);
    sender_rig_expect_taken("0:128+64 0:192+64 0:256+64 0:320+64 0:384+16LA");
    ck_assert(!rig.burst.is_scattered);
    sender_sent(rig.s, rig.now, &rig.burst, 5);
}

/* Fewer bytes than the pieces have: those at the front. */
TEST(pieces__of_which_some_are_sent)
{
    const struct iovec piece[] = {{memory, 100}, {memory + 200, 300}};
    struct iovec told;
    uint64_t number;
    table = pieces_init(malloc(pieces_room(2)), piece, 2);
    ck_assert(sender_submit_pieces(rig.s, rig.now, NULL, table, 120, &number));
    ck_assert(sender_piece(rig.s, number, 0, &told) && told.iov_len == 100);
    ck_assert(sender_piece(rig.s, number, 1, &told) && told.iov_len == 20);
    ck_assert_ptr_eq(told.iov_base, memory + 200);
    ck_assert(!sender_piece(rig.s, number, 2, &told));
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64 0:64+56LA");
    sender_rig_ack("0 2");
    ck_assert(!sender_piece(rig.s, number + 1, 0, &told));
    sender_rig_expect_event(OUTCOME_OK, 120);
    ck_assert(!sender_piece(rig.s, number, 0, &told));
}

/* One that was cancelled may be freed, with its table, before the peer has heard of it. */
TEST(pieces__freed_while_the_peer_is_told)
{
    const struct iovec piece[] = {{memory, 100}, {memory + 200, 300}};
    struct iovec told;
    uint64_t number = submit(piece, 2);
    sender_rig_pair(1, 1000);
    sender_rig_expect("0:0+64 0:64+64 0:128+64 0:192+64 0:256+64 0:320+64 0:384+16LA");
    ck_assert(sender_cancel(rig.s, rig.now, number));
    sender_rig_expect_event(OUTCOME_CANCELLED, 0);
    memset(table, 0xFF, pieces_room(2));
    ck_assert(!sender_piece(rig.s, number, 0, &told));
    sender_rig_expect("0:2+0LVA");
}

TEST(pieces__more_bytes_than_they_have, .signal = SIGABRT)
{
    uint64_t number;
    table = pieces_init(malloc(pieces_room(0)), NULL, 0);
    (void)sender_submit_pieces(rig.s, rig.now, NULL, table, 1, &number);
}

/* Many small pieces: units that are split go together as long as a call takes their pieces, and no
 * longer. */
TEST(pieces__as_many_as_a_burst_takes)
{
    enum { UNITS = 12, BYTES = UNITS * RIG_DATA };
    static uint8_t crumbs[2 * BYTES];
    static struct iovec piece[BYTES];
    struct sender_config config = sender_rig_config();
    sender_rig_fini();
    config.burst_units = 20;
    sender_rig_init(&config);
    for (uint32_t i = 0; i < BYTES; i++)
        piece[i] = (struct iovec){crumbs + 2 * i, 1};
    submit(piece, BYTES);
    sender_rig_pair(1, BYTES);
    for (uint32_t units = 0; units < UNITS; units += rig.burst.datagrams) {
        ck_assert(sender_take(rig.s, rig.now, &rig.burst));
        uint32_t pieces = burst_first(&rig.burst, rig.burst.datagrams);
        ck_assert_uint_le(pieces, BURST_PIECES);
        ck_assert(pieces > BURST_PIECES - UNIT_PIECES - 1 || rig.burst.datagrams == UNITS - units);
        sender_sent(rig.s, rig.now, &rig.burst, rig.burst.datagrams);
    }
}

/* A message in one place in a burst of one in several. */
TEST(pieces__before_a_message_in_one_place)
{
    static uint8_t whole[2 * RIG_DATA];
    const struct iovec piece[] = {{memory + 1000, 40}, {memory, 2 * RIG_DATA - 40}};
    uint64_t number;
    for (size_t i = 0; i < sizeof whole; i++)
        whole[i] = (uint8_t)(200 - i);
    submit(piece, 2);
    ck_assert(sender_submit(rig.s, rig.now, NULL, whole, sizeof whole, &number));
    sender_rig_pair(2, 1000);
    sender_rig_expect_taken("0:0+64 0:64+64L 1:0+64 1:64+64LA");
    ck_assert(rig.burst.is_scattered);
    expect_data(1, memory + 24, RIG_DATA);
    expect_data(2, whole, RIG_DATA);
    expect_data(3, whole + RIG_DATA, RIG_DATA);
    sender_sent(rig.s, rig.now, &rig.burst, 4);
}
