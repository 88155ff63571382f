/* wrap: process_vm_readv process_vm_writev */
/* How a sender pushes to its receiver while that copies: the sender's turn comes within the
 * receiver's first call. */
#include "../../support/shm_pair.h"

#include "../../support/mock.h"
#include "platform/system.h"

#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { UNITS = 16, DATA = 16384, MESSAGE = 5, OTHER = 6, AS_IT_IS = -1000 };
enum { A_PUSH = PUSH_BYTES / DATA, FIRST_OWN = 8 }; /* units that the two copy with one call */

static struct shm_pair n;
static uint8_t from[UNITS * DATA], to[UNITS * DATA];

/* What the sender does meanwhile, once. */
static void (*meanwhile)(void);
static int writev_result; /* minus an error number, or a size; AS_IT_IS: what the call does */
static int writes;

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags)
{
    void (*then)(void) = heres > 1 ? meanwhile : NULL;

    meanwhile = heres > 1 ? NULL : meanwhile;
    if (then != NULL)
        then();
    return __real_process_vm_readv(pid, here, heres, there, theres, flags);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *here, unsigned long heres,
                                 const struct iovec *there, unsigned long theres,
                                 unsigned long flags)
{
    writes++;
    if (writev_result == AS_IT_IS)
        return __real_process_vm_writev(pid, here, heres, there, theres, flags);
    if (writev_result >= 0)
        return writev_result;
    errno = -writev_result;
    return -1;
}

static void setup(void)
{
    writev_result = AS_IT_IS;
    writes = 0;
    meanwhile = NULL;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 2654435761u >> 24);
    memset(to, 0, sizeof(to));
    assert_true(shm_pair_open(&n));
    assert_true(shm_pair_meet(&n));
}

static void teardown(void)
{
    shm_pair_close(&n);
}

FIXTURE(setup, teardown)

static void send_units(uint32_t units)
{
    uint32_t sent;
    bool held, wakes;

    shm_pair_fill(&n.burst, MESSAGE, from, units, DATA);
    assert_int_equal(shm_send(n.sender, &n.burst, &sent, &held, &wakes), CHANNEL_OK);
    assert_int_equal(sent, units);
}

static int receive(uint32_t units)
{
    shm_pair_plan(&n.landing, to, units, 1, DATA);
    n.landing.is_spoilt = false;
    return shm_receive(n.receiver, &n.landing);
}

static uint32_t let_go_all(void)
{
    uint64_t message;
    uint32_t notes = 0;

    for (; shm_let_go(n.sender, &message); notes++)
        assert_int_equal(message, MESSAGE);
    return notes;
}

static void push_all(void)
{
    while (shm_claim(n.sender)) {
        shm_push(n.sender);
        assert_int_not_equal(let_go_all(), 0);
    }
}

static void expect_all(uint32_t units)
{
    assert_int_equal(receive(units), units);
    assert_false(n.landing.is_spoilt);
    assert_memory_equal(to, from, (size_t)units * DATA);
    for (uint32_t i = 0; i < units; i++) {
        assert_int_equal(n.landing.bytes[i], DATA + TRAILER_BYTES);
        assert_int_equal(n.landing.trailer[i][0], i);
    }
    assert_false(shm_look_late(n.receiver));
}

static void expect_reaped(uint32_t units)
{
    struct released released;

    for (uint32_t i = 0; i < units; i++) {
        assert_true(shm_reap(n.sender, &released));
        assert_false(released.has_faulted);
    }
    assert_false(shm_reap(n.sender, &released));
}

TEST(shm_push__all_but_the_first)
{
    if (!has_pidfd())
        skip();
    send_units(UNITS);
    meanwhile = push_all;
    expect_all(UNITS);
    int first = writes;
    assert_int_equal(first, (UNITS - FIRST_OWN + A_PUSH - 1) / A_PUSH);
    expect_reaped(UNITS);
    send_units(UNITS);
    meanwhile = push_all;
    expect_all(UNITS); /* the receiver's first call has a quarter now */
    assert_int_equal(writes - first, (UNITS - UNITS / 4 + A_PUSH - 1) / A_PUSH);
}

/* Of a message in many pieces units land in memory that is another link's when this landing is
 * over: a sender that is late must not write there. */
TEST(shm_push__not_to_the_landings_own_memory)
{
    if (!has_pidfd())
        skip();
    send_units(UNITS);
    landing_begin(&n.landing);
    for (int i = 0; i < UNITS; i++) {
        assert_true(landing_offer(&n.landing, NULL, DATA));
        assert_true(landing_seal(&n.landing));
    }
    meanwhile = push_all;
    assert_int_equal(shm_receive(n.receiver, &n.landing), UNITS);
    assert_int_equal(writes, 0);
    assert_false(shm_claim(n.sender));
}

TEST(shm_push__nobody_pushes)
{
    send_units(UNITS);
    expect_all(UNITS);
    expect_reaped(UNITS);
    assert_int_equal(writes, 0);
    assert_false(shm_claim(n.sender)); /* the slots are withdrawn */
}

/* Few units are not worth it. */
TEST(shm_push__few)
{
    send_units(3);
    meanwhile = push_all;
    expect_all(3);
    assert_int_equal(writes, 0);
}

/* What could not be pushed, or not whole, is copied. */
TEST(shm_push__fails)
{
    static const int results[] = {-EFAULT, -EPERM, -ESRCH, -ENOSYS, 0, 100, DATA, DATA + 1};

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        writev_result = results[i];
        memset(to, 0, sizeof(to));
        send_units(UNITS);
        meanwhile = push_all;
        shm_pair_plan(&n.landing, to, UNITS, 1, DATA);
        if (results[i] >= DATA) /* that much it says it has written, and has not */
            memcpy(to, from, sizeof(to));
        expect_all(UNITS);
        expect_reaped(UNITS);
    }
}

/* The process at the receiver's place is another one: it is not written to. */
TEST(shm_push__receiver_is_gone)
{
    memset(n.receiver->nonce, 0, PEER_NONCE);
    send_units(UNITS);
    meanwhile = push_all;
    expect_all(UNITS);
    assert_int_equal(writes, 0);
    send_units(UNITS);
    assert_false(shm_claim(n.sender));
}

static void push_and_take_back(void)
{
    struct released of;
    uint64_t message;

    assert_true(shm_claim(n.sender));
    while (shm_take_back(n.sender, MESSAGE, &of))
        ;
    shm_push(n.sender);
    for (uint32_t i = 0; i < A_PUSH; i++) { /* it has them still */
        assert_true(shm_let_go(n.sender, &message));
        assert_true(shm_take_back(n.sender, message, &of));
        assert_int_equal(of.message, MESSAGE);
    }
    assert_false(shm_take_back(n.sender, MESSAGE, &of));
}

/* What is taken back meanwhile is the user's only after the push, and does not count. */
TEST(shm_push__taken_back)
{
    if (!has_pidfd())
        skip();
    struct released released;

    send_units(UNITS);
    meanwhile = push_and_take_back;
    int received = receive(UNITS);
    for (int i = 0; i < received; i++)
        assert_int_equal(n.landing.bytes[i], 0);
    assert_true(n.landing.is_spoilt);
    assert_int_equal(receive(UNITS), 0);
    assert_false(shm_reap(n.sender, &released)); /* nobody's */
    send_units(UNITS);
    expect_all(UNITS);
}

/* ---- who does not settle ---- */

static void claim(void)
{
    assert_true(shm_claim(n.sender));
}

/* What was before it has arrived. */
static void expect_late(void)
{
    send_units(UNITS);
    meanwhile = claim;
    assert_int_equal(receive(UNITS), UNITS - A_PUSH);
    assert_true(n.landing.is_spoilt);
    assert_true(shm_look_late(n.receiver));
    assert_int_equal(receive(UNITS), 0); /* not even what could be read */
}

TEST(shm_look_late__until_it_settles)
{
    if (!has_pidfd())
        skip();
    expect_late();
    shm_push(n.sender);
    assert_false(shm_look_late(n.receiver));
    assert_int_equal(let_go_all(), A_PUSH);
    shm_pair_plan(&n.landing, to + (size_t)(UNITS - A_PUSH) * DATA, A_PUSH, 1, DATA);
    assert_int_equal(shm_receive(n.receiver, &n.landing), A_PUSH);
    assert_memory_equal(to, from, sizeof(to));
    expect_reaped(UNITS);
}

/* What is pinned is not reaped, although the reader is done with it. */
TEST(shm_look_late__settles_and_does_not_let_go)
{
    if (!has_pidfd())
        skip();
    struct released released;

    expect_late();
    shm_push(n.sender);
    assert_false(shm_look_late(n.receiver));
    assert_int_equal(receive(UNITS), A_PUSH);
    for (int i = 0; i < UNITS - A_PUSH; i++)
        assert_true(shm_reap(n.sender, &released));
    assert_false(shm_reap(n.sender, &released));
    assert_int_equal(let_go_all(), A_PUSH);
    expect_reaped(A_PUSH);
}

/* A process that has ended writes nothing any more, also one that nobody has waited for yet. */
TEST(shm_look_late__until_it_ends)
{
    if (!has_pidfd())
        skip();
    pid_t child = fork();

    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    expect_late();
    n.receiver->peer.pid = child;
    assert_true(shm_look_late(n.receiver));
    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t end;
    assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    assert_false(shm_look_late(n.receiver));
    assert_int_equal(waitpid(child, NULL, 0), child);
    n.receiver->peer.pid = getpid();
    shm_push(n.sender);
    (void)let_go_all();
}

/* Another program in the same process. */
TEST(shm_look_late__until_it_is_another)
{
    if (!has_pidfd())
        skip();
    expect_late();
    memset(n.sender->nonce, 0, PEER_NONCE);
    assert_false(shm_look_late(n.receiver));
    shm_push(n.sender);
    (void)let_go_all();
}

/* ---- a receiver that lies ---- */

/* Targets of notes that there are not, or that hold no message, are settled and not written to. */
TEST(shm_claim__of_nothing)
{
    struct push_slots *t = &n.sender->page->slots;
    struct released of;

    assert_false(shm_claim(n.sender));
    send_units(UNITS);
    for (uint64_t end = 0; end <= 2 * RING_NOTES; end += RING_NOTES / 2) {
        atomic_store(&t->end, end);
        assert_false(shm_claim(n.sender));
    }
    while (shm_take_back(n.sender, MESSAGE, &of))
        ;
    assert_true(push_slots_open(t, 3, to));
    push_slots_show(t, 4);
    assert_false(shm_claim(n.sender));
    assert_int_equal(push_slots_take(t, 3), PUSH_SLOT_FAILED);
    assert_int_equal(writes, 0);
}
