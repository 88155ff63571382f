/* Keys of a file that the environment names, for programs that ask for them by a flag. */
#include "../../support/folder.h"
#include "../../support/house.h"
#include "../../support/shared_keys.h"

LOAD(asleep)

static const char name[] = "ZCRP_KEYS";
static const struct zcrp_options asks = {
    .flags = ZCRP_ENVIRONMENT_KEYS, .linger_ns = ENDS_SECOND, .connect_ns = 2 * ENDS_SECOND};

static void begin(void)
{
    folder_make();
}

static void end(void)
{
    folder_remove();
}

FIXTURE(begin, end)

/* The variable names a file with this key. */
static void put_key(const char *identity, unsigned digit, mode_t mode)
{
    const char *path = folder_path("key");
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s:", identity);
    for (int i = 0; i < ZCRP_KEYS_PSK_LEAST; i++)
        fprintf(file, "%02x", digit);
    fprintf(file, "\n");
    ck_assert_int_eq(fchmod(fileno(file), mode), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(setenv(name, path, 1), 0);
}

/* Both ends have the file's key, and know each other by its name; and that also after the file is
 * gone. */
TEST(environment_keys__of_a_connection, .needs = has_keys)
{
    char text[ZCRP_KEYS_IDENTITY_MOST + 1];

    put_key("bob", 7, 0600);
    struct house h = house_open("127.0.0.1", &asks);
    struct both b = house_meet(&h, &asks);
    ck_assert_int_eq(remove(folder_path("key")), 0);
    house_pass(b.there, b.here, 10000, 1);
    house_pass(b.here, b.there, 10000, 2);
    ck_assert_int_eq(zcrp_connection_identity(b.here, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, "bob");
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
}

TEST(environment_keys__over_descriptors, .needs = has_keys)
{
    put_key("bob", 7, 0600);
    struct ends e = ends_open(LOOPBACK_UDP4, false, &asks);
    char text[ZCRP_KEYS_IDENTITY_MOST + 1];

    ends_move(&e, 10000, 1);
    ck_assert_int_eq(zcrp_identity(e.receiver, text, sizeof text), ZCRP_OK);
    ck_assert_str_eq(text, "bob");
    ends_close(&e);
}

/* Who does not ask has no keys, and who has some has those. */
TEST(environment_keys__not_asked_for, .needs = has_keys, .rows = 2)
{
    const struct zcrp_options own = {.flags = ZCRP_ENVIRONMENT_KEYS,
                                     .connect_ns = 2 * ENDS_SECOND,
                                     .keys = shared("alice", key)};
    const struct zcrp_options none = {.connect_ns = 2 * ENDS_SECOND};
    struct zcrp_connection *c;

    put_key("bob", 7, 0600);
    struct house h = house_open("127.0.0.1", &asks);
    ck_assert_int_eq(house_connect(&h, &c, _i == 0 ? &none : &own, -1), ZCRP_ERROR_KEYS);
    zcrp_keys_free(own.keys);
    (void)zcrp_listener_close(h.listener);
}

/* The variable is not set, or empty: there are no keys. */
TEST(environment_keys__no_file, .rows = 2)
{
    char text[ZCRP_KEYS_IDENTITY_MOST + 1];

    ck_assert_int_eq(_i == 0 ? unsetenv(name) : setenv(name, "", 1), 0);
    struct house h = house_open("127.0.0.1", &asks);
    struct both b = house_meet(&h, &asks);
    house_pass(b.there, b.here, 100, 1);
    ck_assert_int_eq(zcrp_connection_identity(b.here, text, sizeof text), ZCRP_ERROR_IDLE);
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
}

/* A file that is no good fails each call, which says why. */
TEST(environment_keys__bad_file, .needs = has_keys, .rows = 2)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_connection *c;
    struct zcrp_entity *e;
    struct zcrp_listener *l;
    int code = _i == 0 ? ZCRP_ERROR_SYSTEM : ZCRP_ERROR_EXPOSED;

    put_key("bob", 7, 0644);
    if (_i == 0)
        ck_assert_int_eq(setenv(name, folder_path("nothing"), 1), 0);
    ck_assert_int_eq(zcrp_listen(&l, "127.0.0.1", "0", &asks), code);
    ck_assert_ptr_null(l);
    ck_assert_int_eq(zcrp_connect(&c, "127.0.0.1", "9", &asks, 0), code);
    ck_assert_ptr_null(c);
    ck_assert_int_eq(zcrp_open_receiver(&e, sockets.receiver, &asks), code);
    ck_assert_ptr_null(e);
    ck_assert_ptr_nonnull(strstr(zcrp_explain(code), folder));
    loopback_close(&sockets);
}

/* Options that are refused behind that keep no keys (the address sanitizer sees it). */
TEST(environment_keys__of_bad_options, .needs = has_keys)
{
    const struct zcrp_options bad = {
        .flags = ZCRP_ENVIRONMENT_KEYS, .messages = 1, .first_messages = 2};
    struct zcrp_listener *l;

    put_key("bob", 7, 0600);
    ck_assert_int_eq(zcrp_listen(&l, "127.0.0.1", "0", &bad), ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(l);
}
