#include "door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "control.h"
#include "sockets.h"

enum { BACKLOG = 4096, ACCEPTS_AT_ONCE = 64 };

/* ---- SOCKS clients ---- */

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
    ROOM = HEAD + 255 + 2,
};

static const int64_t socks_ns = 10000000000, complain_ns = 10000000000;

struct client {
    struct watch watch;
    struct client *next;
    struct door *door;
    int64_t since_ns;
    bool is_greeted, is_waiting; /* its request is there, and waits until the door is started */
};

static struct client *clients, **last_client = &clients; /* in the order in which they came */

bool door_answer_socks(int fd, uint8_t code)
{
    const uint8_t answer[] = {VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0};
    bool is_sent = send(fd, answer, sizeof(answer), MSG_NOSIGNAL) > 0; /* a new socket has room */

    if (code != 0)
        (void)close(fd);
    return is_sent;
}

/* How many bytes a greeting or a request has, as far as the first `have` bytes tell. */
static size_t size_of(bool is_request, const uint8_t *bytes, size_t have)
{
    if (!is_request)
        return have < 2 ? 2 : 2 + (size_t)bytes[1];
    return have < HEAD        ? HEAD
           : bytes[3] == IPV4 ? HEAD + 3 + 2
           : bytes[3] == IPV6 ? HEAD + 15 + 2
           : bytes[3] == NAME ? HEAD + (size_t)bytes[4] + 2
                              : HEAD;
}

/* "5, count, methods": without a password is one of them. */
static void greet(struct client *client, const uint8_t *bytes)
{
    client->is_greeted = memchr(bytes + 2, 0, bytes[1]) != NULL;
    const uint8_t answer[] = {VERSION, client->is_greeted ? 0 : NO_METHOD};

    (void)!send(client->watch.fd, answer, sizeof(answer), MSG_NOSIGNAL);
    if (!client->is_greeted)
        loop_close(&client->watch);
}

/* "5, command, 0, kind, address, port". A name that is none would be against the tunnel's rules. */
static void hear_request(struct client *client, const uint8_t *bytes, size_t size)
{
    char host[HOST_ROOM] = "";
    bool is_address = bytes[3] == IPV4 || bytes[3] == IPV6;
    uint16_t port = (uint16_t)(bytes[size - 2] << 8 | bytes[size - 1]);
    int fd = loop_release(&client->watch);

    if (bytes[3] == NAME)
        memcpy(host, bytes + HEAD, bytes[4]);
    else if (is_address)
        (void)inet_ntop(bytes[3] == IPV4 ? AF_INET : AF_INET6, bytes + HEAD - 1, host,
                        sizeof(host));
    bool is_name = host[0] != '\0' && port != 0 && spec_is_name(host);
    if (bytes[1] != CONNECT)
        (void)door_answer_socks(fd, NOT_SUPPORTED);
    else if (!is_address && bytes[3] != NAME)
        (void)door_answer_socks(fd, NO_SUCH_ADDRESS);
    else if (!is_name)
        (void)door_answer_socks(fd, REFUSAL_HOST);
    else
        client->door->on_client(client->door, fd, host, port);
}

/* Takes what it says when that is complete. A request waits in the kernel while the door is not
 * started, as a client that has not come in does. */
static void on_socks(struct watch *watch, uint32_t events)
{
    struct client *client = watch->context;
    uint8_t bytes[ROOM];

    if ((events & EPOLLERR) != 0)
        loop_close(watch);
    while (watch->fd >= 0) {
        ssize_t have = recv(watch->fd, bytes, sizeof(bytes), MSG_PEEK);

        if (have < 0 && errno == EAGAIN)
            return;
        if (have <= 0 || bytes[0] != VERSION) {
            loop_close(watch);
            return;
        }
        size_t size = size_of(client->is_greeted, bytes, (size_t)have);
        if ((size_t)have < size)
            return;
        client->is_waiting = client->is_greeted && !client->door->is_started;
        if (client->is_waiting)
            return;
        (void)!recv(watch->fd, bytes, size, 0);
        if (client->is_greeted)
            hear_request(client, bytes, size);
        else
            greet(client, bytes);
    }
}

static void hear_socks(struct door *door, int fd)
{
    struct client *client = calloc(1, sizeof(*client));

    if (client == NULL) {
        (void)close(fd);
        return;
    }
    *client =
        (struct client){.watch = {fd, on_socks, client}, .door = door, .since_ns = clock_now_ns()};
    *last_client = client;
    last_client = &client->next;
    if (!loop_watch(&client->watch, EPOLLIN | EPOLLET))
        loop_close(&client->watch);
}

static void serve_waiting(struct turn *turn)
{
    (void)turn;
    for (struct client *client = clients; client != NULL; client = client->next)
        if (client->is_waiting && client->door->is_started && client->watch.fd >= 0)
            on_socks(&client->watch, 0);
}

void door_tick(int64_t now_ns)
{
    struct client *client;

    for (struct client **place = &clients; (client = *place) != NULL; last_client = place) {
        if (!client->is_waiting && now_ns - client->since_ns > socks_ns)
            loop_close(&client->watch);
        if (client->watch.fd < 0) {
            *place = client->next;
            free(client);
        } else {
            place = &client->next;
        }
    }
}

/* ---- doors ---- */

/* It is tried again with each tick, four times a second. */
static void complain_rarely(const char *what)
{
    static int64_t next_ns;
    int64_t now_ns = clock_now_ns();

    if (now_ns < next_ns)
        return;
    next_ns = now_ns + complain_ns;
    (void)complain("%s: %s", what, strerror(errno));
}

static void on_clients(struct watch *watch, uint32_t events)
{
    struct door *door = watch->context;

    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE && door->is_started; i++) {
        int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            complain_rarely("cannot accept a client");
            door->is_started = false;
            loop_leave(watch);
        }
        if (fd < 0)
            return;
        if (door->is_socks)
            hear_socks(door, fd);
        else
            door->on_client(door, fd, "", 0);
    }
}

/* Listens at an address; at `::` for IPv4, too. -1: why not. */
static int listen_at(const char *host, uint16_t port, const char **why)
{
    const int on = 1, off = 0;
    struct addrinfo *found;
    int code = socket_resolve(&found, SOCK_STREAM, host, port, AI_PASSIVE | AI_NUMERICHOST);

    *why = code != 0 ? gai_strerror(code) : NULL;
    if (code != 0)
        return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_for_all = strcmp(host, "::") == 0;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        (is_for_all && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        *why = strerror(errno);
    freeaddrinfo(found);
    if (*why == NULL)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* The host's IPv6 may be off. */
static int listen_for(const struct address *bind_to, const char **why)
{
    bool is_default = bind_to->host[0] == '\0' || strcmp(bind_to->host, "localhost") == 0;
    bool is_for_all = bind_to->host[0] == '*';
    const char *host = is_default ? "127.0.0.1" : is_for_all ? "::" : bind_to->host;
    int fd = listen_at(host, bind_to->port, why);

    return fd < 0 && is_for_all ? listen_at("0.0.0.0", bind_to->port, why) : fd;
}

struct door *door_open(const struct address *bind_to, const char **why)
{
    struct sockaddr_in6 bound = {0}; /* its port is where IPv4's is, too */
    socklen_t size = sizeof(bound);
    struct door *door = calloc(1, sizeof(*door));
    int fd = listen_for(bind_to, why);

    if (door == NULL)
        *why = "no memory";
    if (*why != NULL) {
        if (fd >= 0)
            (void)close(fd);
        free(door);
        return NULL;
    }
    (void)getsockname(fd, (struct sockaddr *)&bound, &size);
    *door = (struct door){.watch = {fd, on_clients, door}, .port = ntohs(bound.sin6_port)};
    return door;
}

void door_close(struct door *door)
{
    if (door != NULL)
        loop_close(&door->watch);
    free(door);
}

void doors_tend(struct door *const doors[FORWARDS_MOST], bool may_come)
{
    static struct turn serving = {.run = serve_waiting};

    for (int i = 0; i < FORWARDS_MOST; i++) {
        struct door *door = doors[i];

        if (door == NULL || door->is_started == may_come)
            continue;
        if (may_come && !loop_watch(&door->watch, EPOLLIN)) {
            complain_rarely("cannot poll");
            continue;
        }
        if (!may_come)
            loop_leave(&door->watch);
        door->is_started = may_come;
        if (may_come && door->is_socks)
            loop_soon(&serving);
    }
}
