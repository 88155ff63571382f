/* Peers that die at any moment, while they meet or while memory is copied. Whoever survives waits
 * no longer than its limits, nobody writes into a message that has ended, and nothing is left of
 * the dead: no descriptor, no memory that was shared.
 *
 *     survivor    starts a peer, sends to it or receives from it until that fails, and so on
 *     peer        sets a timer that ends it, and does the same
 *
 * Half of them are connections, with messages that both map and others.
 *
 * ZCRP_DEATHS=n in the environment says how many there are for each seed of the suite. */
#include "../../support/ends.h"
#include "../../support/own.h"
#include "../../support/random.h"
#include "../../support/suite.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

LOAD(asleep)

enum {
    DEATHS = 20,
    SURVIVORS = 8, /* at once */
    SLOTS = 6,
    BUSY = 4, /* of the slots, at once */
    LARGEST = 200000,
    SENT = 0x55,  /* all bytes that a peer sends */
    OWNED = 0xAA, /* all bytes of a message that is the user's again */
};

/* Of connections, because only they have messages that both map. */
static const struct zcrp_options limits = {.flags = ZCRP_ALLOW_PTRACE,
                                           .mapped_bytes = (uint64_t)(SLOTS + 1) * LARGEST,
                                           .silence_ns = 150 * ENDS_MILLISECOND,
                                           .progress_ns = 150 * ENDS_MILLISECOND,
                                           .connect_ns = 300 * ENDS_MILLISECOND,
                                           .linger_ns = 150 * ENDS_MILLISECOND};

/* How much later than its limit a wait may end, on a machine that does something else, too. */
static const int64_t LATE = 15 * ENDS_SECOND;

struct life {
    uint64_t random; /* the state of the survivor's choices */
    bool is_sender;  /* the survivor */
    bool is_mapped;  /* both are ends of a connection, and map some of their messages */
    struct loopback sockets;
    int port[2]; /* a pipe: where the peer listens */
    pid_t peer;
    int64_t dead_since; /* 0: it is alive */
    struct zcrp_entity *entity;
    struct zcrp_connection *connection; /* that it is half of; NULL: none */
    struct zcrp_msg *slot[SLOTS];
};

/* Of all survivors. */
static struct {
    _Atomic uint64_t deaths, in_memory;
} * tally;

static bool has_failed(const struct life *l, const char *what)
{
    (void)fprintf(stderr, "%s, as a %s\n", what, l->is_sender ? "sender" : "receiver");
    return false;
}

/* ---- the peer ---- */

static void die_in(uint64_t us)
{
    const struct itimerval once = {.it_value = {.tv_usec = (suseconds_t)us + 1}};

    (void)setitimer(ITIMER_REAL, &once, NULL);
}

static struct zcrp_entity *half_of(const struct zcrp_connection *c, bool is_sender)
{
    return is_sender ? zcrp_connection_sender(c) : zcrp_connection_receiver(c);
}

/* Listens, and says where. */
static int accept_survivor(struct life *l)
{
    struct zcrp_listener *listener;
    int port, code = zcrp_listen(&listener, "127.0.0.1", "0", &limits);

    if (code == 0) {
        port = zcrp_listener_port(listener);
        if (write(l->port[1], &port, sizeof(port)) != (ssize_t)sizeof(port))
            return ZCRP_ERROR_SYSTEM;
        code = zcrp_accept(listener, &l->connection, -1);
    }
    if (code == 0)
        l->entity = half_of(l->connection, !l->is_sender);
    return code;
}

static struct zcrp_msg *message_of(struct life *l)
{
    return l->is_mapped && random_chance(&l->random, 60)
               ? zcrp_connection_alloc_msg(l->connection, LARGEST)
               : zcrp_alloc_msg(LARGEST);
}

/* Half of them die at any moment from the start on, many at once; the others once a message is
 * through. */
static void be_peer(struct life *l)
{
    bool is_early = random_chance(&l->random, 50);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(20);
    if (is_early)
        die_in(random_below(&l->random, 1u << random_below(&l->random, 17)));
    int code = l->is_mapped ? accept_survivor(l)
                            : ends_open_role(&l->entity, &l->sockets, !l->is_sender, &limits);
    struct zcrp_msg *m = message_of(l);
    for (uint64_t i = 0; code == 0; i++) {
        memset(m->buffer, SENT, LARGEST);
        code =
            zcrp_submit(l->entity, m, l->is_sender ? LARGEST : random_below(&l->random, LARGEST));
        if (code == 0)
            code = zcrp_wait_for(m, -1);
        if (i == 0 && !is_early)
            die_in(random_below(&l->random, 4000));
    }
    for (;;)
        (void)pause(); /* it has lost the survivor, which may be slow */
}

/* ---- the survivor ---- */

/* Is the message the user's, and has nobody written to it since? */
static bool is_owned(const struct zcrp_msg *m)
{
    return pattern_is_even(m->buffer, LARGEST, OWNED);
}

static void own(struct zcrp_msg *m)
{
    memset(m->buffer, OWNED, LARGEST);
}

static void look_for_death(struct life *l)
{
    if (l->dead_since == 0 && waitpid(l->peer, NULL, WNOHANG) == l->peer)
        l->dead_since = clock_now_ns();
}

/* A receiver waits for its first sender without limit. */
static bool may_wait(const struct life *l)
{
    struct zcrp_stats s;

    return !l->is_sender && zcrp_stats(l->entity, &s) == 0 && s.units == 0;
}

/* The message's code, once it has ended; ZCRP_ERROR_TIMEOUT if it should have. */
static int end_of(struct life *l, struct zcrp_msg *m)
{
    int code;

    while ((code = zcrp_wait_for(m, 5 * ENDS_MILLISECOND)) == ZCRP_ERROR_TIMEOUT) {
        int64_t now = clock_now_ns();
        look_for_death(l);
        if (l->dead_since == 0 || now - l->dead_since < limits.connect_ns)
            continue;
        if (may_wait(l))
            (void)zcrp_cancel(m);
        else if (now - l->dead_since > limits.connect_ns + LATE)
            break;
    }
    return code;
}

static bool submit(struct life *l, struct zcrp_msg *m)
{
    nlong size = l->is_sender ? random_below(&l->random, LARGEST) : LARGEST;

    return zcrp_submit(l->entity, m, size) == 0;
}

/* False if something is wrong. `*goes_on`: the session does. */
static bool take(struct life *l, struct zcrp_msg *m, bool *goes_on)
{
    int code = end_of(l, m);

    if (code == ZCRP_ERROR_TIMEOUT)
        return has_failed(l, "a message does not end");
    if (code == ZCRP_OK && !l->is_sender && !pattern_is_even(m->buffer, m->length, SENT))
        return has_failed(l, "other bytes came");
    own(m);
    *goes_on = code == ZCRP_OK;
    return true;
}

/* Slots in turn: the oldest one that is the user's is submitted when the next one has ended. */
static bool live(struct life *l)
{
    bool goes_on = true;
    uint64_t submitted = 0, ended = 0;

    while (submitted < BUSY && submit(l, l->slot[submitted]))
        submitted++;
    for (; ended < submitted; ended++) {
        bool is_well;
        if (!take(l, l->slot[ended % SLOTS], &is_well))
            return false;
        goes_on = goes_on && is_well;
        struct zcrp_msg *next = l->slot[submitted % SLOTS];
        if (!is_owned(next))
            return has_failed(l, "a message was written to after its end");
        if (goes_on && submit(l, next))
            submitted++;
    }
    return true;
}

static bool all_are_owned(const struct life *l)
{
    for (int i = 0; i < SLOTS; i++)
        if (!is_owned(l->slot[i]))
            return has_failed(l, "a message was written to after all had ended");
    return true;
}

/* False if the peer died before it could be found. */
static bool open_end(struct life *l)
{
    char port[16];
    int number;

    if (!l->is_mapped)
        return ends_open_role(&l->entity, &l->sockets, l->is_sender, &limits) == 0;
    if (read(l->port[0], &number, sizeof(number)) != (ssize_t)sizeof(number))
        return false;
    (void)snprintf(port, sizeof(port), "%d", number);
    if (zcrp_connect(&l->connection, "127.0.0.1", port, &limits, -1) != 0)
        return false;
    l->entity = half_of(l->connection, l->is_sender);
    return true;
}

static bool have_messages(struct life *l)
{
    for (int i = 0; i < SLOTS; i++) {
        l->slot[i] = message_of(l);
        if (l->slot[i] == NULL)
            return has_failed(l, "no message");
        own(l->slot[i]);
    }
    return true;
}

/* Whatever is left in flight after a failure ends with the close. */
static bool close_all(struct life *l)
{
    int64_t began = clock_now_ns();
    struct zcrp_stats s;

    if (zcrp_stats(l->entity, &s) == 0 && s.bytes_copied_once > 0)
        tally->in_memory++;
    while ((l->connection != NULL ? zcrp_connection_close(l->connection) : zcrp_close(l->entity)) ==
           ZCRP_ERROR_BUSY)
        ; /* the peer has claimed memory, and waits for a core */
    if (clock_now_ns() - began > limits.linger_ns + limits.connect_ns + LATE)
        return has_failed(l, "close takes too long");
    return all_are_owned(l);
}

static bool meet_and_survive(struct life *l)
{
    if (!open_end(l))
        return l->is_mapped;
    bool is_well = have_messages(l) && live(l) && close_all(l);
    for (int i = 0; i < SLOTS; i++)
        zcrp_free_msg(l->slot[i]);
    return is_well;
}

static void bury(struct life *l)
{
    if (l->dead_since != 0)
        return;
    (void)kill(l->peer, SIGKILL);
    (void)waitpid(l->peer, NULL, 0);
}

static bool survive(struct life *l)
{
    l->is_sender = random_chance(&l->random, 50);
    l->is_mapped = random_chance(&l->random, 50);
    l->sockets = loopback_open(LOOPBACK_UDP4, false);
    if (pipe(l->port) != 0)
        return has_failed(l, "no pipe");
    l->peer = fork();
    if (l->peer == 0)
        be_peer(l);
    (void)close(l->port[1]);
    bool is_well = l->peer > 0 && meet_and_survive(l);
    bury(l);
    (void)close(l->port[0]);
    loopback_close(&l->sockets);
    tally->deaths++;
    return is_well;
}

/* ---- all ---- */

static int shared_pages(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int count = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        count += strstr(line, "memfd:zcrp") != NULL;
    if (maps != NULL)
        (void)fclose(maps);
    return count;
}

/* Survives each `step`-th of the deaths, from `first` on. */
static int survive_some(uint64_t seed, uint64_t first, uint64_t step, uint64_t deaths)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int before = own_descriptors();
    for (uint64_t i = first; i < deaths; i += step) {
        struct life l = {.random = seed + i};
        bool is_well = survive(&l);
        if (is_well && own_descriptors() != before)
            is_well = has_failed(&l, "descriptors are left");
        if (is_well && shared_pages() != 0)
            is_well = has_failed(&l, "shared memory is left");
        if (!is_well) {
            (void)fprintf(stderr, "repeat: ZCRP_SEED=%llu ZCRP_DEATHS=1 %s\n",
                          (unsigned long long)(seed + i), "build/plain/tests/e2e death");
            return 1;
        }
    }
    return 0;
}

static uint64_t deaths_wanted(void)
{
    const char *given = getenv("ZCRP_DEATHS");

    return given != NULL ? strtoull(given, NULL, 10) : DEATHS;
}

TEST(death__of_either_end, .is_random = true)
{
    uint64_t deaths = deaths_wanted(), survivors = deaths < SURVIVORS ? deaths : SURVIVORS;
    int status, failures = 0;

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(tally, MAP_FAILED);
    for (uint64_t i = 0; i < survivors; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            _exit(survive_some(suite_seed(_i), i, survivors, deaths));
    }
    for (uint64_t i = 0; i < survivors; i++) {
        ck_assert_int_gt(wait(&status), 0);
        failures += status != 0;
    }
    (void)printf("seed %llu: %llu deaths, %llu of them among neighbours\n",
                 (unsigned long long)suite_seed(_i), (unsigned long long)tally->deaths,
                 (unsigned long long)tally->in_memory);
    ck_assert_int_eq(failures, 0);
    ck_assert_uint_eq(tally->deaths, deaths);
}

/* ---- what it sent before ---- */

enum { LAST_ROUNDS = 10, LAST_LARGE = 8 << 20, LAST_LITTLE = 100, MEETINGS = 2000 };

static const struct zcrp_options opened = {.flags = ZCRP_ALLOW_PTRACE};

/* Both processes have this: whose turn it is. */
static struct {
    _Atomic uint64_t posted; /* small messages, so far */
    _Atomic bool is_last;    /* a large message, too: the peer's last two */
} * turn;

static uint64_t count_wholes(struct zcrp_entity *e)
{
    struct zcrp_stats s;

    return zcrp_stats(e, &s) == 0 ? s.messages_whole : 0;
}

static bool has_last_turn(uint64_t sent)
{
    while (atomic_load(&turn->posted) == sent && !atomic_load(&turn->is_last))
        usleep(100);
    return atomic_load(&turn->is_last);
}

/* Sends a large message, which only this process has, and a small one as a whole behind it, which
 * both map then: and dies. */
static void send_last(const struct loopback *sockets)
{
    struct zcrp_msg *large = zcrp_alloc_msg(LAST_LARGE), *little = zcrp_alloc_msg(LAST_LITTLE);
    struct zcrp_entity *e;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(60);
    pattern_fill(large->buffer, LAST_LARGE, 1);
    int code = ends_open_role(&e, sockets, true, &opened);
    for (uint64_t i = 0; code == 0 && !has_last_turn(i); i++) {
        code = zcrp_submit(e, little, LAST_LITTLE);
        if (code == 0)
            code = zcrp_wait_for(little, -1);
    }
    pattern_fill(little->buffer, LAST_LITTLE, 2);
    uint64_t before = count_wholes(e);
    if (code == 0 && zcrp_submit(e, large, LAST_LARGE) == 0 &&
        zcrp_submit(e, little, LAST_LITTLE) == 0)
        for (int64_t until = clock_now_ns() + 10 * ENDS_SECOND;
             count_wholes(e) == before && clock_now_ns() < until;)
            ;
    (void)raise(SIGKILL);
}

/* True if the large message was lost. The small one is not. */
static bool receive_last(void)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *large = ends_empty(LAST_LARGE), *little = ends_empty(LAST_LITTLE);
    struct zcrp_entity *e;

    atomic_store(&turn->posted, 0);
    atomic_store(&turn->is_last, false);
    pid_t peer = fork();
    ck_assert_int_ge(peer, 0);
    if (peer == 0)
        send_last(&sockets);
    ck_assert_int_eq(ends_open_role(&e, &sockets, false, &opened), 0);
    for (int i = 0; i < MEETINGS && count_wholes(e) == 0; i++) {
        ck_assert_int_eq(zcrp_submit(e, little, LAST_LITTLE), 0);
        atomic_fetch_add(&turn->posted, 1);
        ck_assert_int_eq(ends_wait(little), 0);
    }
    ck_assert_uint_gt(count_wholes(e), 0);
    ck_assert_int_eq(zcrp_submit(e, large, LAST_LARGE), 0);
    ck_assert_int_eq(zcrp_submit(e, little, LAST_LITTLE), 0);
    atomic_store(&turn->is_last, true);
    ck_assert_int_eq(ends_wait(little), 0);
    ck_assert(pattern_holds(little->buffer, LAST_LITTLE, 2));
    int code = ends_wait(large);
    ck_assert_int_ne(code, ZCRP_ERROR_TIMEOUT);
    ck_assert(code != 0 || pattern_holds(large->buffer, LAST_LARGE, 1));
    (void)zcrp_close(e);
    ck_assert_int_eq(waitpid(peer, NULL, 0), peer);
    zcrp_free_msg(large);
    zcrp_free_msg(little);
    loopback_close(&sockets);
    return code != 0;
}

/* The survivor may have read the large message before: then it was not lost. */
TEST(death__behind_a_large_message)
{
    int lost = 0;

    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(turn, MAP_FAILED);
    for (int i = 0; i < LAST_ROUNDS; i++)
        lost += receive_last();
    (void)printf("in %d of %d rounds the large message was lost\n", lost, LAST_ROUNDS);
}
