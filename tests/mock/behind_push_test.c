/* A receiver on this host takes a large message, of which its sender has pushed some, and a small
 * one behind it, which crosses as a whole. Then it closes. The sender's thread that has pushed is
 * held up meanwhile: another one hears of the close.
 *
 * And a sender in a queue pushes while its taker can have no workspace. */
/* wrap: process_vm_readv transport_push workspace_take */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "link/rx.h"
#include "zcrp.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { LARGE = 4 << 20, LITTLE = 100, ROUNDS = 50, MEETINGS_MOST = 2000 };
enum { SLOW_MS = 30, SLOW_BYTES = 96 << 10 }; /* more than one unit: some may be left to push */

#define PATIENCE ((int64_t)20000 * 1000000)

static struct {
    struct zcrp_entity *_Atomic pusher; /* that is to push; NULL: nobody is */
    _Atomic bool is_held_up, may_go;    /* its thread */
    _Atomic bool must_lack; /* no workspace is left for a taker while the receiver copies, */
    _Atomic bool is_lacking, has_pushed; /* and it is so now; a taker has pushed nevertheless */
} at;

static _Thread_local bool is_taker;

struct workspace *__real_workspace_take(void);
struct workspace *__wrap_workspace_take(void)
{
    return is_taker && atomic_load(&at.is_lacking) ? NULL : __real_workspace_take();
}

/* The receiver has opened slots, and is slow until the taker has pushed to them. */
static void wait_for_taker(void)
{
    atomic_store(&at.is_lacking, true);
    for (int i = 0; i < SLOW_MS && !atomic_load(&at.has_pushed); i++)
        (void)usleep(1000);
    atomic_store(&at.is_lacking, false);
}

/* The receiver has opened slots, and is slow until the sender has pushed to them. */
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags)
{
    struct zcrp_entity *pusher = atomic_load(&at.pusher);
    size_t bytes = 0;

    for (unsigned long i = 0; i < heres; i++)
        bytes += here[i].iov_len;
    for (int i = 0; pusher != NULL && bytes >= SLOW_BYTES && i < SLOW_MS; i++) {
        if (atomic_load(&at.is_held_up))
            break;
        rx_come(pusher); /* the library's thread, which looks for something to push */
        (void)usleep(1000);
    }
    if (bytes >= SLOW_BYTES && atomic_load(&at.must_lack) && !atomic_load(&at.has_pushed))
        wait_for_taker();
    return __real_process_vm_readv(pid, here, heres, there, theres, flags);
}

void __real_transport_push(struct transport *t);
void __wrap_transport_push(struct transport *t)
{
    struct zcrp_entity *pusher = atomic_exchange(&at.pusher, NULL);

    __real_transport_push(t);
    if (is_taker && atomic_load(&at.is_lacking))
        atomic_store(&at.has_pushed, true);
    atomic_store(&at.is_held_up, pusher != NULL);
    while (pusher != NULL && !atomic_load(&at.may_go))
        (void)usleep(1000);
}

struct pair {
    struct loopback sockets;
    struct zcrp_entity *sender, *receiver;
    struct zcrp_queue *queue;              /* of the sender; NULL: none */
    struct zcrp_msg *large[2], *little[2]; /* that are sent, and received */
};

static void open_pair(struct pair *p)
{
    const struct zcrp_options in_memory = {.channel = ZCRP_CHANNEL_MEMORY};

    memset(&at, 0, sizeof(at));
    (void)unsetenv("ZCRP_NO_MEMORY");
    p->queue = NULL;
    p->sockets = loopback_open(LOOPBACK_UDP4, false);
    assert_int_equal(zcrp_open_receiver(&p->receiver, p->sockets.receiver, &in_memory), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&p->sender, p->sockets.sender, &in_memory), ZCRP_OK);
    for (int i = 0; i < 2; i++) {
        p->large[i] = zcrp_alloc_msg(LARGE);
        p->little[i] = zcrp_alloc_msg(LITTLE);
    }
    memset(p->large[0]->buffer, 1, LARGE);
    memset(p->little[0]->buffer, 2, LITTLE);
}

static void free_pair(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        zcrp_free_msg(p->large[i]);
        zcrp_free_msg(p->little[i]);
    }
    loopback_close(&p->sockets);
}

static uint64_t wholes_of(struct zcrp_entity *e)
{
    struct zcrp_stats stats;

    assert_int_equal(zcrp_stats(e, &stats), ZCRP_OK);
    return stats.messages_whole;
}

static void send_and_receive(const struct pair *p, struct zcrp_msg *const m[2], nlong size)
{
    assert_int_equal(zcrp_submit(p->receiver, m[1], size), ZCRP_OK);
    assert_int_equal(zcrp_submit(p->sender, m[0], size), ZCRP_OK);
}

static void expect_both(struct zcrp_msg *const m[2])
{
    assert_int_equal(zcrp_wait_for(m[1], PATIENCE), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(m[0], PATIENCE), ZCRP_OK);
}

/* Until messages cross as a whole. */
static void meet(const struct pair *p)
{
    for (int i = 0; i < MEETINGS_MOST && wholes_of(p->sender) == 0; i++) {
        send_and_receive(p, p->little, LITTLE);
        expect_both(p->little);
    }
    assert_true(wholes_of(p->sender) > 0);
}

/* The library's threads receive: nobody waits. */
static void await(const struct zcrp_msg *m)
{
    for (int i = 0; i < 20000 && zcrp_error(m) == ZCRP_ERROR_BUSY; i++)
        (void)usleep(1000);
    assert_int_equal(zcrp_error(m), ZCRP_OK);
}

/* Both messages arrive. True if a thread has pushed some, and is held up. */
static bool cross(const struct pair *p)
{
    atomic_store(&at.pusher, p->sender);
    send_and_receive(p, p->large, LARGE);
    send_and_receive(p, p->little, LITTLE);
    await(p->large[1]);
    await(p->little[1]);
    atomic_store(&at.pusher, NULL);
    if (atomic_load(&at.is_held_up))
        return true;
    expect_both(p->large);
    expect_both(p->little);
    return false;
}

static void *close_receiver(void *pair)
{
    const struct pair *p = pair;

    (void)zcrp_close(p->receiver);
    return NULL;
}

TEST(behind_push__has_arrived_before_a_close)
{
    pthread_t closer;
    struct pair p;
    bool is_held_up = false;

    if (!has_pidfd())
        skip();
    open_pair(&p);
    meet(&p);
    for (int i = 0; i < ROUNDS && !is_held_up; i++)
        is_held_up = cross(&p);
    assert_true(is_held_up);
    assert_int_equal(pthread_create(&closer, NULL, close_receiver, &p), 0);
    assert_int_equal(zcrp_wait_for(p.little[0], PATIENCE), ZCRP_OK);
    atomic_store(&at.may_go, true);
    assert_int_equal(zcrp_wait_for(p.large[0], PATIENCE), ZCRP_OK);
    assert_int_equal(pthread_join(closer, NULL), 0);
    (void)zcrp_close(p.sender);
    free_pair(&p);
}

static void *take_meanwhile(void *pair)
{
    const struct pair *p = pair;
    struct zcrp_completion completion;

    is_taker = true;
    while (atomic_load(&at.must_lack) && zcrp_queue_take(p->queue, &completion, 1, 0) >= 0)
        continue;
    return NULL;
}

/* A push is claimed by whoever finds that there is something to push, and needs no workspace. */
TEST(behind_push__without_a_workspace)
{
    pthread_t taker;
    struct pair p;

    if (!has_pidfd())
        skip();
    open_pair(&p);
    meet(&p);
    assert_int_equal(zcrp_queue_open(&p.queue), ZCRP_OK);
    assert_int_equal(zcrp_queue_add(p.queue, p.sender, NULL), ZCRP_OK);
    atomic_store(&at.must_lack, true);
    assert_int_equal(pthread_create(&taker, NULL, take_meanwhile, &p), 0);
    for (int i = 0; i < ROUNDS && !atomic_load(&at.has_pushed); i++) {
        send_and_receive(&p, p.large, LARGE);
        await(p.large[1]);
        await(p.large[0]);
    }
    assert_true(atomic_load(&at.has_pushed));
    atomic_store(&at.must_lack, false);
    assert_int_equal(pthread_join(taker, NULL), 0);
    assert_int_equal(zcrp_queue_close(p.queue), ZCRP_OK);
    assert_int_equal(zcrp_close(p.sender), ZCRP_OK);
    assert_int_equal(zcrp_close(p.receiver), ZCRP_OK);
    free_pair(&p);
}
