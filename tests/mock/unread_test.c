/* A receiver in shared memory that does not say that it is done with the notes of units. If it
 * lies, and acknowledges the units, its sender's messages end in spite of that. If it is only slow,
 * no note is taken back. */
/* wrap: ring_finish */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "transport/shm/ring.h"
#include "zcrp.h"

#include <stdatomic.h>
#include <string.h>

enum { SHORT = 10, BYTES = 1 << 20, MEETINGS_MOST = 2000 };
enum { SLOW_US = 400000 }; /* a sender takes half as long to see that nothing is read */

#define PATIENCE ((int64_t)10000 * 1000000)

static struct {
    _Atomic bool is_lying, is_slow; /* the receiver */
    _Atomic uint32_t skipped;       /* notes that it has left as they were */
    _Atomic bool counts;            /* the note that it was slow with */
} at;

bool __real_ring_finish(struct ring_reader *r, enum ring_state how);
bool __wrap_ring_finish(struct ring_reader *r, enum ring_state how)
{
    struct ring_note note;

    if (!ring_look(r, 0, &note) || note.place == RING_STAGING)
        return __real_ring_finish(r, how);
    if (atomic_load(&at.is_lying)) {
        r->tail++;
        atomic_fetch_add(&at.skipped, 1);
        return true;
    }
    if (!atomic_exchange(&at.is_slow, false))
        return __real_ring_finish(r, how);
    (void)usleep(SLOW_US);
    bool counts = __real_ring_finish(r, how);
    atomic_store(&at.counts, counts);
    return counts;
}

struct pair {
    struct loopback sockets;
    struct zcrp_entity *sender, *receiver;
    struct zcrp_msg *out, *in;
};

static void cross(struct pair *p, nlong size, uint8_t filled)
{
    memset(p->out->buffer, filled, size);
    memset(p->in->buffer, 0, size);
    assert_int_equal(zcrp_submit(p->receiver, p->in, BYTES), ZCRP_OK);
    assert_int_equal(zcrp_submit(p->sender, p->out, size), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(p->in, PATIENCE), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(p->out, PATIENCE), ZCRP_OK);
    assert_int_equal(p->in->length, size);
    assert_memory_equal(p->in->buffer, p->out->buffer, size);
}

static bool have_met(struct zcrp_entity *sender)
{
    struct zcrp_stats stats;

    assert_int_equal(zcrp_stats(sender, &stats), ZCRP_OK);
    return stats.messages_whole > 0;
}

/* Both ends have met in memory. */
static void open_pair(struct pair *p)
{
    memset(&at, 0, sizeof(at));
    (void)unsetenv("ZCRP_NO_MEMORY");
    p->sockets = loopback_open(LOOPBACK_UDP4, false);
    assert_int_equal(zcrp_open_receiver(&p->receiver, p->sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&p->sender, p->sockets.sender, NULL), ZCRP_OK);
    p->out = zcrp_alloc_msg(BYTES);
    p->in = zcrp_alloc_msg(BYTES);
    for (int i = 0; i < MEETINGS_MOST && !have_met(p->sender); i++)
        cross(p, SHORT, 1);
    assert_true(have_met(p->sender));
}

static void close_pair(struct pair *p)
{
    assert_int_equal(zcrp_close(p->sender), ZCRP_OK);
    assert_int_equal(zcrp_close(p->receiver), ZCRP_OK);
    zcrp_free_msg(p->out);
    zcrp_free_msg(p->in);
    loopback_close(&p->sockets);
}

TEST(unread__a_liar_keeps_no_message)
{
    struct pair p;

    open_pair(&p);
    atomic_store(&at.is_lying, true);
    cross(&p, BYTES, 2);
    assert_true(atomic_load(&at.skipped) > 0);
    cross(&p, BYTES, 3); /* the ring stands still for good, so this one takes the socket */
    close_pair(&p);
}

TEST(unread__slow_is_not_sent_again)
{
    struct pair p;

    open_pair(&p);
    atomic_store(&at.is_slow, true);
    cross(&p, BYTES, 2);
    assert_false(atomic_load(&at.is_slow));
    assert_true(atomic_load(&at.counts));
    close_pair(&p);
}
