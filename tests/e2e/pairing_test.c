/* What a pairing costs: one round trip more than none, once. Over a network of 200 ms both ends
 * know soon that a message came; the quickest of some pairs tells, because the machine may be busy.
 */
#include "../support/ends.h"
#include "../support/relay.h"

#include <stdio.h>

/* A round trip is measured. */
LOAD(alone)

enum { PAIRS = 40, BYTES = 64 }; /* so often at most, where other processes take the time */

#define ROUND_TRIP (200 * ENDS_MILLISECOND)
#define MARGIN (90 * ENDS_MILLISECOND) /* less than half a round trip */
#define RECEIVER_BY (ROUND_TRIP * 5 / 2 + MARGIN)
#define SENDER_BY (ROUND_TRIP * 3 + MARGIN)

/* From the later of send and post to the end of each wait. */
struct waits {
    int64_t receiver, sender;
};

static struct waits pair_once(void)
{
    static struct relay relay;
    const struct relay_faults far = {.delay_ns = ROUND_TRIP / 2};
    struct zcrp_msg *in = ends_empty(BYTES), *out = ends_filled(BYTES, 1);
    struct waits w;

    relay_open(&relay, &far, 1998);
    relay_run(&relay);
    int64_t begun = clock_now_ns();
    struct ends e = ends_open_at(&relay.ends, NULL, NULL);
    ends_submit(&e, in, out, BYTES);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    w.receiver = clock_now_ns() - begun;
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    w.sender = clock_now_ns() - begun;
    ends_finish(in, out, BYTES, 1);
    ck_assert_int_eq(zcrp_close(e.sender), ZCRP_OK);
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    relay_close(&relay);
    loopback_close(&relay.ends);
    return w;
}

TEST(pairing__costs_one_round_trip)
{
    struct waits best = {INT64_MAX, INT64_MAX};

    for (int i = 0; i < PAIRS && (best.receiver >= RECEIVER_BY || best.sender >= SENDER_BY); i++) {
        struct waits w = pair_once();
        best.receiver = w.receiver < best.receiver ? w.receiver : best.receiver;
        best.sender = w.sender < best.sender ? w.sender : best.sender;
    }
    printf("receiver %.1f ms, sender %.1f ms, round trip 200 ms\n", (double)best.receiver / 1e6,
           (double)best.sender / 1e6);
    if (loopback_is_lossy())
        return;
    ck_assert_int_lt(best.receiver, RECEIVER_BY);
    ck_assert_int_lt(best.sender, SENDER_BY);
}
