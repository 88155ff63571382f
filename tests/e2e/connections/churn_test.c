/* Peers that come and go: connections opened and closed again and again, which leaves nothing
 * behind, and any call at any time while peers connect, close, and are killed.
 *
 * ZCRP_CHURN_ROUNDS is how many connections are opened and closed (2,000), ZCRP_CHURN_BYTES how
 * much memory may be left (16,384, which malloc keeps for its threads; 0 if GLIBC_TUNABLES takes
 * its tcache), ZCRP_STRESS_SECONDS how long the random calls go on for each seed (1); for more than
 * some thousands and 30 s raise CK_TIMEOUT_MULTIPLIER. ZCRP_SEED repeats what the threads draw,
 * though not how they meet. */
#include "../../support/house.h"
#include "../../support/own.h"
#include "../../support/random.h"
#include "../../support/suite.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

enum { USERS = 4, PLACES = 8, SLOTS = 8, ALIVE = 8, WARM = 50, LARGEST = 300000 };

static const struct zcrp_options small = {.messages = 16, .connections = 16, .backlog = 4};
static const struct zcrp_options quick = {.silence_ns = ENDS_SECOND / 2,
                                          .linger_ns = ENDS_SECOND / 20,
                                          .connect_ns = ENDS_SECOND / 2,
                                          .messages = 16,
                                          .connections = 16,
                                          .backlog = 4};

/* libcheck's own assertions are for the main thread of the test's own process. */
static void must(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static double number_of(const char *variable, double otherwise)
{
    const char *given = getenv(variable);

    return given != NULL ? atof(given) : otherwise;
}

/* ---- what a process has ---- */

struct belongings {
    int threads, descriptors;
    size_t bytes; /* allocated; 0 under a sanitizer, which has its own books */
};

static struct belongings belongings_now(void)
{
    return (struct belongings){
        .threads = own_threads(),
        .descriptors = own_descriptors(),
        .bytes = IS_SANITIZED ? 0 : mallinfo2().uordblks + mallinfo2().hblkhd,
    };
}

/* A joined thread may be seen for a moment longer. */
static void belongings_hold(const struct belongings *before, size_t more)
{
    struct belongings now = belongings_now();

    for (int i = 0; i < 1000 && now.threads != before->threads; i++) {
        usleep(1000);
        now = belongings_now();
    }
    printf("%d threads, %d descriptors, %zu bytes; before: %d, %d, %zu\n", now.threads,
           now.descriptors, now.bytes, before->threads, before->descriptors, before->bytes);
    ck_assert_int_eq(now.threads, before->threads);
    ck_assert_int_eq(now.descriptors, before->descriptors);
    ck_assert_uint_le(now.bytes, before->bytes + more);
}

/* ---- opened and closed ---- */

/* Every fourth has something to do; the ends close in either order, and both or one of them at
 * once. */
static void round_begin(const struct house *h, struct both *b, unsigned i)
{
    *b = house_meet(h, &small);
    if (i % 4 == 0)
        house_pass(b->there, b->here, LARGEST, i);
}

static void round_end(struct both *b, unsigned i)
{
    (void)zcrp_connection_close(i % 2 == 0 ? b->there : b->here);
    (void)zcrp_connection_close(i % 2 == 0 ? b->here : b->there);
    *b = (struct both){NULL, NULL};
}

/* ALIVE connections at a time. */
static void churn(const struct house *h, unsigned rounds)
{
    struct both b[ALIVE] = {{NULL, NULL}};

    for (unsigned i = 0; i < rounds; i++) {
        round_end(&b[i % ALIVE], i);
        round_begin(h, &b[i % ALIVE], i);
    }
    for (unsigned i = 0; i < ALIVE; i++)
        round_end(&b[i], i);
}

TEST(churn__leaves_nothing)
{
    unsigned rounds = (unsigned)number_of("ZCRP_CHURN_ROUNDS", 2000);
    struct zcrp_listener_stats stats;

    ck_assert_int_eq(zcrp_listener_close(house_open("127.0.0.1", &small).listener),
                     ZCRP_OK); /* once for all */
    struct belongings empty = belongings_now();
    struct house h = house_open("127.0.0.1", &small);

    churn(&h, WARM);
    struct belongings before = belongings_now();
    churn(&h, rounds);
    belongings_hold(&before, (size_t)number_of("ZCRP_CHURN_BYTES", 16384));
    ck_assert_int_eq(zcrp_listener_stats(h.listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.connections, 0);
    ck_assert_uint_eq(stats.admitted, WARM + rounds);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    belongings_hold(&empty, 64 << 10); /* what stdio and the C library keep */
}

/* ---- anything at any time ---- */

/* Where a connection may be. Its users hold the lock together; one thread takes it out alone, and
 * closes it while others still wait for their messages. */
struct place {
    pthread_rwlock_t lock;
    struct zcrp_connection *connection;
};

/* What the users of one process share. */
struct town {
    const char *port;
    struct zcrp_listener *listener; /* NULL: this process only connects */
    struct place place[PLACES];
    _Atomic bool is_over;
    _Atomic uint64_t opened;
};

/* One thread; it alone has its messages. */
struct user {
    pthread_t thread;
    struct town *town;
    uint64_t random;
    struct zcrp_msg *slot[SLOTS];
    bool receives[SLOTS];
    uint64_t good, bad;
};

static const nlong sizes[] = {0, 1, 32, 33, 1439, 1440, 1441, 65536, LARGEST};

static bool is_one_of(int code, const int *codes, int count)
{
    for (int i = 0; i < count; i++)
        if (codes[i] == code)
            return true;
    return false;
}

static void check_ended(struct user *u, int slot)
{
    static const int expected[] = {ZCRP_OK,
                                   ZCRP_ERROR_IDLE,
                                   ZCRP_ERROR_CANCELLED,
                                   ZCRP_ERROR_PEER_CANCELLED,
                                   ZCRP_ERROR_TOO_LARGE,
                                   ZCRP_ERROR_CLOSED,
                                   ZCRP_ERROR_PEER_CLOSED,
                                   ZCRP_ERROR_CUT_OFF,
                                   ZCRP_ERROR_SILENT,
                                   ZCRP_ERROR_DIED,
                                   ZCRP_ERROR_RESTARTED,
                                   ZCRP_ERROR_REFUSED,
                                   ZCRP_ERROR_UNREACHABLE,
                                   ZCRP_ERROR_NOT_ADMITTED};
    const struct zcrp_msg *m = u->slot[slot];
    int code = zcrp_error(m);

    must(is_one_of(code, expected, ROWS(expected)), zcrp_strerror(code));
    u->good += code == ZCRP_OK;
    u->bad += code != ZCRP_OK;
    if (code != ZCRP_OK)
        return;
    /* Every sender fills its messages by their length alone. */
    must(m->length <= m->message_size, "a message is longer than its buffer");
    must(!u->receives[slot] || pattern_holds(m->buffer, m->length, m->length),
         "a message is damaged");
}

/* ---- coming and going ---- */

static int64_t draw_time(struct user *u, int64_t most)
{
    return (int64_t)random_below(&u->random, (uint64_t)most);
}

/* A connection of this process or another: both are at the same port. */
static struct zcrp_connection *make(struct user *u)
{
    struct town *t = u->town;
    struct zcrp_connection *c;
    const struct zcrp_options options = house_options(&quick);
    bool is_host = t->listener != NULL && random_chance(&u->random, 60);
    int64_t limit = random_chance(&u->random, 30) ? 0 : draw_time(u, 20 * ENDS_MILLISECOND);
    int code = is_host ? zcrp_accept(t->listener, &c, limit)
                       : zcrp_connect(&c, "127.0.0.1", t->port, &options, limit);

    must((code == ZCRP_OK) == (c != NULL), "a connection that is none");
    must(code == ZCRP_OK || code == ZCRP_ERROR_TIMEOUT || code == ZCRP_ERROR_INTERRUPTED ||
             code == ZCRP_ERROR_REFUSED || code == ZCRP_ERROR_UNREACHABLE ||
             code == ZCRP_ERROR_NOT_ADMITTED,
         zcrp_strerror(code));
    t->opened += code == ZCRP_OK;
    return c;
}

static void unmake(struct zcrp_connection *c)
{
    int code = zcrp_connection_close(c);

    must(code == ZCRP_OK || code == ZCRP_ERROR_TIMEOUT, zcrp_strerror(code));
}

/* A new one takes the place of whatever is there. */
static void replace(struct user *u, struct place *p)
{
    struct zcrp_connection *c = random_chance(&u->random, 80) ? make(u) : NULL;

    pthread_rwlock_wrlock(&p->lock);
    struct zcrp_connection *old = p->connection;
    p->connection = c;
    pthread_rwlock_unlock(&p->lock);
    unmake(old);
}

/* ---- what can be done with a connection ---- */

static void submit(struct user *u, struct zcrp_connection *c, int slot)
{
    struct zcrp_msg **m = &u->slot[slot];
    bool receives = random_chance(&u->random, 50);

    if (*m != NULL && zcrp_error(*m) == ZCRP_ERROR_BUSY)
        return;
    if (*m != NULL)
        check_ended(u, slot);
    zcrp_free_msg(*m);
    nlong size = sizes[random_below(&u->random, ROWS(sizes))];
    *m = ends_filled(size, size);
    u->receives[slot] = receives;
    int code =
        zcrp_submit(receives ? zcrp_connection_receiver(c) : zcrp_connection_sender(c), *m, size);
    must(code == ZCRP_OK, zcrp_strerror(code));
}

static void ask(struct user *u, struct zcrp_connection *c)
{
    struct zcrp_entity *receiver = zcrp_connection_receiver(c);
    struct zcrp_stats stats;
    char text[64];
    nlong size;

    switch (random_below(&u->random, 6)) {
    case 0:
        must(zcrp_expect(receiver, &size, draw_time(u, ENDS_MILLISECOND)) != ZCRP_ERROR_CHANNEL,
             "expect");
        break;
    case 1:
        must(zcrp_stats(receiver, &stats) == ZCRP_OK, "stats");
        must(zcrp_stats(zcrp_connection_sender(c), &stats) == ZCRP_OK, "stats");
        break;
    case 2:
        must(zcrp_connection_peer(c, text, sizeof text) == ZCRP_OK, "peer");
        break;
    case 3:
        must(zcrp_descriptor(receiver) >= 0, "descriptor");
        (void)zcrp_collect(receiver);
        break;
    case 4:
        if (random_chance(&u->random, 10))
            must(zcrp_connection_interrupt(c) == ZCRP_OK, "interrupt");
        break;
    default:
        must(zcrp_connection_status(c) != ZCRP_ERROR_CHANNEL, "the channel is broken");
        break;
    }
}

/* ---- what can be done with a message, also while its connection closes ---- */

static void handle(struct user *u, int slot)
{
    struct zcrp_msg *m = u->slot[slot];

    if (m == NULL)
        return;
    switch (random_below(&u->random, 4)) {
    case 0:
        (void)zcrp_probe(m);
        break;
    case 1:
        if (random_chance(&u->random, 20))
            (void)zcrp_cancel(m);
        break;
    case 2:
        (void)zcrp_wait_any(u->slot, SLOTS, draw_time(u, 2 * ENDS_MILLISECOND));
        break;
    default:
        (void)zcrp_wait_for(m, draw_time(u, 2 * ENDS_MILLISECOND));
        break;
    }
}

/* ---- a process ---- */

static void act(struct user *u)
{
    struct place *p = &u->town->place[random_below(&u->random, PLACES)];
    int slot = (int)random_below(&u->random, SLOTS);

    handle(u, slot);
    if (random_chance(&u->random, 3)) {
        replace(u, p);
        return;
    }
    pthread_rwlock_rdlock(&p->lock);
    if (p->connection != NULL && random_chance(&u->random, 60))
        submit(u, p->connection, slot);
    else if (p->connection != NULL)
        ask(u, p->connection);
    pthread_rwlock_unlock(&p->lock);
}

static void *use(void *context)
{
    struct user *u = context;

    while (!atomic_load(&u->town->is_over))
        act(u);
    return NULL;
}

/* Nothing is in flight once everything is closed. */
static void clear(struct user *u)
{
    for (int i = 0; i < SLOTS; i++) {
        if (u->slot[i] == NULL)
            continue;
        must(zcrp_error(u->slot[i]) != ZCRP_ERROR_BUSY, "a message is in flight after the close");
        check_ended(u, i);
        zcrp_free_msg(u->slot[i]);
    }
}

/* Lives for so long; returns how many messages got through. */
static uint64_t town_live(struct town *t, double seconds, uint64_t seed)
{
    struct user user[USERS];
    uint64_t good = 0;

    for (int i = 0; i < PLACES; i++)
        pthread_rwlock_init(&t->place[i].lock, NULL);
    for (int i = 0; i < USERS; i++) {
        user[i] = (struct user){.town = t, .random = seed + (uint64_t)i};
        must(pthread_create(&user[i].thread, NULL, use, &user[i]) == 0, "a thread");
    }
    usleep((useconds_t)(seconds * 1e6));
    atomic_store(&t->is_over, true);
    for (int i = 0; i < USERS; i++)
        pthread_join(user[i].thread, NULL);
    for (int i = 0; i < PLACES; i++) {
        unmake(t->place[i].connection);
        pthread_rwlock_destroy(&t->place[i].lock);
    }
    for (int i = 0; i < USERS; i++) {
        clear(&user[i]);
        good += user[i].good;
    }
    return good;
}

/* ---- the peers that come and go ---- */

/* Has one peer at a time, which is killed, or ends well, within a second. It has no threads, so
 * that its children may have some. Ends when its parent closes the pipe. */
static _Noreturn void raise_peers(int words, uint64_t random)
{
    char port[8];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(words, port, sizeof port) != sizeof port)
        _exit(EXIT_FAILURE);
    for (;;) {
        pid_t peer = fork();
        double seconds = 0.05 + 0.001 * (double)random_below(&random, 900);
        if (peer == 0) {
            struct town t = {.port = port};
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)town_live(&t, random_chance(&random, 30) ? seconds / 4 : 10, random);
            _exit(EXIT_SUCCESS);
        }
        int status = 0;
        usleep((useconds_t)(seconds * 1e6));
        (void)kill(peer, SIGKILL);
        must(waitpid(peer, &status, 0) == peer, "a peer");
        must(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0,
             "a peer failed");
    }
}

struct nursery {
    pid_t pid;
    int words;
};

static struct nursery nursery_open(uint64_t seed)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    fflush(stdout);
    struct nursery n = {.pid = fork(), .words = ends[1]};
    ck_assert_int_ge(n.pid, 0);
    if (n.pid == 0)
        raise_peers(ends[0], seed);
    close(ends[0]);
    return n;
}

static void nursery_close(const struct nursery *n)
{
    int status;

    ck_assert_int_eq(waitpid(n->pid, &status, WNOHANG), 0); /* it has found nothing wrong */
    ck_assert_int_eq(kill(n->pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(n->pid, &status, 0), n->pid);
    close(n->words);
}

TEST(churn__random_calls, .is_random = true)
{
    uint64_t seed = suite_seed(_i);
    struct nursery peers = nursery_open(seed);

    ck_assert_int_eq(zcrp_listener_close(house_open("127.0.0.1", &quick).listener),
                     ZCRP_OK); /* once for all */
    struct belongings before = belongings_now();
    struct house h = house_open("127.0.0.1", &quick);
    struct town t = {.port = h.port, .listener = h.listener};

    ck_assert_int_eq(write(peers.words, h.port, sizeof h.port), sizeof h.port);
    uint64_t good = town_live(&t, number_of("ZCRP_STRESS_SECONDS", 1), seed);
    nursery_close(&peers);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
    printf("%lu connections, %lu messages\n", (unsigned long)t.opened, (unsigned long)good);
    before.descriptors -= 1; /* the pipe's */
    belongings_hold(&before, 256 << 10);
    ck_assert_uint_gt(t.opened, 0);
}
