/* A set of sockets: whose turns a look does, and what a turn may want next. The sockets are wakes,
 * which are readable until they are cleared. */
#include "../../support/suite.h"
#include "platform/system.h"
#include "workers/sockets.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct client {
    struct sockets_member member;
    struct wake socket;
    instant next;     /* what its turns return */
    bool has_memory;  /* what its glances find, and its rest */
    bool is_for_user; /* its last turn */
    bool is_held;     /* something waits for the user's answer */
    int resumes;
    _Atomic int turns, glances, rests, lefts;
    _Atomic bool is_slow;           /* a turn lasts while it is, */
    _Atomic bool is_slow_to_glance; /* and a glance while this is */
};

static struct sockets set, other;
static struct client client[3];

static instant arrive(void *context)
{
    struct client *c = context;

    c->turns++;
    c->is_for_user = sockets_are_users(&c->member);
    wake_clear(&c->socket);
    while (c->is_slow)
        usleep(100);
    return c->next;
}

static bool glance(void *context)
{
    struct client *c = context;

    c->glances++;
    while (c->is_slow_to_glance)
        usleep(100);
    return c->has_memory;
}

static bool rest(void *context)
{
    struct client *c = context;

    c->rests++;
    return !c->has_memory;
}

static bool holds(void *context)
{
    return ((struct client *)context)->is_held;
}

static void resume(void *context)
{
    ((struct client *)context)->resumes++;
}

/* Within the last turn. */
static void left(void *context)
{
    struct client *c = context;

    ck_assert(sockets_member_is_in(&c->member));
    c->lefts++;
}

static const struct sockets_duties duties = {.arrive = arrive,
                                             .glance = glance,
                                             .rest = rest,
                                             .holds = holds,
                                             .resume = resume,
                                             .left = left};

static bool add_to(struct sockets *s, int i)
{
    const struct sockets_client as = {
        .duties = &duties, .client = &client[i], .fd = client[i].socket.fd, .patience = 0};

    return sockets_add(s, &client[i].member, &as);
}

static void begin(void)
{
    ck_assert_int_eq(sockets_init(&set), 0);
    ck_assert_int_eq(sockets_init(&other), 0);
    memset(client, 0, sizeof(client));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(wake_init(&client[i].socket), 0);
        sockets_member_init(&client[i].member);
        client[i].next = SOCKETS_ARM;
        ck_assert(add_to(&set, i));
    }
}

static void end(void)
{
    for (int i = 0; i < 3; i++) {
        (void)sockets_remove(&set, &client[i].member);
        sockets_member_fini(&client[i].member);
        wake_fini(&client[i].socket);
    }
    sockets_fini(&set);
    sockets_fini(&other);
}

FIXTURE(begin, end)

static bool is_readable(void)
{
    struct pollfd epoll = {.fd = set.epoll, .events = POLLIN};

    return poll(&epoll, 1, 0) == 1;
}

TEST(sockets_look__turns_of_those_that_have_something)
{
    ck_assert(!sockets_look(&set, 0));
    ck_assert(!is_readable());
    wake_signal(&client[0].socket);
    wake_signal(&client[2].socket);
    ck_assert(is_readable());
    ck_assert(sockets_look(&set, NEVER));
    ck_assert_int_eq(client[0].turns, 1);
    ck_assert_int_eq(client[1].turns, 0);
    ck_assert_int_eq(client[2].turns, 1);
    ck_assert(!sockets_look(&set, clock_now() + MILLISECOND));
}

TEST(sockets_look__ended_by_the_wake)
{
    wake_signal(&set.wake);
    ck_assert(sockets_look(&set, NEVER));
    ck_assert(!sockets_look(&set, 0));
}

/* One that is left alone is not looked at until somebody arms it. */
TEST(sockets_arm__after_leave_be)
{
    client[0].next = SOCKETS_LEAVE_BE;
    wake_signal(&client[0].socket);
    ck_assert(sockets_look(&set, 0));
    wake_signal(&client[0].socket);
    ck_assert(!sockets_look(&set, 0));
    ck_assert(!is_readable());
    ck_assert(sockets_arm(&client[0].member));
    ck_assert(sockets_look(&set, 0));
    ck_assert_int_eq(client[0].turns, 2);
}

/* A nap ends by the time, whatever arrives. A busy machine may keep this thread waiting longer. */
TEST(sockets_due__of_a_nap)
{
    instant until = clock_now() + 20 * MILLISECOND;
    client[0].next = until;
    wake_signal(&client[0].socket);
    ck_assert(sockets_look(&set, 0));
    ck_assert_int_eq(sockets_due(&set), until);
    wake_signal(&client[0].socket);
    if (sockets_look(&set, 0)) {
        ck_assert_int_ge(clock_now(), until);
        return;
    }
    client[0].next = SOCKETS_ARM;
    ck_assert(sockets_look(&set, NEVER));
    ck_assert_int_eq(client[0].turns, 2);
    ck_assert_int_eq(sockets_due(&set), NEVER);
}

/* In a child the members go first, and no thread is left that would take them out. */
TEST(sockets_abandon__members_are_gone)
{
    struct sockets s;
    struct client *c = calloc(1, sizeof(*c));

    ck_assert_int_eq(sockets_init(&s), 0);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(wake_init(&c->socket), 0);
    sockets_member_init(&c->member);
    const struct sockets_client as = {.duties = &duties, .client = c, .fd = c->socket.fd};
    ck_assert(sockets_add(&s, &c->member, &as));
    c->next = clock_now() + SECOND;
    wake_signal(&c->socket);
    ck_assert(sockets_look(&s, 0));
    ck_assert_int_eq(sockets_due(&s), c->next);
    wake_fini(&c->socket);
    free(c);
    sockets_abandon(&s);
}

/* What the socket does not tell of. */
TEST(sockets_arrive__without_a_datagram)
{
    ck_assert(sockets_arrive(&client[1].member));
    ck_assert(is_readable());
    ck_assert(sockets_look(&set, 0));
    ck_assert_int_eq(client[1].turns, 1);
}

/* A member that is polled is glanced at by each look, which mostly asks nobody else, until it has
 * had nothing for as long as it says. */
TEST(sockets_look__polls)
{
    client[0].next = SOCKETS_POLL;
    client[0].has_memory = true;
    wake_signal(&client[0].socket);
    ck_assert(sockets_look(&set, 0));
    ck_assert(sockets_are_polled(&set));
    ck_assert(!sockets_are_all_polled(&set));
    for (int i = 0; i < 100; i++)
        ck_assert(sockets_look(&set, NEVER));
    ck_assert_int_eq(client[0].glances, 100);
    wake_signal(&client[1].socket);
    for (int i = 0; i < 100 && client[1].turns == 0; i++)
        ck_assert(sockets_look(&set, 0));
    ck_assert_int_eq(client[1].turns, 1);
    for (int i = 2; i < 10; i++) {
        wake_signal(&client[1].socket);
        sockets_hear(&set);
        ck_assert(sockets_look(&set, 0));
        ck_assert_int_eq(client[1].turns, i);
    }
    ck_assert(!sockets_rest(&set));
    ck_assert(sockets_are_polled(&set));
    client[0].has_memory = false;
    (void)sockets_look(&set, 0);
    ck_assert(!sockets_are_polled(&set));
    ck_assert_int_eq(client[0].rests, 2);
    ck_assert(sockets_rest(&set));
    ck_assert_int_eq(client[0].rests, 2);
}

TEST(sockets_rest__all)
{
    for (int i = 0; i < 3; i++) {
        client[i].next = SOCKETS_POLL;
        wake_signal(&client[i].socket);
    }
    ck_assert(!sockets_are_all_polled(&set));
    ck_assert(sockets_look(&set, 0));
    ck_assert(sockets_are_all_polled(&set));
    ck_assert(sockets_rest(&set));
    ck_assert(!sockets_are_polled(&set));
}

/* A user hears at once of what its look has found, unless that is much. */
TEST(sockets_are_users__of_few, .rows = 4)
{
    bool is_users = _i % 2 == 1, are_few = _i / 2 == 1;

    for (int i = 0; i < (are_few ? 2 : 3); i++)
        wake_signal(&client[i].socket);
    set.is_users = is_users;
    ck_assert(sockets_look(&set, 0));
    ck_assert_int_eq(client[0].is_for_user, is_users && are_few);
}

/* A user that asks need not ask epoll first. Somebody else's look does, and a sleeper is woken. */
TEST(sockets_look__only_member)
{
    for (int i = 1; i < 3; i++)
        ck_assert(sockets_remove(&set, &client[i].member));
    ck_assert(!sockets_look(&set, 0));
    ck_assert_int_eq(client[0].turns, 0);
    set.is_users = true;
    (void)sockets_look(&set, 0); /* of epoll, which has its turn now and then */
    (void)sockets_look(&set, 0);
    ck_assert_int_eq(client[0].turns, 1);
    ck_assert_int_eq(client[0].is_for_user, true);
    sockets_hear(&set);
    wake_signal(&set.wake);
    (void)sockets_look(&set, 0);
    ck_assert_int_eq(client[0].turns, 2);
    ck_assert(sockets_look(&set, NEVER)); /* by the wake */
    ck_assert_int_eq(client[0].turns, 2);
    client[0].next = SOCKETS_LEAVE_BE;
    for (int i = 0; i < 3; i++)
        (void)sockets_look(&set, 0);
    ck_assert_int_eq(client[0].turns, 3);
}

/* A program that polls the set's epoll, and only asks, is not woken for ever by one wake. */
TEST(sockets_look__only_member_and_the_wake)
{
    for (int i = 1; i < 3; i++)
        ck_assert(sockets_remove(&set, &client[i].member));
    set.is_users = true;
    wake_signal(&set.wake);
    for (int i = 0; i < 64; i++)
        (void)sockets_look(&set, 0);
    ck_assert(!is_readable());
    ck_assert_int_gt(client[0].turns, 32);
}

/* A glance looks at no socket. */
TEST(sockets_glance__memory_alone)
{
    ck_assert(!sockets_glance(&set));
    client[0].next = SOCKETS_POLL;
    client[0].has_memory = true;
    wake_signal(&client[0].socket);
    ck_assert(sockets_look(&set, 0));
    wake_signal(&client[1].socket);
    ck_assert(sockets_glance(&set));
    ck_assert_int_eq(client[0].glances, 1);
    client[0].has_memory = false;
    ck_assert(!sockets_glance(&set));
    ck_assert_int_eq(client[1].turns, 0);
}

/* What was held for an answer since the last look goes when the user looks again, unless it has
 * gone by then. */
TEST(sockets_resume__what_is_held)
{
    for (int i = 0; i < 3; i++) {
        client[i].is_held = i > 0;
        wake_signal(&client[i].socket);
    }
    ck_assert(sockets_look(&set, 0));
    client[0].is_held = true;
    client[2].is_held = false;
    sockets_resume(&set);
    sockets_resume(&set);
    ck_assert_int_eq(client[0].resumes, 0);
    ck_assert_int_eq(client[1].resumes, 1);
    ck_assert_int_eq(client[2].resumes, 0);
}

TEST(sockets_resume__after_a_removal, .rows = 2)
{
    for (int i = 0; i < 3; i++) {
        client[i].is_held = true;
        wake_signal(&client[i].socket);
    }
    ck_assert(sockets_look(&set, 0));
    ck_assert(sockets_remove(&set, &client[_i].member));
    sockets_resume(&set);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(client[i].resumes, i != _i);
}

/* The last user removes it; then nothing concerns it. */
TEST(sockets_remove__last_user)
{
    struct sockets_member *m = &client[0].member;

    client[0].next = SOCKETS_POLL;
    wake_signal(&client[0].socket);
    ck_assert(sockets_look(&set, 0));
    ck_assert(add_to(&set, 0));
    ck_assert(!sockets_remove(&other, m));
    ck_assert(!sockets_remove(&set, m));
    ck_assert(sockets_member_is_in(m));
    ck_assert(sockets_remove(&set, m));
    ck_assert(!sockets_member_is_in(m));
    ck_assert(!sockets_remove(&set, m));
    ck_assert(!sockets_are_polled(&set));
    wake_signal(&client[0].socket);
    ck_assert(!sockets_look(&set, 0));
    ck_assert(!sockets_arm(m));
    ck_assert(!sockets_arrive(m));
}

TEST(sockets_add__to_one_set)
{
    ck_assert(!add_to(&other, 0));
    ck_assert(sockets_remove(&set, &client[0].member));
    ck_assert(add_to(&other, 0));
    ck_assert(!add_to(&set, 0));
    ck_assert(sockets_remove(&other, &client[0].member));
}

/* There is no room where the system does not watch the descriptor: a file. Nothing has changed. */
TEST(sockets_add__no_room)
{
    struct sockets_member m;
    const struct sockets_client as = {.duties = &duties, .fd = 99999};

    sockets_member_init(&m);
    ck_assert(!sockets_add(&set, &m, &as));
    ck_assert(!sockets_member_is_in(&m));
    ck_assert(!sockets_arm(&m));
    sockets_member_fini(&m);
}

/* More than the table has room for at first. */
TEST(sockets_add__many)
{
    enum { MANY = 100 };
    static struct client crowd[MANY];

    for (int i = 0; i < MANY; i++) {
        struct client *c = &crowd[i];
        ck_assert_int_eq(wake_init(&c->socket), 0);
        sockets_member_init(&c->member);
        c->next = SOCKETS_ARM;
        const struct sockets_client as = {.duties = &duties, .client = c, .fd = c->socket.fd};
        ck_assert(sockets_add(&set, &c->member, &as));
        wake_signal(&c->socket);
    }
    while (sockets_look(&set, 0))
        continue;
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(crowd[i].turns, 1);
        ck_assert(sockets_remove(&set, &crowd[i].member));
        sockets_member_fini(&crowd[i].member);
        wake_fini(&crowd[i].socket);
    }
}

static void *look(void *context)
{
    (void)context;
    (void)sockets_look(&set, 0);
    return NULL;
}

/* A turn of the first client that lasts until is_slow is unset. */
static pthread_t begin_slow_turn(void)
{
    pthread_t looker;

    client[0].is_slow = true;
    wake_signal(&client[0].socket);
    ck_assert_int_eq(pthread_create(&looker, NULL, look, NULL), 0);
    while (client[0].turns == 0)
        usleep(100);
    return looker;
}

/* One turn of a member at a time; removing waits for it. */
TEST(sockets_remove__waits_for_the_turn)
{
    pthread_t remover, looker = begin_slow_turn();

    wake_signal(&client[0].socket);
    ck_assert_int_eq(pthread_create(&remover, NULL, look, NULL), 0);
    ck_assert_int_eq(pthread_join(remover, NULL), 0);
    ck_assert_int_eq(client[0].turns, 1);
    client[0].is_slow = false;
    ck_assert(sockets_remove(&set, &client[0].member));
    ck_assert_uint_eq(atomic_load(&client[0].member.turn), 0);
    ck_assert_int_eq(pthread_join(looker, NULL), 0);
}

/* Removing does not wait for a turn that takes long, whose end takes the member out. What that turn
 * wants next concerns nobody, and the set stays until then. */
TEST(sockets_remove__during_a_long_turn)
{
    struct sockets_member *m = &client[0].member;

    client[0].next = SOCKETS_POLL;
    pthread_t looker = begin_slow_turn();
    ck_assert(sockets_remove(&set, m));
    ck_assert(sockets_member_is_in(m));
    ck_assert(!sockets_arm(m));
    ck_assert(!sockets_arrive(m));
    ck_assert(!add_to(&set, 0));
    ck_assert(!add_to(&other, 0));
    ck_assert(!sockets_remove(&set, m));
    ck_assert_int_eq(client[0].lefts, 0);
    client[0].is_slow = false;
    while (sockets_member_is_in(m))
        usleep(100);
    ck_assert_int_eq(client[0].lefts, 1);
    ck_assert(!sockets_are_polled(&set));
    ck_assert_int_eq(pthread_join(looker, NULL), 0);
    ck_assert_uint_eq(set.members, 2);
    client[0].next = SOCKETS_ARM;
    ck_assert(add_to(&set, 0));
    wake_signal(&client[0].socket);
    ck_assert(sockets_look(&set, 0));
    ck_assert_int_eq(client[0].turns, 2);
}

static void *glance_at_set(void *context)
{
    (void)context;
    (void)sockets_glance(&set);
    return NULL;
}

/* So often that one of them asks more than memory. */
static void look_often(void)
{
    for (int i = 0; i < 64; i++)
        (void)sockets_look(&set, 0);
}

/* A nap that ends while another thread glances at its member has its turn behind that; and nobody
 * goes to sleep meanwhile. */
TEST(sockets_look__nap_ends_beside_a_glance)
{
    pthread_t glancer;

    client[0].next = SOCKETS_POLL;
    wake_signal(&client[0].socket);
    ck_assert(sockets_look(&set, 0));
    client[0].has_memory = true;
    instant until = clock_now() + 50 * MILLISECOND;
    client[0].next = until;
    ck_assert(sockets_arrive(&client[0].member));
    look_often();
    if (clock_now() >= until)
        return; /* this thread got no processor meanwhile */
    ck_assert_int_eq(client[0].turns, 2);
    client[0].next = SOCKETS_ARM;
    client[0].glances = 0;
    client[0].is_slow_to_glance = true;
    ck_assert_int_eq(pthread_create(&glancer, NULL, glance_at_set, NULL), 0);
    while (client[0].glances == 0)
        usleep(100);
    ck_assert(!sockets_rest(&set));
    usleep(50000);
    look_often();
    ck_assert_int_eq(client[0].turns, 2);
    client[0].is_slow_to_glance = false;
    ck_assert_int_eq(pthread_join(glancer, NULL), 0);
    look_often();
    ck_assert_int_eq(client[0].turns, 3);
}
