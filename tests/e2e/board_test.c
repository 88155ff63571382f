/* Statistics that are offered: a file that appears, has what happened, and goes away. */
#include "../support/folder.h"
#include "../support/house.h"

#include "statsfile/board_file.h"

#include <stddef.h>
#include <sys/mman.h>

LOAD(asleep)

enum { MESSAGE = 300000 };

static char name[BOARD_NAME];
static struct board_file *file; /* as it was read last */

static void setup(void)
{
    folder_make();
    snprintf(name, sizeof name, "%ld.stats", (long)getpid());
    file = mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(file, MAP_FAILED);
}

static void teardown(void)
{
    munmap(file, sizeof *file);
    folder_remove();
}

FIXTURE(setup, teardown)

static const struct zcrp_options *offering(void)
{
    static struct zcrp_options options;

    options = (struct zcrp_options){.stats_directory = folder, .linger_ns = ENDS_SECOND};
    return &options;
}

/* In a child, because a process loses its lock with any descriptor of the file. */
static void read_board(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        int fd = open(folder_path(name), O_RDONLY);
        _exit(fd < 0 || read(fd, file, sizeof *file) != (ssize_t)sizeof *file);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static uint64_t stat_of(int row, size_t offset)
{
    return file->rows[row].stats[offset / sizeof(uint64_t)];
}
#define STAT(row, field) stat_of(row, offsetof(struct zcrp_stats, field))

/* Waits until the file says so: some tenths of a second, and 20 s on a busy machine. */
static bool has_messages(int row, uint64_t messages)
{
    for (int i = 0; i < 1000; i++) {
        read_board();
        if (STAT(row, messages) == messages)
            return true;
        usleep(20000);
    }
    return false;
}

TEST(board__of_two_entities)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, offering());

    ck_assert_int_eq(folder_count(), 1);
    read_board();
    ck_assert_uint_eq(file->head.used, 2);
    ck_assert_uint_eq(file->head.pid, (uint32_t)getpid());
    ck_assert_uint_eq(file->rows[0].kind, BOARD_RECEIVER);
    ck_assert_uint_eq(file->rows[1].kind, BOARD_SENDER);
    ck_assert_uint_eq(STAT(1, messages), 0);
    for (uint64_t i = 0; i < 7; i++)
        ends_move(&e, MESSAGE, i);
    ck_assert(has_messages(0, 7));
    ck_assert(has_messages(1, 7));
    struct zcrp_stats sent;
    ck_assert_int_eq(zcrp_stats(e.sender, &sent), 0);
    ck_assert_uint_eq(STAT(0, bytes), 7 * MESSAGE);
    ck_assert_uint_eq(STAT(1, bytes), 7 * MESSAGE);
    ck_assert_uint_eq(STAT(1, units), sent.units);
    ck_assert_uint_gt(STAT(1, system_calls), 0);
    ck_assert_uint_gt(STAT(1, rtt_smoothed_ns), 0);
    ck_assert_uint_eq(file->rows[1].channel, loopback_is_aal5() ? BOARD_AAL5 : BOARD_UDP);
    ck_assert_uint_eq(file->rows[1].flags, 0);
    ck_assert_ptr_nonnull(strstr(file->rows[1].peer, "127."));
    ck_assert_int_gt(file->rows[1].written_ns, file->rows[1].opened_ns);
    ends_close(&e);
    ck_assert_int_eq(folder_count(), 0);
}

/* The last entity removes it, and the next one makes another. */
TEST(board__comes_and_goes)
{
    for (int i = 0; i < 3; i++) {
        struct ends e = ends_open(LOOPBACK_UDP4, false, offering());
        ends_move(&e, 1000, 1);
        ck_assert_int_eq(zcrp_close(e.sender), 0);
        ck_assert_int_eq(folder_count(), 1);
        ck_assert_int_eq(zcrp_close(e.receiver), 0);
        ck_assert_int_eq(folder_count(), 0);
        loopback_close(&e.sockets);
    }
}

/* A listener keeps the folder's name, which is the caller's, for all who come later. */
TEST(board__of_connections)
{
    char *where = strdup(folder);
    const struct zcrp_options options = {.stats_directory = where};
    struct house h = house_open("127.0.0.1", &options);

    memset(where, 'x', strlen(where));
    free(where);
    ck_assert_int_eq(folder_count(), 0);
    struct both b = house_meet(&h, NULL);
    house_pass(b.there, b.here, MESSAGE, 1);
    ck_assert(has_messages(0, 1));
    ck_assert_uint_eq(file->head.used, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(file->rows[i].flags, BOARD_HALF);
        ck_assert_ptr_nonnull(strstr(file->rows[i].peer, "127.0.0.1:"));
    }
    house_part(&b);
    (void)zcrp_listener_close(h.listener);
    ck_assert_int_eq(folder_count(), 0);
}

static bool is_over_ip(void)
{
    return loopback_is_udp();
}

/* What goes from memory to memory says so. */
TEST(board__of_neighbours, .needs = is_over_ip)
{
    unsetenv("ZCRP_NO_MEMORY");
    struct ends e = ends_open(LOOPBACK_UDP4, false, offering());
    for (uint64_t i = 0; i < 50; i++)
        ends_move(&e, MESSAGE, i);
    ck_assert(has_messages(1, 50));
    struct zcrp_stats sent;
    ck_assert_int_eq(zcrp_stats(e.sender, &sent), 0);
    ck_assert_uint_eq(file->rows[1].channel, sent.memory_refused ? BOARD_UDP : BOARD_MEMORY);
    ends_close(&e);
}

TEST(board__of_unix_sockets, .needs = is_over_ip)
{
    struct ends e = ends_open(LOOPBACK_UNIX, false, offering());

    read_board();
    ck_assert_uint_eq(file->rows[0].channel, BOARD_UNIX);
    ck_assert_str_eq(file->rows[0].peer, "-");
    ends_close(&e);
}

/* ---- off, and on ---- */

TEST(board__environment_overrules, .rows = 6)
{
    static const struct {
        const char *variable; /* "=": the folder */
        bool has_option, is_on;
    } rows[] = {{NULL, false, false}, {NULL, true, true}, {"=", false, true},
                {"0", true, false},   {"", true, false},  {"/no/where/at/all", true, false}};
    const struct zcrp_options none = {.linger_ns = ENDS_SECOND};
    const char *variable = rows[_i].variable;

    if (variable != NULL)
        setenv("ZCRP_STATS", strcmp(variable, "=") == 0 ? folder : variable, 1);
    struct ends e = ends_open(LOOPBACK_UDP4, false, rows[_i].has_option ? offering() : &none);
    ck_assert_int_eq(folder_count(), rows[_i].is_on);
    ends_move(&e, MESSAGE, 1);
    ends_close(&e);
    ck_assert_int_eq(folder_count(), 0);
    unsetenv("ZCRP_STATS");
}

TEST(board__the_usual_folder)
{
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("ZCRP_STATS", "1", 1);
    struct ends e = ends_open(LOOPBACK_UDP4, false, NULL);
    char path[BOARD_NAME + 8];
    snprintf(path, sizeof path, "zcrp/%s", name);
    ck_assert(folder_has(path));
    ends_close(&e);
    ck_assert(!folder_has(path));
    unsetenv("ZCRP_STATS");
}

/* ---- children, and the end ---- */

/* A child neither writes to its parent's file nor removes it, and has one of its own. */
TEST(board__fork)
{
    struct ends e = ends_open(LOOPBACK_UDP4, false, offering());
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int status;

    ends_move(&e, MESSAGE, 1);
    ck_assert(has_messages(1, 1));
    pid_t child = fork();
    if (child == 0) {
        struct ends own = ends_open_at(&sockets, offering(), offering());
        ends_move(&own, MESSAGE, 1);
        bool is_good = folder_count() == 2;
        ends_close(&own);
        is_good = is_good && folder_count() == 1;
        ck_assert_int_eq(zcrp_close(e.sender), 0);
        ck_assert_int_eq(zcrp_close(e.receiver), 0);
        _exit(!(is_good && folder_count() == 1));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(folder_count(), 1);
    ends_move(&e, MESSAGE, 2);
    ck_assert(has_messages(1, 2));
    ends_close(&e);
    ck_assert_int_eq(folder_count(), 0);
    loopback_close(&sockets);
}

/* A program may end without a close. */
TEST(board__exit)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int status;
    pid_t child = fork();

    if (child == 0) {
        (void)ends_open_at(&sockets, offering(), offering());
        exit(folder_count() != 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(folder_count(), 0);
    loopback_close(&sockets);
}

/* One that was killed leaves it. */
TEST(board__killed)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    int ready[2];
    char byte;

    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)ends_open_at(&sockets, offering(), offering());
        if (write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(folder_count(), 1);
    ends_kill_peer(child);
    ck_assert_int_eq(folder_count(), 1);
    close(ready[0]);
    close(ready[1]);
    loopback_close(&sockets);
}
