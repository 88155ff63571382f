/* The user's key lookup, of a receiver over descriptors and of a listener: it runs in a thread of
 * its own, without any lock of the library's. So it may call the library, and take a lock that the
 * program holds around calls, and holds up nothing but handshakes and close. */
#include "../../support/house.h"
#include "../../support/shared_keys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

LOAD(asleep)

enum { SIZE = 1000, MESSAGES = 20 };

/* Calls that wait for nothing take so long at most, beside other tests. A lookup that waits for the
 * program's lock gives up later. */
#define LATE_NS (10 * ENDS_SECOND)
enum { PATIENCE_SECONDS = 5 };

/* The program's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of the lookup, and what it calls the library for; NULL: it does not. */
static _Atomic bool is_within, has_given_up;
static _Atomic(struct zcrp_entity *) asking_receiver;
static _Atomic(struct zcrp_listener *) asking_listener;
static struct zcrp_msg *looked_up;
static _Atomic int code_within; /* IDLE: it has not called yet */

static void call_within(void)
{
    struct zcrp_listener_stats stats;

    if (atomic_load(&asking_receiver) != NULL)
        code_within = zcrp_submit(atomic_load(&asking_receiver), looked_up, SIZE);
    if (atomic_load(&asking_listener) != NULL)
        code_within = zcrp_listener_stats(atomic_load(&asking_listener), &stats);
}

static size_t look_up(void *context, const char *identity, uint8_t *found, size_t size)
{
    struct timespec until;

    (void)context, (void)identity, (void)size;
    atomic_store(&is_within, true);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    if (pthread_mutex_timedlock(&lock, &until) != 0) {
        atomic_store(&has_given_up, true);
        return 0;
    }
    pthread_mutex_unlock(&lock);
    call_within();
    memcpy(found, key, ZCRP_KEYS_PSK_LEAST);
    return ZCRP_KEYS_PSK_LEAST;
}

static void await_lookup(void)
{
    while (!atomic_load(&is_within))
        usleep(1000);
}

static struct zcrp_keys *looked_up_keys(void)
{
    struct zcrp_keys *keys = shared("alice", key);

    ck_assert_int_eq(zcrp_keys_set_lookup(keys, look_up, NULL), ZCRP_OK);
    return keys;
}

/* A receiver that looks keys up, and a sender whose key it has to look up. */
static struct ends open_ends(const struct loopback *sockets)
{
    struct zcrp_options of_sender = {.keys = shared("bob", key)};
    struct zcrp_options of_receiver = {.keys = looked_up_keys()};

    struct ends e = ends_open_at(sockets, &of_sender, &of_receiver);
    zcrp_keys_free(of_sender.keys);
    zcrp_keys_free(of_receiver.keys);
    return e;
}

static struct zcrp_msg *post(const struct ends *e)
{
    struct zcrp_msg *m = ends_empty(SIZE);

    ck_assert_int_eq(zcrp_submit(e->receiver, m, SIZE), ZCRP_OK);
    return m;
}

/* The handshake ends well, now that the lock is free, and a message lands in the buffer that was
 * posted first. */
static void must_meet(const struct ends *e, struct zcrp_msg *posted)
{
    char text[ZCRP_KEYS_IDENTITY_MOST + 1];
    struct zcrp_msg *out = ends_filled(SIZE, 1);

    ck_assert_int_eq(zcrp_submit(e->sender, out, SIZE), ZCRP_OK);
    ends_finish(posted, out, SIZE, 1);
    ck_assert(!atomic_load(&has_given_up));
    ck_assert_int_eq(zcrp_identity(e->receiver, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, "bob");
}

/* All calls that need not wait for the peer. */
static void call_everything(struct zcrp_entity *receiver)
{
    struct zcrp_msg *m = ends_empty(SIZE);
    struct zcrp_stats stats;
    char text[ZCRP_KEYS_IDENTITY_MOST + 1];
    nlong size;

    ck_assert_int_eq(zcrp_submit(receiver, m, SIZE), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(m, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_wait_any(&m, 1, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_cancel(m), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(receiver, &size, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_stats(receiver, &stats), ZCRP_OK);
    ck_assert_int_eq(zcrp_identity(receiver, text, sizeof text), ZCRP_ERROR_IDLE);
    ck_assert_int_ge(zcrp_descriptor(receiver), 0);
    ck_assert_ptr_null(zcrp_collect(receiver));
    zcrp_free_msg(m);
}

TEST(keys_lookup__waits_for_a_lock_around_calls, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);

    pthread_mutex_lock(&lock);
    struct ends e = open_ends(&sockets);
    await_lookup();
    int64_t began = clock_now_ns();
    struct zcrp_msg *m = post(&e);
    call_everything(e.receiver);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    pthread_mutex_unlock(&lock);
    must_meet(&e, m);
    ends_close(&e);
}

/* The handshake begins while a thread that has the lock waits, and receives for the entity. */
TEST(keys_lookup__waits_for_a_lock_around_a_wait, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);

    pthread_mutex_lock(&lock);
    struct ends e = open_ends(&sockets);
    struct zcrp_msg *m = post(&e);
    int64_t began = clock_now_ns();
    while (!atomic_load(&is_within))
        ck_assert_int_eq(zcrp_wait_for(m, 50 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_wait_for(m, 50 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    pthread_mutex_unlock(&lock);
    must_meet(&e, m);
    ends_close(&e);
}

/* No waiter has the lease: the library's thread receives, for all entities. */
static void move_beside(const struct ends *e)
{
    struct zcrp_msg *in = ends_empty(SIZE), *out = ends_filled(SIZE, 1);

    ends_submit(e, in, out, SIZE);
    ck_assert_int_eq(zcrp_wait_any(&in, 1, LATE_NS), 0);
    ends_finish(in, out, SIZE, 1);
}

TEST(keys_lookup__holds_no_other_messages_up, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends other = ends_open(LOOPBACK_UDP4, false, NULL);

    move_beside(&other);
    pthread_mutex_lock(&lock);
    struct ends e = open_ends(&sockets);
    await_lookup();
    int64_t began = clock_now_ns();
    for (int i = 0; i < MESSAGES; i++)
        move_beside(&other);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    pthread_mutex_unlock(&lock);
    must_meet(&e, post(&e));
    ends_close(&e);
    ends_close(&other);
}

/* Of the receiver that asks. The lock is free once it is known. */
TEST(keys_lookup__may_call_the_library, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);

    looked_up = ends_empty(SIZE);
    code_within = ZCRP_ERROR_IDLE;
    pthread_mutex_lock(&lock);
    struct ends e = open_ends(&sockets);
    atomic_store(&asking_receiver, e.receiver);
    pthread_mutex_unlock(&lock);
    await_lookup();
    while (atomic_load(&code_within) == ZCRP_ERROR_IDLE)
        usleep(1000);
    must_meet(&e, looked_up);
    ck_assert_int_eq(code_within, ZCRP_OK);
    ends_close(&e);
}

/* ---- of a listener ---- */

/* Connects somebody whose key has to be looked up, while the lock is held. */
static struct zcrp_connection *connect_bob(const struct house *h)
{
    struct zcrp_options options = {.keys = shared("bob", key)};
    struct zcrp_connection *c;

    ck_assert_int_eq(house_connect(h, &c, &options, 0), ZCRP_OK);
    zcrp_keys_free(options.keys);
    await_lookup();
    return c;
}

static void call_everything_of(const struct house *h, const struct both *others)
{
    struct zcrp_connection *c;
    struct zcrp_listener_stats stats;

    ck_assert_int_eq(zcrp_accept(h->listener, &c, 20 * ENDS_MILLISECOND), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_listener_stats(h->listener, &stats), ZCRP_OK);
    ck_assert_uint_eq(stats.admitted, 1);
    ck_assert_int_gt(zcrp_listener_port(h->listener), 0);
    ck_assert_int_ge(zcrp_listener_descriptor(h->listener), 0);
    house_pass(others->there, others->here, SIZE, 2);
    house_pass(others->here, others->there, SIZE, 3);
}

TEST(keys_lookup__of_a_listener, .needs = has_keys)
{
    struct zcrp_options options = {.keys = looked_up_keys()};
    struct house h = house_open("127.0.0.1", &options);
    struct both alice = house_meet(&h, &options), bob;

    zcrp_keys_free(options.keys);
    atomic_store(&asking_listener, h.listener);
    code_within = ZCRP_ERROR_IDLE;
    pthread_mutex_lock(&lock);
    bob.there = connect_bob(&h);
    int64_t began = clock_now_ns();
    call_everything_of(&h, &alice);
    ck_assert_int_lt(clock_now_ns() - began, LATE_NS);
    pthread_mutex_unlock(&lock);
    ck_assert_int_eq(zcrp_accept(h.listener, &bob.here, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(code_within, ZCRP_OK);
    house_pass(bob.there, bob.here, SIZE, 4);
    house_part(&alice);
    house_part(&bob);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* ---- the end ---- */

/* The lock is held until another thread lets it go. */
static _Atomic bool is_held;

static void *hold_for_a_while(void *unused)
{
    pthread_mutex_lock(&lock);
    atomic_store(&is_held, true);
    await_lookup();
    usleep(50000);
    atomic_store(&is_held, false);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Close waits for the lookup. */
TEST(keys_lookup__close_amid_one, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, hold_for_a_while, NULL), 0);
    while (!atomic_load(&is_held))
        usleep(1000);
    struct ends e = open_ends(&sockets);
    await_lookup();
    ck_assert_int_eq(zcrp_close(e.receiver), ZCRP_OK);
    ck_assert(!atomic_load(&is_held));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    (void)zcrp_close(e.sender);
    loopback_close(&e.sockets);
}

/* The child has no thread that would go on with it, and its close waits for none. */
TEST(keys_lookup__fork_amid_one, .needs = has_keys)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int status;

    pthread_mutex_lock(&lock);
    struct ends e = open_ends(&sockets);
    await_lookup();
    pid_t child = fork();
    if (child == 0)
        _exit(zcrp_close(e.receiver) == ZCRP_OK ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    pthread_mutex_unlock(&lock);
    must_meet(&e, post(&e));
    ends_close(&e);
}
