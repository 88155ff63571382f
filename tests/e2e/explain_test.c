/* Each cause of a failure has its sentence (zcrp_explain), and, where it is an address, its errno.
 */
#include "../support/ends.h"
#include "../support/folder.h"

#include <errno.h>
#include <pthread.h>

LOAD(asleep)

enum { LABEL = 64, LONG = 5000 }; /* a label of a host's name has 63 characters at most */

/* The call fails with this code, and this is said of it. */
#define EXPECT(call, code, text)                                                                   \
    do {                                                                                           \
        ck_assert_int_eq(call, code);                                                              \
        ck_assert_str_eq(zcrp_explain(code), text);                                                \
    } while (0)

static void expect_begin(const char *begin)
{
    const char *text = zcrp_explain(ZCRP_ERROR_ADDRESS);

    printf("%s\n", text);
    ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "%s", text);
}

/* Nothing in it that a terminal would obey. */
static void expect_printable(const char *text)
{
    for (; *text != '\0'; text++)
        ck_assert_msg((unsigned char)*text >= ' ' && (unsigned char)*text < 0x7F, "%02x", *text);
}

/* ---- addresses ---- */

static const struct {
    const char *host, *port;
    bool is_own; /* it is listened at, not connected to */
    int error;
    const char *begin;
} addresses[] = {
    {"", "5000", false, EINVAL, "the host is empty"},
    {"", "5000", true, EINVAL, "the host is empty"},
    {"127.0.0.1", "0", false, EINVAL,
     "\"0\" is no port: that is a number from 1 to 65535, or the name"},
    {"127.0.0.1", "70000", true, EINVAL,
     "\"70000\" is no port: that is a number from 0 to 65535, or"},
    {"127.0.0.1", "", true, EINVAL, "\"\" is no port: "},
    {"127.0.0.1", "no-such-service", false, EINVAL, "\"no-such-service\" is no port: "},
    {NULL, "no-such-service", true, EINVAL, "\"no-such-service\" is no port: "},
    {"127.0.0.1", "evil\n\x1b[31m", true, EINVAL, "\"evil\\x0a\\x1b[31m\" is no port: "},
    {"127.255.255.255", "9", false, EACCES,
     "cannot connect to \"127.255.255.255\", port 9: Permission denied"},
    {"192.0.2.1", "0", true, EADDRNOTAVAIL, "\"192.0.2.1\" is no address of this machine"},
};

TEST(explain__addresses, .rows = ROWS(addresses), .needs = loopback_is_udp)
{
    const char *host = addresses[_i].host, *port = addresses[_i].port;

    errno = 0;
    int code = addresses[_i].is_own ? zcrp_udp_listen(host, port) : zcrp_udp_connect(host, port);
    ck_assert_int_eq(errno, addresses[_i].error);
    ck_assert_int_eq(code, ZCRP_ERROR_ADDRESS);
    expect_begin(addresses[_i].begin);
    expect_printable(zcrp_explain(code));
}

/* The same of connections and listeners. */
TEST(explain__addresses_of_connections, .rows = ROWS(addresses), .needs = loopback_is_udp)
{
    const char *host = addresses[_i].host, *port = addresses[_i].port;
    struct zcrp_connection *c;
    struct zcrp_listener *l;

    errno = 0;
    int code = addresses[_i].is_own ? zcrp_listen(&l, host, port, NULL)
                                    : zcrp_connect(&c, host, port, NULL, 0);
    ck_assert_int_eq(errno, addresses[_i].error);
    ck_assert_int_eq(code, ZCRP_ERROR_ADDRESS);
    expect_begin(addresses[_i].begin);
}

/* Names that no server is asked for, because they cannot be any. */
TEST(explain__unknown_host, .needs = loopback_is_udp)
{
    char host[LABEL + 1], begin[LABEL + 32];

    memset(host, 'x', LABEL);
    host[LABEL] = '\0';
    snprintf(begin, sizeof(begin), "cannot resolve host \"%s\": ", host);
    errno = 0;
    ck_assert_int_eq(zcrp_udp_connect(host, "7000"), ZCRP_ERROR_ADDRESS);
    ck_assert_int_eq(errno, ENOENT);
    expect_begin(begin);
    ck_assert_uint_gt(strlen(zcrp_explain(ZCRP_ERROR_ADDRESS)), strlen(begin));
    ck_assert_int_eq(zcrp_aal5_connect(host), ZCRP_ERROR_ADDRESS);
    expect_begin(begin);
}

TEST(explain__hostile_host, .needs = loopback_is_udp)
{
    char host[LONG + 1] = "\x1b]0;title\x07\n\xff";
    size_t begun = strlen(host);

    memset(host + begun, 'x', LONG - begun);
    host[LONG] = '\0';
    ck_assert_int_eq(zcrp_udp_connect(host, "7000"), ZCRP_ERROR_ADDRESS);
    expect_begin("cannot resolve host \"\\x1b]0;title\\x07\\x0a\\xffxxx");
    expect_printable(zcrp_explain(ZCRP_ERROR_ADDRESS));
    ck_assert_ptr_nonnull(strstr(zcrp_explain(ZCRP_ERROR_ADDRESS), "xxx...\": "));
    ck_assert_uint_lt(strlen(zcrp_explain(ZCRP_ERROR_ADDRESS)), 400);
}

static void expect_in_use(const char *host, const char *port, const char *text)
{
    struct zcrp_listener *listener;

    errno = 0;
    EXPECT(zcrp_udp_listen(host, port), ZCRP_ERROR_ADDRESS, text);
    ck_assert_int_eq(errno, EADDRINUSE);
    errno = 0;
    EXPECT(zcrp_listen(&listener, host, port, NULL), ZCRP_ERROR_ADDRESS, text);
    ck_assert_int_eq(errno, EADDRINUSE);
}

TEST(explain__port_in_use, .needs = loopback_is_udp)
{
    int fd = zcrp_udp_listen(NULL, "0");
    char port[8], text[64];

    ck_assert_int_ge(fd, 0);
    snprintf(port, sizeof(port), "%d", zcrp_udp_port(fd));
    snprintf(text, sizeof(text), "port %s is in use", port);
    expect_in_use(NULL, port, text);
    snprintf(text, sizeof(text), "port %s is in use at 127.0.0.1", port);
    expect_in_use("127.0.0.1", port, text);
    close(fd);
}

/* ---- arguments ---- */

TEST(explain__arguments)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *m = zcrp_alloc_msg(10), *wrapped = zcrp_wrap_msg(m, 1);
    struct zcrp_entity *e;
    struct zcrp_stats stats;
    char text[64];
    nlong size;

    EXPECT(zcrp_open_sender(NULL, sockets.sender, NULL), ZCRP_ERROR_ARGUMENT, "entity is NULL");
    EXPECT(zcrp_open_sender(&e, NULL, NULL), ZCRP_ERROR_ARGUMENT, "descriptors is NULL");
    EXPECT(zcrp_open_sender(&e, sockets.sender, &(struct zcrp_options){.unit_bytes = 3}),
           ZCRP_ERROR_ARGUMENT, "options.unit_bytes is 3; it has to be 0 or 64 to 65507");
    ck_assert_int_eq(zcrp_open_sender(&e, sockets.sender, NULL), ZCRP_OK);
    EXPECT(zcrp_submit(NULL, m, 1), ZCRP_ERROR_ARGUMENT, "entity is NULL");
    EXPECT(zcrp_submit(e, NULL, 1), ZCRP_ERROR_ARGUMENT, "message is NULL");
    EXPECT(zcrp_expect(e, &size, 0), ZCRP_ERROR_ARGUMENT, "receiver is a sender");
    EXPECT(zcrp_expect(e, NULL, 0), ZCRP_ERROR_ARGUMENT, "size is NULL");
    EXPECT(zcrp_stats(NULL, &stats), ZCRP_ERROR_ARGUMENT, "entity is NULL");
    EXPECT(zcrp_stats(e, NULL), ZCRP_ERROR_ARGUMENT, "stats is NULL");
    EXPECT(zcrp_rewrap_msg(m, text, 1), ZCRP_ERROR_ARGUMENT,
           "message was not made by zcrp_wrap_msg or zcrp_wrap_iov");
    EXPECT(zcrp_rewrap_msg(wrapped, NULL, 1), ZCRP_ERROR_ARGUMENT, "buffer is NULL");
    EXPECT(zcrp_wait_for(NULL, 0), ZCRP_ERROR_ARGUMENT, "message is NULL");
    EXPECT(zcrp_wait_any(NULL, 1, 0), ZCRP_ERROR_ARGUMENT, "messages is NULL");
    EXPECT(zcrp_wait_any(&m, -3, 0), ZCRP_ERROR_ARGUMENT, "count is -3; it has to be 0 or more");
    EXPECT(zcrp_identity(e, NULL, 64), ZCRP_ERROR_ARGUMENT, "text is NULL");
    EXPECT(zcrp_udp_connect(NULL, "7000"), ZCRP_ERROR_ARGUMENT, "host is NULL");
    EXPECT(zcrp_udp_connect("127.0.0.1", NULL), ZCRP_ERROR_ARGUMENT, "port is NULL");
    EXPECT(zcrp_udp_accept(-1, 0), ZCRP_ERROR_ARGUMENT, "-1 is no descriptor");
    EXPECT(zcrp_connection_peer(NULL, text, 64), ZCRP_ERROR_ARGUMENT, "connection is NULL");
    EXPECT(zcrp_listener_port(NULL), ZCRP_ERROR_ARGUMENT, "listener is NULL");
    ck_assert_int_eq(zcrp_send_init(NULL), 0);
    EXPECT(zcrp_error(NULL), ZCRP_ERROR_ARGUMENT, "file_descriptors is NULL");
    ck_assert_int_eq(zcrp_close(e), ZCRP_OK);
    zcrp_free_msg(wrapped);
    zcrp_free_msg(m);
    loopback_close(&sockets);
}

static const struct {
    struct zcrp_aal5 aal5;
    const char *text;
} circuits[] = {
    {{.vci = 31}, "options.aal5.vci is 31; it has to be 0 or 32 to 4127"},
    {{.mtu = 5}, "options.aal5.mtu is 5; it has to be 0 or 1200 to 65535"},
    {{.vci = 77, .vci_control = 77},
     "options.aal5.vci_control is 77, as vci; a connection has to have two circuits"},
};

TEST(explain__circuits, .rows = ROWS(circuits), .needs = loopback_is_udp)
{
    const struct zcrp_options options = {.channel = ZCRP_CHANNEL_AAL5, .aal5 = circuits[_i].aal5};
    struct zcrp_listener *listener;
    struct zcrp_connection *c;

    EXPECT(zcrp_listen(&listener, "127.0.0.1", "0", &options), ZCRP_ERROR_ARGUMENT,
           circuits[_i].text);
    EXPECT(zcrp_connect(&c, "127.0.0.1", "9", &options, 0), ZCRP_ERROR_ARGUMENT, circuits[_i].text);
}

TEST(explain__system)
{
    int fd = dup(STDOUT_FILENO);
    char text[100];

    close(fd);
    snprintf(text, sizeof(text), "descriptor %d: %s", fd, strerror(EBADF));
    EXPECT(zcrp_udp_port(fd), ZCRP_ERROR_SYSTEM, text);
    EXPECT(zcrp_udp_accept(fd, 0), ZCRP_ERROR_SYSTEM, text);
    ck_assert_int_eq(errno, EBADF);
}

/* ---- keys ---- */

#ifdef ZCRP_KEYS
static const char *made(const char *name, const char *content, mode_t mode)
{
    const char *path = folder_path(name);
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(content, file), 0);
    ck_assert_int_eq(fchmod(fileno(file), mode), 0);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MORE_LINES ": a pre-shared key is one line, and this has more"

static const struct {
    const char *content; /* NULL: there is no file */
    mode_t mode;
    int code;
    const char *said; /* behind the file's name */
} key_files[] = {
    {NULL, 0, ZCRP_ERROR_SYSTEM, ": No such file or directory"},
    {"hello\n", 0640, ZCRP_ERROR_EXPOSED,
     " is open to users other than its owner: its mode is 0640, not 0600"},
    {"hello\n", 0600, ZCRP_ERROR_ARGUMENT, ": neither \"identity:digits\" nor a key pair in PEM"},
    {"a:0123\n", 0600, ZCRP_ERROR_ARGUMENT, ": key has 2 bytes; it has to have 32 to 64"},
    {":0123\n", 0600, ZCRP_ERROR_ARGUMENT, ": identity has 0 bytes; it has to have 1 to 128"},
    {"a:xyz\n", 0600, ZCRP_ERROR_ARGUMENT,
     ": what is behind the colon is not 64 to 128 hexadecimal digits"},
    {"alice:" DIGITS "\nbob:" DIGITS "\n", 0600, ZCRP_ERROR_ARGUMENT, MORE_LINES},
    {"alice:" DIGITS "\r\n\r\nbob:" DIGITS, 0600, ZCRP_ERROR_ARGUMENT, MORE_LINES},
    {"alice:" DIGITS "\rbob:" DIGITS "\r", 0600, ZCRP_ERROR_ARGUMENT, MORE_LINES},
    {"alice:" DIGITS "\nbob\n", 0600, ZCRP_ERROR_ARGUMENT, MORE_LINES},
    {"\nalice:" DIGITS "\n", 0600, ZCRP_ERROR_ARGUMENT, MORE_LINES},
};

TEST(explain__key_files, .rows = ROWS(key_files))
{
    struct zcrp_keys *keys;
    char text[400];

    folder_make();
    const char *path = key_files[_i].content == NULL
                           ? folder_path("key")
                           : made("key", key_files[_i].content, key_files[_i].mode);
    snprintf(text, sizeof(text), "%s%s", path, key_files[_i].said);
    EXPECT(zcrp_keys_read(&keys, path), key_files[_i].code, text);
    folder_remove();
}

TEST(explain__key_file_that_is_a_device)
{
    struct zcrp_keys *keys;

    EXPECT(zcrp_keys_read(&keys, "/dev/null"), ZCRP_ERROR_ARGUMENT, "/dev/null is no regular file");
}

TEST(explain__key_file_that_is_too_large)
{
    enum { MOST = 1 << 16 };
    static char content[MOST + 1];
    struct zcrp_keys *keys;
    char text[400];

    memset(content, 'a', MOST);
    folder_make();
    const char *path = made("key", content, 0600);
    snprintf(text, sizeof(text), "%s has %d bytes or more", path, MOST);
    EXPECT(zcrp_keys_read(&keys, path), ZCRP_ERROR_ARGUMENT, text);
    folder_remove();
}

/* Empty lines behind the key are nothing. */
static const char *const one_line[] = {"alice:" DIGITS, "alice:" DIGITS "\n",
                                       "alice:" DIGITS "\r\n", "alice:" DIGITS "\n\n \t\n"};

TEST(explain__key_file_of_one_line, .rows = ROWS(one_line))
{
    struct zcrp_keys *keys;

    folder_make();
    ck_assert_int_eq(zcrp_keys_read(&keys, made("key", one_line[_i], 0600)), ZCRP_OK);
    zcrp_keys_free(keys);
    folder_remove();
}

/* Whatever its mode. */
TEST(explain__key_file_is_a_folder, .rows = 2)
{
    struct zcrp_keys *keys;
    char text[400];

    folder_make();
    const char *path = folder_path("keys");
    ck_assert_int_eq(mkdir(path, _i == 0 ? 0700 : 0755), 0);
    snprintf(text, sizeof(text), "%s: Is a directory", path);
    EXPECT(zcrp_keys_read(&keys, path), ZCRP_ERROR_SYSTEM, text);
    ck_assert_int_eq(errno, EISDIR);
    ck_assert_int_eq(rmdir(path), 0);
    folder_remove();
}

/* A secret is in no sentence. */
TEST(explain__keys_says_no_secret)
{
    struct zcrp_keys *keys;

    folder_make();
    const char *path = made("key", "name:secretsecretsecret\n", 0600);
    ck_assert_int_eq(zcrp_keys_read(&keys, path), ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(strstr(zcrp_explain(ZCRP_ERROR_ARGUMENT), "secret"));
    folder_remove();
}

TEST(explain__keys)
{
    static const uint8_t key[ZCRP_KEYS_PSK_MOST] = {7};
    struct zcrp_keys *keys, *none;
    char text[600];

    EXPECT(zcrp_keys_psk(&none, "a", key, 31), ZCRP_ERROR_ARGUMENT,
           "key has 31 bytes; it has to have 32 to 64");
    EXPECT(zcrp_keys_psk(&none, NULL, key, 32), ZCRP_ERROR_ARGUMENT, "identity is NULL");
    EXPECT(zcrp_keys_raw(&none, NULL, 0), ZCRP_ERROR_ARGUMENT, "pem is NULL");
    ck_assert_int_eq(zcrp_keys_raw(&none, "x", 1), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(strncmp(zcrp_explain(ZCRP_ERROR_ARGUMENT), "the secret key: ", 16), 0);
    ck_assert_int_eq(zcrp_keys_psk(&keys, "a", key, 32), ZCRP_OK);
    EXPECT(zcrp_keys_pin(keys, "sha256:00"), ZCRP_ERROR_ARGUMENT,
           "keys is of another kind; it has to be of zcrp_keys_raw");
    folder_make();
    snprintf(text, sizeof(text), "%s: No such file or directory", folder_path("none/log"));
    EXPECT(zcrp_keys_log(keys, folder_path("none/log")), ZCRP_ERROR_SYSTEM, text);
    snprintf(text, sizeof(text), "%s is no regular file", "/dev/null");
    EXPECT(zcrp_keys_log(keys, "/dev/null"), ZCRP_ERROR_ARGUMENT, text);
    char file[128];
    snprintf(file, sizeof(file), "%s", made("key.pem", "x", 0600));
    snprintf(text, sizeof(text), "%s: No such file or directory", folder_path("ca.pem"));
    EXPECT(zcrp_keys_certificate(&none, file, file, folder_path("ca.pem"), NULL), ZCRP_ERROR_SYSTEM,
           text);
    snprintf(text, sizeof(text), "%s: No such file or directory", folder_path("no.pem"));
    EXPECT(zcrp_keys_certificate(&none, file, folder_path("no.pem"), file, NULL), ZCRP_ERROR_SYSTEM,
           text);
    folder_remove();
    zcrp_keys_free(keys);
}

static const char own_key[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                              "-----END PRIVATE KEY-----\n";

TEST(explain__keys_of_another_kind)
{
    static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = {7};
    static const char shared[] = "keys is of another kind; it has to be of zcrp_keys_psk";
    struct zcrp_keys *keys;

    ck_assert_int_eq(zcrp_keys_raw(&keys, own_key, strlen(own_key)), ZCRP_OK);
    EXPECT(zcrp_keys_add_psk(keys, "a", key, sizeof(key)), ZCRP_ERROR_ARGUMENT, shared);
    EXPECT(zcrp_keys_set_lookup(keys, NULL, NULL), ZCRP_ERROR_ARGUMENT, shared);
    EXPECT(zcrp_keys_pin(keys, "sha256:00"), ZCRP_ERROR_ARGUMENT,
           "fingerprint is \"sha256:00\"; it has to be \"sha256:\" and 64 hexadecimal digits");
    EXPECT(zcrp_keys_pin(keys, "sha256:" DIGITS "00"), ZCRP_ERROR_ARGUMENT,
           "fingerprint is \"sha256:" DIGITS "00\"; it has to be \"sha256:\" and 64 hexadecimal "
           "digits");
    EXPECT(zcrp_keys_pin(keys, NULL), ZCRP_ERROR_ARGUMENT, "fingerprint is NULL");
    EXPECT(zcrp_keys_log(keys, NULL), ZCRP_ERROR_ARGUMENT, "path is NULL");
    zcrp_keys_free(keys);
}

TEST(explain__keys_that_are_NULL)
{
    static const uint8_t key[ZCRP_KEYS_PSK_MOST + 1] = {7};
    struct zcrp_keys *none;

    EXPECT(zcrp_keys_psk(NULL, "a", key, 32), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_psk(&none, "a", NULL, 32), ZCRP_ERROR_ARGUMENT, "key is NULL");
    EXPECT(zcrp_keys_psk(&none, "a", key, 65), ZCRP_ERROR_ARGUMENT,
           "key has 65 bytes; it has to have 32 to 64");
    EXPECT(zcrp_keys_add_psk(NULL, "a", key, 32), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_set_lookup(NULL, NULL, NULL), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_read(NULL, "key"), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_read(&none, NULL), ZCRP_ERROR_ARGUMENT, "path is NULL");
    EXPECT(zcrp_keys_log(NULL, "log"), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_raw(NULL, "x", 1), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_pin(NULL, "x"), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_certificate(NULL, "x", "x", "x", NULL), ZCRP_ERROR_ARGUMENT, "keys is NULL");
    EXPECT(zcrp_keys_certificate(&none, NULL, "x", "x", NULL), ZCRP_ERROR_ARGUMENT,
           "certificate_file is NULL");
    EXPECT(zcrp_keys_certificate(&none, "x", NULL, "x", NULL), ZCRP_ERROR_ARGUMENT,
           "key_file is NULL");
    EXPECT(zcrp_keys_certificate(&none, "x", "x", NULL, NULL), ZCRP_ERROR_ARGUMENT,
           "authorities_file is NULL");
#if SIZE_MAX > UINT32_MAX
    EXPECT(zcrp_keys_raw(&none, "x", (size_t)1 << 32), ZCRP_ERROR_ARGUMENT,
           "pem has 4294967296 bytes; it has to have 1 to 4294967295");
#endif
    ck_assert_ptr_null(none);
}

/* No more than 128 bytes have room. */
TEST(explain__identity_that_is_too_long)
{
    static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = {7};
    char name[ZCRP_KEYS_IDENTITY_MOST + 2];
    struct zcrp_keys *keys;

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    EXPECT(zcrp_keys_psk(&keys, name, key, sizeof(key)), ZCRP_ERROR_ARGUMENT,
           "identity has 129 bytes; it has to have 1 to 128");
    name[ZCRP_KEYS_IDENTITY_MOST] = '\0';
    ck_assert_int_eq(zcrp_keys_psk(&keys, name, key, sizeof(key)), ZCRP_OK);
    zcrp_keys_free(keys);
}

static const char *const papers[] = {"certificate.pem", "key.pem", "authorities.pem"};

static void make_papers(void)
{
    folder_make();
    for (int i = 0; i < ROWS(papers); i++)
        (void)made(papers[i], "x", 0600);
}

static int read_papers(void)
{
    struct zcrp_keys *keys;

    return zcrp_keys_certificate(&keys, folder_path(papers[0]), folder_path(papers[1]),
                                 folder_path(papers[2]), NULL);
}

TEST(explain__papers_that_are_none)
{
    char text[600];

    make_papers();
    snprintf(text, sizeof(text), "%s: there is no certificate in it", folder_path(papers[2]));
    EXPECT(read_papers(), ZCRP_ERROR_ARGUMENT, text);
    folder_remove();
}

TEST(explain__papers_that_cannot_be_read, .rows = ROWS(papers))
{
    char text[600];

    make_papers();
    ck_assert_int_eq(unlink(folder_path(papers[_i])), 0);
    ck_assert_int_eq(mkdir(folder_path(papers[_i]), 0700), 0);
    snprintf(text, sizeof(text), "%s: Is a directory", folder_path(papers[_i]));
    EXPECT(read_papers(), ZCRP_ERROR_SYSTEM, text);
    ck_assert_int_eq(errno, EISDIR);
    folder_remove();
}

static bool is_root(void)
{
    return geteuid() == 0;
}

/* Not the user who started the program is asked for, but the one whom it acts for. */
TEST(explain__papers_of_another_user, .rows = ROWS(papers), .needs = is_root)
{
    enum { NOBODY = 65534 };
    char text[600];

    make_papers();
    ck_assert_int_eq(chown(folder, NOBODY, NOBODY), 0);
    for (int i = 0; i < ROWS(papers); i++)
        ck_assert_int_eq(chown(folder_path(papers[i]), i == _i ? 0 : NOBODY, NOBODY), 0);
    snprintf(text, sizeof(text), "%s: Permission denied", folder_path(papers[_i]));
    ck_assert_int_eq(seteuid(NOBODY), 0);
    EXPECT(read_papers(), ZCRP_ERROR_SYSTEM, text);
    ck_assert_int_eq(errno, EACCES);
    ck_assert_int_eq(seteuid(0), 0);
    folder_remove();
}
#endif

/* ---- whose, and of what ---- */

/* What was said of one failure is not told of another. */
TEST(explain__belongs_to_its_code)
{
    ck_assert_str_eq(zcrp_explain(ZCRP_OK), zcrp_strerror(ZCRP_OK));
    ck_assert_str_eq(zcrp_explain(7), zcrp_strerror(7));
    for (int code = -ZCRP_ERROR_COUNT; code < 0; code++)
        ck_assert_str_eq(zcrp_explain(code), zcrp_strerror(code));
    EXPECT(zcrp_udp_connect(NULL, "1"), ZCRP_ERROR_ARGUMENT, "host is NULL");
    struct zcrp_msg *m = zcrp_alloc_msg(1);
    ck_assert_int_eq(zcrp_wait_for(m, 0), ZCRP_ERROR_IDLE);
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_IDLE), zcrp_strerror(ZCRP_ERROR_IDLE));
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "host is NULL");
    EXPECT(zcrp_udp_connect("", "1"), ZCRP_ERROR_ADDRESS, "the host is empty");
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), zcrp_strerror(ZCRP_ERROR_ARGUMENT));
    zcrp_free_msg(m);
}

TEST(explain__listeners_and_connections_that_are_NULL)
{
    struct zcrp_connection *connection = NULL;
    struct zcrp_listener *listener;
    struct zcrp_listener_stats stats;
    char text[8];

    EXPECT(zcrp_listen(NULL, NULL, "0", NULL), ZCRP_ERROR_ARGUMENT, "listener is NULL");
    EXPECT(zcrp_accept(NULL, &connection, 0), ZCRP_ERROR_ARGUMENT, "listener is NULL");
    EXPECT(zcrp_listener_port(NULL), ZCRP_ERROR_ARGUMENT, "listener is NULL");
    EXPECT(zcrp_listener_descriptor(NULL), ZCRP_ERROR_ARGUMENT, "listener is NULL");
    EXPECT(zcrp_listener_stats(NULL, &stats), ZCRP_ERROR_ARGUMENT, "listener is NULL");
    ck_assert_int_eq(zcrp_listener_interrupt(NULL), ZCRP_ERROR_ARGUMENT); /* in a signal handler */
    ck_assert_int_eq(zcrp_listener_close(NULL), ZCRP_OK);
    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", NULL), ZCRP_OK);
    EXPECT(zcrp_accept(listener, NULL, 0), ZCRP_ERROR_ARGUMENT, "connection is NULL");
    EXPECT(zcrp_listener_stats(listener, NULL), ZCRP_ERROR_ARGUMENT, "stats is NULL");
    ck_assert_int_eq(zcrp_listener_close(listener), ZCRP_OK);
    EXPECT(zcrp_connection_status(NULL), ZCRP_ERROR_ARGUMENT, "connection is NULL");
    EXPECT(zcrp_connection_wait(NULL, 0), ZCRP_ERROR_ARGUMENT, "connection is NULL");
    EXPECT(zcrp_connection_peer(NULL, text, sizeof(text)), ZCRP_ERROR_ARGUMENT,
           "connection is NULL");
    EXPECT(zcrp_connection_local(NULL, text, sizeof(text)), ZCRP_ERROR_ARGUMENT,
           "connection is NULL");
    EXPECT(zcrp_connection_identity(NULL, text, sizeof(text)), ZCRP_ERROR_ARGUMENT,
           "connection is NULL");
    ck_assert_int_eq(zcrp_connection_interrupt(NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_connection_close(NULL), ZCRP_OK);
    ck_assert_ptr_null(zcrp_connection_sender(NULL));
    ck_assert_ptr_null(zcrp_connection_receiver(NULL));
    ck_assert_ptr_null(zcrp_connection_first(NULL, 0));
    ck_assert_ptr_null(zcrp_connection_alloc_msg(NULL, 1));
}

static void *fail_elsewhere(void *seen)
{
    *(const char **)seen = zcrp_explain(ZCRP_ERROR_ARGUMENT);
    EXPECT(zcrp_wait_for(NULL, 0), ZCRP_ERROR_ARGUMENT, "message is NULL");
    return NULL;
}

TEST(explain__of_another_thread)
{
    const char *seen = NULL;
    pthread_t other;

    EXPECT(zcrp_udp_connect(NULL, "1"), ZCRP_ERROR_ARGUMENT, "host is NULL");
    ck_assert_int_eq(pthread_create(&other, NULL, fail_elsewhere, &seen), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_str_eq(seen, zcrp_strerror(ZCRP_ERROR_ARGUMENT));
    ck_assert_str_eq(zcrp_explain(ZCRP_ERROR_ARGUMENT), "host is NULL");
}
