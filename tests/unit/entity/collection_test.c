#include "../../support/suite.h"
#include "link/collection.h"
#include "link/message.h"

#include <poll.h>
#include <unistd.h>

static struct collection collection;
static struct zcrp_msg *m[3];

static bool is_readable(int fd)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};

    return poll(&set, 1, 0) == 1;
}

static void put(int i)
{
    struct message *message = message_of(m[i]);

    struct list ended = {.first = NULL};

    message_begin(message, NULL, 0, 0);
    message_decide(message, ZCRP_OK, 0);
    list_add(&ended, message);
    (void)collection_put(&collection, ended);
}

static void end(int i)
{
    messages_tell((struct list){.first = message_of(m[i]), .last = message_of(m[i])});
    collection_ring(&collection);
}

static void setup(void)
{
    collection_init(&collection);
    for (int i = 0; i < 3; i++)
        m[i] = zcrp_alloc_msg(0);
}

static void teardown(void)
{
    collection_fini(&collection);
    for (int i = 0; i < 3; i++)
        zcrp_free_msg(m[i]);
}

FIXTURE(setup, teardown)

TEST(collection_put__off)
{
    put(0);
    end(0);
    ck_assert_ptr_null(collection_take(&collection));
    ck_assert_ptr_null(atomic_load(&message_of(m[0])->collection));
}

TEST(collection_take__in_order)
{
    int fd = collection_descriptor(&collection);

    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < 3; i++) {
        put(i);
        end(i);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert(is_readable(fd));
        ck_assert_ptr_eq(collection_take(&collection), message_of(m[i]));
    }
    ck_assert(!is_readable(fd));
    ck_assert_ptr_null(collection_take(&collection));
}

/* Between put and the opening of its latch the message is not given out, and its ring is kept. */
TEST(collection_take__latch_closed)
{
    int fd = collection_descriptor(&collection);

    put(0);
    ck_assert_ptr_null(collection_take(&collection));
    end(0);
    ck_assert(is_readable(fd));
    ck_assert_ptr_eq(collection_take(&collection), message_of(m[0]));
}

/* Many rings until somebody looks are one write; after that the next one is heard again. */
TEST(collection_ring__once_until_cleared)
{
    uint64_t rings;
    int fd = collection_descriptor(&collection);

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            put(i);
            end(i);
        }
        ck_assert_int_eq(read(fd, &rings, sizeof rings), sizeof rings);
        ck_assert_uint_eq(rings, 1);
        for (int i = 0; i < 3; i++)
            ck_assert_ptr_eq(collection_take(&collection), message_of(m[i]));
    }
}

TEST(collection_withdraw__anywhere)
{
    int fd = collection_descriptor(&collection);

    for (int i = 0; i < 3; i++) {
        put(i);
        end(i);
    }
    collection_withdraw(message_of(m[1]));
    collection_withdraw(message_of(m[1]));
    ck_assert_ptr_eq(collection_take(&collection), message_of(m[0]));
    collection_withdraw(message_of(m[2]));
    ck_assert_ptr_null(collection_take(&collection));
    ck_assert(!is_readable(fd));
}

/* The messages outlive it, and can be freed. */
TEST(collection_fini__with_messages)
{
    (void)collection_descriptor(&collection);
    put(0);
    end(0);
    collection_fini(&collection);
    ck_assert_ptr_null(atomic_load(&message_of(m[0])->collection));
    collection_init(&collection);
}

/* Messages that end together keep their order, and each can be taken once its latch is open. */
TEST(collection_put__several)
{
    struct list ended = {.first = NULL};

    (void)collection_descriptor(&collection);
    put(0);
    for (int i = 1; i < 3; i++) {
        message_begin(message_of(m[i]), NULL, 0, 0);
        message_decide(message_of(m[i]), ZCRP_OK, 0);
        list_add(&ended, message_of(m[i]));
    }
    (void)collection_put(&collection, ended);
    messages_tell(ended);
    ck_assert_ptr_null(collection_take(&collection));
    end(0);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(collection_take(&collection), message_of(m[i]));
}

/* ---- in a queue ---- */

static void count(void *rings)
{
    ++*(int *)rings;
}

static struct message *take_for_queue(struct completions *queue)
{
    completions_lock();
    int code;
    struct message *taken = collection_take_locked(&collection, &code);
    if (taken == NULL)
        completions_put_back(queue, &collection.place, 0); /* it will be told of */
    completions_unlock();
    return taken;
}

TEST(collection_tell__who_took_too_early_is_told)
{
    struct message *message = message_of(m[0]);
    const struct list ended = {.first = message, .last = message};
    struct completions queue;
    int rings = 0;

    completions_init(&queue, count, &rings, NULL);
    ck_assert(completions_add(&queue, &collection.place, &(struct place){.context = NULL}));
    message_begin(message, NULL, 0, 0);
    message_decide(message, ZCRP_OK, 0);
    struct completions *told = collection_put(&collection, ended);
    ck_assert_ptr_eq(told, &queue);
    ck_assert(completions_are_ready(&queue));
    ck_assert_ptr_null(take_for_queue(&queue));
    ck_assert(!completions_are_ready(&queue));
    messages_tell(ended);
    collection_tell(&collection, told);
    ck_assert(completions_are_ready(&queue));
    ck_assert_int_eq(rings, 2);
    ck_assert_ptr_eq(take_for_queue(&queue), message);

    ck_assert(!atomic_load(&collection.is_early));
    completions_lock();
    (void)place_leave(&collection.place);
    completions_unlock();
    completions_fini(&queue);
}

/* ---- a taker that looks ---- */

static struct {
    struct taker taker; /* first */
    int count;
    void *message;
    int code;
} told;

static void note_told(struct taker *t, struct place *p, void *message, int code)
{
    ck_assert_ptr_eq(t, &told.taker);
    ck_assert_ptr_eq(p, &collection.place);
    t->left--;
    told.count++;
    told.message = message;
    told.code = code;
}

static struct list ended_of(int messages)
{
    struct list ended = {.first = NULL};

    for (int i = 0; i < messages; i++) {
        message_begin(message_of(m[i]), NULL, 0, 0);
        message_decide(message_of(m[i]), ZCRP_ERROR_CANCELLED, 0);
        list_add(&ended, message_of(m[i]));
    }
    return ended;
}

/* Another thread leaves the queue, or closes, while this one opens the latches. */
TEST(collection_leave_queue__while_messages_are_told)
{
    struct completions queue;
    struct sockets *sockets;
    int rings = 0;

    completions_init(&queue, count, &rings, NULL);
    ck_assert(completions_add(&queue, &collection.place, &(struct place){.context = NULL}));
    const struct list ended = ended_of(3);
    struct completions *rung = collection_put(&collection, ended);
    ck_assert(collection_leave_queue(&collection, &queue, &sockets));
    messages_tell(ended);
    collection_tell(&collection, rung);
    for (int i = 0; i < 3; i++)
        ck_assert(!message_is_in_flight(message_of(m[i])));
    completions_fini(&queue);
}

/* The rest waits in the queue, and later ends follow it. */
TEST(collection_hand_over__as_many_as_there_is_room_for)
{
    struct completions queue;
    int rings = 0;

    completions_init(&queue, count, &rings, NULL);
    told.taker = (struct taker){&queue, 1, note_told};
    told.count = 0;
    completions_look_as(&told.taker);
    struct list rest = collection_hand_over(&collection, ended_of(1)); /* in no queue */
    ck_assert_ptr_eq(rest.first, message_of(m[0]));
    messages_tell(rest);
    ck_assert(completions_add(&queue, &collection.place, &(struct place){.context = NULL}));

    rest = collection_hand_over(&collection, ended_of(3));
    ck_assert_int_eq(told.count, 1);
    ck_assert_ptr_eq(told.message, m[0]);
    ck_assert_int_eq(told.code, ZCRP_ERROR_CANCELLED);
    ck_assert(!message_is_in_flight(message_of(m[0])));
    ck_assert_ptr_eq(rest.first, message_of(m[1]));
    completions_ring(collection_put(&collection, rest));
    messages_tell(rest);
    ck_assert_int_eq(rings, 1);

    told.taker.left = 1;
    rest = collection_hand_over(&collection, ended_of(1)); /* behind those that wait */
    ck_assert_ptr_eq(rest.first, message_of(m[0]));
    messages_tell(rest);
    completions_look_as(NULL);
    ck_assert_int_eq(told.count, 1);
    for (int i = 1; i < 3; i++)
        ck_assert_ptr_eq(take_for_queue(&queue), message_of(m[i]));
    ck_assert_ptr_null(take_for_queue(&queue));

    completions_lock();
    (void)place_leave(&collection.place);
    completions_unlock();
    completions_fini(&queue);
}
