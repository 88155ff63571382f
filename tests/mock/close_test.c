/* Close while somebody is still on the way out of a wait, as a waiter is whose message has ended:
 * the entity has to stay until the last of them is gone, and so does a message that the connection
 * frees. */
/* wrap: sched_yield entity_depart message_destroy */
#include "../support/asleep.h"
#include "../support/loopback.h"
#include "../support/mock.h"
#include "link/entity.h"
#include "zcrp.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VISITORS = 3, FREED = 12345 };

static struct zcrp_entity *visited; /* has so many visitors */
static int visitors;
static pthread_t closing; /* of this thread */
static _Atomic bool is_closing;

int __real_sched_yield(void);

/* Who closes gives way: another one leaves. A sanitizer gives way too, in any thread and under
 * locks of its own: nothing is asserted here. */
int __wrap_sched_yield(void)
{
    if (is_closing && visitors > 0 && pthread_equal(pthread_self(), closing)) {
        entity_depart(visited);
        visitors--;
    }
    return __real_sched_yield();
}

TEST(close__awaits_whoever_is_leaving)
{
    const struct zcrp_options options = {.linger_ns = 1};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = zcrp_alloc_msg(10);

    assert_int_equal(zcrp_open_sender(&visited, sockets.sender, &options), ZCRP_OK);
    assert_int_equal(zcrp_submit(visited, m, 10), ZCRP_OK);
    for (visitors = 0; visitors < VISITORS; visitors++)
        assert_ptr_equal(entity_visit(message_of(m)), visited);
    closing = pthread_self();
    is_closing = true;
    assert_int_equal(zcrp_close(visited), ZCRP_ERROR_TIMEOUT);
    is_closing = false;
    assert_int_equal(visitors, 0);
    assert_null(entity_visit(message_of(m)));
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* ---- a message of the connection's ---- */

static _Thread_local bool is_waiter; /* this thread waits for the message, */
static _Atomic bool has_closed;      /* which another one has freed since */
static struct message *first;        /* kept instead, but what it said is gone */

void __real_entity_depart(struct zcrp_entity *e);
void __wrap_entity_depart(struct zcrp_entity *e)
{
    __real_entity_depart(e);
    while (is_waiter && !atomic_load(&has_closed))
        (void)usleep(1000);
}

void __real_message_destroy(struct message *m);
void __wrap_message_destroy(struct message *m)
{
    if (m != first)
        __real_message_destroy(m);
    else
        m->code = FREED;
}

struct waiter {
    pthread_t thread;
    _Atomic pid_t number;
    int code;
};

static void *wait_for_first(void *context)
{
    struct waiter *w = context;

    is_waiter = true;
    atomic_store(&w->number, (pid_t)syscall(SYS_gettid));
    w->code = zcrp_wait_for(&first->public, -1);
    return NULL;
}

/* Whoever waits for it learns how it ended, though it is freed as soon as the wait lets it go. */
TEST(close__beside_a_wait_for_a_first_message)
{
    const struct zcrp_options options = {.linger_ns = 1, .first_messages = 1, .first_bytes = 10};
    struct waiter waiter = {.number = 0};
    struct zcrp_connection *there, *here;
    struct zcrp_listener *listener;
    char port[8];

    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_OK);
    (void)snprintf(port, sizeof port, "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, NULL, 0), ZCRP_OK);
    assert_int_equal(zcrp_accept(listener, &here, -1), ZCRP_OK);
    first = message_of(zcrp_connection_first(here, 0));
    assert_non_null(first);
    assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_first, &waiter), 0);
    asleep_await(&waiter.number);
    (void)zcrp_connection_close(here);
    assert_int_equal(first->code, FREED);
    atomic_store(&has_closed, true);
    assert_int_equal(pthread_join(waiter.thread, NULL), 0);
    assert_int_equal(waiter.code, ZCRP_ERROR_CLOSED);
    __real_message_destroy(first);
    (void)zcrp_connection_close(there);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}
