/* A waiter that sleeps, and a thread of the library's that is about to: both say in shared memory
 * that the peer is to wake them, and a message comes at the worst moment. A thread that got no
 * processor for 150 ms would look like such a moment. */
/* load: alone */
/* wrap: workspace_give channel_wait channel_send ring_offer_whole ring_say_asleep */
/* wrap: transport_receive credit_ring_want */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "common/clock.h"
#include "link/entity.h"
#include "link/link.h"
#include "transport/channel.h"
#include "transport/shm/credit_ring.h"
#include "transport/shm/ring.h"
#include "transport/transport.h"
#include "workers/workspace.h"
#include "zcrp.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1000, PATIENCE_MS = 200, LATE_MS = 400, HOLD_MS = 60000 };

#define MS ((int64_t)1000000)

static struct {
    _Atomic bool holds_receive; /* the worker, when it has read the socket; */
    _Atomic bool is_receiving;  /* it is there */
    _Atomic bool may_receive;
    _Atomic bool holds_worker; /* at the end of its next turn, */
    _Atomic bool is_held;      /* as it is, */
    _Atomic bool may_go;
    _Atomic bool has_looked;   /* whether it may sleep */
    _Atomic bool has_offered;  /* the sender */
    _Atomic bool holds_sender; /* the next time, between its offer and its look at who sleeps */
    _Atomic bool is_asleep;    /* the waiter */
    _Atomic bool is_silent;    /* the socket: else what is repeated wakes the waiter soon */
} at;

static _Thread_local bool is_waiter;

static void await(const _Atomic bool *what)
{
    for (int i = 0; i < PATIENCE_MS && !atomic_load(what); i++)
        (void)usleep(1000);
}

/* For what this test itself brings about. */
static void await_long(const _Atomic bool *what)
{
    for (int i = 0; i < 25 && !atomic_load(what); i++)
        await(what);
}

static bool is_worker(void)
{
    char name[16] = "";

    (void)pthread_getname_np(pthread_self(), name, sizeof(name));
    return strcmp(name, "zcrp-receiving") == 0;
}

void __real_workspace_give(struct workspace *w);
void __wrap_workspace_give(struct workspace *w)
{
    bool holds = true;

    __real_workspace_give(w);
    if (!is_worker() || !atomic_compare_exchange_strong(&at.holds_worker, &holds, false))
        return;
    atomic_store(&at.is_held, true);
    for (int i = 0; i < HOLD_MS && !atomic_load(&at.may_go); i++) /* longer than the test takes */
        (void)usleep(1000);
}

int __real_transport_receive(struct transport *t, struct transport_turn *turn, struct landing *l,
                             enum hearing hearing);
int __wrap_transport_receive(struct transport *t, struct transport_turn *turn, struct landing *l,
                             enum hearing hearing)
{
    int received = __real_transport_receive(t, turn, l, hearing);
    bool holds = true;

    if (received <= 0 || turn->has_notes || !is_worker() ||
        !atomic_compare_exchange_strong(&at.holds_receive, &holds, false))
        return received;
    atomic_store(&at.is_receiving, true);
    await_long(&at.may_receive);
    return received;
}

bool __real_ring_say_asleep(struct ring_reader *r);
bool __wrap_ring_say_asleep(struct ring_reader *r)
{
    bool may = __real_ring_say_asleep(r);

    if (is_worker() && atomic_load(&at.may_go))
        atomic_store(&at.has_looked, true);
    return may;
}

int __real_channel_wait(const struct channel *c, int wake_fd, instant deadline);
int __wrap_channel_wait(const struct channel *c, int wake_fd, instant deadline)
{
    struct pollfd wakes[] = {{.fd = c->fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};

    if (is_waiter && poll(wakes, 2, 0) == 0)
        atomic_store(&at.is_asleep, true);
    return __real_channel_wait(c, wake_fd, deadline);
}

enum channel_verdict __real_channel_send(struct channel *c, const struct burst *b, uint32_t *sent);
enum channel_verdict __wrap_channel_send(struct channel *c, const struct burst *b, uint32_t *sent)
{
    if (!atomic_load(&at.is_silent))
        return __real_channel_send(c, b, sent);
    *sent = b->datagrams;
    return CHANNEL_OK;
}

/* The sender is held behind its offer: nobody saw before that somebody sleeps. */
bool __real_ring_offer_whole(struct ring_writer *w, const struct ring_whole *whole, uint64_t owner,
                             uint64_t staged, bool *wakes);
bool __wrap_ring_offer_whole(struct ring_writer *w, const struct ring_whole *whole, uint64_t owner,
                             uint64_t staged, bool *wakes)
{
    bool holds = true;

    if (!atomic_compare_exchange_strong(&at.holds_sender, &holds, false)) {
        bool has_room = __real_ring_offer_whole(w, whole, owner, staged, wakes);
        atomic_store(&at.has_offered, has_room);
        return has_room;
    }
    uint32_t was_asleep = atomic_exchange(&w->ring->is_asleep, 0);
    assert_true(__real_ring_offer_whole(w, whole, owner, staged, wakes));
    atomic_store(&w->ring->is_asleep, was_asleep);
    atomic_store(&at.may_go, true);
    await(&at.has_looked);
    *wakes = atomic_exchange(&w->ring->is_asleep, 0) != 0;
    return true;
}

/* The receiver posts when the sender has looked for a buffer, and has not yet said that it wants
 * one. */
static struct {
    struct zcrp_entity *receiver; /* NULL: it does not */
    struct zcrp_msg *buffer;
} late;

void __real_credit_ring_want(const struct credit_ring *c);
void __wrap_credit_ring_want(const struct credit_ring *c)
{
    struct zcrp_entity *receiver = late.receiver;

    late.receiver = NULL;
    if (receiver != NULL)
        assert_int_equal(zcrp_submit(receiver, late.buffer, BYTES), ZCRP_OK);
    __real_credit_ring_want(c);
}

static void setup(void)
{
    memset(&at, 0, sizeof(at));
    (void)unsetenv("ZCRP_NO_MEMORY");
}

FIXTURE(setup, NULL)

static const struct zcrp_options in_memory = {.channel = ZCRP_CHANNEL_MEMORY};

struct pair {
    struct loopback sockets;
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *out[2], *in[2];
};

static struct pair open_pair_with(const struct zcrp_options *of_sender)
{
    struct pair p = {.sockets = loopback_open(LOOPBACK_UDP4, false)};

    for (int i = 0; i < 2; i++) {
        p.out[i] = zcrp_alloc_msg(BYTES);
        p.in[i] = zcrp_alloc_msg(BYTES);
    }
    assert_int_equal(zcrp_open_receiver(&p.receiver, p.sockets.receiver, &in_memory), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&p.sender, p.sockets.sender, of_sender), ZCRP_OK);
    return p;
}

static struct pair open_pair(void)
{
    return open_pair_with(&in_memory);
}

static void close_pair(struct pair *p)
{
    assert_int_equal(zcrp_close(p->sender), ZCRP_OK);
    assert_int_equal(zcrp_close(p->receiver), ZCRP_OK);
    for (int i = 0; i < 2; i++) {
        zcrp_free_msg(p->out[i]);
        zcrp_free_msg(p->in[i]);
    }
    loopback_close(&p->sockets);
}

static void send_and_wait(struct pair *p, int i)
{
    assert_int_equal(zcrp_submit(p->sender, p->out[i], BYTES), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(p->out[i], 10000 * MS), ZCRP_OK);
}

static void *wait_for_second(void *pair)
{
    const struct pair *p = pair;

    is_waiter = true;
    assert_int_equal(zcrp_wait_for(p->in[1], 10000 * MS), ZCRP_OK);
    return NULL;
}

/* Both meet, and the library receives for whoever posted. */
static void begin(struct pair *p)
{
    assert_int_equal(zcrp_submit(p->receiver, p->in[0], BYTES), ZCRP_OK);
    send_and_wait(p, 0);
    assert_int_equal(zcrp_wait(p->in[0]), 1);
    assert_int_equal(zcrp_submit(p->receiver, p->in[0], BYTES), ZCRP_OK);
    assert_int_equal(zcrp_submit(p->receiver, p->in[1], BYTES), ZCRP_OK);
    (void)usleep(50000); /* nobody waits */
}

/* The waiter said that it sleeps. The library's thread says so, too, finds a message, and is awake
 * again: so the sender, which looks then, wakes nobody. */
TEST(asleep__while_the_library_looks)
{
    struct pair p = open_pair();
    pthread_t waiter;

    begin(&p);
    atomic_store(&at.holds_worker, true);
    send_and_wait(&p, 0);
    await_long(&at.is_held);
    assert_true(atomic_load(&at.is_held));
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_second, &p), 0);
    await_long(&at.is_asleep);
    assert_true(atomic_load(&at.is_asleep));
    atomic_store(&at.is_silent, true);
    atomic_store(&at.holds_sender, true);
    assert_int_equal(zcrp_submit(p.sender, p.out[1], BYTES), ZCRP_OK);
    int64_t sent = clock_now_ns();
    assert_int_equal(pthread_join(waiter, NULL), 0);
    atomic_store(&at.is_silent, false);
    assert_in_range(clock_now_ns() - sent, 0, LATE_MS * MS);
    close_pair(&p);
}

enum { TRIES = 20 };

/* False: the sender took the socket, as it does where the first message stood still for 100 ms. */
static bool comes_behind_the_last_look(void)
{
    struct pair p = open_pair();

    begin(&p);
    atomic_store(&at.holds_receive, true);
    assert_int_equal(zcrp_submit(p.sender, p.out[0], BYTES), ZCRP_OK);
    await_long(&at.is_receiving);
    assert_true(atomic_load(&at.is_receiving));
    for (int i = 0; i < 5; i++) { /* it computes between its waits: so the socket is armed */
        assert_int_equal(zcrp_wait_for(p.in[1], 0), ZCRP_ERROR_TIMEOUT);
        (void)usleep(1000);
    }
    atomic_store(&at.holds_worker, true);
    atomic_store(&at.may_receive, true);
    await_long(&at.is_held);
    assert_true(atomic_load(&at.is_held));
    atomic_store(&at.is_silent, true);
    atomic_store(&at.has_offered, false);
    assert_int_equal(zcrp_submit(p.sender, p.out[1], BYTES), ZCRP_OK);
    await(&at.has_offered);
    bool is_so = atomic_load(&at.has_offered);
    atomic_store(&at.is_silent, is_so);
    atomic_store(&at.may_go, true);
    assert_int_equal(zcrp_wait_any(&p.in[1], 1, 10000 * MS), 0);
    atomic_store(&at.is_silent, false);
    close_pair(&p);
    return is_so;
}

/* A waiter looks while the library's thread receives, leaves, and has the socket armed for it. Then
 * a message comes behind that thread's last look: nobody wakes the thread, so it looks again. */
TEST(asleep__not_without_what_comes_behind_the_last_look)
{
    bool is_so = false;

    for (int i = 0; i < TRIES && !is_so; i++) {
        setup();
        is_so = comes_behind_the_last_look();
    }
    assert_true(is_so);
}

/* A link joins a queue amid a turn of the library's thread, and a message comes behind that
 * thread's last look: nobody is woken for it, so whoever takes looks. With two links in it the
 * queue does not ask each by itself. */
TEST(asleep__not_when_it_joins_a_queue_amid_a_turn)
{
    struct pair p = open_pair(), other = open_pair();
    struct zcrp_completion c = {.message = NULL};
    struct zcrp_queue *q;

    begin(&other);
    begin(&p);
    assert_int_equal(zcrp_queue_open(&q), ZCRP_OK);
    assert_int_equal(zcrp_queue_add(q, other.receiver, NULL), ZCRP_OK);
    atomic_store(&at.holds_worker, true);
    send_and_wait(&p, 0);
    await_long(&at.is_held);
    assert_true(atomic_load(&at.is_held));
    assert_int_equal(zcrp_queue_add(q, p.receiver, NULL), ZCRP_OK);
    atomic_store(&at.is_silent, true);
    atomic_store(&at.has_offered, false);
    assert_int_equal(zcrp_submit(p.sender, p.out[1], BYTES), ZCRP_OK);
    await_long(&at.has_offered);
    atomic_store(&at.may_go, true);
    assert_int_equal(zcrp_queue_take(q, &c, 1, 10000 * MS), 1);
    assert_ptr_equal(c.message, p.in[1]);
    atomic_store(&at.is_silent, false);
    assert_int_equal(zcrp_queue_close(q), ZCRP_OK);
    close_pair(&p);
    close_pair(&other);
}

/* ---- a sender that sleeps on ---- */

enum { ROOM = 4, MOST = ROOM + 4 }; /* some end before there is a backlog */

/* Does the sender sleep on, though whole messages end? And does a message wait for room? */
static bool is_idle(struct zcrp_entity *sender, bool *has_backlog)
{
    mutex_lock(&sender->link->mutex);
    bool is_so = sender->transport->is_idle;
    *has_backlog = !backlog_is_empty(&sender->backlog);
    mutex_unlock(&sender->link->mutex);
    return is_so;
}

/* A sender that was about to do something when it fell asleep says that it is idle only the next
 * time, which the receiver does not bring about while it is held. */
static bool becomes_idle(struct zcrp_entity *sender)
{
    bool has_backlog = false;
    bool is_so = is_idle(sender, &has_backlog);

    for (int i = 0; i < PATIENCE_MS && !is_so; i++) {
        (void)usleep(1000);
        is_so = is_idle(sender, &has_backlog);
    }
    assert_false(is_so && has_backlog);
    return is_so;
}

/* Until messages cross as a whole. The receiver's worker is held behind the last one, or before. */
static void meet_and_hold(struct pair *p)
{
    struct zcrp_stats stats = {.messages_whole = 0};

    for (int i = 0; i < 1000 && stats.messages_whole == 0; i++) {
        assert_int_equal(zcrp_submit(p->receiver, p->in[0], BYTES), ZCRP_OK);
        send_and_wait(p, 0);
        assert_int_equal(zcrp_wait(p->in[0]), 1);
        assert_int_equal(zcrp_stats(p->sender, &stats), ZCRP_OK);
    }
    assert_int_equal(zcrp_submit(p->receiver, p->in[0], BYTES), ZCRP_OK);
    atomic_store(&at.holds_worker, true);
    assert_int_equal(zcrp_submit(p->sender, p->out[0], BYTES), ZCRP_OK);
    await_long(&at.is_held);
    assert_true(atomic_load(&at.is_held));
}

/* True if there was a backlog. */
static bool look_at_backlog(void)
{
    const struct zcrp_options few = {.channel = ZCRP_CHANNEL_MEMORY, .messages = ROOM};
    struct pair p = open_pair_with(&few);
    struct zcrp_msg *in[MOST], *out[MOST];
    bool has_backlog = false;
    int sent = 0;

    meet_and_hold(&p);
    for (int i = 0; i < MOST; i++) {
        in[i] = zcrp_alloc_msg(BYTES);
        out[i] = zcrp_alloc_msg(BYTES);
        assert_int_equal(zcrp_submit(p.receiver, in[i], BYTES), ZCRP_OK);
    }
    while (!has_backlog && sent < MOST && becomes_idle(p.sender)) {
        assert_int_equal(zcrp_submit(p.sender, out[sent++], BYTES), ZCRP_OK);
        bool sleeps_on = is_idle(p.sender, &has_backlog);
        assert_false(sleeps_on && has_backlog);
    }
    atomic_store(&at.may_go, true);
    for (int i = 0; i < sent; i++)
        assert_int_equal(zcrp_wait_for(in[i], 10000 * MS), ZCRP_OK);
    for (int i = sent; i < MOST; i++)
        (void)zcrp_cancel(in[i]); /* not needed */
    close_pair(&p);
    for (int i = 0; i < MOST; i++) {
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    return has_backlog;
}

/* Nobody waits for its messages, but one of them waits for room: then it wants to know of each that
 * ends. */
TEST(asleep__not_beside_a_backlog)
{
    bool has_looked = false;

    for (int i = 0; i < TRIES && !has_looked; i++) {
        setup();
        has_looked = look_at_backlog();
    }
    if (!has_looked)
        skip();
}

/* The library's thread said that it sleeps when the sender had nothing to send. Then a message
 * finds no buffer, and the receiver shows one before it can see that the sender wants one: so it
 * sends no request, and the thread that submits looks again. */
TEST(asleep__when_a_buffer_is_shown_that_is_not_wanted_yet)
{
    struct pair p = open_pair();

    assert_int_equal(zcrp_submit(p.receiver, p.in[0], BYTES), ZCRP_OK);
    send_and_wait(&p, 0);
    assert_int_equal(zcrp_wait(p.in[0]), 1);
    while (!atomic_load(&at.has_offered)) { /* until one has gone as a whole */
        assert_int_equal(zcrp_submit(p.receiver, p.in[0], BYTES), ZCRP_OK);
        send_and_wait(&p, 0);
        assert_int_equal(zcrp_wait(p.in[0]), 1);
    }
    (void)usleep(50000); /* nobody waits */
    atomic_store(&at.has_offered, false);
    late.receiver = p.receiver;
    late.buffer = p.in[1];
    assert_int_equal(zcrp_submit(p.sender, p.out[1], BYTES), ZCRP_OK);
    assert_ptr_equal(late.receiver, NULL);
    assert_true(atomic_load(&at.has_offered));
    assert_int_equal(zcrp_wait_for(p.in[1], 10000 * MS), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(p.out[1], 10000 * MS), ZCRP_OK);
    close_pair(&p);
}
