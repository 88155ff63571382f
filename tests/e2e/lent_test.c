/* Memory that was lent belongs to its user again once the message has ended, however it ended: a
 * receiver that stood still meanwhile never delivers what the user wrote there afterwards. */
#include "../support/ends.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 20, SEED = 5 };

static pid_t child;

/* Receives a message of no bytes, then one that must be the pattern if it comes at all. */
static _Noreturn void receive_in_child(const struct loopback *sockets)
{
    const struct zcrp_options options = {.linger_ns = ENDS_SECOND};
    struct zcrp_entity *e = NULL;
    struct zcrp_msg *first = zcrp_alloc_msg(0), *m = zcrp_alloc_msg(SIZE);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (zcrp_open_receiver(&e, sockets->receiver, &options) != 0 || zcrp_submit(e, first, 0) != 0 ||
        zcrp_submit(e, m, SIZE) != 0 || !zcrp_wait(first))
        _exit(2);
    bool is_whole =
        zcrp_wait_for(m, 4 * ENDS_SECOND) != ZCRP_OK || pattern_holds(m->buffer, SIZE, SEED);
    _exit(is_whole ? 0 : 1);
}

/* A sender, and in a process of its own that stands still a receiver with all of the message in its
 * socket. The message is filled behind the fork, so that they do not share its pages. */
static struct zcrp_entity *open_stopped(const struct loopback *sockets, struct zcrp_msg *m)
{
    const struct zcrp_options options = {.linger_ns = ENDS_SECOND / 20,
                                         .congestion = ZCRP_CONGESTION_NONE};
    struct zcrp_msg *first = zcrp_alloc_msg(0);
    struct zcrp_stats stats = {0};
    struct zcrp_entity *e;
    int status;

    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        receive_in_child(sockets);
    ck_assert_int_eq(zcrp_open_sender(&e, sockets->sender, &options), 0);
    ck_assert_int_eq(zcrp_submit(e, first, 0), 0);
    ck_assert_int_eq(ends_wait(first), ZCRP_OK);
    ck_assert_int_eq(kill(child, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    pattern_fill(m->buffer, SIZE, SEED);
    ck_assert_int_eq(zcrp_submit(e, m, SIZE), 0);
    for (int i = 0; i < 1000 && stats.bursts < 1 + SIZE / 65536; i++) {
        usleep(1000);
        ck_assert_int_eq(zcrp_stats(e, &stats), 0);
    }
    ends_expect_lent(&stats);
    zcrp_free_msg(first);
    return e;
}

static void *go_on(void *unused)
{
    (void)unused;
    usleep(200000);
    (void)kill(child, SIGCONT);
    return NULL;
}

static void expect_whole(void)
{
    int status = -1;

    (void)kill(child, SIGCONT);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

START_TEST(lent__cancel_waits_until_the_peer_knows)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = ends_empty(SIZE);
    struct zcrp_entity *e = open_stopped(&sockets, m);
    pthread_t later;

    ck_assert_int_eq(pthread_create(&later, NULL, go_on, NULL), 0);
    ck_assert_int_eq(zcrp_cancel(m), 0);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_CANCELLED);
    memset(m->buffer, 0xEE, SIZE);
    pthread_join(later, NULL);
    expect_whole();
    (void)zcrp_close(e);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}
END_TEST

START_TEST(lent__close_waits_until_the_peer_would_not_take_it)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = ends_empty(SIZE);
    struct zcrp_entity *e = open_stopped(&sockets, m);

    ck_assert_int_eq(zcrp_close(e), ZCRP_ERROR_TIMEOUT);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_CLOSED);
    memset(m->buffer, 0xEE, SIZE);
    expect_whole();
    zcrp_free_msg(m);
    loopback_close(&sockets);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("lent");

    tcase_set_timeout(tcase, 20);
    tcase_add_test(tcase, lent__cancel_waits_until_the_peer_knows);
    tcase_add_test(tcase, lent__close_waits_until_the_peer_would_not_take_it);
    return ends_run("lent", tcase);
}
