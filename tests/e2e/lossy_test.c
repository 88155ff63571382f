/* Through a network that loses, doubles, reorders and delays: every message comes whole. */
#include "../support/wire.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

LOAD(asleep)

#define MILLISECONDS(n) ((int64_t)(n)*1000000)

static const struct zcrp_options options = {.unit_bytes = 1472, .linger_ns = 2 * ENDS_SECOND};

static const struct relay_faults networks[] = {
    {.lost = 10},
    {.lost = 100},
    {.lost = 250},
    {.late = 200, .late_ns = MILLISECONDS(2)},
    {.doubled = 500},
    {.delay_ns = MILLISECONDS(5)},
    {.lost = 50, .doubled = 50, .late = 100, .late_ns = MILLISECONDS(3), .delay_ns = 300000},
};
enum { NETWORKS = sizeof(networks) / sizeof(networks[0]), MESSAGES = 60 };

TEST(lossy__messages, .rows = NETWORKS)
{
    static struct wire w;
    struct zcrp_msg *in[MESSAGES], *out[MESSAGES];

    wire_open(&w, &networks[_i], &options);
    for (unsigned i = 0; i < MESSAGES; i++) {
        nlong size = i % 7 == 0 ? i : i * 997 % 40000;
        in[i] = ends_empty(40000);
        out[i] = ends_filled(size, i);
        ends_submit(&w.ends, in[i], out[i], size);
    }
    for (unsigned i = 0; i < MESSAGES; i++)
        ends_finish(in[i], out[i], out[i]->message_size, i);
    wire_close(&w);
}

/* Units as large as loopback's. A message's memory is overwritten as soon as it has ended. */
TEST(lossy__large, .rows = NETWORKS)
{
    static struct wire w;
    const struct zcrp_options large = {.linger_ns = 2 * ENDS_SECOND};
    struct zcrp_msg *in[10], *out[10];
    struct zcrp_stats stats, received;
    uint64_t bytes = 0;

    wire_open(&w, &networks[_i], &large);
    for (unsigned i = 0; i < 10; i++) {
        nlong size = 500000 + i * 10007;
        bytes += size;
        in[i] = ends_empty(size);
        out[i] = ends_filled(size, i);
        ends_submit(&w.ends, in[i], out[i], size);
    }
    for (unsigned i = 0; i < 10; i++) {
        ck_assert_int_eq(ends_wait(out[i]), ZCRP_OK);
        memset(out[i]->buffer, 0xDD, out[i]->length);
        ends_finish(in[i], out[i], out[i]->message_size, i);
    }
    ck_assert_int_eq(zcrp_stats(w.ends.sender, &stats), 0);
    ck_assert_int_eq(zcrp_stats(w.ends.receiver, &received), 0);
    ck_assert_uint_eq(stats.bytes_arrived, bytes);
    ck_assert_uint_eq(received.bytes_arrived, bytes);
    wire_close(&w);
}

/* Nothing passes for a while, and then it goes on. */
TEST(lossy__interrupted)
{
    static struct wire w;
    const struct relay_faults none = {0};
    const nlong size = 4 << 20;
    struct zcrp_msg *out = ends_filled(size, 5);
    struct zcrp_msg *in = ends_empty(size);

    wire_open(&w, &none, &options);
    atomic_store(&w.relay.is_cut, true);
    ends_submit(&w.ends, in, out, size);
    ck_assert_int_eq(zcrp_wait_for(in, MILLISECONDS(300)), ZCRP_ERROR_TIMEOUT);
    atomic_store(&w.relay.is_cut, false);
    ends_finish(in, out, size, 5);
    wire_close(&w);
}

/* Sends one message through and returns the sender's statistics after it. */
static struct zcrp_stats send_one(const struct wire *w, nlong size, uint64_t seed)
{
    struct zcrp_stats stats;

    ends_move(&w->ends, size, seed);
    ck_assert_int_eq(zcrp_stats(w->ends.sender, &stats), 0);
    return stats;
}

/* Without a hole nothing asks for one, unless a machine that is too busy makes it look so: the
 * sender has waited in vain twice. */
static void expect_no_hole(const struct zcrp_stats *stats)
{
    ck_assert(stats->path_probes == 0 || stats->probes >= 2);
}

/* The path swallows large datagrams without a word, from the beginning or from now on. */
TEST(lossy__black_hole, .rows = 8)
{
    static struct wire w;
    const uint32_t mtus[] = {40000, 8972, 1472, 1252};
    const struct relay_faults none = {0};
    const struct zcrp_options large = {.linger_ns = 2 * ENDS_SECOND};
    struct zcrp_stats stats;

    if (loopback_is_lossy())
        return; /* what a cell's loss costs looks like a hole */
    wire_open(&w, &none, &large);
    ck_assert_int_eq(zcrp_stats(w.ends.sender, &stats), 0);
    bool is_hole = stats.path_bytes > mtus[_i / 2]; /* over AAL5 units are smaller */
    if (_i % 2 == 0) {
        stats = send_one(&w, 1 << 20, 1);
        expect_no_hole(&stats);
    }
    atomic_store(&w.relay.mtu, mtus[_i / 2]);
    /* Four messages are enough; where the machine is busy, and more seems to be wrong, some more.
     */
    for (uint64_t seed = 2; seed < 6 || (seed < 20 && stats.unit_bytes > mtus[_i / 2]); seed++)
        stats = send_one(&w, 1 << 20, seed);
    /* Over AAL5 loss alone halves units, and twice the size is tried now and then. */
    ck_assert_uint_le(stats.unit_bytes, mtus[_i / 2] * (loopback_is_aal5() ? 2 : 1));
    if (is_hole)
        ck_assert_uint_gt(stats.path_probes, 0);
    else
        expect_no_hole(&stats);
    wire_close(&w);
}

static int ecn_of(int fd)
{
    int type_of_service;
    socklen_t size = sizeof(type_of_service);

    ck_assert_int_eq(getsockopt(fd, IPPROTO_IP, IP_TOS, &type_of_service, &size), 0);
    return type_of_service & IPTOS_ECN_MASK;
}

/* Each unit is marked on the way: the sender hears of it, and slows down. Who does not look, does
 * not. */
TEST(lossy__marked, .rows = 2)
{
    static struct wire w;
    const struct relay_faults none = {0};
    const int congested = IPTOS_ECN_CE;
    struct zcrp_options o = options;
    struct zcrp_stats stats, received;

    if (loopback_is_aal5())
        return; /* which has marks of its own */
    o.flags = _i == 0 ? 0 : ZCRP_NO_ECN;
    wire_open(&w, &none, &o);
    ck_assert_int_eq(setsockopt(w.relay.far, IPPROTO_IP, IP_TOS, &congested, sizeof(congested)), 0);
    stats = send_one(&w, 1 << 20, 1);
    ck_assert_int_eq(zcrp_stats(w.ends.receiver, &received), 0);
    ck_assert_int_eq(stats.units_marked > 0, _i == 0);
    ck_assert_int_eq(received.units_marked >= stats.units_marked, 1);
    ck_assert_int_eq(received.units_marked > 0, _i == 0);
    ck_assert_int_eq(ecn_of(w.ends.sockets.sender[1]), _i == 0 ? IPTOS_ECN_ECT0 : 0);
    wire_close(&w);
}

/* The relay's socket does not pass the field on. */
TEST(lossy__ecn_erased)
{
    static struct wire w;
    const struct relay_faults none = {0};

    if (loopback_is_aal5())
        return;
    wire_open(&w, &none, &options);
    ck_assert_int_eq(ecn_of(w.ends.sockets.sender[1]), IPTOS_ECN_ECT0);
    (void)send_one(&w, 1 << 20, 1);
    ck_assert_int_eq(ecn_of(w.ends.sockets.sender[1]), 0);
    wire_close(&w);
}

/* ---- a real file, between two processes ---- */

enum { PIECE = 1 << 20, PIECES_AHEAD = 4 };

/* This program itself, some of the system's files, and their like: a few tens of megabytes, less
 * where cells are lost on top, or as many bytes as ZCRP_FILE_BYTES says. */
static void make_file(char *path)
{
    const char *bytes = getenv("ZCRP_FILE_BYTES");
    const long usual = loopback_is_lossy() ? 6000011 : 24000011;
    char command[400];
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    snprintf(command, sizeof(command),
             "cat /proc/%d/exe /usr/bin/* /usr/lib/*/*.so* 2>/dev/null | head -c %ld > %s",
             (int)getpid(), bytes != NULL ? atol(bytes) : usual, path);
    ck_assert_int_eq(system(command), 0);
}

static nbyte *map(const char *path, size_t *size, bool is_writable)
{
    int fd = open(path, is_writable ? O_RDWR : O_RDONLY);

    ck_assert_int_ge(fd, 0);
    if (is_writable)
        ck_assert_int_eq(ftruncate(fd, (off_t)*size), 0);
    *size = (size_t)lseek(fd, 0, SEEK_END);
    nbyte *bytes = mmap(NULL, *size, is_writable ? PROT_READ | PROT_WRITE : PROT_READ,
                        is_writable ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    close(fd);
    return bytes;
}

/* Moves the mapped file piece by piece, a few of them under way at a time. */
static int move_file(struct zcrp_entity *e, nbyte *bytes, size_t size)
{
    struct zcrp_msg *piece[PIECES_AHEAD] = {NULL};
    int code = 0;

    for (size_t at = 0, i = 0; at < size + PIECES_AHEAD * PIECE && code == 0; at += PIECE, i++) {
        struct zcrp_msg **m = &piece[i % PIECES_AHEAD];
        nlong length = at < size ? size - at < PIECE ? size - at : PIECE : 0;
        code = *m ? ends_wait(*m) : 0;
        zcrp_free_msg(*m);
        *m = code == 0 && length > 0 ? zcrp_wrap_msg(bytes + at, length) : NULL;
        if (*m && code == 0)
            code = zcrp_submit(e, *m, length);
    }
    return code;
}

static int receive_file(const struct relay *r, const char *path, size_t size)
{
    struct zcrp_entity *e;
    nbyte *bytes = map(path, &size, true);
    int code = zcrp_open_receiver(&e, r->ends.receiver, &options);

    if (code == 0)
        code = move_file(e, bytes, size);
    if (code == 0)
        (void)zcrp_close(e);
    return code;
}

TEST(lossy__file)
{
    static struct relay relay;
    const struct relay_faults faults = {
        .lost = 10, .doubled = 5, .late = 10, .late_ns = MILLISECONDS(1)};
    char from[] = "/tmp/zcrp-file-XXXXXX";
    char to[] = "/tmp/zcrp-copy-XXXXXX";
    size_t size;
    int status;
    struct zcrp_entity *e;

    make_file(from);
    ck_assert_int_ge(mkstemp(to), 0);
    nbyte *bytes = map(from, &size, false);
    relay_open(&relay, &faults, 7);
    pid_t child = fork();
    if (child == 0)
        _exit(-receive_file(&relay, to, size));
    relay_run(&relay);
    ck_assert_int_eq(zcrp_open_sender(&e, relay.ends.sender, &options), 0);
    int code = move_file(e, bytes, size);
    (void)zcrp_close(e);
    waitpid(child, &status, 0);
    relay_close(&relay);
    size_t copied;
    nbyte *copy = map(to, &copied, false);
    unlink(from);
    unlink(to);
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(copied, size);
    ck_assert(memcmp(copy, bytes, size) == 0);
}
