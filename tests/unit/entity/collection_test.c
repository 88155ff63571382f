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

    message_begin(message, NULL, 0, 0);
    message_decide(message, ZCRP_OK, 0);
    collection_put(&collection, (struct list){.first = message, .last = message});
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
    collection_put(&collection, ended);
    messages_tell(ended);
    ck_assert_ptr_null(collection_take(&collection));
    end(0);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(collection_take(&collection), message_of(m[i]));
}
