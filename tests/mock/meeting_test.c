/* Two ends on one host that meet over shared memory: a system call of the meeting that takes long
 * keeps no other call of the user's waiting, a peer that never comes costs few of them, and what
 * the peer sends as soon as it may is received at once. */
/* wrap: accept4 connect transport_meet transport_wake_peer workspace_give channel_send */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "common/clock.h"
#include "link/entity.h"
#include "link/tx.h"
#include "transport/shm/shm.h"
#include "transport/transport.h"
#include "workers/workspace.h"
#include "zcrp.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 1000, MESSAGES = 20000, LOOKS_MOST = 200 };

static struct {
    _Atomic bool holds_accept, holds_connect; /* the next such call, */
    _Atomic bool is_held, may_go;             /* which comes to be held, until it may go, */
    _Atomic bool was_late;                    /* or too much time has passed */
    _Atomic int accepts;
} calls;

static void hold_if(_Atomic bool *holds)
{
    bool yes = true;

    if (!atomic_compare_exchange_strong(holds, &yes, false))
        return;
    atomic_store(&calls.is_held, true);
    for (int i = 0; i < 5000 && !atomic_load(&calls.may_go); i++)
        (void)usleep(1000);
    atomic_store(&calls.was_late, !atomic_load(&calls.may_go));
}

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    hold_if(&calls.holds_accept);
    atomic_fetch_add(&calls.accepts, 1);
    return __real_accept4(fd, address, size, flags);
}

int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    if (address->sa_family == AF_UNIX)
        hold_if(&calls.holds_connect);
    return __real_connect(fd, address, size);
}

/* ---- what the sender is told, and when ---- */

static struct {
    _Atomic bool is_held;   /* the receiver is about to be there, and does not go on */
    _Atomic bool may_go;    /* until then */
    _Atomic bool has_met;   /* it can be met: who connects finds it */
    _Atomic bool was_early; /* the sender was told of the session before that */
} order;

static void await(const _Atomic bool *what)
{
    for (int i = 0; i < 5000 && !atomic_load(what); i++)
        (void)usleep(1000);
}

/* A receiver's request is of a session. */
static void note_request(const struct burst *b)
{
    bool is_request = b->is_control &&
                      datagram_type(((const uint8_t *)b->iov[1].iov_base)[b->iov[1].iov_len - 1]) ==
                          DATAGRAM_REQUEST;

    if (is_request && !atomic_load(&order.has_met))
        atomic_store(&order.was_early, true);
}

/* ---- a receiver that has agreed, and has not taken note of that ---- */

static struct {
    _Atomic bool is_wanted; /* the user's thread is to meet, and nobody else */
    _Atomic bool is_held;   /* it has agreed: */
    _Atomic bool is_woken;  /* the sender has sent something and woken its peer, */
    _Atomic bool was_heard; /* and a thread of the library's has woken; */
    _Atomic bool is_silent; /* so the user's thread goes on, and the socket brings nothing more */
} early;

static _Thread_local bool is_user;

struct transport_met __real_transport_meet(struct transport *t, struct transport_errand *errand);
struct transport_met __wrap_transport_meet(struct transport *t, struct transport_errand *errand)
{
    struct transport_met met = {.peer_file = -1};

    if (!t->is_sender && errand->pairing.session != 0 && !atomic_load(&early.is_wanted)) {
        atomic_store(&order.is_held, true);
        await(&order.may_go);
        met = __real_transport_meet(t, errand);
        atomic_store(&order.has_met, true);
        return met;
    }
    if (t->is_sender || errand->pairing.session != 0 || !atomic_load(&early.is_wanted))
        return __real_transport_meet(t, errand);
    if (is_user)
        met = __real_transport_meet(t, errand);
    if (shm_state(t->shm) == SHM_HERE) {
        atomic_store(&early.is_held, true);
        await(&early.was_heard);
    }
    return met;
}

void __real_transport_wake_peer(struct transport *t);
void __wrap_transport_wake_peer(struct transport *t)
{
    if (t->is_sender && atomic_load(&early.is_wanted))
        atomic_store(&early.is_woken, true);
    __real_transport_wake_peer(t);
}

/* A turn of the library's has ended. */
void __real_workspace_give(struct workspace *w);
void __wrap_workspace_give(struct workspace *w)
{
    __real_workspace_give(w);
    if (is_user || !atomic_load(&early.is_woken) || atomic_load(&early.was_heard))
        return;
    atomic_store(&early.is_silent, true);
    atomic_store(&early.was_heard, true);
}

enum channel_verdict __real_channel_send(struct channel *c, const struct burst *b, uint32_t *sent);
enum channel_verdict __wrap_channel_send(struct channel *c, const struct burst *b, uint32_t *sent)
{
    note_request(b);
    if (!atomic_load(&early.is_silent))
        return __real_channel_send(c, b, sent);
    *sent = b->datagrams;
    return CHANNEL_OK;
}

static void setup(void)
{
    memset(&calls, 0, sizeof(calls));
    memset(&early, 0, sizeof(early));
    memset(&order, 0, sizeof(order));
    atomic_store(&order.may_go, true);
    (void)unsetenv("ZCRP_NO_MEMORY");
}

FIXTURE(setup, NULL)

struct pair {
    struct loopback sockets;
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *out, *in;
};

static struct pair open_pair(const struct zcrp_options *of_receiver,
                             const struct zcrp_options *of_sender)
{
    struct pair p = {.sockets = loopback_open(LOOPBACK_UDP4, false),
                     .out = zcrp_alloc_msg(BYTES),
                     .in = zcrp_alloc_msg(BYTES)};

    memset(p.out->buffer, 0x55, BYTES);
    assert_int_equal(zcrp_open_receiver(&p.receiver, p.sockets.receiver, of_receiver), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&p.sender, p.sockets.sender, of_sender), ZCRP_OK);
    return p;
}

static void close_pair(struct pair *p)
{
    (void)zcrp_close(p->sender); /* TIMEOUT where the peer got no processor for a moment */
    (void)zcrp_close(p->receiver);
    zcrp_free_msg(p->out);
    zcrp_free_msg(p->in);
    loopback_close(&p->sockets);
}

static void pass(const struct pair *p)
{
    assert_int_equal(zcrp_submit(p->receiver, p->in, BYTES), ZCRP_OK);
    assert_int_equal(zcrp_submit(p->sender, p->out, BYTES), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(p->in, 10 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(p->out, 10 * SECOND), ZCRP_OK);
}

static void *pass_one(void *p)
{
    pass(p);
    return NULL;
}

/* The entity whose call is held takes calls of other threads meanwhile. */
static void expect_free(bool is_sender)
{
    atomic_store(is_sender ? &calls.holds_connect : &calls.holds_accept, true);
    struct pair p = open_pair(NULL, NULL);
    struct zcrp_entity *held = is_sender ? p.sender : p.receiver;
    struct zcrp_stats stats;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, pass_one, &p), 0);
    while (!atomic_load(&calls.is_held))
        (void)usleep(100);
    assert_int_equal(zcrp_stats(held, &stats), ZCRP_OK);
    atomic_store(&calls.may_go, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(atomic_load(&calls.was_late));
    close_pair(&p);
}

TEST(meeting__a_slow_accept)
{
    expect_free(false);
}

TEST(meeting__a_slow_connect)
{
    expect_free(true);
}

/* This thread sends for the entity, or does not any more. */
static void set_sending(struct zcrp_entity *e, bool is_sending)
{
    entity_enter(e);
    e->is_sending = is_sending;
    if (!is_sending)
        tx_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* A sender that knows the session comes at once, and a receiver that is not there yet has missed
 * it: so the receiver tells the sender of the session only then, whichever thread sends. */
TEST(meeting__a_receiver_is_there_before_its_sender_comes)
{
    memset(&order, 0, sizeof(order));
    struct pair p = open_pair(NULL, NULL);

    set_sending(p.receiver, true);
    assert_int_equal(zcrp_submit(p.receiver, p.in, BYTES), ZCRP_OK);
    assert_int_equal(zcrp_submit(p.sender, p.out, BYTES), ZCRP_OK);
    for (int i = 0; i < 5000 && !atomic_load(&order.is_held); i++) {
        set_sending(p.receiver, false); /* cookies may go */
        set_sending(p.receiver, true);
        (void)usleep(1000);
    }
    set_sending(p.receiver, false);
    assert_false(atomic_load(&order.was_early));
    atomic_store(&order.may_go, true);
    assert_int_equal(zcrp_wait_for(p.in, 10 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(p.out, 10 * SECOND), ZCRP_OK);
    assert_true(atomic_load(&order.has_met));
    assert_false(atomic_load(&order.was_early));
    close_pair(&p);
}

/* The other end takes no part in it. The receiver listens for a second. */
TEST(meeting__few_looks_for_a_peer_that_never_comes)
{
    const struct zcrp_options off = {.flags = ZCRP_NO_MEMORY};
    struct pair p = open_pair(NULL, &off);
    int64_t began = clock_now_ns();
    int passed = 0;

    while (passed < LOOKS_MOST || (passed < MESSAGES && clock_now_ns() - began < SECOND)) {
        pass(&p);
        passed++;
    }
    assert_in_range(passed, LOOKS_MOST, MESSAGES);
    assert_in_range(atomic_load(&calls.accepts), 1, LOOKS_MOST);
    close_pair(&p);
}

/* The sender wakes once, and only a receiver that sleeps. Whoever takes note of the meeting looks,
 * because that may have come before. */
enum early { IN_TIME, EARLY_AND_FOUND, EARLY_AND_LOST };

static enum early wake_early(void)
{
    const struct zcrp_options in_memory = {.channel = ZCRP_CHANNEL_MEMORY};
    struct zcrp_stats stats;

    memset(&early, 0, sizeof(early));
    atomic_store(&early.is_wanted, true);
    struct pair p = open_pair(&in_memory, &in_memory);
    assert_int_equal(zcrp_submit(p.receiver, p.in, BYTES), ZCRP_OK);
    assert_int_equal(zcrp_submit(p.sender, p.out, BYTES), ZCRP_OK);
    for (int i = 0; i < 5000 && !atomic_load(&early.is_held); i++) {
        (void)usleep(1000);
        assert_int_equal(zcrp_stats(p.receiver, &stats), ZCRP_OK);
    }
    enum early was = IN_TIME;
    if (atomic_load(&early.was_heard)) /* this thread receives nothing itself */
        was = zcrp_wait_any(&p.in, 1, SECOND / 2) == 0 ? EARLY_AND_FOUND : EARLY_AND_LOST;
    atomic_store(&early.is_silent, false);
    close_pair(&p);
    return was;
}

/* On a busy machine it may not come early, or the library's thread get no processor for a while. */
TEST(meeting__a_wake_up_that_comes_before_it_is_noted)
{
    enum early was = IN_TIME;

    is_user = true;
    for (int tries = 0; tries < 5 && was != EARLY_AND_FOUND; tries++)
        was = wake_early();
    assert_int_equal(was, EARLY_AND_FOUND);
}
