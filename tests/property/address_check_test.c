/* Strangers who record, copy in time and carry challenges to and fro, and a peer that really moves:
 * nothing moves unless the peer has, and never more leaves than came. */
#include "../support/random.h"
#include "../support/suite.h"
#include "core/path/address_check.h"

enum { ROUNDS = 200, STEPS = 500, ADDRESSES = 5 };

struct world {
    struct address_check check;
    uint64_t end[ADDRESS_CHECK_STREAMS];  /* what the address of the link has brought */
    uint64_t next[ADDRESS_CHECK_STREAMS]; /* what the peer seals next */
    uint64_t at;                          /* where the link sends */
    uint64_t peer;                        /* where the peer is */
    uint64_t in[ADDRESSES], out[ADDRESSES];
    uint64_t moved;
    instant now;
};

static struct world w;
static uint64_t draws;

static uint64_t known(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < ADDRESS_CHECK_STREAMS; i++)
        sum += w.end[i];
    return sum;
}

/* A datagram of the peer comes from this address: its own, or a stranger's copy. Whoever carries
 * the challenge to the peer and its answer back can be no faster than this. */
static void arrive(uint64_t address, uint32_t stream, uint64_t number, uint32_t bytes,
                   bool is_carried)
{
    if (address == w.at) {
        if (number >= w.end[stream])
            w.end[stream] = number + 1;
        return;
    }
    const struct address_check_arrival a = {.address = address,
                                            .bytes = bytes,
                                            .stream = stream,
                                            .number = number,
                                            .end = w.end[stream],
                                            .known = known()};
    w.in[address] += bytes;
    uint64_t challenge =
        address_check_on_arrival(&w.check, w.now, &a, 1 + random_below(&draws, UINT32_MAX));
    if (challenge == 0)
        return;
    w.out[address] += ADDRESS_CHECK_BYTES;
    ck_assert_uint_le(w.out[address], w.in[address]);
    if (address != w.peer && !(is_carried && w.peer == w.at))
        return;
    address_check_on_answer(&w.check, w.now, address, challenge, 0); /* the copy is first, */
    if (address == w.peer)
        return;
    uint64_t answer = w.next[0]++; /* and then the peer's own answer comes from where it is */
    if (w.peer == w.at)
        arrive(w.peer, 0, answer, ADDRESS_CHECK_BYTES, false);
}

static void say(void)
{
    uint32_t stream = (uint32_t)random_below(&draws, ADDRESS_CHECK_STREAMS);
    uint32_t bytes = 49 + (uint32_t)random_below(&draws, 1200);
    uint64_t number = w.next[stream]++;
    uint64_t elsewhere = random_below(&draws, ADDRESSES);
    bool is_copied = random_below(&draws, 2) == 0 && elsewhere != w.peer;
    if (is_copied)
        arrive(elsewhere, stream, number, bytes, random_below(&draws, 2) == 0);
    if (random_below(&draws, 10) > 0) /* else it is lost */
        arrive(w.peer, stream, number, bytes, false);
}

static void replay(void)
{
    uint32_t stream = (uint32_t)random_below(&draws, ADDRESS_CHECK_STREAMS);
    uint64_t elsewhere = random_below(&draws, ADDRESSES);
    if (w.next[stream] > 0 && elsewhere != w.peer)
        arrive(elsewhere, stream, random_below(&draws, w.next[stream]), 1200,
               random_below(&draws, 2) == 0);
}

/* Within the time that an answer has to settle the peer says something, unless it has moved. */
static void pass_time(void)
{
    w.now += (instant)random_below(&draws, 80) * MILLISECOND;
    if (!address_check_is_due(&w.check, w.now, known()))
        return;
    ck_assert_uint_eq(w.check.address, w.peer);
    ck_assert_uint_ne(w.peer, w.at);
    w.at = w.peer;
    w.moved++;
    address_check_on_moved(&w.check);
}

static void step(bool may_move)
{
    switch (random_below(&draws, 8)) {
    case 0:
        if (may_move && w.peer == w.at && w.check.state == ADDRESS_CHECK_NONE)
            w.peer = random_below(&draws, ADDRESSES);
        break;
    case 1:
    case 2:
        replay();
        break;
    case 3:
        pass_time();
        break;
    default:
        say();
        break;
    }
    address_check_check(&w.check);
}

static uint64_t run(bool may_move)
{
    w = (struct world){.now = SECOND};
    for (int i = 0; i < STEPS; i++)
        step(may_move);
    return w.moved;
}

TEST(address_check__moves_only_with_the_peer, .is_random = true)
{
    uint64_t moved = 0;
    for (int i = 0; i < ROUNDS; i++) {
        draws = suite_seed(_i) + (uint64_t)i;
        ck_assert_uint_eq(run(false), 0);
        moved += run(true);
    }
    ck_assert_uint_gt(moved, ROUNDS);
}
