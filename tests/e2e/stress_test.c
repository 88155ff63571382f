/* Anything at any time, from several threads, over a network that loses one datagram in twenty: a
 * code or the result, never anything else. ZCRP_STRESS_SECONDS is how long for each seed (1; for
 * more than 100 raise CK_TIMEOUT_MULTIPLIER). ZCRP_SEED repeats what the threads draw, though not
 * how they meet. */
#include "../support/ends.h"
#include "../support/random.h"
#include "../support/relay.h"
#include "../support/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

LOAD(asleep)

enum { USERS = 2, SLOTS = 12, LARGEST = 10000000 };

static const nlong sizes[] = {0, 1, 2, 31, 32, 33, 1439, 1440, 1441, 65535, 65536, LARGEST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* One thread of one end: it alone has its messages; the entity is for all of its end. */
struct user {
    pthread_t thread;
    struct zcrp_entity *entity;
    bool is_sender;
    uint64_t random;
    struct zcrp_msg *slot[SLOTS];
    uint64_t good, bad;
};

static _Atomic bool is_over;

/* libcheck's own assertions are for the main thread. */
static void must(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static nlong random_size(uint64_t *random)
{
    /* The largest is rare: it takes long. */
    return sizes[random_below(random, random_chance(random, 2) ? SIZES : SIZES - 1)];
}

/* Some messages lie in pieces of the memory that their context is: of 48 bytes, the last of them
 * first, and what is left behind them. */
enum { PIECE = 48, PIECES = 20 };

static int pieces_of(const struct zcrp_msg *m, struct iovec pieces[PIECES + 1])
{
    nlong left = m->message_size;
    nbyte *at = (nbyte *)m->context + left;
    int count = 0;

    for (; count < PIECES && left >= PIECE; left -= PIECE)
        pieces[count++] = (struct iovec){at -= PIECE, PIECE};
    pieces[count++] = (struct iovec){m->context, left};
    return count;
}

static struct zcrp_msg *make(nlong size, bool is_cut)
{
    struct zcrp_msg given = {.message_size = size, .context = is_cut ? malloc(size + 1) : NULL};
    struct iovec pieces[PIECES + 1];

    if (!is_cut)
        return zcrp_alloc_msg(size);
    struct zcrp_msg *m = zcrp_wrap_iov(pieces, pieces_of(&given, pieces));
    must(m != NULL, "no memory");
    m->context = given.context;
    return m;
}

static void unmake(struct zcrp_msg *m)
{
    void *memory = m != NULL ? m->context : NULL;

    zcrp_free_msg(m);
    free(memory);
}

static void fill(const struct zcrp_msg *m, nlong size)
{
    struct iovec pieces[PIECES + 1];

    if (m->context == NULL) {
        pattern_fill(m->buffer, size, size);
        return;
    }
    nbyte *bytes = malloc(size + 1), *from = bytes;
    pattern_fill(bytes, size, size);
    int count = pieces_of(m, pieces);
    for (int i = 0; i < count; from += pieces[i++].iov_len)
        memcpy(pieces[i].iov_base, from, pieces[i].iov_len);
    free(bytes);
}

static bool holds(const struct zcrp_msg *m)
{
    struct iovec pieces[PIECES + 1];

    if (m->context == NULL)
        return pattern_holds(m->buffer, m->length, m->length);
    nbyte *bytes = malloc(m->message_size + 1), *to = bytes;
    int count = pieces_of(m, pieces);
    for (int i = 0; i < count; to += pieces[i++].iov_len)
        memcpy(to, pieces[i].iov_base, pieces[i].iov_len);
    bool is_whole = pattern_holds(bytes, m->length, m->length);
    free(bytes);
    return is_whole;
}

static void check_ended(struct user *u, const struct zcrp_msg *m, int code)
{
    must(code == ZCRP_OK || code == ZCRP_ERROR_CANCELLED || code == ZCRP_ERROR_PEER_CANCELLED ||
             code == ZCRP_ERROR_TOO_LARGE || code == ZCRP_ERROR_CLOSED ||
             code == ZCRP_ERROR_PEER_CLOSED || code == ZCRP_ERROR_CUT_OFF,
         zcrp_strerror(code));
    if (code != ZCRP_OK) {
        u->bad++;
        return;
    }
    u->good++;
    /* Every sender fills its messages by their length alone. */
    must(m->length <= m->message_size, "a message is longer than its buffer");
    must(u->is_sender || holds(m), "a message is damaged");
}

static void submit(struct user *u, struct zcrp_msg **slot)
{
    nlong size = random_size(&u->random);

    if (*slot == NULL)
        *slot = make(size, random_chance(&u->random, 40));
    size = (*slot)->message_size;
    if (u->is_sender)
        fill(*slot, size);
    must(zcrp_submit(u->entity, *slot, size) == ZCRP_OK, "submit");
}

/* What can be done with a message, whatever it is at. */
static void act(struct user *u, struct zcrp_msg **slot)
{
    int code = *slot ? zcrp_error(*slot) : ZCRP_ERROR_IDLE;
    bool is_in_flight = code == ZCRP_ERROR_BUSY;
    struct zcrp_stats stats;

    switch (random_below(&u->random, 8)) {
    case 0:
        (void)zcrp_probe(*slot);
        break;
    case 1:
        if (is_in_flight && random_chance(&u->random, 10))
            (void)zcrp_cancel(*slot);
        break;
    case 2:
        must(zcrp_stats(u->entity, &stats) == ZCRP_OK, "stats");
        break;
    case 3:
        (void)zcrp_wait_any(u->slot, SLOTS, (int64_t)random_below(&u->random, 2000000));
        break;
    case 4:
        if (is_in_flight)
            (void)zcrp_wait_for(*slot, (int64_t)random_below(&u->random, 2000000));
        break;
    default:
        if (is_in_flight)
            break;
        if (code != ZCRP_ERROR_IDLE)
            check_ended(u, *slot, code);
        if (random_chance(&u->random, 50)) {
            unmake(*slot);
            *slot = NULL;
        }
        submit(u, slot);
        break;
    }
}

static void *use(void *context)
{
    struct user *u = context;

    while (!atomic_load(&is_over))
        act(u, &u->slot[random_below(&u->random, SLOTS)]);
    return NULL;
}

/* After the close nothing is in flight any more. */
static void clear(struct user *u)
{
    for (int i = 0; i < SLOTS; i++) {
        if (u->slot[i] == NULL)
            continue;
        int code = zcrp_error(u->slot[i]);
        must(code != ZCRP_ERROR_BUSY, "a message is in flight after the close");
        if (code != ZCRP_ERROR_IDLE)
            check_ended(u, u->slot[i], code);
        unmake(u->slot[i]);
    }
}

static void start(struct user *u, struct zcrp_entity *entity, bool is_sender, uint64_t random)
{
    *u = (struct user){.entity = entity, .is_sender = is_sender, .random = random};
    ck_assert_int_eq(pthread_create(&u->thread, NULL, use, u), 0);
}

static void sleep_seconds(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};

    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

static double seconds_wanted(void)
{
    const char *given = getenv("ZCRP_STRESS_SECONDS");

    return given ? atof(given) : 1;
}

TEST(stress__random_calls, .is_random = true)
{
    static struct relay relay;
    static struct user user[2 * USERS];
    const struct relay_faults faults = {.lost = 50, .late = 20, .late_ns = 1000000};
    const struct zcrp_options options = {
        .unit_bytes = 1472, .messages = 16, .linger_ns = ENDS_SECOND / 2};
    struct zcrp_entity *sender, *receiver;

    uint64_t seed = suite_seed(_i);

    relay_open(&relay, &faults, seed);
    relay_run(&relay);
    ck_assert_int_eq(zcrp_open_sender(&sender, relay.ends.sender, &options), 0);
    ck_assert_int_eq(zcrp_open_receiver(&receiver, relay.ends.receiver, &options), 0);
    for (unsigned i = 0; i < 2 * USERS; i++)
        start(&user[i], i % 2 == 0 ? sender : receiver, i % 2 == 0, seed + i);
    sleep_seconds(seconds_wanted());
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < 2 * USERS; i++)
        pthread_join(user[i].thread, NULL);
    (void)zcrp_close(sender);
    (void)zcrp_close(receiver);
    relay_close(&relay);
    loopback_close(&relay.ends);
    for (unsigned i = 0; i < 2 * USERS; i++) {
        clear(&user[i]);
        ck_assert_uint_gt(user[i].good, 0);
    }
}
