/* A sender in shared memory that offers two notes which name one message, before its receiver has
 * looked. */
/* wrap: shm_put_whole shm_whole */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "transport/shm/shm.h"
#include "zcrp.h"

#include <stdatomic.h>
#include <string.h>

enum { SHORT = 10, LONG = 4000, BUFFER = 4096, OLD = 0xAA, JUNK = 0xA5 };
enum { MEETINGS_MOST = 2000, ROUNDS = 10 };

#define PATIENCE ((int64_t)10000 * 1000000)

static struct {
    _Atomic bool is_blind;  /* the receiver */
    _Atomic bool is_honest; /* the sender; else a note says that it is of the message before */
} at;

bool __real_shm_put_whole(struct shm *n, uint64_t in_session, uint64_t owner, struct iovec bytes,
                          bool *wakes);
bool __wrap_shm_put_whole(struct shm *n, uint64_t in_session, uint64_t owner, struct iovec bytes,
                          bool *wakes)
{
    uint64_t said = atomic_load(&at.is_honest) ? in_session : in_session - 1;

    return __real_shm_put_whole(n, said, owner, bytes, wakes);
}

bool __real_shm_whole(struct shm *n, uint32_t ahead, struct whole_arrived *whole);
bool __wrap_shm_whole(struct shm *n, uint32_t ahead, struct whole_arrived *whole)
{
    return !atomic_load(&at.is_blind) && __real_shm_whole(n, ahead, whole);
}

struct pair {
    struct loopback sockets;
    struct zcrp_entity *sender, *receiver;
};

static void open_pair(struct pair *p)
{
    const struct zcrp_options in_memory = {.channel = ZCRP_CHANNEL_MEMORY};

    (void)unsetenv("ZCRP_NO_MEMORY");
    p->sockets = loopback_open(LOOPBACK_UDP4, false);
    assert_int_equal(zcrp_open_receiver(&p->receiver, p->sockets.receiver, &in_memory), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&p->sender, p->sockets.sender, &in_memory), ZCRP_OK);
}

static void close_pair(struct pair *p)
{
    assert_int_equal(zcrp_close(p->sender), ZCRP_OK);
    assert_int_equal(zcrp_close(p->receiver), ZCRP_OK);
    loopback_close(&p->sockets);
}

static uint64_t wholes_of(struct zcrp_entity *e)
{
    struct zcrp_stats stats;

    assert_int_equal(zcrp_stats(e, &stats), ZCRP_OK);
    return stats.messages_whole;
}

static void cross(struct pair *p, struct zcrp_msg *out, struct zcrp_msg *in)
{
    assert_int_equal(zcrp_submit(p->receiver, in, BUFFER), ZCRP_OK);
    assert_int_equal(zcrp_submit(p->sender, out, SHORT), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(out, PATIENCE), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(in, PATIENCE), ZCRP_OK);
}

/* Until messages cross as a whole. */
static void meet(struct pair *p, struct zcrp_msg *out, struct zcrp_msg *in)
{
    for (int i = 0; i < MEETINGS_MOST && wholes_of(p->sender) == 0; i++)
        cross(p, out, in);
    assert_true(wholes_of(p->sender) > 0);
}

/* A short message, and one with junk under the same number. Until both are there the receiver sees
 * none. False: this thread was late, and the sender has taken the first one back. */
static bool attack(struct pair *p, struct zcrp_msg *out[2])
{
    uint64_t wholes = wholes_of(p->sender);

    atomic_store(&at.is_blind, true);
    assert_int_equal(zcrp_submit(p->sender, out[0], SHORT), ZCRP_OK);
    for (int i = 0; i < MEETINGS_MOST && wholes_of(p->sender) == wholes; i++)
        (void)usleep(1000);
    atomic_store(&at.is_honest, false);
    assert_int_equal(zcrp_submit(p->sender, out[1], LONG), ZCRP_OK);
    for (int i = 0; i < MEETINGS_MOST && wholes_of(p->sender) == wholes + 1; i++)
        (void)usleep(1000);
    bool are_there = wholes_of(p->sender) == wholes + 2;
    atomic_store(&at.is_honest, true);
    atomic_store(&at.is_blind, false);
    return are_there;
}

/* True if both notes were there at once. */
static bool attack_once(void)
{
    static uint8_t memory[2][BUFFER];
    struct pair p;
    struct zcrp_msg *in[2], *out[2];

    memset(memory, OLD, sizeof(memory));
    memset(&at, 0, sizeof(at));
    atomic_store(&at.is_honest, true);
    open_pair(&p);
    for (int i = 0; i < 2; i++) {
        in[i] = zcrp_wrap_msg(memory[i], BUFFER);
        out[i] = zcrp_alloc_msg(BUFFER);
        memset(out[i]->buffer, i == 0 ? 0 : JUNK, BUFFER);
    }
    meet(&p, out[0], in[0]);
    memset(memory, OLD, sizeof(memory));
    for (int i = 0; i < 2; i++)
        assert_int_equal(zcrp_submit(p.receiver, in[i], BUFFER), ZCRP_OK);
    bool was_attacked = attack(&p, out);
    assert_int_equal(zcrp_wait_for(in[0], PATIENCE), ZCRP_OK);
    assert_int_equal(in[0]->length, SHORT);
    for (int i = SHORT; i < BUFFER; i++)
        assert_true(memory[0][i] == OLD || memory[0][i] == 0);
    (void)zcrp_cancel(in[1]); /* nobody sends it */
    close_pair(&p);
    for (int i = 0; i < 2; i++) {
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    return was_attacked;
}

TEST(whole__junk_of_a_second_note_does_not_stay)
{
    bool was_attacked = false;

    for (int i = 0; i < ROUNDS && !was_attacked; i++)
        was_attacked = attack_once();
    assert_true(was_attacked);
}
