/* A caller with keys whose address changes: the listener finds it again, and nothing is lost. */
#include "../../support/crossing.h"
#include "../../support/shared_keys.h"
#include "core/adt/random.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

LOAD(asleep)

#define DELAY (10 * ENDS_MILLISECOND) /* one way */

/* Three round trips, and three seconds, for a machine that stands still for a while; without moves
 * nothing would come before the keepalive, after five. As many times that as sanitizers take for
 * everything. */
static int64_t within(void)
{
    const char *times = getenv("CK_TIMEOUT_MULTIPLIER");

    return (3 * 2 * DELAY + 3 * ENDS_SECOND) * (times != NULL ? atoi(times) : 1);
}

enum { MESSAGES = 12, MESSAGE = 1 << 20, FORGOTTEN_AT = 4 };

struct moved {
    struct crossing *nat; /* a translator of addresses */
    struct zcrp_listener *listener;
    struct zcrp_connection *there, *here; /* the caller's, and the listener's */
};

static void meet_before(struct moved *m, int64_t delay_ns, struct zcrp_options options,
                        crossing_see see, void *context)
{
    const struct crossing_faults nat = {
        .delay_ns = delay_ns, .is_one = true, .see = see, .context = context};

    ck_assert_int_eq(zcrp_listen(&m->listener, "127.0.0.1", "0", &options), ZCRP_OK);
    m->nat = crossing_open(zcrp_listener_port(m->listener), &nat, 1);
    ck_assert_int_eq(
        zcrp_connect(&m->there, "127.0.0.1", crossing_port(m->nat), &options, 5 * ENDS_SECOND),
        ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(m->listener, &m->here, 5 * ENDS_SECOND), ZCRP_OK);
    zcrp_keys_free(options.keys);
}

static void meet_with(struct moved *m, int64_t delay_ns, struct zcrp_options options)
{
    options.keys = shared("alice", key);
    meet_before(m, delay_ns, options, NULL, NULL);
}

static void meet(struct moved *m)
{
    meet_with(m, DELAY, (struct zcrp_options){.unit_bytes = 1472});
}

/* How long the path took at most. */
static int64_t part(struct moved *m)
{
    ck_assert_int_eq(zcrp_connection_close(m->there), ZCRP_OK);
    (void)zcrp_connection_close(m->here);
    (void)zcrp_listener_close(m->listener);
    return crossing_close(m->nat);
}

static uint64_t moves(const struct zcrp_connection *c)
{
    return ends_stats(zcrp_connection_receiver(c)).moves;
}

static uint64_t arrived(const struct zcrp_connection *c)
{
    return ends_stats(zcrp_connection_receiver(c)).bytes_arrived;
}

/* Sleeps for a while; if that took longer than ever, `*longest` says how long. */
static void nap(int64_t *longest)
{
    int64_t began = clock_now_ns();

    usleep(1000);
    int64_t taken = clock_now_ns() - began;
    *longest = taken > *longest ? taken : *longest;
}

static void post(struct zcrp_connection *to, struct zcrp_msg *in[], unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in[i], MESSAGE), 0);
}

/* Messages cross; in the middle the translator forgets. What comes behind that has buffers only
 * then: so not all is over before a busy machine lets it forget. Returns the longest time in which
 * nothing arrived, without ten naps as this thread had them: as much the other threads may have
 * waited for a processor. */
static int64_t cross_while_forgotten(struct moved *m, bool is_upward)
{
    struct zcrp_connection *from = is_upward ? m->there : m->here;
    struct zcrp_connection *to = is_upward ? m->here : m->there;
    struct zcrp_msg *in[MESSAGES], *out[MESSAGES];
    int64_t longest = 0, napped = 0, last = clock_now_ns();
    uint64_t known = 0, before = arrived(to), all = (uint64_t)MESSAGES * MESSAGE;
    bool is_forgotten = false;

    for (unsigned i = 0; i < MESSAGES; i++) {
        in[i] = ends_empty(MESSAGE);
        out[i] = ends_filled(MESSAGE, i);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out[i], MESSAGE), 0);
    }
    post(to, in, 0, FORGOTTEN_AT + 1);
    while (known < all && clock_now_ns() - last < 20 * ENDS_SECOND) {
        uint64_t bytes = arrived(to) - before;
        int64_t now = clock_now_ns();
        if (bytes != known) {
            longest = now - last > longest ? now - last : longest;
            last = now;
            known = bytes;
        }
        if (!is_forgotten && bytes > FORGOTTEN_AT * MESSAGE + MESSAGE / 2) {
            crossing_forget(m->nat);
            is_forgotten = true;
            post(to, in, FORGOTTEN_AT + 1, MESSAGES);
        }
        nap(&napped);
    }
    for (unsigned i = 0; i < MESSAGES; i++)
        ends_finish(in[i], out[i], MESSAGE, i);
    return longest > 10 * napped ? longest - 10 * napped : 0;
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
        ck_assert_int_lt(longest, within());
        ck_assert_uint_eq(moves(m.here), i);
        ck_assert_uint_eq(moves(m.there), i);
        ck_assert_int_eq(port_of_peer(m.here), crossing_mapped(m.nat));
    }
    part(&m);
}

static _Atomic unsigned challenges; /* that a tap has seen leave */

/* The type is read although the datagram is sealed. */
static void count_challenges(void *context, const struct zcrp_crossing *crossing)
{
    const struct iovec *last = &crossing->pieces[crossing->piece_count - 1];
    int type = ((const uint8_t *)last->iov_base)[last->iov_len - 1] & 15;

    (void)context;
    if (crossing->is_outward && type == 11)
        challenges++;
}

/* The listener asks at the new address whether its caller is there, and says that it has followed.
 */
TEST(moves__are_shown_to_a_tap, .needs = has_keys)
{
    static struct moved m;

    meet_with(&m, DELAY, (struct zcrp_options){.unit_bytes = 1472, .tap = count_challenges});
    (void)cross_while_forgotten(&m, true);
    ck_assert_uint_eq(moves(m.here), 1);
    ck_assert_uint_ge(atomic_load(&challenges), 2);
    part(&m);
}

static _Atomic bool is_taken;

static void *take(void *queue)
{
    struct zcrp_completion c;

    while (is_taken)
        ck_assert_int_ge(zcrp_queue_take(queue, &c, 1, ENDS_MILLISECOND), 0);
    return NULL;
}

/* Both ends in a queue, from which somebody takes, or nobody: what comes from the new address comes
 * by the listener, and wakes whoever looks. */
TEST(moves__in_a_queue, .needs = has_keys, .rows = 4)
{
    static struct moved m;
    struct zcrp_queue *q;
    pthread_t taker;

    meet(&m);
    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, m.there, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, m.here, NULL), ZCRP_OK);
    is_taken = _i / 2 == 1;
    ck_assert_int_eq(pthread_create(&taker, NULL, take, q), 0);
    int64_t longest = cross_while_forgotten(&m, _i % 2 == 0);
    ck_assert_int_lt(longest, within());
    ck_assert_uint_eq(moves(m.here), 1);
    is_taken = false;
    ck_assert_int_eq(pthread_join(taker, NULL), 0);
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    part(&m);
}

static bool lose(void *random, bool is_outward, const uint8_t *datagram, size_t size)
{
    (void)is_outward, (void)datagram, (void)size;
    return random_next(random) % 100 >= 3;
}

/* Challenges and answers are lost, too. */
TEST(moves__over_a_lossy_path, .needs = has_keys, .rows = 2)
{
    static struct moved m;
    static uint64_t random;
    struct zcrp_options options = {.unit_bytes = 1472, .keys = shared("alice", key)};

    random = suite_seed(0);
    meet_before(&m, 2 * ENDS_MILLISECOND, options, lose, &random);
    for (unsigned i = 1; i <= 4; i++)
        ck_assert_int_lt(cross_while_forgotten(&m, _i == 0), 10 * ENDS_SECOND);
    ck_assert_uint_ge(moves(m.here), 4);
    part(&m);
}

static void exchange_one(struct zcrp_connection *from, struct zcrp_connection *to)
{
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 0);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in, MESSAGE), 0);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out, MESSAGE), 0);
    ends_finish(in, out, MESSAGE, 0);
}

/* The caller has something to send, but no buffer for it: the request that announces the buffer
 * goes to the address that was forgotten. Soon after the message began to wait, or later, when the
 * caller looks more rarely. */
TEST(moves__while_a_message_waits_for_its_buffer, .needs = has_keys, .rows = 2)
{
    static struct moved m;

    meet(&m);
    exchange_one(m.there, m.here);
    exchange_one(m.here, m.there);
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 1);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(m.there), out, MESSAGE), 0);
    usleep(_i == 0 ? 100000 : 1000000);
    crossing_forget(m.nat);
    usleep(20000); /* by then it has */
    int64_t began = clock_now_ns();
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(m.here), in, MESSAGE), 0);
    ends_finish(in, out, MESSAGE, 1);
    ck_assert_int_lt(clock_now_ns() - began, within() + _i * 2 * ENDS_SECOND);
    ck_assert_uint_eq(moves(m.here), 1);
    part(&m);
}

/* Units of 64 KiB are more than a listener hears: the caller says hello. */
TEST(moves__large_units, .needs = has_keys)
{
    static struct moved m;
    meet_with(&m, DELAY, (struct zcrp_options){.unit_bytes = 0});
    ck_assert_int_lt(cross_while_forgotten(&m, true), within());
    ck_assert_uint_eq(moves(m.here), 1);
    part(&m);
}

/* A thread waits for the message, and has the lease: at the listener's side or at the caller's, for
 * a message of either direction. */
TEST(moves__beside_a_waiter, .needs = has_keys, .rows = 4)
{
    enum { LARGE = 16 << 20 };
    static struct moved m;
    bool is_upward = _i % 2 == 0, waits_there = _i / 2 == 0;
    meet(&m);
    struct zcrp_connection *from = is_upward ? m.there : m.here;
    struct zcrp_connection *to = is_upward ? m.here : m.there;
    struct zcrp_msg *in = ends_empty(LARGE), *out = ends_filled(LARGE, 7);

    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), in, LARGE), 0);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), out, LARGE), 0);
    while (arrived(to) < LARGE / 4)
        usleep(1000);
    crossing_forget(m.nat);
    ck_assert_int_eq(ends_wait(waits_there == is_upward ? out : in), ZCRP_OK);
    ends_finish(in, out, LARGE, 7);
    ck_assert_uint_eq(moves(m.here), 1);
    part(&m);
}

/* One message, in the middle of which the translator forgets. Its code at the caller. */
static int send_one(struct moved *m)
{
    struct zcrp_msg *in = ends_empty(MESSAGE), *out = ends_filled(MESSAGE, 1);

    crossing_forget(m->nat);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(m->here), in, MESSAGE), 0);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(m->there), out, MESSAGE), 0);
    int code = ends_wait(out);
    (void)zcrp_connection_close(m->there);
    (void)zcrp_connection_close(m->here);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    return code;
}

static const struct zcrp_options impatient = {
    .unit_bytes = 1472, .silence_ns = 2 * ENDS_SECOND, .linger_ns = ENDS_SECOND / 10};

TEST(moves__not_without_keys)
{
    static struct moved m;
    meet_before(&m, DELAY, impatient, NULL, NULL);
    ck_assert_int_lt(send_one(&m), 0); /* silent, or stalled */
    ck_assert_int_eq(zcrp_listener_close(m.listener), ZCRP_OK);
    crossing_close(m.nat);
}

TEST(moves__not_behind_a_listener_that_is_closed, .needs = has_keys)
{
    static struct moved m;
    meet_with(&m, DELAY, impatient);
    ck_assert_int_eq(zcrp_listener_close(m.listener), ZCRP_OK);
    ck_assert_int_lt(send_one(&m), 0); /* silent, or stalled */
    crossing_close(m.nat);
}

/* ---- strangers on the path ---- */

enum { PLACES = 32, RECORDED = 512, MOST = 2048, FORGED = 20000, COPIES = 4 };

/* It reads and copies everything, is faster than the path, sends from many addresses, and carries
 * what it is asked to the caller. It cannot drop anything. */
struct stranger {
    struct crossing *nat;
    int listener; /* its port */
    int place[PLACES];
    uint64_t in[PLACES], out[PLACES]; /* bytes that came to a place, and that left it */
    uint32_t asked;                   /* the place that was challenged last */
    _Atomic bool has_begun; /* once the caller is admitted: who carries a handshake is admitted */
    _Atomic uint64_t forged;
    uint64_t challenges;
    uint32_t count;
    struct {
        size_t size;
        uint8_t bytes[MOST];
    } recorded[RECORDED];
    uint64_t random;
};

static void send_from(struct stranger *s, uint32_t place, const uint8_t *datagram, size_t size)
{
    if (send(s->place[place], datagram, size, MSG_DONTWAIT) != (ssize_t)size)
        return;
    s->out[place] += size;
    s->forged++;
}

static void to_caller(struct stranger *s, const uint8_t *datagram, size_t size)
{
    crossing_tell(s->nat, datagram, size);
}

static uint32_t draw(struct stranger *s, uint32_t limit)
{
    return (uint32_t)(random_next(&s->random) % limit);
}

static void record(struct stranger *s, const uint8_t *datagram, size_t size)
{
    uint32_t i = s->count++ % RECORDED;
    s->recorded[i].size = size;
    memcpy(s->recorded[i].bytes, datagram, size);
}

/* Whatever came to its places is a challenge, or may be one. */
static void carry(struct stranger *s)
{
    uint8_t datagram[MOST];

    for (uint32_t i = 0; i < PLACES; i++) {
        ssize_t size;
        while ((size = recv(s->place[i], datagram, MOST, MSG_DONTWAIT)) > 0) {
            s->in[i] += (uint64_t)size;
            s->challenges++;
            s->asked = i;
            to_caller(s, datagram, (size_t)size);
            record(s, datagram, (size_t)size);
        }
    }
}

static void open_places(struct stranger *s)
{
    const struct sockaddr_in listener = {.sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)s->listener),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    for (uint32_t i = 0; i < PLACES && s->place[i] == 0; i++) {
        s->place[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(s->place[i], 0);
        ck_assert_int_eq(connect(s->place[i], (const struct sockaddr *)&listener, sizeof listener),
                         0);
    }
}

static bool see(void *stranger, bool is_outward, const uint8_t *datagram, size_t size)
{
    struct stranger *s = stranger;

    if (size == 0 || size > MOST || !atomic_load(&s->has_begun))
        return true;
    open_places(s);
    carry(s);
    if (is_outward)
        send_from(s, s->asked, datagram, size); /* it may be the answer */
    for (uint32_t i = 0; i < COPIES; i++)
        send_from(s, draw(s, PLACES), datagram, size); /* copied, or reflected */
    record(s, datagram, size);
    uint32_t known = s->count < RECORDED ? s->count : RECORDED;
    uint32_t old = draw(s, known);
    send_from(s, draw(s, PLACES), s->recorded[old].bytes, s->recorded[old].size);
    to_caller(s, s->recorded[old].bytes, s->recorded[old].size);
    return true;
}

/* Row 51 of tests/attack/README.md. Five times as many datagrams with ZCRP_ATTACK=all. The listener
 * waits 100 ms for the caller where it is: a path that is late by as much, because the translator
 * had no processor, may be overtaken. */
TEST(moves__forged, .needs = has_keys)
{
    static struct moved m;
    static struct stranger s;
    struct zcrp_options options = {.unit_bytes = 1472, .keys = shared("alice", key)};
    const char *wanted = getenv("ZCRP_ATTACK");
    uint64_t most = wanted != NULL && wanted[0] == 'a' ? 5 * FORGED : FORGED;
    uint64_t in = 0, out = 0;
    char before[80], after[80];

    s.random = suite_seed(0);
    meet_before(&m, 2 * ENDS_MILLISECOND, options, see, &s);
    ck_assert_int_eq(zcrp_connection_peer(m.here, before, sizeof before), ZCRP_OK);
    s.nat = m.nat;
    s.listener = zcrp_listener_port(m.listener);
    atomic_store(&s.has_begun, true);
    for (unsigned i = 0; atomic_load(&s.forged) < most; i++) {
        struct zcrp_connection *from = i % 2 == 0 ? m.there : m.here;
        struct zcrp_connection *to = i % 2 == 0 ? m.here : m.there;
        struct zcrp_msg *empty = ends_empty(MESSAGE), *full = ends_filled(MESSAGE, i);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(to), empty, MESSAGE), 0);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(from), full, MESSAGE), 0);
        ends_finish(empty, full, MESSAGE, i);
    }
    uint64_t moved = moves(m.here) + moves(m.there);
    ck_assert_int_eq(zcrp_connection_peer(m.here, after, sizeof after), ZCRP_OK);
    ck_assert_uint_gt(ends_stats(zcrp_connection_sender(m.there)).drop_replayed, 0);
    bool is_late = part(&m) > 50 * ENDS_MILLISECOND; /* then nobody else looks at the stranger */
    for (uint32_t i = 0; i < PLACES; i++) {
        ck_assert_uint_le(s.in[i], s.out[i]);
        in += s.in[i];
        out += s.out[i];
        (void)close(s.place[i]);
    }
    printf("row 51: %lu forged datagrams of %d places, %lu bytes; %lu challenges, %lu bytes; "
           "%lu moves%s\n",
           (unsigned long)s.forged, PLACES, (unsigned long)out, (unsigned long)s.challenges,
           (unsigned long)in, (unsigned long)moved, is_late ? "; the path was late" : "");
    if (!is_late) {
        ck_assert_uint_eq(moved, 0);
        ck_assert_str_eq(before, after);
    }
    ck_assert_uint_gt(s.challenges, 0);
}
