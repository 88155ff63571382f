#include "ranks.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void ranks_choose(bool is_memory)
{
    must(setenv("NCCL_SOCKET_IFNAME", "=lo", 1) == 0);
    must(setenv("ZCRP_NO_MEMORY", is_memory ? "0" : "1", 1) == 0);
}

struct ranks ranks_begin(int version, ranks_part of_child)
{
    struct ranks r;
    int pair[2];

    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    r.child = fork();
    must(r.child >= 0);
    if (r.child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(pair[0]);
        struct driver d = driver_load(version);
        of_child(&d, pair[1]);
        driver_finalize(&d);
        _exit(0);
    }
    (void)close(pair[1]);
    r.bootstrap = pair[0];
    return r;
}

struct ranks ranks_start(int version, ranks_part of_child)
{
    struct ranks r = ranks_begin(version, of_child);

    r.driver = driver_load(version);
    return r;
}

void ranks_finish(struct ranks *r)
{
    int status;

    driver_finalize(&r->driver);
    must(waitpid(r->child, &status, 0) == r->child);
    ck_assert_int_eq(status, 0);
    (void)close(r->bootstrap);
}

void ranks_give(int bootstrap, const void *bytes, size_t size)
{
    must(write(bootstrap, bytes, size) == (ssize_t)size);
}

void ranks_get(int bootstrap, void *bytes, size_t size)
{
    must(recv(bootstrap, bytes, size, MSG_WAITALL) == (ssize_t)size);
}

void *ranks_receiver(const struct driver *d, int bootstrap)
{
    char handle[NET_HANDLE_BYTES];
    void *listener, *receiver;

    must(driver_listen(d, handle, &listener) == NET_OK);
    ranks_give(bootstrap, handle, sizeof(handle));
    must(driver_accept_fully(d, listener, &receiver) == NET_OK);
    must(driver_endings(d).close_listener(listener) == NET_OK);
    return receiver;
}

void *ranks_sender(const struct driver *d, int bootstrap)
{
    char handle[NET_HANDLE_BYTES];
    void *sender;

    ranks_get(bootstrap, handle, sizeof(handle));
    must(driver_connect_fully(d, handle, &sender) == NET_OK);
    return sender;
}

int ranks_send(const struct driver *d, void *sender, void *memory, size_t size)
{
    void *request;
    int sent = -1;

    must(driver_send(d, sender, memory, size, &request) == NET_OK && request != NULL);
    int result = driver_end(d, request, &sent);
    must(result != NET_OK || sent == (int)size);
    return result;
}

int ranks_receive(const struct driver *d, void *receiver, void *memory, size_t room, int *size)
{
    void *request = NULL;

    must(driver_receive(d, receiver, 1, memory, room, &request) == NET_OK && request != NULL);
    return driver_end(d, request, size);
}
