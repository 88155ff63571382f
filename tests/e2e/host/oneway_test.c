/* Two processes of one host of which only one may read the other's memory, because the other hides
 * its own: so one direction of their connection takes memory, and the other one UDP. The process
 * that is read has its connection in a queue, sends, and learns in time that its messages have
 * arrived, although its peer takes each only after the taker has fallen asleep.
 *
 * As root both become nobody first, because nothing is forbidden to root. */
#include "../../support/house.h"
#include "../../support/suite.h"

#include <grp.h>

LOAD(asleep)

enum { NOBODY = 65534, BYTES = 100000, MESSAGES = 20, REST_US = 10000 };

/* A message takes so long at most, beside other tests; but some may be late, on a machine that
 * stands still for a while. What only a timer of the protocol repairs takes longer, each time. */
static const int64_t LATE_NS = 2 * ENDS_SECOND;
enum { LATE_MOST = MESSAGES / 5 };
static const int64_t MEET_FOR = 20 * ENDS_SECOND;

static bool become_nobody(void)
{
    return geteuid() != 0 ||
           (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
            setresuid(NOBODY, NOBODY, NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
}

static void setup(void)
{
    ck_assert_int_eq(unsetenv("ZCRP_NO_MEMORY"), 0);
    ck_assert(become_nobody());
}

FIXTURE(setup, NULL)

/* A process that hides its memory, tells its port, and takes messages until it is killed. */
static void take_all(int port)
{
    struct zcrp_msg *m = zcrp_alloc_msg(BYTES);
    struct zcrp_connection *c = NULL;
    struct house h = house_open("127.0.0.1", NULL);

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 ||
        write(port, h.port, sizeof(h.port)) != (ssize_t)sizeof(h.port))
        _exit(1);
    int code = zcrp_accept(h.listener, &c, -1);
    while (code == ZCRP_OK) {
        usleep(REST_US);
        code = zcrp_submit(zcrp_connection_receiver(c), m, BYTES);
        if (code == ZCRP_OK)
            code = zcrp_wait_for(m, -1);
    }
    _exit(1);
}

/* Sends a message, and takes its end. How long that took. */
static int64_t send_one(struct zcrp_queue *q, struct zcrp_connection *c, struct zcrp_msg *m)
{
    struct zcrp_completion end = {.message = NULL};
    int64_t began = clock_now_ns();

    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), m, BYTES), ZCRP_OK);
    while (end.message != m) /* or the connection is up */
        ck_assert_int_eq(zcrp_queue_take(q, &end, 1, MEET_FOR), 1);
    ck_assert_int_eq(end.code, ZCRP_OK);
    return clock_now_ns() - began;
}

static bool uses_memory(struct zcrp_connection *c)
{
    return ends_stats(zcrp_connection_sender(c)).bytes_copied_once > 0;
}

TEST(oneway__queue_hears_memory)
{
    struct house h = {.listener = NULL};
    struct zcrp_connection *c;
    struct zcrp_queue *q;
    int port[2];

    ck_assert_int_eq(pipe(port), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        take_all(port[1]);
    ck_assert_int_eq(read(port[0], h.port, sizeof(h.port)), sizeof(h.port));
    ck_assert_int_eq(house_connect(&h, &c, NULL, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, c, NULL), ZCRP_OK);
    struct zcrp_msg *m = ends_filled(BYTES, 1);
    for (int64_t until = clock_now_ns() + MEET_FOR; !uses_memory(c);) {
        ck_assert_int_lt(clock_now_ns(), until);
        (void)send_one(q, c, m);
    }
    int late = 0;
    for (int i = 0; i < MESSAGES; i++) {
        late += send_one(q, c, m) >= LATE_NS;
        ck_assert_int_le(late, LATE_MOST);
    }
    ends_kill_peer(child);
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    (void)zcrp_connection_close(c);
    zcrp_free_msg(m);
    (void)close(port[0]);
    (void)close(port[1]);
}
