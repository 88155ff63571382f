/* Somebody begins to take, or interrupts whoever takes, just when something ends or comes: it is
 * told once. */
/* wrap: latch_open_under_mutex changes_tell wake_clear wake_signal connection_look */
/* wrap: completions_add_both */
#include "../support/asleep.h"
#include "../support/loopback.h"
#include "../support/mock.h"
#include "accept/connection.h"
#include "accept/listener.h"
#include "accept/peers.h"
#include "link/entity.h"
#include "link/life.h"
#include "link/link.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "queue/queue.h"
#include "zcrp.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOW_MS = 50 };

static struct zcrp_queue *queue;
static struct zcrp_listener *listener;

static void setup(void)
{
    assert_int_equal(zcrp_queue_open(&queue), ZCRP_OK);
}

static void teardown(void)
{
    assert_int_equal(zcrp_queue_close(queue), ZCRP_OK);
}

FIXTURE(setup, teardown)

static bool is_readable(int fd)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};

    return poll(&set, 1, 0) == 1;
}

/* ---- a message ends ---- */

static struct {
    pthread_t thread;
    struct zcrp_entity *entity;
    struct zcrp_msg *message; /* whose end the thread comes into; NULL: none */
    bool collects;            /* it asks for a descriptor, or else enters the queue; */
    bool is_in_time;          /* before it saw that the message had not ended; */
    _Atomic bool is_over;
} taker;

static void *begin_to_take(void *context)
{
    (void)context;
    if (taker.collects)
        assert_true(zcrp_descriptor(taker.entity) >= 0);
    else
        assert_int_equal(zcrp_queue_add(queue, taker.entity, NULL), ZCRP_OK);
    taker.is_in_time = zcrp_error(taker.message) == ZCRP_ERROR_BUSY;
    atomic_store(&taker.is_over, true);
    return NULL;
}

/* The thread may have to wait until this one is through. */
void __real_latch_open_under_mutex(struct latch *latch, struct wakes *wakes);
void __wrap_latch_open_under_mutex(struct latch *latch, struct wakes *wakes)
{
    static bool is_within;

    if (taker.message != NULL && !is_within) {
        is_within = true;
        assert_int_equal(pthread_create(&taker.thread, NULL, begin_to_take, NULL), 0);
        for (int i = 0; i < SLOW_MS && !atomic_load(&taker.is_over); i++)
            (void)usleep(1000);
        is_within = false;
    }
    __real_latch_open_under_mutex(latch, wakes);
}

/* Whoever sees, once it takes, that a message has not ended is told of it later. */
static void begin_in_between(bool collects)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = zcrp_alloc_msg(10);
    struct zcrp_completion c = {.message = NULL};

    assert_int_equal(zcrp_open_receiver(&taker.entity, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_submit(taker.entity, m, 10), ZCRP_OK);
    taker.collects = collects;
    taker.is_over = false;
    taker.message = m;
    assert_int_equal(zcrp_cancel(m), ZCRP_OK);
    assert_int_equal(pthread_join(taker.thread, NULL), 0);
    taker.message = NULL;
    if (taker.is_in_time && !collects)
        assert_int_equal(zcrp_queue_take(queue, &c, 1, SECOND), 1);
    if (taker.is_in_time)
        assert_ptr_equal(collects ? zcrp_collect(taker.entity) : c.message, m);
    assert_int_equal(zcrp_error(m), ZCRP_ERROR_CANCELLED);
    zcrp_free_msg(m);
    (void)zcrp_close(taker.entity);
    loopback_close(&sockets);
}

TEST(queue_add__while_a_message_ends)
{
    begin_in_between(false);
}

TEST(descriptor__while_a_message_ends)
{
    begin_in_between(true);
}

/* The peer has said that its third buffer has one byte, and nothing of the second one. So the third
 * message ends while it is submitted, and whoever waits for a descriptor is told at once. */
TEST(descriptor__a_message_ends_while_it_is_submitted)
{
    static const struct zcrp_options o = {
        .linger_ns = 1, .silence_ns = NEVER, .keepalive_ns = NEVER};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *in = zcrp_alloc_msg(10), *out[3];
    struct zcrp_entity *receiver, *sender;

    (void)setenv("ZCRP_NO_MEMORY", "1", 1);
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, &o), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&sender, sockets.sender, &o), ZCRP_OK);
    assert_int_equal(zcrp_submit(receiver, in, 10), ZCRP_OK);
    for (int i = 0; i < 3; i++) {
        out[i] = zcrp_alloc_msg(10);
        memset(out[i]->buffer, i, 10);
    }
    assert_int_equal(zcrp_submit(sender, out[0], 10), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(out[0], 20 * SECOND), ZCRP_OK);
    int fd = zcrp_descriptor(sender);
    while (zcrp_collect(sender) != NULL)
        continue;
    assert_int_equal(zcrp_submit(sender, out[1], 10), ZCRP_OK);
    mutex_lock(&sender->link->mutex);
    assert_true(sender_credit(sender->machine.sender, 2, 1));
    mutex_unlock(&sender->link->mutex);
    assert_false(is_readable(fd));
    assert_int_equal(zcrp_submit(sender, out[2], 10), ZCRP_OK);
    assert_true(is_readable(fd));
    assert_ptr_equal(zcrp_collect(sender), out[2]);
    assert_int_equal(zcrp_error(out[2]), ZCRP_ERROR_TOO_LARGE);
    (void)zcrp_close(sender);
    (void)zcrp_close(receiver);
    for (int i = 0; i < 3; i++)
        zcrp_free_msg(out[i]);
    zcrp_free_msg(in);
    loopback_close(&sockets);
}

/* ---- a caller comes ---- */

static _Atomic bool is_to_be_added; /* the listener, once a caller is in its backlog */

void __real_changes_tell(_Atomic uint32_t *changes);
void __wrap_changes_tell(_Atomic uint32_t *changes)
{
    instant since = NEVER;

    if (atomic_load(&is_to_be_added))
        (void)peers_oldest(listener_peers(listener), &since);
    if (since != NEVER && atomic_exchange(&is_to_be_added, false))
        assert_int_equal(zcrp_queue_add_listener(queue, listener, NULL), ZCRP_OK);
    __real_changes_tell(changes);
}

TEST(queue_add_listener__while_a_caller_comes)
{
    struct zcrp_connection *there, *here;
    struct zcrp_completion c[4];
    char port[8];

    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", NULL), ZCRP_OK);
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    atomic_store(&is_to_be_added, true);
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, NULL, 5 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_queue_take(queue, c, 4, 5 * SECOND), 1);
    assert_int_equal(c[0].kind, ZCRP_PEER_CALLED);
    assert_int_equal(zcrp_accept(listener, &here, 0), ZCRP_OK);
    assert_int_equal(zcrp_queue_take(queue, c, 4, SLOW_MS * MILLISECOND), 0);
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
    listener = NULL;
}

/* ---- an interrupt ---- */

static bool interrupts; /* while somebody clears a wake */

void __real_wake_clear(struct wake *w);
void __wrap_wake_clear(struct wake *w)
{
    if (interrupts) {
        interrupts = false;
        assert_int_equal(zcrp_queue_interrupt(queue), ZCRP_OK);
    }
    __real_wake_clear(w);
}

/* A take that has something to tell leaves the interrupt to the next one, which a poll leads to. */
TEST(queue_interrupt__while_the_descriptor_is_cleared)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = zcrp_alloc_msg(10);
    struct zcrp_completion c[2];
    struct zcrp_entity *e;
    int fd = zcrp_queue_descriptor(queue);

    assert_int_equal(zcrp_open_receiver(&e, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_queue_add(queue, e, NULL), ZCRP_OK);
    assert_int_equal(zcrp_queue_take(queue, c, 2, 0), 0);
    assert_int_equal(zcrp_submit(e, m, 10), ZCRP_OK);
    assert_int_equal(zcrp_cancel(m), ZCRP_OK);
    assert_true(is_readable(fd));
    interrupts = true;
    assert_int_equal(zcrp_queue_take(queue, c, 2, 0), 1);
    assert_false(interrupts);
    assert_true(is_readable(fd));
    assert_int_equal(zcrp_queue_take(queue, c, 2, 0), ZCRP_ERROR_INTERRUPTED);
    assert_int_equal(zcrp_queue_take(queue, c, 2, 0), 0);
    assert_false(is_readable(fd));
    zcrp_free_msg(m);
    (void)zcrp_close(e);
    loopback_close(&sockets);
}

/* ---- a ring that comes late ---- */

static bool takes; /* what is about to be rung for */

void __real_wake_signal(struct wake *w);
void __wrap_wake_signal(struct wake *w)
{
    struct zcrp_completion c[2]; /* room for more: the taker knows that there is no more */

    if (takes && w == &queue->wake) {
        takes = false;
        assert_int_equal(zcrp_queue_take(queue, c, 2, 0), 1);
    }
    __real_wake_signal(w);
}

/* Somebody takes what another thread is about to ring for. The ring leads to one more take, which
 * finds nothing, and not to any number of them. */
TEST(queue_descriptor__a_late_ring)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = zcrp_alloc_msg(10);
    struct zcrp_completion c[2];
    struct zcrp_entity *e;
    int fd = zcrp_queue_descriptor(queue);

    assert_int_equal(zcrp_open_receiver(&e, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_queue_add(queue, e, NULL), ZCRP_OK);
    assert_int_equal(zcrp_queue_take(queue, c, 2, 0), 0);
    assert_int_equal(zcrp_submit(e, m, 10), ZCRP_OK);
    takes = true;
    assert_int_equal(zcrp_cancel(m), ZCRP_OK);
    assert_false(takes);
    assert_int_equal(zcrp_queue_take(queue, c, 2, 0), 0);
    assert_false(is_readable(fd));
    zcrp_free_msg(m);
    (void)zcrp_close(e);
    loopback_close(&sockets);
}

/* ---- a peer closes ---- */

static struct zcrp_connection *there, *here;

static void meet(void)
{
    char port[8];

    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", NULL), ZCRP_OK);
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, NULL, 5 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_accept(listener, &here, 5 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_connection_wait(here, 5 * SECOND), ZCRP_OK);
}

static void part(void)
{
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
    listener = NULL;
}

/* The peer's sender says that it closes, and of its receiver nothing is heard. */
TEST(queue_take__half_a_close)
{
    struct zcrp_completion c[4];

    meet();
    assert_int_equal(zcrp_queue_add_connection(queue, here, NULL), ZCRP_OK);
    assert_int_equal(zcrp_queue_take(queue, c, 4, 0), 0);
    assert_int_equal(entity_linger(there->sender, clock_now()), ZCRP_OK);
    assert_int_equal(zcrp_queue_take(queue, c, 4, 5 * SECOND), 1);
    assert_int_equal(c[0].kind, ZCRP_CONNECTION_ENDED);
    assert_int_equal(c[0].code, ZCRP_ERROR_PEER_CLOSED);
    part();
}

static _Atomic pid_t waiter;
static _Atomic int expected; /* BUSY until it is known */

static void *expect(void *context)
{
    nlong size;

    (void)context;
    atomic_store(&waiter, (pid_t)syscall(SYS_gettid));
    expected = zcrp_expect(here->receiver, &size, -1);
    return NULL;
}

TEST(expect__half_a_close)
{
    pthread_t thread;

    meet();
    expected = ZCRP_ERROR_BUSY;
    assert_int_equal(pthread_create(&thread, NULL, expect, NULL), 0);
    asleep_await(&waiter);
    assert_int_equal(entity_linger(there->sender, clock_now()), ZCRP_OK);
    for (int i = 0; i < 5000 && expected == ZCRP_ERROR_BUSY; i++)
        (void)usleep(1000);
    int found = expected; /* without an interrupt, behind which it looks anyhow */
    (void)zcrp_connection_interrupt(here);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(found, ZCRP_ERROR_PEER_CLOSED);
    part();
}

static bool ends; /* the connection, while it is added, and a thread takes that, and closes it */
static pthread_t ender;
static _Atomic bool is_closed;

static void *take_the_end(void *context)
{
    struct zcrp_completion c = {.kind = ZCRP_MESSAGE_ENDED};

    while (c.kind != ZCRP_CONNECTION_ENDED && zcrp_queue_take(queue, &c, 1, 5 * SECOND) == 1)
        continue;
    (void)zcrp_connection_close(here);
    is_closed = true;
    return context;
}

bool __real_completions_add_both(struct completions *c, struct place *p, struct place *other,
                                 const struct place *as);
bool __wrap_completions_add_both(struct completions *c, struct place *p, struct place *other,
                                 const struct place *as)
{
    bool have_joined = __real_completions_add_both(c, p, other, as);

    if (ends) {
        ends = false;
        (void)zcrp_connection_close(there);
        assert_int_equal(pthread_create(&ender, NULL, take_the_end, NULL), 0);
        (void)usleep(SLOW_MS * 1000);
        assert_false(is_closed); /* or this call goes on in what was freed */
    }
    return have_joined;
}

TEST(queue_add_connection__closed_meanwhile)
{
    meet();
    is_closed = false;
    ends = true;
    assert_int_equal(zcrp_queue_add_connection(queue, here, NULL), ZCRP_OK);
    assert_int_equal(pthread_join(ender, NULL), 0);
    assert_true(is_closed);
    there = here = NULL;
    part();
}

static bool moves; /* the connection, once it is known how it stands */
static int anew;   /* what it is added with then */

int __real_connection_look(struct zcrp_connection *c);
int __wrap_connection_look(struct zcrp_connection *c)
{
    int code = __real_connection_look(c);

    if (moves) {
        moves = false;
        assert_int_equal(zcrp_queue_remove_connection(queue, c), ZCRP_OK);
        assert_int_equal(zcrp_queue_add_connection(queue, c, &anew), ZCRP_OK);
    }
    return code;
}

/* Whoever adds it anew hears of the end. */
TEST(queue_take__added_anew_meanwhile)
{
    struct zcrp_completion c[4];

    meet();
    (void)zcrp_connection_close(there);
    there = NULL;
    while (__real_connection_look(here) == ZCRP_OK)
        (void)usleep(1000);
    assert_int_equal(zcrp_queue_add_connection(queue, here, NULL), ZCRP_OK);
    moves = true;
    assert_int_equal(zcrp_queue_take(queue, c, 4, 5 * SECOND), 1);
    assert_false(moves);
    assert_int_equal(c[0].kind, ZCRP_CONNECTION_ENDED);
    assert_ptr_equal(c[0].context, &anew);
    assert_int_equal(zcrp_queue_take(queue, c, 4, 0), 0);
    part();
}

/* ---- a message that nobody collects ---- */

/* What left the queue is not waited for any more by what is submitted. */
TEST(queue_remove__with_more_to_collect)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m[2];
    struct zcrp_entity *e;

    assert_int_equal(zcrp_open_receiver(&e, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_queue_add(queue, e, NULL), ZCRP_OK);
    for (int i = 0; i < 2; i++) {
        m[i] = zcrp_alloc_msg(10);
        assert_int_equal(zcrp_submit(e, m[i], 10), ZCRP_OK);
        assert_int_equal(zcrp_cancel(m[i]), ZCRP_OK);
    }
    assert_ptr_equal(zcrp_collect(e), m[0]);
    assert_true(collection_has_more(&e->collection));
    assert_int_equal(zcrp_queue_remove(queue, e), ZCRP_OK);
    assert_false(collection_has_more(&e->collection));
    (void)zcrp_close(e);
    for (int i = 0; i < 2; i++)
        zcrp_free_msg(m[i]);
    loopback_close(&sockets);
}
