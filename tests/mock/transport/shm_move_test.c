/* wrap: process_vm_readv pwritev preadv */
/* How bytes move over shared memory, when the kernel copies none of them, or some. */
#include "../../support/shm_pair.h"

#include "../../support/mock.h"

#include <sys/uio.h>

enum { UNITS = 10, MANY = 60, DATA = 1440, LARGE = 16384, MESSAGE = 5, AS_IT_IS = -1000 };

static struct shm_pair n;
static uint8_t from[UNITS * LARGE], to[UNITS * LARGE];

/* What the calls result in: minus an error number, or a size; AS_IT_IS: what they do. */
static int readv_result, writev_result;
static int writes_before; /* so many writes do what they do, whatever is wanted of the others */
static bool is_forbidden; /* to read another process's memory */

static int result_of(int wanted)
{
    if (wanted >= 0)
        return wanted;
    errno = -wanted;
    return -1;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags)
{
    if (is_forbidden && here->iov_len == PEER_NONCE)
        return result_of(-EPERM);
    ssize_t size = __real_process_vm_readv(pid, here, heres, there, theres, flags);
    return readv_result == AS_IT_IS ? size : result_of(readv_result);
}

ssize_t __real_pwritev(int fd, const struct iovec *piece, int pieces, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *piece, int pieces, off_t at)
{
    bool is_before = writes_before > 0;

    writes_before -= is_before;
    return !is_before && writev_result != AS_IT_IS ? result_of(writev_result)
                                                   : __real_pwritev(fd, piece, pieces, at);
}

ssize_t __real_preadv(int fd, const struct iovec *piece, int pieces, off_t at);
ssize_t __wrap_preadv(int fd, const struct iovec *piece, int pieces, off_t at)
{
    return readv_result != AS_IT_IS ? result_of(readv_result)
                                    : __real_preadv(fd, piece, pieces, at);
}

static void setup(void)
{
    readv_result = writev_result = AS_IT_IS;
    writes_before = 0;
    is_forbidden = false;
    memset(from, 0, sizeof(from));
    assert_true(shm_pair_open(&n));
    assert_true(shm_pair_meet(&n));
    n.receiver->sight &= ~(uint32_t)SIGHT_SLOTS; /* the sender pushes nothing */
}

static void teardown(void)
{
    shm_pair_close(&n);
}

FIXTURE(setup, teardown)

static enum channel_verdict send_units(uint32_t data, uint32_t *sent)
{
    bool held, wakes;

    shm_pair_fill(&n.burst, MESSAGE, from, UNITS, data);
    return shm_send(n.sender, &n.burst, sent, &held, &wakes);
}

static int receive(void)
{
    shm_pair_plan(&n.landing, to, UNITS, 1, LARGE);
    return shm_receive(n.receiver, &n.landing);
}

/* A kernel that forbids the call says nothing of the user's memory: the units take the socket. */
TEST(shm_send__may_not_copy)
{
    static const int errors[] = {EPERM, ENOSYS, ENOMEM, ESRCH};
    uint32_t sent;

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        writev_result = -errors[i];
        assert_int_equal(send_units(DATA, &sent), CHANNEL_BLOCKED);
        assert_int_equal(sent, 0);
    }
    assert_int_equal(receive(), 0);
    writev_result = AS_IT_IS;
    assert_int_equal(send_units(DATA, &sent), CHANNEL_OK);
    assert_int_equal(receive(), 1);
}

/* The first note is on its way, and what is to be the next one cannot be copied: nothing is for the
 * socket, where the first one's units would be sent again. */
TEST(shm_send__may_not_copy_any_more)
{
    bool held, wakes;
    uint32_t sent;

    shm_pair_fill(&n.burst, MESSAGE, from, MANY, DATA);
    writes_before = 1;
    writev_result = -ENOMEM;
    assert_int_equal(shm_send(n.sender, &n.burst, &sent, &held, &wakes), CHANNEL_CROWDED);
    assert_in_range(sent, 1, MANY - 1);
    assert_int_equal(shm_notes(n.receiver, UNITS).units, sent);
    assert_int_equal(send_units(DATA, &sent), CHANNEL_BLOCKED);
    assert_int_equal(sent, 0);
}

/* Small units from memory that stays, into memory that stays: the kernel is not asked to copy. */
TEST(shm_send__needs_no_call_for_memory_that_cannot_fault)
{
    uint32_t sent;

    for (uint32_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 7 + i / 256);
    writev_result = readv_result = -EPERM;
    n.burst.cannot_fault = n.landing.cannot_fault = true;
    assert_int_equal(send_units(DATA, &sent), CHANNEL_OK);
    assert_int_equal(sent, UNITS);
    shm_pair_plan(&n.landing, to, 1, UNITS, DATA);
    assert_int_equal(shm_receive(n.receiver, &n.landing), 1);
    assert_int_equal(n.landing.bytes[0], UNITS * (DATA + TRAILER_BYTES));
    assert_memory_equal(to, from, (size_t)UNITS * DATA);
    n.landing.cannot_fault = false;
    readv_result = -EFAULT;
    assert_int_equal(send_units(DATA, &sent), CHANNEL_OK);
    assert_int_equal(receive(), CHANNEL_FAULT);
}

/* A kernel that forbids the receiver to copy says nothing of its memory either. It has lost what
 * came, and takes the socket. */
TEST(shm_receive__may_not_copy)
{
    static const int errors[] = {EPERM, ENOSYS, ENOMEM};
    uint32_t sent;

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        teardown();
        setup();
        assert_int_equal(send_units(DATA, &sent), CHANNEL_OK);
        readv_result = -errors[i];
        assert_int_equal(receive(), 1);
        assert_int_equal(n.landing.bytes[0], 0);
        assert_true(n.landing.is_spoilt);
        assert_int_equal(receive(), 0);
        assert_int_equal(shm_look(n.receiver), SHM_AWAY);
        assert_int_equal(shm_look(n.sender), SHM_AWAY);
        assert_int_equal(shm_why(n.receiver), SHM_FORBIDDEN);
        assert_int_equal(shm_why(n.sender), SHM_FORBIDDEN);
    }
}

/* What is there to be received: notes, and the units of the largest. */
TEST(shm_notes__counts_what_was_offered)
{
    struct notes notes = shm_notes(n.receiver, UNITS);
    uint32_t sent;

    assert_int_equal(notes.count, 0);
    assert_int_equal(notes.units, 0);
    assert_int_equal(send_units(LARGE, &sent), CHANNEL_OK);
    assert_int_equal(send_units(DATA, &sent), CHANNEL_OK);
    notes = shm_notes(n.receiver, UNITS);
    assert_int_equal(notes.count, UNITS);
    assert_int_equal(notes.units, 1);
    notes = shm_notes(n.receiver, UNITS + 2);
    assert_int_equal(notes.count, UNITS + 1);
    assert_int_equal(notes.units, UNITS);
}

TEST(shm_send__user_memory_is_gone)
{
    static const int results[] = {-EFAULT, 0, 1, UNITS * (DATA + TRAILER_BYTES) - 1};
    uint32_t sent;

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        writev_result = results[i];
        assert_int_equal(send_units(DATA, &sent), CHANNEL_FAULT);
        assert_int_equal(sent, 0);
    }
    assert_int_equal(receive(), 0);
}

/* Units that were copied come joined, as many as a note has room for. */
static uint32_t receive_joined(void)
{
    enum { JOINED = 3 };
    uint32_t units = 0;

    for (;;) {
        shm_pair_plan(&n.landing, to, UNITS / JOINED, JOINED, LARGE);
        int received = shm_receive(n.receiver, &n.landing);
        if (received == 0)
            return units;
        for (int i = 0; i < received; i++) {
            uint32_t joined = n.landing.bytes[i] / (LARGE + TRAILER_BYTES);
            assert_in_range(joined, 1, JOINED);
            assert_memory_equal(to + (size_t)i * JOINED * LARGE, from, (size_t)joined * LARGE);
            units += joined;
        }
    }
}

/* Where the sender's memory cannot be read, its arena can. Units that lie elsewhere are
 * copied there, as long as there is room. */
TEST(shm_send__may_read_arena_only)
{
    uint32_t sent, units = 0;
    struct released released;

    teardown();
    is_forbidden = true;
    assert_true(shm_pair_open(&n));
    n.arena[0] = shared_arena_create(2 * SHM_STAGING);
    assert_true(shm_pair_meet(&n));
    assert_int_equal(send_units(LARGE, &sent), CHANNEL_OK);
    assert_int_equal(sent, UNITS);
    assert_int_equal(receive_joined(), UNITS);
    assert_false(shm_reap(n.sender, &released)); /* none is held */
    while (send_units(LARGE, &sent) == CHANNEL_OK)
        units += sent;
    units += sent;
    assert_in_range(units, SHM_STAGING / (LARGE + TRAILER_BYTES) - 3,
                    SHM_STAGING / (LARGE + TRAILER_BYTES));
    assert_int_equal(receive_joined(), units);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
}

/* Notes that cannot be read any more. */
static void expect_passed(int notes)
{
    for (int i = 0; i < notes; i++) {
        assert_int_equal(receive(), 1);
        assert_int_equal(n.landing.bytes[0], 0);
        assert_true(n.landing.is_spoilt);
        assert_int_equal(shm_look(n.receiver), SHM_HERE);
    }
}

/* Whatever the reason, a sender that is still there is told, and takes back what is not read. */
TEST(shm_receive__may_not_read_any_more)
{
    static const int results[] = {-EPERM, -ENOSYS, -ESRCH, -EFAULT, 0, PEER_NONCE - 1};
    struct released released;
    uint32_t sent;

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        readv_result = AS_IT_IS;
        teardown();
        setup();
        assert_int_equal(send_units(LARGE, &sent), CHANNEL_OK);
        readv_result = results[i];
        expect_passed(1);
        assert_int_equal(shm_look(n.sender), SHM_AWAY);
        assert_int_equal(shm_why(n.sender), SHM_FORBIDDEN);
        for (int taken = 0; taken < UNITS; taken++) {
            assert_true(shm_take_back(n.sender, SHM_ANY, &released));
            assert_int_equal(released.message, MESSAGE);
        }
        assert_int_equal(receive(), 0);
        assert_int_equal(shm_look(n.receiver), SHM_AWAY);
    }
}

/* A call that is not allowed is a reason. A sender that is not found may have ended. */
TEST(shm_receive__why_it_may_not_read_any_more)
{
    static const struct {
        int result;
        enum shm_refusal why;
    } row[] = {
        {-EPERM, SHM_FORBIDDEN}, {-ENOSYS, SHM_FORBIDDEN}, {-EACCES, SHM_FORBIDDEN},
        {-ESRCH, SHM_FINE},      {-EFAULT, SHM_FINE},      {PEER_NONCE - 1, SHM_FINE},
    };
    uint32_t sent;

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        readv_result = AS_IT_IS;
        teardown();
        setup();
        assert_int_equal(send_units(LARGE, &sent), CHANNEL_OK);
        readv_result = row[i].result;
        expect_passed(1);
        assert_int_equal(shm_why(n.receiver), row[i].why);
    }
}

static void expect_small_units(void)
{
    memset(to, 0xFF, sizeof(to));
    shm_pair_plan(&n.landing, to, 2, UNITS, DATA);
    assert_int_equal(shm_receive(n.receiver, &n.landing), 1);
    assert_int_equal(n.landing.bytes[0], UNITS * (DATA + TRAILER_BYTES));
    assert_memory_equal(to, from, (size_t)UNITS * DATA);
}

/* The first note, and the last, lie in memory that both map, and arrive. Those between do not. */
TEST(shm_receive__what_both_map_of_a_lost_sender)
{
    uint32_t sent;

    n.landing.cannot_fault = true;
    assert_int_equal(send_units(DATA, &sent), CHANNEL_OK);
    assert_int_equal(send_units(LARGE, &sent), CHANNEL_OK);
    assert_int_equal(send_units(DATA, &sent), CHANNEL_OK);
    readv_result = -ESRCH;
    expect_small_units();
    assert_true(n.landing.is_spoilt);
    expect_passed(UNITS);
    expect_small_units();
    assert_int_equal(receive(), 0);
    assert_int_equal(shm_look(n.receiver), SHM_AWAY);
}

/* Only units that were copied whole arrive. */
TEST(shm_receive__some_of_it)
{
    enum { UNIT = LARGE }; /* the trailers lie in memory that both map */
    static const struct {
        int result, received;
    } row[] = {
        {PEER_NONCE + UNIT, 1},
        {PEER_NONCE + 2 * UNIT - 1, 1},
        {PEER_NONCE + 2 * UNIT, 2},
        {PEER_NONCE + UNITS * UNIT - 1, UNITS - 1},
        {PEER_NONCE + UNITS * UNIT, UNITS},
    };
    uint32_t sent;

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        readv_result = AS_IT_IS;
        teardown();
        setup();
        assert_int_equal(send_units(LARGE, &sent), CHANNEL_OK);
        readv_result = row[i].result;
        assert_int_equal(receive(), row[i].received);
        assert_int_equal(n.landing.received, row[i].received);
        assert_int_equal(n.landing.is_spoilt, row[i].received < UNITS);
    }
}

/* Neither this side's memory nor the next unit of the sender's can be accessed, it seems. */
TEST(shm_receive__nothing_but_the_nonce)
{
    struct released released;
    uint32_t sent;

    assert_int_equal(send_units(LARGE, &sent), CHANNEL_OK);
    readv_result = PEER_NONCE;
    assert_int_equal(receive(), 1);
    assert_int_equal(n.landing.bytes[0], 0);
    assert_true(shm_reap(n.sender, &released));
    assert_int_equal(released.message, MESSAGE);
    assert_true(released.has_faulted);
}
