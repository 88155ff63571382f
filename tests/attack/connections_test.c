/* Strangers at a listener and at its connections: rows 37 to 42. They know all addresses and ports,
 * and none of them reads what is sent to the address that it names. */
#include "attack.h"
#include "house.h"

#include <string.h>

/* A flood is a load, and its listener has to answer in time. */
LOAD(alone)

enum {
    RATE = 100000, /* strangers' datagrams a second */
    KINDS = 5,
    MOST = 1200,
    CALLERS = 3,
    MEMORY = 512 << 10, /* bytes; strangers are many, so a few of each would be more */
};

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t hello(uint8_t *to, uint64_t nonce, uint64_t cookie, uint8_t flags)
{
    return wire_hello(to, &(struct wire_hello){.pairing = {0, (uint32_t)nonce | 1},
                                               .nonce = nonce | 1,
                                               .cookie = cookie,
                                               .flags = flags});
}

/* What strangers say: most of it hellos, with a cookie that they made up, or without. */
static size_t stray(uint8_t *to, uint64_t *random)
{
    uint64_t value = random_next(random);
    size_t bytes = value % MOST;

    switch (random_next(random) % KINDS) {
    case 0:
        for (size_t i = 0; i < bytes; i++)
            to[i] = (uint8_t)(random_next(random) >> 20);
        return bytes;
    case 1:
        return hello(to, value, value, WIRE_CLOSING);
    case 2:
        return hello(to, value, value, 0);
    default:
        return hello(to, value, 0, 0);
    }
}

/* The same over AAL5: hellos in cells, but most of them on another circuit, cut short, in pieces of
 * which the others never come, or with a length or a CRC that is wrong. */
static size_t stray_cells(uint8_t *to, uint64_t *random)
{
    uint8_t datagram[MOST], pdu[2 * MOST];
    uint64_t value = random_next(random);
    size_t bytes = hello(datagram, value, value % 2 == 0 ? 0 : value, 0);
    struct wire_piece piece = {.label = WIRE_LABEL, .number = (uint16_t)value, .is_end = true};

    piece.count = (uint32_t)(wire_pdu(pdu, datagram, bytes, 0) / WIRE_CELL);
    switch (random_next(random) % 9) {
    case 0: /* junk behind a good head */
        bytes = stray(to + WIRE_AAL5_HEAD, random);
        wire_aal5_head(to, &piece);
        return WIRE_AAL5_HEAD + bytes;
    case 1:
        piece.label = (uint32_t)(value >> 8) % (1 << 20);
        return wire_packet(to, pdu, &piece);
    case 2:
        return wire_packet(to, pdu, &piece) - 1 - value % (WIRE_CELL + 7);
    case 3:
        (void)wire_pdu(pdu, datagram, bytes, (uint16_t)(1 + value % 60000));
        return wire_packet(to, pdu, &piece);
    case 4:
        pdu[value % (piece.count * WIRE_CELL)] ^= 0x20;
        return wire_packet(to, pdu, &piece);
    case 5: /* a large PDU's first piece */
        memset(pdu, 0, sizeof pdu);
        piece.count = 25;
        piece.is_end = false;
        return wire_packet(to, pdu, &piece);
    case 6: /* its last */
        memset(pdu, 0, sizeof pdu);
        piece.count = (uint32_t)wire_pdu(pdu, pdu, MOST + 1, 0) / WIRE_CELL;
        piece.first = piece.count - 2;
        piece.count = 2;
        return wire_packet(to, pdu, &piece);
    case 7: /* no cells at all */
        return stray(to, random);
    default:
        return wire_packet(to, pdu, &piece);
    }
}

/* ---- a flood ---- */

struct flood {
    struct raw raw;
    struct raw_end to;
    size_t (*stray)(uint8_t *to, uint64_t *random);
    struct watch watch;
    struct watch_tally heard;       /* by strangers */
    uint32_t said[WATCH_STRANGERS]; /* by them, bytes */
    uint64_t random;
    double since;
    uint64_t sent; /* since then */
};

static void flood_open(struct flood *f, const struct stage *stage)
{
    f->to = attack_receiver();
    f->stray = stray;
    f->random = 1998;
    watch_open(&f->watch, stage, STAGE_LEFT);
    raw_open(&f->raw, stage, STAGE_LEFT, 0); /* waits for nobody */
    f->since = attack_seconds();
}

/* As much as is due by now. Who is late catches up, but not for long. */
static void flood_go_on(struct flood *f)
{
    double now = attack_seconds();
    uint8_t datagram[WIRE_BYTES];

    if ((now - f->since) * RATE > (double)f->sent + RATE / 10)
        f->since = now - (double)f->sent / RATE;
    while ((double)f->sent < (now - f->since) * RATE) {
        struct raw_end from = attack_stranger((uint32_t)random_next(&f->random));
        size_t bytes = f->stray(datagram, &f->random);
        f->said[(from.address - STAGE_STRANGERS) % WATCH_STRANGERS] += (uint32_t)bytes;
        raw_udp(&f->raw, from, f->to, datagram, bytes);
        f->sent++;
    }
    raw_flush(&f->raw);
    (void)watch_count(&f->watch, &f->heard);
    usleep(200);
}

static void flood_for(struct flood *f, double seconds)
{
    double until = attack_seconds() + seconds;

    while (attack_seconds() < until)
        flood_go_on(f);
}

/* Addresses that were sent more bytes than they said. */
static unsigned flood_amplified(struct flood *f)
{
    unsigned count = 0;

    usleep(50000);
    (void)watch_count(&f->watch, &f->heard);
    for (unsigned i = 0; i < WATCH_STRANGERS; i++)
        count += f->heard.bytes[i] > f->said[i];
    return count;
}

static bool has_echoed(const struct guest *g, uint64_t times)
{
    return g->book->echos >= times || g->book->failure != 0 ||
           (g->book->connected != HOUSE_PENDING && g->book->connected != ZCRP_OK);
}

static void await_echos(const struct guest *g, uint64_t times)
{
    for (int i = 0; i < 10000 && !has_echoed(g, times); i++)
        usleep(1000);
    ck_assert_int_eq(g->book->failure, 0);
    ck_assert_uint_ge(g->book->echos, times);
}

/* ---- rows 37 and 41 ---- */

/* Somebody connects in the middle of it; returns how long it took until its first message was back.
 */
static double connect_amid(struct flood *f, const struct stage *stage)
{
    struct guest g;
    double start = attack_seconds();

    guest_call(&g, stage, STAGE_LEFT, f->to);
    while (!has_echoed(&g, 1) && attack_seconds() < start + 20)
        flood_go_on(f);
    double took = attack_seconds() - start;
    ck_assert_int_eq(g.book->connected, ZCRP_OK);
    ck_assert_int_eq(g.book->failure, 0);
    guest_leave(&g);
    return took;
}

static void withstand(int row, const struct stage *stage, struct raw_end own,
                      size_t (*strays)(uint8_t *, uint64_t *))
{
    static struct flood f;
    struct house house;
    struct guest resident;
    double longest = 0;

    house_open(&house, stage, STAGE_RIGHT, own, NULL);
    guest_call(&resident, stage, STAGE_LEFT, own);
    await_echos(&resident, 50);
    flood_open(&f, stage);
    f.to = own;
    f.stray = strays;
    flood_for(&f, 0.3);
    uint64_t memory = house_memory(&house), echos = resident.book->echos;
    flood_for(&f, attack_is_exhaustive() ? 10 : 0.5);
    for (int i = 0; i < 20 && resident.book->echos == echos; i++)
        flood_for(&f, 0.5); /* it got no processor for a while */
    memory = house_memory(&house) - memory;
    echos = resident.book->echos - echos;
    for (int i = 0; i < CALLERS; i++) {
        double took = connect_amid(&f, stage);
        longest = took > longest ? took : longest;
    }
    double rate = (double)f.raw.sent / (attack_seconds() - f.since);
    unsigned amplified = flood_amplified(&f);
    attack_figure(
        row,
        "%s: %lu junk datagrams, %.0f a second: callers are in after at most %.1f ms; another "
        "had %lu messages back, the slowest after %.1f ms; %ld bytes of memory more",
        attack_family(), (unsigned long)f.raw.sent, rate, longest * 1e3, (unsigned long)echos,
        (double)resident.book->longest_ns / 1e6, (long)memory);
    ck_assert(longest < 4); /* it gives up after 5 s */
    ck_assert_int_eq(resident.book->failure, 0);
    ck_assert_uint_gt(echos, 0);
    ck_assert_int_lt((long)memory, MEMORY); /* pages that the resident's messages touch */
    ck_assert_uint_eq(amplified, 0);
    await_echos(&resident, resident.book->echos + 10);
    ck_assert_uint_eq(house.book->admitted, 1 + CALLERS); /* no stranger was in the backlog */
    ck_assert_uint_eq(house.book->refused, 0);
    guest_leave(&resident);
    ck_assert_int_eq(resident.book->closed, ZCRP_OK);
    ck_assert_uint_eq(house.book->failed, 0);
    house_close(&house);
}

TEST(row37__a_flood_keeps_no_caller_out, .rows = 2)
{
    struct stage stage;

    if (attack_open_stage(&stage, _i == 1))
        withstand(37, &stage, attack_receiver(), stray);
}

/* The port says that it is AAL5. */
static struct raw_end aal5_receiver(void)
{
    return (struct raw_end){attack_receiver().address, WIRE_AAL5_PORT};
}

TEST(row41__a_flood_of_cells_keeps_no_caller_out)
{
    struct stage stage;

    stage_open(&stage, 1500);
    withstand(41, &stage, aal5_receiver(), stray_cells);
}

/* ---- row 38 ---- */

/* A caller whose good hello comes again and again, from where it is and from elsewhere. */
TEST(row38__a_hello_is_good_for_one_connection, .rows = 2)
{
    enum { TAG = 4711, TIMES = 1000 };
    static struct flood f;
    static struct hostile caller;
    const struct raw_end own = {attack_sender().address, 5555};
    uint8_t datagram[WIRE_BYTES];
    struct stage stage;
    struct house house;

    if (!attack_open_stage(&stage, _i == 1))
        return;
    house_open(&house, &stage, STAGE_RIGHT, attack_receiver(), NULL);
    flood_open(&f, &stage);
    hostile_open(&caller, &stage, STAGE_LEFT, own);
    caller.peer = attack_receiver();
    hostile_say(&caller, hello(caller.out, TAG, 0, 0));
    ck_assert(hostile_hear(&caller, 20000));
    ck_assert_int_eq(caller.heard.type, WIRE_COOKIE);
    size_t bytes = hello(datagram, TAG, caller.heard.cookie, 0);
    for (unsigned i = 0; i < TIMES; i++) {
        raw_udp(&f.raw, own, attack_receiver(), datagram, bytes);
        raw_udp(&f.raw, (struct raw_end){own.address, (uint16_t)(6000 + i)}, attack_receiver(),
                datagram, bytes);
        raw_udp(&f.raw, attack_stranger(i), attack_receiver(), datagram, bytes);
    }
    raw_flush(&f.raw);
    for (int i = 0; i < 20000 && house.book->accepted == 0; i++)
        usleep(1000);
    usleep(200000);
    attack_figure(38, "a good hello %d times, and from %d other places: %lu connections", TIMES,
                  2 * TIMES, (unsigned long)house.book->admitted);
    ck_assert_uint_eq(house.book->admitted, 1);
    ck_assert_uint_eq(house.book->accepted, 1);
    ck_assert_uint_eq(house.book->port, own.port);
    house_close(&house);
}

/* ---- rows 39 and 42 ---- */

/* In the name of a peer that has a connection. */
static size_t forgery(uint8_t *to, uint64_t *random)
{
    uint64_t value = random_next(random);
    struct wire_pairing guess = {(uint32_t)value, (uint32_t)(value >> 32)};

    switch (random_next(random) % 8) {
    case 0:
        return wire_hello(to, &(struct wire_hello){.pairing = guess, .flags = WIRE_CLOSING});
    case 1:
        return wire_hello(to,
                          &(struct wire_hello){.pairing = guess, .nonce = value, .cookie = value});
    case 2:
        return wire_ack(to, guess, NULL, 0, WIRE_CLOSING);
    case 3:
        return wire_request(to, guess, value, NULL);
    case 4:
        return wire_cookie(to, (struct wire_pairing){0, guess.tag}, value, value);
    case 5:
        return wire_unit(to, &(struct wire_unit){.pairing = guess, .length = 64}, NULL);
    default:
        return stray(to, random);
    }
}

/* The same in cells, on both circuits; or pieces of nothing, which come between those of the peer.
 */
static size_t forgery_in_cells(uint8_t *to, uint64_t *random)
{
    uint64_t value = random_next(random);
    uint32_t label = WIRE_LABEL + (uint32_t)(value >> 8) % 2;
    uint8_t datagram[WIRE_BYTES];

    if (value % 2 == 0)
        return stray_cells(to, random);
    return wire_wrap(to, label, datagram, forgery(datagram, random));
}

static void pretend(int row, struct raw_end own, size_t (*forge)(uint8_t *, uint64_t *))
{
    enum { TIMES = 50000 };
    static struct flood f;
    uint8_t datagram[WIRE_BYTES];
    struct stage stage;
    struct house house;
    struct guest resident;

    stage_open(&stage, 1500);
    house_open(&house, &stage, STAGE_RIGHT, own, NULL);
    guest_call(&resident, &stage, STAGE_LEFT, own);
    await_echos(&resident, 50);
    flood_open(&f, &stage);
    struct raw_end peer = {house.book->address, (uint16_t)house.book->port};
    uint64_t echos = resident.book->echos;
    for (int i = 0; i < TIMES; i++) {
        raw_udp(&f.raw, peer, own, datagram, forge(datagram, &f.random));
        if (i % 50 == 0)
            usleep(500);
    }
    raw_flush(&f.raw);
    await_echos(&resident, resident.book->echos + 20);
    attack_figure(
        row, "%d datagrams in a peer's name: it had %lu messages back meanwhile, %d failed", TIMES,
        (unsigned long)(resident.book->echos - echos), resident.book->failure != 0);
    ck_assert_uint_eq(house.book->admitted, 1);
    ck_assert_uint_eq(house.book->standing, 1);
    ck_assert_uint_eq(house.book->failed, 0);
    guest_leave(&resident);
    ck_assert_int_eq(resident.book->closed, ZCRP_OK);
    house_close(&house);
}

TEST(row39__strangers_in_a_peers_name_change_nothing)
{
    pretend(39, attack_receiver(), forgery);
}

TEST(row42__cells_in_a_peers_name_change_nothing)
{
    pretend(42, aal5_receiver(), forgery_in_cells);
}

/* ---- row 40 ---- */

/* From now on whoever connects on this side has that port. */
static bool have_one_port(const struct stage *stage, enum stage_side side)
{
    stage_enter(stage, side);
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    if (range == NULL)
        return false;
    fputs("40000 40000", range);
    return fclose(range) == 0;
}

/* A peer crashes and comes again from its old port, while its connection still stands. Nothing of
 * the new one's may reach the old connection; the new one gets a connection of its own. */
TEST(row40__a_peer_that_crashed_comes_again)
{
    struct stage stage;
    struct house house;
    struct guest first, second;

    stage_open(&stage, 1500);
    if (!have_one_port(&stage, STAGE_LEFT)) {
        puts("no right to choose the ports");
        return;
    }
    house_open(&house, &stage, STAGE_RIGHT, attack_receiver(), NULL);
    guest_call(&first, &stage, STAGE_LEFT, attack_receiver());
    await_echos(&first, 10);
    ck_assert_uint_eq(house.book->port, 40000);
    guest_kill(&first);
    guest_call(&second, &stage, STAGE_LEFT, attack_receiver());
    for (int i = 0; i < 10000 && !has_echoed(&second, 10); i++)
        usleep(1000);
    attack_figure(40,
                  "a peer that crashed is in again after %.1f ms (\"%s\"), its first message "
                  "is \"%s\"; the old connection ended as \"%s\"",
                  (double)second.book->connected_ns / 1e6, zcrp_strerror(second.book->connected),
                  zcrp_strerror(second.book->failure), zcrp_strerror(house.book->why));
    ck_assert_int_eq(second.book->connected, ZCRP_OK);
    ck_assert_int_eq(second.book->failure, 0);
    ck_assert_uint_ge(second.book->echos, 10);
    ck_assert_uint_eq(house.book->accepted, 2);
    ck_assert_int_eq(house.book->why, ZCRP_ERROR_RESTARTED);
    guest_leave(&second);
    ck_assert_int_eq(second.book->closed, ZCRP_OK);
    house_close(&house);
}
