/* A crowd of strangers at a listening socket: row 4. */
#include "strangers.h"

/* It is a load, and its listener has to answer in time: if it does not run, the crowd fills its
 * socket. */
LOAD(alone)

enum { MESSAGE = 100000 };

/* A sender comes while the crowd goes on; returns after how many seconds it was let in, and whom
 * the listener took. */
static double come(struct strangers *s, const struct victim *sender, const struct victim *listener,
                   struct victim_report *report)
{
    double start = attack_seconds();
    ck_assert_int_eq(victim_open(sender, true, attack_sender(), attack_receiver(), NULL), 0);
    ck_assert_int_eq(victim_submit(sender, 0, MESSAGE, 1), 0);
    while (!strangers_crowd(s, 100, listener))
        continue;
    victim_report(listener, report);
    return attack_seconds() - start;
}

/* The message that the listener was there for. */
static void carry(const struct victim *sender, const struct victim *listener)
{
    ck_assert_int_eq(victim_open_accepted(listener, false, NULL), 0);
    ck_assert_int_eq(victim_submit(listener, 0, MESSAGE, 0), 0);
    ck_assert_int_eq(victim_wait(listener, 0, 30000 * VICTIM_MS), ZCRP_OK);
    ck_assert(victim_holds(listener, 0, 1));
    ck_assert_int_eq(victim_wait(sender, 0, 30000 * VICTIM_MS), ZCRP_OK);
}

TEST(row04__strangers_take_no_listener, .rows = 2)
{
    static struct strangers s;
    uint64_t bytes, datagrams;
    struct stage stage;
    struct victim listener, sender;
    struct victim_report report;

    if (!attack_open_stage(&stage, _i == 1))
        return;
    victim_start(&listener, &stage, STAGE_RIGHT);
    victim_start(&sender, &stage, STAGE_LEFT);
    strangers_open(&s, &stage);
    ck_assert_int_eq(victim_listen(&listener, attack_receiver()), 0);
    victim_begin_accept(&listener, 60000 * VICTIM_MS);
    (void)strangers_crowd(&s, 1000, &listener);
    uint64_t memory = victim_memory(&listener);
    bool is_taken = strangers_crowd(&s, attack_is_exhaustive() ? 1000000 : 50000, &listener);
    memory = victim_memory(&listener) - memory;
    double took = come(&s, &sender, &listener, &report);
    unsigned amplified = strangers_amplified(&s, &bytes, &datagrams);
    attack_figure(
        4,
        "%s: %lu datagrams of 1,000 strangers, %lu unheard: the listener %s, %lu bytes of "
        "memory more; the peer is in after %.1f ms",
        attack_family(), s.raw.sent, raw_lost(&s.raw), is_taken ? "is taken" : "waits", memory,
        took * 1e3);
    ck_assert(!is_taken);
    ck_assert_int_eq(report.code, 0);
    ck_assert_uint_eq(report.peer.address, attack_sender().address);
    ck_assert_uint_eq(report.peer.port, attack_sender().port);
    ck_assert(took < 20.0); /* asked again after 1, 2 and 4 s, where the machine is busy */
    ck_assert_uint_lt(memory, 256 << 10);
    ck_assert_uint_eq(amplified, 0);
    ck_assert_uint_eq(raw_lost(&s.raw), 0);
    carry(&sender, &listener);
}
