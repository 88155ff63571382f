/* The file of a key log: how it is made, what is refused, and what is written. */
#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include "../../support/folder.h"
#include "keys/log.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = {1, 2, 3};
static const char line[] = "LABEL 0102 0aff\n";

static const char *text_of(const char *name)
{
    static char text[512];
    FILE *file = fopen(folder_path(name), "r");

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static struct log *open_log(const char *name)
{
    struct log *log;

    ck_assert_int_eq(log_open(&log, folder_path(name)), ZCRP_OK);
    return log;
}

static void write_line(struct log *log)
{
    uint8_t random[] = {1, 2}, secret[] = {10, 255};

    log_write(log, "LABEL", &(gnutls_datum_t){random, sizeof random},
              &(gnutls_datum_t){secret, sizeof secret});
}

TEST(log_open__makes_a_file_for_its_owner_only)
{
    struct stat status;
    mode_t mask = umask(0);

    folder_make();
    struct log *log = open_log("log");
    umask(mask);
    ck_assert_int_eq(stat(folder_path("log"), &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    ck_assert_int_eq(status.st_size, 0);
    log_close(log);
    log_close(NULL);
    folder_remove();
}

TEST(log_write__appends_whole_lines)
{
    char expected[3 * sizeof line];

    folder_make();
    for (int i = 0; i < 2; i++) {
        struct log *log = open_log("log");
        write_line(log);
        log_close(log);
    }
    snprintf(expected, sizeof expected, "%s%s", line, line);
    ck_assert_str_eq(text_of("log"), expected);
    folder_remove();
}

/* Two that have the file open do not write over each other. */
TEST(log_write__beside_another_log)
{
    folder_make();
    struct log *one = open_log("log"), *other = open_log("log");
    write_line(one);
    write_line(other);
    write_line(one);
    log_close(one);
    log_close(other);
    ck_assert_uint_eq(strlen(text_of("log")), 3 * strlen(line));
    folder_remove();
}

TEST(log_write__leaves_out_what_is_too_long)
{
    uint8_t bytes[LOG_BYTES_MOST + 1] = {0};
    char label[LOG_LABEL_MOST + 2];
    const gnutls_datum_t most = {bytes, LOG_BYTES_MOST}, more = {bytes, sizeof bytes};

    folder_make();
    struct log *log = open_log("log");
    memset(label, 'L', sizeof label);
    label[LOG_LABEL_MOST + 1] = '\0';
    log_write(log, label, &most, &most);
    log_write(log, "L", &more, &most);
    log_write(log, "L", &most, &more);
    ck_assert_str_eq(text_of("log"), "");
    log_write(log, label + 1, &most, &most);
    ck_assert_uint_eq(strlen(text_of("log")), LOG_LABEL_MOST + 4 * LOG_BYTES_MOST + 3);
    log_close(log);
    folder_remove();
}

/* Writes a line while no file may be larger than that. */
static void write_line_below(struct log *log, size_t bytes)
{
    struct rlimit before, limit;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){bytes, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_line(log);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* The disk is full in the middle of the second line. */
TEST(log_write__nothing_behind_half_a_line)
{
    folder_make();
    struct log *log = open_log("log");
    write_line(log);
    signal(SIGXFSZ, SIG_IGN);
    write_line_below(log, strlen(line) + 5);
    signal(SIGXFSZ, SIG_DFL);
    write_line(log);
    log_close(log);
    ck_assert_uint_eq(strlen(text_of("log")), strlen(line) + 5);
    folder_remove();
}

/* The file is as large as files may be: a write would end the process. */
TEST(log_write__nothing_at_the_limit)
{
    folder_make();
    struct log *log = open_log("log");
    write_line(log);
    write_line_below(log, strlen(line));
    log_close(log);
    ck_assert_str_eq(text_of("log"), line);
    folder_remove();
}

/* ---- what is refused ---- */

static int open_there(const char *path)
{
    struct log *log = (struct log *)&log;
    int code = log_open(&log, path);

    ck_assert_ptr_null(log);
    return code;
}

static void make_file(const char *name, mode_t mode)
{
    int fd = open(folder_path(name), O_CREAT | O_WRONLY, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static const mode_t exposed[] = {0640, 0620, 0610, 0604, 0602, 0601, 0666};

TEST(log_open__refuses_what_is_open_to_others, .rows = ROWS(exposed))
{
    folder_make();
    make_file("log", exposed[_i]);
    ck_assert_int_eq(open_there(folder_path("log")), ZCRP_ERROR_EXPOSED);
    ck_assert_str_eq(text_of("log"), "");
    folder_remove();
}

static bool is_root(void)
{
    return geteuid() == 0;
}

TEST(log_open__refuses_the_file_of_another_user, .needs = is_root)
{
    folder_make();
    make_file("log", 0600);
    ck_assert_int_eq(chown(folder_path("log"), 65534, 65534), 0);
    ck_assert_int_eq(open_there(folder_path("log")), ZCRP_ERROR_EXPOSED);
    folder_remove();
}

TEST(log_open__refuses_what_is_no_file)
{
    folder_make();
    make_file("log", 0600);
    ck_assert_int_eq(symlink(folder_path("log"), folder_path("link")), 0);
    ck_assert_int_eq(open_there(folder_path("link")), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(errno, ELOOP);
    ck_assert_int_eq(open_there(folder), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(errno, EISDIR);
    ck_assert_int_eq(open_there(folder_path("none/log")), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(open_there("/dev/null"), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(mkfifo(folder_path("fifo"), 0600), 0);
    ck_assert_int_eq(open_there(folder_path("fifo")), ZCRP_ERROR_SYSTEM);
    ck_assert_int_eq(errno, ENXIO);
    folder_remove();
}

/* ---- zcrp_keys_log ---- */

TEST(zcrp_keys_log__mistakes)
{
    struct zcrp_keys *keys;

    folder_make();
    make_file("exposed", 0644);
    ck_assert_int_eq(zcrp_keys_psk(&keys, "alice", key, sizeof key), ZCRP_OK);
    ck_assert_int_eq(zcrp_keys_log(NULL, folder_path("log")), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_keys_log(keys, NULL), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_keys_log(keys, folder_path("exposed")), ZCRP_ERROR_EXPOSED);
    ck_assert(!folder_has("log"));
    ck_assert_int_eq(zcrp_keys_log(keys, folder_path("log")), ZCRP_OK);
    ck_assert_int_eq(zcrp_keys_log(keys, folder_path("exposed")), ZCRP_ERROR_EXPOSED);
    ck_assert_int_eq(zcrp_keys_log(keys, folder_path("other")), ZCRP_OK);
    ck_assert(folder_has("log") && folder_has("other"));
    zcrp_keys_free(keys);
    folder_remove();
}
#endif
