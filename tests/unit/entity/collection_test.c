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

static struct list ended_of(int first, int messages, int code)
{
    struct list ended = {.first = NULL};

    for (int i = first; i < first + messages; i++) {
        message_begin(message_of(m[i]), NULL, 0);
        message_decide(message_of(m[i]), code, 0);
        list_add(&ended, message_of(m[i]));
    }
    return ended;
}

static struct completions *put(int first, int messages, int code)
{
    struct wakes wakes = {.count = 0};
    struct list ended = ended_of(first, messages, code);
    struct completions *queue = collection_put(&collection, ended, &wakes);

    ck_assert_uint_eq(wakes.count, 0); /* nobody sleeps */
    for (int i = first; i < first + messages; i++)
        ck_assert(!message_is_in_flight(message_of(m[i])));
    return queue;
}

static void end(int first, int messages)
{
    collection_tell(&collection, put(first, messages, ZCRP_OK));
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
    end(0, 1);
    ck_assert_ptr_null(collection_take(&collection));
    ck_assert_ptr_null(atomic_load(&message_of(m[0])->collection));
}

/* Before anybody takes only what the library lends waits for that. */
TEST(collection_put__off_but_lent)
{
    message_of(m[1])->is_lent = true;
    end(0, 3);
    ck_assert_ptr_null(collection_take(&collection));
    int fd = collection_descriptor(&collection);
    ck_assert(is_readable(fd));
    ck_assert_ptr_eq(collection_take(&collection), message_of(m[1]));
    ck_assert_ptr_null(collection_take(&collection));
    ck_assert(!is_readable(fd));
    message_of(m[1])->is_lent = false;
}

TEST(collection_take__in_order)
{
    int fd = collection_descriptor(&collection);

    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < 3; i++)
        end(i, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert(is_readable(fd));
        ck_assert_ptr_eq(collection_take(&collection), message_of(m[i]));
    }
    ck_assert(!is_readable(fd));
    ck_assert_ptr_null(collection_take(&collection));
}

/* Many rings until somebody looks are one write; after that the next one is heard again. */
TEST(collection_ring__once_until_cleared)
{
    uint64_t rings;
    int fd = collection_descriptor(&collection);

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            end(i, 1);
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

    for (int i = 0; i < 3; i++)
        end(i, 1);
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
    end(0, 1);
    collection_fini(&collection);
    ck_assert_ptr_null(atomic_load(&message_of(m[0])->collection));
    collection_init(&collection);
}

/* Messages that end together keep their order, and each can be taken once its latch is open. */
TEST(collection_put__several)
{
    (void)collection_descriptor(&collection);
    end(0, 1);
    end(1, 2);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(collection_take(&collection), message_of(m[i]));
}

/* How many ended well, whichever way they leave. */
TEST(collection_has_good__whoever_takes_them)
{
    (void)collection_descriptor(&collection);
    ck_assert(!collection_has_good_locked(&collection));
    collection_tell(&collection, put(0, 1, ZCRP_ERROR_CANCELLED));
    ck_assert(!collection_has_good_locked(&collection));
    end(1, 2);
    ck_assert_ptr_eq(collection_take(&collection), message_of(m[0]));
    ck_assert(collection_has_good_locked(&collection));
    collection_withdraw(message_of(m[2]));
    ck_assert(collection_has_good_locked(&collection));
    ck_assert_ptr_eq(collection_take(&collection), message_of(m[1]));
    ck_assert(!collection_has_good_locked(&collection));
}

/* ---- in a queue ---- */

static void count(void *rings)
{
    ++*(int *)rings;
}

/* Whoever asks for the descriptor then finds it readable while messages wait. */
TEST(collection_descriptor__while_messages_wait)
{
    struct completions queue;
    struct sockets *sockets;
    int rings = 0;

    completions_init(&queue, count, &rings, NULL);
    ck_assert(completions_add(&queue, &collection.place, &(struct place){.context = NULL}));
    end(0, 1);
    int fd = collection_descriptor(&collection);
    ck_assert(is_readable(fd));
    ck_assert(collection_leave_queue(&collection, &queue, &sockets));
    ck_assert(is_readable(fd));
    ck_assert_ptr_eq(collection_take(&collection), message_of(m[0]));
    ck_assert(!is_readable(fd));
    completions_fini(&queue);
}

static struct message *take_for_queue(void)
{
    completions_lock();
    int code;
    struct message *taken = collection_take_locked(&collection, &code);
    completions_unlock();
    return taken;
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

/* Another thread leaves the queue, or closes, before the takers are woken. */
TEST(collection_leave_queue__before_it_is_told)
{
    struct completions queue;
    struct sockets *sockets;
    int rings = 0;

    completions_init(&queue, count, &rings, NULL);
    ck_assert(completions_add(&queue, &collection.place, &(struct place){.context = NULL}));
    struct completions *rung = put(0, 3, ZCRP_OK);
    ck_assert(collection_leave_queue(&collection, &queue, &sockets));
    collection_tell(&collection, rung);
    ck_assert_int_eq(rings, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_null(atomic_load(&message_of(m[i])->collection));
    ck_assert(!collection_has_good_locked(&collection));
    completions_fini(&queue);
}

/* The rest waits in the queue, and later ends follow it. */
TEST(collection_put__a_taker_looks)
{
    struct completions queue;
    int rings = 0;

    completions_init(&queue, count, &rings, NULL);
    told.taker = (struct taker){&queue, 1, note_told};
    told.count = 0;
    completions_look_as(&told.taker);
    end(0, 1); /* in no queue */
    ck_assert(completions_add(&queue, &collection.place, &(struct place){.context = NULL}));

    collection_tell(&collection, put(0, 3, ZCRP_ERROR_CANCELLED));
    ck_assert_int_eq(told.count, 1);
    ck_assert_ptr_eq(told.message, m[0]);
    ck_assert_int_eq(told.code, ZCRP_ERROR_CANCELLED);
    ck_assert_int_eq(rings, 1);

    told.taker.left = 1;
    end(0, 1); /* behind those that wait */
    completions_look_as(NULL);
    ck_assert_int_eq(told.count, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(take_for_queue(), message_of(m[(i + 1) % 3]));
    ck_assert_ptr_null(take_for_queue());

    completions_lock();
    (void)place_leave(&collection.place);
    completions_unlock();
    completions_fini(&queue);
}
