/* Peers on one host: what goes from memory to memory, what forbids it, and peers that die. The
 * other suites of the API run this way, too (tools/run-tests). */
#include "../../support/house.h"
#include "../../support/suite.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

LOAD(asleep)

enum { MANY = 40, CROWD = 400 };

static const nlong small_sizes[] = {64, 1000, 2000, 4000};

static const struct zcrp_options off = {.flags = ZCRP_NO_MEMORY};
static const struct zcrp_options required = {.channel = ZCRP_CHANNEL_MEMORY};
static const struct zcrp_options impatient = {.flags = ZCRP_ALLOW_PTRACE, /* to a child */
                                              .silence_ns = 300 * ENDS_MILLISECOND,
                                              .linger_ns = 300 * ENDS_MILLISECOND};

/* The environment of the suites says no. */
static void setup(void)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
}

FIXTURE(setup, NULL)

/* Messages until both have met; then `size` bytes go from memory to memory. */
static void meet(const struct ends *e)
{
    for (uint64_t i = 0; i < MANY && ends_stats(e->receiver).bytes_copied_once == 0; i++)
        ends_move(e, 100000, i);
    ck_assert_uint_gt(ends_stats(e->receiver).bytes_copied_once, 0);
}

/* What went by memory of messages of all sizes, and lies where it belongs, once. A process that
 * stands still for long has some of it sent through the socket. */
static bool goes_once(const struct ends *e)
{
    const nlong sizes[] = {0, 1, 4000, 5000, 65536, 1 << 20, 10000001};
    struct zcrp_stats before = ends_stats(e->receiver);
    uint64_t whole = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ends_move(e, sizes[i], i);
        whole += sizes[i];
    }
    struct zcrp_stats after = ends_stats(e->receiver);
    return after.bytes_copied_once - before.bytes_copied_once >= whole - whole / 100 &&
           after.units_moved == before.units_moved;
}

TEST(memory__one_copy)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    bool once = false;

    meet(&e);
    for (int i = 0; i < 10 && !once; i++)
        once = goes_once(&e);
    ck_assert(once);
    ck_assert_uint_eq(ends_stats(e.sender).memory_refused, ZCRP_MEMORY_FINE);
    ends_close(&e);
}

static void keep_copied(void *context, int64_t time_ns, const struct zcrp_stats *stats)
{
    (void)time_ns;
    atomic_store((_Atomic uint64_t *)context, stats->bytes_copied_once);
}

TEST(memory__a_trace_is_shown_what_was_copied)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    _Atomic uint64_t copied = 0;
    const struct zcrp_options traced = {.trace = keep_copied, .trace_context = &copied};
    struct ends e = ends_open_at(&sockets, NULL, &traced);

    meet(&e);
    ck_assert_uint_eq(atomic_load(&copied), ends_stats(e.receiver).bytes_copied_once);
    ends_close(&e);
}

/* Either end can refuse, and UDP goes on. */
TEST(memory__is_off, .rows = 2)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = ends_open_at(&sockets, _i == 0 ? &off : NULL, _i == 0 ? NULL : &off);

    for (uint64_t i = 0; i < MANY; i++)
        ends_move(&e, 100000, i);
    ck_assert_uint_eq(ends_stats(e.receiver).bytes_copied_once, 0);
    if (_i == 1)
        ck_assert_uint_eq(ends_stats(e.sender).memory_refused, ZCRP_MEMORY_ELSEWHERE);
    ends_close(&e);
}

/* Who requires it gets no other. */
TEST(memory__is_required)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = ends_open_at(&sockets, &required, &off);
    struct zcrp_msg *in = ends_empty(10), *out = ends_filled(10, 0);

    ends_submit(&e, in, out, 10);
    ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_APART);
    (void)zcrp_cancel(in); /* unless it has failed with the session */
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    (void)zcrp_close(e.sender);
    (void)zcrp_close(e.receiver);
    loopback_close(&sockets);
}

/* A listener may require it of all its connections: what it sends to a caller without memory fails,
 * and what it sends to another one goes from memory to memory. */
TEST(memory__is_required_by_a_listener, .rows = 2)
{
    struct house h = house_open("127.0.0.1", &required);
    struct both b = house_meet(&h, _i == 0 ? &off : NULL);

    if (_i == 0) {
        struct zcrp_msg *in = ends_empty(10), *out = ends_filled(10, 0);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(b.there), in, 10), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.here), out, 10), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_APART);
        (void)zcrp_cancel(in); /* unless it has failed with the session */
        zcrp_free_msg(in);
        zcrp_free_msg(out);
    } else {
        for (uint64_t i = 0; i < MANY; i++)
            house_pass(b.here, b.there, 100000, i);
        ck_assert_uint_ge(ends_stats(zcrp_connection_receiver(b.there)).bytes_copied_once,
                          MANY * 100000);
    }
    house_part(&b);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* Many at once, of every size up to that which is copied by itself: no burst is too much. */
TEST(memory__is_required_and_has_room, .rows = ROWS(small_sizes))
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct ends e = ends_open_at(&sockets, &required, &required);
    struct zcrp_msg *in[CROWD], *out[CROWD];

    for (uint64_t i = 0; i < CROWD; i++) {
        in[i] = ends_empty(small_sizes[_i]);
        out[i] = ends_filled(small_sizes[_i], i);
        ck_assert_int_eq(zcrp_submit(e.receiver, in[i], small_sizes[_i]), ZCRP_OK);
    }
    for (int i = 0; i < CROWD; i++)
        ck_assert_int_eq(zcrp_submit(e.sender, out[i], small_sizes[_i]), ZCRP_OK);
    for (int i = 0; i < CROWD; i++) {
        ck_assert_int_eq(ends_wait(in[i]), ZCRP_OK);
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        ck_assert_mem_eq(in[i]->buffer, out[i]->buffer, small_sizes[_i]);
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    ends_close(&e);
}

TEST(memory__is_required_and_off)
{
    const struct zcrp_options both = {.channel = ZCRP_CHANNEL_MEMORY, .flags = ZCRP_NO_MEMORY};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *e;

    ck_assert_int_eq(zcrp_open_sender(&e, sockets.sender, &both), ZCRP_ERROR_APART);
    ck_assert_ptr_null(e);
    loopback_close(&sockets);
}

/* A message that was taken back ends at once, also beside a receiver that reads nothing, and its
 * memory may change. A sender that waited for the receiver would wait until the silence limit. */
TEST(memory__taken_back_beside_a_stopped_receiver)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t child = ends_start_peer(&sockets, false, -1, NULL);
    const struct zcrp_options bears_silence = {.flags = ZCRP_ALLOW_PTRACE,
                                               .linger_ns = impatient.linger_ns};
    struct zcrp_msg *m = ends_filled(ENDS_PEER_BYTES, 0);
    struct zcrp_entity *e;

    ck_assert_int_eq(zcrp_open_sender(&e, sockets.sender, &bears_silence), 0);
    memset(m->buffer, 0x55, ENDS_PEER_BYTES);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(zcrp_submit(e, m, ENDS_PEER_BYTES), 0);
        ck_assert_int_eq(ends_wait(m), ZCRP_OK);
    }
    ck_assert_uint_gt(ends_stats(e).bytes_copied_once, 0);
    ck_assert_int_eq(kill(child, SIGSTOP), 0);
    for (int i = 0; i < 3; i++) {
        int64_t began = clock_now_ns();
        ck_assert_int_eq(zcrp_submit(e, m, ENDS_PEER_BYTES), 0);
        usleep(5000);
        (void)zcrp_cancel(m);
        ck_assert_int_ne(zcrp_error(m), ZCRP_ERROR_BUSY);
        ck_assert_int_lt(clock_now_ns() - began, 10 * ENDS_SECOND);
    }
    (void)zcrp_close(e);
    ends_kill_peer(child);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* A peer that sends one large message after the other, as fast as it can: a wait is over at its
 * limit, though there is always more to copy. A wait that had no limit would see all of it pass.
 * How much passes does not depend on how often this process gets a processor. */
TEST(memory__wait_keeps_its_limit)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    static uint8_t memory[32 << 20];
    struct zcrp_msg *m[200];
    const uint64_t half = ROWS(m) / 2 * sizeof(memory);
    struct zcrp_entity *e;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    prctl(PR_SET_PDEATHSIG, child == 0 ? SIGKILL : 0);
    for (int i = 0; i < ROWS(m); i++)
        m[i] = zcrp_wrap_msg(memory, sizeof(memory));
    ck_assert_int_eq(ends_open_role(&e, &sockets, child == 0, NULL), 0);
    for (int i = 0; i < ROWS(m); i++)
        ck_assert_int_eq(zcrp_submit(e, m[i], sizeof(memory)), 0);
    if (child == 0) {
        int code = ZCRP_ERROR_TIMEOUT;
        while (code == ZCRP_ERROR_TIMEOUT) /* beside other work 6 GB take long */
            code = ends_wait(m[ROWS(m) - 1]);
        _exit(code != ZCRP_OK || zcrp_close(e) != 0);
    }
    for (int code = ZCRP_ERROR_TIMEOUT; code == ZCRP_ERROR_TIMEOUT;) {
        usleep(2000); /* whoever stays away leaves the socket to the library */
        uint64_t before = ends_stats(e).bytes_copied_once;
        code = zcrp_wait_for(m[ROWS(m) - 1], ENDS_MILLISECOND);
        ck_assert_uint_lt(ends_stats(e).bytes_copied_once - before, half);
        ck_assert(code == ZCRP_ERROR_TIMEOUT || code == ZCRP_OK);
    }
    ck_assert_uint_gt(ends_stats(e).bytes_copied_once, 0);
    ck_assert_int_eq(zcrp_close(e), 0);
    for (int i = 0; i < ROWS(m); i++)
        zcrp_free_msg(m[i]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    loopback_close(&sockets);
}

/* A peer that is killed at any moment: what is under way ends in time, and nothing is written into
 * a message that has ended. */
TEST(memory__peer_is_killed, .rows = 20)
{
    bool is_sender = _i % 2 == 0;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t child = ends_start_peer(&sockets, !is_sender, -1, &impatient);
    struct zcrp_msg *m[4];
    struct zcrp_entity *e;
    int64_t kill_at;
    bool is_dead = false;

    ck_assert_int_eq(ends_open_role(&e, &sockets, is_sender, &impatient), 0);
    for (int i = 0; i < 4; i++) {
        m[i] = ends_filled(ENDS_PEER_BYTES, 0);
        memset(m[i]->buffer, 0x55, ENDS_PEER_BYTES);
        ck_assert_int_eq(zcrp_submit(e, m[i], ENDS_PEER_BYTES), 0);
    }
    ck_assert_int_eq(ends_wait(m[0]), ZCRP_OK);
    kill_at = clock_now_ns() + 3 * ENDS_MILLISECOND + _i * ENDS_MILLISECOND / 7;
    for (int code = ZCRP_OK, i = 0; code == ZCRP_OK; i = (i + 1) % 4) {
        if (!is_dead && clock_now_ns() > kill_at) {
            ends_kill_peer(child);
            is_dead = true;
        }
        code = ends_wait(m[i]);
        ck_assert_int_ne(code, ZCRP_ERROR_TIMEOUT);
        if (code != ZCRP_OK)
            break;
        ck_assert(pattern_is_even(m[i]->buffer, ENDS_PEER_BYTES, 0x55));
        ck_assert_int_eq(zcrp_submit(e, m[i], ENDS_PEER_BYTES), 0);
    }
    (void)zcrp_close(e);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_ne(zcrp_error(m[i]), ZCRP_ERROR_BUSY);
        zcrp_free_msg(m[i]);
    }
    if (!is_dead)
        ends_kill_peer(child);
    loopback_close(&sockets);
}

/* A peer whose process has ended is not waited for until it is silent, which takes 30 s. */
TEST(memory__peer_dies, .rows = 2)
{
    const struct zcrp_options readable = {.flags = ZCRP_ALLOW_PTRACE};
    bool is_sender = _i == 0;
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t child = ends_start_peer(&sockets, !is_sender, -1, &readable);
    struct zcrp_msg *m = ends_filled(ENDS_PEER_BYTES, 0);
    struct zcrp_entity *e;
    int code = ZCRP_OK;

    ck_assert_int_eq(ends_open_role(&e, &sockets, is_sender, &readable), 0);
    for (int i = 0; i < MANY || ends_stats(e).bytes_copied_once == 0; i++) {
        ck_assert_int_lt(i, CROWD);
        ck_assert_int_eq(zcrp_submit(e, m, ENDS_PEER_BYTES), 0);
        ck_assert_int_eq(ends_wait(m), ZCRP_OK);
    }
    ends_kill_peer(child);
    int64_t began = clock_now_ns();
    while (code == ZCRP_OK) { /* some may look alive for a moment */
        ck_assert_int_eq(zcrp_submit(e, m, ENDS_PEER_BYTES), 0);
        code = ends_wait(m);
    }
    ck_assert_int_eq(code, ZCRP_ERROR_DIED);
    ck_assert_int_eq(zcrp_close(e), ZCRP_ERROR_TIMEOUT); /* nobody has confirmed */
    ck_assert_int_lt(clock_now_ns() - began, 20 * ENDS_SECOND);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* Its memory goes before its process does: a receiver that reads there at that moment learns that
 * the process has ended, too. */
TEST(memory__peer_dies_while_it_is_read, .rows = 8)
{
    const struct zcrp_options readable = {.flags = ZCRP_ALLOW_PTRACE};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    pid_t child = ends_start_peer(&sockets, true, -1, &readable);
    struct zcrp_msg *m = ends_filled(ENDS_PEER_BYTES, 0);
    struct zcrp_entity *e;
    int code = ZCRP_OK;

    ck_assert_int_eq(ends_open_role(&e, &sockets, false, &readable), 0);
    for (int i = 0; i < MANY || ends_stats(e).bytes_copied_once == 0; i++) {
        ck_assert_int_lt(i, CROWD);
        ck_assert_int_eq(zcrp_submit(e, m, ENDS_PEER_BYTES), 0);
        ck_assert_int_eq(ends_wait(m), ZCRP_OK);
    }
    pid_t killer = fork();
    ck_assert_int_ge(killer, 0);
    if (killer == 0) {
        usleep(3000 + 300 * (useconds_t)_i);
        _exit(kill(child, SIGKILL) != 0);
    }
    while (code == ZCRP_OK) {
        ck_assert_int_eq(zcrp_submit(e, m, ENDS_PEER_BYTES), 0);
        code = ends_wait(m);
    }
    ck_assert_int_eq(code, ZCRP_ERROR_DIED);
    (void)zcrp_close(e);
    ck_assert_int_eq(waitpid(killer, NULL, 0), killer);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

/* The sender's memory is gone: both ends learn it. */
TEST(memory__sender_has_a_hole)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    const nlong size = 1 << 20;
    uint8_t *hole = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct zcrp_msg *in = ends_empty(size), *out = zcrp_wrap_msg(hole, size);

    meet(&e);
    ends_submit(&e, in, out, size);
    ck_assert_int_eq(ends_wait(out), ZCRP_ERROR_FAULT);
    ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_FAULT);
    ends_move(&e, size, 7);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ck_assert_int_eq(munmap(hole, size), 0);
    ends_close(&e);
}

/* Small messages lie in memory of the library's, and one in memory that is gone. All are posted
 * before any is sent. True if each ended as it should. */
static bool move_around_hole(bool is_sender)
{
    enum { SMALL = 64, COUNT = 5, BAD = 2 };
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    uint8_t *hole = mmap(NULL, SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct zcrp_msg *bad = zcrp_wrap_msg(hole, SMALL), *in[COUNT], *out[COUNT];
    bool is_right = true;

    meet(&e);
    for (unsigned i = 0; i < COUNT; i++) {
        in[i] = i == BAD && !is_sender ? bad : ends_empty(SMALL);
        out[i] = i == BAD && is_sender ? bad : ends_filled(SMALL, i);
        is_right &= zcrp_submit(e.receiver, in[i], SMALL) == 0;
    }
    for (unsigned i = 0; i < COUNT; i++)
        is_right &= zcrp_submit(e.sender, out[i], SMALL) == 0;
    for (unsigned i = 0; i < COUNT; i++) {
        is_right &= ends_wait(in[i]) == (i == BAD ? ZCRP_ERROR_FAULT : ZCRP_OK);
        is_right &= (ends_wait(out[i]) == ZCRP_OK) == (i != BAD);
        is_right &= i == BAD || pattern_holds(in[i]->buffer, SMALL, i);
    }
    ends_move(&e, SMALL, 7);
    for (unsigned i = 0; i < COUNT; i++) {
        zcrp_free_msg(in[i]);
        zcrp_free_msg(out[i]);
    }
    is_right &= munmap(hole, SMALL) == 0;
    ends_close(&e);
    return is_right;
}

/* A unit that lands elsewhere is moved by the receiving process, and its program's signal tells of
 * the hole then (zcrp_wrap_msg). That happens now and then, on a busy machine. */
TEST(memory__one_small_message_has_a_hole, .rows = 2)
{
    enum { TRIES = 20 };
    int status = SIGSEGV;

    for (int i = 0; i < TRIES && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            (void)signal(SIGSEGV, SIG_DFL); /* no sanitizer's */
            _exit(move_around_hole(_i == 0) ? 0 : 1);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
    }
    ck_assert_msg(status == 0, "status %#x", (unsigned)status);
}

/* The receiver's is. */
TEST(memory__receiver_has_a_hole)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    const nlong size = 1 << 20;
    uint8_t *hole = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct zcrp_msg *in = zcrp_wrap_msg(hole, size), *out = ends_filled(size, 3);

    meet(&e);
    ends_submit(&e, in, out, size);
    ck_assert_int_eq(ends_wait(in), ZCRP_ERROR_FAULT);
    ck_assert_int_ne(ends_wait(out), ZCRP_OK);
    ends_move(&e, size, 7);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    ck_assert_int_eq(munmap(hole, size), 0);
    ends_close(&e);
}

/* The receiver's file has become shorter than the buffer, and the message ends before the hole. A
 * landing that was planned beyond that stops there, and what may lie behind the message's end is
 * cleared as far as there is memory. */
TEST(memory__receiver_has_a_hole_behind_the_end)
{
    enum { SIZE = 1 << 20, LEFT = 160 << 10, SENT = 100 << 10, ROUNDS = 4 };
    int file = memfd_create("shorter", MFD_CLOEXEC);
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);

    ck_assert_int_eq(ftruncate(file, SIZE), 0);
    uint8_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(ftruncate(file, LEFT), 0);
    meet(&e);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct zcrp_msg *in[] = {zcrp_wrap_msg(memory, SIZE), ends_empty(SIZE)};
        struct zcrp_msg *out[] = {ends_filled(SENT, i), ends_filled(SENT, i + 1)};
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(zcrp_submit(e.receiver, in[k], SIZE), 0);
        usleep(20000); /* so that both are planned */
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(zcrp_submit(e.sender, out[k], SENT), 0);
        for (uint64_t k = 0; k < 2; k++)
            ends_finish(in[k], out[k], SENT, i + k);
    }
    ck_assert_int_eq(munmap(memory, SIZE), 0);
    (void)close(file);
    ends_close(&e);
}
