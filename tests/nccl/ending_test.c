/* Ranks that end in the middle: each request of the other rank ends with an error, and no call
 * hangs. */
#include "../../nccl/handle.h"
#include "../support/own.h"
#include "ranks.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

LOAD(asleep)

enum { BYTES = 1 << 20, VERSION = 11 };

static uint8_t memory[2 * BYTES];

/* In 5 to 10 s a rank knows that the other one's process is gone. */
static void must_be_soon(time_t began)
{
    ck_assert_int_le(time(NULL) - began, 20);
}

/* ---- closes ---- */

static void close_as_sender(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap), *request;

    must(ranks_send(d, sender, memory, BYTES) == NET_OK);
    must(driver_send(d, sender, memory, BYTES, &request) == NET_OK);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

static void close_as_receiver(const struct driver *d, int bootstrap)
{
    void *receiver = ranks_receiver(d, bootstrap), *request = NULL;
    int size;

    must(ranks_receive(d, receiver, memory, BYTES, &size) == NET_OK && size == BYTES);
    must(driver_receive(d, receiver, 1, memory, BYTES, &request) == NET_OK);
    must(driver_endings(d).close_receiver(receiver) == NET_OK);
}

/* Sends until a message fails; the result. */
static int send_on(const struct driver *d, void *sender)
{
    int result = NET_OK;

    while (result == NET_OK)
        result = ranks_send(d, sender, memory, BYTES);
    return result;
}

static int receive_on(const struct driver *d, void *receiver)
{
    int result = NET_OK, size;

    while (result == NET_OK)
        result = ranks_receive(d, receiver, memory, BYTES, &size);
    return result;
}

TEST(ending__sender_closes, .rows = 2)
{
    time_t began = time(NULL);

    ranks_choose(_i == 1);
    struct ranks r = ranks_start(VERSION, close_as_sender);
    void *receiver = ranks_receiver(&r.driver, r.bootstrap);
    ck_assert_int_eq(receive_on(&r.driver, receiver), NET_REMOTE_ERROR);
    ck_assert_int_eq(receive_on(&r.driver, receiver), NET_REMOTE_ERROR);
    (void)driver_endings(&r.driver).close_receiver(receiver);
    ranks_finish(&r);
    must_be_soon(began);
}

TEST(ending__receiver_closes, .rows = 2)
{
    time_t began = time(NULL);

    ranks_choose(_i == 1);
    struct ranks r = ranks_start(VERSION, close_as_receiver);
    void *sender = ranks_sender(&r.driver, r.bootstrap);
    ck_assert_int_eq(send_on(&r.driver, sender), NET_REMOTE_ERROR);
    (void)driver_endings(&r.driver).close_sender(sender);
    ranks_finish(&r);
    must_be_soon(began);
}

/* ---- deaths ---- */

enum { ROUNDS = 5 };

static void exchange(const struct driver *d, void *sender, void *receiver)
{
    void *request;
    int size;

    for (int i = 0; i < ROUNDS; i++) {
        must(driver_send(d, sender, memory, BYTES, &request) == NET_OK);
        must(ranks_receive(d, receiver, memory + BYTES, BYTES, &size) == NET_OK);
        must(driver_end(d, request, NULL) == NET_OK);
    }
}

static void die(const struct driver *d, int bootstrap)
{
    void *receiver = ranks_receiver(d, bootstrap);
    void *sender = ranks_sender(d, bootstrap);

    exchange(d, sender, receiver);
    (void)kill(getpid(), SIGKILL);
}

/* One message each way is under way when the child dies. */
TEST(ending__killed, .rows = 2)
{
    void *requests[2] = {NULL, NULL};
    time_t began = time(NULL);
    int status;

    ranks_choose(_i == 1);
    struct ranks r = ranks_start(VERSION, die);
    const struct driver *d = &r.driver;
    void *sender = ranks_sender(d, r.bootstrap);
    void *receiver = ranks_receiver(d, r.bootstrap);
    exchange(d, sender, receiver);
    must(driver_send(d, sender, memory, BYTES, &requests[0]) == NET_OK);
    must(driver_receive(d, receiver, 1, memory + BYTES, BYTES, &requests[1]) == NET_OK);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(driver_end(d, requests[i], NULL), NET_REMOTE_ERROR);
    ck_assert_int_eq(driver_endings(d).close_sender(sender), NET_OK);
    ck_assert_int_eq(driver_endings(d).close_receiver(receiver), NET_OK);
    must(waitpid(r.child, &status, 0) == r.child);
    ck_assert(WIFSIGNALED(status));
    driver_finalize(d);
    must_be_soon(began);
}

/* NCCL may give up while it connects. Such attempts keep no place from later ones. */
TEST(ending__abandoned)
{
    char handle[NET_HANDLE_BYTES], other[NET_HANDLE_BYTES];
    void *listener, *sender;

    ranks_choose(false);
    struct driver d = driver_load(VERSION);
    must(driver_listen(&d, handle, &listener) == NET_OK);
    for (int i = 0; i < 20; i++) {
        memcpy(other, handle, sizeof(other));
        ck_assert_int_eq(driver_connect(&d, other, &sender), NET_OK);
    }
    ck_assert_int_eq(driver_connect_fully(&d, handle, &sender), NET_OK);
    (void)driver_endings(&d).close_listener(listener);
    (void)driver_endings(&d).close_sender(sender);
    driver_finalize(&d);
}

/* ---- sizes that differ ---- */

static void send_too_much(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap);

    must(ranks_send(d, sender, memory, BYTES) == NET_INVALID_USAGE);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

TEST(ending__too_large, .rows = 2)
{
    int size = 0;

    ranks_choose(_i == 1);
    struct ranks r = ranks_start(VERSION, send_too_much);
    void *receiver = ranks_receiver(&r.driver, r.bootstrap);
    memset(memory, 0x55, sizeof(memory));
    int result = ranks_receive(&r.driver, receiver, memory, BYTES - 1, &size);
    ck_assert_int_eq(result, NET_INVALID_USAGE);
    ck_assert_int_eq(memory[BYTES - 1], 0x55);
    (void)driver_endings(&r.driver).close_receiver(receiver);
    ranks_finish(&r);
}

/* ---- listens that end ---- */

/* The child's listen is closed before it accepts, while another one goes on. */
static void close_listen(const struct driver *d, int bootstrap)
{
    char handle[2][NET_HANDLE_BYTES], word;
    void *listener[2], *receiver = NULL;
    int is_heard = 0;

    for (int i = 0; i < 2; i++)
        must(driver_listen(d, handle[i], &listener[i]) == NET_OK);
    ranks_give(bootstrap, handle[0], sizeof(handle[0]));
    ranks_get(bootstrap, &word, 1); /* the peer is connected */
    must(driver_endings(d).close_listener(listener[0]) == NET_OK);
    while (!is_heard && receiver == NULL) {
        must(driver_accept(d, listener[1], &receiver) == NET_OK);
        is_heard = recv(bootstrap, &word, 1, MSG_DONTWAIT) == 1;
    }
    must(receiver == NULL);
    must(driver_endings(d).close_listener(listener[1]) == NET_OK);
}

TEST(ending__listen_closes)
{
    ranks_choose(false);
    struct ranks r = ranks_start(VERSION, close_listen);
    void *sender = ranks_sender(&r.driver, r.bootstrap);
    ranks_give(r.bootstrap, "", 1);
    ck_assert_int_eq(send_on(&r.driver, sender), NET_REMOTE_ERROR);
    ranks_give(r.bootstrap, "", 1);
    (void)driver_endings(&r.driver).close_sender(sender);
    ranks_finish(&r);
}

/* ---- lacks ---- */

static void connect_when_told(const struct driver *d, int bootstrap)
{
    char handle[NET_HANDLE_BYTES], word;
    void *sender;

    ranks_get(bootstrap, handle, sizeof(handle));
    must(driver_connect_fully(d, handle, &sender) == NET_OK);
    ranks_get(bootstrap, &word, 1);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

/* A caller for which there is no descriptor calls again: that is no failure. */
TEST(ending__accept_without_a_descriptor)
{
    uint8_t handle[NET_HANDLE_BYTES];
    void *listener, *receiver = NULL;

    ranks_choose(false);
    struct ranks r = ranks_start(VERSION, connect_when_told);
    ck_assert_int_eq(driver_listen(&r.driver, handle, &listener), NET_OK);
    struct rlimit before = own_leave_descriptors(0);
    ranks_give(r.bootstrap, handle, sizeof(handle));
    for (int i = 0; i < 100 && receiver == NULL; i++) {
        ck_assert_int_eq(driver_accept(&r.driver, listener, &receiver), NET_OK);
        (void)usleep(10000);
    }
    ck_assert_ptr_null(receiver);
    own_limit_descriptors(before);
    ck_assert_int_eq(driver_accept_fully(&r.driver, listener, &receiver), NET_OK);
    ranks_give(r.bootstrap, "", 1);
    (void)driver_endings(&r.driver).close_receiver(receiver);
    (void)driver_endings(&r.driver).close_listener(listener);
    ranks_finish(&r);
}

/* ---- strangers ---- */

enum { STRANGERS = 6 };

/* Calls with tickets that nobody has given, and answers nothing more. */
static void call_wrongly(const struct driver *d, int bootstrap)
{
    uint8_t bytes[NET_HANDLE_BYTES];
    struct handle h;
    void *sender;

    ranks_get(bootstrap, bytes, sizeof(bytes));
    must(handle_read(&h, bytes));
    h.ticket[0] ^= 1;
    for (int i = 0; i < STRANGERS; i++) {
        handle_write(&h, bytes);
        must(driver_connect_fully(d, bytes, &sender) == NET_OK);
    }
    (void)usleep(200000); /* the hellos arrive */
    (void)raise(SIGSTOP);
}

/* An accept does not wait until each of them answers a close. */
TEST(ending__strangers_that_do_not_answer)
{
    uint8_t handle[NET_HANDLE_BYTES];
    void *listener, *receiver;

    ranks_choose(false);
    struct ranks r = ranks_start(VERSION, call_wrongly);
    ck_assert_int_eq(driver_listen(&r.driver, handle, &listener), NET_OK);
    ranks_give(r.bootstrap, handle, sizeof(handle));
    ck_assert_int_eq(waitpid(r.child, NULL, WUNTRACED), r.child);
    time_t began = time(NULL);
    ck_assert_int_eq(driver_accept(&r.driver, listener, &receiver), NET_OK);
    ck_assert_ptr_null(receiver);
    ck_assert_int_eq(driver_endings(&r.driver).close_listener(listener), NET_OK);
    ck_assert_int_le(time(NULL) - began, 3);
    ck_assert_int_eq(kill(r.child, SIGCONT), 0);
    ranks_finish(&r);
}
