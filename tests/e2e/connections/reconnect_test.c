/* Callers that come again and again over a path that loses and reorders: each connects, asks and is
 * answered a few times, and closes. Both ends live all the time. So every connect finds its peer,
 * every question is answered, and every close is confirmed, however the last confirmations are
 * lost.
 *
 * ZCRP_RECONNECT_SECONDS is how long it goes on for each seed (1), ZCRP_RECONNECT_CALLERS how many
 * callers there are (16, at most 64); for more than some seconds raise CK_TIMEOUT_MULTIPLIER. */
#include "../../support/crossing.h"
#include "../../support/house.h"
#include "../../support/random.h"
#include "../../support/shared_keys.h"
#include "common/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

LOAD(asleep)

enum {
    CALLERS_MOST = 64,
    CODES = 64,
    BYTES = 1000,
    ASKED_MOST = 4,
    PAUSE_MOST_MS = 200,
    ONE_MOST_S = 10,
    PATIENCE_S = 20 /* under a sanitizer on a busy machine each end may need more than 5 s */
};

/* What came of one kind of call: how often each code, and how long it took at most. */
struct tally {
    _Atomic uint64_t count[CODES]; /* by -code */
    _Atomic int64_t longest;       /* ns */
};

struct town {
    struct house house;
    const char *port; /* that the callers connect to */
    const struct zcrp_options *options;
    _Atomic bool is_over;                    /* nobody connects any more, */
    _Atomic bool is_left;                    /* and all who have connected are gone */
    struct tally connects, asks, closes;     /* the callers' */
    struct tally accepts, answers, partings; /* the listener's */
    _Atomic int guests;
};

struct caller {
    pthread_t thread;
    struct town *town;
    uint64_t random;
};

static int count(struct tally *t, int code, int64_t since)
{
    int64_t taken = clock_now_ns() - since, longest = atomic_load(&t->longest);

    t->count[-code]++;
    while (taken > longest && !atomic_compare_exchange_weak(&t->longest, &longest, taken))
        ;
    return code;
}

static double number_of(const char *variable, double otherwise)
{
    const char *given = getenv(variable);

    return given != NULL ? atof(given) : otherwise;
}

/* ---- the listener's side ---- */

static int pass(struct zcrp_entity *e, struct zcrp_msg *m)
{
    int code = zcrp_submit(e, m, BYTES);

    return code == ZCRP_OK ? zcrp_wait_for(m, -1) : code;
}

struct guest {
    struct town *town;
    struct zcrp_connection *connection;
};

/* Answers until the caller closes. */
static void *serve(void *context)
{
    struct guest *g = context;
    struct town *t = g->town;
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);
    int code;

    do {
        code = pass(zcrp_connection_receiver(g->connection), m);
        if (code == ZCRP_OK)
            code = pass(zcrp_connection_sender(g->connection), m);
        count(&t->answers, code, clock_now_ns());
    } while (code == ZCRP_OK);
    int64_t since = clock_now_ns();
    count(&t->partings, zcrp_connection_close(g->connection), since);
    zcrp_free_msg(m);
    free(g);
    t->guests--;
    return NULL;
}

static void *receive_callers(void *context)
{
    struct town *t = context;

    while (!atomic_load(&t->is_left)) {
        pthread_t thread;
        struct guest *g = malloc(sizeof *g);
        g->town = t;
        int64_t since = clock_now_ns();
        int code = zcrp_accept(t->house.listener, &g->connection, ENDS_SECOND / 10);
        if (code == ZCRP_OK) {
            t->guests++;
            if (pthread_create(&thread, NULL, serve, g) != 0 || pthread_detach(thread) != 0)
                abort();
        } else {
            free(g);
        }
        count(&t->accepts, code, since);
    }
    return NULL;
}

/* ---- a caller ---- */

static void visit(struct caller *c)
{
    struct town *t = c->town;
    struct zcrp_connection *connection;
    struct zcrp_msg *out = ends_filled(BYTES, 1), *in = zcrp_alloc_msg(BYTES);
    int64_t since = clock_now_ns();
    int code = zcrp_connect(&connection, "127.0.0.1", t->port, t->options, -1);

    count(&t->connects, code, since);
    for (uint64_t i = random_below(&c->random, ASKED_MOST); i > 0 && code == ZCRP_OK; i--) {
        since = clock_now_ns();
        code = zcrp_submit(zcrp_connection_receiver(connection), in, BYTES);
        if (code == ZCRP_OK)
            code = pass(zcrp_connection_sender(connection), out);
        if (code == ZCRP_OK)
            code = zcrp_wait_for(in, -1);
        count(&t->asks, code, since);
    }
    since = clock_now_ns();
    if (connection != NULL)
        count(&t->closes, zcrp_connection_close(connection), since);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

static void *visit_again_and_again(void *context)
{
    struct caller *c = context;

    while (!atomic_load(&c->town->is_over)) {
        visit(c);
        usleep((useconds_t)random_below(&c->random, PAUSE_MOST_MS * 1000));
    }
    return NULL;
}

/* ---- all of them ---- */

static uint64_t report(const char *what, const struct tally *t)
{
    uint64_t all = 0;

    for (int i = 0; i < CODES; i++)
        all += t->count[i];
    printf("%s: %lu, longest %.0f ms", what, (unsigned long)all,
           (double)t->longest / (double)ENDS_MILLISECOND);
    for (int i = 0; i < CODES; i++)
        if (t->count[i] > 0)
            printf("; %lu %s", (unsigned long)t->count[i], i == 0 ? "ok" : zcrp_strerror(-i));
    printf("\n");
    return all;
}

static void live(struct town *t, int callers, double seconds, uint64_t seed)
{
    static struct caller caller[CALLERS_MOST];
    pthread_t host;

    ck_assert_int_eq(pthread_create(&host, NULL, receive_callers, t), 0);
    for (int i = 0; i < callers; i++) {
        caller[i] = (struct caller){.town = t, .random = seed + (uint64_t)i};
        ck_assert_int_eq(pthread_create(&caller[i].thread, NULL, visit_again_and_again, &caller[i]),
                         0);
    }
    usleep((useconds_t)(seconds * 1e6));
    atomic_store(&t->is_over, true);
    for (int i = 0; i < callers; i++)
        pthread_join(caller[i].thread, NULL);
    atomic_store(&t->is_left, true);
    pthread_join(host, NULL);
    while (atomic_load(&t->guests) > 0)
        usleep(1000);
}

static void reconnect(uint64_t seed, struct zcrp_keys *keys, bool is_one)
{
    int callers = is_one ? 1 : (int)number_of("ZCRP_RECONNECT_CALLERS", 16);
    double seconds = number_of("ZCRP_RECONNECT_SECONDS", 1);
    const struct zcrp_options options = {
        .keys = keys, .connections = 1024, .backlog = 256, .connect_ns = PATIENCE_S * ENDS_SECOND};
    const struct crossing_faults faults = {.lost = 20,
                                           .doubled = keys != NULL ? 10 : 0,
                                           .late = 20,
                                           .delay_ns = 20 * ENDS_MILLISECOND,
                                           .late_ns = 10 * ENDS_MILLISECOND,
                                           .is_one = is_one};
    static struct town t;
    struct zcrp_listener_stats stats;

    t.house = house_open("127.0.0.1", &options);
    t.options = &options;
    struct crossing *c = crossing_open(atoi(t.house.port), &faults, seed);
    t.port = crossing_port(c);
    live(&t, callers, is_one && seconds > (int)ONE_MOST_S ? (double)ONE_MOST_S : seconds, seed);
    ck_assert_int_eq(zcrp_listener_stats(t.house.listener, &stats), ZCRP_OK);
    printf("listener: %lu admitted, %lu dropped, %lu refused, %lu left\n",
           (unsigned long)stats.admitted, (unsigned long)stats.dropped,
           (unsigned long)stats.refused, (unsigned long)stats.connections);
    uint64_t connects = report("connects", &t.connects);
    uint64_t asks = report("asks", &t.asks);
    uint64_t closes = report("closes", &t.closes);
    report("accepts", &t.accepts);
    uint64_t answers = report("answers", &t.answers);
    uint64_t partings = report("closes of the listener's", &t.partings);
    ck_assert_int_eq(zcrp_listener_close(t.house.listener), ZCRP_OK);
    crossing_close(c);
    fflush(stdout); /* a failing test prints nothing else */
    ck_assert_uint_eq(t.connects.count[0], connects);
    ck_assert_uint_eq(t.asks.count[0], asks);
    ck_assert_uint_eq(t.answers.count[0] + t.answers.count[-ZCRP_ERROR_PEER_CLOSED] +
                          t.answers.count[-ZCRP_ERROR_CUT_OFF],
                      answers);
    ck_assert_uint_eq(t.closes.count[0], closes);
    ck_assert_uint_eq(t.partings.count[0], partings);
}

TEST(reconnect__without_keys, .is_random = true)
{
    reconnect(suite_seed(_i), NULL, false);
}

TEST(reconnect__with_keys, .is_random = true, .needs = has_keys)
{
    struct zcrp_keys *keys = shared("alice", key);

    reconnect(suite_seed(_i), keys, false);
    zcrp_keys_free(keys);
}

/* The next connection comes from the address and port of the last one, which may not be quite over
 * at the listener. */
TEST(reconnect__from_one_address, .is_random = true)
{
    reconnect(suite_seed(_i), NULL, true);
}

TEST(reconnect__from_one_address_with_keys, .is_random = true, .needs = has_keys)
{
    struct zcrp_keys *keys = shared("alice", key);

    reconnect(suite_seed(_i), keys, true);
    zcrp_keys_free(keys);
}

/* ---- one caller, far away ---- */

enum { ACK_POSITIVE = 0x22, ACK_NEGATIVE = 0x23, CLOSING = 16 };

/* Loses whatever closes the caller's receiver. */
static bool see(void *context, bool is_outward, const uint8_t *datagram, size_t size)
{
    bool is_ack = datagram[size - 1] == ACK_POSITIVE || datagram[size - 1] == ACK_NEGATIVE;

    (void)context;
    return !is_outward || !is_ack || !(datagram[size - 2] & CLOSING);
}

/* Both ends know that the connection ends, and the peer confirms no more. The caller stays for
 * eight round trips, in case it is asked what it has, but not beyond the limit of its user, and it
 * closes in order. */
TEST(reconnect__closes_in_order_from_afar)
{
    const struct crossing_faults faults = {.delay_ns = 150 * ENDS_MILLISECOND, .see = see};
    const struct zcrp_options options = {.linger_ns = 2 * ENDS_SECOND};
    struct house h = house_open("127.0.0.1", NULL);
    struct crossing *c = crossing_open(atoi(h.port), &faults, 1);
    struct both b;

    ck_assert_int_eq(zcrp_connect(&b.there, "127.0.0.1", crossing_port(c), &options, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h.listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    house_pass(b.here, b.there, BYTES, 1);
    ck_assert_int_eq(zcrp_connection_close(b.there), ZCRP_OK);
    (void)zcrp_connection_close(b.here);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    crossing_close(c);
}
