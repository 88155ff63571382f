/* Strangers at a listening socket, and at one that nobody has connected yet: rows 5, 6 and 10.
 * All of them may know address and port, none has shown that it is where it says. */
#include "strangers.h"

LOAD(asleep)

enum { KINDS = STRANGERS_KINDS, BUFFERS = 40 };

/* ---- row 5 ---- */

TEST(row05__nobody_comes_from_port_0)
{
    static struct strangers s;
    struct stage stage;
    struct victim listener;
    struct victim_report report;
    struct watch_seen seen;
    unsigned answers = 0;

    stage_open(&stage, 1500);
    victim_start(&listener, &stage, STAGE_RIGHT);
    strangers_open(&s, &stage);
    ck_assert_int_eq(victim_listen(&listener, attack_receiver()), 0);
    victim_begin_accept(&listener, 3000 * VICTIM_MS); /* for all of it, on a busy machine, too */
    for (unsigned i = 0; i < 100 * KINDS; i++)
        strangers_say(&s, (struct raw_end){STAGE_STRANGERS + i, 0}, i % KINDS);
    raw_flush(&s.raw);
    victim_report(&listener, &report);
    int opened = report.code == 0 ? victim_open_accepted(&listener, false, NULL) : 0;
    while (watch_next(&s.watch, &seen))
        answers += seen.to.port == 0;
    attack_figure(5, "%lu datagrams from port 0: accept \"%s\", open \"%s\", %u answers",
                  s.raw.sent, zcrp_strerror(report.code), zcrp_strerror(opened), answers);
    ck_assert_int_eq(report.code, ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(answers, 0);
    ck_assert_uint_eq(raw_lost(&s.raw), 0);
}

/* ---- row 6 ---- */

/* Buffers of many sizes make the longest requests. */
static void post_buffers(const struct victim *receiver)
{
    for (unsigned i = 0; i < BUFFERS; i++)
        ck_assert_int_eq(victim_submit(receiver, i, 1000 + i, 0), 0);
}

static void count_for(struct strangers *s, int seconds)
{
    for (int i = 0; i < 10 * seconds; i++) {
        usleep(100000);
        (void)watch_count(&s->watch, &s->heard);
    }
}

/* One datagram each from addresses that said nothing else. If the listener takes one of them for
 * its peer it goes on as programs do. */
TEST(row06__a_listener_reflects_no_more_than_it_hears, .rows = 2)
{
    enum { EACH = 20 };
    static struct strangers s;
    int seconds = attack_is_exhaustive() ? 60 : 2;
    struct stage stage;
    struct victim listener;
    struct victim_report report;
    uint64_t bytes, datagrams;

    if (!attack_open_stage(&stage, _i == 1))
        return;
    victim_start(&listener, &stage, STAGE_RIGHT);
    strangers_open(&s, &stage);
    ck_assert_int_eq(victim_listen(&listener, attack_receiver()), 0);
    victim_begin_accept(&listener, 3000 * VICTIM_MS); /* for all of it, on a busy machine, too */
    for (unsigned i = 0; i < KINDS * EACH; i++)
        strangers_say(&s, attack_stranger(i), (i + 1) % KINDS);
    raw_flush(&s.raw);
    victim_report(&listener, &report);
    if (report.code == 0 && victim_open_accepted(&listener, false, NULL) == 0)
        post_buffers(&listener);
    count_for(&s, seconds);
    unsigned amplified = strangers_amplified(&s, &bytes, &datagrams);
    attack_figure(6,
                  "one datagram each of %d addresses, %d s: %lu datagrams of %lu bytes back, more "
                  "than was said to %u of them",
                  KINDS * EACH, seconds, datagrams, bytes, amplified);
    ck_assert_uint_eq(amplified, 0);
    ck_assert_int_eq(report.code, ZCRP_ERROR_TIMEOUT);
    ck_assert_uint_eq(raw_lost(&s.raw), 0);
}

/* A receiver that was told by its user whom to hear, with buffers posted, before that one has said
 * anything. */
TEST(row06__a_receiver_reflects_no_more_than_it_hears)
{
    static struct strangers s;
    int seconds = attack_is_exhaustive() ? 60 : 2;
    struct raw_end peer = attack_stranger(7);
    struct stage stage;
    struct victim receiver;
    uint64_t bytes, datagrams;
    unsigned amplified = 0;

    stage_open(&stage, 1500);
    victim_start(&receiver, &stage, STAGE_RIGHT);
    strangers_open(&s, &stage);
    ck_assert_int_eq(victim_open(&receiver, false, attack_receiver(), peer, NULL), 0);
    post_buffers(&receiver);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        strangers_say(&s, peer, kind);
        raw_flush(&s.raw);
        usleep(20000);
        (void)watch_count(&s.watch, &s.heard);
        amplified |= strangers_amplified(&s, &bytes, &datagrams);
    }
    count_for(&s, seconds);
    amplified |= strangers_amplified(&s, &bytes, &datagrams);
    attack_figure(6, "a receiver hears %u bytes in its peer's name, and answers with %lu in %d s",
                  s.said[7], bytes, seconds);
    ck_assert_uint_eq(amplified, 0);
}

/* Asks a listener, and gets a cookie for it. */
static void get_cookie(struct hostile *h, uint32_t tag)
{
    h->peer = attack_receiver();
    hostile_say(h, strangers_hello(h->out, tag, 0, 0));
    ck_assert(hostile_hear(h, 20000));
    ck_assert_int_eq(h->heard.type, WIRE_COOKIE);
}

/* A question with a cookie, and what of it somebody else would have to change. */
struct claim {
    struct raw_end from;
    struct wire_hello hello;
};

/* Does the listener, as long as it waits, take who claims that? */
static bool is_accepted(struct strangers *s, const struct victim *listener,
                        const struct claim *claim, int64_t wait_ns)
{
    uint8_t datagram[WIRE_TRAILER];
    struct victim_report report;

    raw_udp(&s->raw, claim->from, attack_receiver(), datagram, wire_hello(datagram, &claim->hello));
    raw_flush(&s->raw);
    victim_begin_accept(listener, wait_ns);
    victim_report(listener, &report);
    return report.code == 0;
}

/* A stranger that is where it says has a cookie, and lends it to others, and to other questions. */
TEST(row06__a_cookie_is_good_for_its_owner_alone)
{
    enum { TAG = 4711, LATER = 21 };
    static struct strangers s;
    static struct hostile owner;
    const struct raw_end own = {attack_sender().address, 5555};
    struct stage stage;
    struct victim listener;
    struct victim_report report;

    stage_open(&stage, 1500);
    victim_start(&listener, &stage, STAGE_RIGHT);
    strangers_open(&s, &stage);
    hostile_open(&owner, &stage, STAGE_LEFT, own);
    ck_assert_int_eq(victim_listen(&listener, attack_receiver()), 0);
    victim_begin_accept(&listener, 3000 * VICTIM_MS);
    get_cookie(&owner, TAG);
    victim_report(&listener, &report);
    ck_assert_int_eq(report.code, ZCRP_ERROR_TIMEOUT);
    const struct wire_hello good = {
        .pairing = {0, TAG}, .nonce = TAG, .cookie = owner.heard.cookie};
    struct claim claim[] = {{own, good}, {own, good}, {own, good}, {own, good}, {own, good}};
    claim[0].from = attack_stranger(1);
    claim[1].from.port++;
    claim[2].hello.nonce++;
    claim[3].hello.pairing.tag++;
    claim[4].hello.cookie++;
    unsigned taken = 0;
    for (int i = 0; i < ROWS(claim); i++)
        taken += is_accepted(&s, &listener, &claim[i], 100 * VICTIM_MS);
    if (attack_is_exhaustive())
        sleep(LATER);
    bool is_good = is_accepted(&s, &listener, &(struct claim){own, good},
                               (attack_is_exhaustive() ? 100 : 5000) * VICTIM_MS);
    attack_figure(6, "a cookie from elsewhere, or changed: %u of %d accepted; %s: %s", taken,
                  ROWS(claim), attack_is_exhaustive() ? "its owner's, 21 s later" : "its owner's",
                  is_good ? "accepted" : "dropped");
    ck_assert_uint_eq(taken, 0);
    ck_assert(is_good == !attack_is_exhaustive());
}

/* ---- row 10 ---- */

/* Hears what was sent to the peer for a while; returns how much of it answers that tag. */
static unsigned answers_to(struct hostile *peer, uint32_t tag)
{
    unsigned count = 0;

    while (hostile_hear(peer, 300))
        count += peer->heard.pairing.tag == tag;
    return count;
}

/* Its user binds a socket, and connects it when others have spoken to it already. */
TEST(row10__what_came_before_the_connect)
{
    enum { TAG = 0x666 };
    static struct hostile peer, stranger;
    struct stage stage;
    struct victim receiver;

    stage_open(&stage, 1500);
    victim_start(&receiver, &stage, STAGE_RIGHT);
    hostile_open(&peer, &stage, STAGE_LEFT, attack_sender());
    hostile_open(&stranger, &stage, STAGE_LEFT, (struct raw_end){attack_sender().address, 666});
    ck_assert_int_eq(victim_bind(&receiver, attack_receiver()), 0);
    stranger.peer = attack_receiver();
    for (unsigned i = 0; i < 10; i++)
        hostile_say(&stranger, strangers_hello(stranger.out, TAG, 0, 0));
    usleep(10000);
    ck_assert_int_eq(victim_connect(&receiver, false, attack_sender(), NULL), 0);
    ck_assert_int_eq(victim_submit(&receiver, 0, 1000, 0), 0);
    unsigned taken = answers_to(&peer, TAG | 1);
    attack_figure(
        10, "10 datagrams of a stranger's from before the connect: %u answers to the peer", taken);
    ck_assert_uint_eq(taken, 0);
    ck_assert(hostile_be_sender(&peer, attack_receiver(), 7, 20000));
}

/* Both a peer and a stranger have good cookies, and both wait in the socket of the listener, the
 * peer before the stranger. */
TEST(row10__what_came_before_the_accept)
{
    enum { TAG = 1001, OTHER = 0x667 };
    static struct hostile peer, stranger;
    struct stage stage;
    struct victim listener;
    struct victim_report report;

    stage_open(&stage, 1500);
    victim_start(&listener, &stage, STAGE_RIGHT);
    hostile_open(&peer, &stage, STAGE_LEFT, attack_sender());
    hostile_open(&stranger, &stage, STAGE_LEFT, (struct raw_end){attack_sender().address, 666});
    ck_assert_int_eq(victim_listen(&listener, attack_receiver()), 0);
    victim_begin_accept(&listener, 3000 * VICTIM_MS);
    get_cookie(&peer, TAG);
    get_cookie(&stranger, OTHER);
    victim_report(&listener, &report);
    ck_assert_int_eq(report.code, ZCRP_ERROR_TIMEOUT);
    hostile_say(&peer, strangers_hello(peer.out, TAG, peer.heard.cookie, 0));
    for (unsigned i = 0; i < 10; i++)
        hostile_say(&stranger, strangers_hello(stranger.out, OTHER, stranger.heard.cookie, 0));
    usleep(10000);
    victim_begin_accept(&listener, 20000 * VICTIM_MS);
    victim_report(&listener, &report);
    ck_assert_int_eq(report.code, 0);
    ck_assert_uint_eq(report.peer.port, attack_sender().port);
    ck_assert_int_eq(victim_open_accepted(&listener, false, NULL), 0);
    ck_assert_int_eq(victim_submit(&listener, 0, 1000, 0), 0);
    ck_assert(hostile_hear(&peer, 20000));
    ck_assert_int_eq(peer.heard.type, WIRE_REQUEST);
    ck_assert_uint_eq(peer.heard.pairing.tag, TAG);
    unsigned taken = answers_to(&peer, OTHER);
    taken += hostile_hear(&stranger, 0);
    attack_figure(10,
                  "10 datagrams of a stranger's, with good cookies, behind the peer's: %u answers",
                  taken);
    ck_assert_uint_eq(taken, 0);
}
