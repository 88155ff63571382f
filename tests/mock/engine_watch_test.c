/* Sockets that the system does not watch: epoll_ctl fails, as beyond max_user_watches. */
/* wrap: epoll_ctl */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "platform/system.h"
#include "workers/engine.h"
#include "zcrp.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 100000 };

static const int errors[] = {ENOSPC, ENOMEM, EPERM};

static _Atomic int failure; /* of each call for a socket; 0: none */
static _Atomic int failures;

int __real_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);

static bool is_socket(int fd)
{
    int type;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    if (failure == 0 || what == EPOLL_CTL_DEL || !is_socket(fd))
        return __real_epoll_ctl(epoll, what, fd, event);
    failures++;
    errno = failure;
    return -1;
}

static void setup(void)
{
    failure = failures = 0;
}

FIXTURE(setup, NULL)

/* ---- of an engine ---- */

/* A member that counts its turns, and reads what arrived. */
struct rig {
    struct engine_member member;
    int pair[2];
    _Atomic int arrivals, bytes, writables;
};

static instant on_arrive(void *client)
{
    struct rig *rig = client;
    char byte;

    while (recv(rig->pair[0], &byte, 1, MSG_DONTWAIT) == 1)
        rig->bytes++;
    rig->arrivals++;
    return ENGINE_ARM;
}

static void on_writable(void *client)
{
    ((struct rig *)client)->writables++;
}

static void on_nothing(void *client)
{
    (void)client;
}

static const struct engine_duties duties = {
    .arrive = on_arrive, .writable = on_writable, .send = on_nothing, .expire = on_nothing};

static void join(struct rig *rig)
{
    *rig = (struct rig){.arrivals = 0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, rig->pair), 0);
    assert_int_equal(
        engine_join(&rig->member, ENGINE_RECEIVERS, &duties, rig, rig->pair[0], rig->pair[0]), 0);
}

static void leave(struct rig *rig)
{
    engine_leave(&rig->member);
    close(rig->pair[0]);
    close(rig->pair[1]);
}

/* Waits up to 10 s. */
static void await(const _Atomic int *count, int value)
{
    for (int i = 0; i < 10000 && *count < value; i++)
        usleep(1000);
    assert_true(*count >= value);
}

TEST(engine_arm__looks_by_time)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        struct rig rig;
        failure = errors[i];
        join(&rig);
        instant began = clock_now();
        engine_arm(&rig.member);
        for (int sent = 1; sent <= 10; sent++) {
            assert_int_equal(send(rig.pair[1], "x", 1, 0), 1);
            await(&rig.bytes, sent);
        }
        assert_true(rig.member.unwatched > 0);
        int looks = rig.arrivals;
        assert_true(looks <= 2 + (clock_now() - began) / ENGINE_LOOK); /* and not more */
        leave(&rig);
    }
}

/* Once the system can it watches, and nothing is done by time any more. */
TEST(engine_arm__watches_again)
{
    struct rig rig;

    failure = ENOSPC;
    join(&rig);
    engine_arm(&rig.member);
    await(&rig.arrivals, 2);
    failure = 0;
    int failed = failures;
    assert_int_equal(send(rig.pair[1], "x", 1, 0), 1);
    await(&rig.bytes, 1);
    int looked = rig.arrivals;
    usleep(40 * ENGINE_LOOK / 1000);
    assert_true(rig.arrivals <= looked + 2); /* of the datagram, and a look that had begun */
    assert_true(failures <= failed + 1);
    assert_int_equal(send(rig.pair[1], "x", 1, 0), 1);
    await(&rig.bytes, 2);
    leave(&rig);
}

/* Room alone is looked for: a member that another one receives for does not receive. */
TEST(engine_arm_writable__looks_by_time)
{
    struct rig rig;

    failure = ENOSPC;
    join(&rig);
    engine_arm_writable(&rig.member);
    await(&rig.writables, 1);
    usleep(4 * ENGINE_LOOK / 1000);
    assert_int_equal(rig.writables, 1); /* it asks again, or not */
    assert_int_equal(rig.arrivals, 0);
    engine_arm_writable(&rig.member);
    engine_arm(&rig.member);
    await(&rig.writables, 2);
    await(&rig.arrivals, 1);
    leave(&rig);
}

TEST(engine_leave__while_it_looks)
{
    struct rig rig;

    failure = ENOSPC;
    for (int i = 0; i < 100; i++) {
        join(&rig);
        engine_arm(&rig.member);
        engine_arm_writable(&rig.member);
        usleep((useconds_t)i * 100);
        leave(&rig);
    }
}

/* ---- of the library ---- */

static void pass(struct zcrp_entity *sender, struct zcrp_entity *receiver)
{
    struct zcrp_msg *out = zcrp_alloc_msg(BYTES), *in = zcrp_alloc_msg(BYTES);

    memset(out->buffer, 0x55, BYTES);
    memset(in->buffer, 0xEE, BYTES);
    assert_int_equal(zcrp_submit(receiver, in, BYTES), ZCRP_OK);
    assert_int_equal(zcrp_submit(sender, out, BYTES), ZCRP_OK);
    for (int i = 0; i < 20000 && !(zcrp_probe(in) && zcrp_probe(out)); i++)
        usleep(1000); /* the library's threads do all of it */
    assert_int_equal(zcrp_error(in), ZCRP_OK);
    assert_int_equal(zcrp_error(out), ZCRP_OK);
    assert_memory_equal(in->buffer, out->buffer, BYTES);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

static uint64_t unwatched(struct zcrp_entity *e)
{
    struct zcrp_stats stats;

    assert_int_equal(zcrp_stats(e, &stats), ZCRP_OK);
    return stats.unwatched;
}

TEST(entities__whose_sockets_are_not_watched)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *sender, *receiver;

    failure = ENOSPC;
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&sender, sockets.sender, NULL), ZCRP_OK);
    pass(sender, receiver);
    assert_true(unwatched(sender) > 0);
    assert_true(unwatched(receiver) > 0);
    assert_int_equal(zcrp_close(sender), ZCRP_OK);
    assert_int_equal(zcrp_close(receiver), ZCRP_OK);
    loopback_close(&sockets);
}

TEST(connections__whose_sockets_are_not_watched)
{
    struct zcrp_listener *listener;
    struct zcrp_connection *there, *here;
    char port[8];

    failure = ENOMEM;
    assert_int_equal(zcrp_listen(&listener, "127.0.0.1", "0", NULL), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, NULL, 0), ZCRP_OK);
    assert_int_equal(zcrp_accept(listener, &here, 10 * SECOND), ZCRP_OK);
    assert_int_equal(zcrp_connection_wait(there, -1), ZCRP_OK);
    pass(zcrp_connection_sender(there), zcrp_connection_receiver(here));
    pass(zcrp_connection_sender(here), zcrp_connection_receiver(there));
    assert_true(unwatched(zcrp_connection_receiver(here)) > 0);
    assert_int_equal(zcrp_connection_close(there), ZCRP_OK);
    assert_int_equal(zcrp_connection_close(here), ZCRP_OK);
    assert_int_equal(zcrp_listener_close(listener), ZCRP_OK);
}
