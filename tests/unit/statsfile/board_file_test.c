#include "statsfile/board_file.h"

#include "../../support/folder.h"
#include "../../support/suite.h"

#include <errno.h>
#include <sys/wait.h>

static void setup(void)
{
    folder_make();
    unsetenv("XDG_RUNTIME_DIR");
}

FIXTURE(setup, folder_remove)

/* ---- the folder ---- */

TEST(board_folder__as_named)
{
    char path[PATH_MAX];
    int fd = board_folder(folder, false, path);

    ck_assert_int_ge(fd, 0);
    ck_assert_str_eq(path, folder);
    close(fd);
    ck_assert_int_eq(board_folder(folder_path("none"), false, path), -1);
    ck_assert_int_eq(errno, ENOENT);
}

TEST(board_folder__made)
{
    char path[PATH_MAX];
    struct stat status;
    int fd = board_folder(folder_path("new"), true, path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0700);
    close(fd);
    fd = board_folder(folder_path("new"), true, path); /* it is there */
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(board_folder(folder_path("no/new"), true, path), -1);
}

TEST(board_folder__no_folder)
{
    char path[PATH_MAX], longest[PATH_MAX + 1];

    folder_write("file", "", 0);
    ck_assert_int_eq(board_folder(folder_path("file"), true, path), -1);
    memset(longest, 'a', PATH_MAX);
    longest[PATH_MAX] = '\0';
    ck_assert_int_eq(board_folder(longest, false, path), -1);
    ck_assert_int_eq(errno, ENAMETOOLONG);
}

TEST(board_folder__usual)
{
    char path[PATH_MAX];

    setenv("XDG_RUNTIME_DIR", folder, 1);
    ck_assert_int_eq(board_folder("1", false, path), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(path, folder_path("zcrp"));
    int fd = board_folder("1", true, path);
    ck_assert_int_ge(fd, 0);
    ck_assert(folder_has("zcrp"));
    close(fd);
}

/* Without a folder of the session's it is one of the user's. */
TEST(board_folder__usual_elsewhere, .rows = 3)
{
    static const char *const runtime[] = {"/nowhere/at/all", "relative", ""};
    char path[PATH_MAX], run[64], tmp[64];

    snprintf(run, sizeof run, "/run/user/%lu/zcrp", (unsigned long)geteuid());
    snprintf(tmp, sizeof tmp, "/tmp/zcrp-%lu", (unsigned long)geteuid());
    setenv("XDG_RUNTIME_DIR", runtime[_i], 1);
    int fd = board_folder("1", false, path);
    ck_assert(strcmp(path, run) == 0 || strcmp(path, tmp) == 0);
    if (fd >= 0)
        close(fd);
}

/* The usual folder is not one where others may put files, and not somewhere else. */
TEST(board_folder__not_ours, .rows = 3)
{
    static const mode_t modes[] = {0770, 0707, 0700};
    char path[PATH_MAX];

    setenv("XDG_RUNTIME_DIR", folder, 1);
    ck_assert_int_eq(mkdir(folder_path(_i < 2 ? "zcrp" : "other"), 0700), 0);
    ck_assert_int_eq(chmod(folder_path(_i < 2 ? "zcrp" : "other"), modes[_i]), 0);
    if (_i == 2)
        ck_assert_int_eq(symlink("other", folder_path("zcrp")), 0);
    ck_assert_int_eq(board_folder("1", true, path), -1);
    ck_assert(_i == 2 || errno == EPERM);
}

/* ---- a file ---- */

TEST(board_name__is_of_the_process)
{
    char name[BOARD_NAME];

    board_name(name, 4711);
    ck_assert_str_eq(name, "4711.stats");
}

/* What is no regular file is not opened, and nothing waits for it. */
TEST(board_open__regular_only)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    struct stat status;

    folder_write("file", "12345", 5);
    ck_assert_int_eq(mkfifo(folder_path("fifo"), 0600), 0);
    ck_assert_int_eq(mkdir(folder_path("folder"), 0700), 0);
    ck_assert_int_eq(symlink("file", folder_path("link")), 0);
    int file = board_open(fd, "file", &status);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(status.st_size, 5);
    close(file);
    ck_assert_int_eq(board_open(fd, "fifo", &status), -1);
    ck_assert_int_eq(board_open(fd, "folder", &status), -1);
    ck_assert_int_eq(board_open(fd, "link", &status), -1);
    ck_assert_int_eq(board_open(fd, "none", &status), -1);
    close(fd);
}

TEST(board_has_magic__at_its_beginning)
{
    static const char *const texts[] = {"ZCRPSTAT", "ZCRPSTAT and more", "ZCRPSTA", "", "ZCRPstat"};

    for (int i = 0; i < ROWS(texts); i++) {
        folder_write("file", texts[i], strlen(texts[i]));
        int fd = open(folder_path("file"), O_RDONLY);
        ck_assert_int_eq(board_has_magic(fd), i < 2);
        close(fd);
    }
}

TEST(board_holder__who_has_the_lock)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int ready[2], fd;
    char byte;

    folder_write("file", "x", 1);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        fd = open(folder_path("file"), O_RDWR);
        if (fcntl(fd, F_SETLK, &whole) != 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    fd = open(folder_path("file"), O_RDONLY);
    ck_assert_int_eq(board_holder(fd), child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(board_holder(fd), 0);
    int of_none = open(folder_path("file"), O_RDWR);
    ck_assert_int_eq(fcntl(of_none, F_OFD_SETLK, &whole), 0);
    ck_assert_int_eq(board_holder(fd), -1);
    close(of_none);
    close(fd);
    ck_assert_int_eq(board_holder(fd), -1);
    close(ready[0]);
    close(ready[1]);
}
