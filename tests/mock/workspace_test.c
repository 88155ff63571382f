/* Threads that find no memory to receive with, for a while: messages arrive all the same, later. */
/* wrap: workspace_take */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "workers/workspace.h"
#include "zcrp.h"

#include <stdatomic.h>
#include <string.h>

enum { BYTES = 100, LACKS = 50 };

static const int64_t limit = INT64_C(20000000000);
static _Atomic int lacks; /* so many more calls find none */

struct workspace *__real_workspace_take(void);
struct workspace *__wrap_workspace_take(void)
{
    return atomic_fetch_sub(&lacks, 1) > 0 ? NULL : __real_workspace_take();
}

static struct loopback sockets;
static struct zcrp_entity *sender, *receiver;
static struct zcrp_msg *in, *out;

static void setup(void)
{
    sockets = loopback_open(LOOPBACK_UDP4, false);
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&sender, sockets.sender, NULL), ZCRP_OK);
    in = zcrp_alloc_msg(BYTES);
    out = zcrp_alloc_msg(BYTES);
    memset(out->buffer, 7, BYTES);
    atomic_store(&lacks, LACKS);
    assert_int_equal(zcrp_submit(receiver, in, BYTES), ZCRP_OK);
    assert_int_equal(zcrp_submit(sender, out, BYTES), ZCRP_OK);
}

static void teardown(void)
{
    assert_true(atomic_load(&lacks) < LACKS);
    atomic_store(&lacks, 0);
    assert_int_equal(zcrp_wait_for(out, limit), ZCRP_OK);
    assert_int_equal(zcrp_close(sender), ZCRP_OK);
    assert_int_equal(zcrp_close(receiver), ZCRP_OK);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    loopback_close(&sockets);
}

FIXTURE(setup, teardown)

TEST(wait__no_memory)
{
    assert_int_equal(zcrp_wait_for(in, limit), ZCRP_OK);
}

/* A program that probes often receives in its own thread, if that has a workspace. */
TEST(probe__no_memory)
{
    while (!zcrp_probe(in))
        continue;
    assert_int_equal(zcrp_error(in), ZCRP_OK);
}
