#include "connection.h"

#include "link/codes.h"
#include "link/life.h"
#include "link/options.h"
#include "link/own_move.h"
#include "link/peer_move.h"
#include "link/process.h"
#include "link/receive.h"
#include "link/turns.h"
#include "platform/reason.h"
#include "platform/sleep.h"
#include "transport/names.h"
#include "transport/shm/shared_arena.h"
#include "waiting/changes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESS_ROOM = 80 }; /* bytes of an address in words */

/* ---- making ---- */

static int make_halves(struct zcrp_connection *c, const struct zcrp_options *complete,
                       struct session_keys *session_keys)
{
    const struct origin origin = {.socket = c->fd,
                                  .is_caller = c->peers == NULL,
                                  .link = link_create(complete, session_keys)};

    if (origin.link == NULL)
        return ZCRP_ERROR_MEMORY;
    int code = entity_make(&c->receiver, MACHINE_RECEIVER, &origin, complete);
    return code == ZCRP_OK ? entity_make(&c->sender, MACHINE_SENDER, &origin, complete) : code;
}

/* Memory for messages that a peer on this host may map. Without it they have other memory. */
static void make_arena(struct zcrp_connection *c, uint64_t bytes)
{
    if (bytes == 0 || !c->sender->transport->is_possible)
        return;
    c->arena = shared_arena_create(bytes);
    c->sender->transport->arena = c->receiver->transport->arena = c->arena;
}

/* ---- another address ---- */

/* The link's peer is about to be there. */
static bool admit_move(void *connection, const union address *to)
{
    struct zcrp_connection *c = connection;

    if (!peers_move(c->peers, &c->peer, to))
        return false;
    c->peer = *to;
    return true;
}

/* Either end of a connection with keys may find that the caller has another address. */
static int begin_moves(struct zcrp_connection *c)
{
    const struct peer_move_rules rules = {.admit = admit_move, .context = c};
    struct link *link = c->sender->link;
    bool has_memory = c->peers != NULL ? peer_move_begin(link, &rules) : own_move_begin(link);

    return has_memory ? ZCRP_OK : ZCRP_ERROR_MEMORY;
}

/* Datagrams that name its sessions are posted to it from now on; or not any more. */
static void enter_names(struct zcrp_connection *c)
{
    const struct session_keys *keys = c->sender->link->session_keys;

    if (c->sender->link->peer_move == NULL)
        return;
    sessions_add(peers_sessions(c->peers), &c->name[0], keys->receiver.pairing, c->sender->link);
    sessions_add(peers_sessions(c->peers), &c->name[1], keys->sender.pairing, c->sender->link);
}

static void remove_names(struct zcrp_connection *c)
{
    for (int i = 0; c->peers != NULL && i < 2; i++)
        sessions_remove(peers_sessions(c->peers), &c->name[i]);
}

/* Each finds the other in the engine when it starts. The first buffers are there before anything is
 * heard, so that the first word to the peer names them. */
static void start_halves(struct zcrp_connection *c, const struct accept_info *info)
{
    first_messages_post(&c->first, c->receiver);
    if (info->hello.size > 0)
        receive_hello(c->receiver, info->hello.bytes, info->hello.size);
    if (info->early != NULL)
        receive_early(c->receiver, info->early);
    turns_start(c->receiver);
    turns_start(c->sender);
}

static void drop(const struct accept_info *info)
{
    (void)close(info->fd);
    peers_leave(info->peers, &info->peer, false);
    session_keys_destroy(info->session_keys);
}

/* Fine for one whose halves have not all been made. */
static void destroy(struct zcrp_connection *c)
{
    remove_names(c);
    if (c->sender != NULL)
        entity_destroy(c->sender);
    if (c->receiver != NULL)
        entity_destroy(c->receiver);
    (void)close(c->fd);
    peers_leave(c->peers, &c->peer, false);
    shared_arena_let_go(c->arena);
    first_messages_free(&c->first);
    free(c);
}

int connection_make(struct zcrp_connection **connection, const struct zcrp_options *complete,
                    const struct accept_info *info)
{
    struct zcrp_connection *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        drop(info);
        return ZCRP_ERROR_MEMORY;
    }
    *c = (struct zcrp_connection){.generation = forked_generation(),
                                  .fd = info->fd,
                                  .peer = info->peer,
                                  .peers = info->peers};
    int code = make_halves(c, complete, info->session_keys);
    if (code == ZCRP_OK)
        code = begin_moves(c);
    if (code == ZCRP_OK)
        make_arena(c, complete->mapped_bytes);
    if (code == ZCRP_OK && info->peers != NULL &&
        !first_messages_make(&c->first, complete->first_messages, complete->first_bytes))
        code = ZCRP_ERROR_MEMORY;
    if (code == ZCRP_OK)
        code = entity_join(c->sender);
    if (code == ZCRP_OK)
        code = entity_join(c->receiver);
    if (code != ZCRP_OK) {
        int error = errno;
        destroy(c);
        errno = error;
        return code;
    }
    start_halves(c, info);
    enter_names(c);
    *connection = c;
    return ZCRP_OK;
}

/* ---- connecting ---- */

static int say_refused(const union address *peer)
{
    char text[ADDRESS_ROOM];

    if (address_write(peer, text, sizeof(text)) != 0)
        strcpy(text, "the peer's address");
    return reason_say(ZCRP_ERROR_REFUSED, "nobody listens at %s", text);
}

/* The same for a caller that gave a name: it is told which of the name's addresses was tried. */
static int say_refused_name(const char *host, const char *port, const union address *peer)
{
    struct quote quoted_host, quoted_port;
    char text[ADDRESS_ROOM];
    struct in6_addr number;

    bool is_number =
        inet_pton(AF_INET, host, &number) == 1 || inet_pton(AF_INET6, host, &number) == 1;
    if (is_number || address_write(peer, text, sizeof(text)) != 0)
        return say_refused(peer);
    return reason_say(ZCRP_ERROR_REFUSED, "nobody listens at \"%s\", port %s (%s)",
                      quote(&quoted_host, host), quote(&quoted_port, port), text);
}

/* A peer that has closed may say so to the receiver first. */
int connection_look(struct zcrp_connection *c)
{
    entity_enter(c->sender);
    int code = c->sender->link->is_broken ? ZCRP_ERROR_CHANNEL : ZCRP_OK;
    if (code == ZCRP_OK)
        code = code_of_link(machine_link(&c->sender->machine), machine_end(&c->sender->machine));
    if (code == ZCRP_OK && machine_told(&c->receiver->machine) != OUTCOME_OK)
        code = ZCRP_ERROR_PEER_CLOSED;
    entity_leave(c->sender);
    return code;
}

static int status_of(struct zcrp_connection *c)
{
    int code = connection_look(c);

    return code == ZCRP_ERROR_REFUSED ? say_refused(&c->peer) : code;
}

static int look_for_peer(void *connection)
{
    return status_of(connection);
}

static int await_peer(struct zcrp_connection *c, int64_t timeout_ns)
{
    return changes_await(&c->sender->changes, &c->sender->interrupt, look_for_peer, c,
                         clock_deadline(timeout_ns));
}

/* With complete options. */
static int make_caller(struct zcrp_connection **connection, const char *host, const char *port,
                       const struct zcrp_options *complete)
{
    struct accept_info info = {.fd = zcrp_udp_connect(host, port)};

    if (info.fd < 0)
        return info.fd;
    info.peer = address_of_peer(info.fd);
    return connection_make(connection, complete, &info);
}

int zcrp_connect_sized(struct zcrp_connection **connection, const char *host, const char *port,
                       const struct zcrp_options *options, size_t options_size, int64_t timeout_ns)
{
    struct zcrp_options complete;

    if (connection == NULL)
        return code_of_null("connection");
    *connection = NULL;
    int code = process_refusal(forked_generation());
    if (code == ZCRP_OK)
        code = options_complete(&complete, options, options_size);
    if (code != ZCRP_OK)
        return code;
    struct zcrp_connection *c;
    code = make_caller(&c, host, port, &complete);
    options_release(&complete);
    if (code != ZCRP_OK)
        return code;
    if (timeout_ns != 0)
        code = await_peer(c, timeout_ns);
    if (code == ZCRP_ERROR_PEER_CLOSED) /* it was up, and what receives tells of its end */
        code = ZCRP_OK;
    if (code == ZCRP_ERROR_REFUSED)
        code = say_refused_name(host, port, &c->peer);
    if (code == ZCRP_OK)
        *connection = c;
    else
        connection_turn_away(c); /* without a wait, which would exceed the limit */
    return code;
}

/* ---- what is asked of one ---- */

struct zcrp_entity *zcrp_connection_sender(const struct zcrp_connection *connection)
{
    return connection != NULL ? connection->sender : NULL;
}

struct zcrp_entity *zcrp_connection_receiver(const struct zcrp_connection *connection)
{
    return connection != NULL ? connection->receiver : NULL;
}

struct zcrp_msg *zcrp_connection_first(const struct zcrp_connection *connection, uint32_t index)
{
    bool is_there = connection != NULL && index < connection->first.count;

    return is_there ? &connection->first.message[index]->public : NULL;
}

int zcrp_connection_status(struct zcrp_connection *connection)
{
    if (connection == NULL)
        return code_of_null("connection");
    int code = process_refusal(connection->generation);
    return code == ZCRP_OK ? status_of(connection) : code;
}

int zcrp_connection_wait(struct zcrp_connection *connection, int64_t timeout_ns)
{
    if (connection == NULL)
        return code_of_null("connection");
    int code = process_refusal(connection->generation);
    return code == ZCRP_OK ? await_peer(connection, timeout_ns) : code;
}

static int write_address(const union address *a, char *text, size_t size)
{
    int error = address_write(a, text, size);

    if (error == -ENOSPC)
        return ZCRP_ERROR_SIZE;
    return error ? reason_say(ZCRP_ERROR_ADDRESS, "the socket has no address") : ZCRP_OK;
}

int zcrp_connection_peer(const struct zcrp_connection *connection, char *text, size_t size)
{
    if (connection == NULL || text == NULL)
        return code_of_null(connection == NULL ? "connection" : "text");
    int code = process_refusal(connection->generation);
    if (code != ZCRP_OK)
        return code;
    struct mutex *mutex = &connection->sender->link->mutex;
    mutex_lock(mutex);
    const union address peer = connection->peer;
    mutex_unlock(mutex);
    return write_address(&peer, text, size);
}

int zcrp_connection_local(const struct zcrp_connection *connection, char *text, size_t size)
{
    if (connection == NULL || text == NULL)
        return code_of_null(connection == NULL ? "connection" : "text");
    int code = process_refusal(connection->generation);
    if (code != ZCRP_OK)
        return code;
    union address own = address_of_socket(connection->fd);
    return write_address(&own, text, size);
}

int zcrp_connection_identity(const struct zcrp_connection *connection, char *text, size_t size)
{
    if (connection == NULL || text == NULL)
        return code_of_null(connection == NULL ? "connection" : "text");
    return zcrp_identity(connection->sender, text, size);
}

int zcrp_connection_interrupt(struct zcrp_connection *connection)
{
    if (connection == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int code = zcrp_interrupt(connection->receiver);
    return code == ZCRP_OK ? zcrp_interrupt(connection->sender) : code;
}

/* ---- closing ---- */

/* The peer has confirmed the sender's close: both ends know of the connection's end, and the
 * receiver says its close, but waits for no answer. A sender that no receiver of the peer's has
 * bound had nobody to tell: then the receiver's close is what the peer learns of it. */
static void agree(struct zcrp_connection *c)
{
    entity_enter(c->sender);
    bool is_told = machine_has_told_close(&c->sender->machine);
    entity_leave(c->sender);
    if (!is_told)
        return;
    entity_enter(c->receiver);
    machine_agree_close(&c->receiver->machine);
    entity_leave(c->receiver);
}

static void quit(struct zcrp_connection *c)
{
    remove_names(c);
    entity_quit(c->receiver);
    entity_quit(c->sender);
    entity_await_visitors(c->receiver); /* whose ends a turn of the sender may have told just now */
    destroy(c);
}

/* The receiver first: its word ends the peer's connection. The peer answers the sender's, which
 * ends this connection, and then the receiver would have nobody to tell. */
void connection_turn_away(struct zcrp_connection *c)
{
    entity_cut(c->receiver);
    entity_cut(c->sender);
    quit(c);
}

void connection_abandon(struct zcrp_connection *c)
{
    entity_abandon(c->sender);
    entity_abandon(c->receiver);
    (void)close(c->fd);
    peers_leave(c->peers, &c->peer, true);
    shared_arena_let_go(c->arena);
    first_messages_free(&c->first);
    free(c);
}

/* How the connection has ended, as its sender knows. It says nothing of that (reason.h): whoever
 * closes may have said more. */
static enum outcome end_of(struct zcrp_entity *sender)
{
    entity_enter(sender);
    enum outcome end = machine_end(&sender->machine);
    entity_leave(sender);
    return end;
}

/* Tells the peer, which has not confirmed the sender's close, that nothing is received any more.
 * One that may be there has what is left of the limit, to confirm this. One that the sender has
 * lost meanwhile is not waited for. */
static void tell_unconfirmed(struct zcrp_connection *c, enum outcome end, instant began)
{
    if (end == OUTCOME_SILENT || end == OUTCOME_DIED)
        entity_cut(c->receiver);
    else
        (void)entity_linger(c->receiver, began);
}

/* What was sent is waited for first; then the peer is told that nothing is received any more. */
int zcrp_connection_close(struct zcrp_connection *connection)
{
    struct zcrp_connection *c = connection;

    if (c == NULL)
        return ZCRP_OK;
    int code = process_refusal(c->generation);
    if (code == ZCRP_ERROR_FORKED) {
        connection_abandon(c);
        return ZCRP_OK;
    }
    if (code != ZCRP_OK)
        return code;
    (void)entity_leave_queue(c->receiver, NULL);
    (void)entity_leave_queue(c->sender, NULL);
    instant began = clock_now();
    code = entity_linger(c->sender, began);
    enum outcome end = end_of(c->sender); /* maybe only now, amid the close */
    if (code == ZCRP_OK) {
        agree(c);
        code = entity_linger(c->receiver, clock_now());
    } else {
        tell_unconfirmed(c, end, began);
    }
    if (!entity_await_crossings(c->receiver) || !entity_await_crossings(c->sender))
        return ZCRP_ERROR_BUSY;
    quit(c);
    return end == OUTCOME_KEYS ? ZCRP_ERROR_KEYS : code;
}
