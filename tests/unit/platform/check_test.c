#include "core/check.h"

#include "../../support/suite.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs CHECK in a process of its own; what it printed goes to `text`, how it ended is returned. */
static int status_of_check(bool holds, char *text, size_t size)
{
    int end[2], status;
    ssize_t length;

    ck_assert_int_eq(pipe(end), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(end[1], STDERR_FILENO);
        CHECK(holds);
        _exit(EXIT_SUCCESS);
    }
    close(end[1]);
    length = read(end[0], text, size - 1);
    close(end[0]);
    ck_assert_int_ge(length, 0);
    text[length] = '\0';
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

TEST(check__holds)
{
    char text[256];
    int status = status_of_check(true, text, sizeof(text));

    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), EXIT_SUCCESS);
    ck_assert_str_eq(text, "");
}

TEST(check__fires)
{
    char text[256];
    int status = status_of_check(false, text, sizeof(text));

    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    ck_assert_ptr_nonnull(strstr(text, "libzcrp: invariant violated: holds ("));
    ck_assert_ptr_nonnull(strstr(text, "check_test.c:"));
}

TEST(check__evaluates_once)
{
    int times = 0;

    CHECK(++times);
    ck_assert_int_eq(times, 1);
}
