/* A peer that another has taken the place of, or that is no honest one: rows 12, 13 and 14. */
#include "attack.h"

LOAD(asleep)

enum { MESSAGE = 100000 };
#define LARGE ((uint64_t)32 << 20)

/* ---- row 12 ---- */

/* Dies as if it had crashed; another user's process binds its port, and posts buffers. */
static void replace(struct victim *receiver, const struct victim *thief, uint64_t bytes)
{
    victim_kill(receiver);
    ck_assert_int_eq(victim_open(thief, false, attack_receiver(), attack_sender(), NULL), 0);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(victim_submit(thief, i, bytes, 0), 0);
}

/* The receiver dies between two messages, whose buffers it has announced (loop 1) or not. Another
 * user binds its port before the sender has anything to say. */
TEST(row12__who_takes_a_dead_receivers_port_is_noticed, .rows = 2)
{
    struct stage stage;
    struct victim sender, receiver, thief;

    stage_open(&stage, 1500);
    victim_start(&thief, &stage, STAGE_RIGHT);
    attack_open_pair(&stage, &sender, &receiver, NULL);
    for (unsigned i = 0; i < 1 + (unsigned)_i; i++)
        ck_assert_int_eq(victim_submit(&receiver, i, MESSAGE, 0), 0);
    ck_assert_int_eq(victim_submit(&sender, 0, MESSAGE, 1), 0);
    ck_assert_int_eq(victim_wait(&sender, 0, 20000 * VICTIM_MS), ZCRP_OK);
    usleep(100000);
    replace(&receiver, &thief, MESSAGE);
    usleep(300000);
    ck_assert_int_eq(victim_submit(&sender, 1, MESSAGE, 2), 0);
    int code = victim_wait(&sender, 1, 20000 * VICTIM_MS);
    bool has_it = victim_wait(&thief, 0, 500 * VICTIM_MS) == ZCRP_OK;
    attack_figure(
        12, "the receiver dies, another binds its port: the next message ends with \"%s\", %s",
        zcrp_strerror(code), has_it ? "the other has it" : "the other has nothing");
    ck_assert_int_eq(code, ZCRP_ERROR_RESTARTED);
    ck_assert(!has_it);
}

/* The receiver dies in the middle of a message. */
TEST(row12__half_a_message_never_ends_well)
{
    struct stage stage;
    struct victim sender, receiver, thief;

    stage_open(&stage, 1500);
    (void)stage_limit(&stage, STAGE_LEFT, 100);
    victim_start(&thief, &stage, STAGE_RIGHT);
    attack_open_pair(&stage, &sender, &receiver, NULL);
    ck_assert_int_eq(victim_submit(&receiver, 0, LARGE, 0), 0);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(victim_submit(&sender, i, LARGE, i), 0);
    ck_assert_int_eq(victim_wait(&sender, 0, 300 * VICTIM_MS), ZCRP_ERROR_TIMEOUT);
    replace(&receiver, &thief, LARGE);
    double start = attack_seconds();
    int half = victim_wait(&sender, 0, 20000 * VICTIM_MS);
    int next = victim_wait(&sender, 1, 20000 * VICTIM_MS);
    double took = attack_seconds() - start;
    attack_figure(12,
                  "the receiver dies amid a message: \"%s\", and \"%s\" of the next, after %.1f s",
                  zcrp_strerror(half), zcrp_strerror(next), took);
    ck_assert_int_eq(half, ZCRP_ERROR_RESTARTED);
    ck_assert_int_eq(next, ZCRP_ERROR_RESTARTED);
}

/* ---- row 13 ---- */

/* A sign of life that settles nothing. */
static void say_something(struct hostile *h, int kind)
{
    if (kind == 0)
        hostile_say(h, wire_request(h->out, h->pairing, 0, NULL));
    else if (kind == 1)
        hostile_say(h, wire_ack(h->out, h->pairing, NULL, 0, 0));
    else
        hostile_acknowledge(h, 0, 1); /* the first unit, over and over */
}

TEST(row13__a_peer_that_settles_nothing, .rows = 3)
{
    static const char *const name[] = {"empty requests", "empty acknowledgements",
                                       "one acknowledgement"};
    static struct hostile h;
    const struct zcrp_options options = {.progress_ns = 1000 * VICTIM_MS,
                                         .silence_ns = 20000 * VICTIM_MS}; /* it may be late */
    const struct wire_run run = {0, 1, MESSAGE};
    struct stage stage;
    struct victim sender;
    struct victim_report report;

    stage_open(&stage, 1500);
    victim_start(&sender, &stage, STAGE_LEFT);
    hostile_open(&h, &stage, STAGE_RIGHT, attack_receiver());
    ck_assert_int_eq(victim_open(&sender, true, attack_sender(), attack_receiver(), &options), 0);
    ck_assert_int_eq(victim_submit(&sender, 0, MESSAGE, 1), 0);
    ck_assert(hostile_be_receiver(&h, &run, 20000));
    victim_begin_wait(&sender, 0, 20000 * VICTIM_MS);
    double start = attack_seconds(), said = 0;
    while (!victim_has_report(&sender)) {
        (void)hostile_hear(&h, 20);
        if (attack_seconds() - said < 0.5)
            continue;
        said = attack_seconds();
        say_something(&h, _i);
    }
    victim_report(&sender, &report);
    double took = attack_seconds() - start;
    attack_figure(13, "%s twice a second, a limit of 1 s: \"%s\" after %.1f s", name[_i],
                  zcrp_strerror(report.code), took);
    ck_assert_int_eq(report.code, ZCRP_ERROR_STALLED);
    ck_assert(took < 15.0); /* and not by the limit of the wait */
}

/* ---- row 14 ---- */

/* What a receiver that acknowledges all, whatever came, has heard. */
struct optimist {
    struct hostile h;
    uint32_t next; /* behind the highest number that came */
    uint64_t bytes;
};

static void hear_all(struct optimist *o)
{
    while (hostile_hear(&o->h, 1)) {
        if (o->h.heard.type != WIRE_UNIT)
            continue;
        o->bytes += o->h.bytes;
        if (o->h.heard.seq + 1 > o->next)
            o->next = o->h.heard.seq + 1;
    }
}

/* Acknowledges what has come and all before it, and (loop 1) by turns what is on its way still. */
TEST(row14__acknowledgements_of_what_never_came, .rows = 2)
{
    enum { AHEAD = 4, UNITS_MOST = 4096 };
    static struct optimist o;
    const struct zcrp_options options = {.congestion = ZCRP_CONGESTION_CUBIC};
    const struct wire_run run = {0, 1, LARGE};
    struct stage stage;
    struct victim sender;
    struct victim_report report;
    struct zcrp_stats stats;

    stage_open(&stage, 1500);
    (void)stage_limit(&stage, STAGE_LEFT, 160);
    victim_start(&sender, &stage, STAGE_LEFT);
    hostile_open(&o.h, &stage, STAGE_RIGHT, attack_receiver());
    ck_assert_int_eq(victim_open(&sender, true, attack_sender(), attack_receiver(), &options), 0);
    ck_assert_int_eq(victim_submit(&sender, 0, LARGE, 1), 0);
    ck_assert(hostile_be_receiver(&o.h, &run, 20000));
    double start = attack_seconds();
    o.next = 1;
    victim_begin_wait(&sender, 0, 10000 * VICTIM_MS);
    for (unsigned turn = 0; !victim_has_report(&sender); turn++) {
        hostile_acknowledge(&o.h, 0, o.next + (_i == 1 && turn % 2 ? AHEAD : 0));
        hear_all(&o);
    }
    victim_report(&sender, &report);
    double took = attack_seconds() - start;
    victim_stats(&sender, &stats);
    attack_figure(14,
                  "all acknowledged%s: \"%s\" after %.2f s and %lu units, %.1f MB sent, %.1f MB of "
                  "them came",
                  _i == 1 ? " beforehand" : "", zcrp_strerror(report.code), took, stats.units,
                  (double)stats.bytes_arrived / 1e6, (double)o.bytes / 1e6);
    ck_assert_int_eq(report.code, ZCRP_ERROR_PROTOCOL);
    ck_assert_uint_lt(stats.units, UNITS_MOST);
}
