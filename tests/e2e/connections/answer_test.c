/* Questions and answers over a connection: the acknowledgement of a question goes out behind the
 * answer, because the peer waits for that; and it goes out without one, too. */
#include "../../support/house.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

LOAD(asleep)

enum { ROUNDS = 400, SIZE = 64 };

/* Datagrams of the answering end: it receives questions, and sends answers and acknowledgements. */
struct sent {
    _Atomic int last;      /* type of the last datagram that was one of these; 0: a question */
    _Atomic int behind;    /* acknowledgements straight behind an answer */
    _Atomic bool is_quiet; /* the user of that end does nothing any more */
};

static void see(void *context, const struct zcrp_crossing *crossing)
{
    const struct iovec *last = &crossing->pieces[crossing->piece_count - 1];
    uint8_t type = ((const uint8_t *)last->iov_base)[last->iov_len - 1];
    struct sent *sent = context;

    if (type != 0x21 && (!crossing->is_outward || type != 0x22))
        return;
    int before = atomic_exchange(&sent->last, crossing->is_outward ? type : 0);
    if (before == 0x21 && type == 0x22)
        sent->behind++;
}

struct answering_end {
    struct zcrp_connection *connection;
    struct sent *sent;
};

static void receive(struct zcrp_connection *c, struct zcrp_msg *m)
{
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(c), m, SIZE), ZCRP_OK);
}

/* Answers all questions but the last, which it takes and does nothing with. */
static void *answer(void *argument)
{
    struct answering_end *end = argument;
    struct zcrp_msg *in = zcrp_alloc_msg(SIZE), *out = zcrp_alloc_msg(SIZE);

    receive(end->connection, in);
    for (int i = 0; i < ROUNDS; i++) {
        ck_assert_int_eq(ends_wait(in), ZCRP_OK);
        ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(end->connection), out, SIZE), ZCRP_OK);
        receive(end->connection, in);
        ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    }
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    while (!atomic_load(&end->sent->is_quiet))
        usleep(1000);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    return NULL;
}

static void ask(struct zcrp_connection *c, struct zcrp_msg *out, struct zcrp_msg *in)
{
    receive(c, in);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), out, SIZE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
}

static uint64_t probes(struct zcrp_connection *c)
{
    struct zcrp_stats stats;

    ck_assert_int_eq(zcrp_stats(zcrp_connection_sender(c), &stats), ZCRP_OK);
    return stats.probes;
}

/* Questions and answers, and a question that nobody answers: how often the asking end had to probe
 * for its acknowledgement. */
static uint64_t ask_and_answer(void)
{
    struct sent sent = {.last = 0};
    const struct zcrp_options there = {.channel = ZCRP_CHANNEL_DATAGRAM, .flags = ZCRP_NO_MEMORY};
    struct zcrp_options here = there;
    struct zcrp_msg *in = zcrp_alloc_msg(SIZE), *out = zcrp_alloc_msg(SIZE);
    pthread_t thread;

    here.tap = see;
    here.tap_context = &sent;
    struct house house = house_open("127.0.0.1", &here);
    struct both b = house_meet(&house, &there);
    struct answering_end end = {.connection = b.here, .sent = &sent};
    ck_assert_int_eq(pthread_create(&thread, NULL, answer, &end), 0);
    for (int i = 0; i < ROUNDS; i++)
        ask(b.there, out, in);
    ck_assert_int_gt(sent.behind, 0);
    /* Nobody answers, and nobody waits there: the library acknowledges nevertheless. */
    usleep(20000); /* until that end waits for the question */
    uint64_t probed = probes(b.there);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(b.there), out, SIZE), ZCRP_OK);
    ck_assert_int_eq(zcrp_wait_for(out, 5 * ENDS_SECOND), ZCRP_OK);
    probed = probes(b.there) - probed;
    atomic_store(&sent.is_quiet, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    house_part(&b);
    (void)zcrp_listener_close(house.listener);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    return probed;
}

/* A thread that the system wakes late makes the other end probe, too: hence the tries. */
TEST(answer__before_the_acknowledgement)
{
    int tries = 5;

    while (ask_and_answer() > 0)
        ck_assert_int_gt(--tries, 0);
}
