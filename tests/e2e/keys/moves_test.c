/* A caller with keys whose address changes: the listener finds it again, and nothing is lost. */
#include "../../support/nat.h"
#include "../../support/shared_keys.h"

#include <stdio.h>

LOAD(asleep)

#define DELAY (10 * ENDS_MILLISECOND) /* one way */
#define WITHIN (3 * 2 * DELAY + ENDS_SECOND)

enum { MESSAGES = 12, MESSAGE = 1 << 20, FORGOTTEN_AT = 4 };

struct moved {
    struct nat nat;
    struct zcrp_listener *listener;
    struct zcrp_connection *there, *here; /* the caller's, and the listener's */
};

static void meet_with(struct moved *m, int64_t delay_ns, struct zcrp_options options)
{
    options.keys = shared("alice", key);
    ck_assert_int_eq(zcrp_listen(&m->listener, "127.0.0.1", "0", &options), ZCRP_OK);
    nat_open(&m->nat, zcrp_listener_port(m->listener), delay_ns);
    nat_run(&m->nat);
    ck_assert_int_eq(zcrp_connect(&m->there, "127.0.0.1", m->nat.port, &options, 5 * ENDS_SECOND),
                     ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(m->listener, &m->here, 5 * ENDS_SECOND), ZCRP_OK);
    zcrp_keys_free(options.keys);
}

static void meet(struct moved *m)
{
    meet_with(m, DELAY, (struct zcrp_options){.unit_bytes = 1472});
}

static void part(struct moved *m)
{
    ck_assert_int_eq(zcrp_connection_close(m->there), ZCRP_OK);
    (void)zcrp_connection_close(m->here);
    (void)zcrp_listener_close(m->listener);
    nat_close(&m->nat);
}

static uint64_t moves(const struct zcrp_connection *c)
{
    return ends_stats(zcrp_connection_receiver(c)).moves;
}

static uint64_t arrived(const struct zcrp_connection *c)
{
    return ends_stats(zcrp_connection_receiver(c)).bytes_arrived;
}

/* Messages cross; in the middle the translator forgets. Returns the longest time in which nothing
 * arrived. */
static int64_t cross_while_forgotten(struct moved *m, bool is_upward)
{
    struct zcrp_connection *from = is_upward ? m->there : m->here;
    struct zcrp_connection *to = is_upward ? m->here : m->there;
    struct zcrp_msg *in[MESSAGES], *out[MESSAGES];
    int64_t longest = 0, last = ends_now_ns();
    uint64_t known = 0, before = arrived(to), all = (uint64_t)MESSAGES * MESSAGE;
    bool is_forgotten = false;

    for (unsigned i = 0; i < MESSAGES; i++) {
        in[i] = ends_empty(MESSAGE);
        out[i] = ends_filled(MESSAGE, i);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in[i], MESSAGE), 0);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out[i], MESSAGE), 0);
    }
    while (known < all && ends_now_ns() - last < 20 * ENDS_SECOND) {
        uint64_t bytes = arrived(to) - before;
        int64_t now = ends_now_ns();
        if (bytes != known) {
            longest = now - last > longest ? now - last : longest;
            last = now;
            known = bytes;
        }
        if (!is_forgotten && bytes > FORGOTTEN_AT * MESSAGE + MESSAGE / 2) {
            nat_forget(&m->nat);
            is_forgotten = true;
        }
        usleep(1000);
    }
    for (unsigned i = 0; i < MESSAGES; i++)
        ends_finish(in[i], out[i], MESSAGE, i);
    return longest;
}

static int64_t port_of_peer(const struct zcrp_connection *c)
{
    char text[80];

    ck_assert_int_eq(zcrp_connection_peer(c, text, sizeof text), ZCRP_OK);
    const char *colon = strrchr(text, ':');
    ck_assert_ptr_nonnull(colon);
    return strtol(colon + 1, NULL, 10);
}

/* Both directions, and again and again. */
TEST(moves__translator_forgets, .needs = has_keys, .rows = 2)
{
    static struct moved m;
    meet(&m);
    for (unsigned i = 1; i <= 2; i++) {
        int64_t longest = cross_while_forgotten(&m, _i == 0);
        printf("nothing arrived for %.0f ms\n", (double)longest / 1e6);
        ck_assert_int_lt(longest, WITHIN);
        ck_assert_uint_eq(moves(m.here), i);
        ck_assert_uint_eq(moves(m.there), i);
        ck_assert_int_eq(port_of_peer(m.here), nat_port(&m.nat));
    }
    part(&m);
}
