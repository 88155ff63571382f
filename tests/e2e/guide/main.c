/* Calls the C functions of docs/guide.md, which guide_test.sh puts into guide.c:
 *
 *     main serve PORT                  one caller; says how the stream ended
 *     main ask PORT TEXT
 *     main frame PORT TEXT             asks with a header and a text, which come back so
 *     main drain PORT                  one caller; the size of each message
 *     main hub PORT PEERS [KEYS]       so many callers at once
 *     main push PORT [KEYS]
 *     main first PORT [KEYS]           one caller; its first message
 *     main call PORT TEXT [KEYS]
 *
 * Those that listen tell their port on standard error. */
#include "guide.c"

#include <stdbool.h>

static bool has_first; /* does the listener have a buffer for callers that are to come? */

/* Options with the keys of this file; NULL: without keys. */
static struct zcrp_options with_key(const char *path)
{
    struct zcrp_options options = {0};

    if (path != NULL)
        check(path, zcrp_keys_read(&options.keys, path));
    return options;
}

static void report(struct zcrp_entity *half)
{
    struct zcrp_stats s;

    check("statistics", zcrp_stats(half, &s));
    printf("%lu messages, %lu of %lu units repeated\n", (unsigned long)s.messages,
           (unsigned long)s.units_repeated, (unsigned long)s.units);
}

/* A listener; the keys are those of this file, or none. */
static struct zcrp_listener *listen_at(const char *port, const char *keys)
{
    struct zcrp_options options = with_key(keys);
    struct zcrp_listener *listener;

    options.first_messages = has_first;
    options.first_bytes = 4096;
    check("listen", zcrp_listen(&listener, "127.0.0.1", port, &options));
    zcrp_keys_free(options.keys);
    fprintf(stderr, "main: port %d\n", zcrp_listener_port(listener));
    return listener;
}

static void first(struct zcrp_listener *listener)
{
    struct zcrp_connection *peer;
    struct zcrp_msg *request = first_request(listener, &peer);

    printf("%.*s\n", (int)request->length, (const char *)request->buffer);
    (void)zcrp_connection_close(peer);
}

static void call(const char *port, char *text, const char *keys)
{
    struct zcrp_options options = with_key(keys);
    struct zcrp_msg *request = zcrp_wrap_msg(text, strlen(text));
    struct zcrp_connection *peer = call_with("127.0.0.1", port, &options, request);

    zcrp_keys_free(options.keys);
    zcrp_free_msg(request);
    (void)zcrp_connection_close(peer);
}

static void frame(const char *port, char *text)
{
    struct zcrp_connection *peer;
    char header[] = "frame 1: ", begin[4 + 1] = "", rest[100] = "";
    struct iovec out[] = {{header, strlen(header)}, {text, strlen(text)}};
    struct iovec in[] = {{begin, sizeof(begin) - 1}, {rest, sizeof(rest) - 1}};

    check("connect", zcrp_connect(&peer, "127.0.0.1", port, NULL, -1));
    check("send", transfer_frame(zcrp_connection_sender(peer), out[0], out[1]));
    check("receive", transfer_frame(zcrp_connection_receiver(peer), in[0], in[1]));
    printf("%s|%s\n", begin, rest);
    check("close", zcrp_connection_close(peer));
}

static void drain(struct zcrp_listener *listener)
{
    struct zcrp_connection *peer;
    struct zcrp_msg *message;
    int code;

    check("accept", zcrp_accept(listener, &peer, -1));
    while ((code = receive_any(zcrp_connection_receiver(peer), 5000, &message)) == ZCRP_OK) {
        printf("%lu bytes\n", (unsigned long)message->length);
        zcrp_free_msg(message);
    }
    printf("%s\n", zcrp_explain(code));
    (void)zcrp_connection_close(peer);
}

static void push_to(const char *port, const char *keys)
{
    struct zcrp_options options = with_key(keys);
    struct zcrp_connection *peer;

    options.mapped_bytes = (uint64_t)AHEAD * BYTES;
    check("connect", zcrp_connect(&peer, "127.0.0.1", port, &options, -1));
    zcrp_keys_free(options.keys);
    push(peer);
    report(zcrp_connection_sender(peer));
    check("close", zcrp_connection_close(peer));
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";

    has_first = strcmp(what, "first") == 0;
    if (has_first)
        first(listen_at(argv[2], argv[3]));
    else if (strcmp(what, "call") == 0)
        call(argv[2], argv[3], argv[4]);
    else if (strcmp(what, "ask") == 0)
        ask("127.0.0.1", argv[2], argv[3]);
    else if (strcmp(what, "frame") == 0)
        frame(argv[2], argv[3]);
    else if (strcmp(what, "push") == 0)
        push_to(argv[2], argv[3]);
    else if (strcmp(what, "serve") == 0)
        printf("%s\n", zcrp_explain(serve(listen_at(argv[2], NULL))));
    else if (strcmp(what, "drain") == 0)
        drain(listen_at(argv[2], NULL));
    else if (strcmp(what, "hub") == 0)
        hub(listen_at(argv[2], argv[4]), atoi(argv[3]));
    else
        return 2;
    return 0;
}
