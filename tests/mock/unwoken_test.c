/* A peer on this host that is killed when it has written to memory, just before it wakes this end,
 * which sleeps. This end receives what was written nevertheless, however late its threads come to
 * that. */
/* wrap: channel_wake_peer transport_on_peer_ended wholes_land receive_once receive_answers */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "../support/pattern.h"
#include "link/receive.h"
#include "link/wholes.h"
#include "zcrp.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LITTLE = 1000, MUCH = 100000, FIRST = 5, ASLEEP_US = 20000, GONE_US = 300000 };

#define MS ((int64_t)1000000)
#define HELD_UP (200 * MS) /* longer than the link goes on by itself */

static const struct zcrp_options options = {.channel = ZCRP_CHANNEL_MEMORY,
                                            .flags = ZCRP_ALLOW_PTRACE};

/* Both processes have this. */
static struct {
    _Atomic bool may_go; /* the peer, on with its last message */
} * shared;

/* In the peer: its last message, once it has only to be told of. NULL: it is another's turn. */
static struct zcrp_msg *last;
static bool dies_at_once; /* when it sends, and not only when the message has ended */
static bool is_mute;      /* it wakes nobody */

void __real_channel_wake_peer(struct channel *c);
void __wrap_channel_wake_peer(struct channel *c)
{
    if (is_mute)
        return;
    if (last != NULL && (dies_at_once || zcrp_error(last) == ZCRP_OK))
        (void)raise(SIGKILL);
    __real_channel_wake_peer(c);
}

/* In this end: when its threads come to receive again, after the peer's end. Until then they find
 * nothing, as if a busy machine kept them waiting. */
static _Atomic instant busy_until;

static bool is_held_up(void)
{
    return clock_now() < atomic_load(&busy_until);
}

void __real_transport_on_peer_ended(struct transport *t);
void __wrap_transport_on_peer_ended(struct transport *t)
{
    atomic_store(&busy_until, clock_now() + HELD_UP);
    __real_transport_on_peer_ended(t);
}

bool __real_wholes_land(struct zcrp_entity *e);
bool __wrap_wholes_land(struct zcrp_entity *e)
{
    return !is_held_up() && __real_wholes_land(e);
}

enum arrival __real_receive_once(struct zcrp_entity *reader, struct workspace *w,
                                 enum hearing hearing);
enum arrival __wrap_receive_once(struct zcrp_entity *reader, struct workspace *w,
                                 enum hearing hearing)
{
    return is_held_up() ? ARRIVAL_NONE : __real_receive_once(reader, w, hearing);
}

bool __real_receive_answers(struct zcrp_entity *sender, uint8_t *memory);
bool __wrap_receive_answers(struct zcrp_entity *sender, uint8_t *memory)
{
    return !is_held_up() && __real_receive_answers(sender, memory);
}

/* ---- the peer's process ---- */

/* How many messages have left as a whole. */
static uint64_t count_wholes(struct zcrp_entity *e)
{
    struct zcrp_stats s;

    return zcrp_stats(e, &s) == ZCRP_OK ? s.messages_whole : 0;
}

/* A large message, which lies in this process alone, and behind it a small one, in memory that both
 * ends map. It dies once both are offered. */
static void send_both(struct zcrp_entity *e, struct zcrp_msg *little)
{
    struct zcrp_msg *large = zcrp_alloc_msg(MUCH);
    uint64_t before = count_wholes(e);

    is_mute = true;
    if (zcrp_submit(e, large, MUCH) != ZCRP_OK || zcrp_submit(e, little, LITTLE) != ZCRP_OK)
        return;
    for (int i = 0; i < 10000 && count_wholes(e) == before; i++)
        (void)usleep(1000);
}

/* `is_second`: its last message goes behind a large one. */
static void be_peer(const struct loopback *sockets, bool is_sender, nlong size, bool is_second)
{
    struct zcrp_entity *e;
    struct zcrp_msg *m = zcrp_alloc_msg(size);
    int code = is_sender ? zcrp_open_sender(&e, sockets->sender, &options)
                         : zcrp_open_receiver(&e, sockets->receiver, &options);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; code == ZCRP_OK && i < FIRST; i++) {
        pattern_fill(m->buffer, size, (uint64_t)i);
        code = zcrp_submit(e, m, size);
        if (code == ZCRP_OK)
            code = zcrp_wait_for(m, -1);
    }
    while (!atomic_load(&shared->may_go))
        (void)usleep(1000);
    (void)usleep(ASLEEP_US); /* this end sleeps by then */
    pattern_fill(m->buffer, size, FIRST);
    dies_at_once = is_sender;
    if (is_second) {
        send_both(e, m);
    } else {
        last = m;
        if (zcrp_submit(e, m, size) == ZCRP_OK)
            (void)zcrp_wait_for(m, -1);
    }
    (void)raise(SIGKILL); /* this end was awake */
    _exit(1);
}

/* ---- this end ---- */

struct end {
    struct loopback sockets;
    struct zcrp_entity *entity;
    struct zcrp_msg *m;
    pid_t peer;
};

static struct end begin(bool is_sender, nlong size, bool is_second)
{
    struct end e = {.sockets = loopback_open(LOOPBACK_UDP4, false)};

    if (!has_pidfd())
        skip();
    (void)unsetenv("ZCRP_NO_MEMORY");
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    e.peer = fork();
    if (e.peer == 0)
        be_peer(&e.sockets, !is_sender, size, is_second);
    e.m = zcrp_alloc_msg(size);
    assert_int_equal(is_sender ? zcrp_open_sender(&e.entity, e.sockets.sender, &options)
                               : zcrp_open_receiver(&e.entity, e.sockets.receiver, &options),
                     ZCRP_OK);
    for (int i = 0; i < FIRST; i++) {
        assert_int_equal(zcrp_submit(e.entity, e.m, size), ZCRP_OK);
        assert_int_equal(zcrp_wait_for(e.m, 20000 * MS), ZCRP_OK);
    }
    return e;
}

static void end(struct end *e)
{
    int status;

    assert_int_equal(waitpid(e->peer, &status, 0), e->peer);
    assert_true(WIFSIGNALED(status));
    (void)zcrp_close(e->entity);
    zcrp_free_msg(e->m);
    loopback_close(&e->sockets);
    (void)munmap(shared, sizeof(*shared));
}

/* The last message ends well, whether a thread waits for it or the library's does. */
static void expect_last(bool is_sender, nlong size, bool waits)
{
    struct end e = begin(is_sender, size, false);

    assert_int_equal(zcrp_submit(e.entity, e.m, size), ZCRP_OK);
    atomic_store(&shared->may_go, true);
    if (!waits)
        (void)usleep(ASLEEP_US + GONE_US);
    assert_int_equal(zcrp_wait_for(e.m, 20000 * MS), ZCRP_OK);
    if (!is_sender)
        assert_true(pattern_holds(e.m->buffer, size, FIRST));
    end(&e);
}

TEST(unwoken__receiver_that_waits)
{
    expect_last(false, LITTLE, true);
}

TEST(unwoken__receiver)
{
    expect_last(false, LITTLE, false);
}

TEST(unwoken__sender_that_waits)
{
    expect_last(true, MUCH, true);
}

TEST(unwoken__sender)
{
    expect_last(true, MUCH, false);
}

/* A large message lies in the dead process alone, and is lost unless this end has read it before. A
 * small one behind it lies in what both ends map, and arrives. */
TEST(unwoken__receiver_behind_what_is_lost)
{
    struct end e = begin(false, LITTLE, true);
    struct zcrp_msg *large = zcrp_alloc_msg(MUCH);

    assert_int_equal(zcrp_submit(e.entity, large, MUCH), ZCRP_OK);
    assert_int_equal(zcrp_submit(e.entity, e.m, LITTLE), ZCRP_OK);
    atomic_store(&shared->may_go, true);
    assert_int_equal(zcrp_wait_for(e.m, 20000 * MS), ZCRP_OK);
    assert_true(pattern_holds(e.m->buffer, LITTLE, FIRST));
    int code = zcrp_wait_for(large, 20000 * MS);
    assert_true(code == ZCRP_ERROR_DIED || code == ZCRP_OK);
    zcrp_free_msg(large);
    end(&e);
}
