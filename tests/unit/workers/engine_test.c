#include "../../support/suite.h"
#include "platform/system.h"
#include "workers/engine.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A member that counts its turns. */
struct rig {
    struct engine_member member;
    int pair[2];
    _Atomic int arrivals, writables, sends, expiries, ends;
    _Atomic instant next; /* that `arrive` returns, */
    _Atomic bool reads;   /* and whether it reads what arrived */
    _Atomic bool is_slow; /* a turn takes 20 ms */
    _Atomic bool is_held; /* a turn goes on */
    _Atomic bool is_in;   /* a turn runs */
    _Atomic bool is_busy; /* it wants its turn again at once, each time */
    uint32_t wish;        /* of its deadlines, within its turns */
    _Atomic bool arms;    /* the next one arms the socket, as another thread may meanwhile */
    struct rig *beside;   /* or has another member's peer watched: */
    int replaces;         /* by this descriptor */
};

static void turn(struct rig *rig, _Atomic int *count)
{
    atomic_store(&rig->is_in, true);
    if (atomic_load(&rig->is_slow))
        usleep(20000);
    while (atomic_load(&rig->is_held))
        usleep(100);
    atomic_fetch_add(count, 1);
    atomic_store(&rig->is_in, false);
}

static instant on_arrive(void *client)
{
    struct rig *rig = client;
    char bytes[64];

    while (atomic_load(&rig->reads) && recv(rig->pair[0], bytes, sizeof bytes, MSG_DONTWAIT) >= 0)
        ;
    if (atomic_exchange(&rig->arms, false))
        engine_arm(&rig->member);
    if (rig->beside != NULL)
        engine_watch_peer(&rig->beside->member, rig->replaces);
    rig->beside = NULL;
    turn(rig, &rig->arrivals);
    if (atomic_load(&rig->is_busy))
        return 0;
    return atomic_exchange(&rig->next, ENGINE_ARM);
}

static void on_writable(void *client)
{
    struct rig *rig = client;
    turn(rig, &rig->writables);
}

static void on_send(void *client)
{
    struct rig *rig = client;
    turn(rig, &rig->sends);
}

static void on_expire(void *client)
{
    struct rig *rig = client;
    turn(rig, &rig->expiries);
    if (atomic_load(&rig->is_busy))
        engine_due(&rig->member, 0, ++rig->wish);
}

static void on_peer_ended(void *client)
{
    struct rig *rig = client;
    turn(rig, &rig->ends);
}

static const struct engine_duties duties = {.arrive = on_arrive,
                                            .writable = on_writable,
                                            .send = on_send,
                                            .expire = on_expire,
                                            .peer_ended = on_peer_ended};

static void join(struct rig *rig, enum engine_role role)
{
    *rig = (struct rig){.next = ENGINE_ARM, .reads = true};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, rig->pair), 0);
    ck_assert_int_eq(engine_join(&rig->member, role, &duties, rig, rig->pair[0], rig->pair[0]), 0);
}

static void leave(struct rig *rig)
{
    engine_leave(&rig->member);
    ck_assert(!atomic_load(&rig->is_in));
    close(rig->pair[0]);
    close(rig->pair[1]);
}

static void send_one(struct rig *rig)
{
    ck_assert_int_eq(send(rig->pair[1], "x", 1, 0), 1);
}

static bool becomes(_Atomic int *count, int value)
{
    for (int i = 0; i < 20000 && atomic_load(count) != value; i++)
        usleep(1000);
    return atomic_load(count) == value;
}

/* For a count that may have gone on by the time that this thread looks. */
static bool reaches(_Atomic int *count, int value)
{
    for (int i = 0; i < 20000 && atomic_load(count) < value; i++)
        usleep(1000);
    return atomic_load(count) >= value;
}

/* The library's threads in this process, by their names. */
static int threads_of_library(void)
{
    char path[300], name[32];
    int threads = 0;
    DIR *tasks = opendir("/proc/self/task");

    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *comm = fopen(path, "r");
        if (comm == NULL)
            continue;
        threads += fgets(name, sizeof name, comm) != NULL && strncmp(name, "zcrp-", 5) == 0;
        fclose(comm);
    }
    closedir(tasks);
    return threads;
}

/* A thread names itself, and one that was joined may be listed for a moment more. */
static bool threads_become(int count)
{
    for (int i = 0; i < 20000 && threads_of_library() != count; i++)
        usleep(1000);
    return threads_of_library() == count;
}

TEST(engine_arm__one_turn_for_what_arrives)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    send_one(&rig);
    usleep(5000);
    ck_assert_int_eq(atomic_load(&rig.arrivals), 0); /* not armed */
    engine_arm(&rig.member);
    ck_assert(becomes(&rig.arrivals, 1));
    send_one(&rig);
    ck_assert(becomes(&rig.arrivals, 2)); /* the turn asked to be armed again */
    leave(&rig);
}

/* A waiter was there when the turn looked, and has left and armed the socket since. */
TEST(engine_arm__within_a_turn_has_the_last_word, .rows = 2)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    atomic_store(&rig.next, _i == 0 ? ENGINE_LEAVE_BE : clock_now() + 100 * SECOND);
    atomic_store(&rig.reads, false);
    atomic_store(&rig.is_held, true);
    engine_arm(&rig.member);
    send_one(&rig);
    while (!atomic_load(&rig.is_in))
        usleep(100);
    atomic_store(&rig.reads, true);
    engine_arm(&rig.member);
    atomic_store(&rig.is_held, false);
    ck_assert(reaches(&rig.arrivals, 2));
    leave(&rig);
}

/* Epoll has told of the one before, but its turn comes behind that in which it is replaced. */
TEST(engine_watch_peer__tells_of_the_newest_only)
{
    struct rig first, second, held;
    int one[2], other[2];
    join(&held, ENGINE_SENDERS);
    join(&first, ENGINE_SENDERS);
    join(&second, ENGINE_SENDERS);
    ck_assert_int_eq(pipe(one) + pipe(other), 0);
    engine_watch_peer(&second.member, one[0]);
    first.beside = &second;
    first.replaces = other[0];
    engine_arm(&first.member);
    atomic_store(&held.is_held, true);
    engine_arrive(&held.member);
    while (!atomic_load(&held.is_in))
        usleep(100);
    send_one(&first);
    ck_assert_int_eq(write(one[1], "x", 1), 1);
    atomic_store(&held.is_held, false);
    ck_assert(reaches(&first.arrivals, 1));
    engine_arrive(&held.member);
    ck_assert(reaches(&held.arrivals, 2)); /* what epoll told of before is over */
    ck_assert_int_eq(atomic_load(&second.ends), 0);
    ck_assert_int_eq(write(other[1], "x", 1), 1);
    ck_assert(becomes(&second.ends, 1));
    leave(&first);
    leave(&second);
    leave(&held);
    ck_assert_int_eq(close(one[1]) + close(other[1]), 0);
}

/* Of the newest only, and once. It closes what it was given. */
TEST(engine_watch_peer__tells_once)
{
    struct rig rig;
    int one[2], other[2], last[2];
    join(&rig, ENGINE_SENDERS);
    ck_assert_int_eq(pipe(one) + pipe(other) + pipe(last), 0);
    engine_watch_peer(&rig.member, one[0]);
    engine_watch_peer(&rig.member, other[0]);
    ck_assert_int_eq(fcntl(one[0], F_GETFD), -1);
    ck_assert_int_eq(close(one[1]), 0);
    usleep(5000);
    ck_assert_int_eq(atomic_load(&rig.ends), 0);
    ck_assert_int_eq(write(other[1], "x", 1), 1);
    ck_assert(becomes(&rig.ends, 1));
    ck_assert_int_eq(fcntl(other[0], F_GETFD), -1);
    ck_assert_int_eq(write(last[1], "x", 1), 1);
    engine_watch_peer(&rig.member, last[0]); /* readable already */
    ck_assert(becomes(&rig.ends, 2));
    engine_watch_peer(&rig.member, dup(last[1]));
    leave(&rig);
    ck_assert_int_eq(fcntl(last[0], F_GETFD), -1);
    ck_assert_int_eq(close(other[1]) + close(last[1]), 0);
}

/* A user's thread may come with it while another one closes. */
TEST(engine_watch_peer__behind_the_stop)
{
    struct rig rig;
    int end[2];
    join(&rig, ENGINE_RECEIVERS);
    ck_assert_int_eq(pipe(end), 0);
    engine_stop(&rig.member);
    engine_watch_peer(&rig.member, end[0]);
    ck_assert_int_eq(fcntl(end[0], F_GETFD), -1);
    leave(&rig);
    ck_assert_int_eq(close(end[1]), 0);
    ck_assert_int_eq(atomic_load(&rig.ends), 0);
}

/* The turn has found something that the socket does not tell of, and is to look again at once. */
TEST(engine_arm__within_a_turn_leaves_it_its_nap)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    atomic_store(&rig.next, clock_now());
    atomic_store(&rig.arms, true);
    engine_arrive(&rig.member);
    ck_assert(reaches(&rig.arrivals, 2));
    leave(&rig);
}

TEST(engine_arm__not_while_somebody_else_looks_after_it)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    atomic_store(&rig.next, ENGINE_LEAVE_BE);
    engine_arm(&rig.member);
    send_one(&rig);
    ck_assert(becomes(&rig.arrivals, 1));
    for (int i = 0; i < 3; i++)
        send_one(&rig);
    usleep(5000);
    ck_assert_int_eq(atomic_load(&rig.arrivals), 1);
    engine_arm(&rig.member);
    ck_assert(becomes(&rig.arrivals, 2));
    leave(&rig);
}

/* What has come does not show in the socket. */
TEST(engine_arrive__one_turn_without_a_datagram)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    engine_arrive(&rig.member);
    ck_assert(becomes(&rig.arrivals, 1));
    usleep(5000);
    ck_assert_int_eq(atomic_load(&rig.arrivals), 1);
    engine_arrive(&rig.member);
    ck_assert(becomes(&rig.arrivals, 2));
    leave(&rig);
}

/* It comes while a turn runs that has looked already, and then wants to nap, or to be left be. */
TEST(engine_arrive__within_a_turn_has_the_last_word, .rows = 2)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    atomic_store(&rig.next, _i == 0 ? ENGINE_LEAVE_BE : clock_now() + 100 * SECOND);
    atomic_store(&rig.is_held, true);
    engine_arrive(&rig.member);
    while (!atomic_load(&rig.is_in))
        usleep(100);
    engine_arrive(&rig.member);
    atomic_store(&rig.is_held, false);
    ck_assert(reaches(&rig.arrivals, 2));
    leave(&rig);
}

TEST(engine_arrive__beside_one_that_is_always_busy)
{
    struct rig busy, rig;

    join(&busy, ENGINE_RECEIVERS);
    join(&rig, ENGINE_RECEIVERS);
    atomic_store(&busy.is_busy, true);
    engine_arrive(&busy.member);
    engine_arm(&rig.member);
    ck_assert(reaches(&busy.arrivals, 10));
    send_one(&rig);
    bool has_arrived = becomes(&rig.arrivals, 1);
    atomic_store(&busy.is_busy, false);
    leave(&rig);
    leave(&busy);
    ck_assert(has_arrived);
}

TEST(engine_arm__naps)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    instant begun = clock_now();
    atomic_store(&rig.next, begun + 30 * MILLISECOND);
    engine_arm(&rig.member);
    send_one(&rig);
    ck_assert(reaches(&rig.arrivals, 1));
    send_one(&rig); /* does not end the nap */
    ck_assert(reaches(&rig.arrivals, 2));
    ck_assert_int_ge(clock_now() - begun, 30 * MILLISECOND);
    leave(&rig);
}

TEST(engine_arm__writable_beside_readable)
{
    struct rig rig;
    join(&rig, ENGINE_SENDERS);
    engine_arm(&rig.member);
    engine_arm_writable(&rig.member);
    ck_assert(becomes(&rig.writables, 1));
    ck_assert_int_eq(atomic_load(&rig.arrivals), 0);
    send_one(&rig);
    ck_assert(becomes(&rig.arrivals, 1)); /* it is armed still */
    leave(&rig);
}

/* A deadline that passes before the next one is told, on a busy machine, counts. */
TEST(engine_due__the_last_counts)
{
    struct rig rig;
    join(&rig, ENGINE_RECEIVERS);
    instant now = clock_now();
    engine_due(&rig.member, now + 10 * SECOND, 1);
    engine_due(&rig.member, now + 10 * MILLISECOND, 2);
    engine_due(&rig.member, now + 40 * MILLISECOND, 3);
    bool is_told = clock_now() < now + 10 * MILLISECOND;
    ck_assert(reaches(&rig.expiries, 1));
    ck_assert_int_ge(clock_now() - now, is_told ? 40 * MILLISECOND : 10 * MILLISECOND);
    now = clock_now();
    engine_due(&rig.member, now + 10 * MILLISECOND, 4);
    engine_due(&rig.member, NEVER, 5);
    is_told &= clock_now() < now + 10 * MILLISECOND;
    usleep(30000);
    ck_assert_int_le(atomic_load(&rig.expiries), is_told ? 1 : 3);
    leave(&rig);
}

/* A wish that comes late does nothing. None moves another member's deadline. As above. */
TEST(engine_due__out_of_order)
{
    struct rig rig[2];
    for (int i = 0; i < 2; i++)
        join(&rig[i], ENGINE_RECEIVERS);
    engine_due(&rig[0].member, clock_now() + 10 * MILLISECOND, 2);
    engine_due(&rig[0].member, NEVER, 1);
    ck_assert(becomes(&rig[0].expiries, 1));
    instant now = clock_now();
    engine_due(&rig[0].member, now + 10 * MILLISECOND, 3);
    engine_due(&rig[1].member, now + 20 * MILLISECOND, 1);
    engine_due(&rig[0].member, NEVER, 4);
    bool is_told = clock_now() < now + 10 * MILLISECOND;
    ck_assert(becomes(&rig[1].expiries, 1));
    ck_assert_int_le(atomic_load(&rig[0].expiries), is_told ? 1 : 2);
    for (int i = 0; i < 2; i++)
        leave(&rig[i]);
}

/* Its deadline is over whenever the engine is told of it. */
TEST(engine_due__beside_one_that_is_always_over)
{
    struct rig busy, rig;

    join(&busy, ENGINE_RECEIVERS);
    join(&rig, ENGINE_RECEIVERS);
    busy.wish = 1;
    atomic_store(&busy.is_busy, true);
    engine_due(&busy.member, 0, 1);
    ck_assert(reaches(&busy.expiries, 10));
    engine_due(&rig.member, clock_now() + MILLISECOND, 1);
    bool has_expired = becomes(&rig.expiries, 1);
    atomic_store(&busy.is_busy, false);
    leave(&rig);
    leave(&busy);
    ck_assert(has_expired);
}

TEST(engine_ready__sends)
{
    struct rig rig[3];
    for (int i = 0; i < 3; i++)
        join(&rig[i], ENGINE_SENDERS);
    atomic_store(&rig[0].is_held, true);
    engine_ready(&rig[0].member);
    while (!atomic_load(&rig[0].is_in)) /* it is under way, and the others queue */
        usleep(100);
    for (int i = 0; i < 3; i++)
        engine_ready(&rig[i].member);
    engine_leave(&rig[1].member); /* from the middle of the queue */
    atomic_store(&rig[0].is_held, false);
    ck_assert(becomes(&rig[0].sends, 2));
    ck_assert(becomes(&rig[2].sends, 1));
    ck_assert_int_eq(atomic_load(&rig[1].sends), 0);
    for (int i = 0; i < 3; i++)
        leave(&rig[i]);
}

TEST(engine_leave__waits_for_turns)
{
    struct rig rig;
    for (int i = 0; i < 50; i++) {
        join(&rig, i % 2 ? ENGINE_RECEIVERS : ENGINE_SENDERS);
        atomic_store(&rig.is_slow, i < 4);
        engine_arm(&rig.member);
        send_one(&rig);
        engine_due(&rig.member, clock_now(), 1);
        usleep(i < 4 ? 5000 : (useconds_t)i);
        leave(&rig);
    }
}

TEST(engine_join__threads_of_the_paper_however_many_members)
{
    static struct rig rig[100];
    for (int i = 0; i < 100; i++)
        join(&rig[i], i % 2 ? ENGINE_RECEIVERS : ENGINE_SENDERS);
    ck_assert(threads_become(5));
    for (int i = 0; i < 100; i++)
        leave(&rig[i]);
    ck_assert(threads_become(0));
}

TEST(engine_join__no_descriptor_left)
{
    struct rig rig;
    int fds[1024], count = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){1000, 1000}), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, rig.pair), 0);
    while (count < 1024 && (fds[count] = dup(0)) >= 0)
        count++;
    ck_assert_int_lt(engine_join(&rig.member, ENGINE_SENDERS, &duties, &rig, rig.pair[0], -1), 0);
    for (int i = 0; i < count; i++)
        close(fds[i]);
    engine_leave(&rig.member);
}

TEST(engine_after_fork__a_child_has_its_own)
{
    struct rig rig;
    int status;
    join(&rig, ENGINE_RECEIVERS);
    engine_arm(&rig.member);
    pid_t child = fork();
    if (child == 0) {
        struct rig own;
        engine_after_fork();
        join(&own, ENGINE_RECEIVERS);
        engine_arm(&own.member);
        send_one(&own);
        bool works = becomes(&own.arrivals, 1);
        leave(&own);
        _exit(works ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    send_one(&rig);
    ck_assert(becomes(&rig.arrivals, 1));
    leave(&rig);
}
