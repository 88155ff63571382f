/* Floods over real sockets: what one end has said once, the other is told twenty thousand times
 * more. It must answer by little, and repeat nothing for it; and the next message comes whole. */
#include "../support/ends.h"

#include "core/wire/control.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

LOAD(asleep)

enum { COPIES = 20000, AT_ONCE = 100, SIZE = 300000, UNIT = 1472, TYPES = 16, MANY = 32 };
enum { NEEDED = SIZE / (UNIT - TRAILER_BYTES) + 1 }; /* units of a message */

/* What crossed one end's channel, by the type of datagram. */
struct crossed {
    uint64_t in[TYPES], out[TYPES], bytes_out;
    uint8_t last[TYPES][UNIT]; /* that this end sent */
    uint32_t last_bytes[TYPES];
};

/* Of one end, whose threads see it. */
struct shown {
    pthread_mutex_t mutex;
    struct crossed crossed;
};

struct flood {
    struct ends ends;
    struct shown sender, receiver;
};

static uint32_t copy(uint8_t *to, const struct zcrp_crossing *crossing)
{
    uint32_t bytes = 0;

    ck_assert_uint_le(crossing->bytes, UNIT);
    for (uint32_t i = 0; i < crossing->piece_count; i++) {
        memcpy(to + bytes, crossing->pieces[i].iov_base, crossing->pieces[i].iov_len);
        bytes += (uint32_t)crossing->pieces[i].iov_len;
    }
    return bytes;
}

/* A request without runs is nobody's to answer, and not kept. */
static void see(void *context, const struct zcrp_crossing *crossing)
{
    struct shown *shown = context;
    struct crossed *c = &shown->crossed;
    uint8_t datagram[UNIT];
    uint32_t bytes = copy(datagram, crossing);
    unsigned type = datagram[bytes - 1] % TYPES;

    pthread_mutex_lock(&shown->mutex);
    (crossing->is_outward ? c->out : c->in)[type]++;
    if (crossing->is_outward) {
        c->bytes_out += bytes;
        if (type != DATAGRAM_REQUEST || bytes > TRAILER_BYTES) {
            memcpy(c->last[type], datagram, bytes);
            c->last_bytes[type] = bytes;
        }
    }
    pthread_mutex_unlock(&shown->mutex);
}

static struct crossed crossed_by_now(struct shown *shown)
{
    pthread_mutex_lock(&shown->mutex);
    struct crossed now = shown->crossed;
    pthread_mutex_unlock(&shown->mutex);
    return now;
}

static void flood_open(struct flood *f)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    const struct zcrp_options of_sender = {
        .flags = ZCRP_NO_MEMORY, .unit_bytes = UNIT, .tap = see, .tap_context = &f->sender};
    const struct zcrp_options of_receiver = {
        .flags = ZCRP_NO_MEMORY, .unit_bytes = UNIT, .tap = see, .tap_context = &f->receiver};

    *f = (struct flood){0};
    pthread_mutex_init(&f->sender.mutex, NULL);
    pthread_mutex_init(&f->receiver.mutex, NULL);
    f->ends = ends_open_at(&sockets, &of_sender, &of_receiver);
}

static struct zcrp_msg *post(const struct flood *f)
{
    struct zcrp_msg *in = ends_empty(SIZE);

    ck_assert_int_eq(zcrp_submit(f->ends.receiver, in, SIZE), 0);
    return in;
}

/* Sends a message into the buffer, and sees that it came whole. */
static void carry(const struct flood *f, struct zcrp_msg *in, uint64_t seed)
{
    struct zcrp_msg *out = ends_filled(SIZE, seed);

    ck_assert_int_eq(zcrp_submit(f->ends.sender, out, SIZE), 0);
    ends_finish(in, out, SIZE, seed);
}

static void sleep_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static bool has_queued(int fd)
{
    int bytes = 0;

    ck_assert_int_eq(ioctl(fd, FIONREAD, &bytes), 0);
    return bytes > 0;
}

/* Sends it from one socket, and lets the other be read whenever a few wait there, so that all of
 * them arrive. Returns how many milliseconds it took, rounded up. */
static uint64_t pour(const uint8_t *datagram, uint32_t bytes, int from, int to)
{
    int64_t start = clock_now_ns();

    for (unsigned i = 1; i <= COPIES; i++) {
        ck_assert_int_eq(send(from, datagram, bytes, 0), bytes);
        while (i % AT_ONCE == 0 && has_queued(to))
            sleep_briefly();
    }
    return (uint64_t)((clock_now_ns() - start) / ENDS_MILLISECOND) + 1;
}

/* Whom the flood is for, and what it may answer. */
static const struct {
    enum datagram_type type;
    bool is_for_sender;
    bool is_each_millisecond; /* it answers so often */
    bool is_by_bytes;         /* or by a quarter of the bytes; else next to never */
} floods[] = {
    {DATAGRAM_ACK_POSITIVE, true, false, false},
    {DATAGRAM_REQUEST, true, true, false},
    {DATAGRAM_HELLO, false, true, false},
    {DATAGRAM_UNIT, false, false, true},
};
enum { FLOODS = sizeof floods / sizeof floods[0] };

static uint64_t sum(const uint64_t count[TYPES])
{
    uint64_t all = 0;

    for (unsigned i = 0; i < TYPES; i++)
        all += count[i];
    return all;
}

TEST(flood__of_one_datagram, .rows = FLOODS)
{
    static struct flood f;
    flood_open(&f);
    carry(&f, post(&f), 1);
    struct zcrp_msg *in = post(&f); /* which the sender has nothing for yet */
    while (crossed_by_now(&f.sender).in[DATAGRAM_REQUEST] < 2)
        sleep_briefly();

    bool is_for_sender = floods[_i].is_for_sender;
    const struct loopback *sockets = &f.ends.sockets;
    struct crossed from = crossed_by_now(is_for_sender ? &f.receiver : &f.sender);
    struct shown *to = is_for_sender ? &f.sender : &f.receiver;
    struct crossed before = crossed_by_now(to);
    unsigned type = floods[_i].type;
    ck_assert_uint_gt(from.last_bytes[type], 0);
    uint64_t elapsed_ms = pour(from.last[type], from.last_bytes[type],
                               is_for_sender ? sockets->receiver[0] : sockets->sender[1],
                               is_for_sender ? sockets->sender[0] : sockets->receiver[1]);

    struct crossed after = crossed_by_now(to);
    uint64_t answers = sum(after.out) - sum(before.out);
    ck_assert_uint_ge(after.in[type] - before.in[type], COPIES - AT_ONCE);
    if (floods[_i].is_by_bytes)
        ck_assert_uint_le(after.bytes_out - before.bytes_out,
                          (uint64_t)COPIES * from.last_bytes[type] / 4);
    else
        ck_assert_uint_le(answers, 10 + (floods[_i].is_each_millisecond ? 2 * elapsed_ms : 0));
    carry(&f, in, 2);
    ck_assert_uint_le(crossed_by_now(&f.sender).out[DATAGRAM_UNIT], 2 * 2 * NEEDED);
    ends_close(&f.ends);
}

/* The same acknowledgement again and again while units are in transit: each repeat has a loss of
 * its own, or a probe. */
TEST(flood__under_way)
{
    static struct flood f;
    struct zcrp_msg *in[MANY], *out[MANY];
    struct zcrp_stats stats;

    flood_open(&f);
    carry(&f, post(&f), 1);
    struct crossed from = crossed_by_now(&f.receiver);
    for (unsigned i = 0; i < MANY; i++) {
        in[i] = post(&f);
        out[i] = ends_filled(SIZE, i);
        ck_assert_int_eq(zcrp_submit(f.ends.sender, out[i], SIZE), 0);
    }
    (void)pour(from.last[DATAGRAM_ACK_POSITIVE], from.last_bytes[DATAGRAM_ACK_POSITIVE],
               f.ends.sockets.receiver[0], f.ends.sockets.sender[0]);
    for (unsigned i = 0; i < MANY; i++)
        ends_finish(in[i], out[i], SIZE, i);
    ck_assert_int_eq(zcrp_stats(f.ends.sender, &stats), 0);
    ck_assert_uint_le(stats.units_repeated, stats.units_lost + 2 * stats.probes);
    ck_assert_uint_le(stats.units, 2 * (MANY + 1) * NEEDED);
    ends_close(&f.ends);
}
