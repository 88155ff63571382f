/* Units over AAL5, from one place or several, in packets of all sizes, with plans that are right,
 * wrong, or none: each that comes out of the landing is what was sent, and without faults each does
 * come out. */
#include "../support/random.h"
#include "../support/split.h"
#include "../support/suite.h"
#include "core/wire/wire.h"
#include "transport/aal5/aal5_channel.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 300, UNITS = 24, ROOM = 20000, CALLS_MOST = 10000, PIECES = 20 };

struct rig {
    int fd[2];
    struct channel sender, receiver;
    struct burst burst;
    struct landing landing;
    uint8_t from[UNITS][ROOM], to[UNITS][ROOM];
    uint32_t length[UNITS]; /* bytes of data */
    bool has_come[UNITS];
    uint32_t guess; /* the unit that the next plan starts with */
};

static struct rig *rig;

static void open_rig(const struct aal5_faults *faults)
{
    struct channel_options options = {.aal5 = {.is_wanted = true,
                                               .out = {0, 32},
                                               .in = {0, 32},
                                               .mtu = ROOM + TRAILER_BYTES,
                                               .faults = *faults}};

    rig = calloc(1, sizeof(*rig));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, rig->fd), 0);
    ck_assert_int_eq(channel_init(&rig->sender, rig->fd[0], &options), 0);
    ck_assert_int_eq(channel_init(&rig->receiver, rig->fd[1], &options), 0);
    landing_init(&rig->landing, calloc(1, landing_memory(LANDING_OPENINGS)), LANDING_OPENINGS);
}

static void close_rig(void)
{
    channel_fini(&rig->sender);
    channel_fini(&rig->receiver);
    close(rig->fd[0]);
    close(rig->fd[1]);
    free(rig->landing.spill);
    free(rig);
}

/* New units. A burst has one size, but for the last. */
static void fill(uint64_t *random)
{
    uint32_t usual = (uint32_t)random_below(random, ROOM);
    struct burst *b = &rig->burst;

    b->datagrams = UNITS;
    for (uint32_t u = 0; u < UNITS; u++) {
        rig->length[u] = u == UNITS - 1 ? (uint32_t)random_below(random, usual + 1) : usual;
        for (uint32_t i = 0; i < rig->length[u]; i++)
            rig->from[u][i] = (uint8_t)random_next(random);
        memset(b->trailer[u], (int)u, TRAILER_BYTES);
        b->iov[2 * u] = (struct iovec){rig->from[u], rig->length[u]};
        b->iov[2 * u + 1] = (struct iovec){b->trailer[u], TRAILER_BYTES};
        rig->has_come[u] = false;
    }
    b->segment = usual + TRAILER_BYTES;
    b->is_scattered = false;
    for (uint32_t u = 0; u < UNITS && random_chance(random, 50); u++)
        if (rig->length[u] > PIECES)
            split_unit(b, u, 1 + (uint32_t)random_below(random, PIECES));
    rig->guess = 0;
}

/* Offers places of units from the guess on; now and then none, or one of another size. */
static void plan(uint64_t *random, unsigned lies)
{
    uint32_t u = rig->guess;
    uint32_t offered = 0; /* units, as bits: no place is offered twice */

    landing_begin(&rig->landing);
    do {
        uint32_t at = random_chance(random, lies) ? (uint32_t)random_below(random, UNITS) : u;
        bool is_free = at < UNITS && !rig->has_come[at] && !(offered >> at & 1);
        uint32_t length = is_free ? rig->length[at] : 0;
        if (random_chance(random, lies))
            length = (uint32_t)random_below(random, ROOM);
        if (is_free)
            offered |= 1U << at;
        (void)landing_offer(&rig->landing, is_free ? rig->to[at] : NULL, length);
        u++;
    } while (landing_seal(&rig->landing));
}

/* Does what the receiver does: reads the trailers, has the data moved to its place. */
static void land(void)
{
    struct landing_walk walk = {.opening = 0};
    struct segment segment;
    uint32_t fresh = 0;

    while (landing_next(&rig->landing, &walk, &segment)) {
        uint32_t u = segment.tail[0];
        ck_assert_uint_ge(segment.bytes, TRAILER_BYTES);
        ck_assert_uint_lt(u, UNITS);
        ck_assert_mem_eq(segment.tail, rig->burst.trailer[u], TRAILER_BYTES);
        ck_assert_uint_eq(segment.bytes, rig->length[u] + TRAILER_BYTES);
        if (rig->has_come[u] ||
            landing_move(&rig->landing, &segment, 0, rig->length[u], rig->to[u]) == UINT32_MAX)
            continue;
        rig->has_come[u] = true;
        fresh |= 1U << u;
        rig->guess = u + 1;
    }
    landing_move_all(&rig->landing);
    for (uint32_t u = 0; u < UNITS; u++)
        if (fresh >> u & 1)
            ck_assert_mem_eq(rig->to[u], rig->from[u], rig->length[u]);
}

static int receive(uint64_t *random, unsigned lies)
{
    plan(random, lies);
    int received = channel_receive(&rig->receiver, &rig->landing);
    ck_assert_int_ge(received, 0);
    land();
    return received;
}

/* Sends all units and receives until nothing is left. The socket holds few packets, so PDUs are cut
 * short in the middle, too. */
static void move(uint64_t *random, unsigned lies)
{
    uint32_t sent = 0;

    for (int calls = 0; sent < UNITS; calls++) {
        struct burst rest = rig->burst;
        uint32_t taken;
        ck_assert_int_lt(calls, CALLS_MOST);
        split_rest(&rest, sent);
        enum channel_verdict verdict = channel_send(&rig->sender, &rest, &taken);
        ck_assert(verdict == CHANNEL_OK || verdict == CHANNEL_BLOCKED);
        sent += taken;
        for (uint64_t i = random_below(random, 3); i > 0; i--)
            (void)receive(random, lies);
        if (verdict == CHANNEL_BLOCKED)
            (void)receive(random, lies);
    }
    while (receive(random, lies) > 0)
        ;
}

static uint32_t come(void)
{
    uint32_t count = 0;

    for (uint32_t u = 0; u < UNITS; u++)
        count += rig->has_come[u];
    return count;
}

/* Of units that came nothing else than a piece larger than those before can stop one. */
static uint64_t truncations(void)
{
    return channel_count(&rig->receiver, CHANNEL_TRUNCATIONS);
}

/* Pieces no larger than what the socket's queue can hold of a PDU: it must pass some time. */
static void choose_pieces(uint64_t *random)
{
    uint32_t least = aal5_cells(ROOM + TRAILER_BYTES) / 4;

    rig->sender.aal5->packet_bytes =
        AAL5_CELL * (least + (uint32_t)random_below(random, 4 * least));
}

static void each_comes_in_its_place(uint64_t random)
{
    unsigned whole = 0;

    open_rig(&(struct aal5_faults){0});
    for (int round = 0; round < ROUNDS; round++) {
        unsigned lies = round % 3 == 0 ? 0 : (unsigned)random_below(&random, 100);
        uint64_t before = truncations(), damages = channel_count(&rig->receiver, CHANNEL_DAMAGES);
        fill(&random);
        choose_pieces(&random);
        move(&random, lies);
        if (truncations() == before) {
            ck_assert_uint_eq(come(), UNITS);
            ck_assert_uint_eq(channel_count(&rig->receiver, CHANNEL_DAMAGES), damages);
        }
        whole += come() == UNITS;
    }
    ck_assert_uint_gt(whole, ROUNDS / 2);
    ck_assert_uint_gt(channel_count(&rig->receiver, CHANNEL_STAGED), 0);
    close_rig();
}

static void with_faults(uint64_t random)
{
    uint64_t arrived = 0;

    open_rig(&(struct aal5_faults){
        .loss = 2000, .swapped = 1000, .merged = 50000, .congested = 100000, .seed = random});
    for (int round = 0; round < ROUNDS; round++) {
        fill(&random);
        choose_pieces(&random);
        move(&random, 10);
        arrived += come();
    }
    ck_assert_uint_gt(arrived, ROUNDS);
    ck_assert_uint_gt(channel_count(&rig->receiver, CHANNEL_DAMAGES), 0);
    ck_assert_uint_gt(channel_count(&rig->sender, CHANNEL_CELLS_LOST), 0);
    close_rig();
}

TEST(aal5_channel__what_comes_was_sent, .is_random = true)
{
    each_comes_in_its_place(suite_seed(_i));
    with_faults(suite_seed(_i));
}
