/* A copy, and a message of several pieces, for which there is no memory. */
/* wrap: malloc calloc aligned_alloc posix_memalign mmap pthread_create eventfd free */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg */
#include "../support/loopback.h"
#include "../support/mock.h"
#include "entity_faults.h"
#include "link/message.h"

#include "zcrp.h"

#include <sys/wait.h>
#include <unistd.h>

static _Atomic int frees;
static void *block_of_child; /* which nobody else may free */
static _Atomic int thefts;

void __real_free(void *block);
void __wrap_free(void *block)
{
    frees += block != NULL;
    thefts += block != NULL && block == block_of_child;
    __real_free(block);
}

FIXTURE(heal, NULL)

TEST(wrap_iov__without_memory)
{
    struct iovec pieces[] = {{"one", 3}, {"two", 3}};

    set_fault(&memory, 1, 0, ENOMEM);
    errno = 0;
    assert_null(zcrp_wrap_iov(pieces, 2));
    assert_int_equal(errno, ENOMEM);
    heal();
    zcrp_free_msg(zcrp_wrap_iov(pieces, 2));
}

/* Nothing was sent, and the next one is. */
TEST(send_copy__without_memory)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_entity *s, *r;
    struct zcrp_msg *m = zcrp_alloc_msg(10);

    assert_int_equal(zcrp_open_receiver(&r, sockets.receiver, NULL), ZCRP_OK);
    assert_int_equal(zcrp_open_sender(&s, sockets.sender, NULL), ZCRP_OK);
    assert_int_equal(zcrp_submit(r, m, 10), ZCRP_OK);
    set_fault(&memory, 1, 0, ENOMEM);
    assert_int_equal(zcrp_send_copy(s, "lost", 4), ZCRP_ERROR_MEMORY);
    heal();
    assert_int_equal(zcrp_send_copy(s, "found", 5), ZCRP_OK);
    assert_int_equal(zcrp_wait_for(m, 10 * INT64_C(1000000000)), ZCRP_OK);
    assert_int_equal(m->length, 5);
    assert_memory_equal(m->buffer, "found", 5);
    assert_int_equal(zcrp_close(s), ZCRP_OK);
    assert_int_equal(zcrp_close(r), ZCRP_OK);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

enum { IN_MACHINE = 8, COPIES = 20 };

/* How much a child frees that closes the sender with that many copies in flight. */
static int frees_in_a_child(struct zcrp_entity *s)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        frees = 0;
        _exit(zcrp_close(s) == ZCRP_OK ? frees : 255);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 255);
    return WEXITSTATUS(status);
}

/* They are nobody's but the sender's. A thread of the parent's may have been within the sender as
 * the process forked: then they are left, and so this tries more than once. */
TEST(send_copy__a_child_frees_them)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    const struct zcrp_options options = {.messages = IN_MACHINE, .linger_ns = 1};
    struct zcrp_entity *s;
    int without = 0, with = 0;

    assert_int_equal(zcrp_open_sender(&s, sockets.sender, &options), ZCRP_OK);
    without = frees_in_a_child(s);
    for (int i = 0; i < COPIES; i++)
        assert_int_equal(zcrp_send_copy(s, "copy", 5), ZCRP_OK);
    for (int i = 0; i < 20 && with < without + COPIES; i++)
        with = frees_in_a_child(s);
    assert_int_equal(with, without + COPIES);
    (void)zcrp_close(s);
    loopback_close(&sockets);
}

/* In a child that has freed a message which its parent has in flight, and uses that memory for
 * something else: closing the sender does not look there any more. The exit status is how often the
 * child's own block was freed. */
static _Noreturn void reuse_and_close(struct zcrp_entity *s, struct zcrp_msg *flying)
{
    zcrp_free_msg(flying);
    block_of_child = malloc(sizeof(struct message));
    memset(block_of_child, 1, sizeof(struct message));
    thefts = 0;
    _exit(zcrp_close(s) == ZCRP_OK ? thefts : 255);
}

TEST(send_copy__a_child_frees_a_message_before_it_closes_the_sender)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    const struct zcrp_options options = {.messages = IN_MACHINE, .linger_ns = 1};
    struct zcrp_msg *flying = zcrp_wrap_msg("flying", 6);
    struct zcrp_entity *s;
    int status;

    assert_int_equal(zcrp_open_sender(&s, sockets.sender, &options), ZCRP_OK);
    assert_int_equal(zcrp_send_copy(s, "copy", 5), ZCRP_OK);
    assert_int_equal(zcrp_submit(s, flying, 6), ZCRP_OK);
    for (int i = 0; i < 20; i++) { /* another thread may be within the sender: then all is left */
        pid_t child = fork();
        if (child == 0)
            reuse_and_close(s, flying);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    (void)zcrp_close(s);
    zcrp_free_msg(flying);
    loopback_close(&sockets);
}
