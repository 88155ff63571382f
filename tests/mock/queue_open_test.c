/* Queues on a machine that has too little: of memory, threads, descriptors, room in epoll. Opening
 * fails cleanly, and the next attempt succeeds. What is added is told of all the same: where there
 * is no room for its socket, the engine receives. */
/* wrap: malloc calloc aligned_alloc posix_memalign mmap pthread_create eventfd */
/* wrap: epoll_create1 epoll_ctl */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg */
#include "../support/mock.h"
#include "../support/own.h"
#include "entity_faults.h"

#include "zcrp.h"
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __real_epoll_ctl(int epoll, int call, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int call, int fd, struct epoll_event *event);

static const int64_t second = 1000000000;
static struct fault epolls, watches;

int __wrap_epoll_create1(int flags)
{
    return fails(&epolls) ? -1 : __real_epoll_create1(flags);
}

int __wrap_epoll_ctl(int epoll, int call, int fd, struct epoll_event *event)
{
    return call == EPOLL_CTL_ADD && fails(&watches) ? -1 : __real_epoll_ctl(epoll, call, fd, event);
}

static const struct lack {
    struct fault *fault;
    int error, code;
} lacks[] = {
    {&memory, ENOMEM, ZCRP_ERROR_MEMORY},      {&threads, EAGAIN, ZCRP_ERROR_SYSTEM},
    {&descriptors, EMFILE, ZCRP_ERROR_SYSTEM}, {&epolls, EMFILE, ZCRP_ERROR_SYSTEM},
    {&watches, ENOSPC, ZCRP_ERROR_SYSTEM},
};
enum { LACKS = sizeof(lacks) / sizeof(lacks[0]) };

FIXTURE(heal, NULL)

TEST(queue_open__with_too_little)
{
    int before = own_descriptors();

    for (int i = 0; i < LACKS; i++) {
        bool is_lacking = true;
        for (int n = 1; is_lacking; n++) {
            struct zcrp_queue *q;
            set_fault(lacks[i].fault, n, 0, lacks[i].error);
            int code = zcrp_queue_open(&q);
            is_lacking = lacks[i].fault->count > 0;
            set_fault(lacks[i].fault, 0, 0, 0);
            assert_true(code == ZCRP_OK || (is_lacking && code == lacks[i].code));
            assert_int_equal(code == ZCRP_OK, q != NULL);
            assert_int_equal(zcrp_queue_close(q), ZCRP_OK);
            assert_int_equal(own_descriptors(), before);
            assert_true(is_lacking || n > 1);
        }
    }
}

/* Messages arrive, whether or not the queue has room for the socket. */
TEST(queue_add__with_too_little)
{
    struct zcrp_listener *l;
    struct zcrp_connection *there, *here;
    struct zcrp_msg *in = zcrp_alloc_msg(100), *out = zcrp_alloc_msg(100);
    char port[8];

    memset(out->buffer, 0x55, 100);
    assert_int_equal(zcrp_listen(&l, "127.0.0.1", "0", NULL), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(l));
    assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, NULL, 5 * second), ZCRP_OK);
    assert_int_equal(zcrp_accept(l, &here, 5 * second), ZCRP_OK);
    for (struct fault *const *f = (struct fault *const[]){&memory, &watches, NULL}; *f; f++) {
        struct zcrp_completion c = {.kind = 0};
        struct zcrp_queue *q;
        assert_int_equal(zcrp_queue_open(&q), ZCRP_OK);
        set_fault(*f, 1, 0, ENOMEM);
        assert_int_equal(zcrp_queue_add_connection(q, here, NULL), ZCRP_OK);
        assert_int_equal((*f)->count, 1);
        assert_int_equal(zcrp_submit(zcrp_connection_receiver(here), in, 100), ZCRP_OK);
        assert_int_equal(zcrp_submit(zcrp_connection_sender(there), out, 100), ZCRP_OK);
        while (c.message != in)
            assert_int_equal(zcrp_queue_take(q, &c, 1, 5 * second), 1);
        assert_int_equal(zcrp_wait_for(out, 5 * second), ZCRP_OK);
        assert_int_equal(zcrp_queue_close(q), ZCRP_OK);
    }
    (void)zcrp_connection_close(there);
    (void)zcrp_connection_close(here);
    assert_int_equal(zcrp_listener_close(l), ZCRP_OK);
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}
