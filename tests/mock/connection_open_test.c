/* Listeners and connections on a machine that has too little: of memory, threads, descriptors.
 * Whichever call fails: a clean error, nothing is left, and the next attempt succeeds. Over UDP and
 * over AAL5. */
/* wrap: malloc calloc aligned_alloc posix_memalign mmap pthread_create eventfd */
/* wrap: sendmsg sendmmsg recvmsg recvmmsg listen_admit */
#include "../support/mock.h"
#include "../support/own.h"
#include "entity_faults.h"

#include "accept/listen.h"
#include "zcrp.h"
#include <stdio.h>
#include <unistd.h>

int __real_listen_admit(const struct listen_socket *l, const struct caller *caller, int *child,
                        listen_hear hear, void *context);
int __wrap_listen_admit(const struct listen_socket *l, const struct caller *caller, int *child,
                        listen_hear hear, void *context);

static const int64_t second = 1000000000;
static struct zcrp_options options = {.linger_ns = 1000000, .messages = 16};

struct lack {
    struct fault *fault;
    int error, code;
};

static const struct lack lacks[] = {
    {&memory, ENOMEM, ZCRP_ERROR_MEMORY},
    {&threads, EAGAIN, ZCRP_ERROR_SYSTEM},
    {&descriptors, EMFILE, ZCRP_ERROR_SYSTEM},
};
enum { LACKS = sizeof(lacks) / sizeof(lacks[0]) };

static void begin(const struct lack *lack, int n)
{
    set_fault(lack->fault, n, 0, lack->error);
}

/* True if the call has met the fault, and said so. A thread of the library may have met it instead,
 * and bears it. */
static bool has_failed(const struct lack *lack, int code, const void *made)
{
    bool is_fault = lack->fault->count > 0;

    set_fault(lack->fault, 0, 0, lack->error);
    assert_true(code == ZCRP_OK || (is_fault && code == lack->code));
    assert_int_equal(code == ZCRP_OK, made != NULL);
    return is_fault;
}

static void setup(void)
{
    heal();
    options.channel = ZCRP_CHANNEL_AUTO;
}

FIXTURE(setup, NULL)

static void listen_with_too_little(void)
{
    int before = own_descriptors();
    for (int i = 0; i < LACKS; i++) {
        bool is_lacking = true;
        for (int n = 1; is_lacking; n++) {
            struct zcrp_listener *l;
            begin(&lacks[i], n);
            int code = zcrp_listen(&l, "127.0.0.1", "0", &options);
            is_lacking = has_failed(&lacks[i], code, l);
            assert_int_equal(zcrp_listener_close(l), ZCRP_OK);
            assert_int_equal(own_descriptors(), before);
            assert_true(is_lacking || n > 1);
        }
    }
}

static void connect_with_too_little(void)
{
    int before = own_descriptors();
    for (int i = 0; i < LACKS; i++) {
        bool is_lacking = true;
        for (int n = 1; is_lacking; n++) {
            struct zcrp_connection *c;
            begin(&lacks[i], n);
            int code = zcrp_connect(&c, "127.0.0.1", "9", &options, 0);
            is_lacking = has_failed(&lacks[i], code, c);
            (void)zcrp_connection_close(c);
            assert_int_equal(own_descriptors(), before);
            assert_true(is_lacking || n > 1);
        }
    }
}

/* What is lacking, from the next admission on: the connection is made behind it, by a thread of the
 * library. */
static const struct lack *_Atomic armed;
static _Atomic int armed_at;

int __wrap_listen_admit(const struct listen_socket *l, const struct caller *caller, int *child,
                        listen_hear hear, void *context)
{
    int error = __real_listen_admit(l, caller, child, hear, context);
    const struct lack *lack = atomic_exchange(&armed, NULL);

    if (lack != NULL)
        begin(lack, armed_at);
    return error;
}

/* Whoever could not be admitted is forgotten, and calls again; the user of the listener is told. */
static void admit_with_too_little(void)
{
    char port[8];
    struct zcrp_listener *l;
    struct zcrp_listener_stats stats;

    assert_int_equal(zcrp_listen(&l, "127.0.0.1", "0", &options), ZCRP_OK);
    snprintf(port, sizeof(port), "%d", zcrp_listener_port(l));
    int before = own_descriptors();
    for (int i = 0; i < LACKS; i++) {
        bool is_lacking = true;
        for (int n = 1; is_lacking; n++) {
            struct zcrp_connection *there, *here;
            armed_at = n;
            armed = &lacks[i];
            assert_int_equal(zcrp_connect(&there, "127.0.0.1", port, &options, 0), ZCRP_OK);
            int code = zcrp_accept(l, &here, 20 * second);
            is_lacking = has_failed(&lacks[i], code, here);
            if (code != ZCRP_OK)
                assert_int_equal(zcrp_accept(l, &here, 20 * second), ZCRP_OK);
            (void)zcrp_connection_close(there);
            (void)zcrp_connection_close(here);
            assert_int_equal(zcrp_listener_stats(l, &stats), ZCRP_OK);
            assert_int_equal(stats.connections, 0);
            assert_int_equal(own_descriptors(), before);
        }
    }
    assert_int_equal(zcrp_listener_close(l), ZCRP_OK);
}

TEST(listen__with_too_little)
{
    listen_with_too_little();
    options.channel = ZCRP_CHANNEL_AAL5;
    listen_with_too_little();
}

TEST(connect__with_too_little)
{
    connect_with_too_little();
    options.channel = ZCRP_CHANNEL_AAL5;
    connect_with_too_little();
}

TEST(admit__with_too_little)
{
    admit_with_too_little();
    options.channel = ZCRP_CHANNEL_AAL5;
    admit_with_too_little();
}
