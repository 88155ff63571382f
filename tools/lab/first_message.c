/* How long the first message takes between two peers that have not met, with keys: over ZCRP, and
 * beside it over TCP with TLS 1.3. Both have the same pre-shared key, and agree on a fresh secret,
 * too (X25519). One process listens, the other one connects; zcrp-link puts a path between them:
 *
 *     zcrp-link --delay 20ms --port 7000 -- first_message 198.18.0.2 40 -- first_message 198.18.0.2
 *
 * The time runs from the connect to the arrival. A message to the listener is answered with the
 * clock's time at its arrival, so both processes are on one host. The figures are in units of the
 * round trip, here 40 ms. */
#include "lab.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef ZCRP_KEYS
#include <gnutls/gnutls.h>

enum { ROUNDS = 9, BYTES = 64, PORT = 7000 };

static const char port_text[] = "7000", identity[] = "lab";
static const uint8_t key[] = "no secret: it is made for measurements only";
static const int64_t patience_ns = 20000000000;
static const char priority[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:"
    "+GROUP-X25519";

/* Something that the system refused. */
static int checked(int result, const char *what)
{
    if (result >= 0)
        return result;
    perror(what);
    exit(EXIT_FAILURE);
}

/* ---- over ZCRP ---- */

static struct zcrp_options make_options(void)
{
    struct zcrp_options options = {0};

    must(zcrp_keys_psk(&options.keys, identity, key, sizeof key));
    return options;
}

static struct zcrp_msg *submit(struct zcrp_entity *entity, double content)
{
    struct zcrp_msg *message = zcrp_alloc_msg(BYTES);

    must(message != NULL ? ZCRP_OK : ZCRP_ERROR_MEMORY);
    memcpy(message->buffer, &content, sizeof content);
    must(zcrp_submit(entity, message, BYTES));
    return message;
}

static double finish(struct zcrp_msg *message)
{
    double content;

    must(zcrp_wait_for(message, patience_ns));
    memcpy(&content, message->buffer, sizeof content);
    zcrp_free_msg(message);
    return content;
}

/* Seconds until the first message has arrived, there or here. */
static double time_zcrp(const char *host, const struct zcrp_options *options, bool is_there)
{
    struct zcrp_connection *c;
    double begun_s = now_s();

    must(zcrp_connect(&c, host, port_text, options, 0));
    struct zcrp_msg *answer = submit(zcrp_connection_receiver(c), 0);
    struct zcrp_msg *question = is_there ? submit(zcrp_connection_sender(c), 0) : NULL;
    double arrived_s = finish(answer);
    if (is_there)
        (void)finish(question);
    else
        arrived_s = now_s();
    must(zcrp_connection_close(c));
    return arrived_s - begun_s;
}

static void answer_zcrp(struct zcrp_listener *listener, bool is_there)
{
    struct zcrp_connection *c;

    must(zcrp_accept(listener, &c, patience_ns));
    if (is_there)
        (void)finish(submit(zcrp_connection_receiver(c), 0));
    (void)finish(submit(zcrp_connection_sender(c), now_s()));
    must(zcrp_connection_close(c));
}

/* ---- over TCP with TLS ---- */

static void must_tls(ssize_t code)
{
    if (code >= 0)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, gnutls_strerror((int)code));
    exit(EXIT_FAILURE);
}

static int find_key(gnutls_session_t session, const char *name, gnutls_datum_t *found)
{
    (void)session;
    (void)name;
    found->size = sizeof key;
    found->data = gnutls_malloc(sizeof key);
    if (found->data == NULL)
        return -1;
    memcpy(found->data, key, sizeof key);
    return 0;
}

struct tls {
    int fd;
    gnutls_session_t session;
    gnutls_psk_client_credentials_t client;
    gnutls_psk_server_credentials_t server;
};

static void show_key(struct tls *t)
{
    const gnutls_datum_t bytes = {(unsigned char *)key, sizeof key};

    must_tls(gnutls_psk_allocate_client_credentials(&t->client));
    must_tls(gnutls_psk_set_client_credentials(t->client, identity, &bytes, GNUTLS_PSK_KEY_RAW));
    must_tls(gnutls_credentials_set(t->session, GNUTLS_CRD_PSK, t->client));
}

static void take_key(struct tls *t)
{
    must_tls(gnutls_psk_allocate_server_credentials(&t->server));
    gnutls_psk_set_server_credentials_function(t->server, find_key);
    must_tls(gnutls_credentials_set(t->session, GNUTLS_CRD_PSK, t->server));
}

/* Shakes hands over a socket that is connected. */
static struct tls shake_hands(int fd, bool is_server)
{
    struct tls t = {.fd = fd};
    int one = 1;

    checked(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), "TCP_NODELAY");
    must_tls(gnutls_init(&t.session, (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT) |
                                         GNUTLS_NO_TICKETS | GNUTLS_NO_AUTO_SEND_TICKET));
    must_tls(gnutls_priority_set_direct(t.session, priority, NULL));
    if (is_server)
        take_key(&t);
    else
        show_key(&t);
    gnutls_transport_set_int(t.session, fd);
    must_tls(gnutls_handshake(t.session));
    return t;
}

static void part(struct tls *t)
{
    gnutls_deinit(t->session);
    if (t->client != NULL)
        gnutls_psk_free_client_credentials(t->client);
    if (t->server != NULL)
        gnutls_psk_free_server_credentials(t->server);
    close(t->fd);
}

/* These messages are small: a record each, which one call moves. */
static void send_content(struct tls *t, double content)
{
    uint8_t bytes[BYTES] = {0};

    memcpy(bytes, &content, sizeof content);
    must_tls(gnutls_record_send(t->session, bytes, sizeof bytes));
}

static double receive_content(struct tls *t)
{
    uint8_t bytes[BYTES];
    double content;
    ssize_t got = gnutls_record_recv(t->session, bytes, sizeof bytes);

    must_tls(got > 0 ? got : GNUTLS_E_PREMATURE_TERMINATION);
    memcpy(&content, bytes, sizeof content);
    return content;
}

static struct sockaddr_in address_of(const char *host)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};

    if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
        must(ZCRP_ERROR_ADDRESS);
    return address;
}

static int make_socket(void)
{
    return checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
}

static double time_tls(const char *host, bool is_there)
{
    struct sockaddr_in address = address_of(host);
    int fd = make_socket();
    double begun_s = now_s();

    checked(connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
    struct tls t = shake_hands(fd, false);
    if (is_there)
        send_content(&t, 0);
    double arrived_s = receive_content(&t);
    if (!is_there)
        arrived_s = now_s();
    part(&t);
    return arrived_s - begun_s;
}

static int listen_tcp(const char *host)
{
    struct sockaddr_in address = address_of(host);
    int fd = make_socket();
    int one = 1;

    checked(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), "SO_REUSEADDR");
    checked(bind(fd, (struct sockaddr *)&address, sizeof address), "bind");
    checked(listen(fd, ROUNDS), "listen");
    return fd;
}

static void answer_tls(int listener, bool is_there)
{
    struct tls t = shake_hands(checked(accept(listener, NULL, NULL), "accept"), true);

    if (is_there)
        (void)receive_content(&t);
    send_content(&t, now_s());
    part(&t);
}

/* ---- both ---- */

static void report(const char *name, bool is_there, double figures[ROUNDS])
{
    sort(figures, ROUNDS);
    printf("%s: %.2f round trips to the first message %s (%.2f..%.2f)\n", name, figures[ROUNDS / 2],
           is_there ? "there" : "here", figures[0], figures[ROUNDS - 1]);
}

static void time_all(const char *host, double round_trip_s, const struct zcrp_options *options,
                     bool is_there)
{
    double zcrp[ROUNDS], tls[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        zcrp[i] = time_zcrp(host, options, is_there) / round_trip_s;
        tls[i] = time_tls(host, is_there) / round_trip_s;
    }
    report("ZCRP", is_there, zcrp);
    report("TLS", is_there, tls);
}

/* Both connect and answer in one order. */
static void time_both(const char *host, double round_trip_s)
{
    struct zcrp_options options = make_options();

    time_all(host, round_trip_s, &options, true);
    time_all(host, round_trip_s, &options, false);
    zcrp_keys_free(options.keys);
}

/* Who connects waits for TCP's port. */
static void answer(const char *host)
{
    struct zcrp_options options = make_options();
    struct zcrp_listener *listener;

    must(zcrp_listen(&listener, host, port_text, &options));
    zcrp_keys_free(options.keys);
    int fd = listen_tcp(host);
    for (int i = 0; i < 2 * ROUNDS; i++) {
        answer_zcrp(listener, i < ROUNDS);
        answer_tls(fd, i < ROUNDS);
    }
    close(fd);
    must(zcrp_listener_close(listener));
}
#else
static void time_both(const char *host, double round_trip_s)
{
    (void)host, (void)round_trip_s;
    must(ZCRP_ERROR_NO_KEYS);
}

static void answer(const char *host)
{
    time_both(host, 0);
}
#endif

int main(int argc, char **argv)
{
    double round_trip_ms = argc == 3 ? atof(argv[2]) : 0;

    if (argc == 2) {
        answer(argv[1]);
    } else if (round_trip_ms > 0) {
        time_both(argv[1], round_trip_ms / 1e3);
    } else {
        fprintf(stderr, "usage: first_message ADDRESS, and first_message ADDRESS ROUND_TRIP_MS\n");
        return 2;
    }
    return EXIT_SUCCESS;
}
