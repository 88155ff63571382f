/* The keys of a run: the two ends of one run know each other, those of another run they do not, and
 * nothing stays behind. */
#include "zcrp-bench/transports/run_keys.h"

#include "../../support/suite.h"

#include <dirent.h>
#include <stdio.h>

static const enum run_keys kinds[] = {RUN_KEYS_PSK, RUN_KEYS_RAW, RUN_KEYS_CERT};
static const int64_t second_ns = 1000000000;

static struct settings run_of(enum run_keys kind, uint64_t secret)
{
    return (struct settings){.keys = kind, .key_1 = secret};
}

static bool has_keys(void)
{
    const struct settings settings = run_of(RUN_KEYS_PSK, 1);
    struct zcrp_keys *keys;
    int code = run_keys_make(&settings, false, &keys);

    zcrp_keys_free(keys);
    return code == ZCRP_OK;
}

static struct zcrp_options options_of(const struct settings *settings, bool is_listening)
{
    struct zcrp_options options = {.connect_ns = 5 * second_ns};

    ck_assert_int_eq(run_keys_make(settings, is_listening, &options.keys), ZCRP_OK);
    ck_assert_ptr_nonnull(options.keys);
    return options;
}

/* What becomes of a connection from an end of run `there` to an end of run `here`. It waits until
 * it is accepted. */
static int connect_ends(const struct settings *there, const struct settings *here)
{
    struct zcrp_options listening = options_of(here, true), connecting = options_of(there, false);
    struct zcrp_listener *listener;
    struct zcrp_connection *connection, *accepted = NULL;
    char port[8];

    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", &listening), ZCRP_OK);
    snprintf(port, sizeof port, "%d", zcrp_listener_port(listener));
    ck_assert_int_eq(zcrp_connect(&connection, "127.0.0.1", port, &connecting, 0), ZCRP_OK);
    zcrp_keys_free(listening.keys);
    zcrp_keys_free(connecting.keys);
    if (here == there)
        ck_assert_int_eq(zcrp_accept(listener, &accepted, 5 * second_ns), ZCRP_OK);
    int code = zcrp_connection_wait(connection, -1);
    if (here == there)
        (void)zcrp_connection_close(accepted);
    (void)zcrp_connection_close(connection);
    (void)zcrp_listener_close(listener);
    return code;
}

TEST(run_keys_make__the_ends_know_each_other, .rows = ROWS(kinds), .needs = has_keys)
{
    const struct settings run = run_of(kinds[_i], 1);

    ck_assert_int_eq(connect_ends(&run, &run), ZCRP_OK);
}

TEST(run_keys_make__those_of_another_run_they_do_not, .rows = ROWS(kinds), .needs = has_keys)
{
    const struct settings run = run_of(kinds[_i], 1), other = run_of(kinds[_i], 2);

    ck_assert_int_eq(connect_ends(&run, &other), ZCRP_ERROR_KEYS);
}

TEST(run_keys_make__none)
{
    const struct settings run = run_of(RUN_KEYS_NONE, 1);
    struct zcrp_keys *keys = (struct zcrp_keys *)&keys;

    ck_assert_int_eq(run_keys_make(&run, true, &keys), ZCRP_OK);
    ck_assert_ptr_null(keys);
}

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

TEST(run_keys_make__leaves_no_file, .rows = ROWS(kinds), .needs = has_keys)
{
    const struct settings run = run_of(kinds[_i], 3);
    int before = count_descriptors();

    for (int i = 0; i < 2; i++)
        zcrp_keys_free(options_of(&run, i == 0).keys);
    ck_assert_int_eq(count_descriptors(), before);
}
