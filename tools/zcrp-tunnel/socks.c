#include "socks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "control.h"
#include "loop.h"

enum {
    VERSION = 5,
    CONNECT = 1,
    IPV4 = 1,
    NAME = 3,
    IPV6 = 4,
    HEAD = 5, /* of a request: up to the first byte of the address */
    NOT_SUPPORTED = 7,
    NO_SUCH_ADDRESS = 8,
    NO_METHOD = 0xFF,
    ROOM = 2 + 255,
};

static const int64_t socks_ns = 10000000000;

struct client {
    struct watch watch;
    struct turn turn; /* frees it */
    struct client *before, *after;
    socks_target on_target;
    void *context;
    int64_t since_ns;
    bool is_greeted;
    size_t have, needed;
    uint8_t bytes[ROOM + HEAD];
};

static struct client *clients;

static void destroy(struct turn *turn)
{
    free((char *)turn - offsetof(struct client, turn));
}

static void forget(struct client *client)
{
    if (client->after != NULL)
        client->after->before = client->before;
    *(client->before != NULL ? &client->before->after : &clients) = client->after;
    loop_close(&client->watch);
    loop_soon(&client->turn);
}

void socks_answer(int fd, uint8_t code)
{
    const uint8_t answer[] = {VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0};

    (void)!send(fd, answer, sizeof(answer), MSG_NOSIGNAL); /* a new socket has room */
}

static void refuse(struct client *client, uint8_t code)
{
    socks_answer(client->watch.fd, code);
    forget(client);
}

/* "5, count, methods": without a password is one of them. */
static void greet(struct client *client)
{
    size_t count = client->bytes[1];
    bool is_open = memchr(client->bytes + 2, 0, count) != NULL;
    const uint8_t answer[] = {VERSION, is_open ? 0 : NO_METHOD};

    (void)!send(client->watch.fd, answer, sizeof(answer), MSG_NOSIGNAL);
    client->is_greeted = true;
    client->have = 0;
    client->needed = HEAD;
    if (!is_open)
        forget(client);
}

/* How many bytes the request has, by its head. 0: no such kind of address. */
static size_t request_size(const uint8_t *bytes)
{
    return bytes[3] == IPV4   ? HEAD + 3 + 2
           : bytes[3] == IPV6 ? HEAD + 15 + 2
           : bytes[3] == NAME ? HEAD + (size_t)bytes[4] + 2
                              : 0;
}

static void hear_request(struct client *client)
{
    char host[256] = "";
    const uint8_t *bytes = client->bytes, *end = bytes + client->needed - 2;
    int fd = client->watch.fd;

    if (bytes[3] == NAME)
        memcpy(host, bytes + HEAD, bytes[4]);
    else
        (void)inet_ntop(bytes[3] == IPV4 ? AF_INET : AF_INET6, bytes + HEAD - 1, host,
                        sizeof(host));
    loop_leave(&client->watch);
    client->watch.fd = -1;
    forget(client);
    client->on_target(client->context, fd, host, (uint16_t)(end[0] << 8 | end[1]));
}

/* All that is needed next is there. */
static void hear(struct client *client)
{
    const uint8_t *bytes = client->bytes;

    if (bytes[0] != VERSION)
        forget(client);
    else if (!client->is_greeted && client->needed == 2 && bytes[1] > 0)
        client->needed += bytes[1];
    else if (!client->is_greeted)
        greet(client);
    else if (bytes[1] != CONNECT)
        refuse(client, NOT_SUPPORTED);
    else if (request_size(bytes) == 0)
        refuse(client, NO_SUCH_ADDRESS);
    else if (client->needed < request_size(bytes))
        client->needed = request_size(bytes);
    else
        hear_request(client);
}

static void on_client(struct watch *watch, uint32_t events)
{
    struct client *client = (struct client *)((char *)watch - offsetof(struct client, watch));

    (void)events;
    while (watch->fd >= 0) {
        ssize_t count =
            recv(watch->fd, client->bytes + client->have, client->needed - client->have, 0);

        if (count < 0 && errno == EAGAIN)
            return;
        if (count <= 0) {
            forget(client);
            return;
        }
        client->have += (size_t)count;
        if (client->have == client->needed)
            hear(client);
    }
}

void socks_hear(int fd, socks_target on_target, void *context)
{
    struct client *client = calloc(1, sizeof(*client));

    if (client == NULL) {
        (void)close(fd);
        return;
    }
    *client = (struct client){.watch = {fd, on_client},
                              .turn = {.run = destroy},
                              .after = clients,
                              .on_target = on_target,
                              .context = context,
                              .since_ns = clock_now_ns(),
                              .needed = 2};
    if (clients != NULL)
        clients->before = client;
    clients = client;
    if (!loop_watch(&client->watch, EPOLLIN))
        forget(client);
}

void socks_tick(int64_t now_ns)
{
    struct client *next;

    for (struct client *client = clients; client != NULL; client = next) {
        next = client->after;
        if (now_ns - client->since_ns > socks_ns)
            forget(client);
    }
}
