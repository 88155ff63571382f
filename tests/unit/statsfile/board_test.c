#include "statsfile/board.h"

#include "../../support/folder.h"
#include "../../support/suite.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char name[BOARD_NAME];
static struct board_file file; /* as it was read */
static uint64_t number;

static void setup(void)
{
    folder_make();
    board_name(name, getpid());
}

FIXTURE(setup, folder_remove)

/* Reads the file in a child, because a process loses its lock with any descriptor of the file. */
static void read_board(void)
{
    int ends[2];
    size_t at = 0;
    ssize_t got;

    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(folder_path(name), O_RDONLY);
        ssize_t bytes = read(fd, &file, sizeof file);
        for (ssize_t done = 0, wrote = 0; done < bytes; done += wrote)
            if ((wrote = write(ends[1], (char *)&file + done, (size_t)(bytes - done))) <= 0)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    memset(&file, 0, sizeof file);
    while ((got = read(ends[0], (char *)&file + at, sizeof file - at)) > 0)
        at += (size_t)got;
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_uint_eq(at, sizeof file);
}

TEST(board_take__makes_a_file)
{
    struct stat status;
    int before = own_descriptors();
    int place = board_take(folder, &number);

    ck_assert_int_eq(place, 0);
    ck_assert_uint_eq(number, 1);
    ck_assert_int_eq(lstat(folder_path(name), &status), 0);
    ck_assert(S_ISREG(status.st_mode));
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(status.st_size, sizeof(struct board_file));
    read_board();
    ck_assert_mem_eq(file.head.magic, "ZCRPSTAT", 8);
    ck_assert_uint_eq(file.head.version, 1);
    ck_assert_uint_eq(file.head.head_bytes, 72);
    ck_assert_uint_eq(file.head.row_bytes, sizeof(struct board_row));
    ck_assert_uint_eq(file.head.rows, BOARD_ROWS);
    ck_assert_uint_eq(file.head.stats, BOARD_STATS);
    ck_assert_uint_eq(file.head.pid, (uint32_t)getpid());
    ck_assert_int_gt(file.head.made_ns, 0);
    ck_assert_uint_eq(file.head.used, 1);
    ck_assert_str_eq(file.head.program, program_invocation_short_name);
    ck_assert_uint_eq(file.rows[0].kind, BOARD_NOBODY);
    board_give(place);
    ck_assert_int_eq(folder_count(), 0);
    ck_assert_int_eq(own_descriptors(), before);
}

TEST(board_write__rows)
{
    struct board_row row = {.kind = BOARD_SENDER, .peer = "there", .stats = {1, 2, 3}};
    int one = board_take(folder, &number), other = board_take("elsewhere", &number);

    ck_assert_uint_eq(number, 2);
    board_write(one, &row);
    row.kind = BOARD_RECEIVER;
    row.stats[BOARD_STATS - 1] = 9;
    board_write(other, &row);
    board_write(other, &row);
    read_board();
    ck_assert_uint_eq(file.head.used, 2);
    ck_assert_uint_eq(file.rows[one].sequence, 2);
    ck_assert_uint_eq(file.rows[one].kind, BOARD_SENDER);
    ck_assert_str_eq(file.rows[one].peer, "there");
    ck_assert_uint_eq(file.rows[one].stats[1], 2);
    ck_assert_uint_eq(file.rows[one].stats[BOARD_STATS - 1], 0);
    ck_assert_uint_eq(file.rows[other].sequence, 4);
    ck_assert_uint_eq(file.rows[other].kind, BOARD_RECEIVER);
    ck_assert_uint_eq(file.rows[other].stats[BOARD_STATS - 1], 9);
    board_give(one);
    ck_assert_int_eq(folder_count(), 1);
    read_board();
    ck_assert_uint_eq(file.rows[one].kind, BOARD_NOBODY);
    ck_assert_uint_eq(file.rows[one].sequence, 4);
    board_give(other);
    ck_assert_int_eq(folder_count(), 0);
}

/* A row that was given back is another's, and its sequence goes on. */
TEST(board_take__row_again)
{
    const struct board_row row = {.kind = BOARD_SENDER};
    int one = board_take(folder, &number), other = board_take(folder, &number);

    board_write(one, &row);
    board_give(one);
    ck_assert_int_eq(board_take(folder, &number), one);
    ck_assert_uint_eq(number, 3);
    board_write(one, &row);
    read_board();
    ck_assert_uint_eq(file.rows[one].sequence, 6);
    ck_assert_uint_eq(file.head.used, 2);
    board_give(one);
    board_give(other);
}

TEST(board_take__full)
{
    enum { MORE = 3 };
    static int place[BOARD_ROWS + MORE];

    for (int i = 0; i < BOARD_ROWS + MORE; i++) {
        place[i] = board_take(folder, &number);
        ck_assert_int_eq(place[i], i < BOARD_ROWS ? i : BOARD_LEFT_OUT);
    }
    read_board();
    ck_assert_uint_eq(file.head.left_out, MORE);
    ck_assert_uint_eq(file.head.used, BOARD_ROWS);
    board_give(BOARD_LEFT_OUT);
    read_board();
    ck_assert_uint_eq(file.head.left_out, MORE - 1);
    board_give(7);
    ck_assert_int_eq(board_take(folder, &number), 7);
    for (int i = 0; i < BOARD_ROWS + MORE - 1; i++)
        board_give(place[i]);
    ck_assert_int_eq(folder_count(), 0);
}

TEST(board_take__nowhere)
{
    ck_assert_int_eq(board_take(folder_path("no/where"), &number), BOARD_NONE);
    board_give(BOARD_NONE);
    ck_assert_int_eq(folder_count(), 0);
}

/* The limit would end the process with a signal. */
TEST(board_take__file_size_limit)
{
    const struct rlimit little = {4096, RLIM_INFINITY};
    struct rlimit before;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    ck_assert_int_eq(board_take(folder, &number), BOARD_NONE);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(folder_count(), 0);
}

/* It is lowered while there is a file. */
TEST(board_take__lower_file_size_limit)
{
    struct rlimit before, little;
    int one = board_take(folder, &number);

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){0, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    ck_assert_int_eq(board_take(folder, &number), BOARD_LEFT_OUT);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    read_board();
    ck_assert_uint_eq(file.head.left_out, 1);
    board_give(BOARD_LEFT_OUT);
    board_give(one);
    ck_assert_int_eq(folder_count(), 0);
}

/* ---- what is there already ---- */

TEST(board_take__stale_file)
{
    static const char stale[100] = BOARD_MAGIC;

    folder_write(name, stale, sizeof stale);
    int place = board_take(folder, &number);
    ck_assert_int_eq(place, 0);
    read_board();
    ck_assert_uint_eq(file.head.pid, (uint32_t)getpid());
    board_give(place);
    ck_assert_int_eq(folder_count(), 0);
}

/* What is no board is somebody's. */
TEST(board_take__name_is_taken, .rows = 4)
{
    if (_i == 0)
        folder_write(name, "my diary", 8);
    else if (_i == 1)
        ck_assert_int_eq(symlink("elsewhere", folder_path(name)), 0);
    else if (_i == 2)
        ck_assert_int_eq(mkfifo(folder_path(name), 0600), 0);
    else
        ck_assert_int_eq(mkdir(folder_path(name), 0700), 0);
    int before = own_descriptors();
    ck_assert_int_eq(board_take(folder, &number), BOARD_NONE);
    ck_assert_int_eq(own_descriptors(), before);
    ck_assert_int_eq(folder_count(), 1);
    ck_assert(folder_has(name));
    ck_assert(!folder_has("elsewhere"));
}

/* One whose number is the same lives in another namespace. */
TEST(board_take__name_is_held)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int ready[2];
    char byte;

    folder_write(name, BOARD_MAGIC, 8);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(folder_path(name), O_RDWR);
        if (fcntl(fd, F_SETLK, &whole) != 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(board_take(folder, &number), BOARD_NONE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    int place = board_take(folder, &number);
    ck_assert_int_eq(place, 0);
    board_give(place);
    close(ready[0]);
    close(ready[1]);
}

/* ---- children, and the end ---- */

TEST(board_after_fork__child_has_its_own)
{
    const struct board_row row = {.kind = BOARD_SENDER, .stats = {7}};
    int place = board_take(folder, &number), status;

    board_write(place, &row);
    pid_t child = fork();
    if (child == 0) {
        board_after_fork();
        int own = board_take(folder, &number), bad = number != 1 || folder_count() != 2;
        board_write(own, &row);
        board_give(own);
        exit(bad || folder_count() != 1); /* with what runs at the end of a process */
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    read_board();
    ck_assert_uint_eq(file.rows[place].sequence, 2);
    ck_assert_uint_eq(file.rows[place].stats[0], 7);
    board_give(place);
}

/* A child that nobody told of the fork leaves its parent's file alone. */
TEST(board__removed_at_exit)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        board_after_fork();
        if (board_take(folder, &number) != 0 || folder_count() != 1)
            _exit(1);
        pid_t grandchild = fork();
        if (grandchild == 0)
            exit(0);
        waitpid(grandchild, NULL, 0);
        exit(folder_count() != 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(folder_count(), 0);
}
