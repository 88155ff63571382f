/* A listener without a host, and names: whoever calls by IPv4, by IPv6, or by a name that has
 * addresses of both is served, also where IPv6 is off or has its sockets to itself; and what is
 * said where nobody listens. In a network and with an /etc/hosts of its own. */
#include "../../support/house.h"
#include "../../support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { MESSAGE = 300000 };

static const char hosts[] = "127.0.0.1 localhost four.test\n"
                            "::1 localhost six.test\n";
static const char no_ip6[] = "/proc/sys/net/ipv6/conf/all/disable_ipv6";
static const char ip6_alone[] = "/proc/sys/net/ipv6/bindv6only";

/* ---- a network ---- */

static bool write_to(int fd, const char *text)
{
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return is_written;
}

static bool write_file(const char *path, const char *text)
{
    return write_to(open(path, O_WRONLY | O_CLOEXEC), text);
}

static bool own_hosts(void)
{
    char path[] = "/tmp/zcrp-hosts-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    bool is_done = fd >= 0 && fchmod(fd, 0644) == 0 && write_to(fd, hosts) &&
                   mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                   mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0;

    if (fd >= 0)
        unlink(path);
    return is_done;
}

static bool own_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_up = write_file(no_ip6, "0") && ioctl(fd, SIOCSIFFLAGS, &request) == 0;

    close(fd);
    return is_up;
}

static bool enter(void)
{
    return unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 && own_loopback() && own_hosts();
}

static bool can_enter(void)
{
    int status = EXIT_FAILURE;
    pid_t child = fork();

    if (child == 0)
        _exit(enter() ? EXIT_SUCCESS : EXIT_FAILURE);
    bool can = child > 0 && waitpid(child, &status, 0) == child && status == EXIT_SUCCESS;
    if (!can)
        puts("needs the rights of root, and IPv6");
    return can;
}

static bool can_enter_with_udp(void)
{
    return loopback_is_udp() && can_enter();
}

static void setup(void)
{
    ck_assert(enter());
}

FIXTURE(setup, NULL)

/* ---- calls ---- */

static void addresses_are(const struct both *b, const char *host, const char *port)
{
    char begin[64], peer[64], text[64];

    snprintf(begin, sizeof begin, "%s:", host);
    ck_assert_int_eq(zcrp_connection_peer(b->here, peer, sizeof peer), ZCRP_OK);
    ck_assert_msg(strncmp(peer, begin, strlen(begin)) == 0, "%s", peer);
    ck_assert_int_eq(zcrp_connection_local(b->there, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, peer);
    snprintf(begin, sizeof begin, "%s:%s", host, port);
    ck_assert_int_eq(zcrp_connection_local(b->here, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, begin);
    ck_assert_int_eq(zcrp_connection_peer(b->there, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, begin);
}

/* Calls by the name, and comes to that address. */
static void call(const struct house *h, const char *name, const char *host)
{
    const struct zcrp_options options = house_options(NULL);
    struct both b;

    ck_assert_int_eq(zcrp_connect(&b.there, name, h->port, &options, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h->listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    addresses_are(&b, host, h->port);
    house_pass(b.there, b.here, MESSAGE, 1);
    house_pass(b.here, b.there, MESSAGE, 2);
    house_part(&b);
}

static const struct {
    const char *name, *host;
} calls[] = {
    {"localhost", "[::1]"},     {"four.test", "127.0.0.1"}, {"six.test", "[::1]"},
    {"127.0.0.1", "127.0.0.1"}, {"::1", "[::1]"},           {"::ffff:127.0.0.1", "127.0.0.1"},
};

/* With a listener without a host, and with one at any address of IPv6. */
TEST(names__of_both_families, .rows = 2, .needs = can_enter)
{
    struct house h = house_open(_i == 0 ? NULL : "::", NULL);

    for (int i = 0; i < ROWS(calls); i++)
        call(&h, calls[i].name, calls[i].host);
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* The name's other address is the one that is left. */
TEST(names__without_ip6, .rows = 2, .needs = can_enter)
{
    ck_assert(write_file(no_ip6, "1"));
    struct house h = house_open(_i == 0 ? NULL : "127.0.0.1", NULL);

    call(&h, "localhost", "127.0.0.1");
    call(&h, "127.0.0.1", "127.0.0.1");
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* Where sockets of IPv6 are for IPv6 alone unless they say otherwise. */
TEST(names__with_ip6_to_itself, .needs = can_enter)
{
    ck_assert(write_file(ip6_alone, "1"));
    struct house h = house_open(NULL, NULL);

    call(&h, "localhost", "[::1]");
    call(&h, "127.0.0.1", "127.0.0.1");
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* Both at once, and from many ports: none is taken for another. */
TEST(names__at_once, .needs = can_enter)
{
    enum { CALLERS = 8 };
    const struct zcrp_options options = house_options(NULL);
    struct house h = house_open(NULL, NULL);
    struct both b[CALLERS];
    char own[64], peer[64];

    for (int i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(zcrp_connect(&b[i].there, i % 2 ? "127.0.0.1" : "::1", h.port, &options,
                                      5 * ENDS_SECOND),
                         ZCRP_OK);
        ck_assert_int_eq(zcrp_accept(h.listener, &b[i].here, 5 * ENDS_SECOND), ZCRP_OK);
    }
    for (int i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(zcrp_connection_local(b[i].there, own, sizeof own), ZCRP_OK);
        ck_assert_int_eq(zcrp_connection_peer(b[i].here, peer, sizeof peer), ZCRP_OK);
        ck_assert_str_eq(own, peer);
        house_pass(b[i].there, b[i].here, MESSAGE, (uint64_t)i);
        house_part(&b[i]);
    }
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* A port that somebody has in one family is taken. */
TEST(names__port_taken_in_one_family, .rows = 2, .needs = can_enter)
{
    int taken = zcrp_udp_listen(_i == 0 ? "127.0.0.1" : "::1", "0");
    struct zcrp_listener *listener;
    char port[8];

    ck_assert_int_ge(taken, 0);
    snprintf(port, sizeof port, "%d", zcrp_udp_port(taken));
    errno = 0;
    ck_assert_int_eq(zcrp_listen(&listener, NULL, port, NULL), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(errno, EADDRINUSE);
    close(taken);
}

/* ---- descriptors ---- */

/* A socket of IPv6 that has a peer by IPv4. */
TEST(names__of_descriptors, .rows = 3, .needs = can_enter_with_udp)
{
    static const char *const host[] = {"127.0.0.1", "::1", "localhost"};
    struct zcrp_msg *out = zcrp_alloc_msg(MESSAGE), *in = zcrp_alloc_msg(MESSAGE);
    int far = zcrp_udp_listen(NULL, "0");
    struct zcrp_entity *sender, *receiver;
    char port[8];

    snprintf(port, sizeof port, "%d", zcrp_udp_port(far));
    int near = zcrp_udp_connect(host[_i], port);
    const int nears[] = {near, near}, fars[] = {far, far};
    ck_assert_int_ge(near, 0);
    pattern_fill(out->buffer, MESSAGE, 3);
    ck_assert_int_eq(zcrp_open_sender(&sender, nears, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(sender, out, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(zcrp_udp_accept(far, 5 * ENDS_SECOND), ZCRP_OK);
    ck_assert_int_eq(zcrp_open_receiver(&receiver, fars, NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_submit(receiver, in, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert(pattern_holds(in->buffer, MESSAGE, 3));
    (void)zcrp_close(sender);
    (void)zcrp_close(receiver);
    zcrp_free_msg(out);
    zcrp_free_msg(in);
    close(near);
    close(far);
}

/* ---- nobody listens ---- */

static void write_dead_port(char port[8])
{
    struct house h = house_open(NULL, NULL);

    memcpy(port, h.port, sizeof(h.port));
    ck_assert_int_eq(zcrp_listener_close(h.listener), ZCRP_OK);
}

/* The address that was tried, and the name that it was tried for. A message that fails has less to
 * say, and not what a connection said. */
TEST(names__nobody_listens, .needs = can_enter)
{
    const struct zcrp_options options =
        house_options(&(struct zcrp_options){.connect_ns = 2 * ENDS_SECOND});
    struct zcrp_msg *m = zcrp_alloc_msg(MESSAGE);
    struct zcrp_connection *c;
    char port[8], text[128];
    nlong size;

    write_dead_port(port);
    ck_assert_int_eq(zcrp_connect(&c, "localhost", port, &options, -1), ZCRP_ERROR_REFUSED);
    snprintf(text, sizeof text, "nobody listens at \"localhost\", port %s ([::1]:%s)", port, port);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_REFUSED), text);
    ck_assert_int_eq(zcrp_connect(&c, "::1", port, &options, -1), ZCRP_ERROR_REFUSED);
    snprintf(text, sizeof text, "nobody listens at [::1]:%s", port);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_REFUSED), text);
    ck_assert_int_eq(zcrp_connect(&c, "four.test", port, &options, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_expect(zcrp_connection_receiver(c), &size, -1), ZCRP_ERROR_REFUSED);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_REFUSED), zcrp_strerror(ZCRP_ERROR_REFUSED));
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(c), m, MESSAGE), ZCRP_OK);
    ck_assert_int_eq(ends_wait(m), ZCRP_ERROR_REFUSED);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_REFUSED), zcrp_strerror(ZCRP_ERROR_REFUSED));
    ck_assert_int_eq(zcrp_connection_wait(c, -1), ZCRP_ERROR_REFUSED);
    snprintf(text, sizeof text, "nobody listens at 127.0.0.1:%s", port);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_REFUSED), text);
    ck_assert_int_eq(zcrp_error(m), ZCRP_ERROR_REFUSED);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_REFUSED), zcrp_strerror(ZCRP_ERROR_REFUSED));
    (void)zcrp_connection_close(c);
    zcrp_free_msg(m);
}
