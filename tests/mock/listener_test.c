/* A listener whose callers cannot be admitted, and one that was at work when the process forked. */
/* wrap: listen_admit peers_create wake_signal free strdup shm_is_possible */
#include "../support/mock.h"

#include "accept/listen.h"
#include "accept/peers.h"
#include "core/wire/control.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "transport/keyed_hash.h"
#include "transport/shm/shm.h"
#include "zcrp.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const int64_t second = 1000000000;

/* How listen_admit fails, after so many calls, and how often; and how often it has. */
static _Atomic int admit_error, admit_good, admit_bad, admit_failures;
static _Atomic bool is_held, is_within; /* wake_signal does not return; a thread is there */

/* One host sends good hellos from more and more ports: the socket of each caller hears another one
 * before it is connected. How many came so, one after the other, and at most. */
static _Atomic bool floods;
static _Atomic uint16_t chain, longest;

enum { FLOOD_PORTS = 30000 }; /* below are the flood's */

static int flood(const struct caller *caller, listen_hear hear, void *context)
{
    bool is_next = ntohs(caller->from.ip4.sin_port) < FLOOD_PORTS;
    const struct cookie_jar jar = keyed_hash_jar();
    struct caller next = *caller;
    uint8_t datagram[TRAILER_BYTES];

    chain = is_next ? (uint16_t)(chain + 1) : 1;
    longest = chain > longest ? chain : longest;
    next.from.ip4.sin_port = htons((uint16_t)(1024 + chain % 1000));
    struct cookie_owner owner = {
        .peer = address_number(&next.from), .nonce = 5, .pairing = {.tag = 7}};
    const struct hello hello = {.pairing = owner.pairing,
                                .nonce = owner.nonce,
                                .cookie = cookie_make(&jar, &owner, clock_now())};
    hear(context, &next, datagram, hello_encode(datagram, sizeof(datagram), &hello));
    return -EACCES;
}

int __real_listen_admit(const struct listen_socket *l, const struct caller *caller, int *child,
                        listen_hear hear, void *context);
int __wrap_listen_admit(const struct listen_socket *l, const struct caller *caller, int *child,
                        listen_hear hear, void *context);

int __wrap_listen_admit(const struct listen_socket *l, const struct caller *caller, int *child,
                        listen_hear hear, void *context)
{
    if (floods) {
        *child = -1;
        return flood(caller, hear, context);
    }
    if (atomic_fetch_sub(&admit_good, 1) > 0 || atomic_fetch_sub(&admit_bad, 1) <= 0)
        return __real_listen_admit(l, caller, child, hear, context);
    *child = -1;
    admit_failures++;
    return -admit_error;
}

static _Atomic int held_fd; /* the listener's descriptor, whose mutex is held meanwhile */

void __real_wake_signal(struct wake *w);
void __wrap_wake_signal(struct wake *w)
{
    while (is_held && wake_fd(w) == held_fd) {
        is_within = true;
        usleep(1000);
    }
    __real_wake_signal(w);
}

static struct peers *_Atomic peers; /* of the last listener */
static _Atomic bool has_peers;

struct peers *__real_peers_create(uint32_t most, uint32_t waiting);
void __real_free(void *memory);

struct peers *__wrap_peers_create(uint32_t most, uint32_t waiting)
{
    struct peers *made = __real_peers_create(most, waiting);

    peers = made;
    has_peers = made != NULL;
    return made;
}

void __wrap_free(void *memory)
{
    if (memory == peers)
        has_peers = false;
    __real_free(memory);
}

static bool has_no_memory; /* for a copy of a text */

char *__real_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
    return has_no_memory ? NULL : __real_strdup(text);
}

static bool is_apart; /* the two ends are on two hosts */

bool __real_shm_is_possible(const struct channel *c);

bool __wrap_shm_is_possible(const struct channel *c)
{
    return !is_apart && __real_shm_is_possible(c);
}

static struct zcrp_listener *listener;
static char port[8];

static void setup(void)
{
    is_held = is_within = is_apart = false;
    admit_error = admit_good = admit_bad = admit_failures = 0;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", NULL), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
}

static void teardown(void)
{
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}

static struct zcrp_connection *connect_to_listener(void)
{
    struct zcrp_connection *c;

    assert_int_equal(zcrp_connect(&c, "127.0.0.1", port, NULL, 0), ZCRP_OK);
    return c;
}

static bool is_readable(int timeout_ms)
{
    struct pollfd set = {.fd = zcrp_listener_descriptor(listener), .events = POLLIN};

    return poll(&set, 1, timeout_ms) == 1;
}

/* ---- callers that cannot be admitted ---- */

FIXTURE(setup, teardown)

/* It calls again; the user of the listener hears nothing of it. */
TEST(accept__passes_over_a_caller_out_of_reach)
{
    static const int errors[] = {EADDRNOTAVAIL, EINVAL, ENETUNREACH, EHOSTUNREACH, EACCES, EPERM};

    for (int i = 0; i < COUNT(errors); i++) {
        struct zcrp_connection *here;
        admit_failures = 0;
        admit_error = errors[i];
        admit_bad = 1;
        struct zcrp_connection *there = connect_to_listener();
        assert_int_equal(zcrp_accept(listener, &here, 5 * second), ZCRP_OK);
        assert_int_equal(admit_failures, 1);
        (void)zcrp_connection_close(there);
        (void)zcrp_connection_close(here);
    }
}

/* Messages are to cross through memory, and the caller is on another host: that is no business of
 * the user of the listener. */
TEST(accept__passes_over_a_caller_on_another_host)
{
    const struct zcrp_options options = {.channel = ZCRP_CHANNEL_MEMORY};
    struct zcrp_connection *here, *there;
    struct zcrp_listener *near;
    char near_port[8];

    assert_int_equal(zcrp_listen(&near, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(near_port, sizeof(near_port), "%d", zcrp_listener_port(near));
    is_apart = true;
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", near_port, NULL, 0), ZCRP_OK);
    assert_int_equal(zcrp_accept(near, &here, second), ZCRP_ERROR_TIMEOUT);
    (void)zcrp_connection_close(there);
    assert_int_equal(zcrp_listener_close(near), ZCRP_OK);
}

/* What this process lacks it is told; the caller calls again meanwhile, and is let in afterwards.
 */
TEST(accept__says_what_is_lacking)
{
    static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};

    for (int i = 0; i < COUNT(errors); i++) {
        struct zcrp_connection *here;
        const int expected = errors[i] == ENOMEM ? ZCRP_ERROR_MEMORY : ZCRP_ERROR_SYSTEM;
        admit_error = errors[i];
        admit_bad = 1000;
        struct zcrp_connection *there = connect_to_listener();
        assert_int_equal(zcrp_accept(listener, &here, 5 * second), expected);
        admit_bad = 0;
        int code = zcrp_accept(listener, &here, 5 * second);
        if (code == expected) /* it had called again by then */
            code = zcrp_accept(listener, &here, 5 * second);
        assert_int_equal(code, ZCRP_OK);
        (void)zcrp_connection_close(there);
        (void)zcrp_connection_close(here);
    }
}

/* A turn ends, however many there are: it has other work. */
TEST(accept__not_for_ever)
{
    struct zcrp_connection *here;
    chain = longest = 0;
    floods = true;
    struct zcrp_connection *there = connect_to_listener();
    while (longest == 0)
        usleep(1000);
    usleep(20000);
    floods = false;
    assert_int_equal(zcrp_accept(listener, &here, 5 * second), ZCRP_OK);
    assert_in_range(longest, 2, 32);
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
}

/* The descriptor is readable while accept has something to say, not only while somebody waits. */
TEST(descriptor__of_a_listener_in_trouble)
{
    struct zcrp_connection *here;

    assert_false(is_readable(0));
    admit_error = EMFILE;
    admit_good = 1;
    admit_bad = 1000;
    struct zcrp_connection *first = connect_to_listener();
    assert_true(is_readable(5000));
    struct zcrp_connection *second_caller = connect_to_listener();
    while (admit_failures < 2) /* by the second try the first one is known */
        usleep(1000);
    assert_int_equal(zcrp_accept(listener, &here, 0), ZCRP_OK);
    assert_true(is_readable(0));
    assert_int_equal(zcrp_accept(listener, &(struct zcrp_connection *){NULL}, 0),
                     ZCRP_ERROR_SYSTEM);
    (void)zcrp_connection_close(second_caller);
    while (zcrp_accept(listener, &(struct zcrp_connection *){NULL}, 0) == ZCRP_ERROR_SYSTEM)
        usleep(1000);
    assert_false(is_readable(0));
    (void)zcrp_connection_close(first);
    (void)zcrp_connection_close(here);
}

/* ---- forks ---- */

/* A thread of the parent's holds the mutex of the listener's peers, and the child has no such
 * thread. */
TEST(close__in_the_child_of_a_busy_process)
{
    struct zcrp_connection *here;
    int status;

    held_fd = zcrp_listener_descriptor(listener);
    is_held = true;
    struct zcrp_connection *there = connect_to_listener();
    while (!is_within)
        usleep(1000);
    pid_t child = fork();
    if (child ==
        0) { /* what only its parent could free is lost to it, and none of valgrind's business */
        if (zcrp_connection_close(there) == ZCRP_OK && zcrp_listener_close(listener) == ZCRP_OK)
            (void)execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    is_held = false;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(zcrp_accept(listener, &here, 5 * second), ZCRP_OK);
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
}

/* The child's copies of what a listener and its connections share go with the last of them. */
TEST(close__in_a_child_leaves_no_peers)
{
    struct zcrp_connection *here;
    int status;

    struct zcrp_connection *there = connect_to_listener();
    assert_int_equal(zcrp_accept(listener, &here, 5 * second), ZCRP_OK);
    for (int first = 0; first < 2; first++) {
        pid_t child = fork();
        if (child == 0) {
            bool good = first == 0 || zcrp_connection_close(here) == ZCRP_OK;
            good = good && zcrp_listener_close(listener) == ZCRP_OK && has_peers == (first == 0);
            good = good && (first == 1 || zcrp_connection_close(here) == ZCRP_OK) && !has_peers;
            (void)zcrp_connection_close(there);
            if (good)
                (void)execlp("true", "true", (char *)NULL);
            _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_true(has_peers);
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
}

/* So do those of a connection that nobody has accepted. */
TEST(close__in_a_child_of_a_full_backlog)
{
    struct zcrp_listener_stats stats = {.admitted = 0};
    struct zcrp_connection *here, *there = connect_to_listener();
    int status;

    while (stats.admitted == 0) {
        usleep(1000);
        assert_int_equal(zcrp_listener_stats(listener, &stats), ZCRP_OK);
    }
    pid_t child = fork();
    if (child == 0) {
        bool good = zcrp_listener_close(listener) == ZCRP_OK && !has_peers;
        if (zcrp_connection_close(there) == ZCRP_OK && good)
            (void)execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(has_peers);
    assert_int_equal(zcrp_accept(listener, &here, 5 * second), ZCRP_OK);
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
}

/* A listener has a copy of what the options point to. */
TEST(listen__no_memory_for_options)
{
    const struct zcrp_options options = {.stats_directory = "/nowhere"};
    struct zcrp_listener *other;

    has_no_memory = true;
    assert_int_equal(zcrp_listen(&other, "127.0.0.1", "0", &options), ZCRP_ERROR_MEMORY);
    assert_null(other);
    has_no_memory = false;
    assert_int_equal(zcrp_listen(&other, "127.0.0.1", "0", &options), ZCRP_OK);
    assert_int_equal(zcrp_listener_close(other), ZCRP_OK);
}
