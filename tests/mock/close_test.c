/* Close while somebody is still on the way out of a wait, as a waiter is whose message has ended:
 * the entity has to stay until the last of them is gone. */
/* wrap: sched_yield */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "link/entity.h"
#include "zcrp.h"

#include <pthread.h>

enum { VISITORS = 3 };

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
